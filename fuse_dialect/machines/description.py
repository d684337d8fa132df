"""Machines in files: read, and written by whoever measures one.

    name = "my-cpu"
    about = "one core of ..."
    processor = "haswell"  # whose instructions it has; what is left out is as that processor has it
    vector_bytes = 32
    registers = 16
    units = ["fma", "halves"]
    emulated = []          # units of tiles whose instructions are functions, where the processor has none
    line_bytes = 64
    ahead_bytes = 4096     # on their way from memory at once
    cores = 2              # that schedules leave work for
    call_us = 0.5          # microseconds that a kernel costs besides its loops
    product_gflops = 110   # 10^9 operations a second in matrix products and convolutions; a multiply-add is two
    vector_gops = 12       # 10^9 additions a second in other loops
    streams = 32           # most arrays that a kernel should read and write

    [[memory]]             # nearest first
    name = "L1"
    kib = 32
    ways = 8
    gbytes_per_s = 200

    [[memory]]             # the last one holds everything
    name = "memory"
    gbytes_per_s = 12

Rates are given all together, those of `[[memory]]` too, or not at all: then they are those of the class (`with_rates`).
Without a processor a file must give them: such a machine is planned for, and no code is written.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypeGuard

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.machines.environment import NATIVE
from fuse_dialect.machines.host import host_machine
from fuse_dialect.machines.machine import TILES, Cache, Machine, Rates, Unit
from fuse_dialect.machines.processors import PROCESSORS, class_of, features_of, machine_of
from fuse_dialect.toml_file import TomlText, read_toml

SHIPPED = Path(__file__).parent / "shipped"
"""Folder of the machines that come with the package."""
_WAYS = 8
_MICRO, _GIGA, _KIB = Decimal("1e-6"), Decimal(10**9), Decimal(1024)
"""Units of numbers in files. What is read is multiplied exactly, so that any number can be written."""
_SIZES = ("vector_bytes", "registers", "line_bytes", "ahead_bytes", "cores")
KEYS = ("name", "about", "processor", "units", "emulated", *_SIZES)
RATE_KEYS = ("call_us", "product_gflops", "vector_gops", "streams")
LEVEL_KEYS = ("name", "kib", "ways", "gbytes_per_s")
UNITS = {str(unit.name).lower().replace("_", "-"): unit for unit in Unit}


@cache
def shipped_machine(name: str) -> Machine:
    """One that comes with the package."""
    return read_machine(SHIPPED / f"{name}.toml")


def read_machine(path: Path) -> Machine:
    """The machine in a file.

    Raises:
        FuseError: The file cannot be read, or describes no machine, with its place.
    """
    found = read_toml(path, "machine")
    return _Reader(found).machine(found.table)


def with_rates(machine: Machine) -> Machine:
    """The machine with rates: its own, or those of its class, each cache as fast as the one at its place there."""
    if machine.rates is not None:
        return machine
    rates = shipped_machine(class_of(machine)).rates
    assert rates is not None, "machines of the package have rates"
    *near, memory = rates.speeds
    beyond = [memory] * max(0, len(machine.caches) - len(near))
    return replace(machine, rates=replace(rates, speeds=(*near[: len(machine.caches)], *beyond, memory)))


def description_of(machine: Machine, about: str = "") -> str:
    """The text of a file that describes a machine: reading it gives an equal one."""
    return "\n".join(_lines(machine, about)) + "\n"


def _lines(machine: Machine, about: str) -> Iterator[str]:
    yield f"name = {_quoted(machine.name)}"
    if about:
        yield f"about = {_quoted(about)}"
    if machine.processor:
        yield f"processor = {_quoted(machine.processor)}"
    yield from (f"{size} = {getattr(machine, size)}" for size in _SIZES)
    yield f"units = [{', '.join(_quoted(name) for name, unit in UNITS.items() if unit in machine.units)}]"
    if machine.emulated:
        yield f"emulated = [{', '.join(_quoted(name) for name, unit in UNITS.items() if unit in machine.emulated)}]"
    rates = machine.rates
    if rates is not None:
        yield f"call_us = {_number(rates.call, _MICRO)}"
        yield f"product_gflops = {_number(rates.products, _GIGA)}"
        yield f"vector_gops = {_number(rates.vectors, _GIGA)}"
        yield f"streams = {rates.streams}"
    for level, known in enumerate((*machine.caches, None)):
        yield "\n[[memory]]"
        yield f'name = "{f"L{level + 1}" if known is not None else "memory"}"'
        if known is not None:
            yield f"kib = {_number(known.bytes, _KIB)}\nways = {known.ways}"
        if rates is not None:
            yield f"gbytes_per_s = {_number(rates.speeds[level], _GIGA)}"


def _quoted(text: str) -> str:
    # A basic string of TOML has the escapes of JSON, but for those of surrogates.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


def _number(value: float, unit: Decimal) -> str:
    """The shortest number of the unit that reads as the value."""
    exact = Decimal(value) / unit
    shortest = (f"{exact:.{digits}g}" for digits in range(1, 18))
    text = next((text for text in shortest if float(Decimal(text) * unit) == value), f"{exact:.18g}")
    return f"{Decimal(text):f}"


class _Reader:
    """Checks a table and makes a machine of it; errors know the line of the key."""

    def __init__(self, source: TomlText):
        self.source = source

    def machine(self, table: Mapping[str, object]) -> Machine:
        self._check_keys(table, (*KEYS, *RATE_KEYS, "memory"), "a machine")
        name, processor = self._text(table, "name"), self._text(table, "processor", "")
        base = self._processor(processor) if processor else Machine(name)
        sizes = {size: self._whole(table, size, getattr(base, size)) for size in _SIZES}
        units = self._units("units", table["units"]) if "units" in table else base.units
        emulated = self._units("emulated", table.get("emulated", []))
        if emulated & ~TILES:
            tiles = ", ".join(name for name, unit in UNITS.items() if unit in TILES)
            raise self._error("emulated", "expected 'emulated' to be units of tiles", f"there are {tiles}")
        levels = self._levels(table)
        is_timed = not processor or any(key in table for key in RATE_KEYS) or any("gbytes_per_s" in at for at in levels)
        rates = self._rates(table, levels) if is_timed else None
        caches = self._caches(levels) if levels else base.caches
        try:
            return Machine(
                name,
                units=units | emulated,
                caches=caches,
                processor=processor,
                rates=rates,
                emulated=emulated,
                **sizes,
            )
        except ValueError as error:
            key = next((size for size in sizes if size in str(error)), "memory")
            raise self._error(key, str(error).removeprefix(f"machine '{name}': ")) from error

    def _processor(self, name: str) -> Machine:
        if name == NATIVE:
            return host_machine()
        if name not in PROCESSORS:
            close = get_close_matches(name, PROCESSORS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {NATIVE}, {', '.join(sorted(PROCESSORS))}"
            raise self._error("processor", f"unknown processor '{name}'", hint)
        return machine_of(name, features_of(name))

    def _units(self, key: str, names: object) -> Unit:
        units = Unit.NONE
        if not _is_list(names):
            raise self._error(key, f"expected '{key}' to be a list of names, got {names!r}")
        for name in names:
            if not isinstance(name, str) or name not in UNITS:
                close = get_close_matches(str(name), UNITS, n=1)
                hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(UNITS)}"
                raise self._error(key, f"unknown unit {name!r}", hint)
            units |= UNITS[name]
        return units

    def _levels(self, table: Mapping[str, object]) -> list[Mapping[str, object]]:
        """The tables of memory, checked but for their numbers; none if there are none."""
        tables, levels = table.get("memory", []), list[Mapping[str, object]]()
        if not _is_list(tables):
            raise self._error("memory", "expected [[memory]] to be tables")
        for place, level in enumerate(tables):
            if not _is_table(level):
                raise self._error("memory", "expected [[memory]] to be a table")
            self._check_keys(level, LEVEL_KEYS, "a memory level")
            name = level.get("name")
            if not isinstance(name, str) or not name:
                raise self._error("memory", "expected 'name' of a memory level to be a text")
            if place == len(tables) - 1 and "kib" in level:
                raise self._error("kib", f"expected the last level, '{name}', to have no 'kib': it holds everything")
            levels.append(level)
        if len(levels) == 1:
            raise self._error("memory", f"expected a cache before the memory, '{levels[0]['name']}'")
        return levels

    def _caches(self, levels: list[Mapping[str, object]]) -> tuple[Cache, ...]:
        caches: list[Cache] = []
        for level in levels[:-1]:
            size = int(self._number(level, "kib", _KIB))
            if caches and size <= caches[-1].bytes:
                raise self._error("kib", f"expected level '{level['name']}' to be larger than the one before")
            try:
                caches.append(Cache(size, self._whole(level, "ways", _WAYS)))
            except ValueError as error:
                key = "ways" if "ways" in level and "ways" in str(error) else "kib"
                raise self._error(key, str(error)) from error
        return tuple(caches)

    def _rates(self, table: Mapping[str, object], levels: list[Mapping[str, object]]) -> Rates:
        if not levels:
            raise self._error("memory", "expected one [[memory]] or more", "the last one has no 'kib': the memory")
        streams = self._whole(table, "streams", 32)
        if streams < 4:
            raise self._error("streams", f"expected 'streams' to be a whole number from 4, got {streams}")
        return Rates(
            self._number(table, "call_us", _MICRO),
            self._number(table, "product_gflops", _GIGA),
            self._number(table, "vector_gops", _GIGA),
            tuple(self._number(level, "gbytes_per_s", _GIGA) for level in levels),
            streams,
        )

    def _check_keys(self, table: Mapping[str, object], known: tuple[str, ...], what: str) -> None:
        for key in table:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean '{close[0]}'?" if close else f"{what} has {', '.join(known)}"
                raise self._error(key, f"unknown key '{key}' of {what}", hint)

    def _text(self, table: Mapping[str, object], key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or (not value and default is None):
            raise self._error(key, f"expected '{key}' to be a text")
        return value

    def _number(self, table: Mapping[str, object], key: str, unit: Decimal) -> float:
        value = table.get(key)
        if value is None:
            of = f" of memory level '{table['name']}'" if key in LEVEL_KEYS else ""
            raise self._error("", f"expected '{key}'{of}", "a machine without this number cannot be compared")
        found = 0.0
        # Through floats, because a Decimal may be nan or beyond all bounds, and says so by errors of its own.
        if isinstance(value, int | Decimal) and not isinstance(value, bool) and 0 < _as_float(value) < math.inf:
            found = float(value * unit)
        if not 0 < found < math.inf:
            raise self._error(key, f"expected '{key}' to be a number above 0, got {_shown(value)}")
        return found

    def _whole(self, table: Mapping[str, object], key: str, default: int) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not _is_whole(value):
            raise self._error(key, f"expected '{key}' to be a whole number above 0, got {_shown(value)}")
        return int(value)

    def _error(self, key: str, message: str, hint: str | None = None) -> FuseError:
        return FuseError(message, SourceLocation(self.source.file, self.source.line_of(key)), hint=hint)


def _as_float(value: int | Decimal) -> float:
    return math.inf if isinstance(value, int) and abs(value) >= 1 << 1000 else float(value)


def _is_whole(value: int | Decimal) -> bool:
    return 1 <= _as_float(value) < 1 << 62 and value == int(value)


def _shown(value: object) -> str:
    return str(float(value)) if isinstance(value, Decimal) else repr(value)


def _is_table(value: object) -> "TypeGuard[dict[str, object]]":
    return isinstance(value, dict)


def _is_list(value: object) -> "TypeGuard[list[object]]":
    return isinstance(value, list)
