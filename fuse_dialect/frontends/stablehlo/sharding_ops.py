"""Shardings as JAX prints them for several devices: meshes, constraints, and computations of each device.

What a sharding says is kept as text. Nothing fuses across these ops.

Source: shardy/dialect/sdy/ir/ops.td of openxla/shardy, as printed by JAX 0.10.
"""

import re
from collections.abc import Mapping
from typing import Self, cast

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, OpaqueSyntaxAttribute
from xdsl.irdl import BaseAttr, irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from fuse_dialect.frontends.mlir.locations import parse_located_argument
from fuse_dialect.frontends.stablehlo.attributes import Raw, on_one_line, raw
from fuse_dialect.frontends.stablehlo.op import (
    Effects,
    Property,
    Row,
    StableHLOOp,
    op_class,
    print_attributes,
    split_attributes,
)
from fuse_dialect.frontends.stablehlo.types import OPERANDS, SAME, parse_types, print_function_type, print_types

MeshAttr = raw("sdy.mesh")
ShardingAttr = raw("sdy.sharding")
ShardingPerValueAttr = raw("sdy.sharding_per_value")


@irdl_attr_definition
class ManualAxesAttr(Raw, OpaqueSyntaxAttribute):
    """Axes of the mesh along which a computation is written for each device: `#sdy<manual_axes{"x"}>`."""

    name = "sdy.manual_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Take the text up to the closing bracket."""
        return _balanced(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print the text as it was."""
        printer.print_string(self.data)


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|->|[\[\](){}<>]')


def _balanced(parser: AttrParser) -> str:
    """The text from the current token to the bracket that closes what is around it."""
    start = parser._current_token.span.start  # pyright: ignore[reportPrivateUsage]
    text, depth = parser.lexer.input.content, 0
    for match in _BRACKET.finditer(text, start):
        depth += (match[0] in "[({<") - (match[0] in "])}>")
        if depth < 0:
            parser._resume_from(match.start())  # pyright: ignore[reportPrivateUsage]
            return on_one_line(text[start : match.start()])
    parser.raise_error("expected a closing bracket", start, start + 1)


def _enclosed(parser: Parser, opening: str, closing: str) -> str:
    """The text between two brackets."""
    parser.parse_characters(opening)
    text = _balanced(parser)
    parser.parse_characters(closing)
    return text


class MeshBase(StableHLOOp):
    """`sdy.mesh @mesh = <["x"=2]>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        parser.parse_punctuation("=")
        properties["mesh"] = MeshAttr(_enclosed(parser, "<", ">"))
        attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        symbol = SymbolRefAttr(cast(StringAttr, self.properties["sym_name"]))
        printer.print_string(f" {symbol} = <{cast(Raw, self.properties['mesh']).data}>")
        print_attributes(self, printer, spelled=("sym_name", "mesh"))


class ConstraintBase(StableHLOOp):
    """`sdy.sharding_constraint %x <@mesh, [{}, {"x"}]> : tensor<4x4xf32>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        position = parser.pos
        operand = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {"sharding": ShardingAttr(_enclosed(parser, "<", ">"))}
        attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
        parser.parse_punctuation(":")
        inputs, outputs = parse_types(SAME, parser, 1)
        values = parser.resolve_operands([operand], inputs, position)
        return cls.create(operands=values, result_types=outputs, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f" <{cast(Raw, self.properties['sharding']).data}>")
        print_attributes(self, printer, spelled=("sharding",))
        print_types(SAME, printer, self)


class ManualComputationBase(StableHLOOp):
    """`sdy.manual_computation(%x) in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%y: type) {...} : ...`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        position = parser.pos
        operands = parser.parse_op_args_list()
        properties: dict[str, Attribute] = {}
        for name in ("in_shardings", "out_shardings"):
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            properties[name] = ShardingPerValueAttr(f"[{_enclosed(parser, '[', ']')}]")
        parser.parse_keyword("manual_axes")
        parser.parse_punctuation("=")
        properties["manual_axes"] = ManualAxesAttr(f"{{{_enclosed(parser, '{', '}')}}}")
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_located_argument(parser))
        body = parser.parse_region(arguments)
        attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        values = parser.resolve_operands(operands, type_.inputs.data, position)
        return cls.create(
            operands=values,
            result_types=type_.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        texts: Mapping[str, str] = {name: cast(Raw, value).data for name, value in self.properties.items()}
        printer.print_operands(self.operands)
        for name in ("in_shardings", "out_shardings", "manual_axes"):
            printer.print_string(f" {name}={texts[name]}")
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.regions[0].blocks[0].args, printer.print_block_argument)
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False)
        print_attributes(self, printer, spelled=tuple(texts))
        printer.print_string(" : ")
        print_function_type(printer, self)


_SHARDINGS = Property(BaseAttr(ShardingPerValueAttr))

SDY_OPS: tuple[type[StableHLOOp], ...] = (
    op_class(
        "sdy",
        Row(
            "mesh",
            0,
            0,
            effects=Effects.UNKNOWN,
            properties={"sym_name": Property(BaseAttr(StringAttr)), "mesh": Property(BaseAttr(MeshAttr))},
        ),
        MeshBase,
    ),
    op_class(
        "sdy",
        Row(
            "sharding_constraint",
            1,
            effects=Effects.UNKNOWN,
            properties={"sharding": Property(BaseAttr(ShardingAttr))},
        ),
        ConstraintBase,
    ),
    op_class(
        "sdy",
        Row(
            "manual_computation",
            results=None,
            regions=1,
            effects=Effects.REGIONS,
            properties={
                "in_shardings": _SHARDINGS,
                "out_shardings": _SHARDINGS,
                "manual_axes": Property(BaseAttr(ManualAxesAttr)),
            },
        ),
        ManualComputationBase,
    ),
    op_class("sdy", Row("return", results=0, types=OPERANDS, effects=Effects.TERMINATES)),
)
"""The ops of `sdy` that are read."""
SDY_ATTRIBUTES = (MeshAttr, ShardingAttr, ShardingPerValueAttr, ManualAxesAttr)
