"""What fusion decides: groups of nodes, and a verdict on each node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.post_dominators import PostDominatorTree
from fuse_dialect.fusion.rules import FusionRule
from fuse_dialect.pattern_kind import PatternKind


class FusionDecision(NamedTuple):
    """The verdict on one node: true when it is fused, and otherwise a reason; one is made per node, hence a tuple."""

    reason: Reason
    source: int
    """The node the verdict is about; for a node that was fused because it stands between two others, the first."""
    sink: int | None = None
    """Immediate post-dominator of `source`."""
    rule: FusionRule | None = None
    """The row that fused the source, or that came closest: the last one that was tried."""
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


@dataclass(frozen=True, slots=True)
class FusionGroup:
    """Nodes that become one kernel."""

    root: int
    """The member that post-dominates all others; only its value is used outside."""
    anchor: int | None
    """The complex operator that the kernel is built around, if it holds one."""
    kind: PatternKind
    members: tuple[int, ...]
    """All nodes of the group in ascending order."""

    @property
    def num_nodes(self) -> int:
        """Number of members."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """Which nodes become one kernel, and why the others do not."""

    root_of: Sequence[int]
    """For each node the root of its group."""
    groups: Sequence[FusionGroup]
    """All groups, single nodes too, in the order of their roots."""
    decisions: Sequence[FusionDecision]
    """For each node how it was fused into a later one or why it was not: a limit, or what the last rule tried says."""
    tree: PostDominatorTree
