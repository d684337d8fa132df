"""Operators of com.microsoft on quantized tensors, element by element and over windows.

Sums and roundings come in the order of onnxruntime's kernels for processors, so that results have equal bits but where
those multiply and add in one rounding, add up in another order, or approximate a function: there a number that is half
way between two may become the other one.

Source: onnxruntime, core/mlas/lib/qladd.cpp, qlmul.cpp, qlgavgpool.cpp and contrib_ops/cpu/quantization.
"""

import math
from collections.abc import Callable

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import ClipOp, LeakyReluOp, SigmoidOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import FloorOp, RoundOp
from fuse_dialect.dialect.ops.normalization import SoftmaxOp
from fuse_dialect.dialect.ops.reduction import MeanOp, SumOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import reshape
from fuse_dialect.frontends.onnx.operators.pools import import_average_pool
from fuse_dialect.frontends.onnx.operators.quantization import (
    import_dequantize,
    import_qlinear_conv,
    import_quantize,
    integer_limits,
    to_integers,
)
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value
from fuse_dialect.frontends.onnx.vendor.products import channels_first, channels_last, with_operand

OPERATORS = OperatorTable()

OPERATORS.operator("QuantizeLinear")(import_quantize)
OPERATORS.operator("DequantizeLinear")(import_dequantize)

_F32 = np.dtype(np.float32)
_I32 = np.dtype(np.int32)


def parameter(node: OnnxNode, index: int) -> Value:
    """A scale or a zero point of a whole tensor, as a number.

    Raises:
        FuseError: It may hold more than one.
    """
    value = node.operand(index)
    if any(size != 1 for size in node.shape(value)):
        raise FuseError(f"expects operand {index} to hold one element, got {node.type_of(value)}")
    return reshape(node, value, [])


def zero_point(node: OnnxNode, index: int, like: Value) -> Value:
    """A zero point of a whole tensor, 0 when it is left out."""
    return node.scalar(0, like) if node.optional(index) is None else parameter(node, index)


def without_zero_point(node: OnnxNode, x: Value, zero: Value) -> Value:
    """The numbers less their zero point, i32."""
    return node.emit(SubtractOp, cast_to(node, x, _I32), cast_to(node, zero, _I32))


def real_numbers(node: OnnxNode, index: int) -> Value:
    """What the operands from `index` on, numbers, scale and zero point, stand for."""
    x = node.operand(index)
    integers = without_zero_point(node, x, zero_point(node, index + 2, x))
    return node.emit(MultiplyOp, cast_to(node, integers, _F32), parameter(node, index + 1))


def quantized(node: OnnxNode, x: Value, scale: Value, zero: Value) -> Value:
    """round(x / scale) + zero point, saturated."""
    return rounded(node, node.emit(DivideOp, x, scale), zero)


def rounded(node: OnnxNode, x: Value, zero: Value) -> Value:
    """round(x) + zero point, saturated to the zero point's type."""
    return to_integers(node, x, zero, node.dtype(zero), _limits(node, zero), is_never_nan=True)


def _limits(node: OnnxNode, zero: Value) -> tuple[int, int]:
    limits = integer_limits(node.dtype(zero))
    if limits is None:
        raise UnsupportedFormError(f"quantization to {node.dtype(zero)} is not supported")
    return limits


def _rounded_with_zero(node: OnnxNode, x: Value, zero: Value) -> Value:
    """round(x), which has its zero point already, saturated."""
    limits = _limits(node, zero)
    bounded = node.emit(ClipOp, node.emit(RoundOp, x), min=float(limits[0]), max=float(limits[1]))
    return cast_to(node, bounded, node.dtype(zero))


@OPERATORS.operator("QLinearAdd")
def import_qlinear_add(node: OnnxNode) -> Value:
    """A * (scale of A / scale of C) + B * (scale of B / scale of C) + what the zero points make, rounded."""
    scales = [parameter(node, index) for index in (1, 4, 6)]
    x = [node.operand(0), node.operand(3)]
    zero = zero_point(node, 7, x[0])
    ratios = [node.emit(DivideOp, scale, scales[2]) for scale in scales[:2]]
    moved = [
        node.emit(MultiplyOp, ratio, cast_to(node, zero_point(node, index, x[0]), _F32))
        for ratio, index in zip(ratios, (2, 5), strict=True)
    ]
    fixed = node.emit(SubtractOp, cast_to(node, zero, _F32), node.emit(AddOp, *moved))
    one, other = (
        node.emit(MultiplyOp, cast_to(node, each, _F32), ratio) for each, ratio in zip(x, ratios, strict=True)
    )
    return _rounded_with_zero(node, node.emit(AddOp, one, node.emit(AddOp, other, fixed)), zero)


@OPERATORS.operator("QLinearMul")
def import_qlinear_mul(node: OnnxNode) -> Value:
    """(A - zero) * (B - zero) * (scale of A * scale of B / scale of C) + zero, rounded."""
    scales = [parameter(node, index) for index in (1, 4, 6)]
    factor = node.emit(DivideOp, node.emit(MultiplyOp, *scales[:2]), scales[2])
    sides = [
        without_zero_point(node, node.operand(index), zero_point(node, index + 2, node.operand(0))) for index in (0, 3)
    ]
    product = cast_to(node, node.emit(MultiplyOp, *sides), _F32)
    zero = zero_point(node, 7, node.operand(0))
    scaled = node.emit(AddOp, node.emit(MultiplyOp, product, factor), cast_to(node, zero, _F32))
    return _rounded_with_zero(node, scaled, zero)


