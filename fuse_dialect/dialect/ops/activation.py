"""Activation functions of neural networks: kind `elemwise`."""

import math as numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import Real, optional_real, real, string
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.elementwise import FloatUnaryOp, UnaryOp
from fuse_dialect.dialect.shape_rules import one_of
from fuse_dialect.dialect.types import element_dtype, is_float, is_unsigned
from fuse_dialect.loops.special_functions import erf, maximum, minimum, of_reals
from fuse_dialect.pattern_kind import PatternKind


class FormulaOp(FloatUnaryOp, ABC):
    """A function made of several operations."""

    @abstractmethod
    def formula(self, x: SSAValue) -> SSAValue:
        """The function as scalar code; `x` is an f32 instead of an f16 or bf16."""

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The formula, rounded once."""
        (x,) = elements
        return scalars.rounded(self.formula(scalars.widened(x)), x)


def _sigmoid(x: Array) -> Array:
    """The logistic function; a large negative `x` overflows to inf on the way to the right result, 0."""
    return 1 / (1 + of_reals(np.exp, -x))


@irdl_op_definition
class ReluOp(UnaryOp):
    """Each element, or zero where it is negative; nan stays nan.

    Shapes: any, unchanged.
    Types: all but i1.
    Kind: elemwise.
    Cost: one operation an element.
    Source: ONNX Relu, Relay `nn.relu`.
    """

    name = "fuse.relu"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def compute(self, x: Array) -> Array:
        """Maximum with zero."""
        return maximum(x, np.zeros((), x.dtype))

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Maximum with zero."""
        (x,) = elements
        return scalars.maximum(x, scalars.constant(0, x.type), unsigned=is_unsigned(self.input.type))


@irdl_op_definition
class ClipOp(UnaryOp):
    """Each element moved into the range from `min` to `max`; nan stays nan, and `max` wins over a greater `min`.

    Integers take the bounds rounded into the range, and never leave the range of their type.

    Shapes: any, unchanged.
    Types: all but i1.
    Kind: elemwise.
    Cost: two operations an element.
    Source: `numpy.clip`, ONNX Clip, Relay `clip`, StableHLO `clamp`.
    """

    name = "fuse.clip"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    min = optional_real()
    """Lower bound; none when left out."""
    max = optional_real()
    """Upper bound; none when left out."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        for bound in (self.min, self.max):
            if bound is not None and numbers.isnan(bound.value.data):
                raise VerifyException("expects bounds that are numbers, got nan")
        return super().infer_types()

    def _bound(self, bound: Real | None, towards: Callable[[float], int]) -> float | int | None:
        """A bound as a number of the operand's type; `towards` rounds it for integers."""
        if bound is None or is_float(self.input.type):
            return None if bound is None else bound.value.data
        limits = np.iinfo(element_dtype(self.input.type.element_type).name)
        value = bound.value.data
        if value <= limits.min:
            return limits.min
        return limits.max if value >= limits.max else towards(value)

    def compute(self, x: Array) -> Array:
        """Minimum of maximum."""
        low, high = self._bound(self.min, numbers.ceil), self._bound(self.max, numbers.floor)
        if low is not None:
            x = maximum(x, np.asarray(low).astype(x.dtype))
        return x if high is None else minimum(x, np.asarray(high).astype(x.dtype))

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Minimum of maximum."""
        (x,) = elements
        unsigned = is_unsigned(self.input.type)
        low, high = self._bound(self.min, numbers.ceil), self._bound(self.max, numbers.floor)
        if low is not None:
            x = scalars.maximum(x, scalars.constant(low, x.type), unsigned=unsigned)
        return x if high is None else scalars.minimum(x, scalars.constant(high, x.type), unsigned=unsigned)


@irdl_op_definition
class SigmoidOp(FormulaOp):
    """The logistic function `1 / (1 + exp(-x))`.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: four operations an element.
    Source: ONNX Sigmoid, Relay `sigmoid`, StableHLO `logistic`.
    """

    name = "fuse.sigmoid"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 4

    def compute(self, x: Array) -> Array:
        """The definition."""
        return _sigmoid(x)

    def formula(self, x: SSAValue) -> SSAValue:
        """The definition."""
        return scalars.sigmoid(x)


@irdl_op_definition
class SoftplusOp(FormulaOp):
    """`log(1 + exp(x))`, computed as `max(x, 0) + log1p(exp(-|x|))`, which does not overflow.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: six operations an element.
    Source: ONNX Softplus; made of Relay's elementwise operators.
    """

    name = "fuse.softplus"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 6

    def compute(self, x: Array) -> Array:
        """The form that does not overflow."""
        return np.maximum(x, 0) + of_reals(np.log1p, of_reals(np.exp, -np.abs(x)))

    def formula(self, x: SSAValue) -> SSAValue:
        """The form that does not overflow."""
        zero = scalars.constant(0, x.type)
        decay = scalars.apply(math.ExpOp, scalars.subtract(zero, scalars.apply(math.AbsFOp, x)))
        return scalars.add(scalars.maximum(x, zero), scalars.apply(math.Log1pOp, decay))


@irdl_op_definition
class SiluOp(FormulaOp):
    """Each element times its logistic function, also known as swish.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: five operations an element.
    Source: ONNX Swish with alpha 1; made of Relay's `sigmoid` and `multiply`.
    """

    name = "fuse.silu"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 5

    def compute(self, x: Array) -> Array:
        """The definition."""
        return x * _sigmoid(x)

    def formula(self, x: SSAValue) -> SSAValue:
        """The definition."""
        return scalars.multiply(x, scalars.sigmoid(x))


@irdl_op_definition
class GeluOp(FormulaOp):
    """Each element times the probability that a normal variable is smaller.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: five operations an element, nine with `approximate = "tanh"`.
    Source: ONNX Gelu, PyTorch `nn.functional.gelu`; D. Hendrycks, K. Gimpel, https://arxiv.org/abs/1606.08415.
    """

    name = "fuse.gelu"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    approximate = string("none")
    """`none` for the error function, `tanh` for the approximation by a hyperbolic tangent."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        one_of(self.approximate, ("none", "tanh"), "approximate")
        return super().infer_types()

    def flops(self) -> int | None:
        """The element count times the operations of the chosen form."""
        count = super().flops()
        return None if count is None else count * (9 if self.approximate.data == "tanh" else 5)

    def compute(self, x: Array) -> Array:
        """The form that `approximate` chooses."""
        if self.approximate.data == "tanh":
            return 0.5 * x * (1 + of_reals(np.tanh, numbers.sqrt(2 / numbers.pi) * (x + 0.044715 * x * x * x)))
        return 0.5 * x * (1 + erf(x * numbers.sqrt(0.5)))

    def formula(self, x: SSAValue) -> SSAValue:
        """The form that `approximate` chooses."""
        if self.approximate.data == "tanh":
            cube = scalars.multiply(scalars.multiply(x, x), x)
            inner = scalars.add(x, scalars.multiply(scalars.constant(0.044715, x.type), cube))
            scaled = scalars.multiply(scalars.constant(numbers.sqrt(2 / numbers.pi), x.type), inner)
            bell = scalars.apply(math.TanhOp, scaled)
        else:
            scaled = scalars.multiply(x, scalars.constant(numbers.sqrt(0.5), x.type))
            bell = scalars.apply(math.ErfOp, scaled)
        half = scalars.multiply(scalars.constant(0.5, x.type), x)
        return scalars.multiply(half, scalars.add(scalars.constant(1, x.type), bell))


