"""Runs that repeat, said once: a network has the same layer many times."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

LONGEST = 128
"""Items of a layer that is looked for."""
LEAST_TIMES = 3
"""Times that a layer must repeat to be folded."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a sequence that repeats without a gap; or one item, which does not."""

    start: int
    length: int = 1
    """Items of the stretch."""
    times: int = 1

    @property
    def end(self) -> int:
        """The place after the last repetition."""
        return self.start + self.length * self.times


def runs(keys: Sequence[Hashable], longest: int = LONGEST, least: int = LEAST_TIMES) -> list[Run]:
    """A sequence as runs in order, which hold each place once.

    From left to right, of the runs that begin at a place the one is taken that covers most places, of these the
    shortest. A run that could begin later and repeat as often does: what comes before the first layer of a network
    often ends as a layer does.

    Args:
        keys: For each place what makes it equal to another.
        longest: Places that a run may have before it repeats.
        least: Times that it must repeat.

    Complexity: O(keys * `longest`) time at worst, O(keys) where few keys come twice within `longest` places.

    Example:
        >>> [(run.start, run.length, run.times) for run in runs("xcabcabcabcy")]
        [(0, 1, 1), (1, 1, 1), (2, 3, 3), (11, 1, 1)]
    """
    number: dict[Hashable, int] = {}
    ids = [number.setdefault(key, len(number)) for key in keys]
    after = _next_equal(ids)
    # For each length the place up to which items equal those so many places on; it only grows.
    equal_until = [0] * (longest + 1)
    found: list[Run] = []
    at = 0
    while at < len(ids):
        best, spare = Run(at), 0
        other = after[at]
        while other - at <= longest and other < len(ids):
            length = other - at
            end = _equal_until(ids, at, length, equal_until)
            times, rest = divmod(end - at, length)
            if times + 1 >= least and length * (times + 1) > best.length * best.times:
                best, spare = Run(at, length, times + 1), rest
            other = after[other]
        found += (Run(place) for place in range(at, at + spare))
        found.append(Run(best.start + spare, best.length, best.times))
        at = found[-1].end
    return found


def _next_equal(ids: Sequence[int]) -> list[int]:
    """For each place the next one with the same number, or one far beyond the end."""
    nowhere, known = 2 * len(ids) + 2, dict[int, int]()
    after = [nowhere] * len(ids)
    for place in range(len(ids) - 1, -1, -1):
        after[place] = known.get(ids[place], nowhere)
        known[ids[place]] = place
    return after


def _equal_until(ids: Sequence[int], at: int, length: int, known: list[int]) -> int:
    """The first place from `at` on whose item is not that `length` places on."""
    end = max(at, known[length])
    while end + length < len(ids) and ids[end] == ids[end + length]:
        end += 1
    known[length] = end
    return end


def folded(
    lines: Sequence[str], keys: Sequence[Hashable], combined: Callable[[range], str] | None = None
) -> Iterator[str]:
    """The lines; those of a run that repeats once, with how often in front.

    Args:
        lines: What is printed.
        keys: For each line what makes it equal to another.
        combined: What is said of lines of these numbers, which are equal; by default the first of them.

    Complexity: that of `runs`.
    """
    for run in runs(keys):
        if run.times == 1:
            yield lines[run.start]
            continue
        for place in range(run.start, run.start + run.length):
            opening = f"{run.times}x [ "
            head = f"{run.times}x " if run.length == 1 else opening if place == run.start else " " * len(opening)
            is_last = place == run.start + run.length - 1
            line = lines[place] if combined is None else combined(range(place, run.end, run.length))
            yield f"{head}{line}" + (" ]" if run.length > 1 and is_last else "")
