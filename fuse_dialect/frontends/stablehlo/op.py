"""The class behind every StableHLO op: a row says what it has, and the class parses, prints and verifies by the row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Self, TypeAlias, cast

from xdsl.ir import Attribute, Operation, OpTrait
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.frontends.stablehlo.checks import CHECKS
from fuse_dialect.frontends.stablehlo.clauses import Clause, begins
from fuse_dialect.frontends.stablehlo.types import FUNCTIONAL, Types, parse_types, print_types

Count: TypeAlias = int | None
"""An exact number, or any."""


class Effects(Enum):
    """What an op does besides giving results."""

    NONE = (Pure,)
    REGIONS = (RecursiveMemoryEffect,)
    """What its regions do."""
    UNKNOWN = ()
    TERMINATES = (Pure, IsTerminator)


@dataclass(frozen=True, slots=True)
class Property:
    """A property that an op may have."""

    form: AttrConstraint = field(default_factory=AnyAttr)
    required: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """What there is to know about an op."""

    name: str
    operands: Count = None
    results: Count = 1
    types: Types = FUNCTIONAL
    clauses: tuple[Clause, ...] = ()
    """Behind the operands, in order."""
    head: tuple[Clause, ...] = ()
    """Before them."""
    in_parentheses: bool = False
    """Whether the operands stand in parentheses, and no comma before the first clause."""
    properties: Mapping[str, Property] = field(default_factory=dict[str, Property])
    """Besides those of the clauses, or what form those have."""
    regions: Count = 0
    effects: Effects = Effects.NONE
    is_pretty: bool = True
    """Whether it has a form of its own; otherwise it is written in the generic form."""


class StableHLOOp(IRDLOperation):
    """An op of StableHLO or CHLO, in the generic form."""

    ROW: ClassVar[Row]

    arguments = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def()

    def verify_(self) -> None:
        """Check the numbers of operands, results and regions, and what `CHECKS` expects."""
        row = self.ROW
        for what, expected, got in (
            ("operands", row.operands, len(self.operands)),
            ("results", row.results, len(self.results)),
            ("regions", row.regions, len(self.regions)),
        ):
            if expected is not None and expected != got:
                raise VerifyException(f"expects {expected} {what}, got {got}")
        for check in CHECKS.get(row.name, ()):
            check(self)


class PrettyOp(StableHLOOp):
    """An op with a form of its own: `head operands, clauses {attributes} : types`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        row = cls.ROW
        properties: dict[str, Attribute] = {}
        for clause in row.head:
            properties.update(clause.read(parser))
            if not clause.ATTACHED and row.operands != 0:
                parser.parse_punctuation(",")
        position = parser.pos
        operands, expects_clause = _parse_operands(parser, row.in_parentheses)
        _parse_clauses(row, parser, properties, expects_clause or row.in_parentheses)
        attributes = _split_attributes(cls, parser.parse_optional_attr_dict(), properties)
        if row.types.is_optional and parser.parse_optional_punctuation(":") is None:
            inputs, outputs = (), ()
        else:
            if not row.types.is_optional:
                parser.parse_punctuation(":")
            inputs, outputs = parse_types(row.types, parser, len(operands))
        values = parser.resolve_operands(operands, inputs, position)
        return cls.create(operands=values, result_types=outputs, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        row = self.ROW
        for clause in row.head:
            text = clause.write(self.properties)
            if text is not None:
                printer.print_string(text if clause.ATTACHED else f" {text}," if row.operands != 0 else f" {text}")
        if row.in_parentheses:
            printer.print_operands(self.operands)
        elif self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
        separator = " " if row.in_parentheses else ", "
        for clause in row.clauses:
            text = clause.write(self.properties)
            if text is not None:
                printer.print_string(text if clause.ATTACHED else f"{separator}{text}")
                separator = ", "
        print_attributes(self, printer)
        print_types(row.types, printer, self)


def _parse_operands(parser: Parser, in_parentheses: bool) -> tuple[Sequence[UnresolvedOperand], bool]:
    """The operands, and whether a comma behind them announces a clause."""
    if in_parentheses:
        return parser.parse_op_args_list(), False
    operands: list[UnresolvedOperand] = []
    while (operand := parser.parse_optional_unresolved_operand()) is not None:
        operands.append(operand)
        if parser.parse_optional_punctuation(",") is None:
            return operands, False
    return operands, bool(operands)


def _parse_clauses(row: Row, parser: Parser, properties: dict[str, Attribute], expected: bool) -> None:
    """Parse the clauses of the row, in its order; the optional ones may be left out."""
    for clause in row.clauses:
        if clause.ATTACHED:
            properties.update(clause.read(parser))
        elif expected and begins(clause, parser):
            properties.update(clause.read(parser))
            expected = parser.parse_optional_punctuation(",") is not None
        elif clause.required:
            parser.raise_error(f"expected '{clause.keywords[0]}'")
    if expected and not row.in_parentheses:
        parser.raise_error(f"'{row.name}' takes nothing of that name")


def _split_attributes(
    cls: type[StableHLOOp], attributes: dict[str, Attribute], properties: dict[str, Attribute]
) -> dict[str, Attribute]:
    """Move the properties of the class out of the attributes; returns the others."""
    if not attributes:
        return attributes
    declared = cls.get_irdl_definition().properties
    properties.update((name, value) for name, value in attributes.items() if name in declared)
    return {name: value for name, value in attributes.items() if name not in declared}


def print_attributes(op: StableHLOOp, printer: Printer, *, spelled: Sequence[str] = (), keyword: bool = False) -> None:
    """Print the properties that no clause says, and the attributes."""
    row = op.ROW
    said = {name for clause in (*row.head, *row.clauses) for name in clause.properties}
    said.update(spelled)
    rest = {name: value for name, value in op.properties.items() if name not in said}
    rest.update(op.attributes)
    if rest:
        printer.print_string(" attributes " if keyword else " ")
        printer.print_attr_dict(dict(sorted(rest.items())))  # MLIR keeps dictionaries in this order


split_attributes = _split_attributes


def op_class(dialect: str, row: Row, base: type[StableHLOOp] | None = None) -> type[StableHLOOp]:
    """The class of an op."""
    base = base or (PrettyOp if row.is_pretty else StableHLOOp)
    said = {
        name: Property(clause.form, clause.required)
        for clause in (*row.head, *row.clauses)
        for name in clause.properties
    }
    words = row.name.replace("-", "_").split("_")
    traits: list[OpTrait] = [trait() for trait in row.effects.value]
    fields: dict[str, object] = {
        "name": f"{dialect}.{row.name}",
        "__annotations__": {"ROW": ClassVar[Row]},
        "ROW": row,
        "__module__": __name__,
        "traits": traits_def(*traits),
    }
    for name, prop in {**said, **row.properties}.items():
        define = prop_def if prop.required else opt_prop_def
        fields[f"{name}_property"] = define(prop.form, prop_name=name)
    class_name = "".join(word.capitalize() for word in words) + "Op"
    return irdl_op_definition(cast("type[StableHLOOp]", type(class_name, (base,), fields)))


def operation_name(cls: type[Operation]) -> str:
    """Name of the ops of a class."""
    return cls.name
