"""The partition as TVM computes it, step by step and without any shortcut: the oracle for the fast one.

It follows the description of `GraphPartitioner` (TVM v0.18): post-dominators by climbing, a search of all paths for
each source, stale sizes, and three phases that are spelled out with conditions instead of the table of rules.
`PlainTablePartitioner` takes other rules, as plain data.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.pattern_kind import PatternKind as Kind


@dataclass
class PlainGroup:
    """The group object that TVM keeps for each node; `parent` is set once the group has joined another."""

    kind: Kind
    anchor: int | None
    index: int
    num_nodes: int = 1
    parent: "PlainGroup | None" = None

    def root(self) -> "PlainGroup":
        """The group that this one has become part of."""
        group = self
        while group.parent is not None:
            group = group.parent
        return group


def plain_post_dominators(graph: ForwardGraph) -> tuple[list[int | None], list[int], list[Kind]]:
    """Parent, depth and greatest edge kind of every node, by climbing one step at a time."""
    parent: list[int | None] = [None] * len(graph)
    depth = [1] * len(graph)
    edge_kind = [Kind.OPAQUE] * len(graph)
    for node in reversed(range(len(graph))):
        if graph.escapes[node] or not graph.users[node]:
            continue
        common: int | None = graph.users[node][0][0]
        greatest = Kind.ELEMWISE
        for user, edge in graph.users[node]:
            greatest = max(greatest, edge)
            other: int | None = user
            while common != other and common is not None and other is not None:
                higher = max(depth[common], depth[other])
                if depth[common] == higher:
                    climber, common = common, parent[common]
                    greatest = max(greatest, edge_kind[climber])
                if other is not None and depth[other] == higher:
                    greatest = max(greatest, edge_kind[other])
                    other = parent[other]
            common = common if common == other else None
        if common is not None:
            parent[node], depth[node], edge_kind[node] = common, depth[common] + 1, greatest
    return parent, depth, edge_kind


def nodes_between(graph: ForwardGraph, source: int, sink: int) -> Iterator[int]:
    """Every node on a path from `source` to `sink`, both excluded, once."""
    seen = {source, sink}
    pending = [source]
    while pending:
        for user, _ in graph.users[pending.pop()]:
            if user not in seen:
                seen.add(user)
                pending.append(user)
                yield user


class PlainPartitioner:
    """TVM's greedy loop over phases and nodes."""

    phases: Sequence[int] = (0, 1, 2)

    def __init__(self, graph: ForwardGraph, max_depth: int | None):
        self.graph = graph
        self.max_depth = max_depth
        self.ipdom, _, self.edge_kind = plain_post_dominators(graph)
        self.groups = [
            PlainGroup(kind, node if kind is Kind.OUT_EWISE_FUSABLE else None, node)
            for node, kind in enumerate(graph.kinds)
        ]

    def run(self) -> list[PlainGroup]:
        """Group object of each node after all phases."""
        for phase in self.phases:
            for node in range(len(self.graph)):
                sink = self.ipdom[node]
                if self.groups[node].kind is not Kind.OPAQUE and sink is not None and not self.is_too_deep(node, sink):
                    self.visit(phase, node, sink)
        return self.groups

    def is_too_deep(self, node: int, sink: int) -> bool:
        """Whether fusing would count more nodes than the limit; sizes of absorbed groups are stale on purpose."""
        if self.max_depth is None:
            return False
        between = sum(self.groups[i].num_nodes for i in nodes_between(self.graph, node, sink))
        return self.groups[sink].root().num_nodes + self.groups[node].num_nodes + between > self.max_depth

    def visit(self, phase: int, node: int, sink: int) -> None:
        """Fuse `node` into `sink` if the phase allows it."""
        group, sink_group = self.groups[node], self.groups[sink]
        if phase == 2:
            if group.kind <= Kind.INJECTIVE and sink_group.kind is Kind.TUPLE:
                self.fuse_if(node, sink, lambda kind: kind <= Kind.INJECTIVE, lambda kind: kind <= Kind.INJECTIVE)
        elif group.root() is sink_group.root() or sink_group.kind is Kind.TUPLE:
            return
        elif group.kind is Kind.OUT_EWISE_FUSABLE:
            if phase == 0 and self.edge_kind[node] is Kind.ELEMWISE:
                self.fuse_if(node, sink, lambda kind: kind <= Kind.BROADCAST, lambda kind: kind <= Kind.BROADCAST)
        elif group.kind <= Kind.BROADCAST:
            if self.edge_kind[node] <= Kind.COMM_REDUCE:
                self.fuse_if(
                    node, sink, lambda kind: kind <= Kind.INJECTIVE, lambda kind: kind <= Kind.OUT_EWISE_FUSABLE
                )
        elif group.kind in (Kind.INJECTIVE, Kind.TUPLE) and phase == 1:
            self.fuse_if(node, sink, lambda kind: kind <= Kind.INJECTIVE, lambda kind: kind <= Kind.INJECTIVE)

    def fuse_if(self, node: int, sink: int, on_path: Callable[[Kind], bool], at_sink: Callable[[Kind], bool]) -> None:
        """Fuse if every group between satisfies `on_path` and the sink's satisfies `at_sink`."""
        between = list(nodes_between(self.graph, node, sink))
        if at_sink(self.groups[sink].root().kind) and all(on_path(self.groups[i].root().kind) for i in between):
            for member in [node, *between]:
                self.merge(self.groups[member].root(), self.groups[sink].root())

    def merge(self, child: PlainGroup, parent: PlainGroup) -> None:
        """Make the group `child` part of `parent`; only an anchor raises the kind."""
        if child is parent:
            return
        parent.num_nodes += child.num_nodes
        child.parent = parent
        if child.anchor is not None:
            assert parent.anchor is None
            parent.anchor = child.anchor
            parent.kind = max(parent.kind, child.kind)


class PlainRule(NamedTuple):
    """A way to fuse, in the words of TVM's loop."""

    phase: int
    sources: frozenset[Kind]
    edges: frozenset[Kind]
    on_path: Kind
    sinks: frozenset[Kind]
    into_tuple: bool


class PlainTablePartitioner(PlainPartitioner):
    """The same loop with rules from outside, which may also fuse reductions: a group that holds one is a reduction."""

    def __init__(self, graph: ForwardGraph, max_depth: int | None, rules: Sequence[PlainRule]):
        super().__init__(graph, max_depth)
        self.rules = rules
        self.phases = sorted({rule.phase for rule in rules})

    def visit(self, phase: int, node: int, sink: int) -> None:
        """Fuse `node` into `sink` if a rule of the phase says so."""
        group, sink_group = self.groups[node], self.groups[sink]
        if group.root() is sink_group.root():
            return
        into_tuple = sink_group.kind is Kind.TUPLE
        for rule in self.rules:
            if (rule.phase, rule.into_tuple) == (phase, into_tuple) and group.kind in rule.sources:
                if self.edge_kind[node] in rule.edges:
                    self.fuse_if(node, sink, rule.on_path.__ge__, rule.sinks.__contains__)
                return

    def merge(self, child: PlainGroup, parent: PlainGroup) -> None:
        """Make the group `child` part of `parent`; an anchor and a reduction raise the kind."""
        if child is not parent and child.anchor is None and child.kind is Kind.COMM_REDUCE:
            parent.kind = max(parent.kind, child.kind)
        super().merge(child, parent)
