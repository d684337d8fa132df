"""The fewest, or the cheapest, trips: a dynamic program over a topological order.

Nodes are visited one by one. An operator joins a trip whose head it reads, or starts one. What matters for the nodes to
come is a *frontier*: of each trip, or node of the host, that gives a value that somebody still reads

1. these nodes, and the state of the trip if its head is among them;
2. on which others it depends, in any number of steps: a trip may not take in what depends on it;
3. what it has read and written, as far as others will ask for it again.

Of all ways to one frontier the cheapest is kept. So the result is the optimum of all plans that the law allows
(`templates.trips`), unless there are more frontiers than the budget has: then the cheapest few of each step are kept,
and the result is no longer known to be the best. A way on which a trip ends without a unit that it must use is none.

Values that wait very long are lost sight of (`templates.waiting`). What depends on them is not seen any more, nor are
joins to them: who replays the search looks at cycles again, and may let operators join heads that it has lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuse_dialect.templates.graph import VIEWS, HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.objective import Objective, trip_cycles
from fuse_dialect.templates.template import HardwareTemplate
from fuse_dialect.templates.trips import HardwareRefusal, TripLaw, TripState
from fuse_dialect.templates.waiting import waiting

BUDGET = 4_000
"""Frontiers that a search may look at; a network of a hundred operators has some hundreds."""
LEAST_WIDTH = 4
"""Frontiers that are kept at each step, however small the budget is; with two, plans are 0.2 % worse."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a search has found."""

    joins: Sequence[int | None]
    """For each node the head that it joins; `None` if it starts a trip or is none of an operator's."""
    is_exact: bool
    """Whether nothing is cheaper."""
    lost: frozenset[tuple[int, int]] = frozenset()
    """Nodes, and readers for which the search has not waited."""


class _Member(NamedTuple):
    """A trip, or a node of the host, on the frontier."""

    live: tuple[tuple[int, int], ...]
    """Nodes that somebody still reads, ascending, each with the node that it is a view of."""
    trip: TripState | None
    """The state of the trip while it can be joined."""
    is_trip: bool
    above: frozenset[int]
    """Live nodes of the members that it depends on."""
    reads: frozenset[int]
    """Values that it has read and that are still live, where bytes matter."""
    moved: int
    """Bytes that it has moved, where cycles matter."""


class _Frontier(NamedTuple):
    members: tuple[_Member, ...]
    written: frozenset[int]
    """Live values that have been paid for."""


class _Step(NamedTuple):
    """How a frontier was come to."""

    before: "_Step | None"
    join: int | None


_Cost = tuple[int, float, float]
"""Operators left on the host that a unit runs, what the objective counts, and what decides between equals."""
_Way = tuple[_Frontier | None, _Cost, int | None]
"""A frontier behind a node, what it adds to the cost, and the head that the node joins; `None` where a trip would end
that may not."""


def search_trips(
    graph: HardwareGraph,
    template: HardwareTemplate,
    order: Sequence[int],
    objective: Objective,
    budget: int = BUDGET,
) -> Search:
    """Find which trip each operator joins.

    Args:
        graph: The graph.
        template: A valid template, with rates if the objective is cycles.
        order: All nodes but constants and inputs, in topological order.
        objective: What there shall be little of.
        budget: Frontiers to look at.

    Complexity: O(budget * frontier).
    """
    return _Search(graph, template, order, objective).run(budget)


