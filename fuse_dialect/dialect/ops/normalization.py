"""Softmax, normalizations and one-hot encoding.

`softmax`, `log_softmax`, `batch_norm` and `one_hot` are `out_ewise_fusable`; the norms that compute their own mean and
variance are `opaque`, and `simplify-inference` breaks them up.
"""

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.accumulation import mean
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import Integer, Real, integer, real, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.conversion import cast_to, scalar, widen
from fuse_dialect.dialect.ops.elementwise import ExpOp, LogOp, SqrtOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.reduction import MaxOp, MeanOp, SumOp
from fuse_dialect.dialect.shape_rules import (
    quotient,
    remainder_says,
    require_float,
    require_integers,
    require_positive,
    require_vector,
)
from fuse_dialect.dialect.types import (
    Tensor,
    is_unsigned,
    normalize_axis,
    require_rank,
    require_same_element,
    tensor_type,
    with_shape,
)
from fuse_dialect.loops.special_functions import of_reals, widened
from fuse_dialect.pattern_kind import PatternKind


class AxisOp(FuseOp, ABC):
    """A function of each line of elements along `axis`, of the operand's type."""

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 5

    input = tensor_operand()
    result = tensor_result()

    axis = integer(-1)
    """The axis of the lines."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        require_float(self.input.type)
        normalize_axis(self.axis.value.data, self.input.type.get_num_dims())
        return (self.input.type,)

    def shifted(self, x: Array) -> Array:
        """`x` less the greatest element of its line, so that no exponential overflows."""
        x = widened(x)
        return x - x.max(axis=self.axis.value.data, keepdims=True, initial=-np.inf)

    def shift(self, x: SSAValue) -> SSAValue:
        """`shifted` as ops."""
        return SubtractOp(x, MaxOp(x, axes=[self.axis.value.data], keepdims=True)).result


@irdl_op_definition
class SoftmaxOp(AxisOp):
    """Exponentials divided by their sum along `axis`.

    Shapes: any of rank 1 or more, unchanged.
    Types: floating point; f16 and bf16 are computed in f32.
    Kind: out_ewise_fusable.
    Cost: five operations an element: maximum, subtraction, exponential, sum, division.
    Source: ONNX Softmax (opset 13), Relay `nn.softmax`.
    """

    name = "fuse.softmax"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Exponentials of the shifted elements, normalized."""
        e = of_reals(np.exp, self.shifted(operands[0]))
        return ((e / e.sum(axis=self.axis.value.data, keepdims=True)).astype(operands[0].dtype, copy=False),)

    def decompose(self, *operands: SSAValue) -> SSAValue:
        """Exponentials of the shifted elements, divided by their sum."""
        e = ExpOp(self.shift(widen(operands[0]))).result
        return cast_to(DivideOp(e, SumOp(e, axes=[self.axis.value.data], keepdims=True)), self.input.type)


