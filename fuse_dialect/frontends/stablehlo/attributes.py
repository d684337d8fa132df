"""Attributes and types of StableHLO.

Three forms are enough for all of them: a word (`#stablehlo<precision HIGH>`), numbers by name (`#stablehlo.dot<...>`),
and text that nobody here looks into (`#stablehlo.bounds<?, 4>`), which is kept as it is written.

Source: stablehlo/dialect/StablehloAttrs.td and StablehloEnums.td of openxla/stablehlo, August 2026.
"""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias, cast

from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

Number: TypeAlias = int | tuple[int, ...]
"""A value of a named field: an integer, or a list of them."""


class Word(Data[str], SpacedOpaqueSyntaxAttribute):
    """One of a few words, as `#stablehlo<precision HIGH>`."""

    WORDS: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Parse the word."""
        word = parser.parse_identifier(f" of {cls.name}")
        if word not in cls.WORDS:
            parser.raise_error(f"expected one of {', '.join(sorted(cls.WORDS))}, got '{word}'")
        return word

    def print_parameter(self, printer: Printer) -> None:
        """Print the word."""
        printer.print_string(self.data)


def _word(mnemonic: str, words: str, dialect: str = "stablehlo") -> type[Word]:
    name = "".join(part.capitalize() for part in mnemonic.split("_")) + "Attr"
    fields = {"name": f"{dialect}.{mnemonic}", "WORDS": frozenset(words.split()), "__module__": __name__}
    return irdl_attr_definition(cast("type[Word]", type(name, (Word,), fields)))


ComparisonDirectionAttr = _word("comparison_direction", "EQ NE GE GT LE LT")
ComparisonTypeAttr = _word("comparison_type", "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED")
PrecisionAttr = _word("precision", "DEFAULT HIGH HIGHEST")
FftTypeAttr = _word("fft_type", "FFT IFFT RFFT IRFFT")
TransposeAttr = _word("transpose", "TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT")
RngDistributionAttr = _word("rng_distribution", "UNIFORM NORMAL")
RngAlgorithmAttr = _word("rng_algorithm", "DEFAULT THREE_FRY PHILOX")
CustomCallApiVersionAttr = _word(
    "custom_call_api_version",
    "API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL API_VERSION_STATUS_RETURNING "
    "API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI",
)


CHLO_WORDS = (
    _word("comparison_direction", "EQ NE GE GT LE LT", "chlo"),
    _word("comparison_type", "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED", "chlo"),
    _word("precision", "DEFAULT HIGH HIGHEST", "chlo"),
)


class Numbers(Data[tuple[Number, ...]]):
    """Numbers by name, in the order of `FIELDS`; a field that is left out is 0 or empty."""

    FIELDS: ClassVar[Mapping[str, bool]] = {}
    """Names, and whether each is a list."""
    PRINTS_ZEROS: ClassVar[bool] = False
    """Whether all fields must be spelled."""

    @classmethod
    def of(cls, values: Mapping[str, Number]) -> "Numbers":
        """The attribute with these fields, and all others 0 or empty."""
        return cls(tuple(values.get(name, () if is_list else 0) for name, is_list in cls.FIELDS.items()))

    def list_named(self, field: str) -> tuple[int, ...]:
        """The list of that name."""
        value = self.data[list(self.FIELDS).index(field)]
        assert isinstance(value, tuple), f"'{field}' is a list"
        return value

    def number_named(self, field: str) -> int:
        """The integer of that name."""
        value = self.data[list(self.FIELDS).index(field)]
        assert isinstance(value, int), f"'{field}' is an integer"
        return value

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Number, ...]:
        """Parse the fields in any order."""
        parser.parse_punctuation("<")
        return cls.of(_parse_fields(parser, cls.name, cls.FIELDS)).data

    def print_parameter(self, printer: Printer) -> None:
        """Print the fields that are not 0 or empty."""
        named = zip(self.FIELDS, self.data, strict=True)
        texts = [f"{name} = {spell(value)}" for name, value in named if self.PRINTS_ZEROS or value not in (0, ())]
        printer.print_string(f"<{', '.join(texts)}>")


def _parse_fields(parser: AttrParser, name: str, fields: Mapping[str, bool]) -> dict[str, Number]:
    """Parse `a = 1, b = [2],>` up to and with the bracket; each field once, with or without a last comma."""
    values: dict[str, Number] = {}
    while parser.parse_optional_punctuation(">") is None:
        field = parser.parse_identifier(f" of {name}")
        if field not in fields or field in values:
            parser.raise_error(f"unknown or repeated field '{field}', expected one of {', '.join(fields)}")
        parser.parse_punctuation("=")
        values[field] = parse_ints(parser) if fields[field] else parser.parse_integer()
        if parser.parse_optional_punctuation(",") is None:
            parser.parse_punctuation(">")
            break
    return values


def parse_ints(parser: AttrParser) -> tuple[int, ...]:
    """Parse `[1, -2]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def spell(value: Number) -> str:
    """The text of an integer or of a list of them."""
    return str(value) if isinstance(value, int) else f"[{', '.join(map(str, value))}]"


@irdl_attr_definition
class DotDimensionNumbersAttr(Numbers):
    """Which axes of a product run together."""

    name = "stablehlo.dot"
    FIELDS: ClassVar[Mapping[str, bool]] = dict.fromkeys(
        (
            "lhs_batching_dimensions",
            "rhs_batching_dimensions",
            "lhs_contracting_dimensions",
            "rhs_contracting_dimensions",
        ),
        True,
    )


@irdl_attr_definition
class GatherDimensionNumbersAttr(Numbers):
    """How the slices of a gather make up the result."""

    name = "stablehlo.gather"
    FIELDS: ClassVar[Mapping[str, bool]] = {
        "offset_dims": True,
        "collapsed_slice_dims": True,
        "operand_batching_dims": True,
        "start_indices_batching_dims": True,
        "start_index_map": True,
        "index_vector_dim": False,
    }


@irdl_attr_definition
class ScatterDimensionNumbersAttr(Numbers):
    """Where the windows of a scatter go."""

    name = "stablehlo.scatter"
    FIELDS: ClassVar[Mapping[str, bool]] = {
        "update_window_dims": True,
        "inserted_window_dims": True,
        "input_batching_dims": True,
        "scatter_indices_batching_dims": True,
        "scatter_dims_to_operand_dims": True,
        "index_vector_dim": False,
    }


@irdl_attr_definition
class ChannelHandleAttr(Numbers):
    """A channel between devices."""

    name = "stablehlo.channel_handle"
    FIELDS: ClassVar[Mapping[str, bool]] = {"handle": False, "type": False}
    PRINTS_ZEROS = True


@irdl_attr_definition
class ConvDimensionNumbersAttr(Data[tuple[tuple[str, ...], ...]]):
    """The axes of input, kernel and result of a convolution: `b`, `f`, `i`, `o`, or the number of a spatial axis."""

    name = "stablehlo.conv"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, ...], ...]:
        """Parse `<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`, or `<raw input_batch_dimension = 0, ...>`."""
        parser.parse_punctuation("<")
        if parser.parse_optional_keyword("raw") is not None:
            return _parse_raw_conv_dimensions(parser)
        axes = parse_conv_dimensions(parser)
        parser.parse_punctuation(">")
        return axes

    def print_parameter(self, printer: Printer) -> None:
        """Print the three lists."""
        printer.print_string(f"<{spell_conv_dimensions(self.data)}>")


def parse_conv_dimensions(parser: AttrParser) -> tuple[tuple[str, ...], ...]:
    """Parse `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""
    lhs = _parse_axes(parser, "bf")
    parser.parse_keyword("x")
    rhs = _parse_axes(parser, "io")
    parser.parse_punctuation("->")
    return lhs, rhs, _parse_axes(parser, "bf")


