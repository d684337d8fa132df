"""How groups of ops become primitive functions and calls."""
