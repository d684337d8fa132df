"""The ops whose pretty form is like no other: constants, reductions, loops, barriers and `top_k`."""

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from fuse_dialect.frontends.mlir.locations import parse_located_argument
from fuse_dialect.frontends.mlir.own_form import PartialForm
from fuse_dialect.frontends.stablehlo.attributes import parse_ints, spell
from fuse_dialect.frontends.stablehlo.clauses import int_array, ints_of
from fuse_dialect.frontends.stablehlo.op import StableHLOOp, print_attributes, split_attributes
from fuse_dialect.frontends.stablehlo.types import PAIRWISE, parse_types, print_function_type

COMMUTATIVE_OPS = frozenset(
    f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor")
)
"""What a compact reduction may apply. Source: `HLO_Commutative` in stablehlo/dialect/StablehloOps.td."""


class ConstantBase(StableHLOOp):
    """`stablehlo.constant dense<0.0> : tensor<4xf32>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name; a constant of a quantized type is spelled generically."""
        if parser.parse_optional_punctuation("(") is not None:
            parser.parse_punctuation(")")
            properties = parser.parse_optional_properties_dict()
            attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
            parser.parse_punctuation(":")
            results: Sequence[Attribute] = parser.parse_function_type().outputs.data
        else:
            properties: dict[str, Attribute] = {}
            attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
            value = parser.parse_attribute()
            properties["value"] = value
            type_ = getattr(value, "type", None)
            if not isinstance(type_, Attribute):
                parser.raise_error("expected the elements of a tensor")
            results = (type_,)
        return cls.create(result_types=results, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        value = self.properties["value"]
        if getattr(value, "type", None) != self.results[0].type:
            printer.print_string("() <{value = ")
            printer.print_attribute(value)
            printer.print_string("}>")
            print_attributes(self, printer, spelled=("value",))
            printer.print_string(" : ")
            print_function_type(printer, self)
            return
        print_attributes(self, printer, spelled=("value",))
        printer.print_string(" ")
        printer.print_attribute(value)


class ReduceBase(StableHLOOp):
    """`stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : ...`, or with a region."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        position = parser.pos
        pairs = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_init(parser))
        inner: type[Operation] | None = None
        if parser.parse_optional_keyword("applies") is not None:
            inner = _parse_inner_op(parser)
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimensions": int_array(parse_ints(parser))}
        attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        operands = [*(pair[0] for pair in pairs), *(pair[1] for pair in pairs)]
        values = parser.resolve_operands(operands, type_.inputs.data, position)
        if inner is None:
            parser.parse_keyword("reducer")
            region = parser.parse_region(_parse_reducer_arguments(parser))
        else:
            region = _applying(inner, type_.inputs.data[0], parser)
        return cls.create(
            operands=values,
            result_types=type_.outputs.data,
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the name, in the compact form if the region is what that form stands for."""
        half = len(self.operands) // 2
        for index, (value, init) in enumerate(zip(self.operands[:half], self.operands[half:], strict=True)):
            printer.print_string(", (" if index else "(")
            printer.print_operand(value)
            printer.print_string(" init: ")
            printer.print_operand(init)
            printer.print_string(")")
        inner = applied_op(self)
        if inner is not None:
            printer.print_string(f" applies {inner.name}")
        printer.print_string(f" across dimensions = {spell(ints_of(self.properties['dimensions']))}")
        print_attributes(self, printer, spelled=("dimensions",))
        printer.print_string(" : ")
        print_function_type(printer, self)
        if inner is None:
            _print_reducer(self.regions[0], printer)


def _parse_init(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    with parser.in_parens():
        value = parser.parse_unresolved_operand()
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        return value, parser.parse_unresolved_operand()


def _parse_inner_op(parser: Parser) -> type[Operation]:
    name = parser.parse_identifier()
    inner = parser.ctx.get_optional_op(name) if name in COMMUTATIVE_OPS else None
    if inner is None:
        parser.raise_error(f"expected a commutative op of two operands, got '{name}'")
    return inner


def _applying(inner: type[Operation], operand_type: Attribute, parser: Parser) -> Region:
    """The region that the compact form stands for."""
    is_tensor = isinstance(operand_type, TensorType)
    element = cast("TensorType[Attribute]", operand_type).element_type if is_tensor else operand_type
    scalar = TensorType(element, [])
    block = Block(arg_types=[scalar, scalar])
    op = inner.create(operands=block.args, result_types=[scalar])
    block.add_ops([op, parser.ctx.get_op("stablehlo.return").create(operands=op.results)])
    return Region(block)


def _parse_reducer_arguments(parser: Parser) -> list[Parser.Argument]:
    """The pairs `(%a: t, %b: t)`: first elements come before second ones."""
    firsts: list[Parser.Argument] = []
    seconds: list[Parser.Argument] = []
    while parser.parse_optional_punctuation("(") is not None:
        firsts.append(parse_located_argument(parser))
        parser.parse_punctuation(",")
        seconds.append(parse_located_argument(parser))
        parser.parse_punctuation(")")
    return [*firsts, *seconds]


def applied_op(op: Operation) -> Operation | None:
    """The op that is all a reduction does with two elements, if the compact form can name it."""
    block = op.regions[0].first_block
    inner = None if block is None else block.first_op
    if block is None or inner is None or inner.next_op is not block.last_op or inner.next_op is None:
        return None
    scalar = block.args[0].type if block.args else None
    first = op.operands[0].type if op.operands else None
    is_plain = (
        inner.name in COMMUTATIVE_OPS
        and tuple(inner.operands) == tuple(block.args)
        and tuple(inner.next_op.operands) == tuple(inner.results)
        and not (inner.attributes or inner.properties or inner.next_op.attributes)
        and all(value.type == scalar for value in (*inner.operands, *inner.results))
        and isinstance(first, TensorType)
        and scalar == TensorType(cast(Attribute, first.element_type), [])
    )
    return inner if is_plain else None


def _print_reducer(region: Region, printer: Printer) -> None:
    printer.print_string("\n reducer", indent=0)
    arguments = region.blocks[0].args
    half = len(arguments) // 2
    for first, second in zip(arguments[:half], arguments[half:], strict=True):
        printer.print_string("(")
        printer.print_block_argument(first)
        printer.print_string(", ")
        printer.print_block_argument(second)
        printer.print_string(") ")
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)


class WhileBase(StableHLOOp, PartialForm):
    """`stablehlo.while(%i = %c) : tensor<i32> cond { ... } do { ... }`."""

    def has_own_form(self) -> bool:
        """Whether the blocks' arguments and the results have the types of the operands, which the form says once."""
        if any(len(region.blocks) != 1 for region in self.regions):
            return False
        types = list(self.operand_types)
        lists = [list(self.result_types), *([value.type for value in region.block.args] for region in self.regions)]
        return all(each == types for each in lists)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        position = parser.pos
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_iterated(parser))
        types: Sequence[Attribute] = ()
        if pairs:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != len(pairs):
            parser.raise_error(f"expected the type of each of {len(pairs)} values, got {len(types)}", position)
        values = parser.resolve_operands([operand for _, operand in pairs], types, position)
        properties: dict[str, Attribute] = {}
        found = parser.parse_optional_attr_dict_with_keyword()
        attributes = split_attributes(cls, {} if found is None else dict(found.data), properties)
        arguments = [argument.resolve(type_) for (argument, _), type_ in zip(pairs, types, strict=True)]
        parser.parse_keyword("cond")
        condition = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return cls.create(
            operands=values,
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=[condition, body],
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the name; both regions call their arguments by the same names."""
        condition, body = self.regions
        printer.print_string("(")
        names: list[str] = []
        for index, (argument, operand) in enumerate(zip(body.blocks[0].args, self.operands, strict=True)):
            printer.print_string(", " if index else "")
            names.append(printer.print_ssa_value(argument))
            printer.print_string(" = ")
            printer.print_operand(operand)
        printer.print_string(")")
        for argument, name in zip(condition.blocks[0].args, names, strict=True):
            printer._ssa_values[argument] = name  # pyright: ignore[reportPrivateUsage]
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        print_attributes(self, printer, keyword=True)
        printer.print_string("\ncond ")
        printer.print_region(condition, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(body, print_entry_block_args=False)


def _parse_iterated(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


class BarrierBase(StableHLOOp):
    """`stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<i1>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        attributes = parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation("(") is not None:
            parser.parse_punctuation(")")
            return cls.create(attributes=attributes)
        position = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        inputs, outputs = parse_types(PAIRWISE, parser, len(operands))
        values = parser.resolve_operands(operands, inputs, position)
        return cls.create(operands=values, result_types=outputs, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        print_attributes(self, printer)
        if not self.operands:
            printer.print_string("()")
            return
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)


class TopKBase(StableHLOOp):
    """`chlo.top_k(%x, k = 3) : tensor<8xf32> -> (tensor<3xf32>, tensor<3xi32>)`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the name."""
        properties: dict[str, Attribute] = {}
        with parser.in_parens():
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(",")
            parser.parse_keyword("k")
            parser.parse_punctuation("=")
            properties["k"] = IntegerAttr(parser.parse_integer(), i64)
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("is_stable")
                parser.parse_punctuation("=")
                properties["is_stable"] = IntegerAttr.from_bool(parser.parse_boolean())
        attributes = split_attributes(cls, parser.parse_optional_attr_dict(), properties)
        parser.parse_punctuation(":")
        inputs, outputs = parse_types(PAIRWISE, parser, 1)
        values: Sequence[SSAValue] = parser.resolve_operands([operand], inputs, parser.pos)
        return cls.create(operands=values, result_types=outputs, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the name."""
        printer.print_string("(")
        printer.print_operand(self.operands[0])
        printer.print_string(f", k = {cast(IntegerAttr, self.properties['k']).value.data}")
        if (stable := self.properties.get("is_stable")) is not None:
            printer.print_string(f", is_stable = {'true' if cast(IntegerAttr, stable).value.data else 'false'}")
        printer.print_string(")")
        print_attributes(self, printer, spelled=("k", "is_stable"))
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result_types, printer.print_attribute)
