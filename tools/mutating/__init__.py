"""The small changes that `mutation.py` makes, by the part of the package that they are in."""
