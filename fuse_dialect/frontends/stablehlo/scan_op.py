"""`chlo.scan`, whose pretty form is like no other.

    chlo.scan(%x) inits (%c) dimension=0 attributes {is_reverse = true} {
    ^bb0(%element: tensor<i32>, %carry: tensor<i32>):
      ...
      stablehlo.return %output, %next : tensor<i32>, tensor<i32>
    } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)

Source: `ScanOp::parse` in stablehlo/dialect/ChloOps.cpp of openxla/stablehlo.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from fuse_dialect.frontends.stablehlo.op import StableHLOOp, print_attributes, split_attributes
from fuse_dialect.frontends.stablehlo.types import print_function_type

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


class ScanParts(NamedTuple):
    """Operands and results of a scan by what they are."""

    inputs: Sequence[SSAValue]
    inits: Sequence[SSAValue]
    outputs: Sequence[SSAValue]
    carries: Sequence[SSAValue]


def scan_parts(op: Operation) -> ScanParts:
    """What is what; operands and results of which nothing is said are inputs and outputs."""
    operands, results = (_first(op, name) for name in _SEGMENTS)
    return ScanParts(op.operands[:operands], op.operands[operands:], op.results[:results], op.results[results:])


def _first(op: Operation, name: str) -> int | None:
    sizes = op.properties.get(name)
    return cast("DenseArrayBase[IntegerType]", sizes).get_values()[0] if isinstance(sizes, DenseArrayBase) else None


class ScanBase(StableHLOOp):
    """See the docstring of this file."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        position = parser.pos
        inputs = parser.parse_op_args_list()
        parser.parse_keyword("inits")
        inits = parser.parse_op_args_list()
        parser.parse_keyword("dimension")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimension": IntegerAttr(parser.parse_integer(), i64)}
        found = parser.parse_optional_attr_dict_with_keyword()
        attributes = split_attributes(cls, {} if found is None else dict(found.data), properties)
        region = parser.parse_region()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        outputs = len(type.outputs) - len(inits)
        if outputs < 0:
            parser.raise_error(f"expected a result for each of {len(inits)} inits, got {len(type.outputs)}", position)
        for name, count in zip(_SEGMENTS, (len(inputs), outputs), strict=True):
            properties[name] = DenseArrayBase.from_list(i32, [count, len(inits)])
        values = parser.resolve_operands([*inputs, *inits], type.inputs.data, position)
        return cls.create(
            operands=values,
            result_types=type.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        parts = scan_parts(self)
        printer.print_operands(parts.inputs)
        printer.print_string(" inits ")
        printer.print_operands(parts.inits)
        printer.print_string(f" dimension={cast(IntegerAttr, self.properties['dimension']).value.data}")
        print_attributes(self, printer, spelled=("dimension", *_SEGMENTS), keyword=True)
        printer.print_string(" ")
        printer.print_region(self.regions[0])
        printer.print_string(" : ")
        print_function_type(printer, self)
