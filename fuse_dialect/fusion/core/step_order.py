"""An order of steps that survives merges, and tells which merges would close a cycle.

1. Every step has a position, and whoever reads something of a step has a greater one. So a way from one step to another
   passes positions between theirs alone.
2. Two steps may become one if no way of two edges or more leads from one to the other.
3. When they do, what leads to the later one goes before, and what the earlier one leads to goes behind, on the
   positions that all of these had.

Source: D. J. Pearce and P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic graphs",
https://doi.org/10.1145/1187436.1210590.
"""

from collections.abc import Callable, Iterable
from enum import Enum, auto

from fuse_dialect.fusion.core.topological_order import topological_order

MOST_VISITED = 128
"""Steps that a search visits at most, each way; beyond that a merge counts as one that closes a cycle."""


class NoWays(Enum):
    """Why two steps must not become one."""

    CYCLE = auto()
    """A way of two edges or more leads from one to the other."""
    TOO_MANY = auto()
    """The search has given up."""


class StepOrder:
    """Positions of steps.

    Complexity: O(steps and edges between both positions) of a question or a merge, at most `MOST_VISITED` steps.
    """

    def __init__(self, before: Callable[[int], Iterable[int]], after: Callable[[int], Iterable[int]]):
        """An order without steps.

        Args:
            before: Gives the steps that a step reads from.
            after: Gives the steps that read from a step.
        """
        self.position: dict[int, int] = {}
        self._before, self._after = before, after

    def begin(self, steps: Iterable[int]) -> None:
        """Give positions to steps: in their own order as far as each comes behind those that it reads from (1).

        Raises:
            ValueError: Steps wait for each other.

        Complexity: O(n log n) for n steps and edges.
        """
        numbers = sorted(steps)
        # Only what keeps its place may have a lower number than a step it must follow, and most programs have no such.
        if all(before < step for step in numbers for before in self._before(step)):
            self.position.update((step, place) for place, step in enumerate(numbers))
            return
        order = topological_order({step: set(self._after(step)) for step in numbers})
        self.position.update((step, place) for place, step in enumerate(order))
        if len(order) < len(numbers):
            waiting = sorted(set(numbers).difference(order))
            raise ValueError(f"steps {', '.join(map(str, waiting))} wait for each other")

    def ways(self, first: int, second: int) -> "tuple[set[int], set[int]] | NoWays":
        """What lies behind the earlier and before the later of two steps, or why they must not become one (2)."""
        position = self.position
        low, high = (first, second) if position[first] < position[second] else (second, first)
        behind = self._reached(low, high, self._after)
        if isinstance(behind, NoWays):
            return behind
        # (2) All ways between both have been gone already, so what is found now is not among it.
        ahead = self._reached(high, low, self._before)
        return ahead if isinstance(ahead, NoWays) else (behind, ahead)

    def merge(self, kept: int, gone: int, ways: tuple[set[int], set[int]]) -> None:
        """Let one step stand for two; `ways` is what `ways` said of them."""
        behind, ahead = ways
        free = sorted(self.position[step] for step in (*behind, *ahead, kept, gone))
        del self.position[gone]
        # (3) One position is left over: nobody needs the last.
        in_order = [*sorted(ahead, key=self.position.__getitem__), kept, *sorted(behind, key=self.position.__getitem__)]
        for step, position in zip(in_order, free, strict=False):
            self.position[step] = position

    def _reached(self, start: int, other: int, next: Callable[[int], Iterable[int]]) -> "set[int] | NoWays":
        """The steps between two positions that one of them leads to, the other one left out."""
        position = self.position
        low, high = position[start], position[other]
        if low > high:
            low, high = high, low
        found: set[int] = set()
        pending = [start]
        for step in pending:
            for following in next(step):
                if following not in found and low < position[following] < high:
                    found.add(following)
                    if len(found) > MOST_VISITED:
                        return NoWays.TOO_MANY
                    pending.append(following)
                elif following == other and step != start:
                    # (2) `step` would have to run before and after the one that both become
                    return NoWays.CYCLE
        return found
