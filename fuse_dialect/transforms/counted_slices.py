"""A slice of computed bounds whose length is known: `x[:, t : t + 1]` in a loop over `t`.

`dyn_strided_slice` has a result of open sizes, because its bounds may lie anywhere. On an axis of `n` elements it takes
`k` of them, one after the other, whatever the bounds are when it runs, if

1. the stride is 1;
2. begin and end are the same value but for constants, `v + a` and `v + b`, and `k = b - a` is above 0;
3. no sum goes round, and both bounds count from the same side: begin is in 0..n-k, or in -n..-k-1. Of an axis of open
   size `linear_bounds` says whether begin is in 0..n-k.

Then it is a `take` of `begin, begin + 1, ...`, of which it is known that they are in range.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from fuse_dialect.analysis.integer_ranges import Range, Ranges
from fuse_dialect.analysis.known_sizes import KnownSizes
from fuse_dialect.analysis.linear_bounds import SAME_ELEMENT, parts_of, taken_length
from fuse_dialect.analysis.sizes import Size
from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.ops.broadcast import AddOp, SubtractOp
from fuse_dialect.dialect.ops.dynamic import DynStridedSliceOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Tensor,
    element_count,
    element_dtype,
    normalize_axis,
    tensor_type,
    with_shape,
)

MAX_STEPS = 64
"""Ops between a bound and what it is computed from that are looked through."""


class Bound(NamedTuple):
    """One bound of a slice: `base + offset`, which is the only element of `value`."""

    base: SSAValue | None
    """`None` for a constant."""
    offset: int
    value: SSAValue | None
    """`None` for a constant."""


class Piece(NamedTuple):
    """What is taken of an axis: `length` elements from a computed one, or between constants."""

    axis: int
    begin: Bound
    length: int


def counted_slice(op: DynStridedSliceOp, ranges: Ranges, known: KnownSizes) -> list[Operation] | None:
    """Ops that give the same elements, the last one the result, or `None` if the lengths are not known.

    Args:
        op: The slice; nothing is put into its block.
        ranges: Of the integers around it.
        known: Of the sizes around it.

    Complexity: O(axes), and at most `MAX_STEPS` ops back from each bound.
    """
    lists = [_bounds_of(value) for value in (op.begin, op.end, op.strides)]
    begins, ends, strides = lists
    if begins is None or ends is None or strides is None:
        return None
    shape, sizes = tensor_type(op.input).get_shape(), known.sizes_of(op.input)
    given = range(len(begins)) if op.axes is None else op.axes.get_values()
    axes = [normalize_axis(axis, len(shape)) for axis in given]  # in the order of the bounds
    fixed: list[tuple[int, int, int, int]] = []
    pieces: list[Piece] = []
    for axis, begin, end, stride in zip(axes, begins, ends, strides, strict=True):
        if stride.base is not None:
            return None
        if begin.base is None and end.base is None:
            fixed.append((axis, begin.offset, end.offset, stride.offset))
        elif stride.offset == 1 and (
            length := _length(shape[axis], begin, end, ranges) or _open_length(sizes[axis], begin, end, known)
        ):
            pieces.append(Piece(axis, begin, length))
        else:
            return None
    return _written(op, fixed, pieces)


def _length(size: int, begin: Bound, end: Bound, ranges: Ranges) -> int | None:
    """How many elements lie between the bounds, if that is known (2, 3)."""
    length = end.offset - begin.offset
    if size == DYNAMIC or length <= 0 or begin.base is None or begin.base is not end.base:
        return None
    first, last = _range(begin, ranges), _range(end, ranges)
    if first is None or last is None:
        return None
    from_front = first[0] >= 0 and first[1] <= size - length and last[0] >= length and last[1] <= size
    from_back = first[0] >= -size and first[1] < -length and last[0] >= length - size and last[1] < 0
    return length if from_front or from_back else None


def _open_length(size: int | Size, begin: Bound, end: Bound, known: KnownSizes) -> int | None:
    """The same, where sizes are known by name."""
    if begin.value is None or end.value is None:
        return None
    return taken_length(begin.value, end.value, size, known)


def _range(bound: Bound, ranges: Ranges) -> Range | None:
    assert bound.value is not None, "a computed bound has a value"
    return ranges.of(bound.value)


def _bounds_of(numbers: SSAValue) -> list[Bound] | None:
    """The bounds that a list holds: those of each operand of a concatenation, constants, or one that is computed."""
    parts = parts_of(numbers)
    return None if parts is None else [bound for part in parts for bound in _bounds_of_part(part)]


def _bounds_of_part(part: SSAValue) -> list[Bound]:
    array = constant_of(part)
    return [_bound(part)] if array is None else [Bound(None, int(number), None) for number in array.reshape(-1)]


def _bound(value: SSAValue) -> Bound:
    """The only element of a tensor, as a sum."""
    base, offset = value, 0
    for _ in range(MAX_STEPS):
        owner = base.owner
        if isinstance(owner, SAME_ELEMENT) and element_count(owner.operands[0].type) == 1:
            base = owner.operands[0]
            continue
        if not isinstance(owner, AddOp | SubtractOp):
            break
        lhs, rhs = (_number(operand) for operand in owner.operands)
        if rhs is not None:
            base, offset = owner.operands[0], offset + (rhs if isinstance(owner, AddOp) else -rhs)
        elif lhs is not None and isinstance(owner, AddOp):
            base, offset = owner.operands[1], offset + lhs
        else:
            break
    return Bound(base, offset, value)


def _number(value: SSAValue) -> int | None:
    """The only element of a constant of integers."""
    array = constant_of(value)
    return int(array.item()) if array is not None and array.size == 1 and array.dtype.kind in "iu" else None


def _written(
    op: DynStridedSliceOp, fixed: Sequence[tuple[int, int, int, int]], pieces: Sequence[Piece]
) -> list[Operation]:
    made: list[Operation] = []
    value: SSAValue = op.input
    if fixed:
        axes, begin, end, strides = (list(column) for column in zip(*fixed, strict=True))
        slice = StridedSliceOp(value, begin=begin, end=end, strides=strides, axes=axes)
        made.append(slice)
        value = slice.result
    for axis, begin, length in pieces:
        assert begin.value is not None, "a computed bound has a value"
        index = _list_of_one(begin.value, made)
        if length > 1:
            steps = constant(np.arange(length, dtype=element_dtype(index.type.element_type)))
            places = AddOp(index, steps.result)
            made += [steps, places]
            index = places.result
        take = TakeOp(value, index, axis=axis, mode="fast")
        made.append(take)
        value = take.result
    return made


def _list_of_one(value: SSAValue, made: list[Operation]) -> SSAValue[Tensor]:
    """The only element of a value as a list."""
    type = tensor_type(value)
    if tuple(type.get_shape()) == (1,):
        return cast("SSAValue[Tensor]", value)
    reshape = ReshapeOp(value, result_types=[with_shape(type, [1])])
    made.append(reshape)
    return reshape.result
