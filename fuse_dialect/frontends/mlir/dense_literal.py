"""Parsing of `dense<...>` and `array<...>` attributes, exact for every float and safe for every claimed size.

Differs from xDSL 0.74 in three ways:

1. A hexadecimal literal in a float list is a bit pattern, as in MLIR: `dense<0xFF800000> : tensor<f32>` is -inf, where
   xDSL reads the integer 4286578688. JAX writes so, and xDSL's own printer does for nan and inf.
2. A splat of more than `MAX_EXPANDED_SPLAT` elements is stored as one element, where xDSL repeats it in memory: the
   20 bytes `tensor<1000000000xf32>` would otherwise ask for 12 GB. xDSL's printer and ours print both forms alike;
   who reads `data` as an array must broadcast when it holds one element.
3. An index that does not fit 64 bits is an error at its place; xDSL takes it outside of a list, and fails in one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    PackableType,
    RankedStructure,
    i1,
)
from xdsl.irdl import AttrConstraint, base
from xdsl.parser import AttrParser, Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

MAX_EXPANDED_SPLAT = 1 << 16
"""Elements; a greater splat is stored as one element."""

_DenseType = RankedStructure[AnyDenseElement]


@cache
def _is_dense_type() -> AttrConstraint[Any]:
    """What the type of a literal must be. xDSL 0.74 makes it anew for each literal, which takes most of the time."""
    return base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])


class HexBits(int):
    """An integer that was spelled in hexadecimal: the bit pattern of a float, where a float is expected."""

    def as_float(self, parser: AttrParser, type: AnyFloat, span: Span) -> float:
        """The float of this bit pattern."""
        size = type.compile_time_size
        if self < 0 or self.bit_length() > type.bitwidth:
            parser.raise_error(f"hexadecimal literal is out of range for {type}", span)
        return type.unpack(self.to_bytes(size, "little"), 1)[0]


class DenseLiteralParser(Parser):
    """The part of the parser that reads attributes made of many numbers."""

    @dataclass
    class _TensorLiteralElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
        def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
            value: object = self.value
            if isinstance(type, AnyFloat) and isinstance(value, HexBits):
                return value.as_float(parser, type, self.span)
            if isinstance(type, ComplexType):
                if not isinstance(value, tuple):
                    parser.raise_error("expected a complex literal", self.span)
                parts = cast(tuple[object, ...], value)
                if isinstance(element_type := type.element_type, AnyFloat):
                    return tuple(_as_float(part, parser, element_type, self.span) for part in parts)
                if not all(isinstance(part, int) for part in parts):
                    parser.raise_error("expected integer values", self.span)
            if isinstance(type, IndexType) and isinstance(value, int):
                _check_index(parser, value, self.span)
            return super().to_type(parser, type)

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        """Parse `3 : i32` or `1.5 : f32` (3)."""
        span = self._current_token.span
        attribute = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(attribute, IntegerAttr) and isinstance(attribute.type, IndexType):
            _check_index(self, attribute.value.data, span)
        return attribute

    def _parse_optional_bool_int_or_float(
        self,
    ) -> tuple[bool, Span] | tuple[int, Span] | tuple[float, Span] | None:
        found = super()._parse_optional_bool_int_or_float()
        if found is not None and type(found[0]) is int and found[1].text.lstrip("-").startswith(("0x", "0X")):
            return HexBits(found[0]), found[1]
        return found

    def _parse_optional_complex(
        self,
    ) -> tuple[tuple[float, float] | tuple[int, int] | tuple[bool, bool], Span] | None:
        start = self._current_token.span
        if start.text != "(":
            return None
        with self.in_parens():
            real, _ = self._parse_bool_int_or_float()
            self.parse_punctuation(",")
            imaginary, _ = self._parse_bool_int_or_float()
            span = Span(start.start, self.pos + 1, start.input)
        if HexBits not in (type(real), type(imaginary)) and type(real) is not type(imaginary):
            self.raise_error("complex value must be either (float, float) or (int, int)", span)
        return (real, imaginary), span

    def _parse_dense_literal_type(self) -> _DenseType:
        type = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _is_dense_type().verifies(type):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type")
        dense = cast(_DenseType, type)
        if DYNAMIC_INDEX in dense.get_shape():
            self.raise_error("Dense literal attribute should have a static shape.")
        return dense

    def parse_dense_int_or_fp_elements_attr(self, type: _DenseType | None) -> DenseIntOrFPElementsAttr:
        """Parse what follows `dense`.

        Args:
            type: The type when it is known from elsewhere; `None` when the text goes on with `: type`.
        """
        span = self._current_token.span
        self.parse_punctuation("<", " in dense attribute")
        hex_string: str | None = None
        elements: list[AttrParser._TensorLiteralElement] = []
        shape: list[int] = [0]
        if self._current_token.kind is MLIRTokenKind.STRING_LIT:
            hex_string = self.parse_str_literal()
        elif self._current_token.text != ">":
            elements, shape = self._parse_tensor_literal()
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        if hex_string is not None:
            data = self._hex_data(hex_string, type, span)
        else:
            data = self._element_data(elements, shape, type, span)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    def _element_data(
        self,
        elements: list["AttrParser._TensorLiteralElement"],
        shape: list[int],
        type: _DenseType,
        span: Span,
    ) -> bytes:
        """Bytes of a list of literals, or of one literal that stands for all elements."""
        expected = list(type.get_shape())
        count = math.prod(expected)
        values = [element.to_type(self, type.element_type) for element in elements]
        if not values and count:
            self.raise_error("expected at least one element in the dense literal", span)
        if shape and values and shape != expected:
            self.raise_error(f"dense literal has shape {shape}, but its type has shape {expected}", span)
        data = _pack(type.element_type, values)
        return data if shape else _splat(data, count)

    def _hex_data(self, text: str, type: _DenseType, span: Span) -> bytes:
        """Bytes of a literal like `"0x3F800000"`, little-endian and row-major."""
        try:
            data = bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            data = b""
        if not text.startswith("0x") or (len(text) > 2 and not data):
            self.raise_error("expected '0x' and an even number of hexadecimal digits in the dense literal", span)
        element_type = type.element_type
        count = math.prod(type.get_shape())
        size = element_type.compile_time_size
        if element_type == i1 and len(data) != count:
            # MLIR packs i1 into bits; one byte of 0x00 or 0xFF is a splat.
            if data in (b"\x00", b"\xff"):
                return _splat(data, count)
            if len(data) == (count + 7) // 8:
                return bytes(0xFF if data[i // 8] >> i % 8 & 1 else 0 for i in range(count))
        if len(data) == size and count != 1:
            return _splat(data, count)
        if len(data) != count * size:
            self.raise_error(
                f"hex string in the dense literal holds {len(data)} bytes, but its type needs {count * size}", span
            )
        return data

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        start = self.pos
        self.parse_characters("<", " in dense array")
        element_type = self.parse_optional_type()
        if not isinstance(element_type, AnyFloat) or self.parse_optional_punctuation(":") is None:
            self._resume_from(start)
            return super()._parse_builtin_densearray_attr()

        def parse_float() -> float:
            value, span = self._parse_bool_int_or_float()
            return _as_float(value, self, element_type, span)

        values = self.parse_comma_separated_list(self.Delimiter.NONE, parse_float)
        self.parse_characters(">", " in dense array")
        return DenseArrayBase.from_list(element_type, values)


def _check_index(parser: AttrParser, value: int, span: Span) -> None:
    """Raise an error unless an index has at most 64 bits (3)."""
    if not -(2**63) <= value < 2**63:
        parser.raise_error(f"integer value {value} is out of range for an index", span)


def _as_float(value: object, parser: AttrParser, type: AnyFloat, span: Span) -> float:
    if isinstance(value, HexBits):
        return value.as_float(parser, type, span)
    if isinstance(value, bool) or not isinstance(value, int | float):
        parser.raise_error("expected a float literal", span)
    return float(value)


def _pack(type: PackableType[Any], values: Sequence[Any]) -> bytes:
    if isinstance(type, IntegerType):
        values = [type.get_normalized_value(value) for value in values]
    return type.pack(values)


def _splat(element: bytes, count: int) -> bytes:
    return element * count if count <= MAX_EXPANDED_SPLAT else element
