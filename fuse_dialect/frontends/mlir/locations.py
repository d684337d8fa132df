"""Locations as MLIR prints them today, which xDSL 0.74 does not read.

1. An alias may be defined after its use: MLIR's printer puts `#loc1 = loc(...)` at the end of the file.
2. A place may be a range: `loc("a.py":80:7 to :27)`, `loc("a.py":80:7 to 82:27)`.
3. Fused locations may have metadata: `loc(fused<"why">[...])`.
"""

import re
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NoneAttr,
)
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa
from xdsl.utils.mlir_lexer import MLIRTokenKind

_ALIAS = re.compile(r"^(#[A-Za-z_$.][A-Za-z0-9_$.-]*|#[0-9]+)[ \t]*=[ \t]*(?=loc[ \t]*\()", re.MULTILINE)


@irdl_attr_definition
class RangeMark(Data[None]):
    """Metadata of a fused location that stands for a range: the places where it begins and ends."""

    name = "fuse.range"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> None:
        """There is nothing to parse."""

    def print_parameter(self, printer: Printer) -> None:
        """There is nothing to print."""


RANGE = RangeMark(None)


def range_text(location: FusedLoc) -> str:
    """`"a.py":80:7 to :27`; a line that is the same is not repeated."""
    begin, end = cast("tuple[FileLineColLoc, FileLineColLoc]", cast("ArrayAttr[Attribute]", location.locations).data)
    line = "" if end.line == begin.line else str(end.line.data)
    return f"{begin.filename}:{begin.line.data}:{begin.column.data} to {line}:{end.column.data}"


def parse_located_argument(parser: Parser) -> Parser.Argument:
    """Parse `%x: f32 loc("a.py":80:7)`, with or without the location, which xDSL 0.74 leaves unread."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


class LocationParser(Parser):
    """The part of the parser that reads locations."""

    _late: dict[str, int]
    """Where the text of each location alias starts, in order."""
    _alias_ends: dict[int, int]
    """Where the text of those ends that were read ahead of time, by its start."""
    _being_read: set[str]

    def find_location_aliases(self, text: str) -> None:
        """Note where the aliases of locations are defined; called before anything is parsed."""
        self._late, self._alias_ends, self._being_read = {}, {}, set()
        if "#" in text:
            for match in _ALIAS.finditer(text):
                self._late.setdefault(match[1], match.end())

    def _location_alias(self, name: str) -> Attribute:
        """The location of an alias; those that are not known yet are read all at once, in order."""
        if name not in self.attribute_aliases and name in self._late:
            if self._being_read:
                self._read_alias(name)
            else:
                for each in self._late:
                    self._read_alias(each)
        if name not in self.attribute_aliases:
            self.raise_error(f"undefined symbol alias '{name}'")
        return self.attribute_aliases[name]

    def _read_alias(self, name: str) -> None:
        if name in self.attribute_aliases:
            return
        start = self._late[name]
        if name in self._being_read:
            self.raise_error(f"the location '{name}' is defined by itself", start, start + 3)
        self._being_read.add(name)
        back = self._current_token.span.start
        self._resume_from(start)
        location = self.parse_optional_location()
        assert location is not None, "the alias was found by what it starts with"
        self._alias_ends[start] = self._current_token.span.start
        self.attribute_aliases[name] = location
        self._being_read.discard(name)
        self._resume_from(back)

    def _parse_alias_def(self) -> None:
        """Parse the definition of an alias, or pass over one that was read ahead of time."""
        token = self._current_token
        start = self._late.get(token.text)
        if start is not None and start in self._alias_ends and start > token.span.start:
            text = self.lexer.input.content
            if text[token.span.end : start].strip(" \t") == "=":
                self._resume_from(self._alias_ends.pop(start))
                return
        super()._parse_alias_def()

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            self._consume_token(MLIRTokenKind.HASH_IDENT)
            location = self._location_alias(token.text)
            if not isa(location, LocationAttr):
                self.raise_error("expected the alias of a location", token.span)
            return location
        if token.kind is MLIRTokenKind.BARE_IDENT and token.text == "fused":
            return self._parse_fused()
        location = super()._parse_location()
        if type(location) is FileLineColLoc and self.parse_optional_keyword("to") is not None:
            line = self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            column = self.parse_integer(allow_boolean=False, allow_negative=False)
            end_line = location.line if line is None else IntAttr(line)
            return FusedLoc((location, FileLineColLoc(location.filename, end_line, IntAttr(column))), RANGE)
        return location

    def _parse_fused(self) -> LocationAttr:
        self.parse_keyword("fused")
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(tuple(parts), metadata)
