"""The search for the best plan against all plans of small graphs, and its time on large ones."""

import json
import os
from pathlib import Path
from random import Random
from time import process_time

import pytest
from brute_force import fewest, full_cost, has_cycle, is_trip, random_graph, random_template

from fuse_dialect.templates.graph import HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.objective import Objective
from fuse_dialect.templates.plan import plan_hardware
from fuse_dialect.templates.shipped.opu import TEMPLATE as OPU
from fuse_dialect.templates.shipped.opu import article_rows
from fuse_dialect.templates.strict_opu import replay_opu
from fuse_dialect.templates.template import HardwareLink, HardwareTemplate, HardwareUnit, OperatorMapping

TEMPLATES = int(os.environ.get("SEARCH_TEMPLATES", "20"))
"""Random templates, with five random graphs each; set the variable to 200 for a long run."""
NARROW = 1
"""A budget that keeps the fewest frontiers at each step, as in a graph of 10,000 operators."""
RECORDED = Path(__file__).parents[1] / "data/hardware/strict_opu.json"


@pytest.mark.slow
@pytest.mark.parametrize("objective", Objective)
def test_no_plan_is_cheaper_than_what_the_search_finds(objective: Objective) -> None:
    above, greedy, optimum = 0, 0.0, 0.0
    for seed in range(TEMPLATES):
        random = Random(seed)
        template = random_template(random)
        for _ in range(5):
            graph = random_graph(random, template)
            best = fewest(graph, template, objective)
            plan = plan_hardware(graph, template, objective)
            walks = [group.walk for group in plan.groups]
            found = full_cost(graph, template, walks, objective)
            assert plan.is_exact
            assert all(is_trip(graph, template, walk) for walk in walks)
            assert not has_cycle(graph, walks)
            assert found >= (best[0], best[1] * (1 - 1e-9))
            above += found > (best[0], best[1] * (1 + 1e-9))
            narrow = plan_hardware(graph, template, objective, NARROW)
            stranded, cost = full_cost(graph, template, [group.walk for group in narrow.groups], objective)
            if stranded == best[0]:
                greedy += cost
                optimum += best[1]
    print(f"{objective}: {above} above the optimum; a narrow search {100 * (greedy / optimum - 1):.2f} % above")
    assert above == 0
    assert greedy <= optimum * 1.005


@pytest.mark.slow
@pytest.mark.parametrize("objective", Objective)
def test_few_ways_a_step_come_near_the_search_on_larger_graphs(objective: Objective) -> None:
    """Graphs of up to 60 operators are beyond brute force; the whole search stands for it."""
    found, optimum = 0.0, 0.0
    for seed in range(TEMPLATES):
        random = Random(1_000 + seed)
        template = random_template(random)
        graph = random_graph(random, template, 60)
        best = plan_hardware(graph, template, objective, 100_000)
        costs = [
            full_cost(graph, template, [group.walk for group in plan.groups], objective)
            for plan in (best, plan_hardware(graph, template, objective, NARROW))
        ]
        assert not best.is_exact or costs[0] <= (costs[1][0], costs[1][1] * (1 + 1e-9))
        if best.is_exact and costs[0][0] == costs[1][0]:
            optimum += costs[0][1]
            found += costs[1][1]
    print(f"{objective}: a narrow search {100 * (found / optimum - 1):.2f} % above")
    assert found <= optimum * 1.01


def test_values_that_wait_for_far_readers_do_not_make_the_search_wide() -> None:
    """Operators of a random graph that read from anywhere: the search does not wait, and joins across are kept."""
    template, graph = wide_graph(1_500)
    plan, first_fit = (plan_hardware(graph, template, budget=budget) for budget in (4_000, 0))
    walks = [group.walk for group in plan.groups]
    assert not plan.is_exact
    assert all(is_trip(graph, template, walk) for walk in walks)
    assert not has_cycle(graph, walks)
    stranded, cost = full_cost(graph, template, walks, Objective.TRIPS)
    assert (stranded, cost) < full_cost(graph, template, [group.walk for group in first_fit.groups], Objective.TRIPS)


def wide_graph(least: int) -> tuple[HardwareTemplate, HardwareGraph]:
    """A random template, and a random graph of at least so many nodes, a third of whose reads are from anywhere."""
    random = Random(0)
    template = random_template(random)
    graph = random_graph(random, template, 2 * least)
    while len(graph.nodes) < least:
        graph = random_graph(random, template, 2 * least)
    return template, graph


def test_strict_opu_gives_the_groups_of_the_article_as_recorded() -> None:
    cases = json.loads(RECORDED.read_text())
    assert len(cases) == 300
    for case in cases:
        plan = replay_opu(recorded_graph(case["nodes"]), article_rows(OPU))
        assert [list(group.nodes) for group in plan.groups] == case["groups"]
        assert list(plan.roots) == case["roots"]
        assert (plan.problem.node if plan.problem is not None else None) == case["problem"]


KINDS = {
    "conv2d": ("ipa",),
    "add": ("adder", "res_adder"),
    "bias_add": ("adder",),
    "multiply": ("multiplier",),
    "max_pool2d": ("pool",),
    "relu": ("comparator",),
    "pad": ("pad",),
    "resize2d": ("upsample",),
    "concatenate": ("mem_rd",),
}


