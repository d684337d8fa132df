"""ONNX conversions between real and quantized numbers, and products of quantized ones, by their formulas."""

import numpy as np
import onnx_ir as ir

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.elementwise import IsnanOp, RoundOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.replication import RepeatOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to, saturating_cast
from fuse_dialect.frontends.onnx.operators.convolutions import convolution
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape
from fuse_dialect.frontends.onnx.operators.linear import matrix_product
from fuse_dialect.frontends.onnx.operators.normalizations import per_axis
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import dtype_of
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()

_INT32 = np.dtype(np.int32)
_WEIGHTS = ("int4", "uint4", "int8", "uint8")
_NARROW_LIMITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def _along_axis(node: OnnxNode, parameter: Value) -> Value:
    """A scale or a zero point, shaped to broadcast with the first operand; those of blocks are repeated."""
    x = node.operand(0)
    rank, shape = node.rank(x), node.shape(parameter)
    if rank == 0 or (shape in ((), (1,)) and not node.integer("block_size", 0)):
        return per_axis(node, parameter, 0, rank)
    axis = normalize_axis(node.integer("axis", 1), rank)
    block = node.integer("block_size", 0)
    if not block:
        return per_axis(node, parameter, axis, rank)
    if len(shape) != rank or block < 0:
        raise FuseError(f"expects scales of rank {rank} for blocks, got {node.type_of(parameter)}")
    size = node.static_shape(x)[axis]
    if shape[axis] != DYNAMIC and not (shape[axis] - 1) * block < size <= shape[axis] * block:
        raise FuseError(f"expects {-(-size // block)} blocks of {block} on axis {axis}, got {shape[axis]}")
    repeated = node.emit(RepeatOp, parameter, repeats=block, axis=axis)
    return node.emit(StridedSliceOp, repeated, begin=[0], end=[size], strides=[1], axes=[axis])


