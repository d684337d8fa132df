"""`simplify-inference`: ops that only training needs become what they compute in inference.

1. `batch_norm` becomes `input * scale + shift`, where `scale = gamma / sqrt(variance + epsilon)` and
   `shift = beta - mean * scale`. When gamma, beta, mean and variance are constants, scale and shift are computed here,
   in double precision, and become constants; otherwise they are computed by ops, the same that TVM emits.
2. `dropout` becomes its input.
3. `layer_norm`, `instance_norm` and `group_norm` become mean, variance and elementwise ops. A group norm of more than
   one dynamic dimension stays, because the reshape to groups could not say which size is which.

Rule 1 decides how many kernels fusion leaves: scale and shift that are computed at run time take one more kernel for
each normalization that follows an anchor. TVM's pass never computes them; its later pass FoldConstant does. With
`fold-constants=false`, or parameters that are no constants, the ops are those after TVM's SimplifyInference; with
constants folded the counts are those after TVM's passes of optimization level 3.

Functions with `primitive` or `fuse.compiler` are left alone.

Source: TVM `SimplifyInference`, src/relay/transforms/simplify_inference.cc (v0.18).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.budget import Budget, Limits
from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fields import Real
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.elementwise import NegativeOp, SqrtOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.normalization import BatchNormOp, GroupNormOp, InstanceNormOp, LayerNormOp
from fuse_dialect.dialect.ops.opaque import DropoutOp
from fuse_dialect.dialect.ops.reduction import MeanOp, VarianceOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.shape_rules import remainder_says
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, normalize_axis, with_shape
from fuse_dialect.transforms.unfinished import walk_unfinished

_ALWAYS = BatchNormOp | DropoutOp
_Simplified = BatchNormOp | DropoutOp | LayerNormOp | InstanceNormOp | GroupNormOp


@dataclass(frozen=True)
class SimplifyInferencePass(ModulePass):
    """Replace batch, layer, instance and group normalization by primitive ops, and drop dropout."""

    name = "simplify-inference"

    fold_constants: bool = True
    """Compute scale and shift of a batch norm here when its parameters are constants."""
    expand_norms: bool = True
    """Break up layer, instance and group norms as TVM does; false leaves each whole, as one kernel."""
    max_total_bytes: int = 1 << 26
    """Bytes that computed scales and shifts may take in all; beyond that, ops compute them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Simplify all functions of the module; linear in the number of ops and operands.

        Raises:
            PassFailedException: The budget is negative.
        """
        if self.max_total_bytes < 0:
            raise PassFailedException(f"option 'max-total-bytes' expects 0 or more, got {self.max_total_bytes}")
        replaced, budget = _Replacements(), Limits(bytes=self.max_total_bytes if self.fold_constants else 0).budget()
        for simplified in [inner for inner in walk_unfinished(op) if isinstance(inner, _Simplified)]:
            if not self.expand_norms and not isinstance(simplified, _ALWAYS):
                continue
            new = _Expansion(simplified, replaced)
            value = _expand(simplified, new, budget)
            if value is not None:
                new.finish(value)
        replaced.apply(op)


def _expand(op: _Simplified, new: "_Expansion", budget: Budget) -> SSAValue | None:
    """The value that replaces the op's result, or `None` to leave the op alone."""
    match op:
        case BatchNormOp():
            folded = _folded_scale_and_shift(op, budget)
            return _batch_norm(op, new) if folded is None else _scaled(op, new, *folded)
        case DropoutOp():
            return new.operand(op.input) if op.input.type == op.result.type else None
        case LayerNormOp():
            return _layer_norm(op, new)
        case InstanceNormOp():
            return _instance_norm(op, new)
        case GroupNormOp():
            return _group_norm(op, new)


