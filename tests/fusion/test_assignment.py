"""What no assignment of nodes to groups may do, and the partition that one makes."""

import pytest

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.assignment import check_roots, partition_of_roots
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.pattern_kind import PatternKind as Kind

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
        ([0, 1, 2, 3, 4, -1], "node 5 has root -1, expected the last node of its group"),
    ],
)
def test_an_assignment_that_is_no_plan_is_refused(root_of: list[int], message: str):
    with pytest.raises(ValueError, match=message):
        partition_of_roots(GRAPH, root_of)


def test_nothing_joins_an_opaque_root():
    graph = ForwardGraph([Kind.ELEMWISE, Kind.OPAQUE], [[(1, Kind.OPAQUE)], []], [False, True])
    with pytest.raises(ValueError, match="node 1 is opaque, expected a group of its own, got that of 1"):
        partition_of_roots(graph, [1, 1])


def test_a_group_has_the_kind_of_its_anchor_which_is_the_first():
    complex_, elemwise = Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE
    graph = ForwardGraph(
        [elemwise, complex_, complex_, elemwise, Kind.INJECTIVE],
        [[(node + 1, elemwise)] for node in range(4)] + [[]],
        [False] * 4 + [True],
    )
    (first, last) = partition_of_roots(graph, [3, 3, 3, 3, 4]).groups
    assert (first.root, first.anchor, first.kind, first.num_nodes) == (3, 1, complex_, 4)
    assert (last.root, last.anchor, last.kind, last.members) == (4, None, Kind.INJECTIVE, (4,))


def test_verdicts_on_an_assignment():
    reasons = [decision.reason for decision in partition_of_roots(GRAPH, [0, 1, 2, 4, 4, 5]).decisions]
    escapes = Reason.VALUE_ESCAPES
    assert reasons == [Reason.OPAQUE, Reason.NOT_CHOSEN, escapes, Reason.FUSED, escapes, escapes]


def test_a_tuple_is_no_root():
    graph = ForwardGraph([Kind.ELEMWISE, Kind.TUPLE], [[(1, Kind.INJECTIVE)], []], [False, True])
    with pytest.raises(ValueError, match="node 1 is a tuple, expected no other members in its group, got 0"):
        partition_of_roots(graph, [1, 1])
