"""Groups of nodes while fusion is going on: disjoint sets that remember what a kernel is made of."""

from collections.abc import Iterator, Sequence

from fuse_dialect.pattern_kind import PatternKind

_RAISING = (PatternKind.COMM_REDUCE, PatternKind.OUT_EWISE_FUSABLE)
"""Kinds that a group keeps when it joins another."""


class GroupForest:
    """Disjoint sets of nodes; the root of a group is the node that post-dominates all its members.

    Entries of `size` and `kind` stay as they were once their node has joined another group. TVM reads such stale sizes
    when it tests the depth limit, and so does `DepthLimit`.

    Complexity: `find` and `merge` take O(log V) amortised time by path halving; a merge keeps the sink's root, since
        the root has a meaning, so there is no union by size. Members of a group form a ring, and exchanging one link
        of two rings joins them in O(1).
    Source: R. E. Tarjan, J. van Leeuwen, "Worst-case analysis of set union algorithms", Journal of the ACM 31(2), 1984,
        https://doi.org/10.1145/62.2160.

    Example:
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> groups = GroupForest([Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE])
        >>> groups.merge(0, 1)
        >>> groups.find(0), groups.size[1], groups.kind[1].name, groups.anchor[1]
        (1, 2, 'OUT_EWISE_FUSABLE', 0)
    """

    def __init__(self, kinds: Sequence[PatternKind]):
        self.parent = list(range(len(kinds)))
        self.size = [1] * len(kinds)
        self.kind = list(kinds)
        self.anchor = [i if kind is PatternKind.OUT_EWISE_FUSABLE else None for i, kind in enumerate(kinds)]
        self.total_size = len(kinds)
        """Sum of `size`, stale entries included."""
        self._next = list(range(len(kinds)))

    def find(self, node: int) -> int:
        """Root of the group of `node`."""
        parent = self.parent
        while (above := parent[node]) != node:
            # Path halving: every other node on the way skips one.
            parent[node] = parent[above]
            node = above
        return node

    def roots(self) -> list[int]:
        """Root of the group of every node; nodes only ever join groups with a larger root."""
        roots = self.parent.copy()
        # From the last node to the first, so that the root of a parent is final when its children ask.
        for node in range(len(roots) - 1, -1, -1):
            roots[node] = roots[roots[node]]
        return roots

    def merge(self, child: int, root: int) -> None:
        """Make the group with root `child` part of the group with root `root`."""
        self.parent[child] = root
        size = self.size[child]
        self.size[root] += size
        self.total_size += size
        kind = self.kind[child]
        if kind in _RAISING:
            self.kind[root] = merged_kind(kind, self.kind[root])
            if (anchor := self.anchor[child]) is not None:
                assert self.anchor[root] is None, "condition 6 of rules: a group never holds two anchors"
                self.anchor[root] = anchor
        # Two rings of members become one.
        links = self._next
        links[child], links[root] = links[root], links[child]

    def members(self, node: int) -> Iterator[int]:
        """All nodes of the group of `node`, which comes first, in no useful order."""
        yield node
        member = self._next[node]
        while member != node:
            yield member
            member = self._next[member]


def merged_kind(source: PatternKind, sink: PatternKind) -> PatternKind:
    """Kind of the sink's group once the source's group has joined: only anchors and reductions raise it.

    So the kind of what a node belongs to never falls, except that a tuple takes on the kind of its sink. TVM raises
    kinds by anchors alone; its rules fuse no reduction into anything, so it has nothing to say about reductions.
    """
    return max(source, sink) if source in _RAISING else sink
