"""What tests, fuzzers and `check.py` share: what they ask before they start, and how far results may be apart."""
