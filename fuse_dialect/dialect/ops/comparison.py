"""Comparisons, logic on truth values, and operations on bits: kind `broadcast`; and comparisons of positions."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import integer, real, tensor_result
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import BinaryOp
from fuse_dialect.dialect.shape_rules import require_booleans, require_integers
from fuse_dialect.dialect.types import (
    DYNAMIC,
    broadcast_shapes,
    element_dtype,
    is_float,
    is_unsigned,
    require_rank,
    require_same_element,
    shape_text,
    tensor,
)
from fuse_dialect.loops.indices import Guard
from fuse_dialect.pattern_kind import PatternKind


class ComparisonOp(BinaryOp, ABC):
    """A question about two elements of one type: result of i1."""

    PREDICATE: ClassVar[str]
    """The question, as `scalars.compare` names it."""

    def infer_types(self) -> Sequence[Attribute]:
        """Truth values in the shape that the operands broadcast to."""
        require_same_element((self.lhs.type, self.rhs.type))
        return (tensor(broadcast_shapes(self.lhs.type.get_shape(), self.rhs.type.get_shape()), i1),)

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.cmpf` or `arith.cmpi`."""
        lhs, rhs = elements
        return scalars.compare(self.PREDICATE, lhs, rhs, unsigned=is_unsigned(self.lhs.type))


