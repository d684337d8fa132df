"""Which nodes have a kind that no fusion rule allows on a path to their immediate post-dominator."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.post_dominators import PostDominatorTree
from fuse_dialect.fusion.core.rules import PATH_LIMIT
from fuse_dialect.pattern_kind import PatternKind


class BlockedPaths:
    """For every node, one between it and its ipdom whose group has a kind above `PATH_LIMIT`, if there is one.

    Say a node is *barred* if its group's kind is too great, and *blocked* if a barred node stands strictly between it
    and its ipdom. While an object of this class is in use, no kind may fall to the limit again, and whoever raises one
    above it calls `bar`.

    Walking all paths for each source would be quadratic, so the question is moved to the post-dominator tree. A path
    that leaves `s` by its user `x` passes every tree ancestor of `x` below `z = ipdom(s)`, and what it passes in
    between lies between one of these ancestors and its own ipdom. Hence `s` is blocked exactly if, for some user `x`
    other than `z`, the vertical tree path `[x, z)` holds a node that is barred or blocked: a *stop*.

    1. At first, one pass from the last node to the first keeps, for every node, its nearest ancestor that is a stop.
       The path `[x, z)` holds a stop exactly if the nearest one of `x` is deeper than `z`.
    2. Paths that hold none are *open*. If a node `y` becomes a stop, it closes those that start in the subtree of `y`
       and end above it. In preorder the subtree is an interval, so with the open paths sorted by the preorder number
       of their start and a segment tree of the depths of their ends, closing one path takes O(log E). The node that
       the path belongs to may become a stop by that, so this is repeated until nothing changes.

    Every path is closed once, and every node becomes a stop once. It remembers the barred node that was the cause, for
    remarks.

    One limit serves all rules. A rule with the stricter limit BROADCAST takes elementwise edges alone, and has no
    injective sinks (condition 3 of `rules`). So no operator between exceeds BROADCAST (`ForwardGraph.validate`). Each
    belongs to a group whose root stands between as well, or to the group of the sink. In the first case only anchors
    and reductions raise its kind, to more than `PATH_LIMIT`. In the second the rule itself tests the kind.

    Complexity: O(V + E) to set up plus O((V + E) log E) for all calls of `bar` together; O(V + E) space.
    Source: the path check is TVM `GraphPartitioner::CheckPath`, src/relay/analysis/graph_partitioner.cc (v0.18), which
        takes O(E) per source. Stabbing intervals with a segment tree: M. de Berg et al., "Computational Geometry",
        3rd edition, chapter 10, https://doi.org/10.1007/978-3-540-77974-2.

    Example:
        >>> from fuse_dialect.fusion.core.post_dominators import post_dominator_tree
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> edge = Kind.ELEMWISE
        >>> graph = ForwardGraph(
        ...     kinds=[Kind.ELEMWISE] * 4,
        ...     users=[[(1, edge), (3, edge)], [(2, edge)], [(3, edge)], []],
        ...     escapes=[False, False, False, True],
        ... )
        >>> paths = BlockedPaths(graph, post_dominator_tree(graph), graph.kinds)
        >>> paths.blocker
        [None, None, None, None]
        >>> paths.bar([2])
        >>> paths.blocker
        [2, None, None, None]
    """

    def __init__(self, graph: ForwardGraph, tree: PostDominatorTree, kinds: Sequence[PatternKind]):
        """Set up from the kind of each node's group."""
        self.blocker: list[int | None] = [None] * len(graph)
        """For each blocked node the barred node between it and its ipdom that was found first."""
        self._cause: list[int | None] = [None] * len(graph)
        """For each stop the barred node that made it one, itself or its blocker."""
        self._tree = tree
        open_paths = self._find_open_paths(graph, kinds)
        self._open = _OpenPaths(tree, open_paths) if open_paths else None
        self.may_change = bool(open_paths)
        """Whether any call of `bar` can still have an effect."""

    def _find_open_paths(self, graph: ForwardGraph, kinds: Sequence[PatternKind]) -> list[tuple[int, int]]:
        """Find what is blocked now (step 1), and the paths (user, source) that may close later."""
        parent, depth, cause = self._tree.parent, self._tree.depth, self._cause
        nearest_stop: list[int | None] = [None] * len(graph)
        open_paths: list[tuple[int, int]] = []
        for node in range(len(graph) - 1, -1, -1):
            ipdom = parent[node]
            # A node with one user is never blocked: that user is its ipdom.
            if ipdom is not None and len(graph.users[node]) > 1:
                for user, _ in graph.users[node]:
                    if user == ipdom:
                        # Nothing stands between; and the ipdom itself is the rule's business.
                        continue
                    stop = nearest_stop[user]
                    # (1) users have larger numbers, so their nearest stops are known; above the ipdom none counts
                    if stop is None or depth[stop] <= depth[ipdom]:
                        open_paths.append((user, node))
                    elif self.blocker[node] is None:
                        self.blocker[node] = cause[stop]
            cause[node] = node if kinds[node] > PATH_LIMIT else self.blocker[node]
            if cause[node] is not None:
                nearest_stop[node] = node
            elif ipdom is not None:
                nearest_stop[node] = nearest_stop[ipdom]
        # One stop blocks for good, so the other paths of a blocked source need not be watched.
        return [path for path in open_paths if self.blocker[path[1]] is None]

    def bar(self, nodes: Iterable[int]) -> None:
        """Note that the kind of these nodes' groups now exceeds `PATH_LIMIT`."""
        if self._open is None:
            return
        cause = self._cause
        pending: list[int] = []
        for node in nodes:
            if cause[node] is None:
                cause[node] = node
                pending.append(node)
        while pending:
            stop = pending.pop()
            # (2) a source of a closed path is blocked, hence a stop for the paths that pass it
            for source in self._open.close_through(stop):
                if self.blocker[source] is None:
                    self.blocker[source] = cause[stop]
                if cause[source] is None:
                    cause[source] = cause[stop]
                    pending.append(source)


