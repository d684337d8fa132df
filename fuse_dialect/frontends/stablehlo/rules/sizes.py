"""Sizes that are known only while a program runs: as values, and moves of elements that need them.

Where all sizes are known, these functions make what `building` makes.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.broadcast import MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.dynamic import DynArangeOp, DynReshapeOp, ShapeOfOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, SqueezeOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.shape_rules import product, remainder_says
from fuse_dialect.dialect.types import DYNAMIC, element_dtype
from fuse_dialect.frontends.fuse_values import (
    cast_to,
    counting,
    dtype,
    integers,
    of,
    reshape,
    result,
    scalar,
    shape,
    tensor,
)

Axis: TypeAlias = tuple[SSAValue, int]
"""An axis of a tensor, which stands for its size."""


def dimension(axis: Axis) -> int:
    """The size, or `DYNAMIC`."""
    value, place = axis
    return shape(value)[place]


def size_of(axis: Axis) -> SSAValue:
    """The size as a list of one i64."""
    if (known := dimension(axis)) != DYNAMIC:
        return integers([known])
    return item(result(ShapeOfOp(axis[0])), axis[1])


def item(numbers: SSAValue, place: int) -> SSAValue:
    """One number of a list, as a list."""
    return result(StridedSliceOp(numbers, begin=[place], end=[place + 1], strides=[1], axes=[0]))


def size_list(parts: Sequence[Sequence[Axis]]) -> SSAValue:
    """The products of sizes, as a list of i64."""
    sizes: list[SSAValue] = []
    for part in parts:
        known = product(dimension(axis) for axis in part if dimension(axis) != DYNAMIC)
        size = None if known == 1 and any(dimension(axis) == DYNAMIC for axis in part) else integers([known])
        for axis in part:
            if dimension(axis) == DYNAMIC:
                size = size_of(axis) if size is None else result(MultiplyOp(size, size_of(axis)))
        assert size is not None, "a product of no size is 1"
        sizes.append(size)
    return result(ConcatenateOp(*sizes, axis=0)) if len(sizes) != 1 else sizes[0]


def reshape_to(value: SSAValue, parts: Sequence[Sequence[Axis]]) -> SSAValue:
    """The same elements, with products of sizes as new sizes.

    A `?` of `fuse.reshape` is what remains, so that one of them needs no computation.

    Args:
        value: A tensor.
        parts: Axes whose sizes are multiplied, for each axis of the result.
    """
    sizes = [product(dimension(axis) for axis in part) for part in parts]
    if DYNAMIC not in (*sizes, *shape(value)):
        return reshape(value, sizes)
    target = of(value, sizes)
    if remainder_says(sizes):
        return result(ReshapeOp(value, result_types=[target]))
    return result(DynReshapeOp(value, size_list(parts), allowzero=True, result_types=[target]))


def merge_axes(value: SSAValue, parts: Sequence[Sequence[Axis]]) -> SSAValue:
    """A tensor with neighbouring axes made one; `parts` holds axes of the same sizes as its own, in order."""
    return value if all(len(part) == 1 for part in parts) else reshape_to(value, parts)


def split_axes(value: SSAValue, parts: Sequence[Sequence[Axis]]) -> SSAValue:
    """The opposite of `merge_axes`."""
    return (
        value
        if all(len(part) == 1 for part in parts)
        else reshape_to(value, [[axis] for part in parts for axis in part])
    )


def insert_axes(value: SSAValue, places: Sequence[int]) -> SSAValue:
    """The tensor with axes of size 1 at these places of the result, in ascending order."""
    sizes = list(shape(value))
    if DYNAMIC not in sizes:
        for place in places:
            sizes.insert(place, 1)
        return reshape(value, sizes)
    for place in places:
        value = result(ExpandDimsOp(value, axis=place))
    return value


def drop_axis(value: SSAValue, axis: int) -> SSAValue:
    """The tensor without an axis of size 1."""
    sizes = shape(value)
    if DYNAMIC not in sizes:
        return reshape(value, [*sizes[:axis], *sizes[axis + 1 :]])
    return result(SqueezeOp(value, axes=[axis]))


def as_scalar(size: SSAValue, element_type: Attribute) -> SSAValue:
    """The only number of a list, in another type."""
    return cast_to(reshape(size, []), element_type)


def as_wide(indices: SSAValue) -> SSAValue:
    """Indices in a type that every size fits: those of 8 and 16 bits, and without a sign in 32, in i64."""
    kind = dtype(indices)
    return cast_to(indices, i64) if kind.itemsize < 4 or kind == np.uint32 else indices


def last_start(axis: Axis, part: int, like: SSAValue) -> int | SSAValue:
    """The last place at which a part of that size fits on an axis: a number, or a scalar as `like` has."""
    if (known := dimension(axis)) != DYNAMIC:
        return known - part
    size = as_scalar(size_of(axis), tensor(like).element_type)
    return result(SubtractOp(size, scalar(size, part))) if part else size


def positions(axis: Axis, element_type: Attribute) -> SSAValue:
    """The numbers from 0 up to the size of an axis, which is left out."""
    if (known := dimension(axis)) != DYNAMIC:
        return counting(known, element_type)
    return counting_up_to(size_of(axis), element_type)


def counting_up_to(size: SSAValue, element_type: Attribute) -> SSAValue:
    """The numbers from 0 up to the number in a list, which is left out.

    Counted in i64, so that the size fits, whatever the elements are.
    """
    stop = as_scalar(size, i64)
    zero, one = (constant(np.array(value, element_dtype(i64))).result for value in (0, 1))
    return cast_to(result(DynArangeOp(zero, stop, one)), element_type)
