"""ONNX normalizations, softmax and dropout, in the form they have when a model runs."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.analysis.sizes import product_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp
from fuse_dialect.dialect.ops.conversion import ZerosLikeOp
from fuse_dialect.dialect.ops.elementwise import AbsOp, RsqrtOp, SqrtOp
from fuse_dialect.dialect.ops.normalization import (
    BatchNormOp,
    GroupNormOp,
    InstanceNormOp,
    LayerNormOp,
    LogSoftmaxOp,
    SoftmaxOp,
)
from fuse_dialect.dialect.ops.opaque import DropoutOp, LrnOp
from fuse_dialect.dialect.ops.reduction import MeanOp, SumOp, VarianceOp
from fuse_dialect.dialect.ops.replication import RepeatOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape, reshape_to_sizes
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()


@OPERATORS.operator("BatchNormalization")
def import_batch_norm(node: OnnxNode) -> Sequence[Value]:
    """`batch_norm` with the recorded mean and variance; in training with those of the batch, which move the others."""
    x, gamma, beta, mean, variance = (node.operand(index) for index in range(5))
    training = node.opset >= 14 and node.flag("training_mode")
    if not training:
        node.reject_outputs(1, "training")
    if not node.flag("spatial", True):
        raise UnsupportedFormError("the attribute 'spatial' is not supported")
    moved: list[Value] = []
    if training:
        axes = [axis for axis in range(node.rank(x)) if axis != 1]
        of_batch = [node.emit(op, x, axes=axes, keepdims=False) for op in (MeanOp, VarianceOp)]
        keep = node.real("momentum", 0.9)
        for old, new in zip((mean, variance), of_batch, strict=True):
            part = node.emit(MultiplyOp, cast_to(node, new, node.dtype(old)), node.scalar(1 - keep, old))
            moved.append(node.emit(AddOp, node.emit(MultiplyOp, old, node.scalar(keep, old)), part))
        mean, variance = of_batch
    parameters = [cast_to(node, value, node.dtype(x)) for value in (gamma, beta, mean, variance)]
    return (node.emit(BatchNormOp, x, *parameters, axis=1, epsilon=node.real("epsilon", 1e-5)), *moved)


@OPERATORS.operator("InstanceNormalization")
def import_instance_norm(node: OnnxNode) -> Value:
    """`instance_norm`."""
    x, gamma, beta = (node.operand(index) for index in range(3))
    return node.emit(InstanceNormOp, x, gamma, beta, axis=1, epsilon=node.real("epsilon", 1e-5))


@OPERATORS.operator("GroupNormalization")
def import_group_norm(node: OnnxNode) -> Value:
    """`group_norm`; before opset 21 a group's channels share one gamma and one beta."""
    x, gamma, beta = (node.operand(index) for index in range(3))
    if node.rank(x) < 2:
        raise FuseError(f"expects an operand of rank 2 or more, got rank {node.rank(x)}")
    groups, channels = node.integer("num_groups"), node.shape(x)[1]
    if node.opset < 21 and node.shape(gamma) == (groups,) and groups != channels:
        if channels == DYNAMIC:
            raise DynamicShapeError("needs a known number of channels, as each group has one gamma and one beta")
        if groups < 1 or channels % groups:
            raise FuseError(f"expects groups of equal size, got {channels} channels and {groups} groups")
        gamma, beta = (_repeat(node, value, channels // groups) for value in (gamma, beta))
    epsilon = node.real("epsilon", 1e-5)
    return node.emit(GroupNormOp, x, gamma, beta, num_groups=groups, axis=1, epsilon=epsilon)


def _repeat(node: OnnxNode, value: Value, times: int) -> Value:
    return node.emit(RepeatOp, value, repeats=times, axis=0)


@OPERATORS.operator("LayerNormalization")
def import_layer_norm(node: OnnxNode) -> Sequence[Value]:
    """`layer_norm` over the last axis, else its primitive ops."""
    x, gamma, beta = node.operand(0), node.operand(1), node.optional(2)
    rank = node.rank(x)
    axis = normalize_axis(node.integer("axis", -1), rank)
    epsilon = node.real("epsilon", 1e-5)
    plain = not node.is_used(1) and not node.is_used(2)
    if axis == rank - 1 and plain and node.shape(gamma) == node.shape(x)[-1:]:
        if beta is None:
            beta = _zeros_like(node, gamma)
        return (node.emit(LayerNormOp, x, gamma, beta, axis=-1, epsilon=epsilon),)
    # stash_type 1, the default, asks for statistics in 32 bits.
    wide = cast_to(node, x, np.dtype(np.float32)) if node.dtype(x).itemsize < 4 else x
    axes = list(range(axis, rank))
    mean = node.emit(MeanOp, wide, axes=axes, keepdims=True)
    centred = node.emit(SubtractOp, wide, mean)
    variance = node.emit(MeanOp, node.emit(MultiplyOp, centred, centred), axes=axes, keepdims=True)
    scale = node.emit(RsqrtOp, node.emit(AddOp, variance, node.scalar(epsilon, variance)))
    result = cast_to(node, node.emit(MultiplyOp, centred, scale), node.dtype(x))
    result = node.emit(MultiplyOp, result, gamma)
    return (result if beta is None else node.emit(AddOp, result, beta), mean, scale)


def _zeros_like(node: OnnxNode, value: Value) -> Value:
    shape = node.shape(value)
    if DYNAMIC in shape:
        return node.emit(ZerosLikeOp, value)
    return Constant(np.broadcast_to(np.zeros((), node.dtype(value)), shape))


@OPERATORS.operator("RMSNormalization", "SimplifiedLayerNormalization")
def import_rms_norm(node: OnnxNode) -> Value:
    """X / sqrt(mean(x^2) + epsilon) * gamma."""
    x, gamma = node.operand(0), node.operand(1)
    rank = node.rank(x)
    axes = list(range(normalize_axis(node.integer("axis", -1), rank), rank))
    wide = cast_to(node, x, np.dtype(np.float32)) if node.dtype(x).itemsize < 4 else x
    square = node.emit(MeanOp, node.emit(MultiplyOp, wide, wide), axes=axes, keepdims=True)
    scale = node.emit(RsqrtOp, node.emit(AddOp, square, node.scalar(node.real("epsilon", 1e-5), square)))
    result = cast_to(node, node.emit(MultiplyOp, wide, scale), node.dtype(x))
    return node.emit(MultiplyOp, result, gamma)


@OPERATORS.operator("MeanVarianceNormalization")
def import_mean_variance_norm(node: OnnxNode) -> Value:
    """(x - mean) / (deviation + 1e-9).

    Source: ONNX MeanVarianceNormalization, function body.
    """
    x = node.operand(0)
    axes = node.integers("axes", [0, 2, 3])
    mean = node.emit(MeanOp, x, axes=axes, keepdims=True)
    square = node.emit(MeanOp, node.emit(MultiplyOp, x, x), axes=axes, keepdims=True)
    variance = node.emit(SubtractOp, square, node.emit(MultiplyOp, mean, mean))
    deviation = node.emit(AddOp, node.emit(SqrtOp, variance), node.scalar(1e-9, x))
    return node.emit(DivideOp, node.emit(SubtractOp, x, mean), deviation)


@OPERATORS.operator("LpNormalization")
def import_lp_norm(node: OnnxNode) -> Value:
    """X over its norm along an axis; zero where the norm is."""
    x, p = node.operand(0), node.integer("p", 2)
    if p not in (1, 2):
        raise FuseError(f"expects attribute 'p' to be 1 or 2, got {p}")
    axes = [node.integer("axis", -1)]
    if p == 1:
        norm = node.emit(SumOp, node.emit(AbsOp, x), axes=axes, keepdims=True)
    else:
        norm = node.emit(SqrtOp, node.emit(SumOp, node.emit(MultiplyOp, x, x), axes=axes, keepdims=True))
    zero = node.emit(EqualOp, norm, node.scalar(0, x))
    return node.emit(DivideOp, x, node.emit(WhereOp, zero, node.scalar(1, x), norm))


@OPERATORS.operator("Softmax")
def import_softmax(node: OnnxNode) -> Value:
    """`softmax`."""
    return _softmax(node, SoftmaxOp)


@OPERATORS.operator("LogSoftmax")
def import_log_softmax(node: OnnxNode) -> Value:
    """`log_softmax`."""
    return _softmax(node, LogSoftmaxOp)


def _softmax(node: OnnxNode, op: type[FuseOp]) -> Value:
    """Softmax along an axis; before opset 13 over all axes from that one on."""
    x = node.operand(0)
    shape = node.shape(x)
    if node.opset >= 13:
        return node.emit(op, x, axis=node.integer("axis", -1))
    axis = node.integer("axis", 1)
    axis = axis if axis == len(shape) else normalize_axis(axis, len(shape))
    trailing = shape[axis + 1 :]
    if axis < len(shape) and all(size == 1 for size in trailing):
        return node.emit(op, x, axis=axis)
    sizes = node.sizes(x)
    flat = reshape_to_sizes(node, x, [product_of(sizes[:axis]), product_of(sizes[axis:])])
    return reshape_to_sizes(node, node.emit(op, flat, axis=-1), sizes)


@OPERATORS.operator("LRN")
def import_lrn(node: OnnxNode) -> Value:
    """`lrn`."""
    return node.emit(
        LrnOp,
        node.operand(0),
        size=node.integer("size"),
        axis=1,
        alpha=node.real("alpha", 1e-4),
        beta=node.real("beta", 0.75),
        bias=node.real("bias", 1.0),
    )


@OPERATORS.operator("Dropout")
def import_dropout(node: OnnxNode) -> Sequence[Value]:
    """`dropout`, which keeps everything; the mask is true."""
    x = node.operand(0)
    rate = node.real("ratio", 0.5)
    if node.opset >= 12:
        ratio = node.optional(1)
        # A share of 0 drops nothing, in training too.
        if (
            node.optional(2) is not None
            and bool(node.constant_scalar(2))
            and (ratio is None or node.constant_scalar(1))
        ):
            raise UnsupportedFormError("training, which drops elements at random, is not supported")
        rate = float(str(ratio.array.reshape(-1)[0])) if isinstance(ratio, Constant) and ratio.array.size == 1 else 0.5
    result = node.emit(DropoutOp, x, rate=rate)
    if not node.is_used(1):
        return (result,)
    return result, Constant(np.broadcast_to(np.array(True), node.static_shape(x)))


def per_axis(node: OnnxNode, parameter: Value, axis: int, rank: int) -> Value:
    """A vector of parameters, shaped to broadcast along an axis; a scalar stays."""
    if node.rank(parameter) == 0 or node.shape(parameter) == (1,):
        return reshape(node, parameter, [])
    return expand_dims(node, parameter, [*range(axis), *range(axis + 1, rank)])