class _OpenPaths:
    """Vertical tree paths, each from a user of its source up to the ipdom of the source, without that ipdom."""

    def __init__(self, tree: PostDominatorTree, paths: Iterable[tuple[int, int]]):
        self._depth = tree.depth
        self._preorder, self._subtree_size = _preorder(tree)
        order = sorted((self._preorder[user], source) for user, source in paths)
        self._starts = [start for start, _ in order]
        self._sources = [source for _, source in order]
        self._leaves = 1 << (len(order) - 1).bit_length()
        self._closed = len(tree.depth) + 1
        """Deeper than any node, so that a closed path never ends above one."""
        ends = [tree.depth[source] - 1 for source in self._sources]
        self._end = [self._closed] * self._leaves + ends + [self._closed] * (self._leaves - len(ends))
        """Segment tree: leaf `leaves + i` is the depth of the end of path `i`, an inner entry the least of its two."""
        for i in range(self._leaves - 1, 0, -1):
            self._end[i] = min(self._end[2 * i], self._end[2 * i + 1])

    def close_through(self, node: int) -> list[int]:
        """Sources of the open paths through `node`, one entry for each path; these are closed from now on."""
        # A path passes the node if it starts in the subtree of the node, which is an interval of preorder numbers ...
        start = self._preorder[node]
        first = bisect_left(self._starts, start)
        last = bisect_left(self._starts, start + self._subtree_size[node], first)
        if first == last:
            return []
        end, leaves, depth = self._end, self._leaves, self._depth[node]
        found: list[int] = []
        pending = self._cover(first, last)
        while pending:
            i = pending.pop()
            # ... and ends above the node. The least depth of an entry says whether any of its paths does.
            if end[i] >= depth:
                continue
            if i < leaves:
                pending += (2 * i, 2 * i + 1)
            else:
                found.append(i)
        for i in found:
            self._close(i)
        return [self._sources[i - leaves] for i in found]

    def _cover(self, first: int, last: int) -> list[int]:
        """Entries of the segment tree that together stand for the paths `first` to `last - 1`."""
        cover: list[int] = []
        left, right = first + self._leaves, last + self._leaves
        while left < right:
            # A right child at the left border stands for itself, since its parent begins before; the same on the right.
            if left & 1:
                cover.append(left)
                left += 1
            if right & 1:
                right -= 1
                cover.append(right)
            left >>= 1
            right >>= 1
        return cover

    def _close(self, i: int) -> None:
        """Close the path of leaf `i` and bring the entries above it up to date."""
        end = self._end
        end[i] = self._closed
        i >>= 1
        # An entry that does not change changes nothing above it.
        while i and end[i] != (least := min(end[2 * i], end[2 * i + 1])):
            end[i] = least
            i >>= 1


def _preorder(tree: PostDominatorTree) -> tuple[list[int], list[int]]:
    """Preorder number and subtree size of every node; every parent has a larger index than its children."""
    size = [1] * len(tree.parent)
    for node, parent in enumerate(tree.parent):
        if parent is not None:
            size[parent] += size[node]
    number = [0] * len(tree.parent)
    following = [0] * len(tree.parent)
    """The number that the next child of each node gets."""
    next_tree = 0
    for node in range(len(tree.parent) - 1, -1, -1):
        parent = tree.parent[node]
        if parent is None:
            number[node] = next_tree
            next_tree += size[node]
        else:
            number[node] = following[parent]
            following[parent] += size[node]
        following[node] = number[node] + 1
    return number, size
