"""What tests and `check.py` ask before they start."""