@dataclass(eq=False, slots=True)
class _Replacements:
    """Values that stand for the results of ops that go.

    They take effect in one sweep: to replace each value on its own costs a pass over all operands of its users, which
    is quadratic for a wide concatenation.
    """

    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def resolve(self, value: SSAValue) -> SSAValue:
        """The value that `value` finally stands for."""
        for _ in range(len(self.values) + 1):
            following = self.values.get(value)
            if following is None:
                return value
            value = following
        assert isinstance(value.owner, Operation)
        raise OpError(value.owner, f"'{value.owner.name}' op depends on its own result")

    def apply(self, module: ModuleOp) -> None:
        """Rewrite the operands of all ops, then remove the ops that were replaced and constants that only they used."""
        gone = dict.fromkeys(value.owner for value in self.values)
        for op in ops_inside(module):
            if op not in gone and any(operand in self.values for operand in op.operands):
                op.operands = [self.resolve(operand) for operand in op.operands]
        maybe_unused: dict[Operation, None] = {}
        for op in gone:
            assert isinstance(op, Operation)
            maybe_unused.update(
                (value.owner, None) for value in op.operands if isinstance(value.owner, arith.ConstantOp)
            )
            op.detach()
            op.drop_all_references()
        for op in maybe_unused:
            if not op.results[0].uses:
                op.detach()
                op.erase()


@dataclass(eq=False, slots=True)
class _Expansion:
    """The ops that take the place of `old`; they stand before it, at its location."""

    old: FuseOp
    replaced: _Replacements

    def operand(self, value: SSAValue) -> SSAValue:
        """An operand of the old op, or what stands for it by now."""
        return self.replaced.resolve(value)

    def add(self, op: Operation) -> SSAValue:
        """Put an op before the old one; its only result."""
        block = self.old.parent
        assert block is not None, "an op to simplify is part of a block"
        op.location = self.old.location
        block.insert_op_before(op, self.old)
        return op.results[0]

    def scalar(self, number: float, like: SSAValue) -> SSAValue:
        """A constant of rank 0, of the element type of `like`."""
        return self.add(constant(np.array(number, _dtype(like))))

    def finish(self, value: SSAValue) -> None:
        """Let `value` stand for the old op's result, with its name and the attributes that this pass does not know."""
        result = self.old.results[0]
        if isinstance(value.owner, Operation) and not isinstance(self.old, DropoutOp):
            kept = {name: item for name, item in self.old.attributes.items() if name != PATTERN_KIND_ATTRIBUTE}
            value.owner.attributes.update(kept)
            value.name_hint = result.name_hint
        self.replaced.values[result] = value


def _dtype(value: SSAValue) -> "np.dtype[np.generic]":
    return element_dtype(_tensor_type(value).element_type)


def _tensor_type(value: SSAValue) -> Tensor:
    return cast(Tensor, value.type)


def _epsilon(value: Real) -> float:
    return value.value.data


def _folded_scale_and_shift(op: BatchNormOp, budget: Budget) -> tuple[Array, Array] | None:
    """Scale and shift of rank 1 when all parameters are constants; of one element when all are splats.

    `None` when a parameter is no constant, or the budget has no room: many norms may share a few long vectors.
    """
    parameters = [constant_of(value) for value in (op.gamma, op.beta, op.mean, op.variance)]
    if any(value is None for value in parameters):
        return None
    known = [value for value in parameters if value is not None]
    shape = known[0].shape
    # Splats stay splats, also those that stand for more elements than there is memory.
    if all(value.shape == shape and not any(value.strides) for value in known):
        known = [value[:1] for value in known]
    dtype = _dtype(op.input)
    if not budget.take(bytes=2 * known[0].size * dtype.itemsize):
        return None
    gamma, beta, mean, variance = (value.astype(np.float64) for value in known)
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + _epsilon(op.epsilon))
        return scale.astype(dtype), (beta - mean * scale).astype(dtype)


def _scaled(op: BatchNormOp, new: _Expansion, scale: Array, shift: Array) -> SSAValue:
    rank = _tensor_type(op.input).get_num_dims()
    (size,) = _tensor_type(op.gamma).get_shape()
    shape = (size, *(1,) * (rank - 1 - normalize_axis(op.axis.value.data, rank)))
    scale, shift = (_spread(vector, shape) for vector in (scale, shift))
    scaled = new.add(MultiplyOp(new.operand(op.input), new.add(constant(scale))))
    return new.add(AddOp(scaled, new.add(constant(shift)), result_types=[op.result.type]))


def _spread(vector: Array, shape: Sequence[int]) -> Array:
    """A vector in a shape of as many elements, or the single element of a splat in all places."""
    if vector.size == math.prod(shape):
        return vector.reshape(shape)
    return np.broadcast_to(vector.reshape(()), shape)


