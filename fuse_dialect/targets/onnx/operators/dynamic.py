"""Ops whose shapes the program computes, as ONNX operators, which all take shapes as operands."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import dynamic
from fuse_dialect.targets.onnx.graph import GraphWriter, axis_of, dtype_of, prop, shape_of, unsupported
from fuse_dialect.targets.onnx.operators.indexing import backward_end, one_hot
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()
ROWS.same({dynamic.ShapeOfOp: "Shape"})

_COUNTED = (np.float32, np.float64, np.int16, np.int32, np.int64)
"""Element types of ONNX's `Range`."""


def _list(graph: GraphWriter, name: str) -> str:
    """Integers in the type that ONNX takes for shapes."""
    return graph.cast(name, np.int64)


@ROWS.row(dynamic.DynBroadcastToOp, dynamic.DynFullOp)
def write_expand(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Expand`, in which a 1 keeps the operand's size."""
    return graph.emit("Expand", operands[0], _list(graph, operands[1]))


@ROWS.row(dynamic.DynReshapeOp)
def write_dyn_reshape(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Reshape`."""
    return graph.emit("Reshape", operands[0], _list(graph, operands[1]), allowzero=abs(prop(op, "allowzero")))


@ROWS.row(dynamic.DynStridedSliceOp)
def write_dyn_strided_slice(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Slice`."""
    begin, end, steps = (_list(graph, name) for name in operands[1:])
    axes = prop(op, "axes")
    places = graph.integers(range(shape_of(op.operands[1])[0]) if axes is None else axes)
    end = backward_end(graph, operands[0], begin, end, places, steps)
    return graph.emit("Slice", operands[0], begin, end, places, steps)


@ROWS.row(dynamic.DynTileOp)
def write_dyn_tile(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Tile`, of as many numbers as the operand has axes."""
    rank, (count,) = len(shape_of(op.operands[0])), shape_of(op.operands[1])
    reps = _list(graph, operands[1])
    if count < rank:
        reps = graph.emit("Concat", graph.integers([1] * (rank - count)), reps, axis=0)
    return graph.emit("Tile", graph.unsqueeze(operands[0], range(count - rank)), reps)


@ROWS.row(dynamic.DynPadOp)
def write_dyn_pad(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Pad`, which crops by negative widths."""
    value, filling, low, high = operands
    pads = graph.emit("Concat", _list(graph, low), _list(graph, high), axis=0)
    mode = prop(op, "mode")
    return graph.emit("Pad", value, pads, *([filling] if mode == "constant" else []), mode=mode)


@ROWS.row(dynamic.DynArangeOp)
def write_dyn_arange(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Range`, in a wider type for those that it does not take."""
    dtype = dtype_of(op.results[0])
    if dtype.type in _COUNTED:
        return graph.emit("Range", *operands)
    wide = np.int64 if dtype.kind in "iu" else np.float32
    return graph.cast(graph.emit("Range", *(graph.cast(name, wide) for name in operands)), dtype)


@ROWS.row(dynamic.DynResize2dOp)
def write_dyn_resize2d(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Resize` to sizes."""
    if prop(op, "scales") is not None or prop(op, "roi") is not None:
        raise unsupported(op, "with scales or a region")
    layout, method = prop(op, "layout"), prop(op, "method")
    first = graph.transpose(operands[0], permutation(layout, "NCHW"))
    resized = graph.emit(
        "Resize",
        first,
        "",
        "",
        _list(graph, operands[1]),
        axes=[2, 3],
        mode=method,
        coordinate_transformation_mode=prop(op, "coordinate_transformation_mode"),
        nearest_mode=prop(op, "nearest_mode") if method == "nearest" else None,
        cubic_coeff_a=prop(op, "cubic_alpha") if method == "cubic" else None,
        antialias=abs(prop(op, "antialias")) or None,
        exclude_outside=abs(prop(op, "exclude_outside")) or None,
    )
    return graph.transpose(resized, permutation("NCHW", layout))


@ROWS.row(dynamic.DynTopkOp)
def write_dyn_topk(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> Sequence[str]:
    """`TopK`."""
    count = graph.unsqueeze(_list(graph, operands[1]), [0])
    axis = axis_of(op, len(shape_of(op.operands[0])))
    largest = int(not prop(op, "is_ascend"))
    return graph.emit_all("TopK", [operands[0], count], 2, axis=axis, largest=largest, sorted=1)


@ROWS.row(dynamic.DynOneHotOp)
def write_dyn_one_hot(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`OneHot`."""
    indices, on, off, depth = operands
    values = graph.emit("Concat", graph.unsqueeze(off, [0]), graph.unsqueeze(on, [0]), axis=0)
    return one_hot(graph, op, indices, _list(graph, depth), values)
