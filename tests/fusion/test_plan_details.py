"""What `check_plan` asks and what `plan_of_nodes` makes, condition by condition, on graphs made by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.plan import FusionKernel, check_plan, plan_of_nodes, plan_of_roots
from fuse_dialect.fusion.core.value_graph import GraphFacts, GraphValue, NodeRole, ValueGraph, value_graph_of
from fuse_dialect.pattern_kind import PatternKind as Kind

E, OPAQUE = Kind.ELEMWISE, Kind.OPAQUE
OPERATOR, INPUT, CONSTANT = NodeRole.OPERATOR, NodeRole.INPUT, NodeRole.CONSTANT


def graph_of(users: Sequence[Sequence[int]], escapes: Sequence[int], opaque: Sequence[int] = (0,)) -> ValueGraph:
    """A graph whose nodes are elementwise but for the opaque ones; the first is an input."""
    return value_graph_of(
        ForwardGraph(
            [OPAQUE if node in opaque else E for node in range(len(users))],
            [[(user, E) for user in each] for each in users],
            [node in escapes for node in range(len(users))],
        )
    )


def with_roles(graph: ValueGraph, **roles: NodeRole) -> ValueGraph:
    """The graph with other roles of some nodes, `_1=...`."""
    changed = [roles.get(f"_{node}", role) for node, role in enumerate(graph.roles)]
    return replace(graph, roles=changed)


def split() -> ValueGraph:
    """An input, an op of two results with a view for each, and an op that reads both.

    Values are 0, then 1 and 2 of node 1, then 3 of node 4. Nodes 2 and 3 are the views.
    """
    forward = ForwardGraph(
        [OPAQUE, Kind.INJECTIVE, Kind.INJECTIVE, Kind.INJECTIVE, E],
        [[(1, E)], [(2, Kind.INJECTIVE), (3, Kind.INJECTIVE)], [(4, E)], [(4, E)], []],
        [True, False, False, False, True],
    )
    facts = GraphFacts(
        [
            GraphValue(0, (1,), None, True),
            GraphValue(1, (4,), None, False),
            GraphValue(1, (4,), None, False),
            GraphValue(4, (), None, True),
        ],
        reads=[(), (0,), (), (), (1, 2)],
        touched=[(), (None,), (), (), (None, None)],
        flops=[None] * 5,
        may_repeat=[True] * 5,
        after=[()] * 5,
        labels=[""] * 5,
        sources=[""] * 5,
    )
    roles = [INPUT, OPERATOR, NodeRole.RESULT, NodeRole.RESULT, OPERATOR]
    return ValueGraph(forward, roles, [0, 1, 3, 3, 3, 4], {2: 1, 3: 2}, lambda: facts)


def kernels(*given: tuple[tuple[int, ...], tuple[int, ...]]) -> list[FusionKernel]:
    return [FusionKernel(*each) for each in given]


CHAIN = graph_of([[1], [2], [3], []], [0, 3])
FAN = graph_of([[1], [2, 3, 4], [], [], []], [0, 2, 3, 4])


def test_nodes_ascend_and_stand_once_each() -> None:
    for nodes in ((1, 1, 2, 3), (2, 1, 3)):
        with pytest.raises(ValueError, match="expected them ascending, each once"):
            check_plan(CHAIN, kernels((nodes, (3,))))
    check_plan(CHAIN, kernels(((1, 2, 3), (3,))))


def test_nodes_of_kernels_are_those_of_the_graph() -> None:
    for node in (-1, 4):
        with pytest.raises(ValueError, match=f"kernel 1 holds node {node}, expected 0 to 3"):
            plan_of_nodes(CHAIN, [{1}, {2, node}])


def test_ops_that_stay_in_place_are_in_no_kernel() -> None:
    unknown = graph_of([[1], [2], [3], []], [0, 3], [0, 2])
    assert unknown.roles == [INPUT, OPERATOR, NodeRole.IN_PLACE, OPERATOR]
    assert unknown.facts.may_repeat == [False, True, False, True]
    with pytest.raises(ValueError, match="kernel 0 holds node 2, which is an op that stays in place"):
        check_plan(unknown, kernels(((1, 2, 3), (3,))))


def test_a_kernel_holds_an_operator() -> None:
    constant = with_roles(CHAIN, _1=CONSTANT)
    for nodes in ((), (1,)):
        with pytest.raises(ValueError, match="kernel 0 holds no operator"):
            check_plan(constant, kernels((nodes, (1,))))
    check_plan(constant, kernels(((1, 2, 3), (3,))))


def test_a_view_is_with_a_reader_or_with_its_op() -> None:
    graph = split()
    check_plan(graph, kernels(((1, 2, 3), (1, 2)), ((4,), (3,))))
    check_plan(graph, kernels(((1, 2, 3, 4), (3,))))
    check_plan(graph, kernels(((1,), (1, 2)), ((2, 3, 4), (3,))))
    apart = graph_of([[1], [2], [3], [], []], [0, 3, 4])
    for role in (NodeRole.RESULT, NodeRole.OPERAND_TUPLE):
        view = with_roles(apart, _1=role)
        assert role.is_view
        assert role.may_move
        with pytest.raises(ValueError, match="kernel 0 holds node 1, a view that nothing in it reads or gives"):
            check_plan(replace(view, viewed={1: 2} if role is NodeRole.RESULT else {}), kernels(((1, 4), (4,))))


def test_what_may_not_repeat_is_in_one_kernel() -> None:
    facts = replace(FAN.facts, may_repeat=[False] * 5)
    once = replace(FAN, find_facts=lambda: facts, _facts=[])
    check_plan(once, kernels(((1, 2, 3, 4), (2, 3, 4))))
    with pytest.raises(ValueError, match="node 1 is in kernels 0, 1, and must not be computed again"):
        check_plan(once, kernels(((1, 2), (2,)), ((1, 3, 4), (3, 4))))


def test_a_constant_that_others_read_is_stored_by_nobody() -> None:
    constant = with_roles(FAN, _1=CONSTANT)
    assert plan_of_nodes(constant, [{1, 2}, {3, 4}]).kernels == kernels(((1, 2), (2,)), ((3, 4), (3, 4)))


def test_what_is_seen_outside_or_read_in_place_is_stored() -> None:
    seen = graph_of([[1], [2], [3], []], [0, 1, 3])
    assert plan_of_nodes(seen, [{1, 2, 3}]).kernels == kernels(((1, 2, 3), (1, 3)))
    assert plan_of_nodes(CHAIN, [{1, 2}]).kernels == kernels(((1, 2), (2,)))
    with pytest.raises(ValueError, match="value 1 of node 1 is read outside, and no kernel stores it"):
        check_plan(seen, kernels(((1, 2, 3), (3,))))


def test_one_reader_that_does_not_compute_a_value_is_enough() -> None:
    """Node 2 is computed in both kernels, what it reads only in the first."""
    plan = plan_of_nodes(CHAIN, [{1, 2}, {2, 3}])
    assert plan.kernels == kernels(((1, 2), (1,)), ((2, 3), (3,)))


def test_the_first_kernel_that_computes_a_value_stores_it() -> None:
    assert plan_of_nodes(FAN, [{1, 2}, {1, 3}]).kernels == kernels(((1, 2), (1, 2)), ((1, 3), (3,)))


def test_nodes_of_a_kernel_are_sorted() -> None:
    wide = graph_of([range(1, 18), *([[]] * 17)], range(18))
    # Sets of such numbers do not come in order by themselves.
    for nodes in ((8, 1), (16, 1), (17, 8, 1, 16)):
        assert plan_of_nodes(wide, [nodes]).kernels[0].nodes == tuple(sorted(nodes))


def test_a_dead_kernel_stores_its_last_value() -> None:
    dead = graph_of([[1, 3], [2], [], []], [0, 3])
    assert plan_of_nodes(dead, [{1, 2}, {3}]).kernels == kernels(((1, 2), (2,)), ((3,), (3,)))
    with pytest.raises(ValueError, match="kernel 1 stores nothing: nobody reads what it computes, or others compute"):
        plan_of_nodes(FAN, [{1, 2, 3, 4}, {1}])


def test_what_nobody_reads_may_be_stored_and_what_others_compute_may_not() -> None:
    dead = graph_of([[1], [2, 3], [], []], [0, 3])
    check_plan(dead, kernels(((1, 2, 3), (2, 3))))
    with pytest.raises(ValueError, match="value 1 of node 1 is stored, and nobody reads it there"):
        check_plan(dead, kernels(((1, 2, 3), (1, 3))))


def test_a_value_is_stored_once_by_who_computes_it() -> None:
    with pytest.raises(ValueError, match="value 1 is stored by kernels 0, 1"):
        check_plan(FAN, kernels(((1, 2), (1, 2)), ((1, 3), (1, 3))))
    for value in (0, 4, 5, -1):
        with pytest.raises(ValueError, match=f"kernel 0 stores value {value}, which it does not compute"):
            check_plan(FAN, kernels(((1, 2, 3), (value,))))


def test_results_of_one_op_are_stored_by_one_kernel() -> None:
    with pytest.raises(ValueError, match="values of node 1 are stored by kernels 0, 1"):
        check_plan(split(), kernels(((1,), (1,)), ((1,), (2,)), ((4,), (3,))))


def test_what_a_kernel_computes_itself_it_does_not_wait_for() -> None:
    """The first kernel stores node 1 for node 5, and reads node 3 of the second one, which computes node 1 again."""
    graph = graph_of([[1], [2, 3, 5], [4], [4], [], []], [0, 4, 5])
    check_plan(graph, kernels(((1, 2, 4), (1, 4)), ((1, 3), (3,)), ((5,), (5,))))
    with pytest.raises(ValueError, match="kernels 0, 1, 2 wait for each other"):
        check_plan(graph, kernels(((1, 2, 4), (1, 4)), ((3,), (3,)), ((5,), (5,))))


def test_kernels_wait_for_ops_that_stay_in_place() -> None:
    graph = graph_of([[1, 2], [4], [3], [], [5], []], [0, 3, 5], [0, 3, 4])
    # Node 3 reads the kernel's node 2, and node 4, which must follow 3, is read by its node 5.
    check_plan(graph, kernels(((2, 5), (2, 5))))
    facts = replace(graph.facts, after=[(), (), (), (), (3,), ()])
    with pytest.raises(ValueError, match="kernels 0 wait for each other"):
        check_plan(replace(graph, find_facts=lambda: facts, _facts=[]), kernels(((2, 5), (2, 5))))


def test_verdicts_on_nodes() -> None:
    graph = graph_of([[1], [2, 3], [4], [4], []], [0, 4])
    plan = plan_of_nodes(graph, [{1, 2}, {3}, {4}], Reason.FUSION_OFF)
    fused, off = Reason.FUSED, Reason.FUSION_OFF
    assert [(each.reason, each.sink) for each in plan.decisions] == [
        (Reason.OPAQUE, None),
        (fused, 2),
        (off, None),
        (off, None),
        (Reason.VALUE_ESCAPES, None),
    ]
    assert [bool(each) for each in plan.decisions] == [False, True, False, False, False]
    assert not FusionDecision(Reason.VALUE_ESCAPES, 0)


def test_groups_of_a_partition_store_what_their_root_gives() -> None:
    unread = replace(split(), forward=ForwardGraph([OPAQUE, E], [[(1, E)], []], [True, True]), roles=[INPUT, OPERATOR])
    assert plan_of_roots(unread, [0, 1]).kernels == kernels(((1,), (1, 2)))
    view = ForwardGraph([OPAQUE, E, E], [[(1, E)], [(2, E)], []], [True, False, True])
    second = ValueGraph(view, [INPUT, OPERATOR, NodeRole.RESULT], [0, 1, 3, 3], {2: 2}, lambda: CHAIN.facts)
    assert plan_of_roots(second, [0, 2, 2]).kernels == kernels(((1, 2), (2,)))
    assert plan_of_roots(second, [0, 1, 2]).kernels == kernels(((1,), (2,)))


def test_a_group_without_an_operator_is_no_kernel() -> None:
    constant = with_roles(CHAIN, _1=CONSTANT)
    assert plan_of_roots(constant, [0, 1, 3, 3]).kernels == kernels(((2, 3), (3,)))


def test_facts_are_found_once() -> None:
    calls: list[int] = []

    def find() -> GraphFacts:
        calls.append(1)
        return CHAIN.facts

    graph = replace(CHAIN, find_facts=find, _facts=[])
    assert graph.facts is graph.facts
    assert calls == [1]


def test_a_graph_by_hand() -> None:
    twice = value_graph_of(
        ForwardGraph([OPAQUE, E, Kind.TUPLE, OPAQUE], [[(1, E), (1, E)], [(2, E)], [(3, OPAQUE)], []], [True] * 4)
    )
    assert twice.roles == [INPUT, OPERATOR, NodeRole.TUPLE_OP, NodeRole.IN_PLACE]
    assert [value.readers for value in twice.facts.values] == [(1,), (2,), (3,), ()]
    assert twice.facts.reads == [(), (0, 0), (1,), (2,)]
    assert twice.facts.may_repeat == [False, True, True, False]
    assert [twice.producer(value) for value in range(twice.num_values)] == [0, 1, 2, 3]
    assert [split().producer(value) for value in range(4)] == [0, 1, 1, 4]
