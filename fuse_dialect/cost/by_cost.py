"""The strategy `cost`: kernels grow where that saves time, by a model of the machine.

1. Each operator starts as a kernel of its own. Views join all their readers first: they take no time, and hide what
   stands behind them. Then products and rows take what follows them alone, and each map joins the map that alone
   reads it in the same order: whatever the queue would do first, that saves a value, and most programs are such chains.
2. A *candidate* is a change of the plan: a producer is computed in all of its readers and stored no more; a producer
   and one of its readers become one kernel, which still stores what others read; two kernels that read one value do.
   Which are allowed says `loops.law`, what they take `price`.
3. The candidate that saves the most time comes first. What it touches is judged anew; all else is known.
4. A graph of few operators is searched without those chains of maps, and from the kernels of TVM's rules, too: the plan
   that takes the least time is the result, so there it is never worse than TVM's by the model.

Near-linear in practice: a kernel reads and stores at most `streams` values, a producer of more than `MOST_READERS`
readers is not computed again, and a search for cycles gives up (`step_order`). The worst case is
O(operators · (streams + MOST_READERS) · MOST_VISITED).

Source: the queue of XLA's priority fusion, xla/backends/gpu/transforms/priority_fusion.cc; "AStitch: Enabling a New
Multi-Dimensional Optimization Space for Memory-Intensive ML Training and Inference on Modern SIMT Architectures",
https://doi.org/10.1145/3503222.3507723, for kernels of several results.
"""

from dataclasses import replace

from fuse_dialect.cost.changes import NOTHING, Judged
from fuse_dialect.cost.search import CostSearch, machine_of
from fuse_dialect.fusion.core.partition import tvm
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph

FEW_OPERATORS = 32
"""Operators of a graph that is searched from several starts (4)."""


def cost(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """Fuse where it saves time; keeps to `max_depth` as operators of a kernel, and to `max_function_args`."""
    return searched(graph, options).plan()


def predicted_seconds(graph: ValueGraph, options: FusionOptions) -> float:
    """What the plan of the strategy takes by its model; of the block of a primitive, what that takes."""
    return searched(graph, options).seconds


def seconds_of(graph: ValueGraph, options: FusionOptions, plan: FusionPlan) -> float:
    """What the plan of another strategy takes by the model, as far as the model allows its kernels.

    Its kernels are made by changes, whether they save time or not; one that changes do not make counts as several.
    """
    search = CostSearch(graph, options)
    search.join_views()
    search.join_groups(plan)
    return search.seconds


def searched(graph: ValueGraph, options: FusionOptions) -> CostSearch:
    """The search at its end, from the better start (4)."""
    options = replace(options, machine="", target=machine_of(options))  # a name is looked up once
    start, joins_maps = None, True
    if sum(role is NodeRole.OPERATOR for role in graph.roles) <= FEW_OPERATORS:
        # Which start is better does not depend on a limit of merges: each limit gives a part of the same changes.
        quiet = replace(options, log=None, attempts=None, most_merges=None)
        by_rules = tvm(graph, quiet)
        best = float("inf")
        for plan, joins in ((None, True), (None, False), (by_rules, False)):
            search = CostSearch(graph, quiet)
            search.run(plan, joins_maps=joins)
            if search.seconds < best - NOTHING:
                best, start, joins_maps = search.seconds, plan, joins
    search = CostSearch(graph, options)
    search.run(start, joins_maps=joins_maps)
    return search


def best_seconds(graph: ValueGraph, options: FusionOptions, most_plans: int) -> float | None:
    """The least time, by the model, of all plans that changes lead to; `None` if there are more than `most_plans`.

    Every order of changes is tried, whether they save time or not: a measure of how good the strategy is.

    Complexity: exponential.
    """
    first = CostSearch(graph, options)
    first.join_views()
    seen = {first.state()}
    pending, best = [first], float("inf")
    while pending:
        search = pending.pop()
        best = min(best, search.seconds)
        for change, one, other in search.changes():
            judged = search.judge(change, one, other)
            if isinstance(judged, Judged):
                following = search.copy()
                following.apply(change, one, other, judged, pushes=False)
                if (state := following.state()) not in seen:
                    if len(seen) >= most_plans:
                        return None
                    seen.add(state)
                    pending.append(following)
    return best
