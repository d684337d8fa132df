"""Elements of 2 and 4 bits as memory holds them: several in a byte, the first in the lowest bits."""

from typing import Any

import numpy as np

from fuse_dialect.dialect.op import Array

_BITS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}


def packed(array: Array) -> Array:
    """The bytes of an array, row by row."""
    bits = _BITS.get(array.dtype.name, 8)
    own = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if bits == 8:
        return own
    count = 8 // bits
    padded = np.zeros(-(-own.size // count) * count, np.uint8)
    padded[: own.size] = own & ((1 << bits) - 1)
    places = np.arange(count, dtype=np.uint8) * np.uint8(bits)
    return np.bitwise_or.reduce(padded.reshape(-1, count) << places, axis=1).astype(np.uint8)


def unpacked(data: Array, dtype: "np.dtype[Any]") -> Array:
    """Elements of a type, of its bytes."""
    bits = _BITS.get(dtype.name, 8)
    if bits == 8:
        return data.view(dtype)
    places = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
    codes = (data[:, None] >> places).reshape(-1) & np.uint8((1 << bits) - 1)
    if dtype.name.startswith("float"):
        return codes.view(dtype)
    sign = np.uint8(0 if dtype.name.startswith("u") else 1 << (bits - 1))
    return ((codes ^ sign) - sign).view(np.int8).astype(dtype)