def recorded_graph(rows: list[tuple[str, str, list[int]]]) -> HardwareGraph:
    """The graph of a case: role, operator and reads of each node, which gives one value."""
    nodes = [
        HardwareNode(
            HardwareRole[role.upper()], f"%{number}", KINDS.get(word, ()), KINDS.get(word, ()), tuple(reads), word=word
        )
        for number, (role, word, reads) in enumerate(rows)
    ]
    used = {value for _, _, reads in rows for value in reads}
    return HardwareGraph(
        nodes, range(len(nodes)), [4] * len(nodes), [number not in used for number in range(len(nodes))]
    )


def residual_chain(size: int) -> HardwareGraph:
    """Blocks of two convolutions and a sum, with activations, for the OPU."""
    nodes = [HardwareNode(HardwareRole.INPUT, "%in")]

    def add(kind: str, *reads: int) -> int:
        nodes.append(HardwareNode(HardwareRole.OPERATOR, f"%{len(nodes)}", (kind,), (kind,), reads))
        return len(nodes) - 1

    value = 0
    while len(nodes) < size:
        first = add("comparator", add("adder", add("ipa", value)))
        value = add("comparator", add("res_adder", add("adder", add("ipa", first)), value))
    return HardwareGraph(nodes, range(len(nodes)), [4] * len(nodes), [False] * (len(nodes) - 1) + [True])


def test_ten_thousand_operators_take_seconds() -> None:
    graph = residual_chain(10_000)
    start = process_time()
    plan = plan_hardware(graph, OPU)
    seconds = process_time() - start
    print(f"{seconds:.2f} s")
    assert len(plan.groups) == 2 * ((len(graph.nodes) - 1) // 7)
    # About a second on an idle core; others may run here.
    assert seconds < 8


def test_a_dead_end_is_not_taken() -> None:
    """Whoever takes the nearest unit for an activation cuts itself off from the pool, each time."""
    units = [
        HardwareUnit("s", "s"),
        HardwareUnit("dead", "act"),
        HardwareUnit("mac", "mac"),
        HardwareUnit("act", "act"),
    ]
    ends = (("s", "dead"), ("s", "mac"), ("mac", "act"), ("act", "pool"))
    template = HardwareTemplate(
        "t",
        "s",
        (*units, HardwareUnit("pool", "pool")),
        tuple(HardwareLink(*pair) for pair in ends),
        (OperatorMapping("fuse.exp", ("act", "mac", "pool")),),
    )
    nodes = [HardwareNode(HardwareRole.INPUT, "%in")]
    for number in range(1, 21):
        kind = ("act", "pool")[(number - 1) % 2]
        nodes.append(HardwareNode(HardwareRole.OPERATOR, f"%{number}", (kind,), (kind,), (number - 1,)))
    graph = HardwareGraph(nodes, range(21), [4] * 21, [False] * 20 + [True])
    assert len(plan_hardware(graph, template, budget=0).groups) == 10


def test_bytes_cut_where_values_are_narrow() -> None:
    """Three operators, two of which fit into one trip: the narrower of the two values goes to memory."""
    units = (HardwareUnit("u", "k", 2),)
    template = HardwareTemplate("t", "u", units, mappings=(OperatorMapping("fuse.exp", ("k",)),))
    operator = HardwareRole.OPERATOR
    for sizes, cut in (([64, 256, 16, 64], [(1, 2), (3,)]), ([64, 16, 256, 64], [(1,), (2, 3)])):
        nodes = [HardwareNode(HardwareRole.INPUT, "%in")]
        nodes += [HardwareNode(operator, f"%{i}", ("k",), ("k",), (i - 1,)) for i in (1, 2, 3)]
        graph = HardwareGraph(nodes, range(4), sizes, [False, False, False, True])
        for objective in (Objective.TRIPS, Objective.BYTES):
            assert [group.walk for group in plan_hardware(graph, template, objective).groups] == cut


def test_the_smallest_loss_of_the_first_fit_on_the_opu_is_found() -> None:
    """A scale, a scale of it, their sum, a product of that beside the input, and an activation of the first."""
    rows = [("scale", 0), ("scale", 1), ("sum", 2, 1), ("concat", 3, 0), ("ipa", 4), ("comparator", 1)]
    kinds = {"scale": "multiplier", "sum": "res_adder", "concat": "mem_rd", "ipa": "ipa", "comparator": "comparator"}
    nodes = [HardwareNode(HardwareRole.INPUT, "%in")]
    for word, *reads in rows:
        kind = (kinds[str(word)],)
        places = tuple(int(read) for read in reads)
        nodes.append(HardwareNode(HardwareRole.OPERATOR, f"%{len(nodes)}", kind, kind, places))
    escapes = [False] * 5 + [True, True]
    graph = HardwareGraph(nodes, range(7), [4] * 7, escapes)
    assert len(plan_hardware(graph, OPU, budget=0).groups) >= len(plan_hardware(graph, OPU).groups)
    assert plan_hardware(graph, OPU).is_exact
