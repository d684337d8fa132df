"""Ops that pick, place and order elements, as ONNX operators."""

from collections.abc import Sequence

import numpy as np
from onnx import numpy_helper

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import comparison, indexing, normalization, opaque, sequences
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.targets.onnx.graph import (
    LARGEST_LIST,
    GraphWriter,
    axis_of,
    dtype_of,
    prop,
    shape_of,
    static_shape,
    unsupported,
)
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()
_GREATEST = (1 << 63) - 1
_NO_END = (1 << 31) - 1
"""The least end that onnxruntime takes for none."""
_REDUCTIONS = {"update": None, "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _indices(graph: GraphWriter, op: FuseOp, name: str, operand: int = 1) -> str:
    """Indices in a type that ONNX takes for indices."""
    return name if dtype_of(op.operands[operand]).name in ("int32", "int64") else graph.cast(name, np.int64)


@ROWS.row(indexing.StridedSliceOp)
def write_strided_slice(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Slice`."""
    begin, end = prop(op, "begin"), prop(op, "end")
    axes, steps = prop(op, "axes"), prop(op, "strides")
    axes = range(len(begin)) if axes is None else axes
    steps = [1] * len(begin) if steps is None else steps
    shape = shape_of(op.operands[0])
    extents = [shape[axis] for axis in axes]
    end = [min(stop, size) if size != DYNAMIC else stop for size, stop in zip(extents, end, strict=True)]
    names = [*map(graph.integers, (begin, end, axes, steps))]
    slices = zip(extents, begin, end, steps, strict=True)
    if any(
        step < 0 and (stop >= _NO_END or (start < -1 and (size == DYNAMIC or start < -size)))
        for size, start, stop, step in slices
    ):
        names[1] = backward_end(graph, operands[0], *names)
    return graph.emit("Slice", operands[0], *names)


def backward_end(graph: GraphWriter, value: str, begin: str, end: str, axes: str, steps: str) -> str:
    """The ends with which ONNX's `Slice` takes what Python slices do.

    A backward slice from before the first element is empty in Python; to ONNX it starts at that element. With the end
    behind the last element it is empty to ONNX, too. No end is further behind: onnxruntime takes the greatest number of
    32 or 64 bits for none at all.
    """
    number = np.dtype(np.int64)
    sizes = graph.emit("Gather", graph.emit("Shape", value), axes, axis=0)
    least = graph.emit("Neg", sizes)
    backwards = graph.emit("Less", steps, graph.scalar(0, number))
    is_empty = graph.emit("And", backwards, graph.emit("Less", begin, least))
    return graph.emit("Where", is_empty, sizes, graph.emit("Min", end, sizes))


@ROWS.row(indexing.TakeOp)
def write_take(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Gather`, which rejects indices out of range; they are brought into it first."""
    table, places = operands[0], graph.cast(operands[1], np.int64)
    shape = shape_of(op.operands[0])
    axis = None if prop(op, "axis") is None else axis_of(op, len(shape))
    if axis is None:
        table = graph.emit("Reshape", table, graph.integers([-1]))
    mode = prop(op, "mode")
    if mode != "fast":
        size = int(np.prod(static_shape(op, op.operands[0]))) if axis is None else shape[axis]
        if size == DYNAMIC:
            raise unsupported(op, "along an axis whose size is not known")
        number = np.dtype(np.int64)
        if mode == "wrap":
            places = graph.emit("Mod", places, graph.scalar(size, number))
        else:
            places = graph.emit("Clip", places, graph.scalar(-size, number), graph.scalar(size - 1, number))
    return graph.emit("Gather", table, places, axis=axis or 0)


@ROWS.row(indexing.GatherOp)
def write_gather(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`GatherElements`."""
    return graph.emit("GatherElements", operands[0], _indices(graph, op, operands[1]), axis=prop(op, "axis"))


@ROWS.row(indexing.GatherNdOp)
def write_gather_nd(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`GatherND`."""
    places = graph.cast(operands[1], np.int64) if dtype_of(op.operands[1]) != np.int64 else operands[1]
    return graph.emit("GatherND", operands[0], places, batch_dims=prop(op, "batch_dims"))


@ROWS.row(indexing.PadOp)
def write_pad(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Slice` for what is cropped, then `Pad`."""
    low, high = prop(op, "low"), prop(op, "high")
    value = operands[0]
    cropped = [axis for axis in range(len(low)) if low[axis] < 0 or high[axis] < 0]
    if cropped:
        begin = [max(0, -low[axis]) for axis in cropped]
        end = [high[axis] if high[axis] < 0 else _GREATEST for axis in cropped]
        value = graph.emit("Slice", value, *map(graph.integers, (begin, end, cropped)))
    pads = graph.integers([max(0, width) for width in (*low, *high)])
    mode = prop(op, "mode")
    return graph.emit("Pad", value, pads, *([operands[1]] if mode == "constant" else []), mode=mode)


@ROWS.row(normalization.OneHotOp)
def write_one_hot(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`OneHot`."""
    indices, on, off = operands
    depth = graph.scalar(prop(op, "depth"), np.dtype(np.int64))
    values = graph.emit("Concat", graph.unsqueeze(off, [0]), graph.unsqueeze(on, [0]), axis=0)
    return one_hot(graph, op, indices, depth, values)


def one_hot(graph: GraphWriter, op: FuseOp, indices: str, depth: str, values: str) -> str:
    """`OneHot`, of indices with an axis, which a single index has not."""
    numbers = graph.cast(indices, np.int64)
    if shape_of(op.operands[0]):
        return graph.emit("OneHot", numbers, depth, values, axis=prop(op, "axis"))
    row = graph.emit("OneHot", graph.unsqueeze(numbers, [0]), depth, values, axis=-1)
    return graph.emit("Squeeze", row, graph.integers([0]))


@ROWS.row(opaque.SortOp)
def write_sort(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The values of `TopK` of a whole line."""
    return _top(graph, op, operands[0], None)[0]


@ROWS.row(opaque.ArgsortOp)
def write_argsort(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The indices of `TopK` of a whole line."""
    places = _top(graph, op, operands[0], None)[1]
    dtype = dtype_of(op.results[0])
    return places if dtype == np.int64 else graph.cast(places, dtype)


@ROWS.row(opaque.TopkOp)
def write_topk(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> Sequence[str]:
    """`TopK`."""
    return _top(graph, op, operands[0], prop(op, "k"))


def _top(graph: GraphWriter, op: FuseOp, value: str, count: int | None) -> Sequence[str]:
    shape = shape_of(op.operands[0])
    axis = axis_of(op, len(shape))
    count = shape[axis] if count is None else count
    if count == DYNAMIC:
        raise unsupported(op, "along an axis whose size is not known")
    largest = int(not prop(op, "is_ascend"))
    return graph.emit_all("TopK", [value, graph.integers([count])], 2, axis=axis, largest=largest, sorted=1)


@ROWS.row(sequences.CumsumOp)
def write_cumsum(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`CumSum`, in 64 bits for integers that it does not take; they wrap around in the end."""
    dtype = dtype_of(op.operands[0])
    known = dtype.kind not in "iu" or dtype.name in ("int32", "int64")
    wide = operands[0] if known else graph.cast(operands[0], np.int64)
    axis = graph.scalar(prop(op, "axis"), np.dtype(np.int64))
    flags = {name: abs(prop(op, name)) for name in ("exclusive", "reverse")}
    sums = graph.emit("CumSum", wide, axis, **flags)
    return sums if known else graph.cast(sums, dtype)


@ROWS.row(opaque.ScatterNdOp)
def write_scatter_nd(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`ScatterND`."""
    value, places, updates = operands
    places = graph.cast(places, np.int64) if dtype_of(op.operands[1]) != np.int64 else places
    return graph.emit("ScatterND", value, places, updates, reduction=_REDUCTIONS[prop(op, "mode")])


@ROWS.row(opaque.ArangeOp)
def write_arange(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The numbers as a constant, or `Range` for many: in f64, as the op computes them, whatever it makes of them."""
    assert isinstance(op, opaque.ArangeOp), "the row says so"
    dtype = dtype_of(op.results[0])
    if int(np.prod(static_shape(op, op.results[0]))) <= LARGEST_LIST:
        return graph.constant(np.asarray(op.evaluate()[0]).astype(dtype))
    double = np.dtype(np.float64)
    numbers = graph.emit("Range", *[graph.scalar(prop(op, name), double) for name in ("start", "stop", "step")])
    if dtype.kind in "iu":
        numbers = graph.cast(numbers, np.dtype(np.uint64 if op.is_beyond_i64 else np.int64))
    return numbers if dtype in (double, np.int64) else graph.cast(numbers, dtype)


@ROWS.row(comparison.BandOp)
def write_band(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """A constant, or for many elements `Trilu` of ones, from both sides, that chooses between two numbers."""
    shape, dtype = static_shape(op, op.results[0]), dtype_of(op.results[0])
    if int(np.prod(shape)) <= LARGEST_LIST:
        return graph.constant(np.asarray(op.evaluate()[0]))
    held = graph.emit("ConstantOfShape", graph.integers(shape), value=numpy_helper.from_array(np.ones(1, np.bool_)))
    for name, upper in (("lower", 1), ("upper", 0)):
        held = graph.emit("Trilu", held, graph.scalar(prop(op, name), np.dtype(np.int64)), upper=upper)
    return graph.emit("Where", held, *(graph.scalar(prop(op, name), dtype) for name in ("inside", "outside")))


@ROWS.row(opaque.ArgwhereOp)
def write_argwhere(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`NonZero`, transposed."""
    return graph.emit("Transpose", graph.emit("NonZero", *operands), perm=[1, 0])
