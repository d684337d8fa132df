"""The table of rules: what it promises to the partition, and what it refuses to hold."""

from dataclasses import replace

import pytest

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.forward_graph import ForwardGraph
from fuse_dialect.fusion.rules import FUSION_RULES, PATH_LIMIT, FusionDecision, guard, rules_by_phase
from fuse_dialect.pattern_kind import PatternKind as Kind


def test_names_are_unique():
    names = [rule.name for rule in FUSION_RULES]
    assert len(set(names)) == len(names) == 4


def test_sources_above_the_path_limit_are_anchors_or_tuples():
    sources = frozenset[Kind]().union(*(rule.sources for rule in FUSION_RULES))
    assert {kind for kind in sources if kind > PATH_LIMIT} == {Kind.OUT_EWISE_FUSABLE, Kind.TUPLE}


def test_rows_into_tuples_come_last():
    into_tuple = {phase for rule in FUSION_RULES for phase in rule.phases if rule.into_tuple}
    others = {phase for rule in FUSION_RULES for phase in rule.phases if not rule.into_tuple}
    assert max(others) < min(into_tuple)


def test_two_rows_for_one_kind_and_phase_are_refused():
    with pytest.raises(ValueError, match="both apply to ELEMWISE"):
        rules_by_phase([*FUSION_RULES, replace(FUSION_RULES[1], name="again")])


def test_a_phase_with_rows_into_tuples_and_others_is_refused():
    with pytest.raises(ValueError, match="phase 2"):
        rules_by_phase([*FUSION_RULES, replace(FUSION_RULES[0], name="late", phases=(2,))])


def test_a_path_limit_that_paths_are_not_checked_for_is_refused():
    with pytest.raises(ValueError, match="expected path limit INJECTIVE, got COMM_REDUCE"):
        replace(FUSION_RULES[1], path_limit=Kind.COMM_REDUCE)


@pytest.mark.parametrize(
    ("source", "sink", "expected"),
    [
        (Kind.OPAQUE, None, Reason.OPAQUE),
        (Kind.ELEMWISE, None, Reason.VALUE_ESCAPES),
        (Kind.ELEMWISE, Kind.TUPLE, Reason.TUPLE_CONSUMER),
        (Kind.COMM_REDUCE, Kind.TUPLE, Reason.NO_RULE),
        (Kind.COMM_REDUCE, Kind.ELEMWISE, Reason.NO_RULE),
    ],
)
def test_guards_have_codes(source: Kind, sink: Kind | None, expected: Reason):
    assert guard(source, sink) is expected


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
