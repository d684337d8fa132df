"""Random programs made from the op registry, the ways to run them, and what to do with one that goes wrong."""
