"""The post-dominator tree against networkx and against climbing step by step."""

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_partition import plain_post_dominators
from random_graphs import random_graph

from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.post_dominators import post_dominator_tree
from fuse_dialect.pattern_kind import PatternKind as Kind

graphs = st.builds(random_graph, st.randoms(use_true_random=False), st.integers(1, 60))


@pytest.mark.slow
@given(graphs)
def test_parents_are_the_immediate_dominators_of_the_reversed_graph(graph: ForwardGraph):
    outside = len(graph)
    reverse = networkx.DiGraph()
    reverse.add_node(outside)
    for node, users in enumerate(graph.users):
        if graph.escapes[node] or not users:
            reverse.add_edge(outside, node)
        reverse.add_edges_from((user, node) for user, _ in users)
    dominator = networkx.immediate_dominators(reverse, outside)
    expected = [None if dominator[node] == outside else dominator[node] for node in range(len(graph))]
    # A value that escapes counts as used by nobody else.
    assert post_dominator_tree(graph).parent == expected


@pytest.mark.slow
@given(graphs)
def test_depths_and_edge_kinds_are_those_found_by_climbing(graph: ForwardGraph):
    tree = post_dominator_tree(graph)
    assert (tree.parent, tree.depth, tree.edge_kind) == plain_post_dominators(graph)


@pytest.mark.slow
@given(graphs)
def test_the_greatest_edge_ends_between_a_node_and_its_parent(graph: ForwardGraph):
    tree = post_dominator_tree(graph)
    for node, (parent, end) in enumerate(zip(tree.parent, tree.edge_end, strict=True)):
        if parent is None:
            assert end is None
        else:
            assert end is not None
            assert node < end <= parent


@pytest.mark.parametrize("length", [1, 2, 5, 30, 70])
def test_the_greatest_edge_of_a_long_way_is_found_anywhere(length: int):
    # Node 0 reaches the last node directly and by a chain, of which one edge is greater than the others.
    for greatest in range(1, length + 1):
        users = [[(node + 1, Kind.BROADCAST if node == greatest else Kind.ELEMWISE)] for node in range(length + 1)]
        users[0].append((length + 1, Kind.ELEMWISE))
        tree = post_dominator_tree(
            ForwardGraph([Kind.BROADCAST] * (length + 2), [*users, []], [*[False] * (length + 1), True])
        )
        assert (tree.edge_kind[0], tree.edge_end[0]) == (Kind.BROADCAST, greatest + 1)


def test_a_user_before_its_operand_is_refused():
    backwards = ForwardGraph([Kind.ELEMWISE] * 2, [[], [(0, Kind.ELEMWISE)]], [True, False])
    with pytest.raises(ValueError, match="node 1 has user 0"):
        post_dominator_tree(backwards)
    with pytest.raises(ValueError, match="node 1 has user 0"):
        backwards.validate()


def test_one_of_several_users_before_its_operand_is_refused():
    backwards = ForwardGraph(
        [Kind.ELEMWISE] * 3, [[], [(2, Kind.ELEMWISE), (0, Kind.ELEMWISE)], []], [True, False, True]
    )
    with pytest.raises(ValueError, match="node 1 has user 0"):
        post_dominator_tree(backwards)


def test_an_empty_graph_has_an_empty_tree():
    assert post_dominator_tree(ForwardGraph([], [], [])).parent == []
