"""What a strategy says besides its choice: a verdict on each node, and merges in the order in which they were made."""

from typing import NamedTuple

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.rules import FusionRule
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
    apart: float | None = None
    """Seconds of both kernels, by strategies that know them."""
    together: float | None = None
    """Seconds of the kernel that both would be."""

    def __bool__(self) -> bool:
        return self.reason is Reason.FUSED


class Merge(NamedTuple):
    """One step of a strategy: groups that became one."""

    source: int
    """The node that was to be fused."""
    sink: int
    """What it was fused into."""
    absorbed: tuple[int, ...]
    """Roots of all groups that the sink's group absorbed: that of `source`, and those between."""
    phase: int | None = None
    rule: FusionRule | None = None
    seconds_saved: float | None = None
    """By strategies that know it."""
    bytes_saved: int | None = None
    """Fewer bytes read and stored, by strategies that know it."""
