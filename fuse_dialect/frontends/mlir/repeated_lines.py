"""Ops that are written like one before, on a line of their own, are not parsed again.

A large program says the same few lines over and over, with other names:

    %7 = arith.addf %5, %6 : tensor<4xf32>
    %8 = arith.addf %7, %6 : tensor<4xf32>

What an op is follows from its text, the dialect that it stands in, and its operands. So the second line is the op of
the first one with other operands, if

1. both lines are equal but for the names of values, and nothing in them can mean something else at another place: no
   comment, location, alias, constant with many elements or string;
2. the first op took the whole line, and the second one does, too: what follows begins an op or ends a region;
3. the first op has the values of the line as operands, in this order and each once; no regions, no successors;
4. the values that the second line reads are defined before it, and have the types of those of the first; those that it
   defines have not been named before.

In every other case the op is parsed. A line costs a third of what xDSL 0.74 takes for its assembly format.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser

_ID = r"%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
_RESULTS = re.compile(rf"({_ID}(?:\s*,\s*{_ID})*)\s*=\s*")
_OPERAND = re.compile(rf"({_ID})(?:#([0-9]{{1,6}}))?")
_NEXT = re.compile(
    rf"\s*(?:\}}|{_ID}(?::[0-9]+)?(?:\s*,\s*{_ID}(?::[0-9]+)?)*\s*=|return\b|[a-z_]+\.[a-z]|\"[\w.]+\"\s*\()"
)
"""What begins an op, or ends a region."""
_UNSTEADY = re.compile(r"//|\bloc\b|[#!](?![\w$]+\.)|@|\bdense|%.*\"|\".*\".*\"")
"""What may mean something else elsewhere; a string may be the op's name alone."""
_LONGEST = 400
_MOST = 4096
"""Lines that are remembered."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of text as a template for others."""

    template: str
    """What is behind `=`, without the names of values."""
    results: tuple[str, ...]
    operands: tuple[tuple[str, int], ...]
    """Names with their indices, `%5#1`."""
    start: int
    """Where the op's name begins in the text."""
    end: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What an op of a template is, besides its operands."""

    op_class: type[Operation]
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]


class RepeatedLines:
    """The ops of lines that were parsed, for one parser."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Known] = {}

    @staticmethod
    def line_at(text: str, start: int) -> _Line | None:
        """The line that begins with an op at `start`; `None` if it is parsed anyhow (1)."""
        end = text.find("\n", start)
        if end < 0 or end - start > _LONGEST:
            return None
        match = _RESULTS.match(text, start, end)
        name = match.end() if match is not None else start
        written = text[name:end]
        template = _OPERAND.sub("%", written)
        if _UNSTEADY.search(template):
            return None
        results = tuple(each.strip()[1:] for each in match[1].split(",")) if match is not None else ()
        operands = tuple((value[1:], int(index or 0)) for value, index in _OPERAND.findall(written))
        return _Line(template, results, operands, name, end)

    def op_of(self, line: _Line, parser: Parser, dialect: str) -> Operation | None:
        """The op of a line that is like one before (1) to (4); its results have no names yet."""
        known = self._known.get((line.template, dialect))
        if known is None or len(known.result_types) != len(line.results):
            return None
        # (4)
        if any(name in parser.ssa_values or name in parser.forward_ssa_references for name in line.results):
            return None
        values = [_value(parser, *operand) for operand in line.operands]
        for value, type in zip(values, known.operand_types, strict=True):
            if value is None or (value.type is not type and value.type != type):
                return None
        # (2)
        if _NEXT.match(parser.lexer.input.content, line.end) is None:
            return None
        return known.op_class.create(
            operands=[value for value in values if value is not None],
            result_types=known.result_types,
            properties=known.properties,
            attributes=known.attributes,
        )

    def remember(self, line: _Line, op: Operation, parser: Parser, dialect: str) -> None:
        """Remember the op of a line that was parsed, if others may be like it (2) and (3)."""
        if op.regions or op.successors or len(self._known) >= _MOST or not isinstance(op.location, UnknownLoc):
            return
        after = parser.pos
        consumed = after >= line.end and not parser.lexer.input.content[line.end : after].strip()
        in_order = [_value(parser, *operand) for operand in line.operands]
        is_plain = len(set(line.operands)) == len(in_order) == len(op.operands)
        if consumed and is_plain and all(a is b for a, b in zip(in_order, op.operands, strict=True)):
            self._known[line.template, dialect] = _Known(
                type(op),
                tuple(op.operand_types),
                tuple(op.result_types),
                dict(op.properties),
                dict(op.attributes),
            )


def _value(parser: Parser, name: str, index: int) -> SSAValue | None:
    """The value of a name that is defined."""
    values = parser.ssa_values.get(name)
    return values[index] if values is not None and index < len(values) else None
