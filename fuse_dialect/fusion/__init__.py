"""Fusion as TVM decides it, on graphs of numbers: pure Python, without xDSL and NumPy."""
