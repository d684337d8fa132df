"""Kernels that call routines of libraries: LAPACK and BLAS, by the pointers that SciPy publishes for this."""
