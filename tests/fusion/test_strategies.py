"""What every strategy promises, whether it comes with the package or not, and what no assignment of nodes may do."""

from collections.abc import Callable
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_strategies import OWN_STRATEGIES
from random_graphs import random_graph

from fuse_dialect.diagnostics import FuseError, Reason
from fuse_dialect.fusion.assignment import Partition, check_roots, partition_of_roots
from fuse_dialect.fusion.forward_graph import ForwardGraph
from fuse_dialect.fusion.partition import partition
from fuse_dialect.fusion.plan import check_plan
from fuse_dialect.fusion.strategy import STRATEGIES, FusionOptions, Strategy, find_strategy
from fuse_dialect.fusion.value_graph import value_graph_of
from fuse_dialect.pattern_kind import PatternKind as Kind

ALL: dict[str, Callable[[], Strategy]] = {
    **{name: lambda name=name: find_strategy(name) for name in STRATEGIES},
    **{name: lambda strategy=strategy: strategy for name, strategy in OWN_STRATEGIES.items()},
}
graphs = st.builds(random_graph, st.randoms(use_true_random=False), st.integers(2, 40))


def partition_by(name: str, graph: ForwardGraph) -> Partition:
    """What a strategy whose kernels have one way out each makes of a graph."""
    values = value_graph_of(graph)
    plan = ALL[name]()(values, FusionOptions())
    assert plan.partition is not None
    check_plan(values, plan.kernels)
    return plan.partition


def reaches_itself(graph: ForwardGraph, plan: Partition, root: int) -> bool:
    """Whether a path leaves the group and comes back."""
    pending = [user for user, _ in graph.users[root]]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if plan.root_of[node] == root:
            return True
        if node not in seen:
            seen.add(node)
            pending += [user for user, _ in graph.users[node]]
    return False


@pytest.mark.parametrize("name", ALL)
@given(graph=graphs)
def test_every_node_is_in_one_group_that_only_its_root_leaves(name: str, graph: ForwardGraph):
    plan = partition_by(name, graph)
    members = sorted(node for group in plan.groups for node in group.members)
    assert members == list(range(len(graph)))
    for group in plan.groups:
        assert group.members[-1] == group.root
        assert all(plan.root_of[node] == group.root for node in group.members)
        for node in group.members[:-1]:
            assert not graph.escapes[node]
            assert all(plan.root_of[user] == group.root for user, _ in graph.users[node])
        assert not reaches_itself(graph, plan, group.root)


@pytest.mark.parametrize("name", ALL)
@given(graph=graphs)
def test_opaque_nodes_are_alone_and_no_tuple_is_a_root(name: str, graph: ForwardGraph):
    for group in partition_by(name, graph).groups:
        if group.num_nodes > 1:
            assert Kind.OPAQUE not in {graph.kinds[node] for node in group.members}
            assert graph.kinds[group.root] is not Kind.TUPLE


@pytest.mark.parametrize("name", ALL)
@given(graph=graphs)
def test_every_node_has_a_verdict(name: str, graph: ForwardGraph):
    plan = partition_by(name, graph)
    assert [bool(decision) for decision in plan.decisions] == [plan.root_of[node] != node for node in range(len(graph))]
    assert plan == partition_by(name, graph)


@pytest.mark.parametrize("place", STRATEGIES.values(), ids=STRATEGIES)
def test_every_row_of_the_table_names_a_function_with_a_docstring(place: str):
    module, _, function = place.partition(":")
    assert getattr(import_module(module), function).__doc__


def test_an_unknown_strategy_is_reported():
    with pytest.raises(FuseError, match="no fusion strategy 'tvn'") as caught:
        find_strategy("tvn")
    assert caught.value.hint == "did you mean 'tvm'?"


@given(graphs)
def test_the_groups_of_a_partition_make_a_plan(graph: ForwardGraph):
    plan = partition(graph)
    again = partition_of_roots(graph, plan.root_of)
    assert again.groups == plan.groups


@given(graphs)
def test_without_fusion_every_node_says_so(graph: ForwardGraph):
    plan = partition(graph, opt_level=0)
    reasons = {decision.reason for decision in plan.decisions}
    assert reasons <= {Reason.FUSION_OFF, Reason.OPAQUE, Reason.VALUE_ESCAPES}
    assert plan == partition_by("separate", graph)


GRAPH = ForwardGraph(
    kinds=[Kind.OPAQUE, Kind.ELEMWISE, Kind.ELEMWISE, Kind.TUPLE, Kind.INJECTIVE, Kind.ELEMWISE],
    users=[
        [(1, Kind.ELEMWISE)],
        [(2, Kind.ELEMWISE)],
        [(3, Kind.INJECTIVE), (5, Kind.ELEMWISE)],
        [(4, Kind.INJECTIVE)],
        [(5, Kind.ELEMWISE)],
        [],
    ],
    escapes=[False, False, False, False, True, True],
)


def test_an_assignment_of_all_that_may_be_together_makes_a_plan():
    check_roots(GRAPH, [0, 2, 2, 4, 4, 5])


@pytest.mark.parametrize(
    ("root_of", "message"),
    [
        ([0, 1, 2, 3, 4], "expected a root for each of 6 nodes, got 5"),
        ([0, 1, 1, 3, 4, 5], "node 2 has root 1, expected the last node of its group"),
        ([0, 2, 5, 3, 4, 5], "node 1 has root 2, expected the last node of its group"),
        ([0, 1, 2, 3, 4, 6], "node 5 has root 6, expected the last node of its group"),
        ([0, 1, 5, 3, 4, 5], "node 2 of the group of 5 is used by node 3, expected the root alone to be"),
        ([0, 1, 2, 3, 5, 5], "node 4 of the group of 5 is used outside the graph"),
        ([1, 1, 2, 3, 4, 5], "node 0 is opaque, expected a group of its own, got that of 1"),
    ],
)
def test_an_assignment_that_is_no_plan_is_refused(root_of: list[int], message: str):
    with pytest.raises(ValueError, match=message):
        partition_of_roots(GRAPH, root_of)


def test_a_tuple_is_no_root():
    graph = ForwardGraph([Kind.ELEMWISE, Kind.TUPLE], [[(1, Kind.INJECTIVE)], []], [False, True])
    with pytest.raises(ValueError, match="node 1 is a tuple, expected no other members in its group, got 0"):
        partition_of_roots(graph, [1, 1])
