"""ONNX operators that read images at places which are data, or write them there."""

import math
from collections.abc import Sequence

import numpy as np

from fuse_dialect.analysis.sizes import Size
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MaximumOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.dynamic import DynArangeOp
from fuse_dialect.dialect.ops.indexing import PadOp, TakeOp
from fuse_dialect.dialect.ops.linear_algebra import Col2imOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.dialect.ops.sampling import DeformableConv2dOp, GridSampleOp, RoiAlignOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.constants import arange
from fuse_dialect.frontends.onnx.operators.convolutions import padding, spatial_list
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape
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


@OPERATORS.operator("AffineGrid")
def import_affine_grid(node: OnnxNode) -> Value:
    """Places for `grid_sample`: for each axis of the image, coordinates times a column of theta; and the last column.

    ONNX's own definition drops an axis of size 1 that is the batch, and makes the grid as one matrix product.
    """
    theta, size = node.operand(0), node.operand(1)
    rank = node.rank(theta) if len(node.shape(size)) != 1 else node.shape(size)[0] - 1
    spatial = rank - 1
    if spatial not in (2, 3) or node.rank(theta) != 3 or list(node.shape(theta)[1:]) not in ([spatial, rank], [-1, -1]):
        raise FuseError(
            f"expects a theta of 2x3 for sizes of images, or 3x4 for volumes, got {node.type_of(theta)} and "
            f"{node.type_of(size)}"
        )
    known = node.known_elements(1)
    batch = node.shape(theta)[0]
    if known is not None and isinstance(known[0], int) and batch not in (DYNAMIC, known[0]):
        raise FuseError(f"expects as many matrices as images, got {batch} and {known[0]}")
    result = _column(node, theta, spatial, spatial)
    for axis in range(spatial):  # from the last axis of the image, which is the first coordinate
        place = spatial + 1 - axis
        along = _coordinates(node, theta, size, place, None if known is None else known[place])
        axes = [other for other in range(spatial + 2) if other != place - 1]
        part = node.emit(MultiplyOp, expand_dims(node, along, axes), _column(node, theta, axis, spatial))
        result = node.emit(AddOp, part, result)
    return result


def _column(node: OnnxNode, theta: Value, column: int, spatial: int) -> Value:
    """A column of each matrix, as the last axis of the grid."""
    taken = node.emit(TakeOp, theta, Constant(np.array(column)), axis=2)
    return expand_dims(node, taken, list(range(1, spatial + 1)))


def _coordinates(node: OnnxNode, theta: Value, sizes: Value, place: int, known: int | Size | None) -> Value:
    """Coordinates from -1 to 1 along an axis of the image, of its pixels' centers or, if aligned, of the outer ones."""
    one, minus_one, two = (node.scalar(number, theta) for number in (1, -1, 2))
    if isinstance(known, int):
        count: Value = node.scalar(known, theta)
        steps = arange(node, known, node.dtype(theta))
    else:
        size = node.emit(TakeOp, sizes, Constant(np.array(place)), axis=0)
        count = cast_to(node, size, node.dtype(theta))
        zero, step = (Constant(np.array(number).astype(node.dtype(size))) for number in (0, 1))
        steps = cast_to(node, node.emit(DynArangeOp, zero, size, step), node.dtype(theta))
    if node.flag("align_corners"):
        gaps = node.emit(SubtractOp, count, one)
        if place == 2 and node.shape(sizes)[0] == 5:
            gaps = node.emit(MaximumOp, gaps, one)  # of one plane only, as the definition says; its place is -1
        return node.emit(AddOp, minus_one, node.emit(MultiplyOp, steps, node.emit(DivideOp, two, gaps)))
    step = node.emit(DivideOp, two, count)
    first = node.emit(AddOp, minus_one, node.emit(DivideOp, step, two))
    return node.emit(AddOp, first, node.emit(MultiplyOp, steps, step))
