"""Fusion as a pass: from a block to its graph, to a plan, to functions of kernels. One room, read front to back."""
