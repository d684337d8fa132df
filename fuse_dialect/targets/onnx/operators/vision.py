"""Ops of detectors, signals and linear algebra, as ONNX operators."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import linear_algebra, pooling, sampling, selection, sequences
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.targets.onnx.graph import GraphWriter, axis_of, dtype_of, prop, shape_of
from fuse_dialect.targets.onnx.operators.reductions import pool_windows
from fuse_dialect.targets.onnx.operators.shapes import channels_back, channels_first
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()

ROWS.same({linear_algebra.DetOp: "Det"})


@ROWS.row(sampling.GridSampleOp)
def write_grid_sample(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`GridSample`."""
    mode, padding = prop(op, "mode"), prop(op, "padding_mode")
    return graph.emit(
        "GridSample", *operands, mode=mode, padding_mode=padding, align_corners=abs(prop(op, "align_corners"))
    )


@ROWS.row(sampling.RoiAlignOp)
def write_roi_align(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`RoiAlign`."""
    image, regions, samples = operands
    height, width = prop(op, "pooled_size")
    return graph.emit(
        "RoiAlign",
        image,
        regions,
        graph.cast(samples, np.int64),
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
    image, offset, mask, weight = operands
    return graph.emit(
        "DeformConv",
        image,
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


@ROWS.row(pooling.MaxPool2dIndicesOp)
def write_max_pool_indices(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The second result of `MaxPool`, of channels in front, as the op counts."""
    text = prop(op, "layout")
    _, places = graph.emit_all(
        "MaxPool",
        [channels_first(graph, operands[0], text)],
        2,
        **pool_windows(op, counts_padding=False),
    )
    return channels_back(graph, places, text)


@ROWS.row(linear_algebra.EinsumOp)
def write_einsum(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Einsum`."""
    return graph.emit("Einsum", *operands, equation=prop(op, "equation"))


@ROWS.row(linear_algebra.Col2imOp)
def write_col2im(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Col2Im`."""
    sizes = [graph.integers(prop(op, name)) for name in ("image_shape", "block_shape")]
    steps = {"strides": prop(op, "strides"), "pads": prop(op, "padding"), "dilations": prop(op, "dilation")}
    return graph.emit("Col2Im", operands[0], *sizes, **steps)


@ROWS.row(sequences.ReverseSequenceOp)
def write_reverse_sequence(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`ReverseSequence`, with the batch on axis 0 and time on axis 1; lengths beyond the end are cut first."""
    shape = shape_of(op.operands[0])
    batch, time = axis_of(op, len(shape), "batch_axis"), axis_of(op, len(shape), "seq_axis")
    lengths = graph.cast(operands[1], np.int64)
    if shape[time] != DYNAMIC:
        lengths = graph.emit("Min", lengths, graph.scalar(shape[time], np.dtype(np.int64)))
    order = [batch, time, *[axis for axis in range(len(shape)) if axis not in (batch, time)]]
    value = graph.emit("ReverseSequence", graph.transpose(operands[0], order), lengths, batch_axis=0, time_axis=1)
    return graph.transpose(value, [order.index(axis) for axis in range(len(shape))])


@ROWS.row(sequences.DftOp)
def write_dft(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`DFT`."""
    number = np.dtype(np.int64)
    length = prop(op, "length")
    return graph.emit(
        "DFT",
        operands[0],
        "" if length is None else graph.scalar(length, number),
        graph.scalar(axis_of(op, len(shape_of(op.operands[0]))), number),
        inverse=abs(prop(op, "inverse")),
        onesided=abs(prop(op, "onesided")),
    )


@ROWS.row(selection.UniqueOp)
def write_unique(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> Sequence[str]:
    """`Unique`."""
    return graph.emit_all("Unique", operands, 4, axis=prop(op, "axis"), sorted=abs(prop(op, "sorted")))


@ROWS.row(selection.NonMaxSuppressionOp)
def write_non_max_suppression(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`NonMaxSuppression`."""
    boxes, scores, limit, *thresholds = operands
    if dtype_of(op.operands[2]) != np.int64:
        limit = graph.cast(limit, np.int64)
    limits = [graph.unsqueeze(value, [0]) for value in (limit, *thresholds)]
    return graph.emit("NonMaxSuppression", boxes, scores, *limits, center_point_box=abs(prop(op, "center_point_box")))
