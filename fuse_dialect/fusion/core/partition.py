"""Partition a graph into groups of nodes, one kernel each: greedy fusion into immediate post-dominators."""

from collections.abc import Callable, Sequence

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.assignment import FusionGroup, Partition, partition_of_roots
from fuse_dialect.fusion.core.blocked_paths import BlockedPaths
from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.group_forest import GroupForest, merged_kind
from fuse_dialect.fusion.core.limits import ArgumentLimit, DepthLimit, Limit, LimitFactory, MergeLimit
from fuse_dialect.fusion.core.plan import FusionPlan, kernels_of
from fuse_dialect.fusion.core.post_dominators import PostDominatorTree, post_dominator_tree
from fuse_dialect.fusion.core.rules import PATH_LIMIT, FusionRule, RuleTable
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.core.value_graph import ValueGraph
from fuse_dialect.pattern_kind import PatternKind


def partition(
    graph: ForwardGraph,
    rules: RuleTable = TVM_RULES,
    *,
    opt_level: int = 2,
    max_depth: int | None = 256,
    max_function_args: int = 0,
    limits: Sequence[LimitFactory] = (),
    most_merges: int | None = None,
    log: Callable[[Merge], object] | None = None,
    attempts: Callable[[FusionDecision], object] | None = None,
) -> Partition:
    """Fuse each node into its immediate post-dominator where the rules and the limits allow it.

    A merge takes the source and all nodes between it and its ipdom along. Two facts keep this near-linear:

    1. Every group is a connected part of the post-dominator tree, and its root is the topmost node. So a source is
       undecided exactly as long as it is a root. A search from it that jumps to the root of each group it meets sees
       each group between once. These groups are then merged, so all searches together take O((V + E) log V).
    2. `BlockedPaths` answers what stands between source and sink without a search. It relies on kinds that never fall
       below the limit again (`merged_kind`). Only tuples do, when they join a group, and that is noticed in time: a
       tuple stands behind all sources whose paths pass it, so these have been tried before in the same phase, and
       before the next phase the paths are set up anew.

    Limits are tested last, when all else allows the merge: first the depth, then the arguments, then others. So a
    refusal with their codes says that the limit alone was in the way, and no later phase covers it with another code.
    The order does not change the partition.

    Args:
        graph: The graph; see `ForwardGraph.validate`.
        rules: What may fuse into what.
        opt_level: 0 leaves every node alone; all other levels are equal.
        max_depth: Greatest number of nodes that a merge may count, see `DepthLimit`; `None`, 0 and negative
            numbers mean no limit.
        max_function_args: Greatest number of arguments, results included, of a group that a merge forms, see
            `ArgumentLimit`; 0 means no limit.
        limits: Further limits.
        most_merges: Make the first so many merges alone, which are those that are made without this limit; `None`
            means no limit.
        log: Is told each merge, in order.
        attempts: Is told each verdict of a rule that is tried on a source, in order, before its merge if it is one.

    Raises:
        ValueError: A user does not have a larger index than its operand.

    Complexity: O((V + E) log V) time plus, for each source that only the limits can refuse, the cost of testing them.
    Source: TVM `GraphPartitioner::Partition`, src/relay/analysis/graph_partitioner.cc (v0.18). Differs from TVM:
        `max_function_args`, and a `max_depth` of 0.

    Example:
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> conv_relu_sum = ForwardGraph(
        ...     kinds=[Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE, Kind.COMM_REDUCE],
        ...     users=[[(1, Kind.ELEMWISE)], [(2, Kind.COMM_REDUCE)], []],
        ...     escapes=[False, False, True],
        ... )
        >>> plan = partition(conv_relu_sum)
        >>> [group.members for group in plan.groups]
        [(0, 1), (2,)]
        >>> [decision.reason.value for decision in plan.decisions]
        ['fused', 'edge-kind', 'value-escapes']
    """
    if opt_level == 0:
        return partition_of_roots(graph, range(len(graph)), Reason.FUSION_OFF)
    tree = post_dominator_tree(graph)
    groups = GroupForest(graph.kinds)
    known: list[Limit] = []
    if max_depth is not None and max_depth > 0:
        known.append(DepthLimit(graph, tree, groups, max_depth))
    if max_function_args > 0:
        known.append(ArgumentLimit(graph, groups, max_function_args))
    known.extend(factory(graph, tree, groups) for factory in limits)
    if most_merges is not None:
        known.append(MergeLimit(most_merges))
    partitioner = _Partitioner(graph, tree, groups, rules, known, log, attempts)
    partitioner.run()
    return partitioner.finish()


