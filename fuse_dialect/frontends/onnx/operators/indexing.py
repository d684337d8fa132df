"""ONNX operators that pick elements by index, write them by index, pad, or order them."""

import math
from collections.abc import Sequence

import numpy as np

from fuse_dialect.analysis.sizes import Size, integers_of, product_of, subtract
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, MaximumOp, ModOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp, LessOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, StackOp
from fuse_dialect.dialect.ops.dynamic import DynBroadcastToOp, DynOneHotOp, DynPadOp, DynStridedSliceOp, DynTopkOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp, PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.normalization import OneHotOp
from fuse_dialect.dialect.ops.opaque import ArgwhereOp, ScatterNdOp, TopkOp
from fuse_dialect.dialect.ops.reduction import ArgmaxOp
from fuse_dialect.dialect.ops.sequences import CumprodOp, CumsumOp, ReverseSequenceOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.constants import counted
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape, reshape_to_sizes, transpose
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value, size_vector

OPERATORS = OperatorTable()

_OPEN_END = np.iinfo(np.int64).max
_INT64 = np.dtype(np.int64)


@OPERATORS.operator("Gather")
def import_gather(node: OnnxNode) -> Value:
    """`take`."""
    return node.emit(TakeOp, node.operand(0), node.operand(1), axis=node.integer("axis", 0))


@OPERATORS.operator("GatherElements")
def import_gather_elements(node: OnnxNode) -> Value:
    """`gather`."""
    return node.emit(GatherOp, node.operand(0), node.operand(1), axis=node.integer("axis", 0))


@OPERATORS.operator("GatherND")
def import_gather_nd(node: OnnxNode) -> Value:
    """`gather_nd`."""
    batch_dims = node.integer("batch_dims", 0)
    return node.emit(GatherNdOp, node.operand(0), node.operand(1), batch_dims=batch_dims)


@OPERATORS.operator("Slice")
def import_slice(node: OnnxNode) -> Value:
    """`strided_slice`, or `dyn_strided_slice` where the running model says from or to where."""
    x = node.operand(0)
    if node.opset < 10:
        starts: Sequence[int | Size] | None = node.integers("starts")
        ends: Sequence[int | Size] | None = node.integers("ends")
        axes = node.integers("axes") if node.has("axes") else list(range(len(starts)))
        steps: Sequence[int | Size] | None = [1] * len(starts)
    else:
        starts, ends = node.known_elements(1), node.known_elements(2)
        count = math.prod(node.shape(node.operand(1)))
        axes = node.constant_ints(3) if node.optional(3) is not None else list(range(count))
        steps = node.known_elements(4) if node.optional(4) is not None else [1] * len(axes)
    sizes = node.sizes(x)
    axes = [normalize_axis(axis, len(sizes)) for axis in axes]
    if starts is None or ends is None or steps is None:
        return _dynamic_slice(node, x, axes)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise FuseError(f"expects as many starts, ends and steps as axes, got {len(starts)}, {len(ends)}, {len(steps)}")
    begin = [
        _first(_bound(start, sizes[axis]), sizes[axis], step)
        for start, axis, step in zip(starts, axes, steps, strict=True)
    ]
    end = [_bound(size, sizes[axis]) for size, axis in zip(ends, axes, strict=True)]
    if any(isinstance(number, Size) for number in (*begin, *end, *steps)):
        return _dynamic_slice(node, x, axes)
    return node.emit(
        StridedSliceOp, x, begin=integers_of(begin), end=integers_of(end), strides=integers_of(steps), axes=axes
    )


def _first(start: int | Size, extent: int | Size, step: int | Size) -> int | Size:
    """The start of a slice as Python slices mean it; what depends on the extent, and is not known, is a `Size`.

    A start before the first element is that element to ONNX, also where the slice goes backwards; to Python it is
    before the first element, and nothing is left.
    """
    if isinstance(step, Size) or step > 0 or isinstance(start, Size) or start >= -1:  # -1 of nothing is nothing to both
        return start
    return max(start, -extent) if not isinstance(extent, Size) else subtract(0, extent)