@irdl_op_definition
class LogSoftmaxOp(AxisOp):
    """The logarithm of `softmax`.

    Shapes: any of rank 1 or more, unchanged.
    Types: floating point; f16 and bf16 are computed in f32.
    Kind: out_ewise_fusable.
    Cost: five operations an element: maximum, subtraction, exponential, sum, subtraction.
    Source: ONNX LogSoftmax (opset 13), Relay `nn.log_softmax`.
    """

    name = "fuse.log_softmax"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The shifted elements less the logarithm of the sum of their exponentials."""
        x = self.shifted(operands[0])
        y = x - of_reals(np.log, of_reals(np.exp, x).sum(axis=self.axis.value.data, keepdims=True))
        return (y.astype(operands[0].dtype, copy=False),)

    def decompose(self, *operands: SSAValue) -> SSAValue:
        """The shifted elements less the logarithm of the sum of their exponentials."""
        x = self.shift(widen(operands[0]))
        total = SumOp(ExpOp(x), axes=[self.axis.value.data], keepdims=True)
        return cast_to(SubtractOp(x, LogOp(total)), self.input.type)


class ChannelOp(FuseOp, ABC):
    """A normalization with a scale and a shift for each element of `axis`."""

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        axis: Integer
        epsilon: Real

    input = tensor_operand()
    gamma = tensor_operand()
    beta = tensor_operand()
    result = tensor_result()

    def vectors(self) -> dict[str, Tensor]:
        """Types of the operands that have one number for each element of `axis`, by name."""
        return {"gamma": self.gamma.type, "beta": self.beta.type}

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        vectors = self.vectors()
        require_same_element([self.input.type, *vectors.values()])
        require_float(self.input.type)
        shape = tuple(self.input.type.get_shape())
        channels = shape[normalize_axis(self.axis.value.data, len(shape))]
        for name, type in vectors.items():
            require_vector(type, channels, name)
        return (self.input.type,)

    def along_axis(self, vector: Array, rank: int) -> Array:
        """One number per channel, shaped to broadcast against the operand, in the type of sums."""
        axis = normalize_axis(self.axis.value.data, rank)
        return widened(vector).reshape([-1 if i == axis else 1 for i in range(rank)])

    def standardized(self, x: Array, axes: tuple[int, ...]) -> Array:
        """`x` less its mean, divided by its standard deviation, both over `axes`, in the type of sums."""
        x = widened(x)
        centered = x - mean(x, axes, keepdims=True)
        variance = mean(np.square(centered), axes, keepdims=True)
        return centered / np.sqrt(variance + x.dtype.type(self.epsilon.value.data))

    def scaled(self, x: Array, gamma: Array, beta: Array) -> Array:
        """`x * gamma + beta`, channel by channel."""
        return x * self.along_axis(gamma, x.ndim) + self.along_axis(beta, x.ndim)

    def standardize(self, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        """`standardized` as ops, of a value in the type of sums."""
        centered = SubtractOp(x, MeanOp(x, axes=axes, keepdims=True)).result
        variance = MeanOp(MultiplyOp(centered, centered), axes=axes, keepdims=True)
        deviation = SqrtOp(AddOp(variance, scalar(self.epsilon.value.data, x)))
        return DivideOp(centered, deviation).result

    def scale(self, x: SSAValue, gamma: SSAValue, beta: SSAValue) -> SSAValue:
        """`scaled` as ops, in the type of the op's result."""
        axis = normalize_axis(self.axis.value.data, self.input.type.get_num_dims())
        return cast_to(BiasAddOp(_times(x, widen(gamma), axis), widen(beta), axis=axis), self.input.type)


def _times(x: SSAValue, vector: SSAValue, axis: int) -> SSAValue:
    """`x` times one number for each element of `axis`."""
    size = tensor_type(vector).get_shape()[0]
    rank = tensor_type(x).get_num_dims()
    type = with_shape(tensor_type(vector), [size, *(1,) * (rank - 1 - axis)])
    return MultiplyOp(x, ReshapeOp(vector, result_types=[type]), result_types=[x.type]).result


@irdl_op_definition
class BatchNormOp(ChannelOp):
    """Inference form of batch normalization: (input - mean) / sqrt(variance + epsilon) * gamma + beta.

    Shapes: input of any rank, the others [size of `axis`]; result as the input.
    Types: one floating-point type; f16 and bf16 are computed in f32.
    Kind: out_ewise_fusable.
    Cost: two operations an element, since scale and shift are computed once a channel.
    Source: ONNX BatchNormalization with `training_mode = 0`, Relay `nn.batch_norm` (its first result), StableHLO
        `batch_norm_inference`.
    """

    name = "fuse.batch_norm"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    input = tensor_operand()  # again: xDSL puts the operands of a base class behind those of the op
    gamma = tensor_operand()
    beta = tensor_operand()
    mean = tensor_operand()
    variance = tensor_operand()

    axis = integer(1)
    """The axis of the channels."""
    epsilon = real(1e-5)
    """Added to the variance."""

    def vectors(self) -> dict[str, Tensor]:
        """Scale, shift and the two statistics."""
        return {**super().vectors(), "mean": self.mean.type, "variance": self.variance.type}

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """A multiplication and an addition with numbers computed once a channel."""
        x = operands[0]
        gamma, beta, mean, variance = (widened(vector) for vector in operands[1:])
        scale = gamma / np.sqrt(variance + variance.dtype.type(self.epsilon.value.data))
        return (self.scaled(widened(x), scale, beta - mean * scale).astype(x.dtype, copy=False),)

    def decompose(self, *operands: SSAValue) -> SSAValue:
        """Scale and shift of each channel, then these on the elements."""
        x, gamma, beta, mean, variance = map(widen, operands)
        deviation = SqrtOp(AddOp(variance, scalar(self.epsilon.value.data, variance)))
        scale = DivideOp(gamma, deviation).result
        return self.scale(x, scale, SubtractOp(beta, MultiplyOp(mean, scale)).result)