def _by_function(node: OnnxNode, function: Callable[[Value], Value]) -> Value:
    """A function of the real numbers, quantized."""
    zero = zero_point(node, 4, node.operand(0))
    return quantized(node, function(real_numbers(node, 0)), parameter(node, 3), zero)


@OPERATORS.operator("QLinearSigmoid")
def import_qlinear_sigmoid(node: OnnxNode) -> Value:
    """`sigmoid`."""
    return _by_function(node, lambda x: node.emit(SigmoidOp, x))


@OPERATORS.operator("QLinearLeakyRelu")
def import_qlinear_leaky_relu(node: OnnxNode) -> Value:
    """`leaky_relu`."""
    alpha = node.real("alpha", 0.01)
    return _by_function(node, lambda x: node.emit(LeakyReluOp, x, alpha=alpha))


@OPERATORS.operator("QLinearSoftmax")
def import_qlinear_softmax(node: OnnxNode) -> Value:
    """`softmax` times the whole part of 1 / scale, rounded; over all further axes where `opset` is below 13."""
    x = real_numbers(node, 0)
    axis = node.integer("axis", -1)
    axis = normalize_axis(axis, node.rank(x))
    if node.integer("opset") < 13:
        shape = node.static_shape(x)
        whole = reshape(node, x, [*shape[:axis], math.prod(shape[axis:])])
        shares = reshape(node, node.emit(SoftmaxOp, whole, axis=axis), shape)
    else:
        shares = node.emit(SoftmaxOp, x, axis=axis)
    factor = node.emit(FloorOp, node.emit(DivideOp, Constant(np.ones((), np.float32)), parameter(node, 3)))
    return rounded(node, node.emit(MultiplyOp, shares, factor), zero_point(node, 4, node.operand(0)))


@OPERATORS.operator("QLinearWhere")
def import_qlinear_where(node: OnnxNode) -> Value:
    """A choice between two tensors, each brought to the scale of the result."""
    sides = [_rescaled(node, index, 7, 8) for index in (1, 4)]
    return node.emit(WhereOp, node.operand(0), *sides)


@OPERATORS.operator("QLinearConcat")
def import_qlinear_concat(node: OnnxNode) -> Value:
    """`concatenate` of tensors, each brought to the scale of the result."""
    if node.operand_count < 5 or (node.operand_count - 2) % 3:
        raise FuseError(f"expects a scale, a zero point, and three operands a tensor, got {node.operand_count}")
    parts = [_rescaled(node, index, 0, 1) for index in range(2, node.operand_count, 3)]
    return parts[0] if len(parts) == 1 else node.emit(ConcatenateOp, *parts, axis=node.integer("axis"))


def _rescaled(node: OnnxNode, index: int, scale: int, zero: int) -> Value:
    """A quantized tensor at another scale; itself where the scale is the same."""
    if all(_is_same(node.operand(one), node.operand(other)) for one, other in ((index + 1, scale), (index + 2, zero))):
        return node.operand(index)
    return quantized(node, real_numbers(node, index), parameter(node, scale), parameter(node, zero))


def _is_same(one: Value, other: Value) -> bool:
    """Whether two numbers are known to be the same."""
    if not isinstance(one, Constant) or not isinstance(other, Constant):
        return one is other
    return one.array.dtype == other.array.dtype and bool((one.array == other.array).all())


@OPERATORS.operator("QLinearAveragePool")
def import_qlinear_average_pool(node: OnnxNode) -> Value:
    """`avg_pool2d` of the real numbers; / scale + zero point, rounded."""
    x, zero, last = real_numbers(node, 0), zero_point(node, 4, node.operand(0)), node.flag("channels_last")
    pooled = import_average_pool(with_operand(node, 0, channels_first(node, x) if last else x))
    scaled = node.emit(AddOp, node.emit(DivideOp, pooled, parameter(node, 3)), cast_to(node, zero, _F32))
    result = _rounded_with_zero(node, scaled, zero)
    return channels_last(node, result) if last else result


@OPERATORS.operator("QLinearGlobalAveragePool")
def import_qlinear_global_average_pool(node: OnnxNode) -> Value:
    """The sum of an image's integers, times the scales over its size, rounded."""
    x, zero = node.operand(0), zero_point(node, 4, node.operand(0))
    rank = node.rank(x)
    axes = list(range(1, rank - 1)) if node.flag("channels_last") else list(range(2, rank))
    count = int(np.prod([node.static_shape(x)[axis] for axis in axes]))
    sums = node.emit(SumOp, without_zero_point(node, x, zero_point(node, 2, x)), axes=axes, keepdims=True)
    below = node.emit(MultiplyOp, parameter(node, 3), Constant(np.array(count, np.float32)))
    factor = node.emit(DivideOp, parameter(node, 1), below)
    return rounded(node, node.emit(MultiplyOp, cast_to(node, sums, _F32), factor), zero)


@OPERATORS.operator("QLinearReduceMean")
def import_qlinear_reduce_mean(node: OnnxNode) -> Value:
    """`mean` of the real numbers, quantized."""
    x = real_numbers(node, 0)
    axes = node.integers("axes", list(range(node.rank(x))))
    mean = node.emit(MeanOp, x, axes=axes, keepdims=node.flag("keepdims", True))
    return quantized(node, mean, parameter(node, 3), zero_point(node, 4, node.operand(0)))


@OPERATORS.operator("QLinearConv")
def import_qlinear_conv_of_microsoft(node: OnnxNode) -> Value:
    """QLinearConv, whose images may have their channels last."""
    if not node.flag("channels_last"):
        return import_qlinear_conv(node)
    inner = with_operand(node, 0, channels_first(node, node.operand(0)))
    return channels_last(node, import_qlinear_conv(inner))
