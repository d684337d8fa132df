"""The memory of a run in symbols: regions that do not overlap, and the words that hold addresses in them."""

from dataclasses import dataclass, field

from fuse_dialect.backends.runtime.checking.contents import Atoms, Content, Region, agrees
from fuse_dialect.backends.runtime.walk import WORD
from fuse_dialect.checked import CheckError

_SHIFT = 44
"""An address is the number of a region, shifted by so many bits, and a place in it."""


@dataclass(eq=False, slots=True)
class SymbolicMemory:
    """What a run works on."""

    atoms: Atoms
    words: list[int]
    """What the words of the slots hold; an address of 0 is that of nothing."""
    slots: int = field(init=False)
    """The address of the first word."""
    _regions: list[Region] = field(default_factory=list[Region])

    def __post_init__(self) -> None:
        self.slots = self.add("the slots", len(self.words) * WORD)

    def add(self, name: str, size: int, content: Content | None = None, *, is_read_only: bool = False) -> int:
        """The address of a new region."""
        region = Region(name, size, is_read_only)
        self._regions.append(region)
        if content:
            region.write(0, content)
        return len(self._regions) << _SHIFT

    def read(self, address: int, size: int, what: str) -> Content:
        """What some bytes hold.

        Raises:
            CheckError: They are not all in one region.
        """
        if not size:
            return ()
        region, place = self._at(address, size, what)
        return region.read(place, size)

    def write(self, address: int, content: Content, size: int, what: str) -> None:
        """Put a content into some bytes.

        Raises:
            CheckError: They are not all in one region, or nobody may write there.
        """
        if not size:
            return
        region, place = self._at(address, size, what)
        if region.is_read_only:
            raise CheckError(f"{what} would be written to {region.name}")
        region.write(place, content)

    def clear(self, address: int) -> None:
        """Forget what the region at an address holds: it is somebody else's now."""
        self._regions[(address >> _SHIFT) - 1].clear()

    def word_at(self, address: int) -> int:
        """The number of the word at an address."""
        number, rest = divmod(address - self.slots, WORD)
        if rest or not 0 <= number < len(self.words):
            raise CheckError("a loop writes an address to something that is no word")
        return number

    def check(self, what: str, found: Content, expected: Content) -> None:
        """Compare what a step finds with what it should find.

        Raises:
            CheckError: They differ.
        """
        if not agrees(found, expected):
            raise CheckError(f"{what} finds {self.told(found)}, not {self.told(expected)}")

    def told(self, content: Content) -> str:
        """A content for people: the first pieces of it, with what has made them."""
        pieces = [
            f"{'nothing' if piece.atom < 0 else self.atoms.keys[piece.atom]}[{piece.start}:{piece.stop}]"
            for piece in content[:4]
        ]
        return ", ".join(pieces)[:400] or "no bytes"

    def _at(self, address: int, size: int, what: str) -> tuple[Region, int]:
        number, place = (address >> _SHIFT) - 1, address & ((1 << _SHIFT) - 1)
        if not 0 <= number < len(self._regions):
            raise CheckError(f"{what} has no address")
        region = self._regions[number]
        if place + size > region.size:
            raise CheckError(f"{what} is {size} bytes at {place} of {region.name}, which has {region.size}")
        return region, place