_RAW_CONV_FIELDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "input": (("b", "batch"), ("f", "feature")),
    "kernel": (("i", "input_feature"), ("o", "output_feature")),
    "output": (("b", "batch"), ("f", "feature")),
}
"""Which letters stand for which fields of the raw form, for each tensor; besides there are its spatial dimensions."""


def _parse_raw_conv_dimensions(parser: AttrParser) -> tuple[tuple[str, ...], ...]:
    """Parse `input_batch_dimension = 0, ..., output_spatial_dimensions = [1, 2]>`, the form behind `raw`.

    Source: `parseConvolutionDimensionsRaw` in stablehlo/dialect/StablehloOps.cpp.
    """
    fields = {
        **{f"{side}_{each}_dimension": False for side, named in _RAW_CONV_FIELDS.items() for _, each in named},
        **{f"{side}_spatial_dimensions": True for side in _RAW_CONV_FIELDS},
    }
    values = _parse_fields(parser, ConvDimensionNumbersAttr.name, fields)
    return tuple(_raw_axes(parser, values, side) for side in _RAW_CONV_FIELDS)


def _raw_axes(parser: AttrParser, values: Mapping[str, Number], side: str) -> tuple[str, ...]:
    """What each axis of one tensor is, in order."""
    spatial = cast("tuple[int, ...]", values.get(f"{side}_spatial_dimensions", ()))
    places = {cast(int, values.get(f"{side}_{each}_dimension", 0)): letter for letter, each in _RAW_CONV_FIELDS[side]}
    places.update((axis, str(index)) for index, axis in enumerate(spatial))
    if sorted(places) != list(range(len(spatial) + 2)):
        parser.raise_error(f"expected the dimensions of the {side} to be each of 0 to {len(spatial) + 1} once")
    return tuple(places[axis] for axis in range(len(places)))


