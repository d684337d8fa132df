"""Branches and loops of TOSA as mlir-opt prints them; of xDSL's `cond_if` only the first form is known.

    %1 = tosa.cond_if %c : tensor<i1> -> tensor<i32> { ... tosa.yield %a : tensor<i32> } else { ... }
    %1 = tosa.cond_if %c (%a = %x) : tensor<i1> (tensor<i32>) -> tensor<i32> { ^bb0(...): ... } else { ^bb0(...): ... }
    %1 = tosa.while_loop (%a = %x) : (tensor<i32>) -> tensor<i32> { ... tosa.yield %c : tensor<i1> } do { ... }

Older versions of MLIR print `tosa.cond_if %c -> (tensor<i32>) { ... }`: the condition is a `tensor<i1>`. The first
region of a loop has the names in brackets as arguments, without a label.
"""

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class YieldOp(IRDLOperation):
    """What a region gives."""

    name = "tosa.yield"

    inputs = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($inputs^ `:` type($inputs))? attr-dict"


def _parse_bindings(parser: Parser) -> list[tuple[Parser.UnresolvedArgument, UnresolvedOperand]]:
    """Parse `(%a = %x, %b = %y)`; nothing if it is not there."""

    def binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return name, parser.parse_unresolved_operand()

    return parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, binding) or []


def _parse_results(parser: Parser) -> list[Attribute]:
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def _print_types(printer: Printer, types: Sequence[Attribute]) -> None:
    if len(types) == 1:
        printer.print_attribute(types[0])
    else:
        with printer.in_parens():
            printer.print_list(types, printer.print_attribute)


def _check_end(region: Region, count: int, what: str) -> None:
    end = region.block.last_op
    if not isinstance(end, YieldOp) or len(end.operands) != count:
        raise VerifyException(f"expects {what} to end with a 'tosa.yield' of {count} values")


@irdl_op_definition
class CondIfOp(IRDLOperation):
    """One of two regions."""

    name = "tosa.cond_if"

    condition = operand_def(TensorType)
    inputs = var_operand_def()
    output = var_result_def(TensorType)
    then = region_def("single_block")
    otherwise = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """Check the ends of the regions, and their arguments."""
        for region in (self.then, self.otherwise):
            _check_end(region, len(self.results), "each region")
            if region.block.arg_types != self.inputs.types:
                raise VerifyException("expects regions that take the inputs")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        condition = parser.parse_unresolved_operand()
        bindings = _parse_bindings(parser)
        is_older = not bindings and parser.parse_optional_punctuation(":") is None
        if bindings:
            parser.parse_punctuation(":")
        type = TensorType(i1, []) if is_older else parser.parse_type()
        operands: list[SSAValue] = [parser.resolve_operand(condition, type)]
        types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type) or []
        operands += parser.resolve_operands([operand for _, operand in bindings], types, parser.pos)
        parser.parse_punctuation("->")
        results = _parse_results(parser)
        then = parser.parse_region()
        parser.parse_keyword("else")
        otherwise = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=operands, result_types=results, regions=[then, otherwise], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        if self.inputs:
            _print_bindings(printer, self.then.block.args, self.inputs)
        printer.print_string(" : ")
        printer.print_attribute(self.condition.type)
        if self.inputs:
            printer.print_string(" ")
            with printer.in_parens():
                printer.print_list(self.inputs.types, printer.print_attribute)
        printer.print_string(" -> ")
        _print_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.then, print_entry_block_args=bool(self.inputs))
        printer.print_string(" else ")
        printer.print_region(self.otherwise, print_entry_block_args=bool(self.inputs))
        printer.print_op_attributes(self.attributes)


def _print_bindings(printer: Printer, arguments: Sequence[SSAValue], inputs: Sequence[SSAValue]) -> None:
    def pair(each: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(each[0])
        printer.print_string(" = ")
        printer.print_ssa_value(each[1])

    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(list(zip(arguments, inputs, strict=True)), pair)


@irdl_op_definition
class WhileLoopOp(IRDLOperation):
    """A region as long as another one says."""

    name = "tosa.while_loop"

    inputs = var_operand_def()
    output = var_result_def(TensorType)
    condition = region_def("single_block")
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """Check the ends of the regions, and their arguments."""
        _check_end(self.condition, 1, "the condition")
        _check_end(self.body, len(self.inputs), "the body")
        if len(self.results) != len(self.inputs):
            raise VerifyException(f"expects a result for each of {len(self.inputs)} inputs, got {len(self.results)}")
        for region in (self.condition, self.body):
            if len(region.block.args) != len(self.inputs):
                raise VerifyException("expects regions that take the inputs")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        bindings = _parse_bindings(parser)
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands([operand for _, operand in bindings], type.inputs.data, parser.pos)
        arguments = [name.resolve(own) for (name, _), own in zip(bindings, type.inputs.data, strict=True)]
        condition = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            operands=operands, result_types=type.outputs.data, regions=[condition, body], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        # Names of arguments are given before the region is printed, of which they are part.
        _print_bindings(printer, self.condition.block.args, self.inputs)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        printer.print_string(" ")
        printer.print_region(self.condition, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


TOSA_REGIONS = (YieldOp, CondIfOp, WhileLoopOp)
"""Ops with regions, and what ends these."""
