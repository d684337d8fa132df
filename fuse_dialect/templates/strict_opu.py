"""The partition of the OPU article, replayed to the letter, with the rules that make it go wrong.

1. A depth-first walk from node 0 alone visits nodes; of the nodes to visit next that with the smallest number goes
   first. Inputs and constants are walked through and not mapped.
2. There is one position in the hardware for the whole run. An operator searches breadth first behind it, at the start
   from the source on; units run any number of operators. A search without a position moves it to the source, found or
   not.
3. Found: the operator joins the *latest* group. Not found, but mapped: the position is forgotten, the search repeated,
   and a new group begins. Not mapped at all: it is taken for virtual and joins the latest group. A tuple, or a field of
   one, is no operator: only rule 4 puts it into a group.
4. What joins a group becomes its root, and inputs are collected upwards until (a) the root of an earlier group, (b)
   anything grouped, (c) a mapped operator that is not grouped yet.
5. In the end an `add` takes a `pad` into its group if that has the smallest number of what it reads; and if the next
   number is that of an `add`, the whole group moves into the group of that one, which gets its root. A `bias_add` is an
   `add` there.

Every group is a function of one result, the value of its root. Where this makes no well-formed program, the plan
says so in `problem`.

Source: `GraphMatchFuser` of https://github.com/OPU-Lab/opu-compiler, frontend/src/relay/pass/fuse_ops_hw.cc.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fuse_dialect.templates.graph import HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.plan import HardwareGroup
from fuse_dialect.templates.template import HardwareTemplate

_CALLS = (HardwareRole.OPERATOR, HardwareRole.VIRTUAL, HardwareRole.BARRIER)
_MEMBERS = (*_CALLS, HardwareRole.TUPLE)
_ADDS = ("add", "bias_add")


@dataclass(frozen=True, slots=True)
class StrictProblem:
    """Why the groups are not a program."""

    node: int
    message: str


@dataclass(frozen=True, slots=True)
class StrictPlan:
    """The groups of the article's algorithm."""

    groups: Sequence[HardwareGroup]
    roots: Sequence[int]
    """For each group the node whose value is its result."""
    unit_of: Sequence[str | None]
    problem: StrictProblem | None


@dataclass(slots=True)
class _StrictGroup:
    root: int | None = None
    walk: list[int] = field(default_factory=list[int])


def replay_opu(graph: HardwareGraph, template: HardwareTemplate) -> StrictPlan:
    """Group as the article does; predicates, capacities and limits of the template are ignored.

    Complexity: O((nodes + reads) * units), as long as rule 5 does not apply.
    """
    replay = _Replay(graph, template)
    replay.partition()
    replay.merge_channel_expansions()
    return replay.plan()


