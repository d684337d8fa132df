"""Which unit runs an operator: the nearest free one on the way that the data of a group takes.

1. The first operator of a group is searched from the source on, the source included; a later one from the unit that
   ran the one before. That unit itself comes first, if it has capacity left.
2. Units are tried breadth first: nearest first, those equally near in the order of the links. Any may be skipped, busy
   ones too: data passes them unchanged.
3. A unit is free until it runs as many operators of the group as its capacity says.

Source: `HDFG::FindMatch` of https://github.com/OPU-Lab/opu-compiler, which has no capacities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fuse_dialect.diagnostics import Reason
from fuse_dialect.templates.template import HardwareTemplate


@dataclass(slots=True)
class Trip:
    """One trip of data through the hardware, as far as it has come."""

    last: int | None = None
    """Number of the unit that ran the last operator; `None` before the first."""
    load: dict[int, int] = field(default_factory=dict[int, int])
    """Operators that each unit runs."""

    def take(self, unit: int) -> None:
        """Let the unit run one more operator, as the last of the trip."""
        self.load[unit] = self.load.get(unit, 0) + 1
        self.last = unit


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

    def _ways_from(self, start: int) -> Sequence[int]:
        if start not in self._ways:
            self._ways[start] = self._breadth_first(start)
        return self._ways[start]

    def _breadth_first(self, start: int) -> Sequence[int]:
        order: dict[int, None] = {start: None}
        for unit in (queue := [start]):
            for sink in self._links[unit]:
                if sink not in order:
                    order[sink] = None
                    queue.append(sink)
        return tuple(order)

    def match(self, trip: Trip, kinds: Sequence[str]) -> int | tuple[Reason, str]:
        """The unit that runs an operator of these kinds as the next of the trip, or why none does.

        Complexity: O(units).
        """
        start = self._source if trip.last is None else trip.last
        busy: int | None = None
        for unit in self._ways_from(start):
            if self.units[unit].kind in kinds:
                if trip.load.get(unit, 0) < self.units[unit].capacity:
                    return unit
                busy = unit if busy is None else busy
        if busy is not None:
            return Reason.UNIT_BUSY, f"unit '{self.units[busy].name}' is taken in this trip"
        wanted = " or ".join(kinds)
        return Reason.NOT_REACHABLE, f"no link leads from unit '{self.units[start].name}' to a unit of kind {wanted}"
