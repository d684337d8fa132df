"""Groups with one way out: an assignment gives each node the *root* of its group. TVM's partition is one.

An assignment makes a partition if

1. the root is a member of its group, and no other member has a larger number;
2. only the root is used outside: another member neither escapes nor has a user in another group. So no group depends on
   itself by way of another one;
3. opaque nodes are alone;
4. no group of several nodes has a tuple as its root: a kernel gives tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.group_forest import merged_kind
from fuse_dialect.fusion.core.post_dominators import PostDominatorTree, post_dominator_tree
from fuse_dialect.pattern_kind import PatternKind


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
class Partition:
    """Which nodes are together, and why the others are not."""

    root_of: Sequence[int]
    """For each node the root of its group."""
    groups: Sequence[FusionGroup]
    """All groups, single nodes too, in the order of their roots."""
    decisions: Sequence[FusionDecision]
    """For each node how it was fused into a later one or why it was not: a limit, or what the last rule tried says."""
    tree: PostDominatorTree


def partition_of_roots(graph: ForwardGraph, root_of: Sequence[int], reason: Reason = Reason.NOT_CHOSEN) -> Partition:
    """The partition that an assignment of nodes to groups makes, for strategies that have no verdicts of their own.

    Args:
        graph: The graph.
        root_of: For each node the root of its group.
        reason: Verdict on nodes that could have fused.

    Raises:
        ValueError: The assignment breaks a condition of this module.

    Complexity: O((V + E) log V).

    Example:
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> exp_relu_sort = ForwardGraph(
        ...     kinds=[Kind.ELEMWISE, Kind.ELEMWISE, Kind.OPAQUE],
        ...     users=[[(1, Kind.ELEMWISE)], [(2, Kind.OPAQUE)], []],
        ...     escapes=[False, False, True],
        ... )
        >>> partition = partition_of_roots(exp_relu_sort, [1, 1, 2])
        >>> [group.members for group in partition.groups]
        [(0, 1), (2,)]
        >>> [decision.reason.value for decision in partition.decisions]
        ['fused', 'not-chosen', 'opaque']
    """
    check_roots(graph, root_of)
    tree = post_dominator_tree(graph)
    members: list[list[int]] = [[] for _ in root_of]
    decisions: list[FusionDecision] = []
    for node, root in enumerate(root_of):
        members[root].append(node)
        sink = tree.parent[node]
        if root != node:
            verdict = Reason.FUSED
        elif graph.kinds[node] is PatternKind.OPAQUE:
            verdict = Reason.OPAQUE
        else:
            verdict = Reason.VALUE_ESCAPES if sink is None else reason
        decisions.append(FusionDecision(verdict, node, sink))
    groups = [_group(graph, nodes) for nodes in members if nodes]
    return Partition(list(root_of), groups, decisions, tree)


def _group(graph: ForwardGraph, nodes: Sequence[int]) -> FusionGroup:
    """The group of these nodes, the last of which is the root."""
    kind = graph.kinds[nodes[-1]]
    anchor: int | None = None
    for node in nodes:
        kind = merged_kind(graph.kinds[node], kind)
        if anchor is None and graph.kinds[node] is PatternKind.OUT_EWISE_FUSABLE:
            anchor = node
    return FusionGroup(nodes[-1], anchor, kind, tuple(nodes))


def check_roots(graph: ForwardGraph, root_of: Sequence[int]) -> None:
    """Check that an assignment of nodes to groups makes a partition.

    Raises:
        ValueError: It breaks a condition of this module.

    Complexity: O(V + E).
    """
    if len(root_of) != len(graph):
        raise ValueError(f"expected a root for each of {len(graph)} nodes, got {len(root_of)}")
    for node, root in enumerate(root_of):
        # (1) a chain of roots would leave open which group the node is in
        if not node <= root < len(graph) or root_of[root] != root:
            raise ValueError(f"node {node} has root {root}, expected the last node of its group")
        if node == root:
            continue
        # (2) with a single way out no path can leave a group and come back
        outside = next((user for user, _ in graph.users[node] if root_of[user] != root), None)
        if graph.escapes[node] or outside is not None:
            where = "outside the graph" if outside is None else f"by node {outside}"
            raise ValueError(f"node {node} of the group of {root} is used {where}, expected the root alone to be")
        for each in (node, root):
            # (3) an unknown op stays where it is, so it can be part of no kernel
            if graph.kinds[each] is PatternKind.OPAQUE:
                raise ValueError(f"node {each} is opaque, expected a group of its own, got that of {root}")
        # (4) the tuple that operands form is no value of the IR
        if graph.kinds[root] is PatternKind.TUPLE:
            raise ValueError(f"node {root} is a tuple, expected no other members in its group, got {node}")