class _Replay:
    """The global state of the algorithm."""

    def __init__(self, graph: HardwareGraph, template: HardwareTemplate):
        self.graph = graph
        self.units = template.units
        number = {unit.name: index for index, unit in enumerate(template.units)}
        successors = template.successors()
        self.links = [[number[name] for name in successors[unit.name]] for unit in template.units]
        self.source = number[template.source]
        self.position: int | None = None
        self.groups: list[_StrictGroup] = []
        self.group_of: dict[int, int] = {}
        self.unit_of: list[str | None] = [None] * len(graph.nodes)
        self.unmappable: int | None = None

    def find_match(self, kinds: Sequence[str]) -> int | None:
        """Rule 2; the position changes."""
        if self.position is None:
            self.position = self.source
            seen, queue = {self.source}, [self.source]
        else:
            seen = {self.position}
            queue = [unit for unit in self.links[self.position] if unit not in seen]
            seen.update(queue)
        for unit in queue:
            if self.units[unit].kind in kinds:
                self.position = unit
                return unit
            for sink in self.links[unit]:
                if sink not in seen:
                    seen.add(sink)
                    queue.append(sink)
        return None

    def partition(self) -> None:
        """Rules 1 and 3."""
        readers = self.graph.readers()
        self.groups.append(_StrictGroup())
        pending = [0] if self.graph.nodes else []
        visited: set[int] = set()
        while pending:
            number = pending.pop()
            if number in visited:
                continue
            visited.add(number)
            pending.extend(reader for reader in reversed(readers[number]) if reader not in visited)
            node = self.graph.nodes[number]
            if node.role in _CALLS:
                self.place(number, node)

    def place(self, number: int, node: HardwareNode) -> None:
        """Rule 3."""
        unit = self.find_match(node.named_kinds)
        if unit is None and node.named_kinds:
            self.position = None
            unit = self.find_match(node.named_kinds)
            if unit is None:
                self.unmappable = number if self.unmappable is None else self.unmappable
                return
            self.groups.append(_StrictGroup())
        if unit is not None:
            self.unit_of[number] = self.units[unit].name
            self.groups[-1].walk.append(number)
        self.add_to_group(number, len(self.groups) - 1)

    def add_to_group(self, number: int, index: int) -> None:
        """Rule 4."""
        self.group_of[number] = index
        self.groups[index].root = number
        pending = [self.graph.producers[value] for value in reversed(self.graph.nodes[number].reads)]
        while pending:
            each = pending.pop()
            node = self.graph.nodes[each]
            if each not in self.group_of and not node.named_kinds:
                self.group_of[each] = index
                pending.extend(self.graph.producers[value] for value in reversed(node.reads))

    def merge_channel_expansions(self) -> None:
        """Rule 5."""
        nodes = self.graph.nodes
        for number, node in enumerate(nodes):
            if node.word not in _ADDS or number not in self.group_of or len(node.reads) < 2:
                continue
            first, second, *_ = sorted(self.graph.producers[value] for value in node.reads)
            if nodes[first].word != "pad":
                continue
            index = self.group_of[first] = self.group_of[number]
            if nodes[second].word in _ADDS and second in self.group_of:
                target = self.group_of[second]
                for member, group in self.group_of.items():
                    if group == index:
                        self.group_of[member] = target
                self.groups[target].root = self.groups[index].root

    def plan(self) -> StrictPlan:
        """The groups that hold operators, and the first reason why they are no program."""
        members: dict[int, list[int]] = {}
        for number in sorted(self.group_of):
            if self.graph.nodes[number].role in _MEMBERS:
                members.setdefault(self.group_of[number], []).append(number)
        order = [index for index in range(len(self.groups)) if index in members]
        groups: list[HardwareGroup] = []
        roots: list[int] = []
        for index in order:
            walk = tuple(each for each in self.groups[index].walk if self.group_of[each] == index)
            groups.append(HardwareGroup(tuple(members[index]), walk))
            root = self.groups[index].root
            assert root is not None, "a group with members has a root"
            roots.append(root)
        return StrictPlan(groups, roots, self.unit_of, self.problem())

    def problem(self) -> StrictProblem | None:
        """The first thing that keeps the groups from being a program."""
        nodes = self.graph.nodes
        if self.unmappable is not None:
            return StrictProblem(self.unmappable, "cannot be mapped, not even from the source of the hardware")
        for number, node in enumerate(nodes):
            if node.role is HardwareRole.BARRIER:
                return StrictProblem(number, "is an op that nothing is known about: it cannot be taken for virtual")
            if node.role in _CALLS and number not in self.group_of:
                return StrictProblem(number, "is in no group: the walk from the first node does not come to it")
        return self.lost_value()

    def lost_value(self) -> StrictProblem | None:
        """An operator whose value is needed outside its group although it is not the root.

        Without one there is no cycle of groups either: all values of a group lead to its root then, so that a cycle of
        groups would be one of values.
        """
        group_of, producers = self.group_of, self.graph.producers
        outside = {producers[value] for value, escapes in enumerate(self.graph.escapes) if escapes}
        readers = self.graph.readers()
        for number, node in enumerate(self.graph.nodes):
            index = group_of.get(number)
            if node.role not in _MEMBERS or index is None or self.groups[index].root == number:
                continue
            reader = next((each for each in readers[number] if group_of.get(each) != index), None)
            if reader is not None or number in outside:
                root = self.groups[index].root
                assert root is not None, "a group with members has a root"
                where = "the function returns it" if reader is None else f"{self.graph.nodes[reader].label} reads it"
                result = self.graph.nodes[root].label
                return StrictProblem(number, f"is lost: {where}, but the result of its group is {result}")
        return None
