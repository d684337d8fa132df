"""The container of a saved program: a zip whose members are stored as they are, so that they can be mapped.

1. Members are not compressed, and each begins at a multiple of `ALIGNMENT` bytes of the file. Any tool for zips lists
   and extracts them. `zipfile` writes them; reading takes only the directory at the end, and imports nothing.
2. What is read is checked: the directory is at the end of the file, is small, and names few members; each is inside of
   the file, is stored as it is, and overlaps no other. CRCs are not looked at, because a manifest has better hashes.

Source: PKWARE, .ZIP File Format Specification (APPNOTE), 4.3 and 4.5.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import BinaryIO

ALIGNMENT = 64
MOST_MEMBERS = 64
_MOST_DIRECTORY = 1 << 16
"""Bytes of the directory."""
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END_64, _LOCATOR_64 = b"PK\x06\x06", b"PK\x06\x07"
_LOCAL_HEAD = struct.Struct("<4s5H3I2H")
_CENTRAL_HEAD = struct.Struct("<4s6H3I5H2I")
_END_HEAD = struct.Struct("<4s4H2IH")
_END_64_HEAD = struct.Struct("<4sQ2H2I4Q")
_LOCATOR_HEAD = struct.Struct("<4sIQI")
_IN_64 = 0xFFFFFFFF
"""Instead of a number that stands in the extra field of zip64."""
_ZIP64, _PADDING = 0x0001, 0xD935
"""Kinds of extra fields; the second is that by which Android's zipalign pads."""
_ZIP64_BYTES = 20
"""Of the extra field that `zipfile` adds to the head of a member that may be large."""
_LARGE = 1 << 30
_CHUNK = 1 << 23
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)


class ArchiveError(ValueError):
    """A file is no such container; the text says why."""


def write_archive(stream: BinaryIO, members: "Iterable[tuple[str, Sequence[bytes | memoryview]]]") -> None:
    """Write members, each made of pieces, in order. Equal members give equal bytes.

    Args:
        stream: An empty file, open for writing.
        members: Names and contents; each is asked for when the one before has been written.

    Raises:
        OSError: The file cannot be written.
    """
    from zipfile import ZIP_STORED, ZipFile, ZipInfo

    with ZipFile(stream, "w", ZIP_STORED) as archive:
        for name, pieces in members:
            info = ZipInfo(name, _FIRST_DAY)
            info.external_attr = 0o644 << 16
            info.file_size = sum(memoryview(piece).nbytes for piece in pieces)
            is_large = info.file_size >= _LARGE
            head = _LOCAL_HEAD.size + len(name.encode()) + (_ZIP64_BYTES if is_large else 0) + 4
            info.extra = struct.pack("<HH", _PADDING, pad := -(stream.tell() + head) % ALIGNMENT) + bytes(pad)
            with archive.open(info, "w", force_zip64=is_large) as member:
                for piece in pieces:
                    view = memoryview(piece).cast("B")
                    for start in range(0, len(view), _CHUNK):
                        member.write(view[start : start + _CHUNK])


def read_archive(data: memoryview) -> dict[str, memoryview]:
    """The members of a container by name, as views of its bytes.

    Raises:
        ArchiveError: It is none, or is damaged.
    """
    try:
        return _members(data)
    except (struct.error, UnicodeDecodeError) as error:
        raise ArchiveError(f"its directory is damaged: {error}") from error


def _members(data: memoryview) -> dict[str, memoryview]:
    count, size, start = _directory(data)
    if count > MOST_MEMBERS or size > _MOST_DIRECTORY or start + size > len(data):
        raise ArchiveError("its directory is too large, or not in the file")
    members: dict[str, memoryview] = {}
    taken: list[tuple[int, int]] = []
    place, end = start, start + size
    for _ in range(count):
        head = _CENTRAL_HEAD.unpack(data[place : place + _CENTRAL_HEAD.size])
        signature, flags, method = head[0], head[3], head[4]
        packed, plain, names, extras, comments, local = *head[8:13], head[16]
        place += _CENTRAL_HEAD.size
        name = bytes(data[place : place + names]).decode("ascii")
        extra = data[place + names : place + names + extras]
        place += names + extras + comments
        if signature != _CENTRAL or place > end:
            raise ArchiveError("its directory is damaged")
        plain, packed, local = _wide((plain, packed, local), extra)
        if flags & 1 or method or plain != packed:
            raise ArchiveError(f"'{name}' is not stored as it is")
        first = _content(data[:start], name, local)
        if first + plain > start:
            raise ArchiveError(f"'{name}' is not in the file")
        if name in members:
            raise ArchiveError(f"'{name}' is there twice")
        taken.append((local, first + plain))
        members[name] = data[first : first + plain]
    taken.sort()
    if any(before[1] > after[0] for before, after in pairwise(taken)):
        raise ArchiveError("members overlap")
    return members


def _directory(data: memoryview) -> tuple[int, int, int]:
    """Members, bytes and place of the directory."""
    place = len(data) - _END_HEAD.size
    if place < 0 or bytes(data[place : place + 4]) != _END:
        raise ArchiveError("it has no directory at its end: it is no saved program, or has been cut short")
    _, _, _, _, count, size, start, _ = _END_HEAD.unpack(data[place:])
    if _IN_64 not in (size, start) and count != 0xFFFF:
        return count, size, start
    locator = place - _LOCATOR_HEAD.size
    if locator < 0 or bytes(data[locator : locator + 4]) != _LOCATOR_64:
        raise ArchiveError("its directory is damaged")
    _, _, wide, _ = _LOCATOR_HEAD.unpack(data[locator:place])
    head = _END_64_HEAD.unpack(data[wide : wide + _END_64_HEAD.size])
    if head[0] != _END_64:
        raise ArchiveError("its directory is damaged")
    return head[7], head[8], head[9]


def _wide(numbers: tuple[int, int, int], extra: memoryview) -> tuple[int, int, int]:
    """Numbers of a member, those that are too large for 32 bits from its extra field."""
    found, place = list(numbers), 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack("<HH", extra[place : place + 4])
        if kind == _ZIP64:
            words = iter(struct.unpack(f"<{size // 8}Q", extra[place + 4 : place + 4 + size // 8 * 8]))
            try:
                found = [next(words) if number == _IN_64 else number for number in found]
            except (StopIteration, RuntimeError) as error:
                raise ArchiveError("its directory is damaged") from error
        place += 4 + size
    return found[0], found[1], found[2]


def _content(data: memoryview, name: str, local: int) -> int:
    """Where the bytes of a member begin, behind its own head."""
    head = _LOCAL_HEAD.unpack(data[local : local + _LOCAL_HEAD.size])
    first = local + _LOCAL_HEAD.size
    if head[0] != _LOCAL or bytes(data[first : first + head[9]]) != name.encode():
        raise ArchiveError(f"'{name}' is not where the directory says")
    return first + head[9] + head[10]
