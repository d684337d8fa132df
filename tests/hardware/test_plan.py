"""Grouping onto hardware: what holds for every graph and every template, against plain re-computations."""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_hardware import random_hardware_graphs, random_templates

from fuse_dialect.diagnostics import Reason
from fuse_dialect.templates.graph import HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.group_order import SEARCH_BUDGET, GroupOrder
from fuse_dialect.templates.matcher import START, UnitMatcher
from fuse_dialect.templates.plan import HardwarePlan, plan_hardware
from fuse_dialect.templates.shipped.opu import TEMPLATE as OPU
from fuse_dialect.templates.template import HardwareLink, HardwareTemplate, HardwareUnit
from fuse_dialect.templates.visiting_order import visiting_order

CASES = int(os.environ.get("HARDWARE_CASES", "100"))
"""Random cases of each property; set the variable for a longer run."""


def reachable(template: HardwareTemplate) -> dict[str, set[str]]:
    links = nx.DiGraph()
    links.add_nodes_from(unit.name for unit in template.units)
    links.add_edges_from((link.source, link.sink) for link in template.links)
    return {unit: set(nx.descendants(links, unit)) | {unit} for unit in links}


def data_flow(graph: HardwareGraph) -> "nx.DiGraph[int]":
    """Who must run before whom."""
    flow: nx.DiGraph[int] = nx.DiGraph()
    flow.add_nodes_from(range(len(graph.nodes)))
    for number, node in enumerate(graph.nodes):
        flow.add_edges_from((graph.producers[value], number) for value in node.reads)
        flow.add_edges_from((each, number) for each in node.after)
    return flow


def check_groups_are_no_cycle(graph: HardwareGraph, plan: HardwarePlan) -> None:
    """With every group as one node, the graph has no cycle: groups are convex, also all together."""
    name = {number: number for number in range(len(graph.nodes))}
    for index, group in enumerate(plan.groups):
        name.update(dict.fromkeys(group.nodes, len(graph.nodes) + index))
    contracted = nx.DiGraph((name[a], name[b]) for a, b in data_flow(graph).edges if name[a] != name[b])
    assert nx.is_directed_acyclic_graph(contracted)


def check_trip(graph: HardwareGraph, template: HardwareTemplate, plan: HardwarePlan, walk: Sequence[int]) -> None:
    """Units of the right kinds, in an order that the links allow, none above its capacity."""
    ways = reachable(template)
    units = {unit.name: unit for unit in template.units}
    names = [plan.unit_of[number] for number in walk]
    assert all(
        name is not None and units[name].kind in graph.nodes[number].kinds
        for number, name in zip(walk, names, strict=True)
    )
    last = template.source
    for name in names:
        assert name in ways[last]
        last = name
    assert all(count <= units[name].capacity for name, count in Counter(names).items())


def check_stream(graph: HardwareGraph, walk: Sequence[int], nodes: Sequence[int]) -> None:
    """Each operator reads the value before it or a view of it, and of the group nothing else but views of inputs."""

    def origin(number: int) -> int | None:
        """The operator of the group that a value of the group is a view of."""
        while number not in walk:
            data = [graph.producers[value] for value in graph.nodes[number].reads]
            data = [each for each in data if graph.nodes[each].role is not HardwareRole.CONSTANT]
            if len(set(data)) != 1 or data[0] not in nodes:
                return None
            number = data[0]
        return number

    for before, number in pairwise(walk):
        inside = [graph.producers[value] for value in graph.nodes[number].reads if graph.producers[value] in nodes]
        assert {origin(each) for each in inside} - {None} == {before}


def check_limits(graph: HardwareGraph, template: HardwareTemplate, nodes: Sequence[int]) -> None:
    limits = template.limits
    reads = {value for number in nodes for value in graph.nodes[number].reads}
    outside = {value for value in reads if graph.producers[value] not in nodes}
    assert not limits.operands or len(outside) <= limits.operands
    if limits.channel_alignment:
        assert all(not (graph.nodes[number].channels or 0) % limits.channel_alignment for number in nodes)