def tvm(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """The strategy of TVM's FuseOps, with any table of rules."""
    found = partition(
        graph.forward,
        options.rules,
        max_depth=options.max_depth,
        max_function_args=options.max_function_args,
        most_merges=options.most_merges,
        log=options.log,
        attempts=options.attempts,
    )
    return FusionPlan(kernels_of(graph, found), found.decisions, found)


class _Partitioner:
    """The state of one run: the groups so far and the latest verdict on each node."""

    def __init__(
        self,
        graph: ForwardGraph,
        tree: PostDominatorTree,
        groups: GroupForest,
        rules: RuleTable,
        limits: Sequence[Limit],
        log: Callable[[Merge], object] | None,
        attempts: Callable[[FusionDecision], object] | None = None,
    ):
        self.graph = graph
        self.tree = tree
        self.groups = groups
        self.rules = rules
        self.limits = limits
        self.log = log
        self.attempts = attempts
        self.paths = BlockedPaths(graph, tree, graph.kinds)
        self.decisions: list[FusionDecision | None] = [None] * len(graph)

    def run(self) -> None:
        """Try every phase's rules on every node that has a sink they could apply to."""
        kinds, parent, kind, find = self.graph.kinds, self.groups.parent, self.groups.kind, self.groups.find
        into_tuple: list[tuple[int, int]] = []
        into_operator: list[tuple[int, int]] = []
        for source, sink in enumerate(self.tree.parent):
            if sink is not None and kinds[source] is not PatternKind.OPAQUE:
                # The sink's own kind decides, not that of its group: a tuple that has joined an operator is still one.
                (into_tuple if kinds[sink] is PatternKind.TUPLE else into_operator).append((source, sink))
        tuples_have_joined = False
        for phase, is_into_tuple, row_of in self.rules.phases:
            candidates = into_tuple if is_into_tuple else into_operator
            if tuples_have_joined and candidates:
                # (2) tuples are the only ones whose kind falls, and the sources before them may pass them now
                self.paths = BlockedPaths(self.graph, self.tree, [kind[root] for root in self.groups.roots()])
                tuples_have_joined = False
            tuples_have_joined |= PatternKind.TUPLE in row_of
            for source, sink in candidates:
                # (1) a source that is no root any more has been fused, alone or between two others
                if parent[source] == source and (rule := row_of.get(kind[source])) is not None:
                    sink_root = find(sink)
                    decision = self._judge(rule, phase, source, sink, sink_root)
                    if self.attempts is not None:
                        self.attempts(decision)
                    before = self.decisions[source]
                    if decision.reason is Reason.FUSED:
                        self.decisions[source] = decision
                        self._merge(decision, source, sink, sink_root)
                    elif before is None or before.limit is None or decision.limit is not None:
                        # A limit that was alone in the way says more than what a later phase has against it.
                        self.decisions[source] = decision

    def _judge(self, rule: FusionRule, phase: int, source: int, sink: int, sink_root: int) -> FusionDecision:
        """Whether `rule` and the limits allow to fuse `source` into `sink`, whose group has the root `sink_root`."""
        groups = self.groups
        edge = self.tree.edge_kind[source]
        sink_kind = groups.kind[sink_root]
        blocker = self.paths.blocker[source]
        reason = rule.refusal(edge, sink_kind, blocker is not None)
        if reason is None:
            return self._test_limits(rule, phase, source, sink, sink_root)
        if reason is Reason.EDGE_KIND:
            # The edge that the tree found to be the greatest leads into what the rule does not follow.
            blocker, kind = self.tree.edge_end[source], edge
        elif reason is Reason.PATH_KIND and blocker is not None:
            kind = groups.kind[groups.find(blocker)]
        else:
            blocker, kind = sink, sink_kind
        return FusionDecision(reason, source, sink, rule, phase, blocker, kind)

    def _test_limits(self, rule: FusionRule, phase: int, source: int, sink: int, sink_root: int) -> FusionDecision:
        """Whether the limits allow a merge that `rule` allows."""
        for limit in self.limits:
            count = limit.exceeded_by(source, sink, sink_root)
            if count is not None:
                return FusionDecision(limit.reason, source, sink, rule, phase, counted=count, limit=limit.limit)
        return FusionDecision(Reason.FUSED, source, sink, rule, phase)

    def _merge(self, decision: FusionDecision, source: int, sink: int, sink_root: int) -> None:
        """Merge `source` and all groups between into the group of `sink`, and bar what gets too great a kind by it."""
        groups = self.groups
        kind, find, users = groups.kind, groups.find, self.graph.users
        bars = self.paths.may_change and merged_kind(kind[source], kind[sink_root]) > PATH_LIMIT
        # (2) what exceeds the limit already is barred, so each node is handed on once in the whole run
        barred = list(groups.members(sink_root)) if bars and kind[sink_root] <= PATH_LIMIT else []
        absorbed: list[int] = []
        pending = [source]
        while pending:
            root = pending.pop()
            if groups.parent[root] != root:
                # Another path has led here before.
                continue
            if bars and kind[root] <= PATH_LIMIT:
                barred.extend(groups.members(root))
            groups.merge(root, sink_root)
            self.decisions[root] = decision
            absorbed.append(root)
            # (1) only the root of a group has users outside, so they stand for all ways on from it
            for user, _ in users[root]:
                if user != sink and (between := find(user)) != sink_root:
                    pending.append(between)
        if barred:
            self.paths.bar(barred)
        if self.log is not None:
            self.log(Merge(source, sink, tuple(absorbed), decision.phase, decision.rule))

    def finish(self) -> Partition:
        """The partition that the groups make up."""
        groups = self.groups
        root_of = groups.roots()
        members: list[list[int]] = [[] for _ in root_of]
        for node, root in enumerate(root_of):
            members[root].append(node)
        return Partition(
            root_of=root_of,
            groups=[
                FusionGroup(root, groups.anchor[root], groups.kind[root], tuple(nodes))
                for root, nodes in enumerate(members)
                if nodes
            ],
            decisions=[
                self._untried(node) if decision is None else decision for node, decision in enumerate(self.decisions)
            ],
            tree=self.tree,
        )

    def _untried(self, node: int) -> FusionDecision:
        """The verdict on a node that no rule was tried on."""
        sink = self.tree.parent[node]
        sink_kind = None if sink is None else self.graph.kinds[sink]
        return FusionDecision(self.rules.guard(self.graph.kinds[node], sink_kind), node, sink)
