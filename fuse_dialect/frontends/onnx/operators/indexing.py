"""ONNX operators that pick elements by index, write them by index, pad, or order them."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, ModOp
from fuse_dialect.dialect.ops.concatenation import StackOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp, PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.normalization import OneHotOp
from fuse_dialect.dialect.ops.opaque import ArgwhereOp, CumsumOp, ScatterNdOp, TopkOp
from fuse_dialect.dialect.ops.reduction import ArgmaxOp
from fuse_dialect.dialect.ops.sequences import CumprodOp, ReverseSequenceOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import reshape, transpose
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Size, Value

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
    """`strided_slice`."""
    x = node.operand(0)
    if node.opset < 10:
        starts: Sequence[int | Size] = node.integers("starts")
        ends: Sequence[int | Size] = node.integers("ends")
        axes = node.integers("axes") if node.has("axes") else list(range(len(starts)))
        steps = [1] * len(starts)
    else:
        starts, ends = list(node.elements(1).reshape(-1)), list(node.elements(2).reshape(-1))
        axes = node.constant_ints(3) if node.optional(3) is not None else list(range(len(starts)))
        steps = node.constant_ints(4) if node.optional(4) is not None else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise FuseError(f"expects as many starts, ends and steps as axes, got {len(starts)}, {len(ends)}, {len(steps)}")
    sizes = node.sizes(x)
    axes = [normalize_axis(axis, len(sizes)) for axis in axes]
    begin = [_bound(size, sizes[axis]) for size, axis in zip(starts, axes, strict=True)]
    end = [_bound(size, sizes[axis]) for size, axis in zip(ends, axes, strict=True)]
    return node.emit(StridedSliceOp, x, begin=begin, end=end, strides=steps, axes=axes)


def _bound(bound: int | Size, extent: int | Size) -> int:
    """A bound of a slice; the extent of a dynamic axis is the open end."""
    if not isinstance(bound, Size):
        return bound
    if bound == extent:
        return _OPEN_END
    raise DynamicShapeError(f"slices at the dynamic size '{bound.name}'")


@OPERATORS.operator("Pad")
def import_pad(node: OnnxNode) -> Value:
    """`pad`."""
    x = node.operand(0)
    rank = node.rank(x)
    mode = node.string("mode", "constant")
    if node.opset < 11:
        pads, value = node.integers("pads"), node.scalar(node.real("value", 0.0), x)
    else:
        pads = node.constant_ints(1)
        given = node.optional(2)
        value = node.scalar(0, x) if given is None else reshape(node, given, [])
    axes = list(range(rank))
    if node.optional(3) is not None:
        axes = [normalize_axis(axis, rank) for axis in node.constant_ints(3)]
    if len(pads) != 2 * len(axes):
        raise FuseError(f"expects {2 * len(axes)} paddings, got {len(pads)}")
    low, high = [0] * rank, [0] * rank
    for position, axis in enumerate(axes):
        low[axis], high[axis] = pads[position], pads[position + len(axes)]
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise UnsupportedFormError(f"the mode '{mode}' is not supported")
    return node.emit(PadOp, x, value, low=low, high=high, mode=mode)


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
    shape = node.static_shape(indices)
    axis = normalize_axis(node.integer("axis", 0), len(shape))
    indices = cast_to(node, indices, _INT64)
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


@OPERATORS.operator("OneHot")
def import_one_hot(node: OnnxNode) -> Value:
    """`one_hot`."""
    indices, values = node.operand(0), node.operand(2)
    depth = int(node.constant_scalar(1))
    if isinstance(values, Constant) and values.array.size == 2:
        off, on = (Constant(item.reshape(())) for item in values.array.reshape(-1))
    else:
        off, on = (
            reshape(node, node.emit(StridedSliceOp, values, begin=[i], end=[i + 1], strides=[1]), []) for i in (0, 1)
        )
    indices = cast_to(node, indices, _INT64)
    return node.emit(OneHotOp, indices, on, off, depth=depth, axis=node.integer("axis", -1))


@OPERATORS.operator("Hardmax")
def import_hardmax(node: OnnxNode) -> Value:
    """One at the first greatest element along the axis, else zero."""
    x = node.operand(0)
    shape = node.static_shape(x)
    axis = normalize_axis(node.integer("axis", -1 if node.opset >= 13 else 1), len(shape))
    flat = x if node.opset >= 13 else reshape(node, x, [int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))])
    axis = axis if node.opset >= 13 else 1
    place = node.emit(ArgmaxOp, flat, axes=[axis], keepdims=False)
    depth = node.shape(flat)[axis]
    hot = node.emit(OneHotOp, place, node.scalar(1, x), node.scalar(0, x), depth=depth, axis=axis)
    return reshape(node, hot, shape)


@OPERATORS.operator("TopK")
def import_top_k(node: OnnxNode) -> Sequence[Value]:
    """`topk`."""
    k = node.integer("k") if node.opset < 10 else int(node.constant_scalar(1))
    ascending = not node.flag("largest", True)
    axis = node.integer("axis", -1)
    return node.emit_all(TopkOp, node.operand(0), k=k, axis=axis, is_ascend=ascending)


@OPERATORS.operator("CumSum")
def import_cumsum(node: OnnxNode) -> Value:
    """`cumsum`."""
    return node.emit(
        CumsumOp,
        node.operand(0),
        axis=int(node.constant_scalar(1)),
        exclusive=node.flag("exclusive"),
        reverse=node.flag("reverse"),
    )


@OPERATORS.operator("CumProd")
def import_cumprod(node: OnnxNode) -> Value:
    """`cumprod`."""
    return node.emit(
        CumprodOp,
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
    """`take` at the places where the condition, a constant, is true."""
    x, condition = node.operand(0), node.constant(1)
    node.builder.budget.spend("the list of places", bytes=_INT64.itemsize * condition.size)
    places = Constant(np.flatnonzero(condition))
    if node.has("axis"):
        return node.emit(TakeOp, x, places, axis=node.integer("axis"))
    if DYNAMIC in node.shape(x):
        raise DynamicShapeError(f"needs a static shape, got {node.type_of(x)}")
    flat = reshape(node, x, [int(np.prod(node.shape(x)))])
    return node.emit(TakeOp, flat, places, axis=0)
