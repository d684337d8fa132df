"""A topological order of groups that grow, kept up to date, so that a group never comes to depend on itself.

Members are numbered as they are added, at the end of the order. A new constraint between two members asks for work
only when it runs against the order, and then only between the two: the search for a cycle stays inside this stretch,
and so does the repair of the order.

Source: Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", ACM JEA 11 (2006),
doi:10.1145/1187436.1210590.
"""

from collections.abc import Collection, Iterable, Sequence

SEARCH_BUDGET = 4096
"""Constraints that one search may look at. Networks need a few; with the budget, time is linear for every input."""


class GroupOrder:
    """Members of a partial order, with a topological order of them."""

    def __init__(self) -> None:
        self._place: list[int] = []
        """Place of each member in the order; a smaller one comes first."""
        self._before: list[list[int]] = []
        self._after: list[list[int]] = []

    def add(self, before: Iterable[int]) -> int:
        """A new member, which `before` must precede."""
        member = len(self._place)
        self._place.append(member)
        self._before.append(list(before))
        self._after.append([])
        for each in self._before[member]:
            self._after[each].append(member)
        return member

    def constrain(self, before: Collection[int], member: int) -> bool:
        """Let every one of `before` precede `member`, unless that closes a cycle.

        Returns:
            Whether it was done. `False` also when the answer needs a search beyond the budget: nothing has changed
            then, and no cycle arises.

        Complexity: O(members between in the order, and their constraints), bounded by `SEARCH_BUDGET` constraints.
        """
        place = self._place
        low = place[member]
        high = max((place[each] for each in before), default=low)
        if high > low and not self._repair(before, member, low, high):
            return False
        for each in before:
            self._before[member].append(each)
            self._after[each].append(member)
        return True

    def _repair(self, before: Collection[int], member: int, low: int, high: int) -> bool:
        """Move `before`, and what precedes them, in front of `member`; `False` when that is impossible."""
        place = self._place
        behind = self._search([member], self._after, low, high)
        if behind is None or not behind.isdisjoint(before):
            return False
        ahead = self._search([each for each in before if place[each] > low], self._before, low, high)
        if ahead is None:
            return False
        moved = [*sorted(ahead, key=place.__getitem__), *sorted(behind, key=place.__getitem__)]
        places = sorted(place[each] for each in moved)
        for each, new_place in zip(moved, places, strict=True):
            place[each] = new_place
        return True

    def _search(self, start: Sequence[int], links: Sequence[Sequence[int]], low: int, high: int) -> set[int] | None:
        """Everything that `links` lead to between the two places; `None` beyond the budget."""
        place = self._place
        found = set(start)
        pending = list(start)
        budget = SEARCH_BUDGET
        while pending:
            ways = links[pending.pop()]
            budget -= len(ways)
            if budget < 0:
                return None
            for each in ways:
                if low <= place[each] <= high and each not in found:
                    found.add(each)
                    pending.append(each)
        return found
