"""Products and convolutions of com.microsoft, with scales, activations, sums, and weights of few bits."""

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.convolutions import import_conv
from fuse_dialect.frontends.onnx.operators.layout import reshape, transpose
from fuse_dialect.frontends.onnx.operators.linear import import_gemm, matrix_product
from fuse_dialect.frontends.onnx.operators.pools import import_max_pool
from fuse_dialect.frontends.onnx.operators.quantization import kept
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import Array
from fuse_dialect.frontends.onnx.values import Constant, Value
from fuse_dialect.frontends.onnx.vendor.activations import activated, with_bias

OPERATORS = OperatorTable()


@OPERATORS.operator("FusedMatMul", "TransposeMatMul")
def import_fused_matmul(node: OnnxNode) -> Value:
    """Alpha times the product of matrices that may be transposed, their batches with them (`transBatchA`)."""
    sides = [_side(node, index, letter) for index, letter in enumerate("AB")]
    product = matrix_product(node, *sides)
    alpha = node.real("alpha", 1.0)
    return product if alpha == 1.0 else node.emit(MultiplyOp, product, node.scalar(alpha, product))


@OPERATORS.operator("FusedMatMulActivation")
def import_fused_matmul_activation(node: OnnxNode) -> Value:
    """The product of FusedMatMul, and an activation."""
    return activated(node, import_fused_matmul(node))


def _side(node: OnnxNode, index: int, letter: str) -> Value:
    """An operand of FusedMatMul as `matmul` takes it.

    Of an operand [M, B1, ..., K] with `transBatch` the first axis is that of the rows: a transposition of the batches
    moves it behind them. Vectors are never transposed.
    """
    value = node.operand(index)
    rank = node.rank(value)
    order = list(range(rank))
    if rank > 2 and node.flag(f"transBatch{letter}"):
        order = [*order[1:-1], order[0], order[-1]]
    if rank > 1 and node.flag(f"trans{letter}"):
        order[-2], order[-1] = order[-1], order[-2]
    return transpose(node, value, order)


@OPERATORS.operator("FusedGemm")
def import_fused_gemm(node: OnnxNode) -> Value:
    """Gemm and an activation."""
    return activated(node, import_gemm(node))


@OPERATORS.operator("FusedConv")
def import_fused_conv(node: OnnxNode) -> Value:
    """A convolution, the sum with the operand Z, and an activation."""
    return activated(node, with_bias(node, import_conv(node), 3))


@OPERATORS.operator("NhwcConv", "NhwcFusedConv")
def import_nhwc_conv(node: OnnxNode) -> Value:
    """The same with the channels of images last; the weight is as that of Conv, [M, C / group, kH, kW]."""
    x = node.operand(0)
    inner = with_operand(node, 0, channels_first(node, x))
    result = channels_last(node, import_conv(inner))
    return activated(node, with_bias(node, result, 3))


@OPERATORS.operator("NhwcMaxPool")
def import_nhwc_max_pool(node: OnnxNode) -> Value:
    """MaxPool with the channels last."""
    inner = with_operand(node, 0, channels_first(node, node.operand(0)))
    return channels_last(node, import_max_pool(inner)[0])


def with_operand(node: OnnxNode, index: int, value: Value) -> OnnxNode:
    """The node with another value in the place of an operand."""
    operands = tuple(value if place == index else operand for place, operand in enumerate(node.operands))
    return OnnxNode(node.node, node.opset, operands, node.builder)


def channels_first(node: OnnxNode, value: Value) -> Value:
    """[N, ..., C] as [N, C, ...]."""
    rank = node.rank(value)
    return transpose(node, value, [0, rank - 1, *range(1, rank - 1)])


def channels_last(node: OnnxNode, value: Value) -> Value:
    """[N, C, ...] as [N, ..., C]."""
    rank = node.rank(value)
    return transpose(node, value, [0, *range(2, rank), 1])


@OPERATORS.operator("MatMulNBits")
def import_matmul_nbits(node: OnnxNode) -> Value:
    """The product with a weight [N, K] of 2, 4 or 8 bits an element, and a bias.

    The weight is stored as [N, blocks, bytes of a block], the lowest bits of a byte first; each block of a row has a
    scale and a zero point, by default the middle of the range. Blocks beyond K are cut off. What the integers stand for
    is written as ops, by the formula of DequantizeLinear: the pass `keep-blockwise-weights` finds it.

    Raises:
        FuseError: Weight, scales or zero points do not have the sizes that `K`, `N`, `bits` and `block_size` say.
    """
    k, n = node.integer("K"), node.integer("N")
    bits, block = node.integer("bits", 4), node.integer("block_size")
    if bits not in (2, 4, 8):
        raise UnsupportedFormError(f"weights of {bits} bits are not supported")
    if k < 1 or n < 1 or block < 16 or block & (block - 1):
        raise FuseError(f"expects sizes and blocks of a power of 2 from 16 on, got K={k}, N={n}, block_size={block}")
    if node.optional(4) is not None:
        raise UnsupportedFormError("the operand 'g_idx' is not supported")
    weight = _real_weight(node, k, n, bits, block)
    product = matrix_product(node, node.operand(0), transpose(node, weight, [1, 0]))
    return with_bias(node, product, 5)


def _real_weight(node: OnnxNode, k: int, n: int, bits: int, block: int) -> Value:
    """The weight [N, K] in the type of its scales."""
    blocks = -(-k // block)
    stored = _sized(node, 1, (n, blocks, block * bits // 8))
    scales = _sized(node, 2, (n, blocks))
    # What is unpacked here is as large as the model's own bytes allow, and counted where the IR gets it.
    zeros: Array
    if node.optional(3) is None:
        zeros = np.full((), 1 << (bits - 1), scales.dtype)
    elif node.constant(3).dtype == scales.dtype:
        zeros = _sized(node, 3, (n, blocks))[..., None]
    else:
        row = -(-blocks * bits // 8)
        zeros = _unpacked(_sized(node, 3, (n, row)), bits)[:, :blocks, None].astype(scales.dtype)
    numbers = kept(node, Constant(_unpacked(stored, bits).reshape(n, blocks, block), node.name_of(1)))
    shifted = node.emit(SubtractOp, cast_to(node, numbers, scales.dtype), Constant(zeros))
    weight = node.emit(MultiplyOp, shifted, Constant(scales[..., None]))
    weight = reshape(node, weight, (n, blocks * block))
    if k == blocks * block:
        return weight
    return node.emit(StridedSliceOp, weight, begin=[0], end=[k], strides=[1], axes=[1])


def _sized(node: OnnxNode, index: int, shape: tuple[int, ...]) -> Array:
    """A constant operand in the shape that its elements must fill."""
    array = node.constant(index)
    if array.size != np.prod(shape, dtype=object):
        raise FuseError(f"expects operand {index} to hold {list(shape)} elements, got {list(array.shape)}")
    return array.reshape(shape)


def _unpacked(packed: Array, bits: int) -> Array:
    """Numbers of few bits, the lowest of a byte first, along the last axis."""
    if packed.dtype != np.uint8:
        raise FuseError(f"expects packed numbers as uint8, got {packed.dtype}")
    if bits == 8:
        return packed
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], packed.shape[-1] * (8 // bits))
