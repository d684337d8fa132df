"""Groups of operators that are one trip of data through an accelerator each.

Operators are visited in topological order. After each of them comes a reader of its value, if one is ready, and
otherwise the ready operator with the lowest number. An operator joins the group of an operand when the law of trips
allows it (`templates.trips`) and the group stays convex: no other operand depends on it (`group_order`). Otherwise it
starts a group of its own at the source.

Which of several groups it joins, and whether it does, a search decides (`templates.search`), within a budget. Without
one, of several groups the one that grew last is asked first, and a few are asked at most. The cheaper of both plans is
taken. Trips that did not come to a unit that every trip must use are dissolved. Afterwards the inputs are collected.
Constants are copied to every group that reads them. A virtual operator or a tuple joins the group that gives the one
value it reads, or otherwise the group that holds all its readers. All other operators stay outside. A virtual operator
is a view of the value that it reads, so whoever reads the view reads the value.

Differs from the OPU article: state belongs to a group instead of to the whole run, every operator is visited, groups
are convex, values may leave a group at every unit, and what no unit runs stays outside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fuse_dialect.diagnostics import Reason
from fuse_dialect.templates.graph import VIEWS, HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.group_order import GroupOrder
from fuse_dialect.templates.objective import Objective, trip_bytes, trip_cycles
from fuse_dialect.templates.search import BUDGET, Search, search_trips
from fuse_dialect.templates.template import HardwareTemplate
from fuse_dialect.templates.trips import HardwareRefusal as HardwareRefusal
from fuse_dialect.templates.trips import Inside, TripLaw, TripState
from fuse_dialect.templates.visiting_order import visiting_order

MOST_CANDIDATES = 16
"""Groups that an operator asks at most. Most read one or two; with the bound, time is linear for every input."""


@dataclass(frozen=True, slots=True)
class HardwareGroup:
    """Operators of one trip."""

    nodes: tuple[int, ...]
    """All nodes except constants, ascending."""
    walk: tuple[int, ...]
    """The nodes that units run, in the order of the trip."""


@dataclass(frozen=True, slots=True)
class HardwarePlan:
    """Groups, units and refusals."""

    groups: Sequence[HardwareGroup]
    unit_of: Sequence[str | None]
    """For each node the name of the unit that runs it."""
    refusals: Sequence[HardwareRefusal | None]
    """Why each operator or view joined no group, if it did not; an operator may have started one."""
    is_exact: bool = False
    """Whether no plan that the law allows is cheaper, inputs that are collected afterwards apart."""

    def busiest(self, graph: HardwareGraph, law: TripLaw, group: HardwareGroup) -> float:
        """Cycles of the unit that works longest in a group."""
        numbers = {unit.name: index for index, unit in enumerate(law.matcher.units)}
        cycles: dict[str, float] = {}
        for number in group.walk:
            unit = self.unit_of[number]
            assert unit is not None, "a unit runs each operator of a walk"
            size = sum(graph.value_bytes[value] or 0 for value in law.gives[number])
            added = law.matcher.cycles_of(numbers[unit], graph.nodes[number].operations, size)
            cycles[unit] = cycles.get(unit, 0.0) + added
        return max(cycles.values(), default=0.0)


_NO_GROUP = HardwareRefusal(Reason.NO_UNIT, "no unit is needed, but no group gives or reads all its data either")


@dataclass(slots=True)
class _Group:
    """A group that may still grow."""

    member: int
    """Its number in the order of groups."""
    trip: TripState
    nodes: list[int] = field(default_factory=list[int])
    walk: list[int] = field(default_factory=list[int])
    grown: int = 0
    """When it last grew."""
    written: set[int] = field(default_factory=set[int])
    """Places in `walk` whose values go to memory although the data goes on, where that matters."""


def plan_hardware(
    graph: HardwareGraph,
    template: HardwareTemplate,
    objective: Objective = Objective.TRIPS,
    budget: int = BUDGET,
) -> HardwarePlan:
    """Group the operators of a graph onto a valid template.

    Args:
        graph: The graph.
        template: The hardware; with rates, if the objective is cycles.
        objective: What there shall be little of.
        budget: Frontiers that the search for the best plan may look at; 0 for none.

    Complexity: O((nodes + reads) * units), plus the searches of `GroupOrder`, plus O(budget).
    """
    order = visiting_order(graph)
    law = TripLaw(graph, template, counts_cycles=objective is Objective.CYCLES)
    first_fit = _planned(graph, template, law, order, None)
    if not budget:
        return first_fit
    search = search_trips(graph, template, order, objective, budget)
    # The first fit of equals: a search that finds nothing cheaper changes nothing that people know.
    plans = (first_fit, _planned(graph, template, law, order, search))
    best = min(plans, key=lambda plan: cost_of_plan(graph, template, plan, objective, law))
    return replace(best, is_exact=search.is_exact)


def _planned(
    graph: HardwareGraph,
    template: HardwareTemplate,
    law: TripLaw,
    order: Sequence[int],
    search: Search | None,
) -> HardwarePlan:
    planner = _Planner(graph, template, law, search)
    for number in order:
        planner.visit(number)
    planner.dissolve_incomplete()
    planner.collect_virtual_inputs()
    return planner.plan()


def cost_of_plan(
    graph: HardwareGraph,
    template: HardwareTemplate,
    plan: HardwarePlan,
    objective: Objective,
    law: TripLaw | None = None,
) -> tuple[int, float, float]:
    """Operators left on the host that a unit runs, what the objective counts, and what decides between equals."""
    law = law or TripLaw(graph, template)
    taken = {number for group in plan.groups for number in group.walk}
    stranded = sum(
        bool(node.kinds) and node.role is HardwareRole.OPERATOR and number not in taken
        for number, node in enumerate(graph.nodes)
    )
    moved = [trip_bytes(graph, group.nodes, law.readers, law.gives) for group in plan.groups]
    match objective:
        case Objective.TRIPS:
            return stranded, len(plan.groups), sum(moved)
        case Objective.BYTES:
            return stranded, sum(moved), len(plan.groups)
        case Objective.CYCLES:
            pairs = zip(plan.groups, moved, strict=True)
            cycles = sum(trip_cycles(size, plan.busiest(graph, law, group), template) for group, size in pairs)
            return stranded, cycles, sum(moved)


class _Planner:
    """The state of one run of `plan_hardware`."""

    def __init__(self, graph: HardwareGraph, template: HardwareTemplate, law: TripLaw, search: Search | None):
        self.graph = graph
        self.limits = template.limits
        self.law = law
        self.search = search
        """Which head each operator shall join, if somebody has searched."""
        self.order = GroupOrder()
        count = len(graph.nodes)
        self.groups: list[_Group] = []
        self.group_of: list[int | None] = [None] * count
        self.member_of: list[int | None] = [None] * count
        """Number of the node, or of its group, in the order of groups."""
        self.carried: list[int] = list(range(count))
        """For a virtual operator the node whose value it is a view of, for others the node itself."""
        self.unit_of: list[str | None] = [None] * count
        self.refusals: list[HardwareRefusal | None] = [None] * count
        self.clock = 0

    def visit(self, number: int) -> None:
        """Put one node into a group, or leave it outside."""
        node = self.graph.nodes[number]
        if node.role in VIEWS:
            self._visit_virtual(number, node)
        elif node.role is HardwareRole.OPERATOR and node.kinds:
            self._visit_mapped(number, node)
        else:
            self.refusals[number] = _refusal_outside(node)
            self.member_of[number] = self.order.add(self._members_before(node))

    def _members_before(self, node: HardwareNode) -> dict[int, None]:
        """Members that must precede the node, in the order of its operands."""
        producers = (*(self.graph.producers[value] for value in node.reads), *node.after)
        members = (self.member_of[producer] for producer in producers)
        return {member: None for member in members if member is not None}

    def _visit_mapped(self, number: int, node: HardwareNode) -> None:
        # Only the groups of its operands can be joined; the one that grew last is the likeliest to go on
        candidates = {self.group_of[self.graph.producers[value]]: None for value in node.reads}
        groups = [index for index in candidates if index is not None]
        groups.sort(key=lambda index: -self.groups[index].grown)
        wanted = None if self.search is None else self.search.joins[number]
        if wanted is not None:
            groups.sort(key=lambda index: self.groups[index].trip.head != wanted)
        refusal: HardwareRefusal | None = None
        for index in groups[:MOST_CANDIDATES]:
            head = self.groups[index].trip.head
            if self.search is not None and head != wanted and (head, number) not in self.search.lost:
                why = self._refusal(number, index) or HardwareRefusal(Reason.NOT_CHEAPER, "another plan is cheaper")
            else:
                why = self._join(number, node, index)
            if why is None:
                return
            refusal = why if refusal is None else refusal
        # It starts a group, which has to keep to the limits on its own.
        self.refusals[number] = refusal
        trip = self.law.start(number)
        if isinstance(trip, HardwareRefusal):
            self.refusals[number] = _both(trip, refusal) if self.law.matcher.requires else trip
            self.member_of[number] = self.order.add(self._members_before(node))
            return
        self.groups.append(_Group(self.order.add(self._members_before(node)), trip))
        self._enter(number, len(self.groups) - 1, trip)
        self.groups[-1].walk.append(number)

    def _inside(self, index: int) -> Inside:
        """Which node of a group a value comes from."""
        producers, group_of, carried = self.graph.producers, self.group_of, self.carried
        return lambda value: carried[producers[value]] if group_of[producers[value]] == index else None

    def _refusal(self, number: int, index: int) -> HardwareRefusal | None:
        """Why the law forbids the node to join a group."""
        trip = self.law.extend(self.groups[index].trip, number, self._inside(index))
        return trip if isinstance(trip, HardwareRefusal) else None

    def _join(self, number: int, node: HardwareNode, index: int) -> HardwareRefusal | None:
        """Let the node join the group, or say why it cannot."""
        group = self.groups[index]
        trip = self.law.extend(group.trip, number, self._inside(index))
        if isinstance(trip, HardwareRefusal):
            return trip
        # Last: it changes the order of groups if it succeeds.
        refusal = self._cycle(node, group)
        if refusal is None:
            if self.law.stores and self.law.leaves_behind(group.trip.head, number, self._inside(index)):
                group.written.add(len(group.walk) - 1)
            self._enter(number, index, trip)
            group.walk.append(number)
        return refusal

    def _cycle(self, node: HardwareNode, group: _Group) -> HardwareRefusal | None:
        """Record that the node's other operands precede the group, unless one of them depends on it."""
        before = self._members_before(node)
        # What the group itself gives does not count.
        before.pop(group.member, None)
        if self.order.constrain(before, group.member):
            return None
        producers = (self.graph.producers[value] for value in node.reads)
        others = (each for each in producers if self.member_of[each] in before)
        labels = ", ".join(dict.fromkeys(self.graph.nodes[each].label for each in others))
        return HardwareRefusal(Reason.WOULD_CLOSE_CYCLE, f"also reads {labels}, which may depend on the group")

    def _enter(self, number: int, index: int, trip: TripState) -> None:
        """Put the node into the group."""
        group = self.groups[index]
        group.trip = trip
        group.nodes.append(number)
        self.group_of[number] = index
        self.member_of[number] = group.member
        self.clock += 1
        group.grown = self.clock

    def _visit_virtual(self, number: int, node: HardwareNode) -> None:
        """Let a view of one value of a group join the group."""
        producers = dict.fromkeys(self.graph.producers[value] for value in node.reads)
        data = [each for each in producers if self.graph.nodes[each].role is not HardwareRole.CONSTANT]
        index = self.group_of[data[0]] if len(data) == 1 else None
        trip: TripState | HardwareRefusal = _NO_GROUP
        if index is not None:
            trip = self.law.with_view(self.groups[index].trip, number, self._inside(index))
        if index is not None and isinstance(trip, TripState):
            self.carried[number] = self.carried[data[0]]
            self._enter(number, index, trip)
        else:
            self.refusals[number] = trip if isinstance(trip, HardwareRefusal) else None
            self.member_of[number] = self.order.add(self._members_before(node))

    def dissolve_incomplete(self) -> None:
        """Leave outside what a trip holds that did not come to a unit that every trip must use."""
        for group in self.groups:
            refusal = self.law.skipped(group.trip)
            if refusal is not None:
                for number in group.nodes:
                    self.group_of[number] = None
                    is_view = self.graph.nodes[number].role in VIEWS
                    self.refusals[number] = _NO_GROUP if is_view else _both(refusal, self.refusals[number])
                group.nodes, group.walk = [], []

    def collect_virtual_inputs(self) -> None:
        """Let each virtual operator that is still alone join the group of its readers, if all are in one.

        The groups stay convex: what has a single reader adds no way between groups.
        """
        escaping = {
            producer for producer, escapes in zip(self.graph.producers, self.graph.escapes, strict=True) if escapes
        }
        readers = self.graph.readers()
        values: dict[int, list[int]] = {}
        for value, producer in enumerate(self.graph.producers):
            values.setdefault(producer, []).append(value)
        # From the last node to the first: a view of a view finds its reader collected.
        for number in range(len(self.graph.nodes) - 1, -1, -1):
            node = self.graph.nodes[number]
            if node.role in VIEWS and self.group_of[number] is None and number not in escaping:
                groups = {self.group_of[reader] for reader in readers[number]}
                index = groups.pop() if len(groups) == 1 else None
                if index is not None:
                    self._collect(number, node, index, values[number])

    def _collect(self, number: int, node: HardwareNode, index: int, values: Sequence[int]) -> None:
        group = self.groups[index]
        inside, reads = self._inside(index), group.trip.reads
        added = {value for value in node.reads if value not in reads and inside(value) is None}
        # The view's values come from inside from now on, and what it reads comes from outside in their place.
        reads = (reads | added).difference(values)
        fits = not self.limits.operands or len(reads) <= self.limits.operands
        if fits and not (self.law.tiles and self.law.must_tile(group.trip)):
            group.trip = group.trip._replace(reads=reads)
            group.nodes.append(number)
            self.group_of[number] = index
            self.refusals[number] = None

    def plan(self) -> HardwarePlan:
        """The result."""
        matcher = self.law.matcher
        for group in self.groups:
            units = matcher.assign([self.law.work_of(each) for each in group.walk], frozenset(group.written))
            for number, unit in zip(group.walk, units, strict=True):
                self.unit_of[number] = matcher.units[unit].name
        groups = [HardwareGroup(tuple(sorted(group.nodes)), tuple(group.walk)) for group in self.groups if group.nodes]
        return HardwarePlan(groups, self.unit_of, self.refusals)


def _both(refusal: HardwareRefusal, before: HardwareRefusal | None) -> HardwareRefusal:
    """Why a trip of its own is none, and why it joined no other."""
    if before is None or before.message == refusal.message:
        return refusal
    return replace(refusal, message=f"{refusal.message}; {before.message}")


def _refusal_outside(node: HardwareNode) -> HardwareRefusal | None:
    """Why a node stays outside that no unit runs; `None` for those that no unit should run."""
    if node.role is HardwareRole.OPERATOR:
        if node.named_kinds:
            what = node.unsupported or "no mapping of this operator holds for these operands"
            return HardwareRefusal(Reason.HARDWARE_CONSTRAINT, what)
        return HardwareRefusal(Reason.NO_UNIT, "no unit runs this operator")
    if node.role is HardwareRole.BARRIER and node.named_kinds:
        return HardwareRefusal(Reason.OPAQUE, "the op may have effects; a fuse.pattern_kind says that it has none")
    return None
