"""Pattern kinds in TOML files, a table for each name.

    [[op]]
    name = "npu.matmul"           # or a pattern of one dialect, "npu.*"
    kind = "out_ewise_fusable"
    edges = ["out_ewise_fusable", "out_ewise_fusable", "elemwise"]  # how each operand is read

    [[op]]
    name = "npu.view"
    kind = "injective"
    reshape_only = true

Which row an op has is said in `kind_rows`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import TypeGuard

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.fusion.kinds.kind_rows import KEYS, NAME_HINT, KindRow, KindTable, is_name_of_rows
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.toml_file import TomlText, read_toml

_KEYWORDS = tuple(kind.keyword for kind in PatternKind)


def read_kinds(paths: "str | PathLike[str] | Iterable[str | PathLike[str]]") -> KindTable:
    """The table of one or more files.

    Raises:
        FuseError: A file cannot be read or is wrong, or two give one name different kinds, with the place.
    """
    some = [paths] if isinstance(paths, str | PathLike) else list(paths)
    return KindTable.of(row for path in some for row in rows_of_file(path))


def rows_of_file(path: "str | PathLike[str]") -> list[KindRow]:
    """The rows of one file.

    Raises:
        FuseError: It cannot be read or is wrong.
    """
    return rows_of(read_toml(Path(fspath(path)), "file of kinds"))


def rows_of(source: TomlText) -> list[KindRow]:
    """The rows that a text spells, in its order.

    Raises:
        FuseError: The text says something else, with the line.
    """
    rows: dict[str, KindRow] = {}
    for each in _tables(source):
        row = each.row()
        if (known := rows.setdefault(row.name, row)) is not row:
            note = f"{known.place}: the first row of this name"
            raise FuseError(f"'{row.name}' has two rows", row.place, (note,), "an op has one kind: remove a row")
    return list(rows.values())


def _tables(source: TomlText) -> Iterator["_Table"]:
    for key in source.table:
        if key != "op":
            hint = "a file of kinds has [[op]] alone, with name and kind"
            raise FuseError(f"unknown key '{key}'", SourceLocation(source.file, source.line_of(key)), hint=hint)
    tables = source.table.get("op", [])
    place = SourceLocation(source.file, source.line_of("op"))
    if not _is_list(tables):
        raise FuseError("expected [[op]], with two brackets", place, hint="each row begins with its own [[op]]")
    if not tables:
        hint = 'write [[op]], then name = "npu.*" and kind = "elemwise"'
        raise FuseError("expected one [[op]] or more", place, hint=hint)
    headers = source.headers("op")
    # Tables in braces have no headers.
    starts = headers if len(headers) == len(tables) else [place.line] * len(tables)
    ends = [*starts[1:], None] if len(headers) == len(tables) else [None] * len(tables)
    for table, start, end in zip(tables, starts, ends, strict=True):
        if not _is_table(table):
            raise FuseError("expected [[op]] to be a table", SourceLocation(source.file, start))
        yield _Table(source, table, start, end)


@dataclass(frozen=True, slots=True)
class _Table:
    """One `[[op]]`, and its lines."""

    source: TomlText
    values: dict[str, object]
    start: int
    end: int | None

    def row(self) -> KindRow:
        """What the table says, checked."""
        for key in self.values:
            if key not in KEYS:
                raise self._error(key, f"unknown key '{key}' of [[op]]", _hint(key, KEYS, "[[op]] has"))
        name, kind = self._text("name"), self._kind("kind", self._text("kind"))
        if not is_name_of_rows(name):
            raise self._error("name", f"'{name}' names no op of a dialect", NAME_HINT)
        edges = self.values.get("edges", [])
        if not _is_list(edges):
            raise self._error("edges", f"expected 'edges' to be a list of kinds, got {edges!r}", _hint("", _KEYWORDS))
        reshape_only = self.values.get("reshape_only", False)
        if not isinstance(reshape_only, bool):
            raise self._error("reshape_only", f"expected 'reshape_only' to be true or false, got {reshape_only!r}")
        place = SourceLocation(self.source.file, self.start)
        return KindRow(name, kind, tuple(self._kind("edges", edge) for edge in edges), reshape_only, place)

    def _text(self, key: str) -> str:
        value = self.values.get(key)
        if value is None:
            hint = NAME_HINT if key == "name" else _hint("", _KEYWORDS)
            raise self._error("", f"expected '{key}' in [[op]]", hint)
        if not isinstance(value, str):
            raise self._error(key, f"expected '{key}' to be a text, got {value!r}")
        return value

    def _kind(self, key: str, value: object) -> PatternKind:
        if not isinstance(value, str) or value not in _KEYWORDS:
            shown = f"'{value}'" if isinstance(value, str) else repr(value)
            raise self._error(key, f"unknown pattern kind {shown}", _hint(str(value), _KEYWORDS))
        return PatternKind.from_keyword(value)

    def _error(self, key: str, message: str, hint: str | None = None) -> FuseError:
        line = self.source.line_of(key, max(1, self.start), self.end) if key else 0
        return FuseError(message, SourceLocation(self.source.file, line or self.start), hint=hint)


def _hint(word: str, known: Iterable[str], what: str = "kinds are") -> str:
    known = tuple(known)
    close = get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"{what} {', '.join(known)}"


def _is_table(value: object) -> "TypeGuard[dict[str, object]]":
    return isinstance(value, dict)


def _is_list(value: object) -> "TypeGuard[list[object]]":
    return isinstance(value, list)
