"""Candidates by what they save: the one that saves the most comes first."""

from heapq import heappop, heappush

from fuse_dialect.cost.changes import Change


class Queue:
    """Candidates that wait, each with what it saved when it was judged.

    A candidate may wait several times. It is judged anew when it comes up, so only its first turn counts.
    """

    def __init__(self) -> None:
        """Nobody waits."""
        self._heap: list[tuple[float, Change, int, int]] = []
        """By the seconds that they cost: those that are saved, with the sign turned."""
        self._first: dict[tuple[Change, int, int], float] = {}
        """For candidates in the heap the first of their priorities."""

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, saved: float, change: Change, first: int, second: int) -> None:
        """Let a candidate wait, unless it comes up earlier anyway."""
        key = (change, first, second)
        if self._first.get(key, 0.0) > -saved:
            self._first[key] = -saved
            heappush(self._heap, (-saved, change, first, second))

    def pop(self) -> tuple[float, Change, int, int]:
        """The candidate that saves the most, and how much that was."""
        priority, change, first, second = heappop(self._heap)
        if self._first.get((change, first, second)) == priority:
            del self._first[change, first, second]
        return -priority, change, first, second

    def is_behind(self, saved: float) -> bool:
        """Whether another candidate saves more than so much."""
        return bool(self._heap) and -saved > self._heap[0][0]
