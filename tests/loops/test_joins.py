"""The form that two forms become, field by field, and conditions of the law asked by themselves."""

from typing import Any

import pytest

from fuse_dialect.counts import Count, Size
from fuse_dialect.loops.bounds import MOST_COLUMNS, MOST_ROW
from fuse_dialect.loops.forms import Access, Form, Loops, Order
from fuse_dialect.loops.joins import OWN_ACCESS, Join, joined
from fuse_dialect.loops.pairs import (
    Pair,
    has_few_columns,
    has_pairs_to_multiply,
    has_rows_to_multiply,
    is_within_reach,
    may_run_in_strips,
    passes_blocks,
    passes_short_rows,
)

X, GIVEN, RESULT, WEIGHT, OTHER = range(5)
MAP, ROWS, PRODUCT, WINDOWS, STRIPS = Loops.MAP, Loops.ROWS, Loops.PRODUCT, Loops.WINDOWS, Loops.STRIPS
SAME, LINES, BROADCAST, MOVED = (
    Access(order, 2, 1.0) for order in (Order.SAME, Order.LINES, Order.BROADCAST, Order.MOVED)
)


def producer(loops: Loops = MAP, **fields: Any) -> Form:
    return Form(loops, (8, 16), 2, {X: SAME}, frozenset({GIVEN}))._replace(**fields)


def consumer(loops: Loops = MAP, **fields: Any) -> Form:
    return Form(loops, (8, 16), 2, {GIVEN: SAME}, frozenset({RESULT}))._replace(**fields)


def the_join(loops: Loops = MAP, **fields: Any) -> Join:
    return Join(frozenset(), loops, SAME, (8, 16), 2)._replace(**fields)


class Value:
    """What is known of a value."""

    def __init__(self, shape: tuple[Size, ...] = (8, 16), bytes: Count | None = None):
        self.shape, self.bytes = shape, bytes


def _once(value: int) -> int:
    return 1


def pair(one: Form, other: Form, values: dict[int, Value] | None = None, through: tuple[int, ...] = (GIVEN,)) -> Pair:
    known = [(values or {}).get(number, Value()) for number in range(5)]
    return Pair(one, other, through, other.reads[through[0]], frozenset(), known, _once)


def test_what_a_kernel_reads_itself_is_read_in_order_and_once() -> None:
    assert OWN_ACCESS.then(MOVED) == MOVED
    assert OWN_ACCESS.then(Access(Order.LINES, 9, 3.0)) == Access(Order.LINES, 9, 3.0)


@pytest.mark.parametrize(
    ("are_siblings", "rows", "loops", "expected"),
    [
        (True, 0, ROWS, True),
        (False, 0, ROWS, False),
        (True, 1, ROWS, False),
        (True, 0, MAP, False),
        (True, 0, PRODUCT, False),
    ],
)
def test_siblings_without_rows_run_one_after_the_other(
    are_siblings: bool, rows: int, loops: Loops, expected: bool
) -> None:
    join = the_join(loops, are_siblings=are_siblings, rows=rows)
    assert join.is_one_after_other is expected
    assert joined(producer(), consumer(), join).is_apart is expected


@pytest.mark.parametrize(
    ("join", "order"),
    [
        # What stands where it is read reads what it needs there.
        (the_join(ROWS, is_in_place=True, access=MOVED), Order.MOVED),
        (the_join(MAP, access=MOVED), Order.MOVED),
        # A stage of its own, or a sibling, reads as it always does.
        (the_join(ROWS, access=MOVED), Order.SAME),
        (the_join(MAP, access=MOVED, are_siblings=True), Order.SAME),
        (the_join(ROWS, access=MOVED, are_siblings=True), Order.SAME),
    ],
)
def test_how_what_the_producer_reads_is_read(join: Join, order: Order) -> None:
    assert joined(producer(), consumer(), join).reads == {X: Access(order, 2, 1.0)}


def test_what_both_read_is_read_in_the_harder_way() -> None:
    form = joined(producer(), consumer(reads={GIVEN: SAME, X: LINES}), the_join())
    assert form.reads == {X: LINES}
    assert joined(producer(reads={X: MOVED}), consumer(reads={GIVEN: SAME, X: LINES}), the_join()).reads == {X: MOVED}


