"""What takes integers of one quantization to those of another, in one op each, as hardware of 8 bits does.

An integer `q` stands for `(q - zero) * scale`. Both ops compute in f32 as the formulas of ONNX do, operation by
operation, so that they give the same bits.
"""

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import IntegerType, StringAttr, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import Integer, integer, optional_integer, real, string, tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.shape_rules import one_of, unify
from fuse_dialect.dialect.types import (
    Tensor,
    element_dtype,
    integer_type,
    is_unsigned,
    normalize_axis,
    require_rank,
    with_element,
)
from fuse_dialect.loops.special_functions import as_integers, maximum, minimum
from fuse_dialect.pattern_kind import PatternKind


class QuantizingOp(MapOp, ABC):
    """An op that gives integers of 8 bits."""

    if TYPE_CHECKING:  # xDSL reads a bare annotation as a definition; each op defines its own, with its defaults
        zero: Integer
        low: Integer | None
        high: Integer | None
        out_dtype: StringAttr

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 5

    def result_element(self) -> IntegerType:
        """The element type that `out_dtype` says.

        Raises:
            VerifyException: It is another one, or the bounds or the zero point are out of its range.
        """
        element = integer_type(8, unsigned=one_of(self.out_dtype, ("i8", "ui8"), "out_dtype") == "ui8")
        low, high = self.bounds()
        if not low <= high:
            raise VerifyException(f"expects low <= high, got {low} and {high}")
        zero = self.zero.value.data
        least, most = self.range()
        if not least <= zero <= most:
            raise VerifyException(f"expects a zero point from {least} to {most}, got {zero}")
        return element

    def range(self) -> tuple[int, int]:
        """The integers that the result's type has."""
        return (0, 255) if self.out_dtype.data == "ui8" else (-128, 127)

    def bounds(self) -> tuple[int, int]:
        """Where the result is clipped: what is given, within the range of its type."""
        least, most = self.range()
        low = least if self.low is None else max(least, self.low.value.data)
        high = most if self.high is None else min(most, self.high.value.data)
        return low, high

    def rounded(self, x: Array) -> Array:
        """The integers nearest to multiples of the result's scale."""
        low, high = (np.array(bound, np.float32) for bound in self.bounds())
        x = np.rint(x) + np.float32(self.zero.value.data)
        return as_integers(minimum(maximum(x, low), high), element_dtype(self.result_element()))

    def rounded_scalar(self, x: SSAValue) -> SSAValue:
        """The same of one element."""
        low, high = self.bounds()
        x = scalars.add(scalars.apply(math.RoundEvenOp, x), scalars.constant(self.zero.value.data, f32))
        x = scalars.minimum(scalars.maximum(x, scalars.constant(low, f32)), scalars.constant(high, f32))
        unsigned = self.out_dtype.data == "ui8"
        return scalars.convert(x, IntegerType(8), unsigned_source=False, unsigned_target=unsigned)


def _require_integers(type: Tensor) -> None:
    match type.element_type:
        case IntegerType() as element if element.width.data in (8, 32):
            pass
        case element:
            raise VerifyException(f"expects elements of i8, ui8 or i32, got {element}")


def _centered(x: Array, zero: int) -> Array:
    """`x - zero` in i32, as f32."""
    with np.errstate(all="ignore"):
        return (x.astype(np.int32) - np.int32(zero)).astype(np.float32)


def _centered_scalar(x: SSAValue, type: Tensor, zero: int) -> SSAValue:
    wide = scalars.convert(x, i32, unsigned_source=is_unsigned(type), unsigned_target=False)
    if zero:
        wide = scalars.subtract(wide, scalars.constant(zero, i32))
    return scalars.convert(wide, f32, unsigned_source=False, unsigned_target=False)


