"""Unary elementwise ops: kind `elemwise`, one result element from the operand element of the same index.

Here are arithmetic, rounding, exponentials and predicates; `trigonometry`, `activation` and `conversion` hold the
rest. f16 and bf16 are computed in f32 and rounded once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.shape_rules import require_booleans, require_float, require_numbers
from fuse_dialect.dialect.types import is_float, is_unsigned, with_element
from fuse_dialect.loops.special_functions import erf, of_reals, sign, widened
from fuse_dialect.pattern_kind import PatternKind


class UnaryOp(MapOp, ABC):
    """Result of the operand's type."""

    input = tensor_operand()
    result = tensor_result()

    def check_elements(self) -> None:
        """Reject element types that the op is not defined on; i1 unless overridden."""
        require_numbers(self.input.type)

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        self.check_elements()
        return (self.input.type,)

    @abstractmethod
    def compute(self, x: Array) -> Array:
        """The op's meaning on `x`, which holds f32 instead of f16 and bf16."""

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Compute and round to the operand's type; overflow and invalid arguments give inf and nan, silently."""
        (x,) = operands
        with np.errstate(all="ignore"):
            return (np.asarray(self.compute(widened(x))).astype(x.dtype, copy=False),)


_EXACT = (np.ceil, np.floor, np.rint, np.sqrt)
"""Functions that every processor computes to the last bit."""


class FloatUnaryOp(UnaryOp, ABC):
    """A function of real numbers: f16, bf16, f32 or f64."""

    def check_elements(self) -> None:
        """Reject integers."""
        require_float(self.input.type)