def test_the_kernel_has_the_loops_space_and_rows_of_the_join() -> None:
    form = joined(producer(), consumer(), the_join(ROWS, space=(8, 4, 2), rows=1, kept=frozenset({GIVEN})))
    assert (form.loops, form.space, form.rows, form.gives) == (ROWS, (8, 4, 2), 1, {GIVEN, RESULT})


@pytest.mark.parametrize(
    ("loops", "is_in_place", "pieces"),
    [(ROWS, False, 1), (STRIPS, False, 1), (ROWS, True, 6), (STRIPS, True, 6), (MAP, False, 6), (PRODUCT, False, 6)],
)
def test_pieces_are_stages_where_rows_follow_each_other(loops: Loops, is_in_place: bool, pieces: int) -> None:
    form = joined(producer(pieces=2), consumer(pieces=3), the_join(loops, is_in_place=is_in_place))
    assert form.pieces == pieces


@pytest.mark.parametrize("name", ["has_few_rows", "is_of_bytes", "reduces", "is_apart", "finds_faults"])
def test_what_holds_of_one_holds_of_both(name: str) -> None:
    both = ((False, False), (False, True), (True, False), (True, True))
    forms = [
        joined(producer()._replace(**{name: one}), consumer()._replace(**{name: other}), the_join())
        for one, other in both
    ]
    assert [getattr(form, name) for form in forms] == [False, True, True, True]


@pytest.mark.parametrize(("one", "other"), [(16.0, 1.0), (1.0, 16.0), (1.0, 1.0)])
def test_a_product_is_as_fast_with_what_is_around_it_but_in_strips(one: float, other: float) -> None:
    first, second = producer(speed=one), consumer(speed=other)
    assert joined(first, second, the_join(PRODUCT)).speed == max(one, other)
    assert joined(first, second, the_join(STRIPS)).speed == 1.0


def test_a_view_behind_a_view_is_one() -> None:
    both = ((False, False), (False, True), (True, False), (True, True))
    found = [joined(producer(is_view=one), consumer(is_view=other), the_join()).is_view for one, other in both]
    assert found == [False, False, False, True]


@pytest.mark.parametrize(
    ("loops", "are_siblings", "expected"),
    [(PRODUCT, True, 5), (ROWS, True, 3), (PRODUCT, False, 3), (MAP, False, 3)],
)
def test_products_beside_each_other_are_counted(loops: Loops, are_siblings: bool, expected: int) -> None:
    join = the_join(loops, are_siblings=are_siblings)
    assert joined(producer(siblings=2), consumer(siblings=3), join).siblings == expected
    assert joined(producer(siblings=3), consumer(siblings=2), join).siblings == expected


@pytest.mark.parametrize(
    ("one", "other", "loops", "are_siblings", "expected"),
    [
        (PRODUCT, PRODUCT, PRODUCT, False, True),
        (PRODUCT, PRODUCT, PRODUCT, True, False),
        (PRODUCT, PRODUCT, STRIPS, False, False),
        (MAP, PRODUCT, PRODUCT, False, False),
        (PRODUCT, MAP, PRODUCT, False, False),
    ],
)
def test_two_products_of_one_kernel_are_a_gate(
    one: Loops, other: Loops, loops: Loops, are_siblings: bool, expected: bool
) -> None:
    assert joined(producer(one), consumer(other), the_join(loops, are_siblings=are_siblings)).is_gate is expected


SPLIT = {"splits": True}


@pytest.mark.parametrize(
    ("one", "other", "join", "expected"),
    [
        ({}, {}, the_join(ROWS), False),
        # What is reduced behind a map is the same.
        ({}, SPLIT, the_join(ROWS), True),
        ({"reduces": True}, SPLIT, the_join(ROWS), False),
        ({"reduces": True}, {}, the_join(ROWS), False),
        # Behind rows that pass in blocks a view or a scale may follow, nothing else.
        (SPLIT, {}, the_join(ROWS), False),
        (SPLIT, {"is_view": True}, the_join(ROWS), True),
        (SPLIT, {"scales": True}, the_join(ROWS), True),
        ({}, {"is_view": True}, the_join(ROWS), False),
        ({}, {"scales": True}, the_join(ROWS), False),
        # In strips that pass blocks all else may follow.
        (SPLIT, {}, the_join(STRIPS), True),
        ({}, SPLIT, the_join(STRIPS), True),
        ({"reduces": True}, SPLIT, the_join(STRIPS), True),
        ({}, {"scales": True}, the_join(STRIPS), False),
        # What is stored, or has another beside it, is there as a whole.
        ({}, SPLIT, the_join(ROWS, are_siblings=True), False),
        ({}, SPLIT, the_join(ROWS, kept=frozenset({GIVEN})), False),
        (SPLIT, {}, the_join(STRIPS, kept=frozenset({GIVEN})), False),
    ],
)
def test_what_may_still_pass_in_blocks(one: dict[str, Any], other: dict[str, Any], join: Join, expected: bool) -> None:
    assert joined(producer()._replace(**one), consumer()._replace(**other), join).splits is expected


