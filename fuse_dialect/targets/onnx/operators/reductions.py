"""Reductions and pools, as ONNX operators."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import pooling, reduction
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.targets.onnx.graph import GraphWriter, dtype_of, prop, shape_of, unsupported
from fuse_dialect.targets.onnx.operators.shapes import channels_back, channels_first
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()
_OPERATORS: dict[type[FuseOp], str] = {
    reduction.SumOp: "ReduceSum",
    reduction.MaxOp: "ReduceMax",
    reduction.MinOp: "ReduceMin",
    reduction.ProdOp: "ReduceProd",
    reduction.AnyOp: "ReduceMax",
    reduction.AllOp: "ReduceMin",
}


def _axes(op: FuseOp) -> list[int]:
    rank = len(shape_of(op.operands[0]))
    axes = prop(op, "axes")
    return list(range(rank)) if axes is None else [axis % rank for axis in axes]


def _reduce(graph: GraphWriter, op: FuseOp, op_type: str, value: str, keepdims: bool) -> str:
    axes = _axes(op)
    return graph.emit(op_type, value, graph.integers(axes), keepdims=int(keepdims), noop_with_empty_axes=1)


def _count(op: FuseOp) -> int:
    """How many elements become one."""
    sizes = [shape_of(op.operands[0])[axis] for axis in _axes(op)]
    if DYNAMIC in sizes:
        raise unsupported(op, "along axes whose sizes are not known")
    return int(np.prod(sizes, dtype=np.int64))


@ROWS.row(*_OPERATORS)
def write_reduction(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The reduction; in 64 bits for integers of which ONNX has none, which wrap around in the end."""
    dtype = dtype_of(op.operands[0])
    op_type, keepdims = _OPERATORS[type(op)], bool(prop(op, "keepdims"))
    extremes = op_type in ("ReduceMax", "ReduceMin")
    takes = (np.int8, np.uint8, np.bool_) if extremes else ()
    if dtype.kind in "iub" and dtype.itemsize < 4 and dtype not in takes:
        result = _reduce(graph, op, op_type, graph.cast(operands[0], np.int64), keepdims)
        if extremes and {0, DYNAMIC}.intersection(shape_of(op.operands[0])):
            # The greatest of nothing is the least number of 64 bits, which would wrap around to 0.
            limits = np.iinfo(dtype)
            bound, combine = (limits.min, "Max") if op_type == "ReduceMax" else (limits.max, "Min")
            result = graph.emit(combine, result, graph.scalar(bound, np.dtype(np.int64)))
        return graph.cast(result, dtype)
    return _reduce(graph, op, op_type, operands[0], keepdims)