@irdl_op_definition
class LayerNormOp(ChannelOp):
    """Each line along `axis` brought to mean 0 and variance 1, then scaled and shifted.

    Shapes: input of any rank, gamma and beta [size of `axis`]; result as the input.
    Types: one floating-point type; f16 and bf16 are computed in f32.
    Kind: opaque.
    Cost: eight operations an element.
    Source: Relay `nn.layer_norm`, ONNX LayerNormalization with the last axis.
    """

    name = "fuse.layer_norm"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 8

    axis = integer(-1)
    """The normalized axis."""
    epsilon = real(1e-5)
    """Added to the variance."""

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Statistics over `axis` alone."""
        x, gamma, beta = operands
        axis = normalize_axis(self.axis.value.data, x.ndim)
        return (self.scaled(self.standardized(x, (axis,)), gamma, beta).astype(x.dtype, copy=False),)

    def decompose(self, *operands: SSAValue) -> SSAValue:
        """Statistics over `axis` alone."""
        x, gamma, beta = operands
        return self.scale(self.standardize(widen(x), [self.axis.value.data]), gamma, beta)


@irdl_op_definition
class InstanceNormOp(ChannelOp):
    """Each channel of each sample brought to mean 0 and variance 1, then scaled and shifted.

    Shapes: input of any rank with the batch on axis 0, gamma and beta [size of `axis`]; result as the input.
    Types: one floating-point type; f16 and bf16 are computed in f32.
    Kind: opaque.
    Cost: eight operations an element.
    Source: ONNX InstanceNormalization, Relay `nn.instance_norm`.
    """

    name = "fuse.instance_norm"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 8

    axis = integer(1)
    """The axis of the channels."""
    epsilon = real(1e-5)
    """Added to the variance."""

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Statistics over all axes but the batch and `axis`."""
        x, gamma, beta = operands
        axis = normalize_axis(self.axis.value.data, x.ndim)
        others = tuple(i for i in range(1, x.ndim) if i != axis)
        return (self.scaled(self.standardized(x, others), gamma, beta).astype(x.dtype, copy=False),)

    def decompose(self, *operands: SSAValue) -> SSAValue:
        """Statistics over all axes but the batch and `axis`."""
        (x, gamma, beta), rank = operands, self.input.type.get_num_dims()
        axis = normalize_axis(self.axis.value.data, rank)
        return self.scale(self.standardize(widen(x), [i for i in range(1, rank) if i != axis]), gamma, beta)


