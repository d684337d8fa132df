"""Which units may run an operator: all that lie ahead of the data and are free, not the nearest alone.

1. The first operator of a trip is searched from the source on, the source included; a later one from the unit that ran
   the one before. That unit itself comes first, if it has capacity left.
2. Any unit may be skipped, busy ones too: data passes them unchanged.
3. A unit is free until it runs as many operators of the trip as its capacity says.
4. A unit that every trip must use is not skipped: a state that has passed it without is none.
5. A trip holds every *state*, a unit with the loads of those that can still be reached, that its operators allow. Which
   units run them is settled when the trip is complete: of several ways the one that takes the fewest cycles, then the
   nearest unit at each step, those equally near in the order of the links.

Source: `HDFG::FindMatch` of https://github.com/OPU-Lab/opu-compiler, which takes the nearest unit at once, and has no
capacities.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fuse_dialect.diagnostics import Reason
from fuse_dialect.templates.engines import engine_of
from fuse_dialect.templates.template import HardwareTemplate

MOST_STATES = 64
"""States that a trip holds at most, the nearest ones. Templates of hardware need a handful."""


_MOST_KEPT = 10_000
"""Answers that a matcher keeps."""


class UnitState(NamedTuple):
    """Where the data of a trip may be."""

    last: int | None = None
    """Number of the unit that ran the last operator; `None` before the first."""
    loads: tuple[tuple[int, int], ...] = ()
    """Operators that units run that the data can still come to, for those that run any, ascending."""
    busy: tuple[tuple[int, float], ...] = ()
    """Cycles that units work, for a search that asks for them, ascending."""
    missing: tuple[int, ...] = ()
    """Units that the trip must still use, ascending."""

    @property
    def cycles(self) -> float:
        """Cycles of the unit that works longest: all work at once."""
        return max((cycles for _, cycles in self.busy), default=0.0)


Work: TypeAlias = tuple[tuple[str, ...], int, int]
"""Of an operator the kinds of units that run it, its operations, and the bytes of its result."""

START: tuple[UnitState, ...] = (UnitState(),)
"""The state before the first operator."""


class UnitMatcher:
    """The units of a template, each with all others in the order in which a search from it meets them."""

    def __init__(self, template: HardwareTemplate):
        self.units = template.units
        number = {unit.name: index for index, unit in enumerate(template.units)}
        successors = template.successors()
        self._links = [[number[name] for name in successors[unit.name]] for unit in template.units]
        self._source = number[template.source]
        self._ways: dict[int, Sequence[int]] = {}
        """Found when they are needed: all together take as much memory as units squared."""
        self._ahead: dict[int, frozenset[int]] = {}
        self._required = _required_units(template)
        self._storing = {number[name] for name in template.storing}
        self.requires = any(unit.required for unit in template.units)
        """Whether there are units that a trip must use."""
        self._assigned: dict[tuple[tuple[Work, ...], frozenset[int]], Sequence[int]] = {}
        self._steps: dict[tuple[tuple[UnitState, ...], tuple[str, ...], int, int], tuple[UnitState, ...]] = {}

    def _ways_from(self, start: int) -> Sequence[int]:
        if start not in self._ways:
            self._ways[start] = self._breadth_first(start)
            self._ahead[start] = frozenset(self._ways[start])
        return self._ways[start]

    def _breadth_first(self, start: int) -> Sequence[int]:
        order: dict[int, None] = {start: None}
        for unit in (queue := [start]):
            for sink in self._links[unit]:
                if sink not in order:
                    order[sink] = None
                    queue.append(sink)
        return tuple(order)

    def _next(self, state: UnitState, kinds: Sequence[str], operations: int, size: int) -> list[UnitState]:
        """The states after an operator of these kinds, the nearest unit first."""
        start = self._source if state.last is None else state.last
        loads = dict(state.loads)
        found: list[UnitState] = []
        for unit in self._ways_from(start):
            if self.units[unit].kind in kinds and loads.get(unit, 0) < self.units[unit].capacity:
                self._ways_from(unit)
                missing = self._missing(state, unit)
                if not self._ahead[unit].issuperset(missing):
                    continue
                kept = {each: load for each, load in loads.items() if each in self._ahead[unit]}
                kept[unit] = loads.get(unit, 0) + 1
                busy = state.busy
                if operations or size:
                    cycles = dict(busy)
                    cycles[unit] = cycles.get(unit, 0.0) + self.cycles_of(unit, operations, size)
                    busy = tuple(sorted(cycles.items()))
                found.append(UnitState(unit, tuple(sorted(kept.items())), busy, missing))
        return found

    def _missing(self, state: UnitState, unit: int) -> tuple[int, ...]:
        """Units that a trip must still use once it has used `unit`."""
        missing = self._required[unit] if state.last is None else state.missing
        return tuple(each for each in missing if each != unit) if missing else ()

    def skipped(self, states: Sequence[UnitState]) -> str:
        """A unit that a trip in these states must still use; empty if it may end here."""
        if any(not state.missing for state in states):
            return ""
        return next((self.units[state.missing[0]].name for state in states), "")

    def storing(self, states: tuple[UnitState, ...]) -> tuple[UnitState, ...]:
        """The states in which what the last operator gave can be written to memory."""
        if not self._storing:
            return states
        return tuple(state for state in states if state.last in self._storing)

    def cycles_of(self, unit: int, operations: int, size: int) -> float:
        """Cycles that a unit takes for so many operations, and results of so many bytes."""
        rates = self.units[unit]
        return max(
            operations / rates.operations if rates.operations else 0.0, size / rates.bytes if rates.bytes else 0.0
        )

    def step(
        self, states: tuple[UnitState, ...], kinds: tuple[str, ...], operations: int = 0, size: int = 0
    ) -> tuple[UnitState, ...]:
        """The states after one more operator; none if no unit can run it.

        Args:
            states: Those before it.
            kinds: Kinds of units that run the operator.
            operations: Arithmetic of the operator, 0 where cycles do not matter.
            size: Bytes of its result, 0 where cycles do not matter.

        Complexity: O(states * units).
        """
        asked = (states, kinds, operations, size)
        if asked not in self._steps:
            if len(self._steps) >= _MOST_KEPT:
                self._steps.clear()
            found = dict.fromkeys(each for state in states for each in self._next(state, kinds, operations, size))
            self._steps[asked] = tuple(found)[:MOST_STATES]
        return self._steps[asked]

    def refusal(self, states: Sequence[UnitState], kinds: Sequence[str]) -> tuple[Reason, str]:
        """Why no unit runs an operator of these kinds behind the states."""
        starts = [self._source if state.last is None else state.last for state in states]
        for start, state in zip(starts, states, strict=True):
            for unit in self._ways_from(start):
                if self.units[unit].kind not in kinds:
                    continue
                self._ways_from(unit)
                passed = next((each for each in self._missing(state, unit) if each not in self._ahead[unit]), None)
                if passed is not None:
                    return Reason.HARDWARE_LIMIT, f"every trip must use unit '{self.units[passed].name}'"
                return Reason.UNIT_BUSY, f"unit '{self.units[unit].name}' is taken in this trip"
        wanted = " or ".join(kinds)
        return (
            Reason.NOT_REACHABLE,
            f"no link leads from unit '{self.units[starts[0]].name}' to a unit of kind {wanted}",
        )

    def assign(self, walk: Sequence[Work], written: frozenset[int] = frozenset()) -> Sequence[int]:
        """The units that run the operators of a trip.

        Args:
            walk: The operators, in order.
            written: Places of those whose values go to memory, too, while the data goes on.

        Complexity: O(operators * states * units).
        """
        asked = (tuple(walk), written)
        if asked not in self._assigned:
            if len(self._assigned) >= _MOST_KEPT:
                self._assigned.clear()
            self._assigned[asked] = self._assign(*asked)
        return self._assigned[asked]

    def _assign(self, walk: Sequence[Work], written: frozenset[int]) -> Sequence[int]:
        layers: list[dict[UnitState, None]] = [dict.fromkeys(START)]
        followers: list[dict[UnitState, Sequence[UnitState]]] = []
        for place, (kinds, operations, size) in enumerate(walk):
            following: dict[UnitState, Sequence[UnitState]] = {}
            for state in layers[-1]:
                found = tuple(self._next(state, kinds, operations, size))
                following[state] = self.storing(found) if place in written else found
            followers.append(following)
            layers.append(dict.fromkeys([each for own in following.values() for each in own][: MOST_STATES * 4]))
        ends = [state for state in layers[-1] if not state.missing]
        best = min((state.cycles for state in ends), default=0.0)
        reach = {state for state in ends if state.cycles == best}
        alive = [reach]
        for following in reversed(followers):
            reach = {state for state, own in following.items() if any(each in reach for each in own)}
            alive.append(reach)
        alive.reverse()
        units: list[int] = []
        state = START[0]
        for step, following in enumerate(followers):
            state = next(each for each in following[state] if each in alive[step + 1])
            assert state.last is not None, "a state behind an operator has a unit"
            units.append(state.last)
        return units


def _required_units(template: HardwareTemplate) -> Sequence[tuple[int, ...]]:
    """For each unit those that a trip on its engine must use."""
    found: dict[str, list[int]] = {}
    for index, unit in enumerate(template.units):
        if unit.required:
            found.setdefault(engine_of(unit.name, template), []).append(index)
    return [tuple(found.get(engine_of(unit.name, template), ())) for unit in template.units]
