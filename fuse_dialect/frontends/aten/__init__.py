"""Graphs of ATen operators, PyTorch's own, as `fuse` programs."""
