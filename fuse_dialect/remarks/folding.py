"""Runs of lines that repeat, said once: a network has the same layer many times."""

from collections.abc import Callable, Iterator, Sequence

LONGEST = 64
"""Lines of a run that is looked for."""
_LEAST = 3
"""Times that a run must repeat to be folded."""


def folded(
    lines: Sequence[str], keys: Sequence[object], combined: Callable[[range], str] | None = None
) -> Iterator[str]:
    """The lines; those of a run that repeats once, with how often in front.

    Of the runs that begin at a line the one is taken that covers most lines, the shortest of them.

    Args:
        lines: What is printed.
        keys: For each line what makes it equal to another.
        combined: What is said of lines of these numbers, which are equal; by default the first of them.

    Complexity: O(lines * `LONGEST`) comparisons, but for runs that nearly repeat.
    """
    at = 0
    while at < len(lines):
        length, times = max(
            ((length, _times(keys, at, length)) for length in range(1, LONGEST + 1) if at + length <= len(lines)),
            key=lambda run: (run[0] * run[1] if run[1] >= _LEAST else 0, -run[0]),
        )
        if times < _LEAST:
            yield lines[at]
            at += 1
            continue
        for place in range(at, at + length):
            head = f"{times}x " if length == 1 else (f"{times}x [ " if place == at else " " * len(f"{times}x [ "))
            line = lines[place] if combined is None else combined(range(place, at + length * times, length))
            yield f"{head}{line}" + (" ]" if length > 1 and place == at + length - 1 else "")
        at += length * times


def _times(keys: Sequence[object], at: int, length: int) -> int:
    """How often the run of this length that begins here repeats."""
    run, times = keys[at : at + length], 1
    while keys[at + times * length : at + (times + 1) * length] == run:
        times += 1
    return times
