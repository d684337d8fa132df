"""Plans of several results and nodes that are computed again: what `check_plan` accepts is what can be run."""

import os
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import random_graph
from random_plans import broken, random_plan

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.partition import partition, tvm
from fuse_dialect.fusion.core.plan import FusionKernel, check_plan, plan_of_nodes, plan_of_roots
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph, value_graph_of
from fuse_dialect.pattern_kind import PatternKind as Kind

RANDOM_PLANS = int(os.environ.get("FUSE_RANDOM_PROGRAMS", "1500"))


def can_be_run(graph: ValueGraph, kernels: Sequence[FusionKernel]) -> bool:
    """Whether running the kernels, and what stays in place, gives every value to those who read it, each stored once.

    The oracle simulates a run: a kernel is a step that needs all values that it reads and does not compute, and gives
    what it stores. It shares nothing with `check_plan`.
    """
    if not _are_well_formed(graph, kernels):
        return False
    held = {node for kernel in kernels for node in kernel.nodes}
    steps: list[tuple[set[int], set[int], set[int]]] = []
    for kernel in kernels:
        own = {value for node in kernel.nodes for value in graph.gives(node)}
        reads = {value for node in kernel.nodes for value in graph.facts.reads[node]} - own
        steps.append((reads, set(kernel.outputs), set(kernel.nodes)))
    for node, role in enumerate(graph.roles):
        if node not in held and not role.is_view:
            steps.append((set(graph.facts.reads[node]), set(graph.gives(node)), {node}))
    known = {value for node, role in enumerate(graph.roles) if role is NodeRole.CONSTANT for value in graph.gives(node)}
    done: set[int] = set()
    waiting = list(steps)
    while waiting:
        ready = [
            step
            for step in waiting
            if step[0] <= known and all(set(graph.facts.after[node]) <= done for node in step[2])
        ]
        if not ready:
            return False
        for step in ready:
            known |= step[1]
            done |= step[2]
            waiting.remove(step)
    escaping = {number for number, value in enumerate(graph.facts.values) if value.escapes}
    if not escaping <= known:
        return False
    needed = escaping | {value for reads, _, _ in steps for value in reads}
    stored = [value for kernel in kernels for value in kernel.outputs]
    return all(value in needed or not graph.facts.values[value].readers for value in stored)


def _are_well_formed(graph: ValueGraph, kernels: Sequence[FusionKernel]) -> bool:
    """Conditions on single kernels, and on what stores a value."""
    counts: dict[int, int] = {}
    for kernel in kernels:
        nodes = list(kernel.nodes)
        if nodes != sorted(set(nodes)) or any(
            graph.roles[node] in (NodeRole.INPUT, NodeRole.IN_PLACE) for node in nodes
        ):
            return False
        if not kernel.outputs or not {NodeRole.OPERATOR} & {graph.roles[node] for node in nodes}:
            return False
        if any(not any(value in graph.gives(node) for node in nodes) for value in kernel.outputs):
            return False
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
    stored = [value for kernel in kernels for value in kernel.outputs]
    return len(stored) == len(set(stored)) and all(
        count == 1 or graph.facts.may_repeat[node] for node, count in counts.items()
    )


def is_accepted(graph: ValueGraph, kernels: Sequence[FusionKernel]) -> bool:
    try:
        check_plan(graph, kernels)
    except ValueError:
        return False
    return True


@settings(max_examples=RANDOM_PLANS)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 24))
def test_what_is_accepted_can_be_run(seed: int, size: int) -> None:
    rng = Random(seed)
    graph = value_graph_of(random_graph(rng, size))
    plan = random_plan(rng, graph, rng.randrange(12))
    assert can_be_run(graph, plan.kernels)
    kernels = broken(rng, graph, plan)
    assert is_accepted(graph, kernels) == can_be_run(graph, kernels)


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 40))
def test_a_partition_is_a_plan(seed: int, size: int) -> None:
    graph = value_graph_of(random_graph(Random(seed), size))
    plan = tvm(graph, FusionOptions())
    check_plan(graph, plan.kernels)
    assert plan.partition is not None
    again = plan_of_nodes(graph, [kernel.nodes for kernel in plan.kernels])
    dead = {number for number, value in enumerate(graph.facts.values) if not value.readers and not value.escapes}
    assert [kernel.nodes for kernel in again.kernels] == [kernel.nodes for kernel in plan.kernels]
    for kernel, other in zip(plan.kernels, again.kernels, strict=True):
        assert set(kernel.outputs) - dead == set(other.outputs) - dead
    assert plan.decisions == partition(graph.forward).decisions


