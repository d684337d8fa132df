"""Limits on the size of a group: how many nodes a merge may count, and how many arguments the kernel may take."""

from heapq import heappop, heappush

from fuse_dialect.analysis.forward_graph import ForwardGraph
from fuse_dialect.analysis.group_forest import GroupForest


def count_beyond_depth(graph: ForwardGraph, groups: GroupForest, source: int, sink: int, max_depth: int) -> int | None:
    """A count of nodes that proves a merge to exceed `max_depth`, or `None` if the merge keeps to it.

    The count is the size of the sink's group plus the sizes recorded at the source and at every node between, each with
    the size it had when it last was the root of a group. Nodes whose group the sink's group has absorbed are counted
    again: that is TVM's definition. Counting stops at the limit, so the result is a lower bound of TVM's number.

    Complexity: O(1) if the sink is the only user, or if all recorded sizes together keep to the limit; otherwise
        O(min(`max_depth`, nodes between)) nodes are visited, since each counts at least 1.
    Source: TVM `GraphPartitioner::CountFusedNodesWithNewChild`, src/relay/analysis/graph_partitioner.cc (v0.18).
    """
    size, users = groups.size, graph.users
    count = size[groups.find(sink)] + size[source]
    if len(users[source]) > 1 and count <= max_depth < groups.total_size:
        seen = {source, sink}
        pending = [source]
        while pending:
            for user, _ in users[pending.pop()]:
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
                    count += size[user]
                    if count > max_depth:
                        return count
    return count if count > max_depth else None


class ArgumentLimit:
    """Keeps groups of several nodes from taking more than `limit` arguments.

    The arguments of a group are the distinct values that its members read and none of them produces, and the values
    that its root defines; each costs its weight. No other value of a group is ever used outside, because its root
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

    def admit(self, source: int, sink: int) -> int | None:
        """Count the arguments after merging `source` and all between into the group of `sink`.

        Returns:
            A count that exceeds the limit, or `None`; then the caller has to carry out the merge.
        """
        groups, users = self._groups, self._graph.users
        target = groups.find(sink)
        weight = self._weight_of_results(target)
        arguments: dict[int, None] = {}
        inside: set[int] = set()
        queued = {source, target}
        pending = [source]
        while pending or target not in inside:
            root = heappop(pending) if pending else target
            inside.add(root)
            for value in self._outside[root]:
                if value not in arguments and not self._is_inside(value, inside):
                    arguments[value] = None
                    weight += self._weight(value)
            if weight > self.limit:
                return weight
            if root != target:
                for user in {groups.find(user) for user, _ in users[root]} - queued:
                    queued.add(user)
                    heappush(pending, user)
        self._outside[target] = list(arguments)
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
