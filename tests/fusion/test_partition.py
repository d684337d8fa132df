"""The partition against the plain one on random graphs, and what it promises on its own."""

import os
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_partition import PlainPartitioner, nodes_between
from random_graphs import random_graph

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.assignment import Partition
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.group_forest import GroupForest
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.pattern_kind import PatternKind as Kind

MORE_GRAPHS = int(os.environ.get("FUSE_FUZZ_GRAPHS", "1000"))
"""Graphs compared with the plain partition from fixed seeds; set the variable to compare more."""

DEPTHS = (None, 256, 1, 2, 3, 4, 5, 8, 13, 30)

graphs = st.builds(random_graph, st.randoms(use_true_random=False), st.integers(2, 40))


def groups_of(plan: Partition) -> list[tuple[int, Kind, int, int | None]]:
    """Root, kind, size and anchor of the group of each node."""
    group = {group.root: group for group in plan.groups}
    return [(root, group[root].kind, group[root].num_nodes, group[root].anchor) for root in plan.root_of]


def plain_groups_of(graph: ForwardGraph, max_depth: int | None) -> list[tuple[int, Kind, int, int | None]]:
    """The same from the plain partition."""
    roots = [group.root() for group in PlainPartitioner(graph, max_depth).run()]
    return [(root.index, root.kind, root.num_nodes, root.anchor) for root in roots]


def arguments_of(graph: ForwardGraph, members: tuple[int, ...], root: int) -> int:
    """Weight of all values that cross the border of a group, counted from the definition."""
    produced = {value for node in members for value in graph.defines[node]}
    outside = {value for node in members for value in graph.reads[node]} - produced
    return sum(graph.value_weights[value] for value in (*outside, *graph.defines[root]))


def graph_of(kinds: list[Kind], *edges: tuple[int, int, Kind]) -> ForwardGraph:
    """A graph whose last node escapes."""
    users: list[list[tuple[int, Kind]]] = [[] for _ in kinds]
    for source, user, kind in edges:
        users[source].append((user, kind))
    graph = ForwardGraph(kinds, users, [node == len(kinds) - 1 for node in range(len(kinds))])
    graph.validate()
    return graph


@pytest.mark.slow
@given(graphs, st.sampled_from(DEPTHS))
def test_partition_is_the_plain_one(graph: ForwardGraph, max_depth: int | None):
    assert groups_of(partition(graph, max_depth=max_depth)) == plain_groups_of(graph, max_depth)


@pytest.mark.slow
def test_partition_is_the_plain_one_on_larger_graphs():
    fused = 0
    for seed in range(MORE_GRAPHS):
        rng = Random(seed)
        graph = random_graph(rng, rng.choice((10, 20, 40, 80, 200)))
        max_depth = rng.choice(DEPTHS)
        plan = partition(graph, max_depth=max_depth)
        assert groups_of(plan) == plain_groups_of(graph, max_depth), f"seed {seed}"
        fused += sum(map(bool, plan.decisions))
    assert fused > MORE_GRAPHS


@pytest.mark.slow
@given(graphs, st.sampled_from(DEPTHS), st.sampled_from((0, 3, 6)))
def test_exactly_the_members_other_than_roots_are_fused(graph: ForwardGraph, max_depth: int | None, max_args: int):
    plan = partition(graph, max_depth=max_depth, max_function_args=max_args)
    for node, decision in enumerate(plan.decisions):
        assert bool(decision) == (plan.root_of[node] != node)
        if decision:
            assert plan.root_of[decision.source] == plan.root_of[decision.sink] == plan.root_of[node]
        else:
            assert decision.source == node


@pytest.mark.slow
@given(graphs)
def test_only_the_root_of_a_group_is_used_outside(graph: ForwardGraph):
    plan = partition(graph, max_depth=None)
    for node, users in enumerate(graph.users):
        if plan.root_of[node] != node:
            assert not graph.escapes[node]
            assert {plan.root_of[user] for user, _ in users} == {plan.root_of[node]}


def plans_that_refuse(reason: Reason, **limits: int) -> Iterator[tuple[ForwardGraph, Partition]]:
    """Fifty random graphs with a node that is not fused for this reason, each with its plan."""
    found = 0
    for seed in range(5000):
        graph = random_graph(Random(seed), 30)
        plan = partition(graph, **limits)
        if any(decision.reason is reason for decision in plan.decisions):
            found += 1
            yield graph, plan
        if found == 50:
            return
    pytest.fail(f"only {found} of 5000 random graphs have a node with {reason.value}")


def test_a_blocking_node_stands_between():
    for graph, plan in plans_that_refuse(Reason.PATH_KIND):
        assert_blockers_stand_between(graph, plan)


def assert_blockers_stand_between(graph: ForwardGraph, plan: Partition):
    for node, decision in enumerate(plan.decisions):
        if decision.reason is Reason.PATH_KIND:
            assert decision.sink is not None
            assert node < decision.blocker < decision.sink
            assert decision.kind > Kind.INJECTIVE
            closest = plan.tree.parent[decision.blocker]
            assert closest is not None
            assert closest <= decision.sink


