"""Object files joined to one block of machine code that may lie anywhere: pure functions of bytes.

1. Sections that are in memory follow each other, each at its alignment; behind them lies one table of addresses
   (System V's global offset table): a word for each function of the process that is called, and for each of the block
   that code looks up there.
2. Everything else that code refers to is at a fixed distance from it, and is filled in here. So only that table is left
   to whoever loads the block.
3. What is not known here, another format, processor or kind of reference, is refused: who asked goes on without.

LLVM's loader does the same and more, but it takes longer to import than a small program to run.

Source: System V ABI, Object Files; its AMD64 supplement, Relocation (with the large code model).
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_MAGIC = b"\x7fELF\x02\x01"
"""ELF of 64 bits, little-endian."""
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _WITH_ADDENDS, _NO_BITS, _WITHOUT_ADDENDS = 2, 4, 8, 9
_IN_MEMORY, _WRITABLE = 2, 1
_UNDEFINED, _RESERVED = 0, 0xFF00
_SYMBOL_BYTES = _RELOCATION_BYTES = 24
_SECTION = struct.Struct("<IIQQQQIIQQ")
_WORD = 8
_ALIGNMENT = 64
_TABLE = "_GLOBAL_OFFSET_TABLE_"
_UNWINDING = ".eh_frame"
"""Left out: nothing is thrown through generated code."""

# Relocations, by number: value minus the place itself, in 4 or 8 bytes; and what the large code model has.
_TO_SYMBOL_4 = frozenset({2, 4})  # PC32, PLT32
_TO_SYMBOL_8 = 24  # PC64
_TO_WORD_4 = frozenset({9, 41, 42})  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_FROM_TABLE_TO_SYMBOL = 25  # GOTOFF64
_TO_TABLE_4, _TO_TABLE_8 = 26, 29  # GOTPC32, GOTPC64
_FROM_TABLE_TO_WORD = 27  # GOT64


class LinkError(ValueError):
    """An object holds what is not known here; the text says what."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A block of machine code, to be copied to an address that is a multiple of a page."""

    code: bytes
    symbols: Sequence[Mapping[str, int]]
    """Of each object, the offsets of its functions by name."""
    imports: Mapping[str, int]
    """Functions of the process, and the offsets of the words that their addresses are written to."""
    inside: Mapping[int, int]
    """Words that get the address of a place in the block: their offsets, and those of the places."""


def link(objects: Sequence[bytes]) -> Linked:
    """Join objects.

    Args:
        objects: ELF files as LLVM makes them, position independent.

    Raises:
        LinkError: An object is of another format, or refers to something in a way that is not known here.
    """
    linking = _Linking()
    try:
        placed = [linking.place(_Object(data)) for data in objects]
        # Condition 1: the table's place is known when all sections have theirs.
        linking.begin_table()
        for each in placed:
            linking.relocate(each)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise LinkError(f"an object is damaged: {error}") from error
    linking.end_table()
    return Linked(bytes(linking.code), [each.functions() for each in placed], linking.imports, linking.inside)


