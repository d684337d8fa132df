"""Finding the merge after which a compiled program computes something else than the NumPy interpreter."""
