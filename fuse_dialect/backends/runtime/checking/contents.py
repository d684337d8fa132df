"""What memory holds, in symbols: pieces of atoms instead of bytes.

1. An *atom* is what one step has computed from given contents; the same step of the same contents is the same atom.
2. A *content* is a sequence of pieces of atoms, so that a row of a tensor is part of its content, and a stack is the
   contents of its rows one after the other. Neighbouring pieces of one atom are one piece.
3. `UNKNOWN` bytes are those that nobody has written.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

UNKNOWN = -1
"""The atom of bytes that nobody has written."""


class Piece(NamedTuple):
    """Some bytes of an atom."""

    atom: int
    start: int
    stop: int


Content: TypeAlias = tuple[Piece, ...]


def content_of(atom: int, size: int) -> Content:
    """All bytes of an atom."""
    return (Piece(atom, 0, size),) if size else ()


def joined(contents: Iterable[Content]) -> Content:
    """One content after the other (2)."""
    pieces: list[Piece] = []
    for content in contents:
        for piece in content:
            last = pieces[-1] if pieces else None
            if last is not None and last.atom == piece.atom and (last.stop == piece.start or piece.atom == UNKNOWN):
                pieces[-1] = Piece(last.atom, last.start, last.stop + piece.stop - piece.start)
            else:
                pieces.append(piece)
    return tuple(pieces)


def part(content: Content, start: int, size: int) -> Content:
    """Some bytes of a content."""
    found: list[Piece] = []
    at = 0
    for piece in content:
        length = piece.stop - piece.start
        first, last = max(start - at, 0), min(start + size - at, length)
        if first < last:
            found.append(Piece(piece.atom, piece.start + first, piece.start + last))
        at += length
    return joined([tuple(found)])


def agrees(found: Content, expected: Content) -> bool:
    """Whether memory holds what it should; bytes that the meaning leaves unknown may be anything."""
    if found == expected:
        return True
    at = 0
    for piece in expected:
        size = piece.stop - piece.start
        if piece.atom != UNKNOWN and part(found, at, size) != joined([(piece,)]):
            return False
        at += size
    return at == sum(piece.stop - piece.start for piece in found)


@dataclass(eq=False, slots=True)
class Atoms:
    """Numbers of atoms, and what they are."""

    keys: list[Hashable] = field(default_factory=list[Hashable])
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def number(self, key: Hashable) -> int:
        """The number of the atom with a key (1)."""
        number = self._numbers.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number


@dataclass(eq=False, slots=True)
class Region:
    """Memory from an address on, as intervals that do not overlap."""

    name: str
    size: int
    is_read_only: bool = False
    _starts: list[int] = field(default_factory=list[int])
    _held: list[tuple[int, Piece]] = field(default_factory=list[tuple[int, Piece]])
    """(end, what is there) for each start."""

    def read(self, start: int, size: int) -> Content:
        """The content of some bytes."""
        found: list[Content] = []
        at, stop = start, start + size
        index = max(bisect_right(self._starts, start) - 1, 0)
        while at < stop and index < len(self._starts):
            first, (end, piece) = self._starts[index], self._held[index]
            index += 1
            if end <= at:
                continue
            if first >= stop:
                break
            if first > at:
                found.append((Piece(UNKNOWN, 0, first - at),))
                at = first
            last = min(end, stop)
            found.append((Piece(piece.atom, piece.start + at - first, piece.start + last - first),))
            at = last
        if at < stop:
            found.append((Piece(UNKNOWN, 0, stop - at),))
        return joined(found)

    def write(self, start: int, content: Content) -> None:
        """Put a content somewhere; what was in these bytes is gone."""
        size = sum(piece.stop - piece.start for piece in content)
        stop = start + size
        low = bisect_right(self._starts, start) - 1
        low = low if low >= 0 and self._held[low][0] > start else low + 1
        high = low
        kept: list[tuple[int, int, Piece]] = []
        while high < len(self._starts) and self._starts[high] < stop:
            first, (end, piece) = self._starts[high], self._held[high]
            if first < start:
                kept.append((first, start, Piece(piece.atom, piece.start, piece.start + start - first)))
            if end > stop:
                kept.append((stop, end, Piece(piece.atom, piece.start + stop - first, piece.stop)))
            high += 1
        at = start
        for piece in content:
            end = at + piece.stop - piece.start
            kept.append((at, end, piece))
            at = end
        kept.sort()
        self._starts[low:high] = [first for first, _, _ in kept]
        self._held[low:high] = [(end, piece) for _, end, piece in kept]

    def clear(self) -> None:
        """Forget everything: the memory is somebody else's."""
        self._starts.clear()
        self._held.clear()
