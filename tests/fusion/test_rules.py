"""Tables of rules: the fast partition agrees with the plain one on every table, and what no table may hold."""

import os
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_partition import PlainTablePartitioner
from random_graphs import random_graph
from random_rules import plain_rules, random_rules

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.fusion.core.rules import PATH_LIMIT, FusionRule, RuleError, RuleTable, up_to
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.pattern_kind import PatternKind as Kind

MORE_GRAPHS = int(os.environ.get("FUSE_FUZZ_GRAPHS", "1000"))
"""Tables and graphs compared with the plain partition from fixed seeds; set the variable to compare more."""

EPILOGUE = FusionRule(
    name="reduction-epilogue",
    phases=(3,),
    sources=frozenset({Kind.COMM_REDUCE}),
    edges=up_to(Kind.BROADCAST),
    path_limit=PATH_LIMIT,
    sinks=up_to(Kind.BROADCAST),
)
"""A row that TVM does not have: sum -> exp."""


def assert_same_partition(graph: ForwardGraph, table: RuleTable, max_depth: int | None) -> int:
    """Compare with the plain partition; returns how many nodes were fused."""
    plan = partition(graph, table, max_depth=max_depth)
    roots = [group.root() for group in PlainTablePartitioner(graph, max_depth, plain_rules(table)).run()]
    kind = {group.root: group.kind for group in plan.groups}
    anchor = {group.root: group.anchor for group in plan.groups}
    assert plan.root_of == [root.index for root in roots]
    assert [kind[root] for root in plan.root_of] == [root.kind for root in roots]
    assert [anchor[root] for root in plan.root_of] == [root.anchor for root in roots]
    return sum(map(bool, plan.decisions))


@given(
    st.builds(random_graph, st.randoms(use_true_random=False), st.integers(2, 40)),
    st.builds(random_rules, st.randoms(use_true_random=False)),
    st.sampled_from((None, 256, 2, 5, 13)),
)
def test_every_table_gives_the_plain_partition(graph: ForwardGraph, table: RuleTable, max_depth: int | None):
    assert_same_partition(graph, table, max_depth)


def test_every_table_gives_the_plain_partition_of_larger_graphs():
    fused = with_reductions = 0
    for seed in range(MORE_GRAPHS):
        rng = Random(seed)
        table = random_rules(rng)
        count = assert_same_partition(random_graph(rng, rng.choice((10, 40, 120))), table, rng.choice((None, 4, 256)))
        fused += count
        with_reductions += count * any(Kind.COMM_REDUCE in row.sources for row in table.rows)
    assert fused > MORE_GRAPHS
    assert with_reductions > MORE_GRAPHS / 10


def test_the_plain_partition_with_the_rows_of_tvm_is_that_of_tvm():
    for seed in range(100):
        assert_same_partition(random_graph(Random(seed), 40), TVM_RULES, 256)


def test_a_group_that_holds_a_reduction_is_a_reduction():
    # sum -> exp -> conv: the group of exp takes on the kind of sum, so `exp -> add` fuses by the same row once more.
    graph = ForwardGraph(
        [Kind.COMM_REDUCE, Kind.ELEMWISE, Kind.ELEMWISE, Kind.COMM_REDUCE],
        [[(1, Kind.ELEMWISE)], [(2, Kind.ELEMWISE)], [(3, Kind.COMM_REDUCE)], []],
        [False, False, False, True],
    )
    plan = partition(graph, RuleTable((replace(EPILOGUE, phases=(0,)),)))
    assert plan.root_of == [2, 2, 2, 3]
    assert [group.kind for group in plan.groups] == [Kind.COMM_REDUCE, Kind.COMM_REDUCE]
    assert plan.decisions[2].rule is not None
    assert (plan.decisions[2].rule.name, plan.decisions[2].reason) == ("reduction-epilogue", Reason.EDGE_KIND)


def test_paths_open_again_after_a_tuple_has_joined_even_if_a_phase_without_candidates_follows():
    # 0 -> {1, 3}, 1 -> 2 -> 3: the tuple 1 stands between 0 and 3 until it joins 2. No sink is a tuple.
    graph = ForwardGraph(
        [Kind.ELEMWISE, Kind.TUPLE, Kind.INJECTIVE, Kind.BROADCAST],
        [
            [(1, Kind.INJECTIVE), (3, Kind.ELEMWISE)],
            [(2, Kind.INJECTIVE)],
            [(3, Kind.BROADCAST)],
            [],
        ],
        [False, False, False, True],
    )
    tuples = FusionRule("tuples", (0,), frozenset({Kind.TUPLE}), frozenset(Kind), PATH_LIMIT, up_to(Kind.INJECTIVE))
    into_tuples = replace(TVM_RULES.rows[3], phases=(1,))
    others = replace(EPILOGUE, phases=(2,), sources=up_to(Kind.BROADCAST), edges=frozenset(Kind))
    table = RuleTable((tuples, into_tuples, others))
    assert partition(graph, table).root_of == [3, 3, 3, 3]
    assert_same_partition(graph, table, None)


def test_names_of_rules_are_stable():
    assert [rule.name for rule in TVM_RULES.rows] == [
        "complex-epilogue",
        "broadcast-into-consumer",
        "injective-into-consumer",
        "injective-into-tuple",
    ]


def test_a_table_takes_another_row():
    table = RuleTable((*TVM_RULES.rows, EPILOGUE))
    assert [phase.number for phase in table.phases] == [0, 1, 2, 3]
    assert table.guard(Kind.COMM_REDUCE, Kind.ELEMWISE) is Reason.NO_RULE
    assert [phase.row_of.get(Kind.COMM_REDUCE) for phase in table.phases] == [None, None, None, EPILOGUE]