@pytest.mark.slow
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_groups_are_convex_trips_that_respect_capacities_and_limits(data: st.DataObject) -> None:
    template = data.draw(random_templates(["fuse.exp"]))
    graph = data.draw(random_hardware_graphs(template))
    plan = plan_hardware(graph, template)
    members = [number for group in plan.groups for number in group.nodes]
    assert len(set(members)) == len(members)
    check_groups_are_no_cycle(graph, plan)
    for group in plan.groups:
        assert nx.is_weakly_connected(data_flow(graph).subgraph(group.nodes))
        check_trip(graph, template, plan, group.walk)
        check_stream(graph, group.walk, group.nodes)
        check_limits(graph, template, group.nodes)
    for number, node in enumerate(graph.nodes):
        outside = node.role is HardwareRole.OPERATOR and number not in members
        assert not outside or plan.refusals[number] is not None


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_templates(["fuse.exp"]), st.data())
def test_states_are_all_free_units_ahead_of_the_data(template: HardwareTemplate, data: st.DataObject) -> None:
    matcher = UnitMatcher(template)
    ways = reachable(template)
    states, paths = START, [tuple[int, ...]()]
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(sorted({unit.kind for unit in template.units})))
        paths = [
            (*path, index)
            for path in paths
            for index, unit in enumerate(template.units)
            if unit.kind == kind
            and unit.name in ways[template.units[path[-1]].name if path else template.source]
            and path.count(index) < unit.capacity
        ]
        states = matcher.step(states, (kind,))
        assert {state.last for state in states} == {path[-1] for path in paths}


def test_units_equally_near_are_taken_in_the_order_of_the_links() -> None:
    units = (HardwareUnit("s", "s"), HardwareUnit("x", "k"), HardwareUnit("y", "k"))
    for first, second in (("x", "y"), ("y", "x")):
        template = HardwareTemplate("t", "s", units, (HardwareLink("s", first), HardwareLink("s", second)))
        (unit,) = UnitMatcher(template).assign([(("k",), 0, 0)])
        assert units[unit].name == first


def test_unit_with_capacity_left_takes_the_next_operator_too() -> None:
    units = (HardwareUnit("s", "k", 2), HardwareUnit("x", "k"))
    matcher = UnitMatcher(HardwareTemplate("t", "s", units, (HardwareLink("s", "x"),)))
    assert matcher.assign([(("k",), 0, 0)] * 3) == [0, 0, 1]
    states = START
    for _ in range(3):
        states = matcher.step(states, ("k",))
        assert states
    assert not matcher.step(states, ("k",))
    assert matcher.refusal(states, ["k"]) == (Reason.UNIT_BUSY, "unit 'x' is taken in this trip")


def test_bias_of_opu_runs_before_or_behind_the_product() -> None:
    matcher = UnitMatcher(OPU)
    walk = [((kind,), 0, 0) for kind in ("adder", "multiplier", "ipa", "multiplier", "adder")]
    assert [OPU.units[unit].name for unit in matcher.assign(walk)] == ["add_pre", "mul_pre", "ipa", "mul", "add"]


def test_a_later_operator_decides_between_units_that_fit() -> None:
    """The activation nearest to the source has no pool behind it: whoever takes it at once cannot pool."""
    units = (
        HardwareUnit("s", "s"),
        HardwareUnit("near", "act"),
        HardwareUnit("mac", "mac"),
        HardwareUnit("far", "act"),
    )
    ends = (("s", "near"), ("s", "mac"), ("mac", "far"), ("far", "pool"))
    template = HardwareTemplate(
        "t", "s", (*units, HardwareUnit("pool", "pool")), tuple(HardwareLink(*pair) for pair in ends)
    )
    walk = [(("act",), 0, 0), (("pool",), 0, 0)]
    assert [template.units[unit].name for unit in UnitMatcher(template).assign(walk)] == ["far", "pool"]
    plan = chain_onto(template, "act", "pool")
    assert [group.walk for group in plan.groups] == [(1, 2)]
    assert plan.unit_of == [None, "far", "pool"]