@irdl_op_definition
class RequantizeOp(QuantizingOp):
    """Integers of one quantization as those of another: `clip(round((x - input_zero) * scale) + zero, low, high)`.

    The difference is formed in 32 bits, which wrap around, everything after it in f32; halves are rounded to the even
    integer, nan becomes 0. A relu is a `low` of the zero point.

    Shapes: `scale` has rank 0, or rank 1 and the size of `input` along `axis`; the shape of `input` is kept.
    Types: i8, ui8 or i32 for `input`, f32 for `scale`; the result is `out_dtype`.
    Kind: broadcast.
    Cost: five operations an element.
    Source: ONNX DequantizeLinear and QuantizeLinear; Jacob et al., arXiv:1712.05877, section 2.2; TOSA `rescale`.
    """

    name = "fuse.requantize"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))

    input = tensor_operand()
    scale = tensor_operand()
    result = tensor_result()

    axis = integer(1)
    """The axis of `input` that `scale` runs along, if it has rank 1."""
    input_zero = integer(0)
    """What stands for 0 in `input`."""
    zero = integer(0)
    """What stands for 0 in the result."""
    low = optional_integer()
    """Least integer of the result; that of its type when left out."""
    high = optional_integer()
    """Greatest integer of the result; that of its type when left out."""
    out_dtype = string("i8")
    """Element type of the result, i8 or ui8."""

    def infer_types(self) -> Sequence[Attribute]:
        """The shape of `input` with elements of `out_dtype`."""
        _require_integers(self.input.type)
        if self.scale.type.element_type != f32:
            raise VerifyException(f"expects a scale of f32, got {self.scale.type.element_type}")
        if self.scale.type.get_num_dims():
            (size,) = require_rank(self.scale.type, 1, "scale")
            unify(self.input.type.get_shape()[self._channel_axis()], size, f"axis {self.axis.value.data} and 'scale'")
        zero = self.input_zero.value.data
        if not -(1 << 31) <= zero < 1 << 31:
            raise VerifyException(f"expects an input zero point of 32 bits, got {zero}")
        return (with_element(self.input.type, self.result_element()),)

    def _channel_axis(self) -> int:
        return normalize_axis(self.axis.value.data, self.input.type.get_num_dims())

    def operand_axes(self, index: int) -> tuple[int, ...]:
        """A `scale` of rank 1 runs along `axis`."""
        is_vector = index == 1 and self.scale.type.get_num_dims() == 1
        return (self._channel_axis(),) if is_vector else super().operand_axes(index)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The formula, operation by operation."""
        x, scale = operands
        if scale.ndim:
            scale = scale.reshape([-1 if axis == self._channel_axis() else 1 for axis in range(x.ndim)])
        with np.errstate(all="ignore"):
            return (self.rounded(_centered(x, self.input_zero.value.data) * scale),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The formula."""
        x, scale = elements
        return self.rounded_scalar(
            scalars.multiply(_centered_scalar(x, self.input.type, self.input_zero.value.data), scale)
        )


@irdl_op_definition
class RequantizeSumOp(QuantizingOp):
    """The sum of integers of two quantizations as those of a third.

    `clip(round(((lhs - lhs_zero) * lhs_scale + (rhs - rhs_zero) * rhs_scale) / scale) + zero, low, high)`, the
    differences in 32 bits, everything after them in f32; halves are rounded to the even integer, nan becomes 0.

    Shapes: equal, unchanged.
    Types: i8, ui8 or i32 for each operand; the result is `out_dtype`.
    Kind: broadcast.
    Cost: nine operations an element.
    Source: ONNX DequantizeLinear, Add and QuantizeLinear; TensorFlow Lite ADD of 8 bits.
    """

    name = "fuse.requantize_sum"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 9

    lhs = tensor_operand()
    rhs = tensor_operand()
    result = tensor_result()

    lhs_scale = real()
    """What a step of `lhs` is worth; rounded to f32."""
    lhs_zero = integer(0)
    """What stands for 0 in `lhs`."""
    rhs_scale = real()
    """What a step of `rhs` is worth; rounded to f32."""
    rhs_zero = integer(0)
    """What stands for 0 in `rhs`."""
    scale = real(1.0)
    """What a step of the result is worth; rounded to f32."""
    zero = integer(0)
    """What stands for 0 in the result."""
    low = optional_integer()
    """Least integer of the result; that of its type when left out."""
    high = optional_integer()
    """Greatest integer of the result; that of its type when left out."""
    out_dtype = string("i8")
    """Element type of the result, i8 or ui8."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operands' shape with elements of `out_dtype`."""
        one, other = self.lhs.type, self.rhs.type
        _require_integers(one)
        _require_integers(other)
        if one.get_num_dims() != other.get_num_dims():
            raise VerifyException(f"expects operands of one rank, got {one.get_num_dims()} and {other.get_num_dims()}")
        for axis, (size, own) in enumerate(zip(one.get_shape(), other.get_shape(), strict=True)):
            unify(size, own, f"axis {axis} of both operands")
        for zero in (self.lhs_zero, self.rhs_zero):
            if not -(1 << 31) <= zero.value.data < 1 << 31:
                raise VerifyException(f"expects zero points of 32 bits, got {zero.value.data}")
        return (with_element(one, self.result_element()),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The formula, operation by operation."""
        with np.errstate(all="ignore"):
            one = _centered(operands[0], self.lhs_zero.value.data) * np.float32(self.lhs_scale.value.data)
            other = _centered(operands[1], self.rhs_zero.value.data) * np.float32(self.rhs_scale.value.data)
            return (self.rounded((one + other) / np.float32(self.scale.value.data)),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """The formula."""
        one, other = (
            scalars.multiply(_centered_scalar(x, type, zero.value.data), scalars.constant(scale.value.data, f32))
            for x, type, zero, scale in (
                (elements[0], self.lhs.type, self.lhs_zero, self.lhs_scale),
                (elements[1], self.rhs.type, self.rhs_zero, self.rhs_scale),
            )
        )
        total = scalars.divide(scalars.add(one, other), scalars.constant(self.scale.value.data, f32))
        return self.rounded_scalar(total)
