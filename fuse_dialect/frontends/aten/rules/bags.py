"""Sums, means and maxima of bags of embeddings.

1. `offsets` says where each bag begins in the line of indices. Bags of equal lengths, which is what a matrix of indices
   has, are an axis of their own; other bags are scattered into.
2. An index that is `padding_idx` counts in no bag. A bag without indices gives zeros.

Source: aten/src/ATen/native/EmbeddingBag.cpp of PyTorch 2.14.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.comparison import EqualOp, NotEqualOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.dialect.ops.opaque import ArangeOp, ScatterNdOp
from fuse_dialect.frontends.aten.rules.indexing import counted_below
from fuse_dialect.frontends.aten.rules.shapes import sliced
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, made
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    counting,
    integers,
    reshape,
    scalar,
    shape,
)

_SUM, _MEAN, _MAX = range(3)
"""The numbers of the modes."""


def _equal_length(offsets: SSAValue, count: int) -> int | None:
    """The length of each bag where all are known to be alike (1)."""
    if not isinstance(offsets.owner, ArangeOp):
        return None
    length = int(offsets.owner.step.value.data)
    begins_at_0 = offsets.owner.start.value.data == 0
    return length if begins_at_0 and length * shape(offsets)[0] == count else None


def _bag_of_each(offsets: SSAValue, count: int, length: int) -> SSAValue:
    """The number of the bag of each place in the line: how many begin at it or before, less one."""
    if length:
        return integers(np.arange(count) // length)
    counts = counted_below(offsets, counting(count, i64), is_right=True)
    return made(b.SubtractOp(counts, scalar(counts, 1)))


def _combined(rows: SSAValue, bags: SSAValue, sizes: Sequence[int], is_max: bool, start: float) -> SSAValue:
    """Rows [N, ...] combined in their bags.

    Args:
        rows: What is combined.
        bags: The bag of each row.
        sizes: The number of bags, and the length of each, 0 if they are not alike (1).
        is_max: Whether the greatest is asked for, not the sum.
        start: What an empty bag gives.
    """
    (number, length), rest = sizes, shape(rows)[1:]
    if length:
        return made((r.MaxOp if is_max else r.SumOp)(reshape(rows, [number, length, *rest]), axes=[1]))
    first = broadcast(scalar(rows, start), [number, *rest])
    return made(ScatterNdOp(first, reshape(bags, [shape(rows)[0], 1]), rows, mode="max" if is_max else "add"))


def _column(values: SSAValue) -> SSAValue:
    return reshape(values, [shape(values)[0], 1])


@RULES.of("aten._embedding_bag_forward_only.default")
def embedding_bag(
    want: Want,
    weight: SSAValue,
    indices: SSAValue,
    offsets: SSAValue,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: SSAValue | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> list[SSAValue]:
    """The bags; the bag of each index, or nothing; the sizes of bags, zeros for sums.

    Where the greatest elements come from is left out: nobody reads it without a gradient.
    """
    (count,), number = shape(indices), want.shape[0]
    if include_last_offset:
        offsets = sliced(offsets, 0, 0, number)
    length = _equal_length(offsets, count) or 0
    sizes, bags = (number, length), _bag_of_each(offsets, count, length)
    wide = np.dtype(np.float32) if want.dtype.itemsize == 2 else want.dtype
    neutral = -math.inf if mode == _MAX else 0.0
    rows = as_type(made(TakeOp(weight, indices, axis=0)), wide)
    if per_sample_weights is not None:
        rows = made(b.MultiplyOp(rows, _column(as_type(per_sample_weights, wide))))
    is_kept = made(NotEqualOp(indices, scalar(indices, padding_idx)))
    if padding_idx >= 0:
        rows = made(b.WhereOp(_column(is_kept), rows, scalar(rows, neutral)))
    value = _combined(rows, bags, sizes, mode == _MAX, neutral)
    counts = _combined(as_type(is_kept, np.dtype(np.int64)), bags, sizes, False, 0)
    if mode == _MEAN:
        at_least_1 = made(b.MaximumOp(counts, scalar(counts, 1)))
        value = made(b.DivideOp(value, _column(as_type(at_least_1, wide))))
    elif mode == _MAX:
        value = made(b.WhereOp(_column(made(EqualOp(counts, scalar(counts, 0)))), scalar(value, 0), value))
    places, told = want.results[1], want.results[2]
    if places is None or told is None:
        raise NoFuseFormError("bags of unknown number")
    counts = integers(np.zeros(told.shape, np.int64)) if mode == _SUM else _filled_up(counts, told.shape[0])
    return [value, bags if places.shape[0] else integers(np.zeros(0, np.int64)), counts]


def _filled_up(counts: SSAValue, number: int) -> SSAValue:
    """With a zero behind it where the last offset is the end, and counts."""
    missing = number - shape(counts)[0]
    return made(ConcatenateOp(counts, integers(np.zeros(missing, np.int64)), axis=0)) if missing else counts


@RULES.of("aten._embedding_bag.default")
def embedding_bag_for_gradients(want: Want, *operands: Any, **options: Any) -> list[SSAValue]:
    """The same, and the sizes again in place of where the greatest come from.

    Raises:
        NoFuseFormError: A gradient of maxima wants to know where they come from.
    """
    origins = want.results[3]
    if origins is None or len(origins.shape) == 2:
        raise NoFuseFormError("where the greatest of a bag come from")
    value, bags, counts = embedding_bag(want, *operands, **options)
    return [value, bags, counts, counts]


@RULES.of("aten._embedding_bag_backward.default")
def embedding_bag_backward(
    want: Want,
    grad: SSAValue,
    indices: SSAValue,
    offsets: SSAValue,
    offset2bag: SSAValue,
    bag_size: SSAValue,
    maximum_indices: SSAValue,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: SSAValue | None,
    padding_idx: int = -1,
) -> SSAValue:
    """The gradient of the rows, for which the bag of each index is found again if it was not told."""
    if sparse:
        raise NoFuseFormError("a sparse gradient")
    count = shape(indices)[0]
    bags = offset2bag if shape(offset2bag)[0] else _bag_of_each(offsets, count, _equal_length(offsets, count) or 0)
    rest = (num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx)
    return embedding_bag_gradient(want, grad, indices, bags, bag_size, maximum_indices, *rest)


@RULES.of("aten._embedding_bag_dense_backward.default")
def embedding_bag_gradient(
    want: Want,
    grad: SSAValue,
    indices: SSAValue,
    offset2bag: SSAValue,
    bag_size: SSAValue,
    maximum_indices: SSAValue,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: SSAValue | None,
    padding_idx: int = -1,
) -> SSAValue:
    """The gradient of the rows, added up where an index comes twice."""
    if mode == _MAX or scale_grad_by_freq:
        raise NoFuseFormError("the gradient of maxima, or one scaled by how often an index comes")
    rows = made(TakeOp(grad, offset2bag, axis=0))
    if mode == _MEAN:
        rows = made(b.DivideOp(rows, _column(as_type(made(TakeOp(bag_size, offset2bag, axis=0)), want.dtype))))
    if per_sample_weights is not None:
        rows = made(b.MultiplyOp(rows, _column(per_sample_weights)))
    if padding_idx >= 0:
        is_kept = _column(made(NotEqualOp(indices, scalar(indices, padding_idx))))
        rows = made(b.WhereOp(is_kept, rows, scalar(rows, 0)))
    return _combined(rows, as_type(indices, np.dtype(np.int64)), (num_weights, 0), False, 0)
