"""Ops of IREE's `util` and `flow` that its tests write between ops of other dialects: all pass on what they are given.

%0 = util.unfoldable_constant dense<[1, 2]> : tensor<2xi32>
%1 = util.optimization_barrier %0 : tensor<2xi32>
%2 = flow.tensor.dynamic_constant dense<[1, 2]> : tensor<2xi32> -> tensor<?xi32>
%3 = flow.tensor.tie_shape %2 : tensor<?xi32>{%size}
%4 = flow.tensor.bitcast %1 : tensor<2xi32> -> tensor<2xf32>
"""

from typing import Self

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Dialect, TypedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class _Constant(IRDLOperation):
    """A constant that no compiler may fold."""

    value = prop_def(Attribute)
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse a constant, and the type of the result if it is another one."""
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        type = value.get_type() if isinstance(value, TypedAttribute) else None
        if parser.parse_optional_punctuation("->"):
            type = parser.parse_type()
        if type is None:
            parser.raise_error("expected a constant with a type")
        return cls.create(result_types=[type], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print the constant, and the type of the result if it is another one."""
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if not isinstance(self.value, TypedAttribute) or self.value.get_type() != self.result.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)


@irdl_op_definition
class UnfoldableConstantOp(_Constant):
    """A constant that no compiler may fold."""

    name = "util.unfoldable_constant"


@irdl_op_definition
class DynamicConstantOp(_Constant):
    """A constant whose sizes a compiler must not know."""

    name = "flow.tensor.dynamic_constant"


@irdl_op_definition
class OptimizationBarrierOp(IRDLOperation):
    """The operands, through which no compiler may see."""

    name = "util.optimization_barrier"

    operands_ = var_operand_def()
    results_ = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse operands and their types."""
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        operands = parser.resolve_operands(names, types, position)
        return cls.create(operands=operands, result_types=types, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print operands and their types."""
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)

    def verify_(self) -> None:
        """Check that the results are as the operands, which the printed form relies on."""
        if self.operand_types != self.result_types:
            raise VerifyException("expects results of the types of the operands")


def _sized_type(parser: Parser) -> tuple[Attribute, list[UnresolvedOperand]]:
    """Parse `tensor<?x4xf32>{%size}`."""
    type = parser.parse_type()
    sizes = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parser.parse_unresolved_operand)
    return type, sizes or []


def _print_sized_type(printer: Printer, op: "TieShapeOp | BitCastOp", type: Attribute, first: int, count: int) -> None:
    printer.print_attribute(type)
    if count:
        with printer.in_braces():
            printer.print_list(op.sizes[first : first + count], printer.print_ssa_value)


def _open_sizes(type: Attribute) -> int:
    return str(type).count("?")


class _SizedOp(IRDLOperation):
    """An op that is told the sizes that types leave open."""

    operand = operand_def()
    sizes = var_operand_def(IndexType)
    result = result_def()


@irdl_op_definition
class TieShapeOp(_SizedOp):
    """The operand, of which the sizes are known."""

    name = "flow.tensor.tie_shape"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse an operand and its type with sizes."""
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type, sizes = _sized_type(parser)
        operands = [parser.resolve_operand(name, type), *(parser.resolve_operand(size, IndexType()) for size in sizes)]
        return cls.create(operands=operands, result_types=[type], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Print an operand and its type with sizes."""
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_string(" : ")
        _print_sized_type(printer, self, self.operand.type, 0, len(self.sizes))
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        """Check that the result is as the operand, which the printed form relies on."""
        if self.operand.type != self.result.type:
            raise VerifyException("expects a result of the type of the operand")


@irdl_op_definition
class BitCastOp(_SizedOp):
    """The same bits as elements of another type."""

    name = "flow.tensor.bitcast"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse an operand and two types with sizes."""
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        source, sizes = _sized_type(parser)
        parser.parse_punctuation("->")
        target, others = _sized_type(parser)
        given = [parser.resolve_operand(size, IndexType()) for size in (*sizes, *others)]
        operands = [parser.resolve_operand(name, source), *given]
        return cls.create(operands=operands, result_types=[target], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Print an operand and two types with sizes."""
        count = _open_sizes(self.operand.type)
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_string(" : ")
        _print_sized_type(printer, self, self.operand.type, 0, count)
        printer.print_string(" -> ")
        _print_sized_type(printer, self, self.result.type, count, len(self.sizes) - count)
        printer.print_op_attributes(self.attributes)


UTIL = Dialect("util", [UnfoldableConstantOp, OptimizationBarrierOp], [])
"""Of the dialect `util` what tests write; functions of it are read in their generic form."""
FLOW = Dialect("flow", [DynamicConstantOp, TieShapeOp, BitCastOp], [])
"""Of the dialect `flow` what tests write."""
