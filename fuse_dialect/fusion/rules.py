"""The fusion rules as data: the only place that knows which kinds may fuse.

A node (the *source*) fuses into its immediate post-dominator (the *sink*) together with every node between them. Kinds
of the source, the sink and the nodes between are those of the groups that they belong to by then, which only anchors
change (`kind_with_anchor`). The edge kind is the greatest one on any path from source to sink.

1. Rows are tried in phases, and within a phase from the first node to the last. At most one row of a phase applies to
   a source, so the order of the rows means nothing.
2. Every row lets nothing above `PATH_LIMIT` stand between, and a row with a stricter limit takes elementwise edges
   only. That lets one structure answer all path checks (`blocked_paths`), and `FusionRule` insists on it.
3. No row fuses a source above `PATH_LIMIT` unless it is an anchor or a tuple: such a source would take on the kind of
   its sink, and paths that it has blocked would have to be opened again.
4. Rows into tuples stand in phases of their own, after all others.

Source: TVM `GraphPartitioner::RunFuse`, src/relay/analysis/graph_partitioner.cc (v0.18).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuse_dialect.diagnostics import Reason
from fuse_dialect.pattern_kind import PatternKind

PATH_LIMIT = PatternKind.INJECTIVE
"""The greatest kind that any row allows between source and sink."""


@dataclass(frozen=True, slots=True)
class FusionRule:
    """One way to fuse: what may join what, in which phases."""

    name: str
    """Stable kebab-case name; remarks and FileCheck files use it."""
    phases: tuple[int, ...]
    sources: frozenset[PatternKind]
    """Kinds of the source."""
    edges: frozenset[PatternKind]
    """Allowed values of the greatest edge kind between source and sink."""
    path_limit: PatternKind
    """Greatest kind allowed strictly between source and sink."""
    sinks: frozenset[PatternKind]
    """Kinds of the sink's group."""
    into_tuple: bool = False
    """Whether the sink itself is a tuple; the other rows never have a tuple as sink."""

    def __post_init__(self):
        elementwise_only = self.path_limit is PatternKind.BROADCAST and self.edges == frozenset({PatternKind.ELEMWISE})
        if self.path_limit is not PATH_LIMIT and not elementwise_only:
            raise ValueError(f"rule '{self.name}': expected path limit {PATH_LIMIT.name}, got {self.path_limit.name}")

    def refusal(self, edge: PatternKind, sink: PatternKind, path_is_blocked: bool) -> Reason | None:
        """Why this rule refuses a source of a matching kind, or `None` if it does not."""
        if edge not in self.edges:
            return Reason.EDGE_KIND
        if sink not in self.sinks:
            return Reason.TUPLE_CONSUMER if sink is PatternKind.TUPLE else Reason.SINK_KIND
        return Reason.PATH_KIND if path_is_blocked else None


def _up_to(limit: PatternKind) -> frozenset[PatternKind]:
    """All kinds that are at most `limit`."""
    return frozenset(kind for kind in PatternKind if kind <= limit)


FUSION_RULES: tuple[FusionRule, ...] = (
    # conv2d -> relu: the epilogue is computed on each output element while it is at hand.
    FusionRule(
        name="complex-epilogue",
        phases=(0,),
        sources=frozenset({PatternKind.OUT_EWISE_FUSABLE}),
        edges=frozenset({PatternKind.ELEMWISE}),
        path_limit=PatternKind.BROADCAST,
        sinks=_up_to(PatternKind.BROADCAST),
    ),
    # exp -> add, exp -> sum, and exp beside a convolution that has already joined their common consumer.
    FusionRule(
        name="broadcast-into-consumer",
        phases=(0, 1),
        sources=_up_to(PatternKind.BROADCAST),
        edges=_up_to(PatternKind.INJECTIVE) | {PatternKind.COMM_REDUCE},
        path_limit=PatternKind.INJECTIVE,
        sinks=_up_to(PatternKind.INJECTIVE) | {PatternKind.COMM_REDUCE, PatternKind.OUT_EWISE_FUSABLE},
    ),
    # transpose -> exp; phase 1, so that convolutions have taken their epilogues before.
    FusionRule(
        name="injective-into-consumer",
        phases=(1,),
        sources=frozenset({PatternKind.INJECTIVE, PatternKind.TUPLE}),
        edges=frozenset(PatternKind),
        path_limit=PatternKind.INJECTIVE,
        sinks=_up_to(PatternKind.INJECTIVE),
    ),
    # exp -> tuple, once the tuple itself has joined a concatenation.
    FusionRule(
        name="injective-into-tuple",
        phases=(2,),
        sources=_up_to(PatternKind.INJECTIVE),
        edges=frozenset(PatternKind),
        path_limit=PatternKind.INJECTIVE,
        sinks=_up_to(PatternKind.INJECTIVE),
        into_tuple=True,
    ),
)


def rules_by_phase(rules: Sequence[FusionRule]) -> tuple[Mapping[PatternKind, FusionRule], ...]:
    """For each phase the row that applies to a source of each kind.

    Raises:
        ValueError: Two rows apply to the same kind in one phase, or a phase mixes rows into tuples with others.
    """
    phases: list[dict[PatternKind, FusionRule]] = [{} for _ in range(1 + max(max(rule.phases) for rule in rules))]
    for rule in rules:
        for phase in rule.phases:
            for kind in sorted(rule.sources):
                if kind in phases[phase]:
                    raise ValueError(f"rules '{phases[phase][kind].name}' and '{rule.name}' both apply to {kind.name}")
                phases[phase][kind] = rule
    for phase, row_of_kind in enumerate(phases):
        if len({rule.into_tuple for rule in row_of_kind.values()}) > 1:
            raise ValueError(f"phase {phase} has rows into tuples and other rows")
    return tuple(phases)


RULES_BY_PHASE = rules_by_phase(FUSION_RULES)

_KINDS_WITH_RULE = frozenset[PatternKind]().union(*(rule.sources for rule in FUSION_RULES))


def guard(source: PatternKind, sink: PatternKind | None) -> Reason:
    """What keeps a source unfused as long as no row has been tried on it.

    Args:
        source: Kind of the node's operator.
        sink: Kind of the operator of its immediate post-dominator, or `None` if there is none.
    """
    if source is PatternKind.OPAQUE:
        return Reason.OPAQUE
    if sink is None:
        return Reason.VALUE_ESCAPES
    if sink is PatternKind.TUPLE and source in _KINDS_WITH_RULE:
        return Reason.TUPLE_CONSUMER
    return Reason.NO_RULE


def kind_with_anchor(source: PatternKind, sink: PatternKind) -> PatternKind:
    """Kind of a sink's group once a source's group that holds an anchor has joined; no other merge changes a kind."""
    return max(source, sink)


class FusionDecision(NamedTuple):
    """The verdict on one node: true when it is fused, and otherwise a reason; one is made per node, hence a tuple."""

    reason: Reason
    source: int
    """The node the verdict is about; for a node that was fused because it stands between two others, the first."""
    sink: int | None = None
    """Immediate post-dominator of `source`."""
    rule: str | None = None
    """Name of the row that fused the source, or that came closest: the last one that was tried."""
    phase: int | None = None
    blocker: int | None = None
    """The node in the way: the end of the greatest edge, the sink, or a node between source and sink."""
    kind: PatternKind | None = None
    """The kind that the rule does not allow: of the edge, or of the blocker's group at that time."""
    counted: int | None = None
    """Nodes or arguments that the merged group would have at least; more than `limit`."""
    limit: int | None = None

    def __bool__(self) -> bool:
        return self.reason is Reason.FUSED
