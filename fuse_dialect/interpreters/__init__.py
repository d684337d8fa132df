"""Execution of modules by the NumPy meaning of each op."""