class FunctionOp(FloatUnaryOp, ABC):
    """A function that NumPy and the `math` dialect both have: within `loops.functions` of the exact one."""

    FUNCTION: ClassVar[np.ufunc]
    """The meaning."""
    MATH: ClassVar[type[FloatingPointLikeUnaryMathOperation]]
    """The scalar body."""

    def compute(self, x: Array) -> Array:
        """Apply `FUNCTION`."""
        return self.FUNCTION(x) if self.FUNCTION in _EXACT else of_reals(self.FUNCTION, x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Apply `MATH`."""
        return scalars.apply(self.MATH, elements[0])


class PredicateOp(FloatUnaryOp, ABC):
    """A question about a real number: result of i1."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape with i1 elements."""
        self.check_elements()
        return (with_element(self.input.type, i1),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Compute without rounding."""
        return (np.asarray(self.compute(widened(operands[0]))),)


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value of each element; the smallest signed integer stays as it is.

    Shapes: any, unchanged.
    Types: all but i1.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.abs`, ONNX Abs, Relay `abs`, StableHLO `abs`.
    """

    name = "fuse.abs"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def compute(self, x: Array) -> Array:
        """`numpy.abs`."""
        return np.abs(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`math.absf` or `math.absi`; nothing for unsigned integers."""
        (x,) = elements
        if is_float(self.input.type):
            return scalars.apply(math.AbsFOp, x)
        return x if is_unsigned(self.input.type) else scalars.apply(math.AbsIOp, x)


@irdl_op_definition
class NegativeOp(UnaryOp):
    """Each element with its sign changed; integers wrap around.

    Shapes: any, unchanged.
    Types: all but i1.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.negative`, ONNX Neg, Relay `negative`, StableHLO `negate`.
    """

    name = "fuse.negative"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def compute(self, x: Array) -> Array:
        """`numpy.negative`."""
        return np.negative(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.negf`, or zero minus the integer."""
        (x,) = elements
        if is_float(self.input.type):
            return scalars.apply(arith.NegfOp, x)
        return scalars.subtract(scalars.constant(0, x.type), x)


@irdl_op_definition
class SignOp(UnaryOp):
    """-1 or 1 by the sign of each element; zeros and nan stay as they are.

    Shapes: any, unchanged.
    Types: all but i1.
    Kind: elemwise.
    Cost: two operations an element.
    Source: StableHLO `sign`; `numpy.sign`, ONNX Sign and Relay `sign`, which make 0 of -0.
    """

    name = "fuse.sign"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    def compute(self, x: Array) -> Array:
        """`special_functions.sign`."""
        return sign(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """1 where greater than 0, -1 where less, else the element: a zero or nan."""
        (x,) = elements
        zero, one = scalars.constant(0, x.type), scalars.constant(1, x.type)
        unsigned = is_unsigned(self.input.type)
        positive = scalars.select(scalars.compare("greater", x, zero, unsigned=unsigned), one, x)
        if unsigned:
            return positive
        return scalars.select(scalars.is_negative(x), scalars.constant(-1, x.type), positive)


@irdl_op_definition
class CeilOp(FunctionOp):
    """The smallest integer not below each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.ceil`, ONNX Ceil, Relay `ceil`, StableHLO `ceil`.
    """

    name = "fuse.ceil"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.ceil
    MATH: ClassVar = math.CeilOp


@irdl_op_definition
class FloorOp(FunctionOp):
    """The greatest integer not above each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.floor`, ONNX Floor, Relay `floor`, StableHLO `floor`.
    """

    name = "fuse.floor"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.floor
    MATH: ClassVar = math.FloorOp


@irdl_op_definition
class RoundOp(FunctionOp):
    """The integer nearest to each element, the even one of two.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.rint`, ONNX Round, StableHLO `round_nearest_even`. Relay `round` takes halves away from zero.
    """

    name = "fuse.round"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.rint
    MATH: ClassVar = math.RoundEvenOp


@irdl_op_definition
class ExpOp(FunctionOp):
    """e to the power of each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.exp`, ONNX Exp, Relay `exp`, StableHLO `exponential`.
    """

    name = "fuse.exp"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.exp
    MATH: ClassVar = math.ExpOp


@irdl_op_definition
class LogOp(FunctionOp):
    """Natural logarithm of each element; nan below zero.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.log`, ONNX Log, Relay `log`, StableHLO `log`.
    """

    name = "fuse.log"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.log
    MATH: ClassVar = math.LogOp


@irdl_op_definition
class Log2Op(FunctionOp):
    """Logarithm to the base 2 of each element; nan below zero.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.log2`, Relay `log2`.
    """

    name = "fuse.log2"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.log2
    MATH: ClassVar = math.Log2Op


@irdl_op_definition
class SqrtOp(FunctionOp):
    """Square root of each element; nan below zero.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.sqrt`, ONNX Sqrt, Relay `sqrt`, StableHLO `sqrt`.
    """

    name = "fuse.sqrt"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.sqrt
    MATH: ClassVar = math.SqrtOp


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """One divided by the square root of each element; inf at zero, nan below.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: two operations an element.
    Source: Relay `rsqrt`, StableHLO `rsqrt`.
    """

    name = "fuse.rsqrt"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    def compute(self, x: Array) -> Array:
        """One over `numpy.sqrt`."""
        return 1 / np.sqrt(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`math.rsqrt`."""
        return scalars.apply(math.RsqrtOp, elements[0])


@irdl_op_definition
class ReciprocalOp(FloatUnaryOp):
    """One divided by each element; inf at zero.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.reciprocal`, ONNX Reciprocal.
    """

    name = "fuse.reciprocal"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def compute(self, x: Array) -> Array:
        """`numpy.reciprocal`."""
        return np.reciprocal(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """A division."""
        (x,) = elements
        return scalars.divide(scalars.constant(1, x.type), x)


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """The Gauss error function of each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: ONNX Erf, Relay `erf`, CHLO `erf`.
    """

    name = "fuse.erf"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def compute(self, x: Array) -> Array:
        """`special_functions.erf`."""
        return erf(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`math.erf`."""
        return scalars.apply(math.ErfOp, elements[0])


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """The other truth value.

    Shapes: any, unchanged.
    Types: i1.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.logical_not`, ONNX Not, Relay `logical_not`, StableHLO `not`.
    """

    name = "fuse.logical_not"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def check_elements(self) -> None:
        """Reject everything but i1."""
        require_booleans(self.input.type, "input")

    def compute(self, x: Array) -> Array:
        """`numpy.logical_not`."""
        return np.logical_not(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Exclusive or with true."""
        return scalars.apply(arith.XOrIOp, elements[0], scalars.constant(1, i1))


@irdl_op_definition
class IsnanOp(PredicateOp):
    """Whether each element is nan.

    Shapes: any, unchanged.
    Types: floating point to i1.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.isnan`, ONNX IsNaN, Relay `isnan`.
    """

    name = "fuse.isnan"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))

    def compute(self, x: Array) -> Array:
        """`numpy.isnan`."""
        return np.isnan(x)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Only nan differs from itself."""
        return scalars.compare("not_equal", elements[0], elements[0])


@irdl_op_definition
class IsinfOp(PredicateOp):
    """Whether each element is an infinity that is asked for.

    Shapes: any, unchanged.
    Types: floating point to i1.
    Kind: elemwise.
    Cost: two operations an element.
    Source: `numpy.isinf`, ONNX IsInf (whose flags these are), Relay `isinf` (which has none).
    """

    name = "fuse.isinf"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    detect_negative = flag(True)
    """Whether -inf counts."""
    detect_positive = flag(True)
    """Whether inf counts."""

    def compute(self, x: Array) -> Array:
        """Compare with both infinities."""
        negative = (x == -np.inf) & bool(self.detect_negative.value.data)
        positive = (x == np.inf) & bool(self.detect_positive.value.data)
        return negative | positive

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Compare with both infinities."""
        (x,) = elements
        found = scalars.constant(0, i1)
        for asked, infinity in ((self.detect_negative, -np.inf), (self.detect_positive, np.inf)):
            if asked.value.data:
                found = scalars.apply(
                    arith.OrIOp, found, scalars.compare("equal", x, scalars.constant(infinity, x.type))
                )
        return found
