"""In which precision a sum of many elements is formed."""

import numpy as np

from fuse_dialect.dialect.op import Array


def widened(x: Array) -> Array:
    """`x` in the type in which sums of its elements are formed: f32 for f16 and bf16, else its own."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return x.astype(np.float32)
    return x