class _Object:
    """The sections of an object file."""

    def __init__(self, data: bytes):
        if not data.startswith(_MAGIC) or struct.unpack_from("<HH", data, 16) != (_RELOCATABLE, _X86_64):
            raise LinkError("an object is not for this kind of processor")
        self.data = data
        (table,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        places = range(table, table + size * count, size) if size else ()
        self.sections: list[tuple[int, ...]] = [_SECTION.unpack_from(data, place) for place in places]
        self._names = self.sections[names][4]
        found = [section for section in self.sections if section[1] == _SYMBOLS]
        if len(found) != 1:
            raise LinkError("an object has no table of symbols")
        start, size, strings = found[0][4:7]
        names_at = self.sections[strings][4]
        self.symbols = [
            _Symbol(*struct.unpack_from("<IBBHQQ", data, place), data, names_at)
            for place in range(start, start + size, _SYMBOL_BYTES)
        ]

    def name(self, index: int) -> str:
        """The name of a section."""
        return _text(self.data, self._names + self.sections[index][0])


class _Symbol:
    """A name of an object, and what it stands for."""

    def __init__(self, name: int, info: int, _: int, section: int, value: int, __: int, data: bytes, strings: int):
        self.name = _text(data, strings + name)
        self.kind, self.section, self.value = info & 15, section, value


@dataclass(slots=True)
class _Placed:
    """An object, and where its sections are in the block."""

    object: _Object
    places: dict[int, int] = field(default_factory=dict[int, int])

    def functions(self) -> dict[str, int]:
        """Offsets of the functions."""
        found = (symbol for symbol in self.object.symbols if symbol.kind == 2 and symbol.section in self.places)
        return {symbol.name: self.places[symbol.section] + symbol.value for symbol in found}


@dataclass(slots=True)
class _Linking:
    code: bytearray = field(default_factory=bytearray)
    imports: dict[str, int] = field(default_factory=dict[str, int])
    inside: dict[int, int] = field(default_factory=dict[int, int])
    _table: int = 0
    _words: dict[int, int] = field(default_factory=dict[int, int])
    """Words of the table for places of the block, by those places."""

    def place(self, object: _Object) -> _Placed:
        """Append the sections of an object that are in memory."""
        placed = _Placed(object)
        for index, (_, kind, flags, _, start, size, _, _, alignment, _) in enumerate(object.sections):
            if not flags & _IN_MEMORY or object.name(index) == _UNWINDING:
                continue
            if flags & _WRITABLE or kind == _NO_BITS:
                raise LinkError(f"an object writes to its section '{object.name(index)}'")
            # Of LLVM's alignments none is wider than a page; a wider one could not be kept.
            self._align(min(max(alignment, _ALIGNMENT), 4096))
            placed.places[index] = len(self.code)
            self.code += object.data[start : start + size]
        return placed

    def _align(self, alignment: int) -> None:
        self.code += bytes(-len(self.code) % alignment)

    def begin_table(self) -> None:
        """Put the table of addresses behind everything that has been placed."""
        self._align(_ALIGNMENT)
        self._table = len(self.code)

    def end_table(self) -> None:
        """Make room for the words that were asked for."""
        self.code += bytes(_WORD * (len(self.imports) + len(self.inside)))

    def relocate(self, placed: _Placed) -> None:
        """Fill in what the sections of an object refer to."""
        for _, kind, _, _, start, size, _, target, _, _ in placed.object.sections:
            if target not in placed.places:
                continue
            if kind == _WITHOUT_ADDENDS:
                raise LinkError("an object has relocations without addends")
            if kind != _WITH_ADDENDS:
                continue
            for entry in range(start, start + size, _RELOCATION_BYTES):
                offset, info, addend = struct.unpack_from("<QQq", placed.object.data, entry)
                symbol = placed.object.symbols[info >> 32]
                self._fill(placed, symbol, info & 0xFFFFFFFF, placed.places[target] + offset, addend)

    def _fill(self, placed: _Placed, symbol: _Symbol, kind: int, place: int, addend: int) -> None:
        """One reference: condition 2."""
        if kind in _TO_SYMBOL_4:
            self._write("<i", place, self._value(placed, symbol) + addend - place)
        elif kind == _TO_SYMBOL_8:
            self._write("<q", place, self._value(placed, symbol) + addend - place)
        elif kind in _TO_WORD_4:
            self._write("<i", place, self._word(placed, symbol) + addend - place)
        elif kind == _FROM_TABLE_TO_SYMBOL:
            self._write("<q", place, self._value(placed, symbol) + addend - self._table)
        elif kind == _FROM_TABLE_TO_WORD:
            self._write("<q", place, self._word(placed, symbol) + addend - self._table)
        elif kind == _TO_TABLE_4:
            self._write("<i", place, self._table + addend - place)
        elif kind == _TO_TABLE_8:
            self._write("<q", place, self._table + addend - place)
        else:
            raise LinkError(f"an object has a relocation of the unknown kind {kind}")

    def _write(self, form: str, place: int, value: int) -> None:
        struct.pack_into(form, self.code, place, value)

    def _value(self, placed: _Placed, symbol: _Symbol) -> int:
        """Where a symbol of the block is."""
        if symbol.name == _TABLE:
            return self._table
        if symbol.section == _UNDEFINED or symbol.section >= _RESERVED or symbol.section not in placed.places:
            raise LinkError(f"an object refers to '{symbol.name}' by its distance")
        return placed.places[symbol.section] + symbol.value

    def _word(self, placed: _Placed, symbol: _Symbol) -> int:
        """Where the address of a symbol will be."""
        free = self._table + _WORD * (len(self.imports) + len(self.inside))
        if symbol.section == _UNDEFINED and symbol.name:
            return self.imports.setdefault(symbol.name, free)
        value = self._value(placed, symbol)
        word = self._words.setdefault(value, free)
        self.inside[word] = value
        return word


def _text(data: bytes, place: int) -> str:
    end = data.index(b"\0", place)
    return data[place:end].decode()
