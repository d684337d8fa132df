"""Ops that move elements without reading them, as ONNX operators."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.axis_layout import AxisLayout, permutation
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import concatenation, layout, opaque, replication, resizing
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.targets.onnx.graph import GraphWriter, axis_of, prop, shape_of, unsupported
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()
_LEAST = -(1 << 63)

ROWS.same({opaque.DropoutOp: "Identity", opaque.StopFusionOp: "Identity"})


@ROWS.row(replication.BroadcastToOp)
def write_broadcast_to(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Expand`, in which a 1 keeps the operand's size."""
    sizes = [1 if size == DYNAMIC else size for size in shape_of(op.results[0])]
    return graph.emit("Expand", operands[0], graph.integers(sizes))


@ROWS.row(replication.ExpandDimsOp)
def write_expand_dims(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Unsqueeze`."""
    axis = axis_of(op, len(shape_of(op.operands[0])) + 1)
    return graph.unsqueeze(operands[0], range(axis, axis + prop(op, "num_newaxis")))


@ROWS.row(replication.RepeatOp)
def write_repeat(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Expand` along a new axis behind the one that is repeated, and `Reshape`."""
    rank = len(shape_of(op.operands[0]))
    axis = axis_of(op, rank)
    wide = graph.unsqueeze(operands[0], [axis + 1])
    sizes = [prop(op, "repeats") if place == axis + 1 else 1 for place in range(rank + 1)]
    return graph.reshape(graph.emit("Expand", wide, graph.integers(sizes)), shape_of(op.results[0]), op)


@ROWS.row(replication.TileOp)
def write_tile(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Tile`, of an operand with as many axes as there are numbers."""
    rank, reps = len(shape_of(op.operands[0])), prop(op, "reps")
    reps = [1] * (rank - len(reps)) + reps
    return graph.emit("Tile", graph.unsqueeze(operands[0], range(len(reps) - rank)), graph.integers(reps))


@ROWS.row(layout.ReshapeOp)
def write_reshape(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Reshape`; sizes that are not known, but the last, are those of the operand at the same place, a 0 to ONNX."""
    shape = list(shape_of(op.results[0]))
    unknown = [axis for axis, size in enumerate(shape) if size == DYNAMIC]
    if len(unknown) == 1 and 0 in shape:
        shape[unknown[0]] = 0  # what remains of no elements
    if len(unknown) < 2 or 0 in shape:
        return graph.reshape(operands[0], shape, op)
    sizes = [size if size != DYNAMIC else -1 if axis == unknown[-1] else 0 for axis, size in enumerate(shape)]
    return graph.emit("Reshape", operands[0], graph.integers(sizes))


@ROWS.row(layout.TransposeOp)
def write_transpose(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Transpose`; `onnx.helper` takes no empty list, and the default says the same of a single number."""
    return graph.emit("Transpose", operands[0], perm=[*_order(op)] or None)


def _order(op: FuseOp) -> Sequence[int]:
    rank = len(shape_of(op.operands[0]))
    order = prop(op, "permutation")
    return range(rank)[::-1] if order is None else [axis % rank for axis in order]


@ROWS.row(layout.SqueezeOp)
def write_squeeze(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Squeeze`."""
    axes = prop(op, "axes")
    if not axes:
        axes = [axis for axis, size in enumerate(shape_of(op.operands[0])) if size == 1]
    return graph.emit("Squeeze", operands[0], graph.integers(axes)) if axes else graph.emit("Identity", operands[0])


@ROWS.row(layout.ReverseOp)
def write_reverse(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Slice` with steps of -1."""
    axes = prop(op, "axes")
    axes = list(range(len(shape_of(op.operands[0])))) if axes is None else axes
    numbers = [[-1] * len(axes), [_LEAST] * len(axes), axes, [-1] * len(axes)]
    return graph.emit("Slice", operands[0], *map(graph.integers, numbers))


@ROWS.row(layout.BatchFlattenOp)
def write_batch_flatten(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Flatten`."""
    return graph.emit("Flatten", operands[0], axis=1)


@ROWS.row(layout.DepthToSpaceOp)
def write_depth_to_space(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`DepthToSpace`, of channels in front."""
    first = channels_first(graph, operands[0], prop(op, "layout"))
    moved = graph.emit("DepthToSpace", first, blocksize=prop(op, "block_size"), mode=prop(op, "mode"))
    return channels_back(graph, moved, prop(op, "layout"))


@ROWS.row(layout.SpaceToDepthOp)
def write_space_to_depth(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`SpaceToDepth`, of channels in front."""
    first = channels_first(graph, operands[0], prop(op, "layout"))
    return channels_back(graph, graph.emit("SpaceToDepth", first, blocksize=prop(op, "block_size")), prop(op, "layout"))


@ROWS.row(layout.LayoutTransformOp)
def write_layout_transform(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """Blocks joined, axes reordered, blocks cut, as the op does."""
    shape = shape_of(op.operands[0])
    source, target = AxisLayout.parse(prop(op, "src_layout")), AxisLayout.parse(prop(op, "dst_layout"))
    sizes = source.primal_sizes(shape)
    value = graph.transpose(operands[0], [source.axes.index(letter) for letter in source.split_axes])
    if source.blocks:
        value = graph.reshape(value, [sizes[letter] for letter in source.primal], op)
    value = graph.transpose(value, [source.primal.index(letter) for letter in target.primal])
    if target.blocks:
        cut = dict(zip(target.axes, target.shape(sizes), strict=True))
        value = graph.reshape(value, [cut[letter] for letter in target.split_axes], op)
    value = graph.transpose(value, [target.split_axes.index(letter) for letter in target.axes])
    return graph.emit("Identity", value) if value == operands[0] else value


@ROWS.row(concatenation.ConcatenateOp)
def write_concatenate(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Concat`."""
    return graph.emit("Concat", *operands, axis=prop(op, "axis"))


@ROWS.row(concatenation.StackOp)
def write_stack(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Concat` along a new axis."""
    axis = axis_of(op, len(shape_of(op.results[0])))
    return graph.emit("Concat", *[graph.unsqueeze(operand, [axis]) for operand in operands], axis=axis)


@ROWS.row(concatenation.SplitOp)
def write_split(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> Sequence[str]:
    """`Split`."""
    axis = axis_of(op, len(shape_of(op.operands[0])))
    sizes = [shape_of(result)[axis] for result in op.results]
    if DYNAMIC in sizes:
        raise unsupported(op, "into pieces whose sizes are not known")
    return graph.emit_all("Split", [operands[0], graph.integers(sizes)], len(op.results), axis=axis)


@ROWS.row(resizing.Resize2dOp)
def write_resize2d(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Resize` by scales where they are given, else to sizes."""
    text: str = prop(op, "layout")
    scales: list[float] | None = prop(op, "scales")
    size: list[int] = prop(op, "size")
    first = channels_first(graph, operands[0], text)
    n, c, *extents = [shape_of(op.operands[0])[text.index(letter)] for letter in "NCHW"]
    axes: list[int] | None = None
    if scales is None or _are_ratios(scales, size, extents):
        # onnxruntime 1.31 does not move a transpose past `axes` correctly, so they are left out where they can be.
        axes = [2, 3] if DYNAMIC in (n, c) else None
        target = ["", graph.integers([n, c, *size] if axes is None else size)]
    else:
        # ONNX takes sizes or scales, and multiplies by the scales, of 32 bits, to get the sizes.
        if DYNAMIC in extents or not _give(scales, size, extents):
            raise unsupported(op, "with scales that do not give its size")
        target = [graph.floats([1.0, 1.0, *scales])]
    roi, method = prop(op, "roi"), prop(op, "method")
    resized = graph.emit(
        "Resize",
        first,
        "" if roi is None else graph.floats(roi if axes is not None else [0.0, 0.0, *roi[:2], 1.0, 1.0, *roi[2:]]),
        *target,
        axes=axes,
        mode=method,
        coordinate_transformation_mode=prop(op, "coordinate_transformation_mode"),
        nearest_mode=prop(op, "nearest_mode") if method == "nearest" else None,
        cubic_coeff_a=prop(op, "cubic_alpha") if method == "cubic" else None,
        exclude_outside=abs(prop(op, "exclude_outside")) or None,
        antialias=abs(prop(op, "antialias")) or None,
        extrapolation_value=None if roi is None else prop(op, "extrapolation_value"),
    )
    return channels_back(graph, resized, text)


def _are_ratios(scales: Sequence[float], size: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether scales are the quotients of the sizes, which say more: a scale of 32 bits may give another size."""
    return DYNAMIC not in extents and all(
        extent and scale == count / extent for extent, count, scale in zip(extents, size, scales, strict=True)
    )


def _give(scales: Sequence[float], size: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether scales of 32 bits give the sizes, in whatever precision readers multiply: ONNX's checker has 64."""
    narrow = [np.float32(scale) for scale in scales]
    return all(
        int(extent * float(scale)) == int(np.float32(extent) * scale) == count
        for extent, count, scale in zip(extents, size, narrow, strict=True)
    )


def channels_first(graph: GraphWriter, value: str, layout: str) -> str:
    """The value with its batch and channels in front."""
    return graph.transpose(value, permutation(layout, _plain(layout)))


def channels_back(graph: GraphWriter, value: str, layout: str) -> str:
    """The value, whose batch and channels are in front, in the layout."""
    return graph.transpose(value, permutation(_plain(layout), layout))


def _plain(layout: str) -> str:
    return "NC" + "".join(letter for letter in layout if letter not in "NC")
