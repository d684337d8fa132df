"""What every strategy promises, whether it comes with the package or not."""

from collections.abc import Callable
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_strategies import OWN_STRATEGIES
from random_graphs import random_graph

from fuse_dialect.diagnostics import FuseError, Reason
from fuse_dialect.fusion.core.assignment import Partition, partition_of_roots
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.fusion.core.plan import check_plan
from fuse_dialect.fusion.core.strategy import STRATEGIES, FusionOptions, Strategy, find_strategy
from fuse_dialect.fusion.core.value_graph import value_graph_of
from fuse_dialect.pattern_kind import PatternKind as Kind

ALL: dict[str, Callable[[], Strategy]] = {
    **{name: lambda name=name: find_strategy(name) for name in STRATEGIES},
    **{name: lambda strategy=strategy: strategy for name, strategy in OWN_STRATEGIES.items()},
}
PARTITIONS = [name for name in ALL if name != "cost"]
"""Strategies whose kernels have one way out each, and share no node."""
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


@pytest.mark.parametrize("name", PARTITIONS)
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


@pytest.mark.parametrize("name", PARTITIONS)
@given(graph=graphs)
def test_opaque_nodes_are_alone_and_no_tuple_is_a_root(name: str, graph: ForwardGraph):
    for group in partition_by(name, graph).groups:
        if group.num_nodes > 1:
            assert Kind.OPAQUE not in {graph.kinds[node] for node in group.members}
            assert graph.kinds[group.root] is not Kind.TUPLE


@pytest.mark.parametrize("name", PARTITIONS)
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
