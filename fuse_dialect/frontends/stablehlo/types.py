"""How ops spell their types: `(operands) -> results` always, and a shorter form where the types follow from fewer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ComplexType, TensorType, TupleType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer

Signature: TypeAlias = tuple[Sequence[Attribute], Sequence[Attribute]]
"""Types of operands and of results."""


@dataclass(frozen=True, slots=True)
class Types:
    """A short form of the types of an op."""

    expand: Callable[[Sequence[Attribute], int], Signature | None]
    """The signature that a list of types stands for, given the number of operands; `None` if it stands for none."""
    shorten: Callable[[Operation], Sequence[Attribute] | None]
    """The list that says everything, or `None` for an op that needs the long form."""
    has_arrow: bool = False
    """Whether even the long form has no parentheses: `a, b -> c`, as CHLO writes it."""
    is_optional: bool = False
    """Whether nothing is written for an empty list."""


def _same(types: Sequence[Attribute], operands: int) -> Signature | None:
    return ([types[0]] * operands, types) if len(types) == 1 else None


def _shorten_same(op: Operation) -> Sequence[Attribute] | None:
    if len(op.results) != 1:
        return None
    result = op.results[0].type
    return (result,) if all(operand.type == result for operand in op.operands) else None


def _complex(types: Sequence[Attribute], operands: int) -> Signature | None:
    return ([_real(types[0])] * operands, types) if len(types) == 1 else None


def _real(type: Attribute) -> Attribute:
    """The type of the parts of complex numbers."""
    if not isinstance(type, TensorType):
        return type
    tensor = cast("TensorType[Attribute]", type)
    if tensor.element_type.name != ComplexType.name:
        return tensor
    (part,) = cast(ParametrizedAttribute, tensor.element_type).parameters
    return TensorType(part, tensor.shape, tensor.encoding)


def _shorten_complex(op: Operation) -> Sequence[Attribute] | None:
    real = _real(op.results[0].type)
    return op.result_types if all(type == real for type in op.operand_types) else None


def _select(types: Sequence[Attribute], operands: int) -> Signature | None:
    return ([types[0], types[1], types[1]], [types[1]]) if (len(types), operands) == (2, 3) else None


def _shorten_select(op: Operation) -> Sequence[Attribute] | None:
    result = op.results[0].type
    return (op.operands[0].type, result) if all(each.type == result for each in op.operands[1:]) else None


def _tuple(types: Sequence[Attribute], operands: int) -> Signature | None:
    return (types[0].types.data, types) if len(types) == 1 and isinstance(types[0], TupleType) else None


def _shorten_tuple(op: Operation) -> Sequence[Attribute] | None:
    (result,) = op.result_types
    return (result,) if isinstance(result, TupleType) and result.types.data == tuple(op.operand_types) else None


FUNCTIONAL = Types(lambda types, operands: None, lambda op: None)
"""`(a, b) -> c`, always."""
SAME = Types(_same, _shorten_same)
"""`a`, if all operands and the result have this type."""
RESULTS = Types(lambda types, operands: ((), types), lambda op: op.result_types)
"""The results' types, for an op without operands."""
COMPLEX = Types(_complex, _shorten_complex)
"""The complex result; the operands are its parts."""
SELECT = Types(_select, _shorten_select)
"""The predicate, then the type of both branches and the result."""
TUPLE = Types(_tuple, _shorten_tuple)
"""The tuple, whose fields are the operands."""
PAIRWISE = Types(lambda types, operands: (types, types), lambda op: op.result_types)
"""Operands and results alike."""
OPERANDS = Types(lambda types, operands: (types, ()), lambda op: op.operand_types, is_optional=True)
"""Of a terminator."""
ARROW = Types(lambda types, operands: None, lambda op: None, has_arrow=True)
"""`a, b -> c`."""


def parse_types(types: Types, parser: Parser, operands: int) -> Signature:
    """Parse what follows the colon."""
    if parser._current_token.text == "(":  # pyright: ignore[reportPrivateUsage]
        function = parser.parse_function_type()
        return function.inputs.data, function.outputs.data
    position = parser.pos
    found = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    if parser.parse_optional_punctuation("->") is not None:
        return found, _parse_results(parser)
    signature = types.expand(found, operands)
    if signature is None:
        parser.raise_error(f"{len(found)} types do not say those of {operands} operands and the results", position)
    return signature


def _parse_results(parser: Parser) -> Sequence[Attribute]:
    results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if results is None else results


def print_types(types: Types, printer: Printer, op: Operation) -> None:
    """Print the colon and what follows it."""
    short = types.shorten(op)
    if types.is_optional and not short:
        return
    printer.print_string(" : ")
    if short is not None:
        printer.print_list(short, printer.print_attribute)
    elif types.has_arrow:
        printer.print_list(op.operand_types, printer.print_attribute)
        printer.print_string(" -> ")
        if len(op.results) == 1:
            printer.print_attribute(op.results[0].type)
        else:
            with printer.in_parens():
                printer.print_list(op.result_types, printer.print_attribute)
    else:
        print_function_type(printer, op)


def print_function_type(printer: Printer, op: Operation) -> None:
    """Print `(operands) -> results`."""
    # xDSL's `print_operation_type` prints the location too, which the printer of the op prints as well.
    printer.print_function_type(op.operand_types, op.result_types)
