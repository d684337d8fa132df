"""Normalizations and softmaxes."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import normalization as n
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.elementwise import RsqrtOp
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, made
from fuse_dialect.frontends.fuse_values import broadcast, dtype, integers, reshape, scalar, shape


def _ones(like: SSAValue, size: int) -> SSAValue:
    return broadcast(scalar(like, 1), [size])


def _zeros(like: SSAValue, size: int) -> SSAValue:
    return broadcast(scalar(like, 0), [size])


def _nothing(like: SSAValue) -> SSAValue:
    """A list of no elements, which PyTorch gives for statistics that it does not compute."""
    return integers(np.zeros(0, np.int64), like)


@RULES.of("aten._softmax.default", "aten.softmax.int")
def softmax(want: Want, self: SSAValue, dim: int, half_to_float: bool = False) -> SSAValue:
    """`softmax`."""
    x = as_type(self, want.dtype)
    return made(n.SoftmaxOp(x, axis=dim % len(want.shape))) if want.shape else made(b.DivideOp(x, x))


@RULES.of("aten._log_softmax.default", "aten.log_softmax.int")
def log_softmax(want: Want, self: SSAValue, dim: int, half_to_float: bool = False) -> SSAValue:
    """`log_softmax`."""
    x = as_type(self, want.dtype)
    return made(n.LogSoftmaxOp(x, axis=dim % len(want.shape))) if want.shape else made(b.SubtractOp(x, x))


@RULES.of("aten._native_batch_norm_legit_no_training.default")
def batch_norm(
    want: Want,
    input: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    running_mean: SSAValue,
    running_var: SSAValue,
    momentum: float,
    eps: float,
) -> list[SSAValue]:
    """`batch_norm`; there are no statistics of the batch."""
    channels = shape(input)[1]
    gamma = _ones(input, channels) if weight is None else as_type(weight, dtype(input))
    beta = _zeros(input, channels) if bias is None else as_type(bias, dtype(input))
    means, variances = as_type(running_mean, dtype(input)), as_type(running_var, dtype(input))
    value = made(n.BatchNormOp(input, gamma, beta, means, variances, epsilon=float(eps)))
    return [value, _nothing(means), _nothing(means)]


@RULES.of("aten.native_layer_norm.default")
def layer_norm(
    want: Want,
    input: SSAValue,
    normalized_shape: Sequence[int],
    weight: SSAValue | None,
    bias: SSAValue | None,
    eps: float,
) -> list[SSAValue]:
    """`layer_norm` along the last axes as one, the means, and one over the deviations."""
    outer = shape(input)[: len(shape(input)) - len(normalized_shape)]
    size = math.prod(normalized_shape)
    rows = reshape(input, [*outer, size])
    gamma = _ones(input, size) if weight is None else reshape(weight, [size])
    beta = _zeros(input, size) if bias is None else reshape(bias, [size])
    value = reshape(made(n.LayerNormOp(rows, gamma, beta, epsilon=float(eps))), shape(input))
    statistics = [*outer, *[1] * len(normalized_shape)]
    means = reshape(made(r.MeanOp(rows, axes=[len(outer)], keepdims=True)), statistics)
    variances = made(r.VarianceOp(rows, axes=[len(outer)], keepdims=True))
    return [value, means, reshape(_deviation_inverse(variances, eps), statistics)]


def _deviation_inverse(variances: SSAValue, eps: float) -> SSAValue:
    return made(RsqrtOp(made(b.AddOp(variances, scalar(variances, eps)))))


@RULES.of("aten.native_group_norm.default")
def group_norm(
    want: Want,
    input: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> list[SSAValue]:
    """`group_norm`, the means of groups, and one over their deviations."""
    gamma = _ones(input, C) if weight is None else weight
    beta = _zeros(input, C) if bias is None else bias
    value = made(n.GroupNormOp(input, gamma, beta, num_groups=group, epsilon=float(eps)))
    groups = reshape(input, [N, group, C // group * HxW])
    means = made(r.MeanOp(groups, axes=[2]))
    return [value, means, _deviation_inverse(made(r.VarianceOp(groups, axes=[2])), eps)]