@pytest.mark.slow
def test_the_end_of_the_greatest_edge_is_reached_by_such_an_edge():
    for graph, plan in plans_that_refuse(Reason.EDGE_KIND):
        for decision in plan.decisions:
            if decision.reason is Reason.EDGE_KIND:
                into_blocker = [kind for users in graph.users for user, kind in users if user == decision.blocker]
                assert decision.kind in into_blocker
                assert decision.kind is plan.tree.edge_kind[decision.source]


@pytest.mark.slow
@given(graphs, st.sampled_from((1, 2, 3, 5, 8)), st.sampled_from((None, 4)))
def test_no_merge_exceeds_the_argument_limit(graph: ForwardGraph, limit: int, max_depth: int | None):
    plan = partition(graph, max_depth=max_depth, max_function_args=limit)
    for group in plan.groups:
        if group.num_nodes > 1:
            assert arguments_of(graph, group.members, group.root) <= limit


@pytest.mark.slow
@given(graphs, st.sampled_from(DEPTHS))
def test_an_argument_limit_that_never_binds_changes_nothing(graph: ForwardGraph, max_depth: int | None):
    unlimited = partition(graph, max_depth=max_depth)
    loose = partition(graph, max_depth=max_depth, max_function_args=sum(graph.value_weights))
    assert loose == unlimited


@pytest.mark.slow
@pytest.mark.parametrize("limit", range(1, 7))
def test_an_argument_limit_is_blamed_with_the_count_that_exceeds_it(limit: int):
    for _, plan in plans_that_refuse(Reason.MAX_ARGS, max_function_args=limit):
        blamed = [decision for decision in plan.decisions if decision.reason is Reason.MAX_ARGS]
        assert all(decision.counted > limit == decision.limit for decision in blamed)


def test_a_limit_is_blamed_although_a_later_phase_has_another_reason():
    # In phase 0 the limit alone keeps 0 from 2; then 1 joins the reduction, and stands in the way in phase 1.
    graph = graph_of(
        [Kind.BROADCAST, Kind.ELEMWISE, Kind.COMM_REDUCE],
        (0, 2, Kind.COMM_REDUCE),
        (0, 1, Kind.ELEMWISE),
        (1, 2, Kind.COMM_REDUCE),
    )
    decision = partition(graph, max_depth=2).decisions[0]
    assert (decision.reason, decision.counted, decision.limit) == (Reason.MAX_DEPTH, 3, 2)


@pytest.mark.slow
@given(graphs)
def test_levels_above_zero_are_equal_and_zero_fuses_nothing(graph: ForwardGraph):
    assert partition(graph, opt_level=1) == partition(graph, opt_level=4)
    alone = partition(graph, opt_level=0)
    assert alone.root_of == list(range(len(graph)))
    assert not any(alone.decisions)


@given(graphs)
@settings(max_examples=30)
def test_no_depth_limit_has_many_spellings(graph: ForwardGraph):
    assert partition(graph, max_depth=None) == partition(graph, max_depth=0) == partition(graph, max_depth=-1)
    assert partition(graph, max_depth=None) == partition(graph, max_depth=10**30)


def test_nodes_that_the_sink_has_absorbed_count_again():
    # Nodes 1 and 2 are in the group of node 3 when node 0 is tried for the last time: 3 + 1 + (1 + 1).
    diamond = graph_of(
        [Kind.ELEMWISE] * 4,
        (0, 1, Kind.ELEMWISE),
        (0, 2, Kind.ELEMWISE),
        (1, 3, Kind.ELEMWISE),
        (2, 3, Kind.ELEMWISE),
    )
    plan = partition(diamond, max_depth=3)
    assert plan.root_of == [0, 3, 3, 3]
    assert (plan.decisions[0].reason, plan.decisions[0].counted) == (Reason.MAX_DEPTH, 5)
    assert partition(diamond, max_depth=4).root_of == [3, 3, 3, 3]


@pytest.mark.parametrize("max_depth", [256, None])
def test_a_late_merge_blocks_paths_of_earlier_sources(max_depth: int | None):
    # The convolution 0 joins 3, so 1, whose path to 4 passes 3, may not fuse any more.
    graph = graph_of(
        [Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE, Kind.ELEMWISE, Kind.BROADCAST, Kind.BROADCAST],
        (0, 3, Kind.ELEMWISE),
        (1, 3, Kind.BROADCAST),
        (1, 2, Kind.ELEMWISE),
        (2, 4, Kind.ELEMWISE),
        (3, 4, Kind.BROADCAST),
    )
    plan = partition(graph, max_depth=max_depth)
    assert plan.root_of == [3, 1, 4, 3, 4]
    assert (plan.decisions[1].reason, plan.decisions[1].blocker) == (Reason.PATH_KIND, 3)


