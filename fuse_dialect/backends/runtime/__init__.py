"""A compiled module as one callable: a plan of memory, a flat list of kernels, threads, a cache of machine code."""
