"""Sizes that are known only while a program runs, and integers among which they are: shape arithmetic by name.

Two sizes are equal if their names are: that of a dimension, or of the formula that computes the size.
"""

import hashlib
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

_LARGEST = float(np.finfo(np.float32).max)
_MAX_NAME = 120
"""Characters of a size's name; a longer expression is named by its digest, or names would double with every use."""


@dataclass(frozen=True, slots=True, repr=False)
class Size:
    """A size that is known only when the program runs; equal names are equal sizes."""

    name: str
    is_extent: bool = True
    """Whether it is the extent of a dimension, or a sum or product of extents: never negative."""
    formula: "tuple[str, Element | float, Element | float] | None" = field(default=None, compare=False)
    """Operation and operands of a size that is computed; `None` for the extent of a dimension."""

    def __repr__(self) -> str:
        """Its name, as errors show it among numbers."""
        return self.name


Element: TypeAlias = int | bool | Size

SCALED = "scaled"
"""Operation of a formula: a size times a real number, rounded down."""


def _arithmetic(
    symbol: str, compute: Callable[[int, int], int], neutral: int | None, extent: bool
) -> Callable[[Element, Element], int | Size]:
    def apply(lhs: Element, rhs: Element) -> int | Size:
        if not isinstance(lhs, Size) and not isinstance(rhs, Size):
            return compute(int(lhs), int(rhs))
        if rhs == neutral and not isinstance(rhs, Size):
            return lhs
        if lhs == neutral and not isinstance(lhs, Size) and symbol in ("+", "*"):
            return rhs
        is_extent = extent and all(part.is_extent if isinstance(part, Size) else part >= 0 for part in (lhs, rhs))
        if symbol in ("+", "*") and _text(rhs) < _text(lhs):
            lhs, rhs = rhs, lhs
        return Size(_short(f"({_text(lhs)} {symbol} {_text(rhs)})"), is_extent, (symbol, lhs, rhs))

    return apply


def _text(element: Element) -> str:
    return element.name if isinstance(element, Size) else str(int(element))


def _short(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    return f"size-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"


def _truncated_quotient(lhs: int, rhs: int) -> int:
    quotient = abs(lhs) // abs(rhs)
    return quotient if (lhs < 0) == (rhs < 0) else -quotient


class UnknownError(ValueError):
    """What is asked depends on the input of the program."""


def is_equal(lhs: Element, rhs: Element) -> bool:
    """Whether two elements are equal.

    Raises:
        UnknownError: That is known only when the program runs.
    """
    if isinstance(lhs, Size) or isinstance(rhs, Size):
        if lhs == rhs:
            return True
        for size, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(size, Size) and size.is_extent and not isinstance(other, Size) and other < 0:
                return False
        raise UnknownError(f"whether {_text(lhs)} equals {_text(rhs)} depends on the input")
    return lhs == rhs


add = _arithmetic("+", operator.add, 0, True)
"""Sum of two elements."""
subtract = _arithmetic("-", operator.sub, 0, False)
"""Difference of two elements."""
multiply = _arithmetic("*", operator.mul, 1, True)
"""Product of two elements."""
divide = _arithmetic("/", _truncated_quotient, 1, True)
"""Quotient of two elements, truncated toward zero."""


def product_of(sizes: Sequence[int | Size]) -> int | Size:
    """The number of elements of a shape."""
    count: int | Size = 1
    for size in sizes:
        count = multiply(count, size)
    return count


def scaled(size: int | Size, scale: float) -> int | Size:
    """The size times a positive scale, multiplied in f32 and rounded down.

    As onnxruntime does it, and as PyTorch means it: ten times 1.3, which is a little less in f32, are thirteen.
    """
    if not isinstance(size, Size):
        product = size * scale  # exact, as both have less than 27 bits
        return math.floor(np.float32(product) if product < _LARGEST else product)
    if scale == int(scale):
        return multiply(size, int(scale))
    return Size(_short(f"({size.name} * {scale!r})"), size.is_extent, (SCALED, size, scale))


def integers_of(sizes: Sequence[int | Size]) -> list[int]:
    """Sizes all of which are known."""
    return [size for size in sizes if not isinstance(size, Size)]