class NegativeSlopeOp(FormulaOp, ABC):
    """The element where it is not negative, and something else where it is."""

    @abstractmethod
    def below_zero(self, x: Array) -> Array:
        """The result where `x` is negative."""

    @abstractmethod
    def scalar_below_zero(self, x: SSAValue) -> SSAValue:
        """The result where `x` is negative, as scalar code."""

    def compute(self, x: Array) -> Array:
        """Choose by the sign."""
        return np.where(x < 0, self.below_zero(x), x)

    def formula(self, x: SSAValue) -> SSAValue:
        """Choose by the sign."""
        return scalars.select(scalars.is_negative(x), self.scalar_below_zero(x), x)


@irdl_op_definition
class LeakyReluOp(NegativeSlopeOp):
    """Each element, `alpha` times it where it is negative.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: two operations an element.
    Source: ONNX LeakyRelu, Relay `nn.leaky_relu`.
    """

    name = "fuse.leaky_relu"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    alpha = real(0.01)
    """Slope below zero."""

    def below_zero(self, x: Array) -> Array:
        """`alpha * x`."""
        return self.alpha.value.data * x

    def scalar_below_zero(self, x: SSAValue) -> SSAValue:
        """`alpha * x`."""
        return scalars.multiply(scalars.constant(self.alpha.value.data, x.type), x)


@irdl_op_definition
class EluOp(NegativeSlopeOp):
    """Each element, `alpha * (exp(x) - 1)` where it is negative.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: four operations an element.
    Source: ONNX Elu; made of Relay's elementwise operators.
    """

    name = "fuse.elu"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 4

    alpha = real(1.0)
    """Minus the limit at minus infinity."""

    def below_zero(self, x: Array) -> Array:
        """`alpha * expm1(x)`."""
        return self.alpha.value.data * of_reals(np.expm1, x)

    def scalar_below_zero(self, x: SSAValue) -> SSAValue:
        """`alpha * expm1(x)`."""
        return scalars.multiply(scalars.constant(self.alpha.value.data, x.type), scalars.apply(math.ExpM1Op, x))


@irdl_op_definition
class HardSigmoidOp(FormulaOp):
    """`alpha * x + beta`, clipped to the range from 0 to 1.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: four operations an element.
    Source: ONNX HardSigmoid (whose default `alpha` is 0.2), PyTorch `nn.functional.hardsigmoid`.
    """

    name = "fuse.hard_sigmoid"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 4

    alpha = real(1 / 6)
    """Slope."""
    beta = real(0.5)
    """Value at zero."""

    def compute(self, x: Array) -> Array:
        """The definition."""
        return np.minimum(np.maximum(self.alpha.value.data * x + self.beta.value.data, 0), 1)

    def formula(self, x: SSAValue) -> SSAValue:
        """The definition."""
        return _clipped_line(x, self.alpha.value.data, self.beta.value.data)


@irdl_op_definition
class HardSwishOp(FormulaOp):
    """Each element times `x / 6 + 1 / 2` clipped to the range from 0 to 1.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: five operations an element.
    Source: ONNX HardSwish, PyTorch `nn.functional.hardswish`; A. Howard et al., https://arxiv.org/abs/1905.02244.
    """

    name = "fuse.hard_swish"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 5

    def compute(self, x: Array) -> Array:
        """The definition."""
        return x * np.minimum(np.maximum(x * (1 / 6) + 0.5, 0), 1)

    def formula(self, x: SSAValue) -> SSAValue:
        """The definition."""
        return scalars.multiply(x, _clipped_line(x, 1 / 6, 0.5))


def _clipped_line(x: SSAValue, slope: float, offset: float) -> SSAValue:
    """`slope * x + offset` between 0 and 1."""
    zero, one = scalars.constant(0, x.type), scalars.constant(1, x.type)
    scaled = scalars.multiply(scalars.constant(slope, x.type), x)
    line = scalars.add(scaled, scalars.constant(offset, x.type))
    return scalars.minimum(scalars.maximum(line, zero), one)
