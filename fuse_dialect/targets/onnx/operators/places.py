"""Ops on lines, places and boxes that are data, as ONNX operators."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import linear_algebra, sampling, selection, sequences
from fuse_dialect.targets.onnx.graph import GraphWriter, axis_of, dtype_of, prop, shape_of, unsupported
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()

ROWS.same({linear_algebra.DetOp: "Det"})


def _wide(graph: GraphWriter, op: FuseOp, name: str, operand: int) -> str:
    """An operand of integers in 64 bits."""
    return name if dtype_of(op.operands[operand]) == np.int64 else graph.cast(name, np.int64)


@ROWS.row(linear_algebra.EinsumOp)
def write_einsum(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Einsum`."""
    return graph.emit("Einsum", *operands, equation=prop(op, "equation"))


@ROWS.row(linear_algebra.Col2imOp)
def write_col2im(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Col2Im`."""
    shapes = [graph.integers(prop(op, name)) for name in ("image_shape", "block_shape")]
    return graph.emit(
        "Col2Im",
        *operands,
        *shapes,
        strides=prop(op, "strides"),
        pads=prop(op, "padding"),
        dilations=prop(op, "dilation"),
    )


@ROWS.row(sampling.GridSampleOp)
def write_grid_sample(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`GridSample`."""
    return graph.emit(
        "GridSample",
        *operands,
        mode=prop(op, "mode"),
        padding_mode=prop(op, "padding_mode"),
        align_corners=abs(prop(op, "align_corners")),
    )


@ROWS.row(sampling.RoiAlignOp)
def write_roi_align(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`RoiAlign`."""
    height, width = prop(op, "pooled_size")
    return graph.emit(
        "RoiAlign",
        *operands[:2],
        _wide(graph, op, operands[2], 2),
        output_height=height,
        output_width=width,
        spatial_scale=prop(op, "spatial_scale"),
        sampling_ratio=prop(op, "sampling_ratio"),
        mode=prop(op, "mode"),
        coordinate_transformation_mode="half_pixel" if prop(op, "aligned") else "output_half_pixel",
    )


@ROWS.row(sampling.DeformableConv2dOp)
def write_deformable_conv2d(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`DeformConv`."""
    value, offset, mask, weight = operands
    return graph.emit(
        "DeformConv",
        value,
        weight,
        offset,
        "",
        mask,
        strides=prop(op, "strides"),
        pads=prop(op, "padding"),
        dilations=prop(op, "dilation"),
        group=prop(op, "groups"),
        offset_group=prop(op, "deformable_groups"),
    )


@ROWS.row(sequences.ReverseSequenceOp)
def write_reverse_sequence(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`ReverseSequence`, which knows the first two axes only."""
    rank = len(shape_of(op.operands[0]))
    time, batch = axis_of(op, rank, "seq_axis"), axis_of(op, rank, "batch_axis")
    if {time, batch} != {0, 1}:
        raise unsupported(op, f"along axes {time} and {batch}")
    return graph.emit(
        "ReverseSequence", operands[0], _wide(graph, op, operands[1], 1), time_axis=time, batch_axis=batch
    )


@ROWS.row(sequences.DftOp)
def write_dft(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`DFT`."""
    length = prop(op, "length")
    return graph.emit(
        "DFT",
        *operands,
        "" if length is None else graph.scalar(length, np.dtype(np.int64)),
        graph.scalar(prop(op, "axis"), np.dtype(np.int64)),
        inverse=abs(prop(op, "inverse")),
        onesided=abs(prop(op, "onesided")),
    )


@ROWS.row(selection.UniqueOp)
def write_unique(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> Sequence[str]:
    """`Unique`."""
    return graph.emit_all("Unique", operands, 4, axis=prop(op, "axis"), sorted=abs(prop(op, "sorted")))


@ROWS.row(selection.NonMaxSuppressionOp)
def write_non_max_suppression(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`NonMaxSuppression`, of floats of 32 bits."""
    if dtype_of(op.operands[0]) != np.float32:
        raise unsupported(op, f"on elements of type {dtype_of(op.operands[0])}")
    boxes, scores, limit, *thresholds = operands
    limit = _wide(graph, op, limit, 2)
    center = abs(prop(op, "center_point_box"))
    return graph.emit("NonMaxSuppression", boxes, scores, limit, *thresholds, center_point_box=center)
