"""Backends make loop programs run: one folder for each engine, and `runtime` for whole modules."""