FACTORS = {"factors": frozenset({GIVEN, WEIGHT}), "columns": frozenset({WEIGHT})}


def test_operands_of_a_product_behind_a_map_are_what_the_map_reads() -> None:
    behind = consumer(PRODUCT, reads={GIVEN: SAME, WEIGHT: MOVED}, **FACTORS)
    moved = joined(producer(), behind, the_join(PRODUCT, is_in_place=True))
    assert (moved.factors, moved.columns) == ({X, WEIGHT}, {WEIGHT})
    in_strips = joined(producer(ROWS), behind, the_join(STRIPS))
    assert (in_strips.factors, in_strips.columns) == ({WEIGHT}, {WEIGHT})
    in_place = joined(producer(), behind, the_join(STRIPS, is_in_place=True))
    assert in_place.factors == {X, WEIGHT}
    beside = joined(producer(), behind._replace(factors=frozenset({WEIGHT})), the_join(PRODUCT, is_in_place=True))
    assert beside.factors == {WEIGHT}


def test_operands_of_two_products_stay_theirs() -> None:
    first = producer(PRODUCT, reads={X: LINES, OTHER: MOVED}, factors=frozenset({OTHER}), columns=frozenset({OTHER}))
    both = joined(first, consumer(PRODUCT, reads={GIVEN: SAME, WEIGHT: MOVED}, **FACTORS), the_join(PRODUCT))
    # `X` is no factor of the first product, so it does not become one.
    assert (both.factors, both.columns) == ({WEIGHT, OTHER}, {WEIGHT, OTHER})
    end = joined(first, consumer(), the_join(PRODUCT))
    assert (end.factors, end.columns) == ({OTHER}, {OTHER})
    assert joined(producer(), consumer(), the_join()).factors == frozenset()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (producer(ROWS, splits=True), consumer(PRODUCT), True),
        (producer(ROWS, splits=True), consumer(MAP), False),
        (producer(ROWS), consumer(PRODUCT), False),
        (producer(STRIPS, splits=True), consumer(MAP), True),
        (producer(STRIPS, splits=True), consumer(PRODUCT), False),
        (producer(STRIPS), consumer(MAP), False),
        (producer(PRODUCT), consumer(STRIPS, splits=True), True),
        (producer(PRODUCT, splits=True), consumer(STRIPS, splits=True), False),
        (producer(PRODUCT), consumer(ROWS, splits=True), False),
        (producer(PRODUCT), consumer(PRODUCT, splits=True), False),
    ],
)
def test_columns_of_open_length_pass_block_by_block(one: Form, other: Form, expected: bool) -> None:
    asked = pair(one, other)
    assert passes_blocks(asked) is expected
    if one.splits or other.splits:
        assert passes_short_rows(asked) is expected
    else:
        assert passes_short_rows(asked) is False


def test_rows_of_all_that_passes_are_short() -> None:
    def asked(*sizes: Count | None, space: tuple[Size, ...] = (8, 16)) -> bool:
        reads = {GIVEN: SAME, OTHER: SAME}
        one = producer(PRODUCT, rows=1, space=space, gives=frozenset(reads))
        values = {GIVEN: Value(bytes=sizes[0]), OTHER: Value(bytes=sizes[1])}
        return passes_short_rows(pair(one, consumer(ROWS, rows=1, reads=reads), values, (GIVEN, OTHER)))

    short, long = Count.of(8 * MOST_ROW), Count.of(8 * MOST_ROW + 1)
    assert asked(short, short)
    assert not asked(short, long)
    assert not asked(long, short)
    assert not asked(short, None)
    assert asked(short, short, space=("n", 16)) is False
    assert not asked(Count.of(0), Count.of(0), space=("n", 16))


