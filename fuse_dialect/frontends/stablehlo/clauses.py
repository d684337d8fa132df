"""What stands between the operands and the types of an op in its pretty form: `dims = [1, 0]`, `[0:4, 1:8:2]`, `HIGH`.

A clause turns its text into properties and back. All texts are short, so that writing is making a string.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, AttrConstraint, BaseAttr
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

from fuse_dialect.frontends.stablehlo.attributes import (
    ConvDimensionNumbersAttr,
    DotAlgorithmAttr,
    DotDimensionNumbersAttr,
    PrecisionAttr,
    Raw,
    Word,
    parse_conv_dimensions,
    parse_ints,
    spell,
    spell_conv_dimensions,
)

Properties: TypeAlias = Mapping[str, Attribute]


def int_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """The attribute of a list of integers."""
    return DenseArrayBase.from_list(i64, values)


def ints_of(attribute: Attribute) -> tuple[int, ...]:
    """The integers of a list attribute."""
    return cast(DenseArrayBase[IntegerType], attribute).get_values()


@dataclass(frozen=True, slots=True)
class Clause(ABC):
    """Text for some properties. `read` is called at the clause's first token."""

    keywords: tuple[str, ...]
    """Words that begin the clause."""
    properties: tuple[str, ...]
    """What it spells."""
    required: bool = True

    ATTACHED: ClassVar[bool] = False
    """Whether it follows the operands without a comma."""
    FORM: ClassVar[AttrConstraint] = AnyAttr()
    """What the properties are, unless the op's row says it."""

    @property
    def form(self) -> AttrConstraint:
        """What the properties are."""
        return self.FORM

    @abstractmethod
    def read(self, parser: Parser) -> Properties:
        """Parse the clause."""

    @abstractmethod
    def write(self, properties: Properties) -> str | None:
        """The text, or `None` if no property of the clause is there."""


class _Assigned(Clause):
    """`keyword = value`, for one property."""

    def read(self, parser: Parser) -> Properties:
        parser.parse_identifier()
        parser.parse_punctuation("=")
        return {self.properties[0]: self.read_value(parser)}

    def write(self, properties: Properties) -> str | None:
        value = properties.get(self.properties[0])
        return None if value is None else f"{self.keywords[0]} = {self.write_value(value)}"

    @abstractmethod
    def read_value(self, parser: Parser) -> Attribute:
        """Parse the value."""

    @abstractmethod
    def write_value(self, value: Attribute) -> str:
        """The text of the value."""


class Ints(_Assigned):
    """`dims = [1, 0]`."""

    FORM: ClassVar[AttrConstraint] = DenseArrayBase.constr(i64)

    def read_value(self, parser: Parser) -> Attribute:
        """Parse the list."""
        return int_array(parse_ints(parser))

    def write_value(self, value: Attribute) -> str:
        """The text of the list."""
        return spell(ints_of(value))


class Int(_Assigned):
    """`dim = 1`."""

    FORM: ClassVar[AttrConstraint] = IntegerAttr.constr(i64)

    def read_value(self, parser: Parser) -> Attribute:
        """Parse the integer."""
        return IntegerAttr(parser.parse_integer(), i64)

    def write_value(self, value: Attribute) -> str:
        """The digits."""
        return str(cast(IntegerAttr, value).value.data)


class Bool(_Assigned):
    """`lower = true`."""

    FORM: ClassVar[AttrConstraint] = IntegerAttr.constr(i1)

    def read_value(self, parser: Parser) -> Attribute:
        """Parse `true` or `false`."""
        return BoolAttr.from_bool(parser.parse_boolean())

    def write_value(self, value: Attribute) -> str:
        """`true` or `false`."""
        return "true" if cast(IntegerAttr, value).value.data else "false"


class Text(_Assigned):
    """`config = "ab,bc->ac"`."""

    FORM: ClassVar[AttrConstraint] = BaseAttr(StringAttr)

    def read_value(self, parser: Parser) -> Attribute:
        """Parse the string."""
        return StringAttr(parser.parse_str_literal())

    def write_value(self, value: Attribute) -> str:
        """The string with quotes and escapes."""
        return str(value)


@dataclass(frozen=True, slots=True)
class AssignedWord(_Assigned):
    """`type = FFT`."""

    word: type[Word] = Word

    @property
    def form(self) -> AttrConstraint:
        """The word."""
        return BaseAttr(self.word)

    def read_value(self, parser: Parser) -> Attribute:
        """Parse the word."""
        return self.word(self.word.parse_parameter(parser))

    def write_value(self, value: Attribute) -> str:
        """The word."""
        return cast(Word, value).data


@dataclass(frozen=True, slots=True)
class BareWord(Clause):
    """`LT` or `FLOAT`: the word alone."""

    word: type[Word] = Word

    @property
    def form(self) -> AttrConstraint:
        """The word."""
        return BaseAttr(self.word)

    def read(self, parser: Parser) -> Properties:
        """Parse the word."""
        return {self.properties[0]: self.word(self.word.parse_parameter(parser))}

    def write(self, properties: Properties) -> str | None:
        """The word."""
        value = properties.get(self.properties[0])
        return None if value is None else cast(Word, value).data


