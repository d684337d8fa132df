"""Orders that survive merges agree with a search over the whole graph."""

from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuse_dialect.fusion.core.step_order import MOST_VISITED, NoWays, StepOrder


def _random_dag(rng: Random, count: int) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    for node in range(1, count):
        graph.add_edges_from((rng.randrange(node), node) for _ in range(rng.choice((0, 1, 1, 2, 3))))
    return graph


def _closes_cycle(graph: nx.DiGraph, one: int, other: int) -> bool:
    merged = nx.contracted_nodes(graph, one, other, self_loops=False)
    return not nx.is_directed_acyclic_graph(merged)


@settings(max_examples=60)
@given(rng=st.randoms(use_true_random=False), count=st.integers(2, 24))
def test_merges_are_refused_just_where_they_would_close_a_cycle(rng: Random, count: int) -> None:
    graph = _random_dag(rng, count)
    order = StepOrder(lambda step: graph.predecessors(step), lambda step: graph.successors(step))
    order.position.update({step: step for step in graph})
    while graph.number_of_nodes() > 1:
        one, other = rng.sample(sorted(graph), 2)
        ways = order.ways(one, other)
        assert (ways is NoWays.CYCLE) == _closes_cycle(graph, one, other)
        if isinstance(ways, NoWays):
            if all(_closes_cycle(graph, a, b) for a, b in graph.edges):
                break
            continue
        graph = nx.contracted_nodes(graph, one, other, self_loops=False)
        order.merge(one, other, ways)
        assert sorted(order.position) == sorted(graph)
        assert all(order.position[a] < order.position[b] for a, b in graph.edges)


def test_a_search_gives_up() -> None:
    count = 2 * MOST_VISITED
    wide = nx.DiGraph([(0, n) for n in range(1, count)])
    wide.add_edge(0, count)
    order = StepOrder(lambda step: wide.predecessors(step), lambda step: wide.successors(step))
    order.position.update({step: step for step in wide})
    assert isinstance(order.ways(0, 5), tuple)
    assert order.ways(0, count) is NoWays.TOO_MANY


@settings(max_examples=60)
@given(rng=st.randoms(use_true_random=False), count=st.integers(2, 24))
def test_steps_begin_in_an_order_whatever_their_numbers(rng: Random, count: int) -> None:
    graph = _random_dag(rng, count)
    names = rng.sample(range(100), count)
    graph = nx.relabel_nodes(graph, dict(enumerate(names)))
    order = StepOrder(lambda step: graph.predecessors(step), lambda step: graph.successors(step))
    order.begin(graph)
    assert sorted(order.position.values()) == list(range(count))
    assert all(order.position[a] < order.position[b] for a, b in graph.edges)


def test_numbers_that_are_an_order_are_kept() -> None:
    graph = nx.DiGraph([(0, 2), (1, 2), (2, 3)])
    order = StepOrder(lambda step: graph.predecessors(step), lambda step: graph.successors(step))
    order.begin([3, 1, 0, 2])
    assert order.position == {0: 0, 1: 1, 2: 2, 3: 3}


def test_steps_that_wait_for_each_other_have_no_order() -> None:
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 1)])
    order = StepOrder(lambda step: graph.predecessors(step), lambda step: graph.successors(step))
    with pytest.raises(ValueError, match="steps 1, 2 wait for each other"):
        order.begin(graph)
