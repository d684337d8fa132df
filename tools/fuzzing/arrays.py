"""Element types, sizes and elements that programs are made of, special ones among them."""

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, f16, f32, f64, i1

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import ElementType, element_dtype, integer_type

FLOATS: tuple[ElementType, ...] = (f32, f64, f16, BFloat16Type())
INTEGERS: tuple[ElementType, ...] = tuple(
    integer_type(width, unsigned=unsigned) for unsigned in (False, True) for width in (8, 16, 32, 64)
)
ELEMENTS: tuple[ElementType, ...] = (*FLOATS, i1, *INTEGERS)
"""Every element type that ops compute with."""
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 65)
"""Sizes of axes: none, one, odd ones, and some that are longer than a vector of any processor."""
WEIGHTS = (2, 12, 12, 12, 10, 8, 4, 6, 3, 2, 2, 2, 1)
"""How often each is chosen."""
MOST_ELEMENTS = 3000
"""Of a value; more would say little more, and take longer."""
STYLES = ("plain", "plain", "special", "extreme", "whole")
"""Kinds of elements: see `elements`."""


def size_class(shape: Sequence[int]) -> str:
    """The class that coverage counts a shape under."""
    if not shape:
        return "scalar"
    if 0 in shape:
        return "empty"
    if max(shape) == 1:
        return "one"
    return "longer than a vector" if max(shape) > 16 else "odd" if any(size % 2 for size in shape) else "even"


SIZE_CLASSES = ("scalar", "empty", "one", "odd", "even", "longer than a vector", "open")
"""All of them; `open` counts besides the class of the sizes at run time."""


def name_of(element: ElementType) -> str:
    """Short name of an element type."""
    return str(element)


def elements(random: np.random.Generator, shape: Sequence[int], element: ElementType, style: str) -> Array:
    """Elements of a type.

    Args:
        random: Where they come from.
        shape: Sizes.
        element: Type.
        style: `plain` for moderate numbers, `special` with some infinities, nans, zeros of both signs, denormals and
            the greatest and smallest numbers, `extreme` with nothing but these and numbers of any magnitude, `whole`
            for small whole numbers.
    """
    dtype = element_dtype(element)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        return _integers(random, shape, dtype, style)
    if style == "whole":
        return random.integers(-4, 5, shape).astype(dtype)
    plain = (random.standard_normal(shape) * 2).astype(dtype)
    if style == "plain":
        return np.asarray(plain)
    share = 0.1 if style == "special" else 0.5
    special = random.choice(special_floats(dtype), tuple(shape)).astype(dtype)
    if style == "extreme":
        with np.errstate(all="ignore"):
            exponents = random.uniform(-1, 1, shape) * (4 if dtype.itemsize == 2 else 37)
            plain = (random.standard_normal(shape) * 10.0**exponents).astype(dtype)
    return np.where(random.random(shape) < share, special, plain).astype(dtype)


def special_floats(dtype: "np.dtype[np.generic]") -> Array:
    """Infinities, nan, zeros, ones, denormals, and the ends of the range."""
    import ml_dtypes

    limits = cast(Any, ml_dtypes.finfo(dtype))
    greatest, least, denormal = float(limits.max), float(limits.tiny), float(limits.smallest_subnormal)
    numbers = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 0.5, greatest, -greatest, least, -least, denormal]
    return np.array([*numbers, -denormal, 3 * denormal], np.float64)


def _integers(random: np.random.Generator, shape: Sequence[int], dtype: "np.dtype[np.generic]", style: str) -> Array:
    limits = np.iinfo(cast("np.dtype[np.integer]", dtype))
    small = random.integers(0 if dtype.kind == "u" else -4, 5, shape).astype(dtype)
    if style in ("plain", "whole"):
        return np.asarray(small)
    count = prod(shape) * dtype.itemsize
    anything = np.frombuffer(random.bytes(count), dtype).reshape(shape)
    ends = random.choice(np.array([limits.min, limits.max, 0, 1], dtype), tuple(shape))
    chosen = random.random(shape)
    wide = np.where(chosen < 0.3, ends, np.where(chosen < 0.6, anything, small))
    return wide.astype(dtype) if style == "special" else np.where(chosen < 0.5, anything, ends).astype(dtype)
