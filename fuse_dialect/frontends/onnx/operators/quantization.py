"""ONNX conversions between real and quantized numbers, by their formulas."""

import numpy as np
import onnx_ir as ir

from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.elementwise import RoundOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.normalizations import per_axis
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import dtype_of
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()

_INT32 = np.dtype(np.int32)


def _along_axis(node: OnnxNode, parameter: Value) -> Value:
    x = node.operand(0)
    if node.integer("block_size", 0) or node.rank(parameter) > 1:
        raise UnsupportedFormError("quantization by blocks is not supported")
    if node.rank(x) == 0 or node.shape(parameter) in ((), (1,)):
        return per_axis(node, parameter, 0, node.rank(x))
    return per_axis(node, parameter, normalize_axis(node.integer("axis", 1), node.rank(x)), node.rank(x))


@OPERATORS.operator("DequantizeLinear")
def import_dequantize(node: OnnxNode) -> Value:
    """(x - zero point) * scale."""
    x, scale, zero = node.operand(0), node.operand(1), node.optional(2)
    scale = _along_axis(node, scale)
    wide = cast_to(node, x, _INT32)
    if zero is not None:
        wide = node.emit(SubtractOp, wide, cast_to(node, _along_axis(node, zero), _INT32))
    result = node.emit(MultiplyOp, cast_to(node, wide, node.dtype(scale)), scale)
    if target := node.integer("output_dtype", 0):
        result = cast_to(node, result, dtype_of(ir.DataType(target)))
    return result


@OPERATORS.operator("QuantizeLinear")
def import_quantize(node: OnnxNode) -> Value:
    """round(x / scale) + zero point, saturated."""
    x, scale, zero = node.operand(0), _along_axis(node, node.operand(1)), node.optional(2)
    if node.integer("precision", 0):
        raise UnsupportedFormError("the attribute 'precision' is not supported")
    if zero is not None:
        dtype = node.dtype(zero)
    else:
        dtype = dtype_of(ir.DataType(node.integer("output_dtype", 0) or ir.DataType.UINT8.value))
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        raise UnsupportedFormError(f"elements of type {dtype} are not supported")
    wide = node.dtype(scale) if node.dtype(x).kind != "f" else node.dtype(x)
    x, scale = cast_to(node, x, wide), cast_to(node, scale, wide)
    result = node.emit(RoundOp, node.emit(DivideOp, x, scale))
    if zero is not None:
        result = node.emit(AddOp, result, cast_to(node, _along_axis(node, zero), wide))
    limits = np.iinfo(dtype)
    return cast_to(node, node.emit(ClipOp, result, min=float(limits.min), max=float(limits.max)), dtype)
