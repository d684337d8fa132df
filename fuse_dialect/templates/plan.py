"""Groups of operators that are one trip of data through an accelerator each.

Operators are visited in topological order. After each of them comes a reader of its value, if one is ready, and
otherwise the ready operator with the lowest number. An operator joins the group of an operand when all of this holds,
and otherwise starts a group of its own at the source:

1. a unit that can run it is free and lies ahead of the group's data (`templates.matcher`);
2. it reads the group's *head*, the value that the last operator gave, and no value that the group has passed;
3. it does not broadcast that value: what streams by has the shape of the result; and it takes it as the operand that
   its mapping lets stream;
4. the limits of the template hold for the enlarged group;
5. the group stays convex: no other operand depends on the group (`group_order`).

Of several groups the one that grew last is asked first, and a few are asked at most. Afterwards the inputs are
collected. Constants are copied to every group that reads them. A virtual operator or a tuple joins the group that gives
the one value it reads, or otherwise the group that holds all its readers. All other operators stay outside. A virtual
operator is a view of the value that it reads, so whoever reads the view reads the value.

Differs from the OPU article: state belongs to a group instead of to the whole run, every operator is visited, groups
are convex, values may leave a group at every unit, and what no unit runs stays outside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fuse_dialect.diagnostics import Reason
from fuse_dialect.templates.graph import VIEWS, HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.group_order import GroupOrder
from fuse_dialect.templates.matcher import Trip, UnitMatcher
from fuse_dialect.templates.template import HardwareTemplate
from fuse_dialect.templates.visiting_order import visiting_order

MOST_CANDIDATES = 16
"""Groups that an operator asks at most. Most read one or two; with the bound, time is linear for every input."""


@dataclass(frozen=True, slots=True)
class HardwareRefusal:
    """Why an operator did not join a group."""

    reason: Reason
    message: str

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.message}"


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


_NO_GROUP = HardwareRefusal(Reason.NO_UNIT, "no unit is needed, but no group gives or reads all its data either")


@dataclass(slots=True)
class _Group:
    """A group that may still grow."""

    member: int
    """Its number in the order of groups."""
    head: int
    """The node that the last unit ran."""
    trip: Trip = field(default_factory=Trip)
    nodes: list[int] = field(default_factory=list[int])
    walk: list[int] = field(default_factory=list[int])
    reads: set[int] = field(default_factory=set[int])
    """Values from outside, constants included."""
    grown: int = 0
    """When it last grew."""


def plan_hardware(graph: HardwareGraph, template: HardwareTemplate) -> HardwarePlan:
    """Group the operators of a graph onto a valid template.

    Complexity: O((nodes + reads) * units), plus the searches of `GroupOrder`.
    """
    planner = _Planner(graph, template)
    for number in visiting_order(graph):
        planner.visit(number)
    planner.collect_virtual_inputs()
    return planner.plan()


class _Planner:
    """The state of one run of `plan_hardware`."""

    def __init__(self, graph: HardwareGraph, template: HardwareTemplate):
        self.graph = graph
        self.limits = template.limits
        self.matcher = UnitMatcher(template)
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
        # (2) only the groups of its operands can be joined; the one that grew last is the likeliest to go on
        candidates = {self.group_of[self.graph.producers[value]]: None for value in node.reads}
        groups = [self.groups[index] for index in candidates if index is not None]
        groups.sort(key=lambda group: -group.grown)
        refusal: HardwareRefusal | None = None
        for group in groups[:MOST_CANDIDATES]:
            why = self._join(number, node, group)
            if why is None:
                return
            refusal = why if refusal is None else refusal
        # It starts a group, which has to keep to the limits on its own.
        self.refusals[number] = refusal
        new = _Group(-1, number)
        why = self._limit(node, new)
        if why is not None:
            self.refusals[number] = why
            self.member_of[number] = self.order.add(self._members_before(node))
            return
        unit = self.matcher.match(new.trip, node.kinds)
        assert isinstance(unit, int), "every unit of a valid template can be reached from the source"
        new.member = self.order.add(self._members_before(node))
        self.groups.append(new)
        self._enter(number, node, len(self.groups) - 1, unit)

    def _join(self, number: int, node: HardwareNode, group: _Group) -> HardwareRefusal | None:
        """Let the node join the group, or say why it cannot."""
        # (1) a free unit ahead of the data
        unit = self.matcher.match(group.trip, node.kinds)
        if not isinstance(unit, int):
            return HardwareRefusal(*unit)
        index = self.group_of[group.head]
        assert index is not None, "the head of a group is in the group"
        for value in node.reads:
            producer = self.graph.producers[value]
            # (2) a view of the head is the head
            if self.group_of[producer] == index and self.carried[producer] != group.head:
                head = self.graph.nodes[group.head].label
                passed = self.graph.nodes[producer].label
                return HardwareRefusal(Reason.STREAM_PASSED, f"reads {passed}, but the data has gone on to {head}")
            # (3) the shape of the stream is that of the result, and its operand one that streams
            if self.group_of[producer] == index and node.streams is not None and value not in node.streams:
                what = f"{self.graph.nodes[producer].label} would stream by as an operand that comes from memory"
                return HardwareRefusal(Reason.HARDWARE_LIMIT, what)
            if self.group_of[producer] == index and value in node.widened:
                what = f"{self.graph.nodes[producer].label} would be broadcast while it streams by"
                return HardwareRefusal(Reason.HARDWARE_LIMIT, what)
        # (4), and (5) last: it changes the order of groups if it succeeds
        refusal = self._limit(node, group) or self._cycle(node, group)
        if refusal is None:
            self._enter(number, node, index, unit)
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

    def _limit(self, node: HardwareNode, group: _Group) -> HardwareRefusal | None:
        """Why the group with the node would exceed a limit."""
        limits = self.limits
        if limits.channel_alignment and (node.channels is None or node.channels % limits.channel_alignment):
            got = "an unknown number" if node.channels is None else node.channels
            text = f"expects channels in multiples of {limits.channel_alignment}, got {got}"
            return HardwareRefusal(Reason.HARDWARE_LIMIT, text)
        if limits.operands:
            added = {value for value in self._outside_reads(node, group) if value not in group.reads}
            count = len(group.reads) + len(added)
            if count > limits.operands:
                text = f"the group would read {count} values, the limit is {limits.operands}"
                return HardwareRefusal(Reason.HARDWARE_LIMIT, text)
        if limits.buffer_bytes and group.nodes and node.role not in VIEWS:
            for value in node.reads:
                size = self.graph.value_bytes[value]
                inside = self._is_inside(value, group)
                if inside and (size is None or size > limits.buffer_bytes):
                    got = "of unknown size" if size is None else f"of {size} bytes"
                    text = f"a value {got} would pass between units, the limit is {limits.buffer_bytes} bytes"
                    return HardwareRefusal(Reason.HARDWARE_LIMIT, text)
        return None

    def _is_inside(self, value: int, group: _Group) -> bool:
        member = self.member_of[self.graph.producers[value]]
        return member is not None and member == group.member

    def _outside_reads(self, node: HardwareNode, group: _Group) -> list[int]:
        return [value for value in node.reads if not self._is_inside(value, group)]

    def _enter(self, number: int, node: HardwareNode, index: int, unit: int | None) -> None:
        """Put the node into the group; without a unit for a virtual operator."""
        group = self.groups[index]
        group.reads.update(self._outside_reads(node, group))
        group.nodes.append(number)
        self.group_of[number] = index
        self.member_of[number] = group.member
        self.clock += 1
        group.grown = self.clock
        if unit is not None:
            group.walk.append(number)
            group.head = number
            group.trip.take(unit)
            self.unit_of[number] = self.matcher.units[unit].name

    def _visit_virtual(self, number: int, node: HardwareNode) -> None:
        """Let a view of one value of a group join the group."""
        producers = dict.fromkeys(self.graph.producers[value] for value in node.reads)
        data = [each for each in producers if self.graph.nodes[each].role is not HardwareRole.CONSTANT]
        index = self.group_of[data[0]] if len(data) == 1 else None
        refusal = _NO_GROUP if index is None else self._limit(node, self.groups[index])
        if index is not None and refusal is None:
            self.carried[number] = self.carried[data[0]]
            self._enter(number, node, index, None)
        else:
            self.refusals[number] = refusal
            self.member_of[number] = self.order.add(self._members_before(node))

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
        added = {value for value in node.reads if value not in group.reads and not self._is_inside(value, group)}
        # The view's values come from inside from now on, and what it reads comes from outside in their place.
        count = len(group.reads) + len(added) - sum(value in group.reads for value in values)
        if not self.limits.operands or count <= self.limits.operands:
            group.reads.difference_update(values)
            group.reads.update(added)
            group.nodes.append(number)
            self.group_of[number] = index
            self.refusals[number] = None

    def plan(self) -> HardwarePlan:
        """The result."""
        groups = [HardwareGroup(tuple(sorted(group.nodes)), tuple(group.walk)) for group in self.groups]
        return HardwarePlan(groups, self.unit_of, self.refusals)


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
