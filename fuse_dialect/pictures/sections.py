"""A long row of kernels in sections, so that a picture draws a few boxes at a time.

A section is a stretch of the row. If nobody in the row reads a later one, sections make no cycles among each other.
Stretches end where few values pass on.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

MOST_FLAT = 120
"""Boxes that are drawn without sections."""
MOST_IN_SECTION = 60
"""Boxes of a section, which may be sections themselves."""

Box: TypeAlias = "int | Section"
"""The place of a kernel in the row, or a section."""


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the row."""

    first: int
    """The place of its first kernel."""
    last: int
    """The place of its last kernel."""
    boxes: tuple[Box, ...]
    name: str = ""
    note: str = ""
    """What else there is to say of it."""
    is_open: bool = False
    """Whether a picture shows what is in it, to begin with."""

    def named(self, name: str) -> "Section":
        """The same with a name."""
        return replace(self, name=name)

    def opened(self) -> "Section":
        """The same, open to begin with."""
        return replace(self, is_open=True)


def passing(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """For each place of a row how many values pass from before it to it or beyond.

    Args:
        count: How many kernels there are.
        edges: Pairs of a producer's place and a reader's, which is greater.

    Complexity: O(count + edges).
    """
    found = [0] * (count + 1)
    for source, reader in edges:
        found[source + 1] += 1
        found[reader + 1] -= 1
    for place in range(1, count + 1):
        found[place] += found[place - 1]
    return found


def cut(boxes: Sequence[Box], passing: Sequence[int], named: Callable[[Section], Section]) -> list[Box]:
    """Boxes in a row as at most `MOST_FLAT` boxes.

    Args:
        boxes: Stretches of the row, one after the other.
        passing: As `passing` gives it.
        named: Gives a section that is made here its name.

    Complexity: O(boxes).

    Example:
        >>> cut(range(3), passing(3, [(0, 1), (1, 2)]), lambda section: section)
        [0, 1, 2]
        >>> row = cut(range(10_000), passing(10_000, []), lambda section: section.named(f"from {section.first}"))
        >>> len(row), row[1].name
        (3, 'from 3600')
    """
    found: list[Box] = list(boxes)
    if len(found) <= MOST_FLAT:
        return found
    while len(found) > MOST_IN_SECTION:
        found = [*map(named, _gathered(found, passing))]
    return found


def _gathered(boxes: Sequence[Box], passing: Sequence[int]) -> Iterable[Section]:
    """Boxes in sections of half of `MOST_IN_SECTION` or more."""
    start = 0
    while start < len(boxes):
        end = min(start + MOST_IN_SECTION, len(boxes))
        if end < len(boxes):
            # The cut with the fewest values that pass it; the latest of these.
            cuts = range(start + MOST_IN_SECTION // 2, end + 1)
            end = min(cuts, key=lambda at: (passing[first_of(boxes[at])], -at))
        part = tuple(boxes[start:end])
        yield Section(first_of(part[0]), last_of(part[-1]), part)
        start = end


def first_of(box: Box) -> int:
    """The place of the first kernel in a box."""
    return box if isinstance(box, int) else box.first


def last_of(box: Box) -> int:
    """The place of the last kernel in a box."""
    return box if isinstance(box, int) else box.last