def _in_blocks(node: OnnxNode, operands: tuple[Value, Value, Value | None]) -> tuple[Value, Value, Value | None] | None:
    """A weight with blocks as an axis of their own, and parameters that broadcast along them; `None` if there are no
    whole blocks.

    So parameters are not repeated for each element.
    """
    x, scale, zero = operands
    shape, block, rank = node.shape(x), node.integer("block_size", 0), node.rank(x)
    if block < 1 or not rank or DYNAMIC in shape:
        return None
    axis = normalize_axis(node.integer("axis", 1), rank)
    own = (*shape[:axis], shape[axis] // block, *shape[axis + 1 :])
    if shape[axis] % block or any(node.shape(each) != own for each in (scale, zero) if each is not None):
        return None
    split = reshape(node, x, (*own[: axis + 1], block, *shape[axis + 1 :]))
    scale, zero = (None if each is None else expand_dims(node, each, [axis + 1]) for each in (scale, zero))
    assert scale is not None, "a quantized tensor has a scale"
    return split, scale, zero


def kept(node: OnnxNode, value: Value) -> Value:
    """The value; weights of 4 and 8 bits are not computed with here, so that a pass finds them with their scale."""
    is_weight = isinstance(value, Constant) and value.array.dtype.name in _WEIGHTS and value.array.ndim > 1
    return node.builder.materialize(value) if is_weight else value


@OPERATORS.operator("DequantizeLinear")
def import_dequantize(node: OnnxNode) -> Value:
    """(x - zero point) * scale."""
    x, scale, zero = node.operand(0), node.operand(1), node.optional(2)
    shape = node.shape(x)
    if (split := _in_blocks(node, (x, scale, zero))) is None:
        scale = _along_axis(node, scale)
        zero = None if zero is None else _along_axis(node, zero)
    else:
        x, scale, zero = split
    x = kept(node, x)
    if is_integer(node, x):
        wide = cast_to(node, x, _INT32)
        if zero is not None:
            wide = node.emit(SubtractOp, wide, cast_to(node, zero, _INT32))
    else:
        # The zero point of floats is 0.
        wide = x
    result = node.emit(MultiplyOp, cast_to(node, wide, node.dtype(scale)), scale)
    if split is not None:
        result = reshape(node, result, shape)
    if target := node.integer("output_dtype", 0):
        result = cast_to(node, result, dtype_of(ir.DataType(target)))
    return result


@OPERATORS.operator("QuantizeLinear")
def import_quantize(node: OnnxNode) -> Value:
    """round(x / scale) + zero point, saturated; floats of 8 and 4 bits are rounded by their own conversion."""
    x, scale, zero = node.operand(0), _along_axis(node, node.operand(1)), node.optional(2)
    if zero is not None:
        dtype = node.dtype(zero)
    else:
        dtype = dtype_of(ir.DataType(node.integer("output_dtype", 0) or ir.DataType.UINT8.value))
    if precision := node.integer("precision", 0):
        wide = dtype_of(ir.DataType(precision))
    else:
        wide = node.dtype(scale) if node.dtype(x).kind != "f" else node.dtype(x)
    quotient = node.emit(DivideOp, cast_to(node, x, wide), cast_to(node, scale, wide))
    limits = integer_limits(dtype)
    if limits is None:
        return saturating_cast(node, quotient, dtype, saturate=node.flag("saturate", True))
    return to_integers(node, quotient, None if zero is None else _along_axis(node, zero), dtype, limits)


def is_integer(node: OnnxNode, value: Value) -> bool:
    """Whether a value has elements of an integer type."""
    return integer_limits(node.dtype(value)) is not None


def integer_limits(dtype: np.dtype[np.generic]) -> tuple[int, int] | None:
    """The least and greatest number of an integer type; `None` for others."""
    if dtype.name in _NARROW_LIMITS:
        return _NARROW_LIMITS[dtype.name]
    if dtype.kind not in "iu":
        return None
    limits = np.iinfo(dtype.name)
    return int(limits.min), int(limits.max)


def to_integers(
    node: OnnxNode,
    quotient: Value,
    zero: Value | None,
    dtype: np.dtype[np.generic],
    limits: tuple[int, int],
    *,
    is_never_nan: bool = False,
) -> Value:
    """round(quotient) + zero point, saturated to the limits of the type; nan, of which ONNX says nothing, is the least.

    Source: onnxruntime, MlasQuantizeLinear, which bounds by the instructions of x86 for a greater and a smaller number.
    """
    if max(limits) > 1 << 16:
        raise UnsupportedFormError(f"quantization to {dtype} is not supported")
    result = node.emit(RoundOp, quotient)
    if zero is not None:
        result = node.emit(AddOp, result, cast_to(node, zero, node.dtype(quotient)))
    bounded = node.emit(ClipOp, result, min=float(limits[0]), max=float(limits[1]))
    if limits[0] < 0 and not is_never_nan:
        least = Constant(np.asarray(limits[0], node.dtype(quotient)))
        bounded = node.emit(WhereOp, node.emit(IsnanOp, bounded), least, bounded)
    return cast_to(node, bounded, dtype)


def without_zero(node: OnnxNode, value: Value, zero: Value | None, axis: int) -> Value:
    """The numbers less their zero point, as i32; the zero point may differ along an axis."""
    value = kept(node, value)
    wide = cast_to(node, value, _INT32)
    if zero is None:
        return wide
    if node.rank(zero) <= 1:
        zero = per_axis(node, zero, normalize_axis(axis, node.rank(value)), node.rank(value))
    return node.emit(SubtractOp, wide, cast_to(node, zero, _INT32))


@OPERATORS.operator("MatMulInteger")
def import_matmul_integer(node: OnnxNode) -> Value:
    """A product of integers in 32 bits: one zero point for each row of A, and for each column of B."""
    a = without_zero(node, node.operand(0), node.optional(2), -2 if node.rank(node.operand(0)) > 1 else 0)
    b = without_zero(node, node.operand(1), node.optional(3), -1)
    return matrix_product(node, a, b)


@OPERATORS.operator("ConvInteger")
def import_conv_integer(node: OnnxNode) -> Value:
    """A convolution of integers in 32 bits; padding stands for the zero point."""
    x = without_zero(node, node.operand(0), node.optional(2), 1)
    weight = without_zero(node, node.operand(1), node.optional(3), 0)
    return convolution(node, x, weight)


@OPERATORS.operator("QLinearMatMul")
def import_qlinear_matmul(node: OnnxNode) -> Value:
    """The product of two quantized tensors, quantized: by 32-bit integers, scaled once."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.operand(index) for index in range(8))
    a_axis = -2 if node.rank(a) > 1 else 0
    product = matrix_product(node, without_zero(node, a, a_zero, a_axis), without_zero(node, b, b_zero, -1))
    rank = node.rank(product)
    scales = (
        per_axis(node, a_scale, max(rank - 2, 0), rank),
        per_axis(node, b_scale, max(rank - 1, 0), rank),
        per_axis(node, y_scale, max(rank - 2, 0), rank),
    )
    return requantized(node, product, scales, per_axis(node, y_zero, max(rank - 2, 0), rank))


@OPERATORS.operator("QLinearConv")
def import_qlinear_conv(node: OnnxNode) -> Value:
    """The convolution of two quantized tensors, quantized: by 32-bit integers, scaled once."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.operand(index) for index in range(8))
    sums = convolution(node, without_zero(node, x, x_zero, 1), without_zero(node, w, w_zero, 0))
    if (bias := node.optional(8)) is not None:
        sums = node.emit(BiasAddOp, sums, bias, axis=1)
    scales = [per_axis(node, scale, 1, node.rank(sums)) for scale in (x_scale, w_scale, y_scale)]
    return requantized(node, sums, (scales[0], scales[1], scales[2]), per_axis(node, y_zero, 1, node.rank(sums)))


def requantized(node: OnnxNode, sums: Value, scales: tuple[Value, Value, Value], zero: Value) -> Value:
    """Integer sums times both scales over the scale of the result, rounded, with the zero point of the result."""
    one, other, result = (cast_to(node, scale, np.dtype(np.float32)) for scale in scales)
    factor = node.emit(DivideOp, node.emit(MultiplyOp, one, other), result)
    real = node.emit(MultiplyOp, cast_to(node, sums, np.dtype(np.float32)), factor)
    limits = integer_limits(node.dtype(zero))
    if limits is None:
        raise UnsupportedFormError(f"quantization to {node.dtype(zero)} is not supported")
    return to_integers(node, real, zero, node.dtype(zero), limits, is_never_nan=True)