def test_threads_have_memory_for_all_columns() -> None:
    few, many = Count.of(MOST_COLUMNS), Count.of(MOST_COLUMNS + 1)
    one, other = producer(PRODUCT, columns=frozenset({WEIGHT})), consumer(PRODUCT, columns=frozenset({OTHER}))
    for sizes, expected in (((few, few), True), ((few, many), False), ((many, few), False), ((few, None), False)):
        asked = pair(one, other, {WEIGHT: Value(bytes=sizes[0]), OTHER: Value(bytes=sizes[1])})
        assert has_few_columns(asked) is expected
    # Of columns that pass in blocks they hold a block.
    blocks = pair(producer(ROWS, splits=True), consumer(PRODUCT, columns=frozenset({OTHER})))
    assert has_few_columns(blocks) is True


ONCE, AGAIN = Access(Order.BROADCAST, 0, 1.0), Access(Order.BROADCAST, 0, 8.0)


@pytest.mark.parametrize(
    ("reads", "fields", "expected"),
    [
        ({X: AGAIN}, {}, False),
        ({X: ONCE}, {}, True),
        ({X: AGAIN._replace(rows=1)}, {}, True),
        ({X: AGAIN._replace(rows=1)}, {"rows": 2}, False),
        ({X: AGAIN, OTHER: ONCE}, {}, True),
        ({X: AGAIN, OTHER: AGAIN}, {}, False),
        # Of what is no row nothing is asked.
        ({X: AGAIN}, {"factors": frozenset({WEIGHT})}, True),
        ({X: AGAIN}, {"columns": frozenset({GIVEN})}, True),
    ],
)
def test_rows_that_are_multiplied_differ(reads: dict[int, Access], fields: dict[str, Any], expected: bool) -> None:
    own: dict[str, Any] = {"rows": 1, **FACTORS, **fields}
    asked = pair(producer(reads=reads), consumer(PRODUCT, reads={GIVEN: SAME, WEIGHT: MOVED}, **own))
    assert has_rows_to_multiply(asked) is expected
    assert has_rows_to_multiply(asked._replace(producer=asked.producer._replace(loops=ROWS))) is True
    in_strips = asked._replace(consumer=asked.consumer._replace(loops=STRIPS))
    if not expected:
        assert is_within_reach(in_strips) is False


@pytest.mark.parametrize(
    ("reads", "fields", "expected"),
    [
        ({X: AGAIN}, {}, False),
        ({X: AGAIN._replace(repeats=7.0)}, {}, True),
        # All but the last axis of what is moved are rows: another vector at each of them.
        ({X: AGAIN._replace(rows=1)}, {}, True),
        ({X: AGAIN, OTHER: ONCE}, {}, True),
        ({X: AGAIN}, {"factors": frozenset({WEIGHT})}, True),
        ({X: AGAIN}, {"loops": STRIPS}, True),
        ({X: AGAIN}, {"space": (16, 4)}, True),
        ({X: AGAIN}, {"space": ("m", 16, 4)}, True),
    ],
)
def test_what_is_multiplied_differs_along_its_axis(
    reads: dict[int, Access], fields: dict[str, Any], expected: bool
) -> None:
    own = consumer(PRODUCT, space=(8, 16, 4), reads={GIVEN: SAME, WEIGHT: MOVED}, **FACTORS)
    assert has_pairs_to_multiply(pair(producer(reads=reads), own._replace(**fields))) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (producer(PRODUCT), consumer(ROWS), True),
        (producer(ROWS, reduces=True), consumer(PRODUCT), True),
        (producer(ROWS), consumer(PRODUCT), False),
        (producer(ROWS), consumer(STRIPS), True),
        (producer(PRODUCT, siblings=2), consumer(ROWS), False),
        (producer(PRODUCT), consumer(ROWS, siblings=2), True),
        (producer(PRODUCT), consumer(ROWS, finds_faults=True), False),
        (producer(WINDOWS), consumer(ROWS), False),
    ],
)
def test_what_may_run_in_strips(one: Form, other: Form, expected: bool) -> None:
    assert may_run_in_strips(pair(one, other)) is expected