def _bound(bound: int | Size, extent: int | Size) -> int | Size:
    """A bound of a slice; the extent of a dynamic axis is the open end."""
    return _OPEN_END if isinstance(bound, Size) and bound == extent else bound


def _dynamic_slice(node: OnnxNode, x: Value, axes: Sequence[int]) -> Value:
    steps = node.integer_list(4) if node.optional(4) is not None else Constant(np.ones(len(axes), np.int64))
    begin = node.integer_list(1)
    if not isinstance(steps, Constant) or (steps.array < 0).any():
        # See `_first`.
        sizes = node.sizes(x)
        least = node.emit(
            MaximumOp, begin, cast_to(node, size_vector([subtract(0, sizes[axis]) for axis in axes]), node.dtype(begin))
        )
        backwards = node.emit(LessOp, steps, node.scalar(0, steps))
        begin = node.emit(WhereOp, backwards, least, begin)
    return node.emit(DynStridedSliceOp, x, begin, node.integer_list(2), steps, axes=axes)


@OPERATORS.operator("Pad")
def import_pad(node: OnnxNode) -> Value:
    """`pad`, or `dyn_pad` by widths that the running model computes."""
    x = node.operand(0)
    rank = node.rank(x)
    mode = node.string("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise UnsupportedFormError(f"the mode '{mode}' is not supported")
    if node.opset < 11:
        pads, value = list[int | Size](node.integers("pads")), node.scalar(node.real("value", 0.0), x)
    else:
        given = node.optional(2)
        pads, value = node.known_elements(1), node.scalar(0, x) if given is None else reshape(node, given, [])
    axes = list(range(rank))
    if node.optional(3) is not None:
        axes = [normalize_axis(axis, rank) for axis in node.constant_ints(3)]
    if pads is None:
        return node.emit(DynPadOp, x, value, *_widths(node, axes, rank), mode=mode)
    if len(pads) != 2 * len(axes):
        raise FuseError(f"expects {2 * len(axes)} paddings, got {len(pads)}")
    low, high = list[int | Size]([0] * rank), list[int | Size]([0] * rank)
    for position, axis in enumerate(axes):
        low[axis], high[axis] = pads[position], pads[position + len(axes)]
    if any(isinstance(width, Size) for width in pads):
        return node.emit(DynPadOp, x, value, size_vector(low), size_vector(high), mode=mode)
    return node.emit(PadOp, x, value, low=integers_of(low), high=integers_of(high), mode=mode)


def _widths(node: OnnxNode, axes: Sequence[int], rank: int) -> tuple[Value, Value]:
    """What each axis grows by, before and behind, of an operand that has the numbers for some axes."""
    pads = node.integer_list(1)
    (count,) = node.shape(pads)
    if count != 2 * len(axes):
        raise FuseError(f"expects {2 * len(axes)} paddings, got {count}")
    # A zero behind the paddings is what axes that are not named get.
    extended = node.emit(ConcatenateOp, pads, Constant(np.zeros(1, node.dtype(pads))), axis=0)
    places = [axes.index(axis) if axis in axes else None for axis in range(rank)]
    low = [count if place is None else place for place in places]
    high = [count if place is None else place + len(axes) for place in places]
    taken = [node.emit(TakeOp, extended, Constant(np.array(side, np.int64)), axis=0) for side in (low, high)]
    return taken[0], taken[1]


@OPERATORS.operator("ScatterND")
def import_scatter_nd(node: OnnxNode) -> Value:
    """`scatter_nd`."""
    x, indices, updates = (node.operand(index) for index in range(3))
    return node.emit(ScatterNdOp, x, indices, updates, mode=_scatter_mode(node))


def _scatter_mode(node: OnnxNode) -> str:
    reduction = node.string("reduction", "none")
    if reduction not in ("none", "add", "mul", "min", "max"):
        raise UnsupportedFormError(f"the reduction '{reduction}' is not supported")
    return "update" if reduction == "none" else reduction


@OPERATORS.operator("ScatterElements", "Scatter")
def import_scatter_elements(node: OnnxNode) -> Value:
    """`scatter_nd`, with the coordinates of every index spelled out."""
    x, indices, updates = (node.operand(index) for index in range(3))
    sizes = node.sizes(indices)
    axis = normalize_axis(node.integer("axis", 0), len(sizes))
    indices = cast_to(node, indices, _INT64)
    if any(isinstance(size, Size) for size in sizes):
        coordinates = _computed_coordinates(node, indices, sizes, axis)
        return node.emit(ScatterNdOp, x, coordinates, updates, mode=_scatter_mode(node))
    shape = integers_of(sizes)
    if len(shape) == 1:
        coordinates = reshape(node, indices, [*shape, 1])
    else:
        node.builder.budget.spend("the list of coordinates", bytes=_INT64.itemsize * sum(shape))
        grid = np.indices(shape, sparse=True)
        parts = [
            indices if position == axis else Constant(np.broadcast_to(coordinate, shape))
            for position, coordinate in enumerate(grid)
        ]
        coordinates = node.emit(StackOp, *parts, axis=len(shape))
    return node.emit(ScatterNdOp, x, coordinates, updates, mode=_scatter_mode(node))


def _computed_coordinates(node: OnnxNode, indices: Value, sizes: Sequence[int | Size], axis: int) -> Value:
    """The coordinates of every index, of which the running model knows how many there are."""
    rank = len(sizes)
    parts: list[Value] = []
    for position, size in enumerate(sizes):
        if position == axis:
            parts.append(indices)
            continue
        others = [other for other in range(rank) if other != position]
        numbers = expand_dims(node, counted(node, size, 0), others)
        part = node.emit(DynBroadcastToOp, numbers, size_vector(sizes))
        node.builder.name_sizes(part, sizes)
        parts.append(part)
    return node.emit(StackOp, *parts, axis=rank)


@OPERATORS.operator("OneHot")
def import_one_hot(node: OnnxNode) -> Value:
    """`one_hot`, or `dyn_one_hot`."""
    indices, values = node.operand(0), node.operand(2)
    if isinstance(values, Constant) and values.array.size == 2:
        off, on = (Constant(item.reshape(())) for item in values.array.reshape(-1))
    else:
        off, on = (
            reshape(node, node.emit(StridedSliceOp, values, begin=[i], end=[i + 1], strides=[1]), []) for i in (0, 1)
        )
    indices = cast_to(node, indices, _INT64)
    if not node.is_known(1):
        depth = cast_to(node, node.integer_scalar(1), _INT64)
        return node.emit(DynOneHotOp, indices, on, off, depth, axis=node.integer("axis", -1))
    depth = int(node.constant_scalar(1))
    return node.emit(OneHotOp, indices, on, off, depth=depth, axis=node.integer("axis", -1))


@OPERATORS.operator("Hardmax")
def import_hardmax(node: OnnxNode) -> Value:
    """One at the first greatest element along the axis, else zero."""
    x = node.operand(0)
    sizes = node.sizes(x)
    axis = normalize_axis(node.integer("axis", -1 if node.opset >= 13 else 1), len(sizes))
    if node.opset >= 13:
        return _hot(node, x, axis)
    flat = reshape_to_sizes(node, x, [product_of(sizes[:axis]), product_of(sizes[axis:])])
    return reshape_to_sizes(node, _hot(node, flat, 1), sizes)


def _hot(node: OnnxNode, x: Value, axis: int) -> Value:
    depth = node.sizes(x)[axis]
    if isinstance(depth, int):
        place = node.emit(ArgmaxOp, x, axes=[axis], keepdims=False)
        return node.emit(OneHotOp, place, node.scalar(1, x), node.scalar(0, x), depth=depth, axis=axis)
    place = node.emit(ArgmaxOp, x, axes=[axis], keepdims=True)
    line = expand_dims(node, counted(node, depth, 0), list(range(1, node.rank(x) - axis)))
    return cast_to(node, node.emit(EqualOp, line, place), node.dtype(x))


@OPERATORS.operator("TopK")
def import_top_k(node: OnnxNode) -> Sequence[Value]:
    """`topk`, or `dyn_topk`."""
    ascending = not node.flag("largest", True)
    axis = node.integer("axis", -1)
    if node.opset >= 10 and not node.is_known(1):
        return node.emit_all(DynTopkOp, node.operand(0), node.integer_scalar(1), axis=axis, is_ascend=ascending)
    k = node.integer("k") if node.opset < 10 else int(node.constant_scalar(1))
    return node.emit_all(TopkOp, node.operand(0), k=k, axis=axis, is_ascend=ascending)


@OPERATORS.operator("CumSum", "CumProd")
def import_cumulative(node: OnnxNode) -> Value:
    """`cumsum` or `cumprod`."""
    return node.emit(
        CumsumOp if node.node.op_type == "CumSum" else CumprodOp,
        node.operand(0),
        axis=int(node.constant_scalar(1)),
        exclusive=node.flag("exclusive"),
        reverse=node.flag("reverse"),
    )


@OPERATORS.operator("ReverseSequence")
def import_reverse_sequence(node: OnnxNode) -> Value:
    """`reverse_sequence`."""
    x, lengths = node.operand(0), node.operand(1)
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    return node.emit(ReverseSequenceOp, x, lengths, seq_axis=time, batch_axis=batch)


@OPERATORS.operator("TensorScatter")
def import_tensor_scatter(node: OnnxNode) -> Value:
    """`scatter_nd`: a run of rows along an axis, from a place on that is each sample's own."""
    cache, update, begin = node.operand(0), node.operand(1), node.optional(2)
    rank = node.rank(cache)
    axis = normalize_axis(node.integer("axis", -2), rank)
    if not axis:
        raise FuseError("expects an axis other than that of the samples, got 0")
    order = [0, axis, *(other for other in range(1, rank) if other != axis)]
    cache, update = transpose(node, cache, order), transpose(node, update, order)
    batch, count = node.static_shape(update)[:2]
    node.builder.budget.spend("the list of places", bytes=2 * _INT64.itemsize * batch * count)
    places: Value = Constant(np.broadcast_to(np.arange(count), (batch, count)))
    if begin is not None:
        places = node.emit(AddOp, places, reshape(node, cast_to(node, begin, _INT64), [batch, 1]))
    if node.string("mode", "linear") == "circular":
        places = node.emit(ModOp, places, Constant(np.array(node.static_shape(cache)[1])))
    samples = Constant(np.broadcast_to(np.arange(batch)[:, None], (batch, count)))
    coordinates = node.emit(StackOp, samples, places, axis=2)
    written = node.emit(ScatterNdOp, cache, coordinates, update)
    return transpose(node, written, [order.index(position) for position in range(rank)])


@OPERATORS.operator("NonZero")
def import_non_zero(node: OnnxNode) -> Value:
    """`argwhere`, transposed."""
    return transpose(node, node.emit(ArgwhereOp, node.operand(0)), [1, 0])


@OPERATORS.operator("Compress")
def import_compress(node: OnnxNode) -> Value:
    """`take` at the places where the condition is true: a list, or what `argwhere` finds when the model runs."""
    x, condition = node.operand(0), node.operand(1)
    if isinstance(condition, Constant):
        node.builder.budget.spend("the list of places", bytes=_INT64.itemsize * condition.array.size)
        places: Value = Constant(np.flatnonzero(condition.array))
    else:
        # A condition may be longer than the axis, as long as it is false there: `take` refuses the others.
        places = reshape(node, node.emit(ArgwhereOp, condition), [DYNAMIC])
    if node.has("axis"):
        return node.emit(TakeOp, x, places, axis=node.integer("axis"))
    flat = reshape_to_sizes(node, x, [product_of(node.sizes(x))])
    return node.emit(TakeOp, flat, places, axis=0)
