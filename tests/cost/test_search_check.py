"""The check of a plan in the making finds steps that come before what they need."""

import pytest

from fuse_dialect.checked import CheckError
from fuse_dialect.cost.search_check import check_search
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.value_graph import value_graph_of
from fuse_dialect.pattern_kind import PatternKind

ELEMWISE = PatternKind.ELEMWISE
DIAMOND = value_graph_of(
    ForwardGraph(
        kinds=[PatternKind.OPAQUE, ELEMWISE, ELEMWISE, ELEMWISE, ELEMWISE],
        users=[[(1, ELEMWISE)], [(2, ELEMWISE), (3, ELEMWISE)], [(4, ELEMWISE)], [(4, ELEMWISE)], []],
        escapes=[True, False, False, False, True],
    )
)
"""0 is an input; 1 is read by 2 and 3, and both by 4. Each gives the value of its own number."""
SINGLE = {1: {1}, 2: {2}, 3: {3}, 4: {4}}


def test_steps_in_order_are_right() -> None:
    check_search(DIAMOND, SINGLE, SINGLE, {1: 0, 2: 1, 3: 2, 4: 3})
    check_search(DIAMOND, {2: {1, 2}, 3: {1, 3}, 4: {4}}, {2: {2}, 3: {3}, 4: {4}}, {2: 5, 3: 4, 4: 6})


def test_a_step_before_what_it_reads_is_found() -> None:
    with pytest.raises(CheckError, match="step 4 at 1 needs step 3, which is at 2"):
        check_search(DIAMOND, SINGLE, SINGLE, {1: -1, 2: 0, 3: 2, 4: 1})


def test_two_kernels_that_wait_for_each_other_have_no_positions() -> None:
    members = {2: {1, 4}, 3: {2, 3}}
    for first, second in ((0, 1), (1, 0)):
        with pytest.raises(CheckError, match="needs step"):
            check_search(DIAMOND, members, {2: {1, 4}, 3: {2, 3}}, {2: first, 3: second})


def test_a_value_that_nobody_stores_is_found() -> None:
    with pytest.raises(CheckError, match="step 3 reads value 1 of node 1, which no step stores"):
        check_search(DIAMOND, {2: {1, 2}, 3: {3}, 4: {4}}, {2: {2}, 3: {3}, 4: {4}}, {2: 0, 3: 1, 4: 2})