class BracketedInt(Clause):
    """`[0]` right behind the operand."""

    FORM: ClassVar[AttrConstraint] = IntegerAttr.constr(i32)

    ATTACHED: ClassVar[bool] = True

    def read(self, parser: Parser) -> Properties:
        """Parse the integer in brackets."""
        with parser.in_square_brackets():
            return {self.properties[0]: IntegerAttr(parser.parse_integer(), i32)}

    def write(self, properties: Properties) -> str | None:
        """The integer in brackets."""
        return f"[{cast(IntegerAttr, properties[self.properties[0]]).value.data}]"


class SliceRanges(Clause):
    """`[0:4, 1:8:2]`: start, limit, and the stride unless it is 1."""

    FORM: ClassVar[AttrConstraint] = DenseArrayBase.constr(i64)

    ATTACHED: ClassVar[bool] = True

    def read(self, parser: Parser) -> Properties:
        """Parse the ranges."""

        def parse_range() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            return start, limit, 1 if parser.parse_optional_punctuation(":") is None else parser.parse_integer()

        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_range)
        columns = zip(*ranges, strict=True) if ranges else ((), (), ())
        return {name: int_array(tuple(column)) for name, column in zip(self.properties, columns, strict=True)}

    def write(self, properties: Properties) -> str | None:
        """The ranges."""
        columns = [ints_of(properties[name]) for name in self.properties]
        ranges = [
            f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
            for start, limit, stride in zip(*columns, strict=True)
        ]
        return f" [{', '.join(ranges)}]"


class DotAxes(Clause):
    """`batching_dims = [0] x [0], contracting_dims = [2] x [1]`."""

    FORM: ClassVar[AttrConstraint] = BaseAttr(DotDimensionNumbersAttr)

    def read(self, parser: Parser) -> Properties:
        """Parse both pairs of lists."""
        values: dict[str, tuple[int, ...]] = {}
        while (word := parser.parse_optional_keyword_in(self.keywords)) is not None:
            field = "batching_dimensions" if word == "batching_dims" else "contracting_dimensions"
            parser.parse_punctuation("=")
            values[f"lhs_{field}"] = parse_ints(parser)
            parser.parse_keyword("x")
            values[f"rhs_{field}"] = parse_ints(parser)
            if word == "contracting_dims":
                break
            parser.parse_punctuation(",")
        if "lhs_contracting_dimensions" not in values:
            parser.raise_error("expected 'contracting_dims'")
        return {self.properties[0]: DotDimensionNumbersAttr.of(values)}

    def write(self, properties: Properties) -> str | None:
        """Both pairs, without empty batches."""
        axes = cast(DotDimensionNumbersAttr, properties[self.properties[0]])
        lhs, rhs = axes.list_named("lhs_batching_dimensions"), axes.list_named("rhs_batching_dimensions")
        batch = f"batching_dims = {spell(lhs)} x {spell(rhs)}, " if lhs or rhs else ""
        lhs, rhs = axes.list_named("lhs_contracting_dimensions"), axes.list_named("rhs_contracting_dimensions")
        return f"{batch}contracting_dims = {spell(lhs)} x {spell(rhs)}"


class Precision(_Assigned):
    """`precision = [DEFAULT, HIGH]`."""

    FORM: ClassVar[AttrConstraint] = ArrayAttr.constr(BaseAttr(PrecisionAttr))

    def read_value(self, parser: Parser) -> Attribute:
        """Parse the list of words."""
        return ArrayAttr(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: PrecisionAttr(PrecisionAttr.parse_parameter(parser))
            )
        )

    def write_value(self, value: Attribute) -> str:
        """The words."""
        return f"[{', '.join(cast(Word, each).data for each in cast('ArrayAttr[Attribute]', value))}]"


class Algorithm(_Assigned):
    """`algorithm = <lhs_precision_type = tf32, ...>`."""

    FORM: ClassVar[AttrConstraint] = BaseAttr(DotAlgorithmAttr)

    def read_value(self, parser: Parser) -> Attribute:
        """Take the text in brackets."""
        return DotAlgorithmAttr(DotAlgorithmAttr.parse_parameter(parser))

    def write_value(self, value: Attribute) -> str:
        """The text in brackets."""
        return f"<{cast(Raw, value).data}>"


