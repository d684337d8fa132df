"""A long row of kernels in sections, so that a picture draws a few boxes at a time.

A section is a stretch of the row. If nobody in the row reads a later one, sections make no cycles among each other.
Stretches end where few values pass on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

MOST_FLAT = 120
"""Kernels that are drawn without sections."""
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


def sections(count: int, edges: Iterable[tuple[int, int]]) -> tuple[Box, ...]:
    """The row of `count` kernels as at most `MOST_FLAT` boxes.

    Args:
        count: How many kernels there are.
        edges: Pairs of a producer's place and a reader's, which is greater.

    Complexity: O(count + edges).

    Example:
        >>> sections(3, [(0, 1), (1, 2)])
        (0, 1, 2)
        >>> len(sections(10_000, [(place, place + 1) for place in range(9_999)]))
        3
    """
    boxes: list[Box] = list(range(count))
    if count <= MOST_FLAT:
        return tuple(boxes)
    passing = [0] * (count + 1)
    for source, reader in edges:
        passing[source + 1] += 1
        passing[reader + 1] -= 1
    for place in range(1, count + 1):
        passing[place] += passing[place - 1]
    while len(boxes) > MOST_IN_SECTION:
        boxes = list(_gathered(boxes, passing))
    return tuple(boxes)


def _gathered(boxes: Sequence[Box], passing: Sequence[int]) -> Iterable[Section]:
    """Boxes in sections of half of `MOST_IN_SECTION` or more."""
    start = 0
    while start < len(boxes):
        end = min(start + MOST_IN_SECTION, len(boxes))
        if end < len(boxes):
            # The cut with the fewest values that pass it; the latest of these.
            cuts = range(start + MOST_IN_SECTION // 2, end + 1)
            end = min(cuts, key=lambda cut: (passing[_first(boxes[cut])], -cut)) if end < len(boxes) else end
        part = tuple(boxes[start:end])
        yield Section(_first(part[0]), _last(part[-1]), part)
        start = end


def _first(box: Box) -> int:
    return box if isinstance(box, int) else box.first


def _last(box: Box) -> int:
    return box if isinstance(box, int) else box.last
