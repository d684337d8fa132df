"""Limits on the size of a group: how many nodes a merge may count, and how many arguments the kernel may take.

A limit is an object that sees the groups grow. `partition` asks the limits about each merge that the rules allow, until
one objects, and carries the merge out at once if none does.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol, TypeAlias

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.group_forest import GroupForest
from fuse_dialect.fusion.core.post_dominators import PostDominatorTree


class Limit(Protocol):
    """What a group may not exceed."""

    reason: Reason
    """Code of a refusal."""
    limit: int
    """The greatest number that is allowed."""

    def exceeded_by(self, source: int, sink: int, sink_root: int) -> int | None:
        """Count what merging `source`, and all before `sink`, into the sink's group would lead to.

        Args:
            source: Root of a group.
            sink: Immediate post-dominator of `source`.
            sink_root: Root of the group of `sink`, another one.

        Returns:
            A number that proves the merge to exceed the limit, or `None` if the merge keeps to it.
        """
        ...


LimitFactory: TypeAlias = Callable[[ForwardGraph, PostDominatorTree, GroupForest], Limit]
"""Makes a limit for one run over a graph; the groups are those that will grow."""


class MergeLimit:
    """Lets the first `limit` merges pass, and refuses all after them.

    It is the last limit that is asked: a merge that it lets pass is made, and counts.
    """

    reason = Reason.FUSION_LIMIT

    def __init__(self, limit: int):
        self.limit = limit
        self._made = 0

    def exceeded_by(self, source: int, sink: int, sink_root: int) -> int | None:
        """The number that the merge would have, or `None`; see `Limit`."""
        if self._made >= self.limit:
            return self.limit + 1
        self._made += 1
        return None


class DepthLimit:
    """Keeps merges from counting more than `limit` nodes.

    The count is the size of the sink's group plus the sizes recorded at the source and at every node between, each with
    the size it had when it last was the root of a group. Nodes whose group the sink's group has absorbed are counted
    again: that is TVM's definition.

    No way is known to sum over the nodes between for all sources together in near-linear time. So bounds come first:

    1. The sum over all nodes is an upper bound, known at no cost.
    2. The nodes on a vertical path of the post-dominator tree from a user up to the sink are all between, and the
       regions between each of them and its own ipdom are disjoint, since they are disjoint intervals of the order. So
       the numbers of nodes that these regions have at least add up to a lower bound, found in one pass for all.
    3. Between the two the nodes are counted, up to the limit.

    Complexity: O(V + E) once, and then O(1) where the bounds decide or the sink is the only user; otherwise
        O(min(`limit`, nodes between)) nodes are visited, since each counts at least 1.
    Source: TVM `GraphPartitioner::CountFusedNodesWithNewChild`, src/relay/analysis/graph_partitioner.cc (v0.18).
    """

    reason = Reason.MAX_DEPTH

    def __init__(self, graph: ForwardGraph, tree: PostDominatorTree, groups: GroupForest, limit: int):
        self.limit = limit
        self._graph = graph
        self._tree = tree
        self._groups = groups
        self._least_between: list[int] | None = None

    def exceeded_by(self, source: int, sink: int, sink_root: int) -> int | None:
        """A lower bound of TVM's count that exceeds the limit, or `None`; see `Limit`."""
        groups, limit = self._groups, self.limit
        size, users = groups.size, self._graph.users
        count = size[sink_root] + size[source]
        # Nothing stands between a source and its only user. (1) all nodes together are as many as any count.
        if len(users[source]) == 1 or groups.total_size <= limit:
            return count if count > limit else None
        if self._least_between is None:
            self._least_between = _least_nodes_between(self._graph, self._tree)
        # (2) each node between counts at least 1
        if count + self._least_between[source] > limit:
            return count + self._least_between[source]
        # (3) stale sizes are read on purpose: node by node, whatever group the node is in by now
        seen = {source, sink}
        pending = [source]
        while pending:
            for user, _ in users[pending.pop()]:
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
                    count += size[user]
                    if count > limit:
                        return count
        return None


