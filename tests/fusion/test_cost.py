"""Bytes and arithmetic of kernels, where sizes are open, where they are unknown, and where a node picks elements."""

from dataclasses import replace

import pytest

from fuse_dialect.analysis.kernel_costs import Cost, kernel_cost
from fuse_dialect.counts import Count
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph, value_graph_of
from fuse_dialect.pattern_kind import PatternKind as Kind

E = Kind.ELEMWISE
FORWARD = ForwardGraph(
    kinds=[Kind.OPAQUE, E, E, E],
    users=[[(1, E), (2, E), (3, E)], [(2, E), (3, E)], [(3, E)], []],
    escapes=[True, False, False, True],
)
"""An input that three nodes read; each reads the ones before it, too."""
PLAIN = value_graph_of(FORWARD, bytes=(100, 20, 30, 40), flops=(0, 5, 7, 9))
OPEN = Count.of("n")


def with_touched(*touched: Count | None) -> ValueGraph:
    """The graph whose nodes 1, 2 and 3 read so many bytes of the input."""
    facts = PLAIN.facts
    changed = [
        tuple(own if value == 0 else size for value, size in zip(facts.reads[node], facts.touched[node], strict=True))
        for node, own in enumerate((None, *touched))
    ]
    return replace(PLAIN, find_facts=lambda: replace(facts, touched=changed), _facts=[])


def test_a_kernel_moves_what_comes_from_outside_once_and_what_it_stores() -> None:
    cost = kernel_cost(PLAIN, FusionKernel((1, 2, 3), (3,)))
    assert (cost.static_bytes, cost.flops) == (100 + 40, Count.of(21))
    cost = kernel_cost(PLAIN, FusionKernel((2, 3), (2, 3)))
    assert (cost.static_bytes, cost.flops) == (100 + 20 + 30 + 40, Count.of(16))


@pytest.mark.parametrize("sizes", [(8, 100, 16), (100, 8, 16), (16, 8, 100)], ids=str)
def test_what_one_node_reads_whole_another_picks_from_for_nothing(sizes: tuple[int, ...]) -> None:
    graph = with_touched(*map(Count.of, sizes))
    assert kernel_cost(graph, FusionKernel((1, 2, 3), (3,))).static_bytes == 100 + 40
    assert kernel_cost(graph, FusionKernel((2,), (2,))).static_bytes == sizes[1] + 20 + 30


@pytest.mark.parametrize("touched", [(None, Count.of(8)), (Count.of(8), None)])
def test_bytes_that_one_node_does_not_know_are_unknown(touched: tuple[Count | None, ...]) -> None:
    cost = kernel_cost(with_touched(*touched, Count.of(8)), FusionKernel((1, 2), (2,)))
    assert (cost.bytes, cost.static_bytes, cost.open_values) == (None, 30, 1)


def test_open_sizes_are_counted_by_name_and_left_out_of_numbers() -> None:
    cost = kernel_cost(with_touched(OPEN, OPEN, OPEN), FusionKernel((1, 2), (2,)))
    assert (str(cost.bytes), cost.static_bytes, cost.open_values) == ("30 + n", 30, 1)
    assert Cost((None, OPEN, Count.of(4)), None).open_values == 2
    assert Cost((Count.of(4), Count.of(5)), None).bytes == Count.of(9)


def test_only_operators_compute_and_one_that_does_not_know_makes_the_sum_unknown() -> None:
    roles = [NodeRole.INPUT, NodeRole.CONSTANT, NodeRole.OPERATOR, NodeRole.OPERATOR]
    whole = FusionKernel((1, 2, 3), (3,))
    assert kernel_cost(replace(PLAIN, roles=roles), whole).flops == Count.of(16)
    for unknown in (1, 2, 3):
        flops = [None if node == unknown else count for node, count in enumerate(PLAIN.facts.flops)]
        facts = replace(PLAIN.facts, flops=flops)
        graph = replace(PLAIN, find_facts=lambda facts=facts: facts, _facts=[])
        assert kernel_cost(graph, whole).flops is None
