r"""Immediate post-dominators: where all paths from a node meet again.

A node may fuse only if every path that its value takes ends in the same kernel. The first node on which all those
paths meet is the immediate post-dominator, and everything between must join too:

        conv2d            the ipdom of conv2d is add: fusing conv2d into add
        /    \            takes relu and tanh along
      relu  tanh
        \    /
         add
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.pattern_kind import PatternKind


@dataclass(frozen=True, slots=True)
class PostDominatorTree:
    """The post-dominator tree of a graph, with the greatest edge kind below every tree edge.

    Node `p` post-dominates node `i` if every path from `i` to a node whose value escapes goes through `p`; the nearest
    such `p` other than `i` is its immediate post-dominator, the parent of `i` in this tree. TVM: `DominatorTree`.
    """

    parent: Sequence[int | None]
    """Immediate post-dominator of each node; `None` when the value escapes, is unused, or its users meet nowhere."""
    depth: Sequence[int]
    """Number of nodes from each node up to the root of its tree: 1 for nodes without parent."""
    edge_kind: Sequence[PatternKind]
    """Greatest kind among the edges on all paths from each node to its parent; opaque where there is no parent."""
    edge_end: Sequence[int | None]
    """The user at which one such greatest edge ends, for remarks; `None` where there is no parent."""


def post_dominator_tree(graph: ForwardGraph) -> PostDominatorTree:
    """The post-dominator tree of `graph`.

    Nodes are inserted from last to first, so all users of a node are in the tree when its turn comes, and on an
    acyclic graph the immediate post-dominator is the lowest common ancestor of the users. The edges between a node and
    its ipdom are its own out-edges and the edges summed up by the tree edges on the vertical paths from its users to
    the ipdom: a path of the graph that leaves a user `x` inside meets every tree ancestor of `x` below the ipdom.

    Both questions, common ancestor and greatest kind on a vertical path, are answered by jump pointers: besides its
    parent every node knows one far ancestor, chosen so that the jump lengths form a skew-binary number, and the node
    with the greatest kind on the way there. Nodes of equal depth have jumps of equal length, so two nodes can climb
    together, and any climb takes O(log V) steps.

    Returns:
        The tree. Nodes without users count as escaping: nothing post-dominates them.

    Raises:
        ValueError: A user does not have a larger index than its operand.

    Complexity: O((V + E) log V) time, O(V) space; O(1) for a node with one user.
    Source: TVM `DominatorTree::PostDom`, src/relay/analysis/graph_partitioner.cc (v0.18), which climbs step by step in
        O(E V); E. W. Myers, "An applicative random-access stack", Information Processing Letters 17(5), 1983,
        https://doi.org/10.1016/0020-0190(83)90106-0.

    Example:
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> diamond = ForwardGraph(
        ...     kinds=[Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE, Kind.ELEMWISE, Kind.BROADCAST],
        ...     users=[[(2, Kind.ELEMWISE), (1, Kind.ELEMWISE)], [(3, Kind.BROADCAST)], [(3, Kind.ELEMWISE)], []],
        ...     escapes=[False, False, False, True],
        ... )
        >>> tree = post_dominator_tree(diamond)
        >>> tree.parent, tree.depth
        ([3, 3, 3, None], [2, 2, 2, 1])
        >>> tree.edge_kind[0].name, tree.edge_end[0]
        ('BROADCAST', 3)
    """
    growing = _GrowingTree(len(graph))
    for node in range(len(graph) - 1, -1, -1):
        # A value that escapes takes a path out of the graph, which meets no other: as if it had no users.
        growing.insert(node, () if graph.escapes[node] else graph.users[node])
    return growing.finish()


class _GrowingTree:
    """A tree that only gains leaves, under a virtual root that joins the nodes without parent."""

    def __init__(self, size: int):
        self.root = size
        self.parent = [size] * (size + 1)
        self.depth = [0] * (size + 1)
        self.kind = [PatternKind.OPAQUE] * size + [PatternKind.ELEMWISE]
        self.edge_end = [size] * (size + 1)
        self.jump = [size] * (size + 1)
        self.greatest = [size] * (size + 1)
        """The node with the greatest `kind` on the way from each node to its `jump`, without the jump itself."""

    def insert(self, node: int, users: Sequence[tuple[int, PatternKind]]) -> None:
        """Add `node` below the lowest common ancestor of its users."""
        if not users:
            self._add_leaf(node, self.root)
            return
        parent, kind = users[0]
        end = first = parent
        if len(users) > 1:
            first = min(users)[0]
            parent, kind, end = self._meet(users)
        # All users have to be in the tree: the least of them shows it.
        if first <= node:
            raise ValueError(f"node {node} has user {first}, expected a larger index")
        if parent != self.root:
            self.kind[node] = kind
            self.edge_end[node] = end
        self._add_leaf(node, parent)

    def _meet(self, users: Sequence[tuple[int, PatternKind]]) -> tuple[int, PatternKind, int]:
        """Lowest common ancestor of several users, the greatest edge kind on the way there, and where it ends."""
        ancestor, kind = users[0]
        end = ancestor
        for user, edge in users:
            if edge > kind:
                kind, end = edge, user
            if user != ancestor:
                # Vertical paths from earlier users end below the old ancestor; joining adds the rest of their way.
                ancestor, witness = self._join(ancestor, user)
                if self.kind[witness] > kind:
                    kind, end = self.kind[witness], self.edge_end[witness]
        return ancestor, kind, end

    def _add_leaf(self, node: int, parent: int) -> None:
        """Link `node` to `parent` and choose its jump: over two equal jumps of the parent, or else to the parent."""
        depth, jump, greatest = self.depth, self.jump, self.greatest
        self.parent[node] = parent
        depth[node] = depth[parent] + 1
        near = jump[parent]
        far = jump[near]
        best = node
        if depth[parent] - depth[near] == depth[near] - depth[far]:
            # Skew-binary addition: two equal jumps in a row become one over both, whose greatest kind is that of the
            # node itself and of either jump.
            kind = self.kind
            if kind[greatest[parent]] > kind[best]:
                best = greatest[parent]
            if kind[greatest[near]] > kind[best]:
                best = greatest[near]
            jump[node] = far
        else:
            jump[node] = parent
        greatest[node] = best

    def _join(self, left: int, right: int) -> tuple[int, int]:
        """Lowest common ancestor of two nodes, and the node with the greatest kind on the way, the ancestor excluded.

        The virtual root stands for "none"; it is elementwise, so it never raises a kind.
        """
        depth, jump, kind, greatest = self.depth, self.jump, self.kind, self.greatest
        if depth[left] < depth[right]:
            left, right = right, left
        best = self.root
        # First the deeper one climbs to the depth of the other, jumping unless it would jump past.
        while depth[left] > depth[right]:
            near = depth[jump[left]] < depth[right]
            step = left if near else greatest[left]
            left = self.parent[left] if near else jump[left]
            if kind[step] > kind[best]:
                best = step
        # Then both climb together. Equal depths have jumps of equal length; equal ends may lie above the meeting point.
        while left != right:
            near = jump[left] == jump[right]
            for step in (left, right) if near else (greatest[left], greatest[right]):
                if kind[step] > kind[best]:
                    best = step
            left, right = (self.parent[left], self.parent[right]) if near else (jump[left], jump[right])
        return left, best

    def finish(self) -> PostDominatorTree:
        """The tree without its virtual root."""
        root = self.root
        return PostDominatorTree(
            parent=[None if parent == root else parent for parent in self.parent[:root]],
            depth=self.depth[:root],
            edge_kind=self.kind[:root],
            edge_end=[None if end == root else end for end in self.edge_end[:root]],
        )