class _Search:
    """One run."""

    def __init__(self, graph: HardwareGraph, template: HardwareTemplate, order: Sequence[int], objective: Objective):
        self.graph = graph
        self.template = template
        self.order = order
        self.objective = objective
        self.law = TripLaw(graph, template, counts_cycles=objective is Objective.CYCLES)
        self.counts_cycles = objective is Objective.CYCLES
        self.waits = waiting(graph, order, self.law.readers, self.law.gives)
        self.started: dict[int, TripState | HardwareRefusal] = {}

    def run(self, budget: int) -> Search:
        layer: dict[_Frontier, tuple[_Cost, _Step]] = {_Frontier((), frozenset()): ((0, 0.0, 0.0), _Step(None, None))}
        is_exact, left = not self.waits.lost, budget
        for place, number in enumerate(self.order):
            width = max(0, left) // (len(self.order) - place)
            # The first steps may be as wide as all the rest on average, many times over.
            if len(layer) > max(LEAST_WIDTH, min(16 * width, left)):
                is_exact = False
                ranked = sorted(layer.items(), key=lambda item: item[1][0])
                kept = ranked[: max(LEAST_WIDTH, width)]
                # Trips that are not complete yet may come to nothing; from this one there is always a way on.
                if self.law.matcher.requires:
                    kept.append(next(item for item in ranked if self.may_end(item[0])))
                layer = dict(kept)
            left -= len(layer)
            following: dict[_Frontier, tuple[_Cost, _Step]] = {}
            for frontier, (cost, step) in layer.items():
                for new, added, join in self.ways(frontier, number, place):
                    if new is None:
                        continue
                    total = (cost[0] + added[0], cost[1] + added[1], cost[2] + added[2])
                    if new not in following or total < following[new][0]:
                        following[new] = (total, _Step(step, join))
            layer = following
        joins: list[int | None] = [None] * len(self.graph.nodes)
        step: _Step | None = min(layer.values(), key=lambda each: each[0])[1]
        for number in reversed(self.order):
            assert step is not None, "there is a step for each node"
            joins[number] = step.join
            step = step.before
        return Search(joins, is_exact, self.waits.lost)

    def may_end(self, frontier: _Frontier) -> bool:
        """Whether no trip has to go on."""
        return all(member.trip is None or self.law.skipped(member.trip) is None for member in frontier.members)

    def ways(self, frontier: _Frontier, number: int, place: int) -> list[_Way]:
        """The frontiers behind a node, what each adds to the cost, and the head that the node joins."""
        node = self.graph.nodes[number]
        holder: dict[int, int] = {}
        carried: dict[int, int] = {}
        for index, member in enumerate(frontier.members):
            for each, origin in member.live:
                holder[each] = index
                carried[each] = origin
        producers = self.graph.producers
        if node.role in VIEWS:
            return [self.with_view(frontier, number, node, place, holder, carried)]
        if node.role is not HardwareRole.OPERATOR or not node.kinds:
            return [self.alone(frontier, number, node, place, holder, None)]
        if number not in self.started:
            self.started[number] = self.law.start(number)
        started = self.started[number]
        # An operator that is beyond the limits on its own may join, where it reads less from memory.
        trip = None if isinstance(started, HardwareRefusal) else started
        found = [self.alone(frontier, number, node, place, holder, trip)]
        if trip is not None and self.law.skipped(trip) is not None:
            found.append(self.alone(frontier, number, node, place, holder, None))
        candidates = dict.fromkeys(holder[producers[value]] for value in node.reads if producers[value] in holder)
        for index in candidates:
            member = frontier.members[index]
            if member.trip is None:
                continue
            trip = self.law.extend(
                member.trip,
                number,
                lambda value, index=index: carried[producers[value]] if holder.get(producers[value]) == index else None,
            )
            others = [holder[producers[value]] for value in node.reads if holder.get(producers[value], index) != index]
            # (2) no other operand may depend on the trip
            if isinstance(trip, HardwareRefusal) or any(
                each in frontier.members[other].above for other in others for each, _ in member.live
            ):
                continue
            found.append(self.joined(frontier, number, node, place, holder, index, trip))
        return found

    def alone(
        self,
        frontier: _Frontier,
        number: int,
        node: HardwareNode,
        place: int,
        holder: dict[int, int],
        trip: TripState | None,
    ) -> _Way:
        """The frontier with the node as a member of its own, a trip or a node of the host."""
        above = self._above(frontier, node, holder, None)
        member = _Member(((number, number),), trip, trip is not None, above, frozenset(), 0)
        members = [*frontier.members, member]
        holder = {**holder, number: len(members) - 1}
        return (*self._charged(members, frontier, len(members) - 1, number, node, place, holder), None)

    def joined(
        self,
        frontier: _Frontier,
        number: int,
        node: HardwareNode,
        place: int,
        holder: dict[int, int],
        index: int,
        trip: TripState | None,
        origin: int | None = None,
    ) -> _Way:
        """The frontier with the node in a trip."""
        old = frontier.members[index]
        added = self._above(frontier, node, holder, index)
        live = (*old.live, (number, number if origin is None else origin))
        members = list(frontier.members)
        members[index] = old._replace(live=live, trip=trip, above=old.above | added)
        mine = frozenset(each for each, _ in old.live)
        for other, member in enumerate(members):
            if other != index and not mine.isdisjoint(member.above):
                # (2) what waits for the trip waits for what the trip waits for, and for its new node
                members[other] = member._replace(above=member.above | added | {number} | old.above)
        head = old.trip.head if origin is None and old.trip is not None else None
        return (*self._charged(members, frontier, index, number, node, place, {**holder, number: index}), head)

    def with_view(
        self,
        frontier: _Frontier,
        number: int,
        node: HardwareNode,
        place: int,
        holder: dict[int, int],
        carried: dict[int, int],
    ) -> _Way:
        """The frontier with a view, which goes along with the trip that gives the one value that it reads."""
        producers, nodes = self.graph.producers, self.graph.nodes
        data = [
            each
            for each in dict.fromkeys(producers[value] for value in node.reads)
            if nodes[each].role is not HardwareRole.CONSTANT
        ]
        index = holder.get(data[0]) if len(data) == 1 else None
        if index is not None and frontier.members[index].is_trip:
            trip = frontier.members[index].trip
            if trip is not None:
                larger = self.law.with_view(
                    trip, number, lambda value: data[0] if producers[value] == data[0] else None
                )
                if isinstance(larger, HardwareRefusal):
                    return self.alone(frontier, number, node, place, holder, None)
                trip = larger
            return self.joined(frontier, number, node, place, holder, index, trip, carried[data[0]])
        return self.alone(frontier, number, node, place, holder, None)

    def _above(
        self, frontier: _Frontier, node: HardwareNode, holder: dict[int, int], index: int | None
    ) -> frozenset[int]:
        """Live nodes of what the node depends on, but for the trip that it is in."""
        producers = (*(self.graph.producers[value] for value in node.reads), *node.after)
        found: set[int] = set()
        for other in {holder[each]: None for each in producers if each in holder}:
            if other != index:
                member = frontier.members[other]
                found.update(member.above, (each for each, _ in member.live))
        return frozenset(found)

    def _charged(
        self,
        members: list[_Member],
        frontier: _Frontier,
        index: int,
        number: int,
        node: HardwareNode,
        place: int,
        holder: dict[int, int],
    ) -> tuple[_Frontier | None, _Cost]:
        """The frontier without what nobody asks for any more, and what the node costs in member `index`."""
        size, producers = self.graph.value_bytes, self.graph.producers
        own = members[index]
        before = frontier.members[index] if index < len(frontier.members) else None
        added: dict[int, int] = {index: 0}
        """Bytes that each member moves more."""
        reads: dict[int, None] = {}
        written: dict[int, None] = {}
        for value in node.reads:
            source = holder.get(producers[value])
            if source == index:
                continue
            if own.is_trip and value not in own.reads and value not in reads:
                reads[value] = None
                added[index] += size[value] or 0
            if source is not None and members[source].is_trip and value not in frontier.written:
                if value not in written:
                    added[source] = added.get(source, 0) + (size[value] or 0)
                written[value] = None
        if own.is_trip:
            for value in self.law.gives[number]:
                if self.waits.stored[value]:
                    written[value] = None
                    added[index] += size[value] or 0
        is_new = before is None and own.is_trip
        is_stranded = node.role is HardwareRole.OPERATOR and not own.is_trip and bool(node.kinds)
        cost = self._cost(members, before, index, added, is_new, is_stranded)
        if reads:
            members[index] = own._replace(reads=own.reads.union(reads))
        if self.counts_cycles:
            for each, more in added.items():
                members[each] = members[each]._replace(moved=members[each].moved + more)
        return self._trimmed(members, frontier.written.union(written), place, index), cost

    def _cost(
        self,
        members: Sequence[_Member],
        before: _Member | None,
        index: int,
        added: dict[int, int],
        is_new: bool,
        is_stranded: bool,
    ) -> _Cost:
        moved = float(sum(added.values()))
        stranded = int(is_stranded)
        if self.objective is Objective.TRIPS:
            return stranded, float(is_new), moved
        if self.objective is Objective.BYTES:
            return stranded, moved, float(is_new)
        total = 0.0
        for each in added:
            member = members[each]
            if not member.is_trip:
                continue
            old = before if each == index else member
            base = 0.0 if old is None else self._cycles(old, old.moved)
            total += self._cycles(member, member.moved + added[each]) - base
        return stranded, total, moved

    def _cycles(self, member: _Member, moved: int) -> float:
        states = member.trip.units if member.trip is not None else ()
        ends = [state.cycles for state in states if not state.missing] or [state.cycles for state in states]
        busiest = min(ends, default=0.0)
        return trip_cycles(moved, busiest, self.template)

    def _forgetting(self, trip: TripState, gone: frozenset[int]) -> TripState:
        """The state without values that it reads and nobody asks for again; how many matters to a limit alone."""
        lost = trip.reads & gone
        if not lost:
            return trip
        count = trip.forgotten + len(lost) if self.law.limits.operands else 0
        return trip._replace(reads=trip.reads - lost, forgotten=count)

    def _trimmed(self, members: Sequence[_Member], written: frozenset[int], place: int, index: int) -> _Frontier | None:
        """Only what nodes behind `place` may ask for, in an order that does not tell how it came about.

        `None` if a trip has ended that may not.
        """
        waits = self.waits
        dying, gone, faded = waits.dying[place], waits.gone[place], waits.faded[place]
        kept: list[_Member] = []
        for number, member in enumerate(members):
            live, trip, is_trip, above, reads, moved = member
            is_changed = number == index
            if dying and any(each in dying for each, _ in live):
                live, is_changed = tuple(pair for pair in live if pair[0] not in dying), True
                if trip is not None and _is_passed(trip, live) and self.law.skipped(trip) is not None:
                    return None
                if not live:
                    continue
            if trip is not None and is_changed and not self.counts_cycles and _is_passed(trip, live):
                trip = None
            if gone and trip is not None:
                trip = self._forgetting(trip, gone)
            above = above if dying.isdisjoint(above) else above - dying
            reads = reads if gone.isdisjoint(reads) else reads - gone
            kept.append(_Member(live, trip, is_trip, above, reads, moved))
        kept.sort(key=_by_nodes)
        return _Frontier(tuple(kept), written if faded.isdisjoint(written) else written - faded)


def _is_passed(trip: TripState, live: Sequence[tuple[int, int]]) -> bool:
    """Whether nobody reads the head any more, so that nothing can join."""
    return all(origin != trip.head for _, origin in live)


def _by_nodes(member: _Member) -> tuple[tuple[int, int], ...]:
    return member.live
