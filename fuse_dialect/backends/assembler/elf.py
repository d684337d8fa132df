"""Which functions an object file calls that it does not define. Pure functions of bytes."""

import struct
from collections.abc import Iterator

_MAGIC = b"\x7fELF\x02\x01"
"""ELF of 64 bits, little-endian."""
_SYMBOL_TABLE = 2
_SYMBOL_BYTES = 24
_OF_LOADERS = frozenset({"_GLOBAL_OFFSET_TABLE_"})
"""Names that whoever loads an object makes up itself."""


def undefined_symbols(code: bytes) -> list[str]:
    """Names that whoever loads an ELF object must know; none are found in objects of another format.

    Source: System V ABI, Object Files.
    """
    if not code.startswith(_MAGIC):
        return []
    sections = list(_sections(code))
    names: list[str] = []
    for kind, start, size, link in sections:
        if kind != _SYMBOL_TABLE:
            continue
        strings = sections[link][1]
        for place in range(start + _SYMBOL_BYTES, start + size, _SYMBOL_BYTES):  # the first one means "none"
            name, _, _, section = struct.unpack_from("<IBBH", code, place)
            if section == 0:
                names.append(code[strings + name : code.index(b"\0", strings + name)].decode())
    return sorted(set(names) - _OF_LOADERS)


def _sections(code: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, start, bytes and link of each section."""
    (table,) = struct.unpack_from("<Q", code, 0x28)
    bytes_each, count = struct.unpack_from("<HH", code, 0x3A)
    for place in range(table, table + bytes_each * count, bytes_each):
        _, kind, _, _, start, size, link = struct.unpack_from("<IIQQQQI", code, place)
        yield kind, start, size, link