def _batch_norm(op: BatchNormOp, new: _Expansion) -> SSAValue:
    """TVM: `BatchNormToInferUnpack`, the same ops in the same order."""
    gamma, beta, mean, variance = (new.operand(value) for value in (op.gamma, op.beta, op.mean, op.variance))
    one, epsilon = new.scalar(1.0, variance), new.scalar(_epsilon(op.epsilon), variance)
    deviation = new.add(SqrtOp(new.add(AddOp(variance, epsilon))))
    scale = new.add(MultiplyOp(new.add(DivideOp(one, deviation)), gamma))
    axis = op.axis.value.data
    scaled = new.add(MultiplyOp(new.operand(op.input), _match_axis(scale, op.input, axis, new)))
    shift = new.add(AddOp(new.add(MultiplyOp(new.add(NegativeOp(mean)), scale)), beta))
    return new.add(AddOp(scaled, _match_axis(shift, op.input, axis, new), result_types=[op.result.type]))


def _match_axis(value: SSAValue, data: SSAValue, axis: int, new: _Expansion) -> SSAValue:
    """A vector with unit dimensions after it, so that it broadcasts along `axis` of `data`."""
    rank = _tensor_type(data).get_num_dims()
    newaxes = rank - 1 - normalize_axis(axis, rank)
    return new.add(ExpandDimsOp(value, axis=1, num_newaxis=newaxes)) if newaxes else value


def _layer_norm(op: LayerNormOp, new: _Expansion) -> SSAValue:
    """TVM: `LayerNormToInferUnpack`."""
    axis = op.axis.value.data
    normalized = _normalized(new.operand(op.input), [axis], _epsilon(op.epsilon), new)
    return _affine(op, normalized, axis, new)


def _instance_norm(op: InstanceNormOp, new: _Expansion) -> SSAValue:
    """TVM: `InstanceNormToInferUnpack`; all axes but the batch and the channels are reduced."""
    rank = _tensor_type(op.input).get_num_dims()
    axis = normalize_axis(op.axis.value.data, rank)
    axes = [other for other in range(1, rank) if other != axis]
    normalized = _normalized(new.operand(op.input), axes, _epsilon(op.epsilon), new)
    return _affine(op, normalized, axis, new)


def _group_norm(op: GroupNormOp, new: _Expansion) -> SSAValue | None:
    """TVM: `GroupNormToInferUnpack`; channels are split into groups by one reshape, and joined by another."""
    type = _tensor_type(op.input)
    shape = list(type.get_shape())
    if not remainder_says(shape):
        return None
    axis = normalize_axis(op.axis.value.data, len(shape))
    groups = op.num_groups.value.data
    members = DYNAMIC if shape[axis] == DYNAMIC else shape[axis] // groups
    split = with_shape(type, [*shape[:axis], groups, members, *shape[axis + 1 :]])
    grouped = new.add(ReshapeOp(new.operand(op.input), result_types=[split]))
    axes = [other for other in range(1, len(shape) + 1) if other != axis]
    normalized = _normalized(grouped, axes, _epsilon(op.epsilon), new)
    return _affine(op, new.add(ReshapeOp(normalized, result_types=[type])), axis, new)


def _normalized(data: SSAValue, axes: Sequence[int], epsilon: float, new: _Expansion) -> SSAValue:
    """`(data - mean) / sqrt(variance + epsilon)`; mean and variance over `axes`."""
    mean = new.add(MeanOp(data, axes=axes, keepdims=True))
    # Differs from TVM: its variance takes the mean as a second operand. Kernels are the same: a reduction never fuses
    # into what reads it.
    variance = new.add(VarianceOp(data, axes=axes, keepdims=True))
    deviation = new.add(SqrtOp(new.add(AddOp(variance, new.scalar(epsilon, data)))))
    return new.add(DivideOp(new.add(SubtractOp(data, mean)), deviation))


def _affine(op: LayerNormOp | InstanceNormOp | GroupNormOp, value: SSAValue, axis: int, new: _Expansion) -> SSAValue:
    """`value * gamma + beta`, both along `axis`."""
    gamma, beta = (_match_axis(new.operand(vector), op.input, axis, new) for vector in (op.gamma, op.beta))
    return new.add(AddOp(new.add(MultiplyOp(value, gamma)), beta, result_types=[op.result.type]))
