"""Normalization of a batch: by statistics that are given, by its own, and the gradient.

Source: `batch_norm_grad`, `batch_norm_inference` and `batch_norm_training` in docs/spec.md of openxla/stablehlo.
"""

import math
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, FloatAttr, f32
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops.elementwise import RsqrtOp
from fuse_dialect.dialect.ops.normalization import BatchNormOp
from fuse_dialect.dialect.ops.reduction import MeanOp, SumOp, VarianceOp
from fuse_dialect.frontends.fuse_values import cast_to, dtype, result, scalar, shape, static_shape, tensor
from fuse_dialect.frontends.stablehlo.rules.building import Rule, number
from fuse_dialect.frontends.stablehlo.rules.sizes import insert_axes


def _epsilon(op: Operation) -> float:
    return cast("FloatAttr[AnyFloat]", op.properties["epsilon"]).value.data


def _other_axes(op: Operation) -> list[int]:
    return [axis for axis in range(len(shape(op.operands[0]))) if axis != number(op, "feature_index")]


def _wide(value: SSAValue) -> SSAValue:
    """What is summed, in f32 at least."""
    return cast_to(value, f32) if dtype(value).itemsize < 4 else value


def _inference(op: Operation) -> Sequence[SSAValue]:
    return [result(BatchNormOp(*op.operands, axis=number(op, "feature_index"), epsilon=_epsilon(op)))]


def _training(op: Operation) -> Sequence[SSAValue]:
    x, scale, offset = op.operands
    own, axes = tensor(x).element_type, _other_axes(op)
    mean, variance = (cast_to(result(each(_wide(x), axes=axes)), own) for each in (MeanOp, VarianceOp))
    normal = BatchNormOp(x, scale, offset, mean, variance, axis=number(op, "feature_index"), epsilon=_epsilon(op))
    return [result(normal), mean, variance]


def _gradient(op: Operation) -> Sequence[SSAValue]:
    """Those of the operand, of the scale and of the offset."""
    own, axes = tensor(op.operands[0]).element_type, _other_axes(op)
    x, scale, mean, variance, gradient = (_wide(each) for each in op.operands)
    behind = list(range(1, len(shape(x)) - number(op, "feature_index")))

    def spread(value: SSAValue) -> SSAValue:
        return insert_axes(value, behind)

    def times(one: SSAValue, other: SSAValue) -> SSAValue:
        return result(b.MultiplyOp(one, other))

    sizes = static_shape(x)
    count = scalar(x, math.prod(sizes[axis] for axis in axes))
    centred = result(b.SubtractOp(x, spread(mean)))
    inverse = result(RsqrtOp(result(b.AddOp(variance, scalar(variance, _epsilon(op))))))
    total = result(SumOp(gradient, axes=axes))
    along = result(SumOp(times(gradient, centred), axes=axes))
    common = times(centred, spread(times(along, times(inverse, inverse))))
    rest = result(b.SubtractOp(result(b.SubtractOp(times(gradient, count), spread(total))), common))
    factor = result(b.DivideOp(times(scale, inverse), count))
    return [cast_to(each, own) for each in (times(rest, spread(factor)), times(along, inverse), total)]


BATCH_NORMS: Mapping[str, Rule] = {
    "stablehlo.batch_norm_grad": _gradient,
    "stablehlo.batch_norm_inference": _inference,
    "stablehlo.batch_norm_training": _training,
}
"""Rules by the name of the op."""
