"""Arithmetic on operands that broadcast, and ops that align a vector with one axis: kind `broadcast`.

Operands have one element type and broadcast as in NumPy. Integers wrap around.
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, integer, tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.shape_rules import require_booleans, require_numbers, unify
from fuse_dialect.dialect.types import (
    Tensor,
    broadcast_shapes,
    is_float,
    is_unsigned,
    normalize_axis,
    require_rank,
    require_same_element,
    with_shape,
)
from fuse_dialect.loops.special_functions import (
    as_integers,
    integer_power,
    maximum,
    minimum,
    power,
    truncated_quotient,
    widened,
)
from fuse_dialect.pattern_kind import PatternKind


class BinaryOp(MapOp, ABC):
    """An op on two operands of one element type that broadcast."""

    FUNCTION: ClassVar[np.ufunc]
    """The meaning, for ops that do not override `evaluate`."""

    lhs = tensor_operand()
    rhs = tensor_operand()
    result = tensor_result()

    def check_elements(self) -> None:
        """Reject element types that the op is not defined on; i1 unless overridden."""
        require_numbers(self.lhs.type)

    def infer_types(self) -> Sequence[Attribute]:
        """The element type of the operands in the shape that they broadcast to."""
        require_same_element((self.lhs.type, self.rhs.type))
        self.check_elements()
        return (with_shape(self.lhs.type, broadcast_shapes(self.lhs.type.get_shape(), self.rhs.type.get_shape())),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Apply `FUNCTION`; overflow and division by zero are silent."""
        with np.errstate(all="ignore"):
            return (np.asarray(self.FUNCTION(*operands)),)


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum of two tensors.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.add`, ONNX Add, Relay `add`, StableHLO `add`.
    """

    name = "fuse.add"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.add

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.addf` or `arith.addi`."""
        return scalars.add(*elements)


@irdl_op_definition
class SubtractOp(BinaryOp):
    """Difference of two tensors.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.subtract`, ONNX Sub, Relay `subtract`, StableHLO `subtract`.
    """

    name = "fuse.subtract"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.subtract

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.subf` or `arith.subi`."""
        return scalars.subtract(*elements)


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """Product of two tensors, element by element.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.multiply`, ONNX Mul, Relay `multiply`, StableHLO `multiply`.
    """

    name = "fuse.multiply"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.multiply

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.mulf` or `arith.muli`."""
        return scalars.multiply(*elements)


@irdl_op_definition
class DivideOp(BinaryOp):
    """Quotient of two tensors; integers truncate toward zero, and an integer divided by zero is 0.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.true_divide` (floats), ONNX Div, Relay `divide`, StableHLO `divide`.
    """

    name = "fuse.divide"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.divide`, or the quotient of integers as in C."""
        divide = np.divide if is_float(self.lhs.type) else truncated_quotient
        with np.errstate(all="ignore"):
            return (np.asarray(divide(*operands)),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.divf`, `arith.divsi` or `arith.divui`."""
        return scalars.divide(*elements, unsigned=is_unsigned(self.lhs.type))


@irdl_op_definition
class FloorDivideOp(BinaryOp):
    """Floor of the quotient of two tensors; an integer divided by zero is 0.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: two operations an element.
    Source: Relay `floor_divide`. `numpy.floor_divide` differs for floats whose quotient rounds up to an integer.
    """

    name = "fuse.floor_divide"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.floor` of `numpy.divide`, or `numpy.floor_divide` of integers."""
        with np.errstate(all="ignore"):
            if is_float(self.lhs.type):
                return (np.asarray(np.floor(np.divide(*operands))),)
            return (np.asarray(np.floor_divide(*operands)),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`math.floor` of `arith.divf`, `arith.floordivsi` or `arith.divui`."""
        lhs, rhs = elements
        if is_float(self.lhs.type):
            return scalars.apply(math.FloorOp, scalars.divide(lhs, rhs))
        if is_unsigned(self.lhs.type):
            return scalars.divide(lhs, rhs, unsigned=True)
        return scalars.apply(arith.FloorDivSIOp, lhs, rhs)


@irdl_op_definition
class ModOp(BinaryOp):
    """Remainder of the division of two tensors; of an integer by zero it is 0.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: five operations an element.
    Source: `numpy.mod` and, with `fmod = true`, `numpy.fmod`; ONNX Mod; Relay `floor_mod` and `mod`.
    """

    name = "fuse.mod"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 5

    fmod = flag()
    """Whether the remainder has the sign of the dividend, as in C, rather than that of the divisor."""

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.fmod` or `numpy.mod`."""
        remainder = np.fmod if self.fmod.value.data else np.mod
        lhs, rhs = operands
        with np.errstate(all="ignore"):
            return (np.asarray(remainder(widened(lhs), widened(rhs))).astype(lhs.dtype, copy=False),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """A remainder with the sign of the dividend, moved by one divisor where the signs differ."""
        lhs, rhs = elements
        if is_unsigned(self.lhs.type):
            return scalars.apply(arith.RemUIOp, lhs, rhs)
        wide_lhs, wide_rhs = scalars.widened(lhs), scalars.widened(rhs)
        is_real = is_float(self.lhs.type)
        remainder = (
            scalars.apply(scalars.RemFOp, wide_lhs, wide_rhs) if is_real else scalars.apply(arith.RemSIOp, lhs, rhs)
        )
        if not self.fmod.value.data:
            remainder = _moved_to_sign(remainder, wide_rhs)
        return scalars.rounded(remainder, lhs)


def _moved_to_sign(remainder: SSAValue, divisor: SSAValue) -> SSAValue:
    """`remainder`, plus the divisor where it is not zero and of the other sign; a zero takes the divisor's sign."""
    differs = scalars.apply(arith.XOrIOp, scalars.is_negative(remainder), scalars.is_negative(divisor))
    moved = scalars.select(differs, scalars.add(remainder, divisor), remainder)
    zero = scalars.constant(0, remainder.type)
    is_nonzero = scalars.compare("not_equal", remainder, zero)
    nothing = scalars.apply(math.CopySignOp, zero, divisor) if isinstance(divisor.type, AnyFloat) else zero
    return scalars.select(is_nonzero, moved, nothing)


