"""Values of constants: between NumPy arrays and the attributes of `arith.constant`, without Python lists.

`DenseIntOrFPElementsAttr` holds the bytes of its elements, row-major and little-endian, or those of one element that
stands for all of them (a splat). A boolean takes one byte there, and any byte but zero is true.

The bytes of a large constant may be a view of a mapped file in place of `bytes`: it compares, hashes and serves
`numpy.frombuffer` as these do, and is read when somebody asks for it.
"""

import math
import sys
from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.mapped_file import mapped_bytes
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import element_dtype, element_type_of, shape_text

_TRUE = np.uint8(0xFF)
"""How xDSL stores a true element: i1 is signless, and all its bits are set."""


def constant_array(value: Attribute) -> Array:
    """The elements of a constant's attribute.

    Args:
        value: `dense<...>` of a static shape, or a number, which gives an array of rank 0.

    Returns:
        A read-only array; it shares the attribute's memory wherever byte order and type allow.

    Raises:
        VerifyException: The attribute holds no elements (`dense_resource`), too few of them, or of a type that the
            dialect does not know.
    """
    match value:
        case DenseIntOrFPElementsAttr():
            return _dense_array(value)
        case IntegerAttr() | FloatAttr():
            array = np.array(value.value.data, element_dtype(value.type))
            array.flags.writeable = False
            return array
        case _:
            raise VerifyException(f"expects the elements of the constant in the module, got {_summary(value)}")


def _dense_array(value: DenseIntOrFPElementsAttr) -> Array:
    shape = value.get_shape()
    dtype = element_dtype(value.get_element_type())
    data = value.data.data
    stored = _stored_dtype(dtype)
    count = math.prod(shape)
    if len(data) not in (stored.itemsize, count * stored.itemsize) or min(shape, default=0) < 0:
        raise VerifyException(f"expects {count} elements of {shape_text(shape)}, got {len(data)} bytes")
    if math.prod(max(size, 1) for size in shape) * dtype.itemsize > sys.maxsize:
        raise VerifyException(f"expects a constant that memory can address, got {shape_text(shape)}")
    flat = np.frombuffer(data, stored)
    if sys.byteorder == "big":
        flat = flat.byteswap()
    if stored != dtype:
        flat = flat != 0 if dtype == np.bool_ else flat.astype(dtype)
    array = flat.reshape(shape) if flat.size == count else np.broadcast_to(flat.reshape(()), shape)
    array.flags.writeable = False
    return array


def _stored_dtype(dtype: "np.dtype[np.generic]") -> "np.dtype[np.generic]":
    """The type in which an attribute holds the elements; integers of 2 and 4 bits are bytes with their sign there."""
    if dtype == np.bool_:
        return np.dtype(np.uint8)
    return np.dtype(np.int8) if dtype.name in ("int2", "int4") else dtype


def _summary(value: Attribute) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_PART = 1 << 16
"""Elements that are compared at a time."""
LAZY_BYTES = 1 << 16
"""A constant of fewer bytes is copied out of a mapped file: it is not worth a view."""


def shared_bytes(array: Array) -> bytes | memoryview | None:
    """The bytes of an array where they are, if a constant may hold them so; `None` if they have to be copied.

    That is an array over all of a `bytes` object, or a large one that lies row by row in a mapped file.
    """
    if sys.byteorder == "big" or array.dtype == np.bool_ or not array.flags.c_contiguous or not any(array.strides):
        return None
    base: object = array
    while isinstance(base, np.ndarray):
        base = cast(object, base.base)
    if isinstance(base, bytes):
        return base if len(base) == array.nbytes else None
    return mapped_bytes(array) if array.nbytes >= LAZY_BYTES else None


def constant_attribute(array: Array) -> DenseIntOrFPElementsAttr:
    """The attribute of an array; an array that is a broadcast scalar is stored as a splat of one element.

    Raises:
        ValueError: The dialect has no element type for the array's dtype.
    """
    type = TensorType(element_type_of(array.dtype), array.shape)
    if (shared := shared_bytes(array)) is not None:
        return DenseIntOrFPElementsAttr(type, BytesAttr(cast(bytes, shared)))
    if array.size > 1 and not any(array.strides):
        array = without_repeats(array)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * _TRUE
    array = array.astype(_stored_dtype(array.dtype), copy=False)
    if sys.byteorder == "big":
        array = array.byteswap()
    return DenseIntOrFPElementsAttr(type, BytesAttr(array.tobytes()))


def stored_data(value: DenseIntOrFPElementsAttr) -> bytes | memoryview:
    """The bytes of a constant; a view of a mapped file for some large ones."""
    return value.data.data


def is_splat(data: bytes | memoryview, size: int) -> bool:
    """Whether elements of `size` bytes all have the same bits, and there is one; most answers take a few elements."""
    if not data or len(data) % size:
        return False
    if data[:size] != data[-size:]:
        return False
    elements = np.frombuffer(data, f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")
    return all(bool((elements[part : part + _PART] == elements[0]).all()) for part in range(0, len(elements), _PART))


def without_repeats(array: Array) -> Array:
    """The array, of one element along each axis that only repeats elements (of stride 0): a splat is one element."""
    return array[tuple([slice(None) if stride else slice(0, 1) for stride in array.strides])]


def with_dtype(array: Array, dtype: "np.dtype[np.generic]") -> Array:
    """The elements in another type: `astype`, which alone would write out what the array only repeats."""
    return np.broadcast_to(without_repeats(array).astype(dtype), array.shape)


def constant(array: Array) -> arith.ConstantOp:
    """The op whose result is the array."""
    return arith.ConstantOp(constant_attribute(array))


def constant_of(value: SSAValue) -> Array | None:
    """The elements of a value that an `arith.constant` defines, or `None` when they are not known here."""
    if not isinstance(value.owner, arith.ConstantOp):
        return None
    try:
        return constant_array(value.owner.value)
    except VerifyException:
        return None