@irdl_op_definition
class GroupNormOp(ChannelOp):
    """Each group of channels of each sample brought to mean 0 and variance 1, then scaled and shifted by channel.

    Shapes: input of any rank with the batch on axis 0, gamma and beta [size of `axis`], which `num_groups` divides;
        result as the input.
    Types: one floating-point type; f16 and bf16 are computed in f32.
    Kind: opaque.
    Cost: eight operations an element.
    Source: ONNX GroupNormalization (opset 21), Relay `nn.group_norm`.
    """

    name = "fuse.group_norm"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 8

    num_groups = integer()
    """Number of groups of channels."""
    axis = integer(1)
    """The axis of the channels."""
    epsilon = real(1e-5)
    """Added to the variance."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        types = super().infer_types()
        shape = tuple(self.input.type.get_shape())
        groups = require_positive(self.num_groups.value.data, "num_groups")
        quotient(shape[normalize_axis(self.axis.value.data, len(shape))], groups, "channels")
        return types

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Statistics over the channels of a group and all axes but the batch and `axis`."""
        x, gamma, beta = operands
        axis = normalize_axis(self.axis.value.data, x.ndim)
        groups = self.num_groups.value.data
        grouped = x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
        others = tuple(i for i in range(1, grouped.ndim) if i != axis)
        y = self.standardized(grouped, others).reshape(x.shape)
        return (self.scaled(y, gamma, beta).astype(x.dtype, copy=False),)

    def decompose(self, *operands: SSAValue) -> SSAValue | None:
        """A reshape to groups, statistics over the members of a group, and a reshape back."""
        (x, gamma, beta), shape = operands, list(self.input.type.get_shape())
        if not remainder_says(shape):
            return None
        axis, groups = normalize_axis(self.axis.value.data, len(shape)), self.num_groups.value.data
        split = [groups, quotient(shape[axis], groups, "channels")]
        wide = widen(x)
        type = with_shape(tensor_type(wide), [*shape[:axis], *split, *shape[axis + 1 :]])
        grouped = ReshapeOp(wide, result_types=[type]).result
        standard = self.standardize(grouped, [i for i in range(1, len(shape) + 1) if i != axis])
        joined = ReshapeOp(standard, result_types=[with_shape(type, shape)]).result
        return self.scale(joined, gamma, beta)


@irdl_op_definition
class OneHotOp(FuseOp):
    """For each index a line of `depth` elements: `on_value` at the index, `off_value` elsewhere.

    Shapes: indices of any rank, the values of rank 0; result with a new axis of size `depth` at `axis`.
    Types: integer indices; the values and the result of any type. Indices in [-depth, -1] count from the end; others
        outside [0, depth) give a line of `off_value`.
    Kind: out_ewise_fusable.
    Cost: one comparison an element of the result.
    Source: ONNX OneHot, Relay `one_hot`.
    """

    name = "fuse.one_hot"
    traits = traits_def(OpPatternKind(PatternKind.OUT_EWISE_FUSABLE))

    indices = tensor_operand()
    on_value = tensor_operand()
    off_value = tensor_operand()
    result = tensor_result()

    depth = integer()
    """Size of the new axis."""
    axis = integer(-1)
    """Where the new axis stands in the result."""

    def infer_types(self) -> Sequence[Attribute]:
        """The shape of the indices with a new axis."""
        require_integers(self.indices.type, "indices")
        require_same_element((self.on_value.type, self.off_value.type))
        require_rank(self.on_value.type, 0, "on_value")
        require_rank(self.off_value.type, 0, "off_value")
        shape = tuple(self.indices.type.get_shape())
        axis = normalize_axis(self.axis.value.data, len(shape) + 1)
        depth = require_positive(self.depth.value.data, "depth")
        return (with_shape(self.on_value.type, (*shape[:axis], depth, *shape[axis:])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Indices compared with 0, 1, ... along the new axis."""
        indices, on, off = operands
        depth, rank = self.depth.value.data, indices.ndim + 1
        axis = normalize_axis(self.axis.value.data, rank)
        wanted = np.expand_dims(indices.astype(np.int64), axis)
        places = np.arange(depth).reshape([-1 if i == axis else 1 for i in range(rank)])
        return (np.where(np.where(wanted < 0, wanted + depth, wanted) == places, on, off),)

    def loops(self, nest: Nest) -> SSAValue:
        """The index compared with the place on the new axis."""
        axis = normalize_axis(self.axis.value.data, len(nest.at))
        index = nest.read(0, (*nest.at[:axis], *nest.at[axis + 1 :]))
        wanted = scalars.convert(index, i64, unsigned_source=is_unsigned(self.indices.type), unsigned_target=False)
        counted = scalars.add(wanted, scalars.constant(self.depth.value.data, i64))
        place = scalars.select(scalars.is_negative(wanted), counted, wanted)
        hit = scalars.compare("equal", place, nest.position(nest.at[axis]))
        return scalars.select(hit, nest.read(1, ()), nest.read(2, ()))