@irdl_op_definition
class PowerOp(BinaryOp):
    """`lhs` to the power of `rhs`, in the element type of `lhs`; negative powers of integers truncate toward zero.

    Shapes: broadcast.
    Types: all but i1; the two may differ.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `pow` of C, `numpy.power`, ONNX Pow, Relay `power`, StableHLO `power`.
    """

    name = "fuse.power"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    def infer_types(self) -> Sequence[Attribute]:
        """The element type of `lhs` in the shape that the operands broadcast to."""
        require_numbers(self.lhs.type)
        require_numbers(self.rhs.type)
        return (with_shape(self.lhs.type, broadcast_shapes(self.lhs.type.get_shape(), self.rhs.type.get_shape())),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`pow` of C in f32, or in f64 where an operand is f64 or the base an integer; integers wrap around."""
        base, exponent = operands
        with np.errstate(all="ignore"):
            if not is_float(self.lhs.type) and not is_float(self.rhs.type):
                return (integer_power(base, exponent),)
            common = np.dtype(np.float64 if self._common() == f64 else np.float32)
            result = power(base.astype(common), exponent.astype(common))
            if not is_float(self.lhs.type):
                return (as_integers(result, base.dtype),)
            if not is_float(self.rhs.type):
                # A large odd exponent may have become an even float.
                result = np.where((exponent & 1).astype(bool), np.copysign(result, base.astype(common)), result)
            return (np.asarray(result).astype(base.dtype, copy=False),)

    def _common(self) -> Attribute:
        """The type in which a power of floats is computed."""
        is_wide = f64 in (self.lhs.type.element_type, self.rhs.type.element_type) or not is_float(self.lhs.type)
        return f64 if is_wide else f32

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`math.powf` or `math.ipowi` between conversions."""
        base, exponent = elements
        unsigned_base, unsigned_exponent = is_unsigned(self.lhs.type), is_unsigned(self.rhs.type)
        if not is_float(self.lhs.type) and not is_float(self.rhs.type):
            return scalars.integer_power(
                base, exponent, unsigned_base=unsigned_base, unsigned_exponent=unsigned_exponent
            )
        own, common = base.type, self._common()
        base = scalars.convert(base, common, unsigned_source=unsigned_base, unsigned_target=False)
        wide = scalars.convert(exponent, common, unsigned_source=unsigned_exponent, unsigned_target=False)
        power = scalars.power(base, wide)
        if not is_float(self.rhs.type):
            power = scalars.select(scalars.is_odd(exponent), scalars.apply(math.CopySignOp, power, base), power)
        return scalars.convert(power, own, unsigned_source=False, unsigned_target=unsigned_base)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater of two elements; nan when one is nan, and 0 is greater than -0.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.maximum`, ONNX Max of two, Relay `maximum`, StableHLO `maximum`.
    """

    name = "fuse.maximum"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`special_functions.maximum`."""
        with np.errstate(all="ignore"):
            return (maximum(*operands),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.maximumf`, `arith.maxsi` or `arith.maxui`."""
        return scalars.maximum(*elements, unsigned=is_unsigned(self.lhs.type))


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller of two elements; nan when one is nan, and -0 is smaller than 0.

    Shapes: broadcast.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.minimum`, ONNX Min of two, Relay `minimum`, StableHLO `minimum`.
    """

    name = "fuse.minimum"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`special_functions.minimum`."""
        with np.errstate(all="ignore"):
            return (minimum(*operands),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.minimumf`, `arith.minsi` or `arith.minui`."""
        return scalars.minimum(*elements, unsigned=is_unsigned(self.lhs.type))


@irdl_op_definition
class WhereOp(MapOp):
    """The element of `lhs` where the condition holds, that of `rhs` elsewhere.

    Shapes: broadcast, all three.
    Types: i1 for the condition, any for the others.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.where`, ONNX Where, Relay `where`, StableHLO `select`.
    """

    name = "fuse.where"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    condition = tensor_operand()
    lhs = tensor_operand()
    rhs = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The element type of the alternatives in the shape that the operands broadcast to."""
        require_booleans(self.condition.type, "condition")
        require_same_element((self.lhs.type, self.rhs.type))
        alternatives = broadcast_shapes(self.lhs.type.get_shape(), self.rhs.type.get_shape())
        return (with_shape(self.lhs.type, broadcast_shapes(self.condition.type.get_shape(), alternatives)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.where`."""
        condition, lhs, rhs = operands
        return (np.where(condition, lhs, rhs),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.select`."""
        condition, lhs, rhs = elements
        return scalars.select(condition, lhs, rhs)


@irdl_op_definition
class BiasAddOp(MapOp):
    """The sum of a tensor and a vector that has one number for each position along an axis.

    Shapes: `bias` has rank 1 and the size of `input` along `axis`; the shape of `input` is kept.
    Types: all but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: Relay `nn.bias_add`.
    """

    name = "fuse.bias_add"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    input = tensor_operand()
    bias = tensor_operand()
    result = tensor_result()

    axis = integer(1)
    """The axis of `input` that `bias` runs along."""

    def infer_types(self) -> Sequence[Attribute]:
        """The type of `input`."""
        return (_channel_type(self.input.type, self.bias.type, self.axis.value.data, "bias"),)

    def operand_axes(self, index: int) -> tuple[int, ...]:
        """`bias` runs along `axis`."""
        return (self._channel_axis(),) if index == 1 else super().operand_axes(index)

    def _channel_axis(self) -> int:
        return normalize_axis(self.axis.value.data, self.input.type.get_num_dims())

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.add` along the axis."""
        x, bias = operands
        with np.errstate(all="ignore"):
            return (np.add(x, _along(self._channel_axis(), bias, x.ndim)),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.addf` or `arith.addi`."""
        return scalars.add(*elements)


@irdl_op_definition
class PreluOp(MapOp):
    """Each element, times the number that `alpha` has for its position along an axis where it is negative.

    Shapes: `alpha` has rank 1 and the size of `input` along `axis`; the shape of `input` is kept.
    Types: all but i1.
    Kind: broadcast.
    Cost: two operations an element.
    Source: ONNX PRelu with a slope per channel, Relay `nn.prelu`.
    """

    name = "fuse.prelu"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 2

    input = tensor_operand()
    alpha = tensor_operand()
    result = tensor_result()

    axis = integer(1)
    """The axis of `input` that `alpha` runs along."""

    def infer_types(self) -> Sequence[Attribute]:
        """The type of `input`."""
        return (_channel_type(self.input.type, self.alpha.type, self.axis.value.data, "alpha"),)

    def operand_axes(self, index: int) -> tuple[int, ...]:
        """`alpha` runs along `axis`."""
        return (self._channel_axis(),) if index == 1 else super().operand_axes(index)

    def _channel_axis(self) -> int:
        return normalize_axis(self.axis.value.data, self.input.type.get_num_dims())

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.where` the element is negative."""
        x, alpha = operands
        with np.errstate(all="ignore"):
            return (np.where(x < 0, x * _along(self._channel_axis(), alpha, x.ndim), x),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Choose by the sign."""
        x, alpha = elements
        if is_unsigned(self.input.type):
            return x
        return scalars.select(scalars.is_negative(x), scalars.multiply(x, alpha), x)


def _channel_type(input: Tensor, vector: Tensor, axis: int, name: str) -> Tensor:
    """The type of `input`, once the vector is known to fit it.

    Raises:
        VerifyException: The vector has another element type, another rank than 1, or another size than the axis.
    """
    require_numbers(input)
    require_same_element((input, vector))
    (size,) = require_rank(vector, 1, name)
    unify(input.get_shape()[normalize_axis(axis, input.get_num_dims())], size, f"axis {axis} and '{name}'")
    return input


def _along(axis: int, vector: Array, rank: int) -> Array:
    """The vector as a tensor of `rank` axes that broadcasts along all but `axis`."""
    return vector.reshape([-1 if position == axis else 1 for position in range(rank)])
