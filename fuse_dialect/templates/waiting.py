"""How long values of a graph wait for their readers, so that a search forgets them in time.

Where very many values wait for readers that are far away, a search would have to hold the whole graph at each step. So
a value that nobody reads within the *horizon* goes to memory, and is read as one from outside from then on. The horizon
is the whole graph, and comes nearer only while more than a few values wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.templates.graph import HardwareGraph

LEAST_HORIZON = 4
"""Nodes behind which a value is still waited for, however many values wait."""
MOST_WAITING = 8
"""Values that wait at a step, in the mean of a graph, before the horizon comes nearer; most networks have 1 to 2."""
FEW_WAITING = 1 << 15
"""The same in all steps together, for graphs so small that a search may look at all of it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is forgotten behind each place of an order."""

    dying: Sequence[frozenset[int]]
    """For each place the nodes that nobody reads within the horizon behind it."""
    faded: Sequence[frozenset[int]]
    """For each place the values that nobody reads within the horizon behind it, of nodes of the order."""
    gone: Sequence[frozenset[int]]
    """For each place the values that nobody at all reads behind it."""
    stored: Sequence[bool]
    """For each value whether it goes to memory in any case: it escapes, or is read beyond the horizon."""
    lost: frozenset[tuple[int, int]]
    """Nodes, and readers of them beyond the horizon."""


def waiting(
    graph: HardwareGraph, order: Sequence[int], readers: Sequence[Sequence[int]], gives: Sequence[Sequence[int]]
) -> Waiting:
    """Find how long values wait.

    Args:
        graph: The graph.
        order: Nodes in topological order.
        readers: For each value the nodes that read it.
        gives: For each node its values.

    Complexity: O((nodes + reads) log nodes).
    """
    place = {number: index for index, number in enumerate(order)}
    read_at = [sorted(place[reader] for reader in own if reader in place) for own in readers]
    uses = [sorted({each for value in gives[number] for each in read_at[value]}) for number in order]
    ends = _ends(uses)
    dying: list[set[int]] = [set() for _ in order]
    faded: list[set[int]] = [set() for _ in order]
    gone: list[set[int]] = [set() for _ in order]
    stored = list(graph.escapes)
    for index, (number, end) in enumerate(zip(order, ends, strict=True)):
        dying[end].add(number)
        for value in gives[number]:
            last = read_at[value][-1] if read_at[value] else index
            gone[last].add(value)
            faded[min(last, end)].add(value)
            stored[value] |= last > end
    for value, places in enumerate(read_at):
        if places and graph.producers[value] not in place:
            gone[places[-1]].add(value)
    lost = frozenset(
        (number, order[reader])
        for number, own, end in zip(order, uses, ends, strict=True)
        for reader in own
        if reader > end
    )
    frozen = [[frozenset(each) for each in sets] for sets in (dying, faded, gone)]
    return Waiting(frozen[0], frozen[1], frozen[2], stored, lost)


def _ends(uses: Sequence[Sequence[int]]) -> list[int]:
    """For each place, whose value is read at the places `uses`, the last of these before a gap beyond the horizon."""
    horizon = len(uses)
    while True:
        ends: list[int] = []
        for index, places in enumerate(uses):
            last = index
            for each in places:
                if each - last > horizon:
                    break
                last = each
            ends.append(last)
        held = sum(last - index for index, last in enumerate(ends))
        if held <= max(FEW_WAITING, MOST_WAITING * len(uses)) or horizon <= LEAST_HORIZON:
            return ends
        horizon = max(LEAST_HORIZON, horizon // 2)
