"""The custom assembly that all `fuse` ops share.

    %y = fuse.conv2d %x, %w, strides = [2, 2] : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x4x4xf32>
    %z = fuse.relu %y {tag} : tensor<1x4x4x4xf32>

1. Operands come first, then properties as `name = value`, then the discardable attributes in braces.
2. A property that has its default value is not printed.
3. `: T` stands for all operand and result types when they are all `T`; otherwise a function type is printed.
4. On parsing, `-> types` may be left out wherever the op's shape rule can infer them.

Source: the style of StableHLO, stablehlo/dialect/AssemblyFormat.h.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fields import Integers, PropertyValue, Reals

OpT = TypeVar("OpT", bound=IRDLOperation)
ShapeRule: TypeAlias = Callable[[], Sequence[Attribute] | None]
"""The result types that follow from an op's operands and properties, or `None`."""


def parse_op(op: OpDef, make: Callable[..., OpT], parser: Parser) -> OpT:
    """Parse everything after the op's name.

    Args:
        op: What is declared of the op.
        make: Builds it from operands, `result_types`, which may be `None`, `attributes`, and properties by name.
        parser: It stands behind the name.
    """
    start = parser.pos
    operands, properties = _parse_arguments(op, parser)
    attributes = parser.parse_optional_attr_dict()
    operand_types, result_types = _parse_types(parser, len(operands))
    if operands and not operand_types:
        types = "a type" if len(operands) == 1 else "types"
        parser.raise_error(f"'{op.name}' op expects ':' and {types} after its operands", start, operands[-1].span.end)
    values = parser.resolve_operands(operands, operand_types, start)
    try:
        return make(*values, result_types=result_types, attributes=attributes, **properties)
    except VerifyException as error:
        parser.raise_error(f"'{op.name}' op {error}", start, parser.pos)


def _parse_arguments(op: OpDef, parser: Parser) -> tuple[list[UnresolvedOperand], dict[str, PropertyValue]]:
    declared = op.properties
    operands: list[UnresolvedOperand] = []
    properties: dict[str, PropertyValue] = {}
    first = True
    while first or parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is not None:
            operands.append(operand)
        else:
            start = parser.pos
            name = parser.parse_optional_identifier()
            if name is None and first:
                break
            if name is None or name not in declared or name in properties:
                known = f"expected one of: {', '.join(declared)}" if declared else "the op has no properties"
                what = "given twice" if name in properties else known
                parser.raise_error(f"'{op.name}' op property '{name or ''}': {what}", start, parser.pos)
            parser.parse_punctuation("=")
            properties[name] = _parse_value(parser)
        first = False
    return operands, properties


def _parse_value(parser: Parser) -> PropertyValue:
    flag = parser.parse_optional_boolean()
    if flag is not None:
        return flag
    number = parser.parse_optional_number()
    if number is not None:
        return number
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
    if numbers is not None:
        return numbers
    return parser.parse_attribute()


def _parse_types(parser: Parser, operand_count: int) -> tuple[Sequence[Attribute], Sequence[Attribute] | None]:
    """Operand types, and result types or `None` when they are to be inferred."""
    if parser.parse_optional_punctuation(":") is None:
        return (), _parse_results(parser)
    start = parser.pos
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if listed is None:
        return [parser.parse_type()] * operand_count, None
    if len(listed) != operand_count:
        parser.raise_error(f"expected {operand_count} operand types, got {len(listed)}", start, parser.pos)
    return listed, _parse_results(parser)


def _parse_results(parser: Parser) -> Sequence[Attribute] | None:
    if parser.parse_optional_punctuation("->") is None:
        return None
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if listed is None else listed


def print_op(op: IRDLOperation, infer_types: ShapeRule, printer: Printer) -> None:
    """Print everything after the op's name."""
    separator = " "
    for operand in op.operands:
        printer.print_string(separator)
        printer.print_ssa_value(operand)
        separator = ", "
    declared = op.get_irdl_definition().properties
    for name, prop in declared.items():
        value = op.properties.get(name)
        if value is None or value == prop.default_value:
            continue
        printer.print_string(f"{separator}{name} = ")
        _print_value(value, printer)
        separator = ", "
    printer.print_op_attributes(op.attributes)
    _print_types(op, infer_types, printer)


def _print_value(value: Attribute, printer: Printer) -> None:
    match value:
        case IntegerAttr() if value.type == i1:
            printer.print_string("true" if value.value.data else "false")
        case IntegerAttr():
            printer.print_string(str(value.value.data))
        case FloatAttr():
            printer.print_string(_float_text(value.value.data))
        case DenseArrayBase():
            array = cast("Integers | Reals", value)
            items = array.get_values()
            texts = [_float_text(item) if isinstance(item, float) else str(item) for item in items]
            printer.print_string(f"[{', '.join(texts)}]")
        case StringAttr():
            printer.print_string_literal(value.data)
        case _:
            printer.print_attribute(value)


def _float_text(value: float) -> str:
    """The shortest literal that the parser reads back as `value`; infinities and nan are strings."""
    if not math.isfinite(value):
        return f'"{value}"'
    text = repr(value)
    if "." in text:
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}"


def _print_types(op: IRDLOperation, infer_types: ShapeRule, printer: Printer) -> None:
    operand_types, result_types = op.operand_types, op.result_types
    if not operand_types:
        printer.print_string(" -> ")
        printer.print_list(result_types, printer.print_attribute)
        return
    printer.print_string(" : ")
    first = operand_types[0]
    if all(type == first for type in (*operand_types, *result_types)) and _follows(infer_types, result_types):
        printer.print_attribute(first)
    else:
        printer.print_function_type(operand_types, result_types)


def _follows(infer_types: ShapeRule, result_types: Sequence[Attribute]) -> bool:
    """Whether parsing would infer `result_types` back from operands that all have the type of the first result."""
    inferred = infer_types()
    return len(result_types) == 1 if inferred is None else tuple(inferred) == tuple(result_types)