class ConvAxes(_Assigned):
    """`dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    FORM: ClassVar[AttrConstraint] = BaseAttr(ConvDimensionNumbersAttr)

    def read_value(self, parser: Parser) -> Attribute:
        """Parse the three lists."""
        return ConvDimensionNumbersAttr(parse_conv_dimensions(parser))

    def write_value(self, value: Attribute) -> str:
        """The three lists."""
        return spell_conv_dimensions(cast(ConvDimensionNumbersAttr, value).data)


class ConvWindow(Clause):
    """`window = {stride = [2, 2], pad = [[0, 1], [0, 1]], reverse = [false, false]}`; each part may be absent."""

    PARTS: ClassVar[Mapping[str, str]] = {
        "stride": "window_strides",
        "pad": "padding",
        "lhs_dilate": "lhs_dilation",
        "rhs_dilate": "rhs_dilation",
        "reverse": "window_reversal",
    }

    def read(self, parser: Parser) -> Properties:
        """Parse the parts in any order."""
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        found: dict[str, Attribute] = {}

        def parse_part() -> None:
            part = parser.parse_identifier()
            if part not in self.PARTS or self.PARTS[part] in found:
                parser.raise_error(f"unknown or repeated '{part}', expected one of {', '.join(self.PARTS)}")
            parser.parse_punctuation("=")
            found[self.PARTS[part]] = _parse_window_part(parser, part)

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_part)
        return found

    def write(self, properties: Properties) -> str | None:
        """The parts that are there."""
        texts = [
            f"{part} = {_spell_window_part(part, properties[name])}"
            for part, name in self.PARTS.items()
            if name in properties
        ]
        return f"window = {{{', '.join(texts)}}}"


def _parse_window_part(parser: Parser, part: str) -> Attribute:
    if part == "reverse":
        flags = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_flag(parser))
        return DenseArrayBase.from_list(i1, flags)
    if part != "pad":
        return int_array(parse_ints(parser))
    rows = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_ints(parser))
    if any(len(row) != 2 for row in rows):
        parser.raise_error("expected two numbers for each axis of 'pad'")
    type_ = TensorType(i64, [len(rows), 2])
    return DenseIntOrFPElementsAttr.from_list(type_, [number for row in rows for number in row])


def _parse_flag(parser: Parser) -> bool:
    value = parser.parse_optional_boolean()
    return bool(parser.parse_integer()) if value is None else value


def _spell_window_part(part: str, value: Attribute) -> str:
    if part == "reverse":
        flags = cast(DenseArrayBase[IntegerType], value).get_values()
        return f"[{', '.join('true' if flag else 'false' for flag in flags)}]"
    if part != "pad":
        return spell(ints_of(value))
    dense = cast(DenseIntOrFPElementsAttr, value)
    numbers = [int(cast(int, each)) for each in dense.get_values()]
    numbers *= 1 if len(numbers) != 1 else 2 * dense.get_shape()[0]
    return f"[{', '.join(f'[{low}, {high}]' for low, high in zip(numbers[::2], numbers[1::2], strict=True))}]"


class ExponentMantissa(Clause):
    """`format = e8m7`."""

    FORM: ClassVar[AttrConstraint] = IntegerAttr.constr(i32)

    _FORM: ClassVar[re.Pattern[str]] = re.compile(r"e([0-9]{1,9})m([0-9]{1,9})")

    def read(self, parser: Parser) -> Properties:
        """Parse the two numbers."""
        parser.parse_keyword("format")
        parser.parse_punctuation("=")
        text = parser.parse_identifier()
        match = self._FORM.fullmatch(text)
        if match is None:
            parser.raise_error(f"expected bits of exponent and mantissa as in 'e8m7', got '{text}'")
        return {name: IntegerAttr(int(bits), i32) for name, bits in zip(self.properties, match.groups(), strict=True)}

    def write(self, properties: Properties) -> str | None:
        """The two numbers."""
        exponent, mantissa = (cast(IntegerAttr, properties[name]).value.data for name in self.properties)
        return f"format = e{exponent}m{mantissa}"


class SymbolText(Clause):
    """`@Sharding`, for a string."""

    FORM: ClassVar[AttrConstraint] = BaseAttr(StringAttr)

    ATTACHED: ClassVar[bool] = True

    def read(self, parser: Parser) -> Properties:
        """Parse the symbol."""
        return {self.properties[0]: parser.parse_symbol_name()}

    def write(self, properties: Properties) -> str | None:
        """The symbol."""
        return f" {SymbolRefAttr(cast(StringAttr, properties[self.properties[0]]))}"


class StringText(Clause):
    """`"my.op"`, for a string."""

    FORM: ClassVar[AttrConstraint] = BaseAttr(StringAttr)

    ATTACHED: ClassVar[bool] = True

    def read(self, parser: Parser) -> Properties:
        """Parse the string."""
        return {self.properties[0]: StringAttr(parser.parse_str_literal())}

    def write(self, properties: Properties) -> str | None:
        """The string."""
        return f" {properties[self.properties[0]]}"


def begins(clause: Clause, parser: Parser) -> bool:
    """Whether the parser is at the clause's first token."""
    token = parser._current_token  # pyright: ignore[reportPrivateUsage]
    return token.kind is MLIRTokenKind.BARE_IDENT and token.text in clause.keywords
