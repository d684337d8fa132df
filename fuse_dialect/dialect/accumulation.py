"""In which precision a sum of many elements is formed."""

from math import prod

import numpy as np

from fuse_dialect.dialect.op import Array


def widened(x: Array) -> Array:
    """`x` in the type in which sums of its elements are formed: f32 for f16 and bf16, else its own."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return x.astype(np.float32)
    return x


def mean(x: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """The mean over axes; nan of nothing, without the warning of `numpy.mean`, in which `numpy.errstate` has no say."""
    with np.errstate(all="ignore"):
        return np.asarray(x.sum(axis=axes, keepdims=keepdims) / x.dtype.type(prod(x.shape[axis] for axis in axes)))
