"""`fusion-limit`: the first merges of a run are those of a longer one; kernels that are taken apart make a plan."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from random_graphs import random_graph
from random_plans import random_plan

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.decision import Merge
from fuse_dialect.fusion.core.first_kernels import first_kernels, fused_kernels
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.fusion.core.plan import check_plan
from fuse_dialect.fusion.core.value_graph import value_graph_of


@given(seed=st.integers(0, 2**32), count=st.integers(0, 12))
def test_first_merges_are_those_of_the_whole_run(seed: int, count: int) -> None:
    rng = Random(seed)
    graph = random_graph(rng, rng.randrange(1, 30))
    whole: list[Merge] = []
    first: list[Merge] = []
    partition(graph, log=whole.append)
    limited = partition(graph, most_merges=count, log=first.append)
    assert first == whole[:count]
    stopped = [each for each in limited.decisions if each.reason is Reason.FUSION_LIMIT]
    assert bool(stopped) == (len(whole) > count)
    assert all(each.limit == count for each in stopped)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 6))
def test_first_kernels_make_a_plan(seed: int, count: int) -> None:
    rng = Random(seed)
    graph = value_graph_of(random_graph(rng, rng.randrange(1, 12)))
    plan = random_plan(rng, graph, rng.randrange(20))
    fused = fused_kernels(graph, plan)
    first = first_kernels(graph, plan, count)
    check_plan(graph, first.kernels)
    kept = [first.kernels[number].nodes for number in fused_kernels(graph, first)]
    wanted = [plan.kernels[number].nodes for number in fused[:count]]
    assert [nodes for nodes in wanted if nodes in kept] == kept
    if count >= len(fused):
        assert first == plan


def test_no_merge_at_all_leaves_every_node_alone() -> None:
    graph = random_graph(Random(3), 20)
    assert all(len(group.members) == 1 for group in partition(graph, most_merges=0).groups)
