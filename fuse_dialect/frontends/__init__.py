"""Readers of other formats, one file per format."""