E = Kind.ELEMWISE
DIAMOND = ForwardGraph(
    kinds=[Kind.OPAQUE, E, E, E, E],
    users=[[(1, E)], [(2, E), (3, E)], [(4, E)], [(4, E)], []],
    escapes=[True, False, False, False, True],
)
"""An input, its exp, two that read that, and their sum."""


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([((1, 2), (1, 2)), ((3, 4), (4,)), ((9,), ())], "kernel 2 holds node 9, expected 0 to 4"),
        ([((2, 1), (1, 2)), ((3, 4), (4,))], "kernel 0 holds nodes 2, 1, expected them ascending"),
        ([((0, 1, 2), (1, 2)), ((3, 4), (4,))], "kernel 0 holds node 0, which is an input"),
        ([((), ()), ((1, 2, 3, 4), (4,))], "kernel 0 holds no operator"),
        ([((1, 2), (1, 2)), ((1, 3), ()), ((3, 4), (4,))], "kernel 1 stores nothing"),
        ([((1, 2), (1, 2, 3)), ((3, 4), (4,))], "kernel 0 stores value 3, which it does not compute"),
        ([((1, 2), (1, 2)), ((1, 3, 4), (1, 4))], "value 1 is stored by kernels 0, 1"),
        ([((1, 2), (2,)), ((3, 4), (4,))], "value 1 of node 1 is read outside, and no kernel stores it"),
        ([((1, 2), (1, 2)), ((1, 3, 4), (4,))], "value 1 of node 1 is stored, and nobody reads it there"),
        ([((1, 4), (1, 4)), ((2,), (2,)), ((3,), (3,))], "kernels 0, 1, 2 wait for each other"),
    ],
)
def test_what_is_no_plan_is_refused(kernels: list[tuple[tuple[int, ...], tuple[int, ...]]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_plan(value_graph_of(DIAMOND), [FusionKernel(*kernel) for kernel in kernels])


def test_a_node_that_must_not_be_computed_again_is_in_one_kernel() -> None:
    graph = value_graph_of(DIAMOND)
    facts = graph.facts
    graph._facts[0] = replace(facts, may_repeat=[False] * 5)
    with pytest.raises(ValueError, match="node 1 is in kernels 0, 1, and must not be computed again"):
        plan_of_nodes(graph, [{1, 2}, {1, 3, 4}])


def test_values_of_one_node_are_stored_by_one_kernel() -> None:
    split = ForwardGraph(
        kinds=[Kind.OPAQUE, Kind.INJECTIVE, Kind.INJECTIVE, Kind.INJECTIVE],
        users=[[(1, E)], [(2, Kind.INJECTIVE), (3, Kind.INJECTIVE)], [], []],
        escapes=[True, False, True, True],
    )
    base = value_graph_of(split)
    facts = base.facts
    roles = [NodeRole.INPUT, NodeRole.OPERATOR, NodeRole.RESULT, NodeRole.RESULT]
    value = type(facts.values[0])
    values = [value(0, (1,), None, True), value(1, (), None, True), value(1, (), None, True)]
    known = replace(facts, values=values, reads=[(), (0,), (), ()], touched=[(), (None,), (), ()])
    graph = ValueGraph(split, roles, [0, 1, 3, 3, 3], {2: 1, 3: 2}, lambda: known)
    assert plan_of_nodes(graph, [{1}]).kernels == [FusionKernel((1,), (1, 2))]
    with pytest.raises(ValueError, match="values of node 1 are stored by kernels 0, 1"):
        check_plan(graph, [FusionKernel((1,), (1,)), FusionKernel((1,), (2,))])


def test_kernels_may_have_several_results_and_compute_again() -> None:
    graph = value_graph_of(DIAMOND)
    plan = plan_of_nodes(graph, [{1, 2}, {1, 3, 4}])
    assert plan.kernels == [FusionKernel((1, 2), (2,)), FusionKernel((1, 3, 4), (4,))]
    assert [decision.reason for decision in plan.decisions] == [
        Reason.OPAQUE,
        Reason.FUSED,
        Reason.NOT_CHOSEN,
        Reason.FUSED,
        Reason.VALUE_ESCAPES,
    ]
    assert plan_of_nodes(graph, [{1, 2, 3}, {4}]).kernels[0] == FusionKernel((1, 2, 3), (2, 3))


def test_merges_are_told_in_order() -> None:
    graph = value_graph_of(DIAMOND)
    merges: list[object] = []
    plan = tvm(graph, FusionOptions(log=merges.append))
    assert [(merge.source, merge.sink, merge.absorbed) for merge in merges] == [  # pyright: ignore[reportAttributeAccessIssue]
        (1, 4, (1, 3, 2))
    ]
    assert plan == tvm(graph, FusionOptions())


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 40))
def test_replaying_the_merges_gives_the_partition(seed: int, size: int) -> None:
    forward = random_graph(Random(seed), size)
    roots = list(range(len(forward)))

    def find(node: int) -> int:
        while roots[node] != node:
            node = roots[node]
        return node

    def replay(merge: object) -> None:
        for root in merge.absorbed:  # pyright: ignore[reportAttributeAccessIssue]
            assert roots[root] == root
            roots[root] = find(merge.sink)  # pyright: ignore[reportAttributeAccessIssue]

    found = partition(forward, log=replay)
    assert [find(node) for node in range(len(forward))] == list(found.root_of)


def test_roots_make_kernels_of_groups_that_hold_an_operator() -> None:
    plan = plan_of_roots(value_graph_of(DIAMOND), [0, 4, 4, 4, 4])
    assert plan.kernels == [FusionKernel((1, 2, 3, 4), (4,))]
