"""Elements by index: gathers and scatters. A negative index counts from the end."""

import math
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import indexing as i
from fuse_dialect.dialect.ops.comparison import GreaterEqualOp, GreaterOp, LessOp
from fuse_dialect.dialect.ops.concatenation import StackOp
from fuse_dialect.dialect.ops.elementwise import LogicalNotOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.dialect.ops.reduction import SumOp
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, is_value, made
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    counting,
    dtype,
    reshape,
    scalar,
    shape,
    transpose,
)

_INT64 = np.dtype(np.int64)
_MODES = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
"""What PyTorch's reductions of a scatter are called."""


def _places(index: SSAValue, size: int) -> SSAValue:
    """Indices from 0 on, as i64."""
    index = as_type(index, _INT64)
    return made(b.WhereOp(made(LessOp(index, scalar(index, 0))), made(b.AddOp(index, scalar(index, size))), index))


@RULES.of("aten.embedding.default")
def embedding(
    want: Want,
    weight: SSAValue,
    indices: SSAValue,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> SSAValue:
    """`take` of rows."""
    return made(i.TakeOp(weight, indices, axis=0))


@RULES.of("aten.index_select.default")
def index_select(want: Want, self: SSAValue, dim: int, index: SSAValue) -> SSAValue:
    """`take`."""
    if not shape(self):
        raise NoFuseFormError("an index of a number")
    return reshape(made(i.TakeOp(self, index, axis=dim % len(shape(self)))), want.shape)


@RULES.of("aten.gather.default")
def gather(want: Want, self: SSAValue, dim: int, index: SSAValue, *, sparse_grad: bool = False) -> SSAValue:
    """`gather`."""
    if not shape(self):
        raise NoFuseFormError("an index of a number")
    return made(i.GatherOp(self, index, axis=dim % len(shape(self))))


_MOST_COMPARISONS = 1 << 24
"""Of values with bounds, of one search."""


@RULES.of("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(
    want: Want,
    sorted_sequence: SSAValue,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: SSAValue | None = None,
) -> SSAValue:
    """How many elements of its line are less than each value, or with `right` not greater. A nan is the greatest."""
    line = sorted_sequence if sorter is None else made(i.GatherOp(sorted_sequence, sorter, axis=len(shape(sorter)) - 1))
    values = self if is_value(self) else as_type(self, dtype(line))
    if not shape(values):
        values = reshape(values, [1] * len(shape(line)))
    return reshape(counted_below(line, values, is_right=right or side == "right"), want.shape)


@RULES.of("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(want: Want, self: Any, boundaries: SSAValue, *, out_int32: bool = False, right: bool = False) -> SSAValue:
    """The same, of one line for all values."""
    values = self if is_value(self) else as_type(self, dtype(boundaries))
    return reshape(counted_below(boundaries, reshape(values, [prod(shape(values))]), is_right=right), want.shape)


def counted_below(line: SSAValue, values: SSAValue, *, is_right: bool) -> SSAValue:
    """How many elements of its line are less than each value, as i64: comparisons with the whole line, added up.

    Args:
        line: [..., N], in order.
        values: [..., M]; for several lines as many.
        is_right: Whether equal elements count, too.

    Returns:
        The shape of `values`.

    Raises:
        NoFuseFormError: These would be too many comparisons.
    """
    bounds, wanted = shape(line), shape(values)
    if prod(wanted) * bounds[-1] > _MOST_COMPARISONS:
        raise NoFuseFormError(f"more than {_MOST_COMPARISONS} comparisons")
    common = np.promote_types(dtype(line), dtype(values))
    each = reshape(as_type(values, common), [*wanted, 1])
    others = reshape(as_type(line, common), [*bounds[:-1], 1, bounds[-1]])
    compare = GreaterOp if is_right else GreaterEqualOp
    # What is neither greater nor equal is less, or one of both is a nan.
    is_below = made(LogicalNotOp(made(compare(others, each))))
    return made(SumOp(as_type(is_below, _INT64), axes=[len(wanted)]))


def _joined(indices: Sequence[SSAValue], sizes: Sequence[int]) -> SSAValue:
    """Index tensors, broadcast and side by side along a new last axis."""
    common = np.broadcast_shapes(*(shape(index) for index in indices))
    places = [broadcast(_places(index, size), common) for index, size in zip(indices, sizes, strict=True)]
    return made(StackOp(*places, axis=len(common)))


def _indexed(self: SSAValue, indices: Sequence[SSAValue | None]) -> tuple[list[int], list[SSAValue]]:
    """The axes that have an index, and the indices.

    Raises:
        NoFuseFormError: There is a mask among them.
    """
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    found = [index for index in indices if index is not None]
    if any(dtype(index).kind == "b" for index in found):
        raise NoFuseFormError("a mask as an index, which decides the size")
    return axes, found


@RULES.of("aten.index.Tensor")
def index(want: Want, self: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    """`take` by one index, `gather_nd` by several."""
    axes, found = _indexed(self, indices)
    if len(axes) == 1:
        return made(i.TakeOp(self, found[0], axis=axes[0]))
    sizes = shape(self)
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    joined = _joined(found, [sizes[axis] for axis in axes])
    value = made(i.GatherNdOp(transpose(self, [*axes, *others]), joined))
    # NumPy's rule: neighbours leave the new axes in their place, others put them in front.
    rank = len(shape(joined)) - 1
    before = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    order = [*range(rank, rank + before), *range(rank), *range(rank + before, rank + len(others))]
    return transpose(value, order)


@RULES.of("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(
    want: Want,
    self: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
    unsafe: bool = False,
) -> SSAValue:
    """`scatter_nd`, with the axes that are indexed in front."""
    axes, found = _indexed(self, indices)
    sizes = shape(self)
    joined = _joined(found, [sizes[axis] for axis in axes])
    places = list(shape(joined)[:-1])
    rest = [axis for axis in range(len(sizes)) if axis not in axes]
    # Values lie as `index` gives them: what is indexed comes first, but neighbouring axes stay where they are.
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    around = [sizes[axis] for axis in rest]
    updates = broadcast(as_type(values, want.dtype), [*around[:first], *places, *around[first:]])
    behind = first + len(places)
    updates = transpose(updates, [*range(first, behind), *range(first), *range(behind, len(rest) + len(places))])
    order = [*axes, *rest]
    moved = made(ScatterNdOp(transpose(self, order), joined, updates, mode="add" if accumulate else "update"))
    return transpose(moved, [order.index(axis) for axis in range(len(sizes))])


@RULES.of("aten._unsafe_index.Tensor")
def unsafe_index(want: Want, self: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    """The same as `index`."""
    return index(want, self, indices)


def _scattered(self: SSAValue, dim: int, index: SSAValue, updates: SSAValue, mode: str) -> SSAValue:
    """Elements written one by one: each of `index` says the place along one axis, its own place the others."""
    sizes, rank = shape(index), len(shape(index))
    if not rank:
        raise NoFuseFormError("a scatter into a number")
    axis = dim % rank
    coordinates = list[SSAValue]()
    for place in range(rank):
        if place == axis:
            coordinates.append(_places(index, shape(self)[axis]))
        else:
            line = [sizes[place] if each == place else 1 for each in range(rank)]
            coordinates.append(broadcast(reshape(counting(sizes[place], i64), line), sizes))
    return made(ScatterNdOp(self, made(StackOp(*coordinates, axis=rank)), updates, mode=mode))


def _source(value: Any, index: SSAValue, kind: "np.dtype[Any]") -> SSAValue:
    """The elements that an index has a place for."""
    if not is_value(value) or not shape(value):
        return broadcast(as_type(value, kind), shape(index))
    if shape(value) == shape(index):
        return as_type(value, kind)
    rank = len(shape(index))
    return made(i.StridedSliceOp(value, begin=[0] * rank, end=list(shape(index)), strides=[1] * rank))


@RULES.of("aten.scatter.src", "aten.scatter.value")
def scatter(want: Want, self: SSAValue, dim: int, index: SSAValue, src: Any) -> SSAValue:
    """`scatter_nd`."""
    return _scattered(self, dim, index, _source(src, index, want.dtype), "update")


@RULES.of("aten.scatter_add.default")
def scatter_add(want: Want, self: SSAValue, dim: int, index: SSAValue, src: SSAValue) -> SSAValue:
    """`scatter_nd` that adds."""
    return _scattered(self, dim, index, _source(src, index, want.dtype), "add")


@RULES.of("aten.scatter_reduce.two")
def scatter_reduce(
    want: Want, self: SSAValue, dim: int, index: SSAValue, src: SSAValue, reduce: str, *, include_self: bool = True
) -> SSAValue:
    """`scatter_nd` that combines; without `include_self` into what changes nothing, at the places that are written."""
    updates = _source(src, index, want.dtype)
    if reduce not in _MODES and (reduce != "mean" or want.dtype.kind in "biu"):
        raise NoFuseFormError(f"the reduction {reduce} of {want.dtype}")
    start = self
    if not include_self:
        neutral = broadcast(scalar(self, _neutral(reduce, want.dtype)), shape(index))
        start = _scattered(self, dim, index, neutral, "update")
    value = _scattered(start, dim, index, updates, _MODES.get(reduce, "add"))
    if reduce != "mean":
        return value
    ones = broadcast(scalar(self, 1), shape(index))
    counts = _scattered(broadcast(scalar(self, float(include_self)), shape(self)), dim, index, ones, "add")
    return made(b.DivideOp(value, made(b.MaximumOp(counts, scalar(counts, 1)))))


def _neutral(reduce: str, kind: "np.dtype[Any]") -> float:
    """What changes nothing by a reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind in "iu":
        return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max
    return -math.inf if reduce == "amax" else math.inf
