"""Products of quantized matrices of com.microsoft, and attention on them.

Source: onnxruntime, contrib_ops/cpu/quantization.
"""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import DivideOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp
from fuse_dialect.dialect.ops.elementwise import RoundOp
from fuse_dialect.dialect.ops.reduction import MaxOp, MinOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import transpose
from fuse_dialect.frontends.onnx.operators.linear import matrix_product
from fuse_dialect.frontends.onnx.operators.normalizations import per_axis
from fuse_dialect.frontends.onnx.operators.quantization import to_integers, without_zero
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value
from fuse_dialect.frontends.onnx.vendor.activations import with_bias
from fuse_dialect.frontends.onnx.vendor.attention import attention_of
from fuse_dialect.frontends.onnx.vendor.quantized import parameter, rounded, zero_point

OPERATORS = OperatorTable()

_F32 = np.dtype(np.float32)


@OPERATORS.operator("QGemm")
def import_qgemm(node: OnnxNode) -> Value:
    """The product of quantized matrices plus a bias in 32 bits, scaled; quantized where the result has a scale.

    Operands: A, scale, zero point, B, scale, zero point, bias, scale and zero point of the result.
    """
    a = without_zero(node, node.operand(0), node.optional(2), -1)
    # A zero point for each column of B is one for each row where B is transposed.
    b = without_zero(node, node.operand(3), node.optional(5), 0 if node.flag("transB") else -1)
    if node.flag("transA"):
        a = transpose(node, a, [1, 0])
    if node.flag("transB"):
        b = transpose(node, b, [1, 0])
    sums = with_bias(node, matrix_product(node, a, b), 6)
    alpha = Constant(np.array(node.real("alpha", 1.0), np.float32))
    factor = node.emit(
        MultiplyOp, node.emit(MultiplyOp, alpha, parameter(node, 1)), per_axis(node, node.operand(4), 1, 2)
    )
    real = cast_to(node, sums, _F32)
    if node.optional(7) is None:
        return node.emit(MultiplyOp, real, factor)
    factor = node.emit(DivideOp, factor, parameter(node, 7))
    return rounded(node, node.emit(MultiplyOp, real, factor), zero_point(node, 8, node.operand(0)))


@OPERATORS.operator("MatMulIntegerToFloat")
def import_matmul_integer_to_float(node: OnnxNode) -> Value:
    """The product of quantized matrices, scaled, plus a bias.

    Operands: A, B, scale of A, scale of B, zero point of A, zero point of B, bias.
    """
    a = without_zero(node, node.operand(0), node.optional(4), -1)
    return _scaled_product(node, a, parameter(node, 2), scale=3, zero=5, bias=6)


def _scaled_product(node: OnnxNode, a: Value, a_scale: Value, *, scale: int, zero: int, bias: int) -> Value:
    """The product of integers with the second operand, times both scales, plus a bias."""
    b = without_zero(node, node.operand(1), node.optional(zero), -1)
    product = cast_to(node, matrix_product(node, a, b), _F32)
    rank = node.rank(product)
    factor = node.emit(MultiplyOp, a_scale, per_axis(node, node.operand(scale), rank - 1, rank))
    return with_bias(node, node.emit(MultiplyOp, product, factor), bias)


@OPERATORS.operator("DynamicQuantizeMatMul")
def import_dynamic_quantize_matmul(node: OnnxNode) -> Value:
    """The product of A, quantized to uint8 by its range when the model runs, with a quantized B, plus a bias.

    Operands: A, B, scale of B, zero point of B, bias.
    """
    x = node.operand(0)
    zero = Constant(np.zeros((), np.float32))
    axes = list(range(node.rank(x)))
    low = node.emit(MinimumOp, node.emit(MinOp, x, axes=axes), zero)
    high = node.emit(MaximumOp, node.emit(MaxOp, x, axes=axes), zero)
    scale = node.emit(DivideOp, node.emit(SubtractOp, high, low), Constant(np.array(255, np.float32)))
    scale = node.emit(WhereOp, node.emit(EqualOp, high, low), Constant(np.ones((), np.float32)), scale)
    place = node.emit(ClipOp, node.emit(DivideOp, node.emit(SubtractOp, zero, low), scale), min=0.0, max=255.0)
    zero_of_x = cast_to(node, node.emit(RoundOp, place), np.dtype(np.uint8))
    integers = to_integers(node, node.emit(DivideOp, x, scale), zero_of_x, np.dtype(np.uint8), (0, 255))
    a = without_zero(node, integers, zero_of_x, -1)
    return _scaled_product(node, a, scale, scale=2, zero=3, bias=4)


@OPERATORS.operator("QAttention")
def import_qattention(node: OnnxNode) -> Sequence[Value]:
    """Attention whose projection is a product of quantized matrices.

    Operands: input, weights, bias, scale of the input, scale of the weights, mask, zero points of both, cache.
    """
    if node.flag("do_rotary"):
        raise UnsupportedFormError("'do_rotary' is not supported")
    a = without_zero(node, node.operand(0), node.optional(6), -1)
    projected = _scaled_product(node, a, parameter(node, 3), scale=4, zero=7, bias=2)
    return attention_of(node, projected, mask=5, past=8, bias=None)