@pytest.mark.slow
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_order_of_groups_refuses_exactly_the_cycles(data: st.DataObject) -> None:
    order, mirror = GroupOrder(), nx.DiGraph()
    count = data.draw(st.integers(2, 12))
    for member in range(count):
        before = data.draw(st.sets(st.integers(0, member - 1), max_size=2)) if member else set[int]()
        assert order.add(sorted(before)) == member
        mirror.add_node(member)
        mirror.add_edges_from((each, member) for each in before)
    for _ in range(data.draw(st.integers(0, 15))):
        member = data.draw(st.integers(0, count - 1))
        before = data.draw(st.sets(st.integers(0, count - 1).filter(lambda each, m=member: each != m), max_size=3))
        changed = mirror.copy()
        changed.add_edges_from((each, member) for each in before)
        allowed = order.constrain(sorted(before), member)
        assert allowed == nx.is_directed_acyclic_graph(changed)
        mirror = changed if allowed else mirror


def test_order_of_groups_gives_up_beyond_its_budget() -> None:
    order = GroupOrder()
    first = order.add([])
    last = first
    for _ in range(SEARCH_BUDGET + 1):
        last = order.add([last])
    late = order.add([])
    assert not order.constrain([late], first)
    assert order.constrain([late], last)


def test_order_of_groups_looks_at_no_more_constraints_than_its_budget() -> None:
    order = GroupOrder()
    first = order.add([])
    for _ in range(SEARCH_BUDGET + 1):
        order.add([first])
    late = order.add([])
    assert not order.constrain([late], first)


def test_visiting_order_follows_a_chain_before_it_turns_aside() -> None:
    operator = HardwareRole.OPERATOR
    nodes = [
        HardwareNode(HardwareRole.INPUT, "%x"),
        HardwareNode(operator, "%a", reads=(0,)),
        HardwareNode(operator, "%b", reads=(0,)),
        HardwareNode(operator, "%c", reads=(1,)),
        HardwareNode(operator, "%d", reads=(2, 3)),
    ]
    graph = HardwareGraph(nodes, range(5), [4] * 5, [False] * 4 + [True])
    assert visiting_order(graph) == [1, 3, 2, 4]


def chain_onto(template: HardwareTemplate, *kinds: str, reads: Sequence[tuple[int, ...]] = ()) -> HardwarePlan:
    """The plan of operators of the given kinds; each reads the one before unless told otherwise. Value 0 comes in."""
    operands = reads or [(number,) for number in range(len(kinds))]
    nodes = [HardwareNode(HardwareRole.INPUT, "%0")]
    nodes += [
        HardwareNode(HardwareRole.OPERATOR, f"%{i}", (kind,) if kind else (), (kind,) if kind else (), read)
        for i, (kind, read) in enumerate(zip(kinds, operands, strict=True), 1)
    ]
    count = len(nodes)
    return plan_hardware(HardwareGraph(nodes, range(count), [4] * count, [False] * (count - 1) + [True]), template)


@pytest.mark.parametrize(
    ("kinds", "reads", "refused", "message"),
    [
        (("ipa", "pool", "ipa"), (), 3, "not-reachable: no link leads from unit 'pool' to a unit of kind ipa"),
        (("comparator", "pool", "comparator"), (), 3, "unit-busy: unit 'compare' is taken in this trip"),
        (
            ("ipa", "comparator", "pool"),
            [(0,), (1,), (1,)],
            3,
            "stream-passed: reads %1, but the data has gone on to %2",
        ),
        (
            ("ipa", "", "res_adder"),
            [(0,), (1,), (1, 2)],
            3,
            "would-close-cycle: also reads %2, which may depend on the group",
        ),
        (("ipa", ""), (), 2, "no-unit: no unit runs this operator"),
    ],
)
def test_refusals_say_why(kinds: Sequence[str], reads: Sequence[tuple[int, ...]], refused: int, message: str) -> None:
    plan = chain_onto(OPU, *kinds, reads=reads)
    assert str(plan.refusals[refused]) == message
    assert all(why is None or not kinds[number - 1] for number, why in enumerate(plan.refusals) if number != refused)