def _parse_axes(parser: AttrParser, letters: str) -> tuple[str, ...]:
    def parse_axis() -> str:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier() if number is None else str(number)

    axes = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_axis))
    spatial = sorted(axis for axis in axes if axis not in letters)
    if sorted(axes) != sorted([*letters, *map(str, range(len(spatial)))]):
        expected = ", ".join([*letters, "0", "1", "..."])
        parser.raise_error(f"expected each of {expected} once, got {', '.join(axes)}")
    return axes


def spell_conv_dimensions(axes: Sequence[Sequence[str]]) -> str:
    """The text of the three lists."""
    lhs, rhs, result = (f"[{', '.join(each)}]" for each in axes)
    return f"{lhs}x{rhs}->{result}"


_PART_OF_TEXT = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|(?:\s|//[^\n]*)+')


def on_one_line(text: str) -> str:
    """The text with one space for comments and white space outside of strings, and line breaks in these escaped.

    The printer indents what stands behind a line break, so a text with one would be read as another.
    """
    return _PART_OF_TEXT.sub(lambda match: (match["string"] or " ").replace("\n", r"\0A"), text)


class Raw(Data[str]):
    """Text between angle brackets that is kept as it is written, on one line; empty if there are no brackets."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Take the text up to the closing bracket."""
        if parser._current_token.kind is not MLIRTokenKind.LESS:  # pyright: ignore[reportPrivateUsage]
            return ""
        return on_one_line(parser._parse_dialect_symbol_body())  # pyright: ignore[reportPrivateUsage]

    def print_parameter(self, printer: Printer) -> None:
        """Print the text as it was."""
        if self.data:
            printer.print_string(f"<{self.data}>")


def raw(name: str, *, is_type: bool = False) -> type[Raw]:
    """The class of an attribute or type of which only the text is known."""
    words = name.replace(".", "_").split("_")
    class_name = "".join(word.capitalize() for word in words) + ("Type" if is_type else "Attr")
    bases = (Raw, TypeAttribute) if is_type else (Raw,)
    fields = {"name": name, "__module__": __name__}
    return irdl_attr_definition(cast("type[Raw]", type(class_name, bases, fields)))


DotAlgorithmAttr = raw("stablehlo.dot_algorithm")
ResultAccuracyAttr = raw("stablehlo.result_accuracy")
TokenType = raw("stablehlo.token", is_type=True)

STABLEHLO_ATTRIBUTES = (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    PrecisionAttr,
    FftTypeAttr,
    TransposeAttr,
    RngDistributionAttr,
    RngAlgorithmAttr,
    CustomCallApiVersionAttr,
    DotDimensionNumbersAttr,
    GatherDimensionNumbersAttr,
    ScatterDimensionNumbersAttr,
    ChannelHandleAttr,
    ConvDimensionNumbersAttr,
    DotAlgorithmAttr,
    ResultAccuracyAttr,
    TokenType,
    raw("stablehlo.future", is_type=True),
    *(
        raw(f"stablehlo.{name}")
        for name in (
            "axis_ref",
            "bounds",
            "mesh",
            "mesh_axis",
            "output_operand_alias",
            "replica_group_mesh_axes",
            "result_accuracy_mode",
            "sub_axis_info",
            "type_extensions",
        )
    ),
)
"""All attributes and types of the dialect."""
