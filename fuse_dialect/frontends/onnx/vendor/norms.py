"""Normalizations of com.microsoft: of a sum of tensors, of embeddings, and over groups of channels."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import SiluOp
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp
from fuse_dialect.dialect.ops.elementwise import RsqrtOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.dialect.ops.normalization import GroupNormOp, LayerNormOp
from fuse_dialect.dialect.ops.reduction import MeanOp, SumOp
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.constants import counted
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, transpose
from fuse_dialect.frontends.onnx.operators.normalizations import import_layer_norm, import_rms_norm
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()

OPERATORS.operator("LayerNormalization")(import_layer_norm)


@OPERATORS.operator("SimplifiedLayerNormalization")
def import_simplified_layer_norm(node: OnnxNode) -> Sequence[Value]:
    """X / sqrt(mean(x^2) + epsilon) * gamma."""
    node.reject_outputs(1, "the inverse of the root of the mean as a result")
    return (import_rms_norm(node),)


def layer_norm(node: OnnxNode, x: Value, gamma: Value, beta: Value | None, epsilon: float) -> Value:
    """`layer_norm` over the last axis; without a beta its numbers are 0."""
    if beta is None:
        beta = Constant(np.broadcast_to(np.zeros((), node.dtype(x)), node.static_shape(gamma)))
    return node.emit(LayerNormOp, x, gamma, beta, axis=-1, epsilon=epsilon)


def _skipped(node: OnnxNode, bias: int) -> Value:
    """Input and skip, which may lack the axis of the batch, and a bias that may be left out."""
    total = node.emit(AddOp, node.operand(0), node.operand(1))
    given = node.optional(bias)
    return total if given is None else node.emit(AddOp, total, given)


def _skip_results(node: OnnxNode, result: Value, total: Value) -> Sequence[Value]:
    """The result and, in the fourth place, the sum."""
    for index in (1, 2):
        if node.is_used(index):
            raise FuseError("has a result that onnxruntime gives on accelerators alone: mean or deviation")
    return (result, result, result, total)


@OPERATORS.operator("SkipLayerNormalization")
def import_skip_layer_norm(node: OnnxNode) -> Sequence[Value]:
    """`layer_norm` of input + skip + bias, and that sum."""
    total = _skipped(node, 4)
    result = layer_norm(node, total, node.operand(2), node.optional(3), node.real("epsilon", 1e-12))
    return _skip_results(node, result, total)


@OPERATORS.operator("SkipSimplifiedLayerNormalization")
def import_skip_simplified_layer_norm(node: OnnxNode) -> Sequence[Value]:
    """The sum of input, skip and bias over the root of its mean square, times gamma; and that sum."""
    total = _skipped(node, 3)
    square = node.emit(MeanOp, node.emit(MultiplyOp, total, total), axes=[node.rank(total) - 1], keepdims=True)
    scale = node.emit(RsqrtOp, node.emit(AddOp, square, node.scalar(node.real("epsilon", 1e-12), square)))
    result = node.emit(MultiplyOp, node.emit(MultiplyOp, total, scale), node.operand(2))
    return _skip_results(node, result, total)


@OPERATORS.operator("EmbedLayerNormalization")
def import_embed_layer_norm(node: OnnxNode) -> Sequence[Value]:
    """`layer_norm` of the sum of the embeddings of words, places and segments; the number of words; that sum.

    The numbers of words are those up to the padding of the mask, i32, and 0 without a mask.
    """
    words, segments = node.operand(0), node.optional(1)
    if node.rank(words) != 2:
        raise FuseError(f"expects a matrix of words, got {node.type_of(words)}")
    total = node.emit(TakeOp, node.operand(2), words, axis=0)
    places = node.optional(8)
    if places is None:
        places = expand_dims(node, counted(node, node.sizes(words)[1], 0), [0])
    total = node.emit(AddOp, total, node.emit(TakeOp, node.operand(3), places, axis=0))
    if segments is not None and node.optional(4) is not None:
        total = node.emit(AddOp, total, node.emit(TakeOp, node.operand(4), segments, axis=0))
    result = layer_norm(node, total, node.operand(5), node.operand(6), node.real("epsilon", 1e-12))
    return (result, _word_counts(node, words), total)


def _word_counts(node: OnnxNode, words: Value) -> Value:
    """For each row the number of words that the mask keeps."""
    mask = node.optional(7)
    if mask is not None:
        return node.emit(SumOp, cast_to(node, mask, np.dtype(np.int32)), axes=[1])
    zero = node.emit(MultiplyOp, words, node.scalar(0, words))
    return cast_to(node, node.emit(SumOp, zero, axes=[1]), np.dtype(np.int32))


@OPERATORS.operator("GroupNorm", "SkipGroupNorm")
def import_group_norm(node: OnnxNode) -> Sequence[Value]:
    """`group_norm` of input + skip + bias, with or without `silu`, and the sum; channels are last unless it says so."""
    total, last = node.operand(0), node.flag("channels_last", True)
    rank = node.rank(total)
    if node.node.op_type == "SkipGroupNorm":
        for index in (3, 4):
            if (more := node.optional(index)) is not None:
                more = more if node.rank(more) in (1, rank) else _image(node, more, last)
                total = node.emit(AddOp, total, more)
    x = transpose(node, total, [0, rank - 1, *range(1, rank - 1)]) if last else total
    gamma, beta = (cast_to(node, node.operand(index), node.dtype(x)) for index in (1, 2))
    result = node.emit(
        GroupNormOp, x, gamma, beta, num_groups=node.integer("groups"), axis=1, epsilon=node.real("epsilon", 1e-5)
    )
    if node.integer("activation"):
        result = node.emit(SiluOp, result)
    return (transpose(node, result, [0, *range(2, rank), 1]) if last else result, total)


def _image(node: OnnxNode, value: Value, last: bool) -> Value:
    """A vector of channels for each sample, with unit axes for the rows and columns."""
    return expand_dims(node, value, [1, 2] if last else [2, 3])
