"""What an ONNX value is during import: a value of the IR, a constant, or integers that depend on dynamic dimensions.

The last kind carries shape arithmetic: `Shape` of a tensor with the dimension `?` gives a `SizeVector` such as
`[batch, 128, 768]`, on which Gather, Concat and the like compute without any op in the IR.
"""

import hashlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.dialect.types import Tensor
from fuse_dialect.frontends.onnx.tensors import Array

_MAX_NAME = 120
"""Characters of a size's name; a longer expression is named by its digest, or names would double with every use."""


@dataclass(frozen=True, slots=True)
class Size:
    """A size that is known only when the model runs; equal names are equal sizes."""

    name: str
    is_extent: bool = True
    """Whether it is the extent of a dimension, or a sum or product of extents: never negative."""


Element: TypeAlias = int | bool | Size


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Elements known at import; they enter the IR when an op needs them."""

    array: Array
    """Read-only; strides of zero when all elements are equal."""
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SizeVector:
    """Integers, some of them sizes that are known only when the model runs."""

    elements: Array
    """Of dtype object, holding `int`, `bool` and `Size`."""


Value: TypeAlias = SSAValue[Tensor] | Constant | SizeVector


def elements_of(value: Constant | SizeVector) -> Array:
    """The elements as an array of objects: `int`, `bool` or `Size`."""
    return value.array.astype(object) if isinstance(value, Constant) else value.elements


def settled(elements: Array, dtype: np.dtype[np.generic]) -> Constant | SizeVector:
    """A constant when no element is a `Size`, else the vector itself.

    Args:
        elements: Of dtype object.
        dtype: Element type of the constant.
    """
    if any(isinstance(element, Size) for element in elements.flat):
        return SizeVector(elements)
    return Constant(elements.astype(dtype))


def _arithmetic(symbol: str, compute: Callable[[int, int], int], neutral: int | None, extent: bool):
    def apply(lhs: Element, rhs: Element) -> Element:
        if not isinstance(lhs, Size) and not isinstance(rhs, Size):
            return compute(int(lhs), int(rhs))
        if rhs == neutral and not isinstance(rhs, Size):
            return lhs
        if lhs == neutral and not isinstance(lhs, Size) and symbol in ("+", "*"):
            return rhs
        is_extent = extent and all(part.is_extent if isinstance(part, Size) else part >= 0 for part in (lhs, rhs))
        return _named(f"({_text(lhs)} {symbol} {_text(rhs)})", is_extent)

    return apply


def _text(element: Element) -> str:
    return element.name if isinstance(element, Size) else str(int(element))


def _named(name: str, is_extent: bool) -> Size:
    if len(name) > _MAX_NAME:
        name = f"size-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"
    return Size(name, is_extent)


def _truncated_quotient(lhs: int, rhs: int) -> int:
    quotient = abs(lhs) // abs(rhs)
    return quotient if (lhs < 0) == (rhs < 0) else -quotient


def _is_equal(lhs: Element, rhs: Element) -> bool:
    """Whether two elements are equal.

    Raises:
        ValueError: That is known only when the model runs.
    """
    if isinstance(lhs, Size) or isinstance(rhs, Size):
        if lhs == rhs:
            return True
        for size, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(size, Size) and size.is_extent and not isinstance(other, Size) and other < 0:
                return False
        raise ValueError(f"whether {_text(lhs)} equals {_text(rhs)} depends on the input")
    return lhs == rhs


ELEMENT_RULES: dict[str, Callable[[Element, Element], Element]] = {
    "Add": _arithmetic("+", operator.add, 0, True),
    "Sub": _arithmetic("-", operator.sub, 0, False),
    "Mul": _arithmetic("*", operator.mul, 1, True),
    "Div": _arithmetic("/", _truncated_quotient, 1, True),
    "Equal": _is_equal,
}
"""ONNX operators on pairs of elements."""
