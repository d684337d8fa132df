"""Offsets in one block of memory for buffers that live for a while: a pure function.

Two buffers may share bytes if one is read for the last time before the other is written. Finding the smallest block is
NP-hard (dynamic storage allocation); two heuristics are tried, and the better one counts:

1. *by time*: buffers in the order in which they are written, each in the smallest gap that is free then;
2. *by size*: large buffers first, each in the smallest gap between the placed ones that it would meet.

Source: Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference (arXiv:2001.03288), section 5.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

ALIGNMENT = 64
"""Every offset is a multiple of so many bytes: a cache line, and the widest vector."""
MAX_PLACED_BY_SIZE = 2048
"""Above so many buffers only the first heuristic is used: the second takes quadratic time."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer, and when it is needed."""

    size: int
    """Bytes."""
    first: int
    """The step that writes it."""
    last: int
    """The last step that reads it; not before `first`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the buffers are."""

    offsets: tuple[int, ...]
    """For each buffer, in bytes."""
    size: int
    """Bytes of the block."""


def rounded_up(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def most_live_bytes(lifetimes: Sequence[Lifetime]) -> int:
    """Sum of the sizes, rounded up, at the step where it is greatest: no layout is smaller.

    Complexity: O(n log n).
    """
    changes = [(life.first, rounded_up(life.size)) for life in lifetimes]
    changes += [(life.last + 1, -rounded_up(life.size)) for life in lifetimes]
    live = most = 0
    for _, change in sorted(changes):  # at one step, what goes is subtracted first
        live += change
        most = max(most, live)
    return most


def arrange(lifetimes: Sequence[Lifetime]) -> Layout:
    """Offsets at which no two buffers overlap that are needed at the same step.

    Complexity: O(n (log n + g)) with g gaps at a time; O(n^2) up to `MAX_PLACED_BY_SIZE` buffers.
    """
    layout = _by_time(lifetimes)
    if len(lifetimes) <= MAX_PLACED_BY_SIZE and layout.size > most_live_bytes(lifetimes):
        other = _by_size(lifetimes)
        # By size is better where few large buffers meet, by time where many follow each other; neither always.
        if other.size < layout.size:
            return other
    return layout


def _by_time(lifetimes: Sequence[Lifetime]) -> Layout:
    offsets = [0] * len(lifetimes)
    gaps: list[tuple[int, int]] = []
    """Free ranges below `end` as (start, stop), in order; no two touch."""
    ends: list[tuple[int, int]] = []
    """(last step, buffer) of what lives, as a heap."""
    end = 0
    # Of buffers that one step writes the largest goes first, while the gaps are whole.
    order = sorted(range(len(lifetimes)), key=lambda index: (lifetimes[index].first, -lifetimes[index].size, index))
    for index in order:
        life = lifetimes[index]
        # A buffer that is read at a step is not free for what the step writes: results never overlap arguments.
        while ends and ends[0][0] < life.first:
            _, gone = heappop(ends)
            _free(gaps, offsets[gone], offsets[gone] + rounded_up(lifetimes[gone].size))
        size = rounded_up(life.size)
        fitting = [(stop - start, start) for start, stop in gaps if stop - start >= size]
        # The smallest gap that fits leaves the large ones for large buffers.
        if fitting:
            offsets[index] = min(fitting)[1]
        # A gap at the end may grow; it saves what it already has.
        elif gaps and gaps[-1][1] == end:
            offsets[index] = gaps[-1][0]
        else:
            offsets[index] = end
        _take(gaps, offsets[index], offsets[index] + size)
        end = max(end, offsets[index] + size)
        heappush(ends, (life.last, index))
    return Layout(tuple(offsets), end)


def _free(gaps: list[tuple[int, int]], start: int, stop: int) -> None:
    """Add a range, joined with the gaps that it touches."""
    if start == stop:
        return
    place = bisect_left(gaps, (start, stop))
    if place < len(gaps) and gaps[place][0] == stop:
        stop = gaps.pop(place)[1]
    if place and gaps[place - 1][1] == start:
        start = gaps.pop(place - 1)[0]
    insort(gaps, (start, stop))


def _take(gaps: list[tuple[int, int]], start: int, stop: int) -> None:
    """Remove a range that begins at a gap's start, or behind all of them; it may reach beyond the last gap."""
    place = bisect_left(gaps, (start, start))
    if start == stop or place == len(gaps) or gaps[place][0] != start:
        return
    _, until = gaps.pop(place)
    if until > stop:
        insort(gaps, (stop, until))


def _by_size(lifetimes: Sequence[Lifetime]) -> Layout:
    offsets = [0] * len(lifetimes)
    placed: list[tuple[int, int, int]] = []
    """(offset, end, buffer), by offset."""
    size = 0
    order = sorted(range(len(lifetimes)), key=lambda index: (-lifetimes[index].size, lifetimes[index].first, index))
    for index in order:
        life, needed = lifetimes[index], rounded_up(lifetimes[index].size)
        # A buffer without bytes meets no other, wherever it is.
        if not needed:
            continue
        offset = _smallest_gap(lifetimes, placed, life, needed)
        offsets[index] = offset
        insort(placed, (offset, offset + needed, index))
        size = max(size, offset + needed)
    return Layout(tuple(offsets), size)


def _smallest_gap(
    lifetimes: Sequence[Lifetime], placed: Sequence[tuple[int, int, int]], life: Lifetime, needed: int
) -> int:
    best: tuple[int, int] | None = None
    reached = 0
    for offset, end, other in placed:
        # Buffers that are not needed at the same step may overlap, so they are no obstacle.
        if lifetimes[other].last < life.first or life.last < lifetimes[other].first:
            continue
        # Those placed come by offset: nothing that lives at the time lies between `reached` and this one.
        if offset - reached >= needed and (best is None or offset - reached < best[0]):
            best = (offset - reached, reached)
        reached = max(reached, end)
    return reached if best is None else best[1]