@ROWS.row(reduction.MeanOp)
def write_mean(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`ReduceMean`; of integers the sum in 64 bits by their number."""
    dtype, keepdims = dtype_of(op.operands[0]), bool(prop(op, "keepdims"))
    if dtype.kind not in "iu":
        return _reduce(graph, op, "ReduceMean", operands[0], keepdims)
    wide = np.dtype(np.uint64 if dtype == np.uint64 else np.int64)
    total = _reduce(graph, op, "ReduceSum", graph.cast(operands[0], wide), keepdims)
    return graph.cast(graph.emit("Div", total, graph.scalar(_count(op), wide)), dtype)


@ROWS.row(reduction.VarianceOp)
def write_variance(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The mean of squared differences from the mean, in 32 bits or more."""
    dtype = dtype_of(op.operands[0])
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    value = operands[0] if dtype == wide else graph.cast(operands[0], wide)
    centred = graph.emit("Sub", value, _reduce(graph, op, "ReduceMean", value, True))
    squares, keepdims = graph.emit("Mul", centred, centred), bool(prop(op, "keepdims"))
    if prop(op, "unbiased"):
        total = _reduce(graph, op, "ReduceSum", squares, keepdims)
        result = graph.emit("Div", total, graph.scalar(_count(op) - 1, wide))
    else:
        result = _reduce(graph, op, "ReduceMean", squares, keepdims)
    return result if dtype == wide else graph.cast(result, dtype)


@ROWS.row(reduction.ArgmaxOp, reduction.ArgminOp)
def write_arg_reduction(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`ArgMax` or `ArgMin`, of the flattened operand without axes; truth values are compared as 0 and 1."""
    value, axes, keepdims = operands[0], prop(op, "axes"), bool(prop(op, "keepdims"))
    rank = len(shape_of(op.operands[0]))
    if dtype_of(op.operands[0]) == np.bool_:
        value = graph.cast(value, np.int32)
    if axes is None:
        value = graph.emit("Reshape", value, graph.integers([-1]))
    places = graph.emit(
        "ArgMax" if isinstance(op, reduction.ArgmaxOp) else "ArgMin",
        value,
        axis=0 if axes is None else axes[0] % rank,
        keepdims=int(keepdims and axes is not None),
        select_last_index=abs(prop(op, "select_last_index")),
    )
    if axes is None and keepdims:
        places = graph.emit("Reshape", places, graph.integers([1] * rank))
    dtype = dtype_of(op.results[0])
    return places if dtype == np.int64 else graph.cast(places, dtype)


def pool_windows(op: FuseOp, *, counts_padding: bool) -> dict[str, Any]:
    """The attributes of a pool that say how windows move.

    With `ceil_mode` a window may reach beyond the end, and a last one that begins there is left out; ONNX's shape
    inference counts that one, too, up to opset 21. So padding that no window sees goes. Where no window reaches beyond
    the end, rounding up is left out; where that is so along one axis alone, the padding grows along the other.
    """
    text: str = prop(op, "layout")
    pads: list[int] = list(prop(op, "padding"))
    windows: dict[str, list[int]] = {name: prop(op, name) for name in ("pool_size", "strides", "dilation")}
    rounds_up = bool(prop(op, "ceil_mode"))
    overhang, leaves = [0, 0], [False, False]
    for axis, letter in enumerate("HW"):
        place = text.index(letter)
        size, count = shape_of(op.operands[0])[place], shape_of(op.results[0])[place]
        if not rounds_up or DYNAMIC in (size, count):
            continue
        window, stride, step = (windows[name][axis] for name in ("pool_size", "strides", "dilation"))
        rest = size + pads[axis] + pads[axis + 2] - ((count - 1) * stride + (window - 1) * step + 1)
        unseen = min(max(rest, 0), pads[axis + 2])
        pads[axis + 2] -= unseen
        # Rounded up, there would be one window more along an axis that still leaves elements, and one less where the
        # last one begins in the padding behind: it would be taken for the one that is left out.
        begins_behind = (count - 1) * stride >= size + pads[axis]
        overhang[axis], leaves[axis] = max(0, -rest), rest > unseen or begins_behind
    is_known = DYNAMIC not in [shape_of(op.operands[0])[text.index(letter)] for letter in "HW"]
    if not is_known and any(leaves):
        raise unsupported(op, "that rounds up along an axis whose size is not known, and down along the other,")
    if any(overhang) and any(leaves):
        if counts_padding:
            raise unsupported(op, "that counts padding, and rounds up along one axis alone,")
        pads[2:] = [pad + more for pad, more in zip(pads[2:], overhang, strict=True)]
        rounds_up = False
    elif is_known:
        rounds_up = any(overhang)
    return {
        "kernel_shape": windows["pool_size"],
        "strides": windows["strides"],
        "pads": pads,
        "dilations": windows["dilation"],
        "ceil_mode": int(rounds_up),
    }


@ROWS.row(pooling.MaxPool2dOp, pooling.AvgPool2dOp)
def write_pool(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`MaxPool` or `AveragePool`, of channels in front."""
    is_average, text = isinstance(op, pooling.AvgPool2dOp), prop(op, "layout")
    counts_padding = is_average and bool(prop(op, "count_include_pad"))
    pooled = graph.emit(
        "AveragePool" if is_average else "MaxPool",
        channels_first(graph, operands[0], text),
        **pool_windows(op, counts_padding=counts_padding),
        count_include_pad=int(counts_padding) if is_average else None,
    )
    return channels_back(graph, pooled, text)


@ROWS.row(pooling.GlobalMaxPool2dOp, pooling.GlobalAvgPool2dOp)
def write_global_pool(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`GlobalMaxPool` or `GlobalAveragePool`, of channels in front."""
    op_type = "GlobalAveragePool" if isinstance(op, pooling.GlobalAvgPool2dOp) else "GlobalMaxPool"
    text = prop(op, "layout")
    return channels_back(graph, graph.emit(op_type, channels_first(graph, operands[0], text)), text)


@ROWS.row(pooling.AdaptiveAvgPool2dOp)
def write_adaptive_pool(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`AveragePool`, where the windows are equal."""
    text: str = prop(op, "layout")
    wanted: list[int] = prop(op, "output_size")
    shape = shape_of(op.operands[0])
    sizes = [shape[text.index(letter)] for letter in "HW"]
    if DYNAMIC in sizes or any(size % count for size, count in zip(sizes, wanted, strict=True)):
        raise unsupported(op, "with windows that are not all of one size")
    if 0 in sizes:
        raise unsupported(op, "with windows of no elements")
    window = [size // count for size, count in zip(sizes, wanted, strict=True)]
    first = channels_first(graph, operands[0], text)
    return channels_back(graph, graph.emit("AveragePool", first, kernel_shape=window, strides=window), text)