def _least_nodes_between(graph: ForwardGraph, tree: PostDominatorTree) -> list[int]:
    """For each node a number of nodes that certainly stand between it and its ipdom."""
    least = [0] * len(graph)
    above = [0] * len(graph)
    """For each node the sum of 1 + `least` over itself and its ancestors, the root of the tree excluded."""
    for node in range(len(graph) - 1, -1, -1):
        ipdom = tree.parent[node]
        if ipdom is not None:
            if len(graph.users[node]) > 1:
                # The longest vertical path counts: its nodes and their regions are disjoint.
                least[node] = max(above[user] for user, _ in graph.users[node]) - above[ipdom]
            above[node] = above[ipdom] + 1 + least[node]
    return least


class ArgumentLimit:
    """Keeps groups of several nodes from taking more than `limit` arguments.

    The arguments of a group are the distinct values that its members read from outside, and the values that its root
    defines; each costs its weight. No other value of a group is ever used outside, because its root
    post-dominates its members. The count of a merge is exact, whatever else is merged before or after, so
    the limit holds for the final groups, and a limit that no merge exceeds changes nothing.

    The groups between source and sink are visited from the first root to the last. Whoever produces a value that a
    group reads has a smaller root, so it is known at once whether the value comes from inside, and a count stops at the
    first value beyond the limit.

    Differs from TVM: `max_function_args` there postpones merges, may change the result when it does not bind, and can
    abort the compiler.

    Complexity: O((A + K) log K) per merge or refusal, for K groups between source and sink that read A values; all
        groups that a merge has formed read at most `limit` values.
    """

    reason = Reason.MAX_ARGS

    def __init__(self, graph: ForwardGraph, groups: GroupForest, limit: int):
        self.limit = limit
        self._graph = graph
        self._groups = groups
        self._producer: dict[int, int] = {}
        for node, values in enumerate(graph.defines):
            for value in values:
                self._producer.setdefault(value, node)
        self._outside = [
            [value for value in dict.fromkeys(values) if self._producer.get(value) != node]
            for node, values in enumerate(graph.reads or [()] * len(graph))
        ]
        """For the root of each group the values that it takes from outside."""
        self._allowed: tuple[int, int, list[int]] | None = None
        """Source and root of the merge that was allowed last, and what the merged group takes from outside."""

    def exceeded_by(self, source: int, sink: int, sink_root: int) -> int | None:
        """A count of arguments that exceeds the limit, or `None`; see `Limit`."""
        groups, users = self._groups, self._graph.users
        if self._allowed is not None and groups.parent[self._allowed[0]] != self._allowed[0]:
            # The source is no root any more, so no other limit was against the merge.
            self._outside[self._allowed[1]] = self._allowed[2]
        self._allowed = None
        weight = self._weight_of_results(sink_root)
        if weight > self.limit:
            return weight
        arguments: dict[int, None] = {}
        inside: set[int] = set()
        queued = {source, sink_root}
        pending = [source]
        # The least root first, and the sink's, which is the greatest, last: producers come before their readers.
        while pending or sink_root not in inside:
            root = heappop(pending) if pending else sink_root
            inside.add(root)
            for value in self._outside[root]:
                if value not in arguments and not self._is_inside(value, inside):
                    arguments[value] = None
                    weight += self._weight(value)
                    if weight > self.limit:
                        return weight
            if root != sink_root:
                for user in {groups.find(user) for user, _ in users[root]} - queued:
                    queued.add(user)
                    heappush(pending, user)
        self._allowed = source, sink_root, list(arguments)
        return None

    def _is_inside(self, value: int, inside: set[int]) -> bool:
        """Whether a group whose root is in `inside` produces `value`."""
        producer = self._producer.get(value)
        return producer is not None and self._groups.find(producer) in inside

    def _weight_of_results(self, root: int) -> int:
        """What returning the results of a group with this root costs."""
        return sum(self._weight(value) for value in self._graph.defines[root]) if self._graph.defines else 0

    def _weight(self, value: int) -> int:
        """What passing `value` costs."""
        return self._graph.value_weights[value] if self._graph.value_weights else 1
