"""Whole compiled programs on disk, which run without the IR and the writers of code that made them."""