def test_a_blocked_source_blocks_what_passes_it():
    # The convolution 0 joins 4, which blocks 2, and by that 1, whose path to 6 passes 2 but does not have to pass 4.
    graph = graph_of(
        [Kind.OUT_EWISE_FUSABLE, *[Kind.ELEMWISE] * 6],
        (0, 4, Kind.ELEMWISE),
        (1, 2, Kind.ELEMWISE),
        (1, 6, Kind.ELEMWISE),
        (2, 4, Kind.ELEMWISE),
        (2, 3, Kind.ELEMWISE),
        (3, 5, Kind.ELEMWISE),
        (4, 5, Kind.ELEMWISE),
        (5, 6, Kind.ELEMWISE),
    )
    plan = partition(graph)
    assert plan.root_of == [6, 1, 2, 6, 6, 6, 6]
    assert [plan.decisions[node].blocker for node in (1, 2)] == [4, 4]


def test_all_members_of_a_group_block_once_it_holds_an_anchor():
    # 0 takes 3 along into 4. When the convolution 1 takes 4 along into 5, node 3 blocks the way of 2 to 4.
    graph = graph_of(
        [Kind.ELEMWISE, Kind.OUT_EWISE_FUSABLE, *[Kind.ELEMWISE] * 4],
        (0, 3, Kind.ELEMWISE),
        (0, 4, Kind.ELEMWISE),
        (1, 4, Kind.ELEMWISE),
        (1, 5, Kind.ELEMWISE),
        (2, 3, Kind.ELEMWISE),
        (2, 4, Kind.ELEMWISE),
        (3, 4, Kind.ELEMWISE),
        (4, 5, Kind.ELEMWISE),
    )
    plan = partition(graph)
    assert plan.root_of == [5, 5, 2, 5, 5, 5]
    assert (plan.decisions[2].reason, plan.decisions[2].blocker) == (Reason.PATH_KIND, 3)
    assert groups_of(plan) == plain_groups_of(graph, 256)


def test_fields_join_a_tuple_that_has_joined_a_concatenation():
    graph = graph_of(
        [Kind.ELEMWISE, Kind.ELEMWISE, Kind.TUPLE, Kind.INJECTIVE],
        (0, 2, Kind.INJECTIVE),
        (1, 2, Kind.INJECTIVE),
        (2, 3, Kind.INJECTIVE),
    )
    plan = partition(graph)
    assert plan.root_of == [3, 3, 3, 3]
    assert [decision.rule and decision.rule.name for decision in plan.decisions] == [
        "injective-into-tuple",
        "injective-into-tuple",
        "injective-into-consumer",
        None,
    ]


def test_a_tuple_that_escapes_takes_no_fields():
    graph = graph_of([Kind.ELEMWISE, Kind.TUPLE], (0, 1, Kind.INJECTIVE))
    assert [decision.reason for decision in partition(graph).decisions] == [Reason.TUPLE_CONSUMER, Reason.VALUE_ESCAPES]


def test_a_long_path_needs_no_recursion():
    size = 20_000
    edges = [(node, node + 1, Kind.ELEMWISE) for node in range(size - 1)]
    skips = [(node, size - 1 - node, Kind.ELEMWISE) for node in range(size // 2 - 1)]
    plan = partition(graph_of([Kind.ELEMWISE] * size, *edges, *skips), max_depth=None)
    assert set(plan.root_of) == {size - 1}


class SmallGroups:
    """A limit from outside the package: at most `limit` nodes in a group that a merge forms, counted as they are."""

    reason = Reason.MAX_DEPTH

    def __init__(self, graph: ForwardGraph, groups: GroupForest, limit: int):
        self.limit = limit
        self.graph = graph
        self.groups = groups

    def exceeded_by(self, source: int, sink: int, sink_root: int) -> int | None:
        between = {self.groups.find(node) for node in nodes_between(self.graph, source, sink)}
        count = sum(self.groups.size[root] for root in {source, *between, sink_root})
        return count if count > self.limit else None


@given(graphs, st.integers(1, 6), st.sampled_from((0, 4)))
def test_another_limit_is_asked_about_every_merge(graph: ForwardGraph, limit: int, max_args: int):
    plan = partition(
        graph,
        max_function_args=max_args,
        limits=[lambda graph, tree, groups: SmallGroups(graph, groups, limit)],
    )
    assert all(group.num_nodes <= limit for group in plan.groups)
    if max_args:
        merged = [group for group in plan.groups if group.num_nodes > 1]
        assert all(arguments_of(graph, group.members, group.root) <= max_args for group in merged)
    blamed = [decision for decision in plan.decisions if decision.limit == limit and decision.counted is not None]
    if plan != partition(graph, max_function_args=max_args):
        assert blamed


@given(graphs)
def test_limits_are_asked_in_their_order(graph: ForwardGraph):
    plan = partition(
        graph, max_depth=1, max_function_args=1, limits=[lambda graph, tree, groups: SmallGroups(graph, groups, 1)]
    )
    counted = [decision for decision in plan.decisions if decision.limit is not None]
    assert all((decision.reason, decision.limit) == (Reason.MAX_DEPTH, 1) for decision in counted)
