"""ONNX matrix products, and what else is computed from matrices."""

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, MultiplyOp
from fuse_dialect.dialect.ops.linear_algebra import DetOp, EinsumOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp, MatmulOp
from fuse_dialect.frontends.onnx.builder import SMALL
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, squeeze, transpose
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()


@OPERATORS.operator("Gemm")
def import_gemm(node: OnnxNode) -> Value:
    """`dense` and `bias_add`, as Relay has it: alpha * A * B + beta * C; `matmul` by a large weight as it is stored."""
    a, b, c = node.operand(0), node.operand(1), node.optional(2)
    if node.rank(a) != 2 or node.rank(b) != 2:
        raise FuseError(f"expects matrices, got {node.type_of(a)} and {node.type_of(b)}")
    if node.flag("transA"):
        a = transpose(node, a, [1, 0])
    if not node.flag("transB") and _is_large(b):
        product = node.emit(MatmulOp, a, b)
    else:
        product = node.emit(DenseOp, a, b if node.flag("transB") else transpose(node, b, [1, 0]))
    product = _scaled(node, product, node.real("alpha", 1.0))
    if c is None or node.real("beta", 1.0) == 0.0:
        return product
    c = _scaled(node, c, node.real("beta", 1.0))
    if node.shape(c) == node.shape(product)[1:]:
        return node.emit(BiasAddOp, product, c, axis=1)
    return node.emit(AddOp, product, c)


def _is_large(value: Value) -> bool:
    """Whether to move the elements of a constant would cost memory that matters."""
    return isinstance(value, Constant) and value.array.size > SMALL and any(value.array.strides)


def _as_stored(value: Value) -> Constant | None:
    """A large constant that is a transposed view of what the model stores, before it was transposed."""
    if not isinstance(value, Constant) or not _is_large(value) or value.array.flags.c_contiguous:
        return None
    stored = value.array.swapaxes(-1, -2)
    return Constant(stored, value.name) if stored.flags.c_contiguous else None


def _scaled(node: OnnxNode, value: Value, factor: float) -> Value:
    return value if factor == 1.0 else node.emit(MultiplyOp, value, node.scalar(factor, value))


@OPERATORS.operator("MatMul")
def import_matmul(node: OnnxNode) -> Value:
    """`matmul` of matrices, `batch_matmul` of greater ranks."""
    return matrix_product(node, node.operand(0), node.operand(1))


def matrix_product(node: OnnxNode, a: Value, b: Value) -> Value:
    """The product of the last two axes; a vector becomes a matrix and back."""
    ranks = node.rank(a), node.rank(b)
    if 0 in ranks:
        raise FuseError(f"expects operands of rank 1 or more, got {node.type_of(a)} and {node.type_of(b)}")
    if ranks[0] == 1:
        a = expand_dims(node, a, [0])
    if ranks[1] == 1:
        b = expand_dims(node, b, [1])
    stored = _as_stored(b)
    operator = MatmulOp if max(ranks) <= 2 else BatchMatmulOp
    result = node.emit(operator, a, b) if stored is None else node.emit(operator, a, stored, transpose_b=True)
    rank = node.rank(result)
    unit = [axis for axis, vector in ((rank - 2, ranks[0] == 1), (rank - 1, ranks[1] == 1)) if vector]
    return squeeze(node, result, unit)


@OPERATORS.operator("Einsum")
def import_einsum(node: OnnxNode) -> Value:
    """`einsum`."""
    return node.emit(EinsumOp, *node.all_operands(), equation=node.string("equation"))


@OPERATORS.operator("Det")
def import_det(node: OnnxNode) -> Value:
    """`det`."""
    return node.emit(DetOp, node.operand(0))
