"""Loop programs to things that run: one folder for each engine."""
