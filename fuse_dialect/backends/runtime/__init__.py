"""Whole modules as something to call: a plan of memory, a flat list of kernels, threads, a cache of machine code."""
