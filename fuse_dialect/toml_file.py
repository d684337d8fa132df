"""TOML text and the lines of its keys: `tomllib` forgets where a value stood."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from fuse_dialect.diagnostics import FuseError, SourceLocation

_MOST_BYTES = 1 << 20
"""Of a file: what people describe so takes a few thousand."""


@dataclass(frozen=True, slots=True)
class TomlText:
    """A table, and the text that spells it."""

    file: str
    """Name of the text in errors."""
    text: str
    table: Mapping[str, object]
    """Floats are `Decimal`s, so that units are multiplied exactly."""

    def headers(self, name: str) -> list[int]:
        """The lines of the headers `[[name]]` of an array of tables, in order, counted from 1."""
        pattern = re.compile(rf"[ \t]*\[\[[ \t]*{re.escape(name)}[ \t]*\]\]")
        return [number for number, line in enumerate(self.text.splitlines(), 1) if pattern.match(line)]

    def line_of(self, key: str, start: int = 1, end: int | None = None) -> int:
        """The line of the first key of that name from one line up to another; 0 if none spells it plainly."""
        lines = self.text.splitlines()[start - 1 : None if end is None else end - 1]
        return next((n for n, line in enumerate(lines, start) if line.split("=")[0].strip("[ ]\t\"'") == key), 0)


def read_toml(path: Path, what: str) -> TomlText:
    """The TOML in a file.

    Args:
        path: The file.
        what: What it describes, for errors: `machine`.

    Raises:
        FuseError: The file cannot be read, is too large, or is no TOML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FuseError(f"cannot read {what} '{path}': {reason}") from error
    if len(data) > _MOST_BYTES:
        raise FuseError(f"expected a {what} of at most {_MOST_BYTES} bytes", SourceLocation(str(path)))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FuseError("expected text in UTF-8", SourceLocation(str(path))) from error
    return parse_toml(text, str(path))


def parse_toml(text: str, file: str) -> TomlText:
    """What TOML text says.

    Raises:
        FuseError: The text is no TOML, with its place.
    """
    try:
        return TomlText(file, text, tomllib.loads(text, parse_float=Decimal))
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the place stands in the text alone.
        found = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        line, column = map(int, found.groups()) if found else (0, 0)
        message = str(error)[: found.start()] if found else str(error)
        raise FuseError(f"no TOML: {message}", SourceLocation(file, line, column)) from error
    except RecursionError as error:
        raise FuseError("no TOML that can be read: it is nested too deeply", SourceLocation(file)) from error
    except ValueError as error:  # Python bounds the digits of an integer.
        raise FuseError(f"no TOML that can be read: {error}", SourceLocation(file)) from error