class LogicalOp(BinaryOp, ABC):
    """An operation on two truth values."""

    BITS: ClassVar[type[arith.SignlessIntegerBinaryOperation]]
    """The same on integers of one bit."""

    def check_elements(self) -> None:
        """Reject everything but i1."""
        require_booleans(self.lhs.type, "lhs")

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Apply `BITS`."""
        lhs, rhs = elements
        return scalars.apply(self.BITS, lhs, rhs)


class BitwiseOp(BinaryOp, ABC):
    """An operation on the bits of two integers."""

    BITS: ClassVar[type[arith.SignlessIntegerBinaryOperation]]
    """The same as scalar code."""

    def check_elements(self) -> None:
        """Reject floats and i1, which has the logical ops."""
        require_integers(self.lhs.type, "lhs")

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """Apply `BITS`."""
        lhs, rhs = elements
        return scalars.apply(self.BITS, lhs, rhs)


@irdl_op_definition
class EqualOp(ComparisonOp):
    """Whether two elements are equal; nan equals nothing.

    Shapes: broadcast.
    Types: any, to i1; true is greater than false.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.equal`, ONNX Equal, Relay `equal`, StableHLO `compare` EQ.
    """

    name = "fuse.equal"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.equal
    PREDICATE: ClassVar[str] = "equal"


@irdl_op_definition
class NotEqualOp(ComparisonOp):
    """Whether two elements differ; nan differs from everything.

    Shapes: broadcast.
    Types: any, to i1; true is greater than false.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.not_equal`, Relay `not_equal`, StableHLO `compare` NE.
    """

    name = "fuse.not_equal"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.not_equal
    PREDICATE: ClassVar[str] = "not_equal"


@irdl_op_definition
class LessOp(ComparisonOp):
    """Whether two elements increase from `lhs` to `rhs`; never with nan.

    Shapes: broadcast.
    Types: any, to i1; true is greater than false.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.less`, ONNX Less, Relay `less`, StableHLO `compare` LT.
    """

    name = "fuse.less"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.less
    PREDICATE: ClassVar[str] = "less"


@irdl_op_definition
class LessEqualOp(ComparisonOp):
    """Whether two elements do not decrease from `lhs` to `rhs`; never with nan.

    Shapes: broadcast.
    Types: any, to i1; true is greater than false.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.less_equal`, ONNX LessOrEqual, Relay `less_equal`, StableHLO `compare` LE.
    """

    name = "fuse.less_equal"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.less_equal
    PREDICATE: ClassVar[str] = "less_equal"


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """Whether two elements decrease from `lhs` to `rhs`; never with nan.

    Shapes: broadcast.
    Types: any, to i1; true is greater than false.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.greater`, ONNX Greater, Relay `greater`, StableHLO `compare` GT.
    """

    name = "fuse.greater"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.greater
    PREDICATE: ClassVar[str] = "greater"


@irdl_op_definition
class GreaterEqualOp(ComparisonOp):
    """Whether two elements do not increase from `lhs` to `rhs`; never with nan.

    Shapes: broadcast.
    Types: any, to i1; true is greater than false.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.greater_equal`, ONNX GreaterOrEqual, Relay `greater_equal`, StableHLO `compare` GE.
    """

    name = "fuse.greater_equal"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.greater_equal
    PREDICATE: ClassVar[str] = "greater_equal"


@irdl_op_definition
class LogicalAndOp(LogicalOp):
    """Whether both truth values hold.

    Shapes: broadcast.
    Types: i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.logical_and`, ONNX And, Relay `logical_and`, StableHLO `and`.
    """

    name = "fuse.logical_and"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.logical_and
    BITS: ClassVar = arith.AndIOp


@irdl_op_definition
class LogicalOrOp(LogicalOp):
    """Whether at least one truth value holds.

    Shapes: broadcast.
    Types: i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.logical_or`, ONNX Or, Relay `logical_or`, StableHLO `or`.
    """

    name = "fuse.logical_or"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.logical_or
    BITS: ClassVar = arith.OrIOp


@irdl_op_definition
class LogicalXorOp(LogicalOp):
    """Whether exactly one truth value holds.

    Shapes: broadcast.
    Types: i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.logical_xor`, ONNX Xor, Relay `logical_xor`, StableHLO `xor`.
    """

    name = "fuse.logical_xor"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.logical_xor
    BITS: ClassVar = arith.XOrIOp


@irdl_op_definition
class BitwiseAndOp(BitwiseOp):
    """The bits that are set in both integers.

    Shapes: broadcast.
    Types: integers but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.bitwise_and`, ONNX BitwiseAnd, Relay `bitwise_and`, StableHLO `and`.
    """

    name = "fuse.bitwise_and"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.bitwise_and
    BITS: ClassVar = arith.AndIOp


@irdl_op_definition
class BitwiseOrOp(BitwiseOp):
    """The bits that are set in at least one of two integers.

    Shapes: broadcast.
    Types: integers but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.bitwise_or`, ONNX BitwiseOr, Relay `bitwise_or`, StableHLO `or`.
    """

    name = "fuse.bitwise_or"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.bitwise_or
    BITS: ClassVar = arith.OrIOp


@irdl_op_definition
class BitwiseXorOp(BitwiseOp):
    """The bits that are set in exactly one of two integers.

    Shapes: broadcast.
    Types: integers but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.bitwise_xor`, ONNX BitwiseXor, Relay `bitwise_xor`, StableHLO `xor`.
    """

    name = "fuse.bitwise_xor"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.bitwise_xor
    BITS: ClassVar = arith.XOrIOp


@irdl_op_definition
class LeftShiftOp(BitwiseOp):
    """The bits of `lhs` moved up by `rhs` places; undefined for a negative number of places or the width and more.

    Shapes: broadcast.
    Types: integers but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.left_shift`, ONNX BitShift LEFT, Relay `left_shift`, StableHLO `shift_left`.
    """

    name = "fuse.left_shift"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.left_shift
    BITS: ClassVar = arith.ShLIOp


@irdl_op_definition
class RightShiftOp(BitwiseOp):
    """The bits of `lhs` moved down by `rhs` places, filled up with copies of the sign.

    Undefined for a negative number of places or the width and more.

    Shapes: broadcast.
    Types: integers but i1.
    Kind: broadcast.
    Cost: one operation an element.
    Source: `numpy.right_shift`, ONNX BitShift RIGHT, Relay `right_shift`, StableHLO `shift_right_arithmetic`.
    """

    name = "fuse.right_shift"
    traits = traits_def(OpPatternKind(PatternKind.BROADCAST))
    FUNCTION: ClassVar = np.right_shift

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """`arith.shrsi` or `arith.shrui`."""
        lhs, rhs = elements
        return scalars.apply(arith.ShRUIOp if is_unsigned(self.lhs.type) else arith.ShRSIOp, lhs, rhs)


@irdl_op_definition
class BandOp(FuseOp):
    """`inside` where `lower <= column - row <= upper`, and `outside` elsewhere: a causal mask, or a window.

    Shapes: no operand; the result type gives the static rows and columns.
    Types: any but complex; both numbers must be ones of it.
    Kind: injective.
    Cost: no operations: positions are at hand where elements are computed.
    Source: `numpy.tri`, TensorFlow `linalg.band_part`, ONNX Trilu of a constant.
    """

    name = "fuse.band"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    result = tensor_result()

    lower = integer()
    """The least distance from row to column; below 0 for columns in front of the row's own."""
    upper = integer()
    """The greatest one; 0 for none behind the row's own."""
    inside = real(1.0)
    """The number in the band; of i1 1 is true."""
    outside = real(0.0)
    """The number elsewhere."""

    def infer_types(self) -> None:
        """Nothing: the result type says how many rows and columns there are."""

    def verify_(self) -> None:
        """Check the result's type, and that it has both numbers."""
        super().verify_()
        if DYNAMIC in require_rank(self.result.type, 2, "result"):
            raise VerifyException(f"expects a static result shape, got {shape_text(self.result.type.get_shape())}")
        dtype = element_dtype(self.result.type.element_type)
        for name, number in (("inside", self.inside), ("outside", self.outside)):
            with np.errstate(all="ignore"):
                held = float(np.array(number.value.data).astype(dtype))
            if held != number.value.data:
                raise VerifyException(
                    f"expects '{name}' to be a number of {self.result.type.element_type}, got {number.value.data}"
                )

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Compare the distances."""
        rows, columns = self.result.type.get_shape()
        distance = np.arange(columns)[None, :] - np.arange(rows)[:, None]
        held = (distance >= self.lower.value.data) & (distance <= self.upper.value.data)
        numbers = np.where(held, self.inside.value.data, self.outside.value.data)
        return (numbers.astype(element_dtype(self.result.type.element_type)),)

    def loops(self, nest: Nest) -> SSAValue:
        """One guard, on the distance, whose bounds are cut to those that some element has."""
        rows, columns = nest.static(*nest.extents)
        least = max(self.lower.value.data, 1 - rows)
        greatest = min(self.upper.value.data, columns - 1)
        row, column = nest.at
        held = nest.inside([Guard(column - row - least, max(0, greatest - least + 1))])
        element = scalars.signless(self.result.type.element_type)
        numbers = [number.value.data for number in (self.inside, self.outside)]
        if element == i1 and numbers == [1, 0]:
            return held
        one, other = (
            scalars.constant(number if is_float(self.result.type) else int(number), element) for number in numbers
        )
        return scalars.select(held, one, other)
