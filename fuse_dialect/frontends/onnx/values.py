"""What an ONNX value is during import: a value of the IR, a constant, or integers that depend on dynamic dimensions.

The last kind carries shape arithmetic: `Shape` of a tensor with the dimension `?` gives a `SizeVector` such as
`[batch, 128, 768]`, on which Gather, Concat and the like compute without any op in the IR. Where an op must read it,
`size_values` writes the arithmetic out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.analysis.sizes import Element, Size
from fuse_dialect.dialect.types import Tensor
from fuse_dialect.frontends.onnx.tensors import Array

_INT64 = np.dtype(np.int64)


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
    dtype: np.dtype[np.generic] = _INT64
    """The element type in the model: i64, or i32 where a Cast asks for that."""


Value: TypeAlias = SSAValue[Tensor] | Constant | SizeVector


def elements_of(value: Constant | SizeVector) -> Array:
    """The elements as an array of objects: `int`, `bool` or `Size`."""
    return value.array.astype(object) if isinstance(value, Constant) else value.elements


def size_vector(elements: Sequence[Element]) -> Constant | SizeVector:
    """A list of i64: a constant when no element is a `Size`."""
    array = np.empty(len(elements), object)
    array[:] = list(elements)
    return settled(array, _INT64)


def settled(elements: Array, dtype: np.dtype[np.generic]) -> Constant | SizeVector:
    """A constant when no element is a `Size`, else the vector itself.

    Args:
        elements: Of dtype object.
        dtype: Element type of either.
    """
    if any(isinstance(element, Size) for element in elements.flat):
        return SizeVector(elements, dtype)
    return Constant(elements.astype(dtype))
