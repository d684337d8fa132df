"""Kernels for sums of products, and for windows: matrix products, convolutions, pools."""
