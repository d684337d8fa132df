"""Readers of source formats, one folder for each."""
