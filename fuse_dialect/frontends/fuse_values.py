"""Building `fuse` ops from values, for readers of other programs.

Ops that are made insert themselves where the reader has its builder. A rule that finds no way raises
`NoFuseFormError`, and what it has made so far is dropped.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import MaximumOp, MinimumOp
from fuse_dialect.dialect.ops.conversion import CastOp, FullOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor


class NoFuseFormError(Exception):
    """An op has no equal among the `fuse` ops; the text says what of it."""


def tensor(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tensor."""
    if not is_tensor(value.type):
        raise NoFuseFormError(f"a value of type {value.type}")
    return value.type


def shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor; `DYNAMIC` for one that is not known."""
    return tuple(tensor(value).get_shape())


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor, all known."""
    sizes = shape(value)
    if DYNAMIC in sizes:
        raise NoFuseFormError(f"open sizes in {value.type}")
    return sizes


def dtype(value: SSAValue) -> "np.dtype[np.generic]":
    """The element type of a tensor as NumPy's."""
    return element_dtype(tensor(value).element_type)


def is_float(value: SSAValue) -> bool:
    """Whether the elements are floating point; bf16 is no `np.floating`."""
    return dtype(value).kind not in "biuc"


def of(value: SSAValue, sizes: Sequence[int]) -> TensorType[Attribute]:
    """The type of a tensor of the same elements with these sizes."""
    return TensorType(tensor(value).element_type, sizes)


def result(op: FuseOp) -> SSAValue:
    """The only result of an op."""
    return op.results[0]


def scalar(like: SSAValue, value: float) -> SSAValue:
    """A constant of rank 0 with the elements' type of a tensor."""
    return constant(np.array(value).astype(dtype(like))).result


def integers(values: Sequence[int] | Array, like: SSAValue | None = None) -> SSAValue:
    """A constant of integers; i64, or as the elements of a tensor."""
    return constant(np.array(values, np.int64 if like is None else dtype(like))).result


def reshape(value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The same elements with these sizes."""
    if tuple(sizes) == shape(value):
        return value
    return result(ReshapeOp(value, result_types=[of(value, sizes)]))


def transpose(value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The axes in another order."""
    if list(axes) == sorted(axes):
        return value
    return result(TransposeOp(value, permutation=list(axes)))


def broadcast(value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The tensor, with new axes in front and axes of size 1 repeated."""
    if tuple(sizes) == shape(value):
        return value
    if not shape(value) and DYNAMIC not in sizes:
        return result(FullOp(value, result_types=[of(value, sizes)]))
    return result(BroadcastToOp(value, result_types=[of(value, sizes)]))


def cast_to(value: SSAValue, element_type: Attribute) -> SSAValue:
    """The elements in another type."""
    if tensor(value).element_type == element_type:
        return value
    return result(CastOp(value, result_types=[TensorType(element_type, shape(value))]))


def counting(size: int, element_type: Attribute) -> SSAValue:
    """The numbers from 0 to `size - 1`."""
    return result(ArangeOp(stop=float(size), result_types=[TensorType(element_type, [size])]))


def clamp(value: SSAValue, low: int, high: int | SSAValue) -> SSAValue:
    """Each integer moved into the range; a bound that is a value is one for all."""
    most = scalar(value, high) if isinstance(high, int) else high
    if dtype(value).kind == "u":
        return result(MinimumOp(value, most))
    return result(MinimumOp(result(MaximumOp(value, scalar(value, low))), most))
