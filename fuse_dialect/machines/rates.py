"""What a machine is worth: how fast it computes and moves data, as a few numbers in a file.

    name = "my-cpu"
    about = "one core of ..."
    call_us = 0.5          # microseconds that a kernel costs besides its loops
    product_gflops = 110   # 10^9 operations a second in matrix products and convolutions; a multiply-add is two
    vector_gops = 12       # 10^9 additions a second in other loops
    streams = 32           # most arrays that a kernel should read and write

    [[memory]]             # nearest first
    name = "L1"
    kib = 32
    gbytes_per_s = 200

    [[memory]]             # the last one holds everything
    name = "memory"
    gbytes_per_s = 12

A value that fits into half of a level is read and written at that level's speed. The other half is for the rest.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypeGuard

from fuse_dialect.diagnostics import FuseError, SourceLocation

SHIPPED = Path(__file__).parent / "shipped"
"""Folder of the machines that come with the package."""
DEFAULT = "cpu-avx512"
_MOST_BYTES = 1 << 20
"""Of a file: a description takes less than a thousand."""


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A cache, or the memory."""

    name: str
    bytes: float
    """Infinite for the memory."""
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The numbers of a machine, in seconds, bytes and operations."""

    name: str
    call: float
    """Seconds of a kernel besides its loops."""
    products: float
    """Operations a second in products; a multiply-add is two."""
    vectors: float
    """Additions a second in other loops."""
    streams: int
    """Most arrays of a kernel."""
    memory: tuple[MemoryLevel, ...]
    """Nearest first."""

    def moving(self, bytes: float, resident: float | None = None) -> float:
        """Seconds of reading or writing once.

        Args:
            bytes: How many are moved.
            resident: Bytes of what they are a part of, which decides where that lies; by default the same.
        """
        size = bytes if resident is None else resident
        level = next((level for level in self.memory if size <= level.bytes / 2), self.memory[-1])
        return bytes / level.bytes_per_second


def find_rates(machine: str) -> Rates:
    """The machine of that name, or in that file.

    Args:
        machine: A name of those that come with the package, or the path of a file that ends in `.toml`.

    Raises:
        FuseError: There is none, or its file is wrong.
    """
    if machine.endswith(".toml"):
        return _read(Path(machine))
    if machine in shipped():
        return _shipped(machine)
    close = get_close_matches(machine, shipped(), n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(shipped())}, or the path of a .toml file"
    raise FuseError(f"no machine '{machine}'", hint=hint)


@cache
def shipped() -> tuple[str, ...]:
    """Names of the machines that come with the package."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


@cache
def _shipped(name: str) -> Rates:
    return _read(SHIPPED / f"{name}.toml")


def _read(path: Path) -> Rates:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FuseError(f"cannot read machine '{path}': {reason}") from error
    if len(data) > _MOST_BYTES:
        raise FuseError(f"expected a machine of at most {_MOST_BYTES} bytes", SourceLocation(str(path)))
    try:
        text = data.decode()
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise FuseError("expected text in UTF-8", SourceLocation(str(path))) from error
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the place stands in the text alone.
        found = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        line, column = map(int, found.groups()) if found else (0, 0)
        text = str(error)[: found.start()] if found else str(error)
        raise FuseError(f"no TOML: {text}", SourceLocation(str(path), line, column)) from error
    return _Reader(str(path), text).rates(table)


_KEYS = ("name", "about", "call_us", "product_gflops", "vector_gops", "streams", "memory")
_LEVEL_KEYS = ("name", "kib", "gbytes_per_s")


class _Reader:
    """Checks a table and makes numbers of it; errors know the line of the key."""

    def __init__(self, file: str, text: str):
        self.file = file
        self.lines = text.splitlines()

    def rates(self, table: Mapping[str, object]) -> Rates:
        self._check_keys(table, _KEYS, "a machine")
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise self._error("name", "expected 'name' to be a text")
        levels = table.get("memory")
        if not _is_list(levels) or not levels:
            raise self._error("memory", "expected one [[memory]] or more", "the last one has no 'kib': the memory")
        streams = self._number(table, "streams", 32)
        if streams != int(streams) or streams < 4:
            raise self._error("streams", f"expected 'streams' to be a whole number from 4, got {streams}")
        return Rates(
            name,
            self._number(table, "call_us") * 1e-6,
            self._number(table, "product_gflops") * 1e9,
            self._number(table, "vector_gops") * 1e9,
            int(streams),
            self._levels(levels),
        )

    def _levels(self, tables: list[object]) -> tuple[MemoryLevel, ...]:
        levels: list[MemoryLevel] = []
        for place, table in enumerate(tables):
            if not _is_table(table):
                raise self._error("memory", "expected [[memory]] to be a table")
            self._check_keys(table, _LEVEL_KEYS, "a memory level")
            name, is_last = table.get("name"), place == len(tables) - 1
            if not isinstance(name, str) or not name:
                raise self._error("memory", "expected 'name' of a memory level to be a text")
            if is_last and "kib" in table:
                raise self._error("kib", f"expected the last level, '{name}', to have no 'kib': it holds everything")
            size = math.inf if is_last else self._number(table, "kib") * 1024
            if levels and size <= levels[-1].bytes:
                raise self._error("kib", f"expected level '{name}' to be larger than '{levels[-1].name}'")
            levels.append(MemoryLevel(name, size, self._number(table, "gbytes_per_s") * 1e9))
        return tuple(levels)

    def _check_keys(self, table: Mapping[str, object], known: tuple[str, ...], what: str) -> None:
        for key in table:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean '{close[0]}'?" if close else f"{what} has {', '.join(known)}"
                raise self._error(key, f"unknown key '{key}' of {what}", hint)

    def _number(self, table: Mapping[str, object], key: str, default: float | None = None) -> float:
        value = table.get(key, default)
        if value is None:
            raise self._error(key, f"expected '{key}'", "a machine without this number cannot be compared")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self._error(key, f"expected '{key}' to be a number above 0, got {value!r}")
        return float(value)

    def _error(self, key: str, message: str, hint: str | None = None) -> FuseError:
        line = next((n for n, text in enumerate(self.lines, 1) if text.split("=")[0].strip("[ ]\t") == key), 0)
        return FuseError(message, SourceLocation(self.file, line), hint=hint)


def _is_table(value: object) -> "TypeGuard[dict[str, object]]":
    return isinstance(value, dict)


def _is_list(value: object) -> "TypeGuard[list[object]]":
    return isinstance(value, list)
