"""ONNX convolutions."""

from collections.abc import Sequence

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import BiasAddOp
from fuse_dialect.dialect.ops.convolution import Conv1dOp, Conv2dOp, Conv2dTransposeOp, Conv3dOp, Conv3dTransposeOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, squeeze
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()

_CONVOLUTIONS: dict[int, type[FuseOp]] = {1: Conv1dOp, 2: Conv2dOp, 3: Conv3dOp}
"""Op by number of spatial axes."""


@OPERATORS.operator("Conv")
def import_conv(node: OnnxNode) -> Value:
    """`conv1d`, `conv2d` or `conv3d`, and `bias_add`."""
    result = convolution(node, node.operand(0), node.operand(1))
    bias = node.optional(2)
    return result if bias is None else node.emit(BiasAddOp, result, bias, axis=1)


def convolution(node: OnnxNode, x: Value, weight: Value) -> Value:
    """The convolution that a node's attributes describe."""
    spatial = node.rank(weight) - 2
    if spatial not in _CONVOLUTIONS:
        raise UnsupportedFormError(f"convolutions over {spatial} axes are not supported")
    kernel = _kernel(node, weight)
    strides = spatial_list(node, "strides", 1, spatial)
    dilation = spatial_list(node, "dilations", 1, spatial)
    return node.emit(
        _CONVOLUTIONS[spatial],
        x,
        weight,
        strides=strides,
        padding=padding(node, x, kernel, strides, dilation),
        dilation=dilation,
        groups=node.integer("group", 1),
    )


def _kernel(node: OnnxNode, weight: Value) -> list[int]:
    """The kernel's sizes, which the weight has and the attribute may repeat."""
    kernel = list(node.shape(weight)[2:])
    if DYNAMIC in kernel:
        raise UnsupportedFormError(f"needs a weight of static shape, got {node.type_of(weight)}")
    if node.has("kernel_shape") and node.integers("kernel_shape") != kernel:
        raise FuseError(f"expects a kernel of {node.integers('kernel_shape')}, got a weight of {node.type_of(weight)}")
    return kernel


def spatial_list(node: OnnxNode, name: str, default: int, spatial: int) -> list[int]:
    """An attribute with one integer for each spatial axis."""
    values = node.integers(name, [default] * spatial)
    if len(values) != spatial:
        raise FuseError(f"expects attribute '{name}' to hold {spatial} integers, got {len(values)}")
    return values


def padding(
    node: OnnxNode,
    x: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    *,
    may_crop: bool = False,
) -> list[int]:
    """Paddings before all spatial axes, then after them: as spelled out, or as `auto_pad` asks.

    Args:
        node: The node.
        x: What is padded.
        kernel: Sizes of a window.
        strides: Distances of the windows.
        dilation: Distances of the elements of a window.
        may_crop: Whether paddings of `auto_pad` may be negative: ONNX's formula gives that where strides are longer
            than windows. onnxruntime 1.32 crops then in front of pools, but not of convolutions.
    """
    spatial = len(kernel)
    auto = node.string("auto_pad", "NOTSET")
    if auto == "NOTSET":
        pads = node.integers("pads", [0] * 2 * spatial)
        if len(pads) != 2 * spatial:
            raise FuseError(f"expects attribute 'pads' to hold {2 * spatial} integers, got {len(pads)}")
        return pads
    if auto == "VALID":
        return [0] * 2 * spatial
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        raise FuseError(f"expects 'auto_pad' to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got '{auto}'")
    low: list[int] = []
    high: list[int] = []
    # In steps of 1 the paddings are the same for every size.
    sizes = node.static_shape(x, 2) if any(stride != 1 for stride in strides) else [1] * spatial
    for size, window, stride, step in zip(sizes, kernel, strides, dilation, strict=True):
        if stride < 1:
            raise FuseError(f"expects positive strides, got {list(strides)}")
        total = (-(-size // stride) - 1) * stride + (window - 1) * step + 1 - size
        total = total if may_crop else max(0, total)
        front = int((total + (auto == "SAME_LOWER")) / 2)  # rounded toward 0
        low.append(front)
        high.append(total - front)
    return [*low, *high]


@OPERATORS.operator("ConvTranspose")
def import_conv_transpose(node: OnnxNode) -> Value:
    """`conv2d_transpose`, also for one spatial axis, or `conv3d_transpose`, and `bias_add`."""
    x, weight = node.operand(0), node.operand(1)
    spatial = node.rank(weight) - 2
    if spatial not in (1, 2, 3):
        raise UnsupportedFormError(f"transposed convolutions over {spatial} axes are not supported")
    kernel = _kernel(node, weight)
    strides = spatial_list(node, "strides", 1, spatial)
    dilation = spatial_list(node, "dilations", 1, spatial)
    extra = spatial_list(node, "output_padding", 0, spatial)
    pads = _transposed_padding(node, x, kernel, strides, dilation, extra)
    if spatial == 1:
        x, weight = expand_dims(node, x, [2]), expand_dims(node, weight, [2])
        strides, dilation, extra = [1, *strides], [1, *dilation], [0, *extra]
        pads = [0, pads[0], 0, pads[1]]
    result = node.emit(
        Conv3dTransposeOp if spatial == 3 else Conv2dTransposeOp,
        x,
        weight,
        strides=strides,
        padding=pads,
        output_padding=extra,
        dilation=dilation,
        groups=node.integer("group", 1),
    )
    if spatial == 1:
        result = squeeze(node, result, [2])
    bias = node.optional(2)
    return result if bias is None else node.emit(BiasAddOp, result, bias, axis=1)


def _transposed_padding(
    node: OnnxNode,
    x: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    extra: list[int],
) -> list[int]:
    """Paddings; `output_shape` and `auto_pad` ask for those that give a certain result shape.

    A kernel that is shorter than its stride does not reach as far as `input size * stride`, which `auto_pad` promises.
    Padding is never negative, so zeros follow, as in onnxruntime where `output_shape` asks for that size. Where
    `auto_pad` alone does, onnxruntime and the shape inference of onnx give the shorter result, against the text.

    Source: ONNX ConvTranspose, "total_padding[i] = ...", and of `auto_pad` "output_shape[i] = input_shape[i] * ...".
    """
    spatial = len(kernel)
    auto = node.string("auto_pad", "NOTSET")
    if not node.has("output_shape") and auto in ("NOTSET", "VALID"):
        return padding(node, x, kernel, strides, dilation)
    shape = node.static_shape(x, 2)
    if node.has("output_shape"):
        wanted = node.integers("output_shape")[-spatial:]
    else:
        wanted = [size * stride for size, stride in zip(shape, strides, strict=True)]
    low: list[int] = []
    high: list[int] = []
    for axis, (size, target) in enumerate(zip(shape, wanted, strict=True)):
        span = strides[axis] * (size - 1) + extra[axis] + (kernel[axis] - 1) * dilation[axis] + 1
        total = span - target
        if total < 0:
            # The result is longer than what the kernel reaches: zeros follow, as with output_padding.
            extra[axis] -= total
            total = 0
        less, more = total // 2, total - total // 2
        low.append(less if auto == "SAME_UPPER" else more)
        high.append(more if auto == "SAME_UPPER" else less)
    return [*low, *high]
