"""A strategy from outside: a kernel for every two results of a block, with all that they need, shared or not."""

from fuse_dialect.fusion.core.plan import FusionPlan, plan_of_nodes
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import ValueGraph


def each_result(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """Kernels of two results each; what both of two kernels need is computed in both."""
    results = [value.producer for value in graph.facts.values if value.escapes and graph.roles[value.producer].may_move]
    pairs = [results[start : start + 2] for start in range(0, len(results), 2)]
    return plan_of_nodes(graph, [_needed(graph, pair) for pair in pairs])


def _needed(graph: ValueGraph, results: list[int]) -> set[int]:
    needed: set[int] = set()
    pending = list(results)
    while pending:
        node = pending.pop()
        if graph.roles[node].may_move and node not in needed:
            needed.add(node)
            pending += [graph.facts.values[read].producer for read in graph.facts.reads[node]]
    return needed
