"""`expected-error {{...}}` in comments of a test, as mlir-opt's `--verify-diagnostics` reads it.

A designator stands anywhere in a line and means a diagnostic at that line, or at another one:

    expected-error {{text}}          the message contains the text; warning, note and remark likewise
    expected-error@+1 {{text}}       one line further down; -1, above and below (the next line without a designator)
    expected-error@unknown {{text}}  a diagnostic without a place in this file
    expected-error-re {{a {{b+}}}}   what stands in the inner braces is a regular expression

Every designator must be met by a diagnostic of its own, and every diagnostic meet one.

Differs from MLIR: notes that have no place of their own, such as "while running pass 'cse'", may be left out.
Source: MLIR `SourceMgrDiagnosticVerifierHandler`, mlir/lib/IR/Diagnostics.cpp.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuse_dialect.diagnostics import Diagnostic, Severity, SourceLocation
from fuse_dialect.loading.source import Source

_DESIGNATOR = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}\s*$"
)
_PLACED_NOTE = re.compile(r"(.*):([0-9]+):[0-9]+: (.*)")


@dataclass(frozen=True, slots=True)
class Expectation:
    """A diagnostic that a test expects."""

    kind: str
    """`error`, `warning`, `note` or `remark`."""
    line: int
    """Where, counted from 1 in the whole file; 0 for a diagnostic without a place in it."""
    text: str
    """What stands in the braces."""
    pattern: re.Pattern[str]
    """What the message contains."""
    written_at: int
    """Line of the designator."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A diagnostic, or one of its notes, as the tool gave it."""

    kind: str
    line: int
    message: str
    is_required: bool
    """Whether a test must expect it."""


def has_expectations(sources: Sequence[Source]) -> bool:
    """Whether any part of an input expects a diagnostic."""
    return any(_DESIGNATOR.search(line) for source in sources for line in _lines(source))


def expectations(source: Source) -> list[Expectation]:
    """What a source expects, in the order of its lines."""
    lines = _lines(source)
    found: list[Expectation] = []
    waiting: list[tuple[re.Match[str], int]] = []  # designators with `@below`
    plain = 0  # the last line without a designator, or 0
    for number, line in enumerate(lines, 1 + source.line_offset):
        match = _DESIGNATOR.search(line)
        if match is None:
            found += [_expectation(each, number, at) for each, at in waiting]
            waiting, plain = [], number
        elif match[3] == "below":
            waiting.append((match, number))
        elif match[3] in ("above", "unknown"):
            found.append(_expectation(match, plain if match[3] == "above" else 0, number))
        else:
            found.append(_expectation(match, number + int(match[3] or 0), number))
    # No line is below: nothing can meet them.
    return found + [_expectation(each, at, at) for each, at in waiting]


def _lines(source: Source) -> list[str]:
    return source.data.decode("utf-8", "replace").split("\n")


def _expectation(match: re.Match[str], line: int, written_at: int) -> Expectation:
    kind, is_regex, _, text = match.groups()
    parts = re.split(r"\{\{(.*?)\}\}", text) if is_regex else [text]
    # Every other part stood in braces of its own.
    spelled = "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))
    try:
        pattern = re.compile(spelled)
    except re.error:
        pattern = re.compile(re.escape(text))
    return Expectation(kind, line, text, pattern, written_at)


def disagreements(source: Source, given: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors for what was given and not expected, then for what was expected and not given."""
    pending = expectations(source)
    errors: list[Diagnostic] = []
    for told in (told for diagnostic in given for told in _told(diagnostic, source.name)):
        met = next((each for each in pending if _meets(told, each)), None)
        if met is not None:
            pending.remove(met)
        elif told.is_required:
            place = SourceLocation(source.name, told.line, 1 if told.line else 0)
            errors.append(Diagnostic(Severity.ERROR, f"unexpected {told.kind}: {told.message}", place))
    for each in pending:
        place = SourceLocation(source.name, each.written_at, 1)
        errors.append(Diagnostic(Severity.ERROR, f'expected {each.kind} "{each.text}" was not produced', place))
    return errors


def _meets(told: _Told, expected: Expectation) -> bool:
    same_place = (told.kind, told.line) == (expected.kind, expected.line)
    return same_place and expected.pattern.search(told.message) is not None


def _told(diagnostic: Diagnostic, name: str) -> Iterator[_Told]:
    """The diagnostic, and its notes."""
    location = diagnostic.location
    line = location.line if location is not None and location.file == name else 0
    yield _Told(diagnostic.severity.value, line, diagnostic.message, is_required=True)
    for note in diagnostic.notes:
        placed = _PLACED_NOTE.fullmatch(note)
        if placed is not None and placed[1] == name:
            yield _Told("note", int(placed[2]), placed[3], is_required=True)
        else:
            yield _Told("note", line, note, is_required=False)
