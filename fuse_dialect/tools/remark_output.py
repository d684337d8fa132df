"""Remarks as text, JSON or YAML."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from fuse_dialect.diagnostics import Diagnostic, Severity, SourceLocation, printable
from fuse_dialect.remarks.rows import RemarkRow

MOST_NAMES = 4
"""Ops of equal remarks that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class PlacedRemark:
    """A remark, and where its op stands. The pass moves the op afterwards, so what depends on that is known before."""

    row: RemarkRow
    location: SourceLocation | None
    fields: Mapping[str, int | str]
    """All that is known; `line` and `column` are 0 if only the file is."""

    @classmethod
    def of(cls, row: RemarkRow, location: SourceLocation | None) -> Self:
        """A remark on an op that has not moved yet."""
        place = location or SourceLocation("")
        return cls(row, location, {**row.as_json(), "file": place.file, "line": place.line, "column": place.column})

    def diagnostic(self) -> Diagnostic:
        """The remark with all that is known, as compilers print it."""
        is_text = self.location is not None and self.location.line
        names = [] if is_text else [f"%{result.name_hint}" for result in self.row.op.results if result.name_hint]
        notes = (self.row.explanation, *([f"the op gives {', '.join(names)}"] if names else []))
        return Diagnostic(Severity.REMARK, self.row.message, self.location, notes)


def text_lines(remarks: Sequence[PlacedRemark], *, verbose: bool) -> Iterator[str]:
    """A line for each remark, then a summary.

    Ops of a text have a place of their own. For those of a model the file is named once, and the names that the model
    has for them stand in front; remarks that are equal but for the names are one line.
    """
    if verbose:
        for remark in remarks:
            yield remark.diagnostic().format()
    else:
        placed = [remark for remark in remarks if remark.location is not None and remark.location.line]
        for remark in placed:
            yield Diagnostic(Severity.REMARK, remark.row.message, remark.location).format()
        others = [remark for remark in remarks if remark.location is None or not remark.location.line]
        by_file: dict[str, list[RemarkRow]] = {}
        for remark in others:
            by_file.setdefault("" if remark.location is None else remark.location.file, []).append(remark.row)
        for file, rows in by_file.items():
            count = f"{len(rows)} remark{'s' if len(rows) > 1 else ''}"
            yield printable(f"{file}: {count}" if file else count)
            yield from (printable(f"  {line}") for line in _counted(rows))
    yield from _summary(remark.row for remark in remarks)


def _counted(rows: Iterable[RemarkRow]) -> Iterator[str]:
    """Equal remarks once, with the names of their ops."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.message, []).append(row.source or row.value or "an op")
    for message, ops in names.items():
        distinct = list(dict.fromkeys(ops))
        more = f" and {len(distinct) - MOST_NAMES} more" if len(distinct) > MOST_NAMES else ""
        times = f" ({len(ops)} times)" if len(ops) > 1 else ""
        yield f"{', '.join(distinct[:MOST_NAMES])}{more}: {message}{times}"


def _summary(rows: Iterable[RemarkRow]) -> Iterator[str]:
    """For each pass and type how often each code comes."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts.setdefault((row.pass_name, row.type.value), Counter())[row.code] += 1
    for (name, type), codes in counts.items():
        listed = " ".join(f"{code}={count}" for code, count in codes.most_common())
        yield f"{name}: {codes.total()} {type}: {listed}"


def json_text(remarks: Sequence[PlacedRemark]) -> str:
    """A list of objects, one a line."""
    rows = ",\n".join(json.dumps(remark.fields) for remark in remarks)
    return f"[\n{rows}\n]\n" if rows else "[]\n"


def yaml_text(remarks: Sequence[PlacedRemark]) -> str:
    """A document for each remark, tagged with its type, as LLVM writes them; every value is quoted as in JSON."""
    parts: list[str] = []
    for remark in remarks:
        type = str(remark.fields["type"])
        fields = {name: value for name, value in remark.fields.items() if name != "type"}
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items())
        parts.append(f"--- !{type.capitalize()}\n{lines}...\n")
    return "".join(parts)
