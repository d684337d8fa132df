"""ONNX operators that read images at places which are data, or write them there."""

import math
from collections.abc import Sequence

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import BiasAddOp
from fuse_dialect.dialect.ops.indexing import PadOp
from fuse_dialect.dialect.ops.linear_algebra import Col2imOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.dialect.ops.sampling import DeformableConv2dOp, GridSampleOp, RoiAlignOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.convolutions import padding, spatial_list
from fuse_dialect.frontends.onnx.operators.layout import reshape
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of opset 16 for modes of opset 20."""


@OPERATORS.operator("GridSample")
def import_grid_sample(node: OnnxNode) -> Value:
    """`grid_sample`."""
    mode = node.string("mode", "linear")
    return node.emit(
        GridSampleOp,
        node.operand(0),
        node.operand(1),
        mode=_MODES.get(mode, mode),
        padding_mode=node.string("padding_mode", "zeros"),
        align_corners=node.flag("align_corners"),
    )


@OPERATORS.operator("RoiAlign")
def import_roi_align(node: OnnxNode) -> Value:
    """`roi_align`; before opset 16 coordinates are not shifted by half a pixel."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    mode = node.string("coordinate_transformation_mode", default)
    if mode not in ("half_pixel", "output_half_pixel"):
        raise UnsupportedFormError(f"the mode '{mode}' is not supported")
    return node.emit(
        RoiAlignOp,
        *(node.operand(index) for index in range(3)),
        pooled_size=[node.integer("output_height", 1), node.integer("output_width", 1)],
        spatial_scale=node.real("spatial_scale", 1.0),
        sampling_ratio=node.integer("sampling_ratio", 0),
        mode=node.string("mode", "avg"),
        aligned=mode == "half_pixel",
        type=None,
    )


@OPERATORS.operator("DeformConv")
def import_deform_conv(node: OnnxNode) -> Value:
    """`deformable_conv2d`, and `bias_add`; a mask that is left out is one everywhere."""
    x, weight, offset, mask = node.operand(0), node.operand(1), node.operand(2), node.optional(4)
    if node.rank(weight) != 4:
        raise UnsupportedFormError(f"deformed convolutions over {node.rank(weight) - 2} axes are not supported")
    kernel = list(node.shape(weight)[2:])
    strides, dilation = spatial_list(node, "strides", 1, 2), spatial_list(node, "dilations", 1, 2)
    parts = node.integer("offset_group", 1)
    if mask is None:
        shape = list(node.static_shape(offset))
        shape[1] //= 2
        mask = Constant(np.broadcast_to(np.ones((), node.dtype(x)), shape))
    result = node.emit(
        DeformableConv2dOp,
        x,
        offset,
        mask,
        weight,
        strides=strides,
        padding=padding(node, x, kernel, strides, dilation),
        dilation=dilation,
        groups=node.integer("group", 1),
        deformable_groups=parts,
    )
    bias = node.optional(3)
    return result if bias is None else node.emit(BiasAddOp, result, bias, axis=1)


@OPERATORS.operator("Col2Im")
def import_col2im(node: OnnxNode) -> Value:
    """`col2im`."""
    image, block = node.constant_ints(1), node.constant_ints(2)
    spatial = len(image)
    return node.emit(
        Col2imOp,
        node.operand(0),
        image_shape=image,
        block_shape=block,
        strides=spatial_list(node, "strides", 1, spatial),
        padding=node.integers("pads", [0] * 2 * spatial),
        dilation=spatial_list(node, "dilations", 1, spatial),
    )


@OPERATORS.operator("MaxUnpool")
def import_max_unpool(node: OnnxNode) -> Value:
    """The values written to their places among zeros; the rest of a greater result is zero, too."""
    x, places = node.operand(0), node.operand(1)
    shape = node.static_shape(x)
    kernel = node.integers("kernel_shape")
    spatial = len(kernel)
    if len(shape) != spatial + 2:
        raise FuseError(f"expects windows over {len(shape) - 2} axes, got {kernel}")
    strides, pads = spatial_list(node, "strides", 1, spatial), node.integers("pads", [0] * 2 * spatial)
    inner = list(shape[:2])
    for axis, size in enumerate(shape[2:]):
        inner.append((size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + spatial])
    zeros = Constant(np.broadcast_to(np.zeros((), node.dtype(x)), (math.prod(inner),)))
    count = math.prod(shape)
    written = node.emit(ScatterNdOp, zeros, reshape(node, places, [count, 1]), reshape(node, x, [count]))
    return _grown(node, reshape(node, written, inner), inner)


def _grown(node: OnnxNode, value: Value, shape: Sequence[int]) -> Value:
    """The value with zeros behind it, where operand 2 asks for a greater shape."""
    if node.optional(2) is None:
        return value
    wanted = node.constant_ints(2)
    if len(wanted) != len(shape) or any(size < own for size, own in zip(wanted, shape, strict=True)):
        raise FuseError(f"expects an output shape of at least {list(shape)}, got {wanted}")
    high = [size - own for size, own in zip(wanted, shape, strict=True)]
    return node.emit(PadOp, value, node.scalar(0, value), low=[0] * len(shape), high=high)