@pytest.mark.parametrize(
    ("row", "condition", "message"),
    [
        (replace(EPILOGUE, name="Sum exp"), 1, "expects a name in kebab-case"),
        (replace(EPILOGUE, name="complex-epilogue"), 1, "stands twice"),
        (replace(EPILOGUE, phases=()), 1, r"expects phases that count from 0, got \(\)"),
        (replace(EPILOGUE, phases=(1, -1)), 1, r"expects phases that count from 0, got \(1, -1\)"),
        (replace(EPILOGUE, sources=frozenset()), 1, "expects a kind of source, got none"),
        (replace(EPILOGUE, edges=frozenset()), 1, "expects a kind of edge, got none"),
        (replace(EPILOGUE, sinks=frozenset()), 1, "expects a kind of sink, got none"),
        (
            replace(EPILOGUE, phases=(1,), sources=frozenset({Kind.ELEMWISE})),
            2,
            "applies in phase 1 to elemwise, as 'broadcast-into-consumer' does",
        ),
        (replace(EPILOGUE, path_limit=Kind.COMM_REDUCE), 3, "expects path limit injective, .* got comm_reduce"),
        (replace(EPILOGUE, path_limit=Kind.BROADCAST), 3, "elementwise edges alone, got broadcast"),
        (
            replace(
                EPILOGUE,
                path_limit=Kind.BROADCAST,
                edges=frozenset({Kind.ELEMWISE}),
                sinks=up_to(Kind.INJECTIVE),
            ),
            3,
            "injective sinks, which may reach in between",
        ),
        (replace(EPILOGUE, sources=frozenset({Kind.OPAQUE})), 4, "has opaque sources"),
        (replace(EPILOGUE, sinks=frozenset({Kind.OPAQUE})), 4, "has opaque sinks"),
        (replace(EPILOGUE, sinks=frozenset({Kind.TUPLE})), 5, "has sinks of kind tuple"),
        (
            replace(
                EPILOGUE,
                sources=frozenset({Kind.OUT_EWISE_FUSABLE}),
                sinks=frozenset({Kind.OUT_EWISE_FUSABLE}),
            ),
            6,
            "so that a group has two anchors",
        ),
        (replace(EPILOGUE, phases=(2,)), 7, "shares phase 2 with 'injective-into-tuple'"),
    ],
    ids=lambda value: value.name if isinstance(value, FusionRule) else None,
)
def test_a_row_that_breaks_a_condition_is_refused(row: FusionRule, condition: int, message: str):
    with pytest.raises(RuleError, match=message) as caught:
        RuleTable((*TVM_RULES.rows, row))
    assert (caught.value.rule, caught.value.condition) == (row, condition)
    assert str(caught.value).startswith(f"fusion rule '{row.name}' ")


def test_injective_sinks_would_break_the_stricter_path_limit():
    # 0 -> {1, 2} -> 2 -> 3: node 1 is in the group of 3, which is injective, and stands between 0 and 2.
    graph = ForwardGraph(
        [Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE, Kind.ELEMWISE, Kind.INJECTIVE],
        [[(1, Kind.ELEMWISE), (2, Kind.ELEMWISE)], [(2, Kind.ELEMWISE)], [(3, Kind.INJECTIVE)], []],
        [False, False, False, True],
    )
    first = FusionRule("first", (0,), up_to(Kind.BROADCAST), frozenset(Kind), PATH_LIMIT, up_to(Kind.INJECTIVE))
    strict = FusionRule(
        "strict",
        (1,),
        frozenset({Kind.OUT_EWISE_FUSABLE}),
        frozenset({Kind.ELEMWISE}),
        Kind.BROADCAST,
        up_to(Kind.BROADCAST),
    )
    rules = plain_rules(RuleTable((first, strict)))
    wider = [rule._replace(sinks=up_to(Kind.INJECTIVE)) if rule.phase == 1 else rule for rule in rules]
    assert PlainTablePartitioner(graph, None, wider).run()[0].root().index == 0
    limit_injective = [rule._replace(on_path=Kind.INJECTIVE) for rule in wider]
    assert PlainTablePartitioner(graph, None, limit_injective).run()[0].root().index == 3


@pytest.mark.parametrize(
    ("source", "sink", "expected"),
    [
        (Kind.OPAQUE, None, Reason.OPAQUE),
        (Kind.ELEMWISE, None, Reason.VALUE_ESCAPES),
        (Kind.ELEMWISE, Kind.TUPLE, Reason.TUPLE_CONSUMER),
        (Kind.COMM_REDUCE, Kind.TUPLE, Reason.NO_RULE),
        (Kind.OUT_EWISE_FUSABLE, Kind.TUPLE, Reason.NO_RULE),
        (Kind.COMM_REDUCE, Kind.ELEMWISE, Reason.NO_RULE),
    ],
)
def test_guards_have_codes(source: Kind, sink: Kind | None, expected: Reason):
    assert TVM_RULES.guard(source, sink) is expected


def test_a_decision_is_true_when_it_fuses():
    assert FusionDecision(Reason.FUSED, 0)
    assert not FusionDecision(Reason.EDGE_KIND, 0)


def test_an_elementwise_edge_into_an_operator_that_is_not_is_invalid():
    graph = ForwardGraph([Kind.ELEMWISE, Kind.INJECTIVE], [[(1, Kind.ELEMWISE)], []], [False, True])
    with pytest.raises(ValueError, match="edge 0 -> 1 is elementwise"):
        graph.validate()


def test_sequences_of_unequal_length_are_invalid():
    with pytest.raises(ValueError, match="'escapes'"):
        ForwardGraph([Kind.ELEMWISE], [[]], []).validate()
