"""The law of what may be one kernel: for each way forms that go it, for each row changes that it alone refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest

from fuse_dialect.counts import Count, Size
from fuse_dialect.diagnostics import Reason
from fuse_dialect.loops.bounds import (
    CHEAP,
    FEW_ROWS,
    MOST_COLUMNS,
    MOST_GATED,
    MOST_PIECES,
    MOST_REPEATED,
    MOST_ROW,
    common_rows,
    is_one_space,
    keeps_axes,
    may_be_gated,
    may_repeat,
    repeats_nothing,
)
from fuse_dialect.loops.forms import UNKNOWN_FORM, Access, Form, Loops, Order
from fuse_dialect.loops.joins import OWN_ACCESS, Join, joined
from fuse_dialect.loops.law import WAYS, Row, Way, join, siblings
from fuse_dialect.loops.pairs import Pair

SPACE = (8, 16)
X, GIVEN, OTHER, RESULT, WEIGHT, MORE, SECOND = range(7)
"""An input, what the producer gives, what the consumer reads besides, what it gives, operands of products."""


class Value(NamedTuple):
    shape: tuple[Size, ...] = SPACE
    bytes: Count | None = Count.of(512)


def access(order: Order, rows: int = 2, repeats: float = 1.0) -> Access:
    return Access(order, rows, repeats)


SAME, ROW = access(Order.SAME), access(Order.LINES, 0)


@dataclass(frozen=True)
class Case:
    """A producer and a consumer, or siblings, as the law is asked about them."""

    producer: Form
    consumer: Form
    kept: frozenset[int] = frozenset()
    values: tuple[Value, ...] = (Value(),) * 7
    places: int = 1
    are_siblings: bool = False

    def changed(self, **changes: Any) -> "Case":
        """The same with other fields of the producer, `p_...`, the consumer, `c_...`, or of the case."""
        own = {name: value for name, value in changes.items() if name[:2] not in ("p_", "c_")}
        producer = self.producer._replace(**{name[2:]: value for name, value in changes.items() if name[:2] == "p_"})
        consumer = self.consumer._replace(**{name[2:]: value for name, value in changes.items() if name[:2] == "c_"})
        return replace(self, producer=producer, consumer=consumer, **own)

    def with_value(self, number: int, value: Value) -> "Case":
        return replace(self, values=(*self.values[:number], value, *self.values[number + 1 :]))

    def judged(self) -> Join | Reason:
        if self.are_siblings:
            return siblings(self.producer, self.consumer)
        return join(self.producer, self.consumer, self.kept, self.values, lambda _: self.places)


def a_map(reads: Mapping[int, Access], gives: int) -> Form:
    return Form(Loops.MAP, SPACE, 2, reads, frozenset({gives}))


def product(reads: Mapping[int, Access], gives: int, columns: int) -> Form:
    operands = frozenset(reads) - {GIVEN} if columns != OTHER else frozenset(reads)
    return Form(
        Loops.PRODUCT,
        (8, 16, 4),
        0,
        reads,
        frozenset({gives}),
        factors=operands,
        columns=frozenset({columns}),
        reduces=True,
    )


GATE = Case(
    product({X: ROW, WEIGHT: access(Order.MOVED, 0)}, GIVEN, WEIGHT),
    product({X: ROW, MORE: access(Order.MOVED, 0), GIVEN: SAME}, RESULT, MORE),
)
EPILOGUE = Case(
    product({X: ROW, WEIGHT: access(Order.MOVED, 0)}, GIVEN, WEIGHT),
    a_map({GIVEN: SAME, OTHER: access(Order.BROADCAST)}, RESULT),
)
PROLOGUE = Case(a_map({X: ROW}, GIVEN), product({GIVEN: SAME, OTHER: access(Order.MOVED, 0)}, RESULT, OTHER))
OF_COLUMNS = PROLOGUE.changed(
    p_reads={X: access(Order.MOVED, 0)}, c_columns=frozenset({GIVEN}), c_reads={GIVEN: SAME, OTHER: ROW}
)
OF_AN_END = PROLOGUE.changed(p_reads={X: access(Order.BROADCAST)}, c_factors=frozenset({OTHER}), p_dearest=10)
OF_BYTES = PROLOGUE.changed(p_reads={X: access(Order.BROADCAST, 0)}, c_is_of_bytes=True)
REPEATED = PROLOGUE.changed(p_reads={X: access(Order.BROADCAST, 0, 7.0)}, c_rows=1, c_factors=frozenset({GIVEN, OTHER}))
POINT_BY_POINT = Case(a_map({X: SAME}, GIVEN), a_map({GIVEN: SAME}, RESULT), kept=frozenset({GIVEN}))
IN_PLACE = Case(a_map({X: SAME}, GIVEN), a_map({GIVEN: ROW}, RESULT)._replace(loops=Loops.ROWS, rows=1))
CUT = IN_PLACE.changed(p_pieces=2, c_pieces=8, c_loops=Loops.MAP, c_reads={GIVEN: SAME})
DEAR = IN_PLACE.changed(p_dearest=CHEAP + 1)
ROWS = Case(
    a_map({X: SAME}, GIVEN)._replace(loops=Loops.ROWS, rows=1),
    a_map({GIVEN: access(Order.SAME, 1)}, RESULT)._replace(loops=Loops.ROWS, rows=1),
)
ONE_ROW = ROWS.changed(p_rows=0, c_reads={GIVEN: access(Order.BROADCAST, 0)})
BESIDE = Case(
    product({X: ROW, WEIGHT: access(Order.MOVED, 0)}, GIVEN, WEIGHT),
    product({X: ROW, MORE: access(Order.MOVED, 0)}, RESULT, MORE),
    are_siblings=True,
)
STRIPS = Case(
    product({X: access(Order.LINES, 1), WEIGHT: access(Order.MOVED, 0)}, GIVEN, WEIGHT)._replace(rows=1),
    a_map({GIVEN: access(Order.SAME, 1)}, RESULT)._replace(loops=Loops.ROWS, rows=1),
)
INTO_PRODUCT = Case(
    a_map({X: SAME}, GIVEN)._replace(loops=Loops.ROWS, rows=1, reduces=True),
    product({GIVEN: access(Order.LINES, 1), OTHER: access(Order.MOVED, 0)}, RESULT, OTHER)._replace(rows=1),
)
SIDE_BY_SIDE = Case(a_map({X: SAME}, GIVEN), a_map({X: ROW}, RESULT), are_siblings=True)

JOINS: Mapping[str, list[tuple[Case, Join]]] = {
    "gate": [
        (GATE, Join(frozenset(), Loops.PRODUCT, SAME, (8, 16, 4), 0)),
        (
            GATE.with_value(GIVEN, Value(bytes=Count.of(MOST_GATED))),
            Join(frozenset(), Loops.PRODUCT, SAME, (8, 16, 4), 0),
        ),
    ],
    "epilogue": [
        (EPILOGUE, Join(frozenset(), Loops.PRODUCT, SAME, SPACE, 0)),
        (EPILOGUE.changed(p_rows=1), Join(frozenset(), Loops.PRODUCT, SAME, SPACE, 1)),
        (
            EPILOGUE.changed(p_rows=2, c_reads={GIVEN: access(Order.SAME, 1)}),
            Join(frozenset(), Loops.PRODUCT, access(Order.SAME, 1), SPACE, 0),
        ),
        (EPILOGUE.changed(p_loops=Loops.WINDOWS), Join(frozenset(), Loops.WINDOWS, SAME, SPACE, 2)),
        *[
            (
                EPILOGUE.changed(p_rows=1, c_space=(8, 4, 16), c_reads={GIVEN: access(Order.SAME, 3), OTHER: other}),
                Join(frozenset(), Loops.PRODUCT, access(Order.SAME, 3), (8, 4, 16), rows),
            )
            for other, rows in (
                (access(Order.SAME, 3), 1),
                (access(Order.BROADCAST, 1, 64.0), 1),
                (access(Order.BROADCAST, 0, 512.0), 1),
                (access(Order.BROADCAST, 0, 32.0), 0),
            )
        ],
    ],
    "prologue": [
        (case, Join(frozenset(), loops, SAME, (8, 16, 4), 0, is_in_place=True))
        for case, loops in (
            (PROLOGUE, Loops.PRODUCT),
            (OF_COLUMNS, Loops.PRODUCT),
            (OF_COLUMNS.changed(p_reads={X: ROW}, c_has_few_rows=True), Loops.PRODUCT),
            (REPEATED, Loops.PRODUCT),
            (PROLOGUE.changed(p_reads={X: access(Order.BROADCAST, 0, 7.0)}), Loops.PRODUCT),
            (OF_AN_END, Loops.PRODUCT),
            (OF_AN_END.changed(c_loops=Loops.WINDOWS), Loops.WINDOWS),
            (OF_BYTES, Loops.PRODUCT),
            (OF_COLUMNS.changed(c_is_of_bytes=True), Loops.PRODUCT),
            (OF_AN_END.changed(c_is_of_bytes=True).with_value(X, Value((8, 1))), Loops.PRODUCT),
        )
    ]
    + [(PROLOGUE.changed(c_rows=1), Join(frozenset(), Loops.PRODUCT, SAME, (8, 16, 4), 1, is_in_place=True))]
    + [
        (
            PROLOGUE.changed(p_reads={X: access(Order.BROADCAST, 0, 8.0)}, c_space=space),
            Join(frozenset(), Loops.PRODUCT, SAME, space, 0, is_in_place=True),
        )
        for space in (("m", 16, 4), (16, 4))
    ],
    "point by point": [(POINT_BY_POINT, Join(frozenset({GIVEN}), Loops.MAP, SAME, SPACE, 2))],
    "in place": [
        (IN_PLACE, Join(frozenset(), Loops.ROWS, ROW, SPACE, 1, is_in_place=True)),
        (CUT, Join(frozenset(), Loops.MAP, SAME, SPACE, 1, is_in_place=True)),
        (DEAR, Join(frozenset(), Loops.ROWS, ROW, SPACE, 1, is_in_place=True)),
        (
            IN_PLACE.changed(c_loops=Loops.MAP, c_reads={GIVEN: access(Order.MOVED, 0)}),
            Join(frozenset(), Loops.MAP, access(Order.MOVED, 0), SPACE, 1, is_in_place=True),
        ),
        (IN_PLACE.changed(p_dearest=CHEAP, places=4), Join(frozenset(), Loops.ROWS, ROW, SPACE, 1, is_in_place=True)),
        (IN_PLACE.changed(places=99), Join(frozenset(), Loops.ROWS, ROW, SPACE, 1, is_in_place=True)),
    ],
    "in step": [
        (ROWS, Join(frozenset(), Loops.ROWS, access(Order.SAME, 1), SPACE, 1)),
        (ROWS.changed(p_space=(8,)), Join(frozenset(), Loops.ROWS, access(Order.SAME, 1), SPACE, 1)),
        (ROWS.changed(c_space=(8,), p_pieces=3), Join(frozenset(), Loops.ROWS, access(Order.SAME, 1), SPACE, 1)),
    ],
    "one row": [
        (ONE_ROW, Join(frozenset(), Loops.ROWS, access(Order.BROADCAST, 0), SPACE, 0)),
        (
            ONE_ROW.changed(p_rows=1, c_rows=0, c_space=()),
            Join(frozenset(), Loops.ROWS, access(Order.BROADCAST, 0), SPACE, 0),
        ),
    ],
    "in sequence": [
        (
            ONE_ROW.changed(c_space=(8, 15)),
            Join(frozenset(), Loops.ROWS, access(Order.BROADCAST, 0), SPACE, 0, must_be_small=True),
        )
    ],
    "in strips": [
        (case, Join(frozenset(), Loops.STRIPS, access, (8, 16, 4), 1))
        for case, access in (
            (STRIPS, Access(Order.SAME, 1, 1.0)),
            (STRIPS.changed(p_loops=Loops.STRIPS), Access(Order.SAME, 1, 1.0)),
            (
                STRIPS.changed(c_loops=Loops.MAP, c_rows=2, c_reads={GIVEN: access(Order.LINES, 1)}),
                Access(Order.LINES, 1, 1.0),
            ),
            (STRIPS.with_value(GIVEN, Value(bytes=Count.of(8 * MOST_ROW))), Access(Order.SAME, 1, 1.0)),
            (STRIPS.with_value(WEIGHT, Value(bytes=Count.of(MOST_COLUMNS))), Access(Order.SAME, 1, 1.0)),
            (INTO_PRODUCT, Access(Order.LINES, 1, 1.0)),
            (INTO_PRODUCT.changed(c_loops=Loops.STRIPS), Access(Order.LINES, 1, 1.0)),
            (STRIPS.changed(c_siblings=2), Access(Order.SAME, 1, 1.0)),
        )
    ],
    "products side by side": [
        (case, Join(frozenset({GIVEN}), Loops.PRODUCT, OWN_ACCESS, (8, 16, 4), rows, are_siblings=True))
        for case, rows in (
            (BESIDE, 0),
            (BESIDE.changed(p_rows=1, c_rows=1), 1),
            (BESIDE.changed(p_rows=1), 0),
            (BESIDE.changed(p_rows=2, c_rows=1), 1),
            (BESIDE.changed(p_has_few_rows=True, c_space=(8, "n", 4)), 0),
        )
    ],
    "loops side by side": [
        (case, Join(frozenset({GIVEN}), loops, OWN_ACCESS, SPACE, rows, are_siblings=True))
        for case, loops, rows in (
            (SIDE_BY_SIDE, Loops.MAP, 2),
            (SIDE_BY_SIDE.changed(c_loops=Loops.ROWS), Loops.ROWS, 2),
            (SIDE_BY_SIDE.changed(p_loops=Loops.ROWS), Loops.ROWS, 2),
            (SIDE_BY_SIDE.changed(p_rows=1), Loops.ROWS, 1),
            (SIDE_BY_SIDE.changed(c_space=(8,), c_rows=1), Loops.ROWS, 1),
            (SIDE_BY_SIDE.changed(c_space=(9, 16), p_space=(8, 16)), Loops.ROWS, 0),
            (SIDE_BY_SIDE.changed(p_space=(8,), p_rows=1), Loops.ROWS, 1),
            (SIDE_BY_SIDE.changed(c_pieces=2), Loops.ROWS, 0),
            (SIDE_BY_SIDE.changed(p_pieces=2), Loops.ROWS, 0),
        )
    ],
}
"""For each way forms that go it, and how they join."""

MOVED = {GIVEN: access(Order.MOVED, 0)}
REFUSED: Mapping[int, list[Case]] = {
    2: [GATE.changed(p_loops=Loops.WINDOWS), GATE.changed(c_loops=Loops.WINDOWS)],
    3: [GATE.changed(p_is_gate=True), GATE.changed(c_is_gate=True)],
    4: [GATE.changed(kept=frozenset({GIVEN}))],
    5: [
        GATE.changed(p_siblings=2),
        GATE.changed(c_siblings=2),
        GATE.changed(p_gives=frozenset({GIVEN, SECOND})),
        GATE.changed(c_gives=frozenset({RESULT, SECOND})),
    ],
    6: [GATE.with_value(GIVEN, Value(bytes=size)) for size in (Count.of(MOST_GATED + 1), Count.of("n"), None)],
    7: [
        GATE.changed(c_factors=frozenset({X, MORE, GIVEN})),
        GATE.changed(c_reads={**GATE.consumer.reads, GIVEN: access(Order.BROADCAST)}),
        GATE.with_value(RESULT, Value((16, 8))),
        GATE.with_value(GIVEN, Value((16, 8))),
    ],
    8: [
        GATE.changed(p_factors=frozenset({WEIGHT})),
        GATE.changed(c_factors=frozenset({MORE})),
        GATE.changed(p_columns=frozenset({X})),
        GATE.changed(c_columns=frozenset({X})),
        GATE.changed(c_reads={**GATE.consumer.reads, X: access(Order.MOVED, 0)}),
        GATE.changed(c_reads={**GATE.consumer.reads, X: access(Order.LINES, 1)}),
    ],
    9: [EPILOGUE.changed(p_is_gate=True)],
    10: [EPILOGUE.changed(kept=frozenset({GIVEN}))],
    11: [
        EPILOGUE.changed(p_siblings=2),
        EPILOGUE.changed(p_gives=frozenset({GIVEN, SECOND})),
        EPILOGUE.changed(c_gives=frozenset({RESULT, SECOND})),
    ],
    12: [EPILOGUE.changed(c_loops=Loops.ROWS)],
    13: [EPILOGUE.changed(c_pieces=2)],
    14: [EPILOGUE.changed(c_reads={GIVEN: access(order)}) for order in (Order.BROADCAST, Order.LINES)],
    15: [
        EPILOGUE.changed(c_reads={GIVEN: SAME, OTHER: ROW, SECOND: SAME}),
        EPILOGUE.changed(c_reads={GIVEN: SAME, OTHER: access(Order.LINES)}),
    ],
    16: [IN_PLACE.changed(c_reads={GIVEN: access(Order.ANYHOW, 0)})],
    17: [
        IN_PLACE.changed(p_reads={X: access(Order.MOVED), SECOND: SAME}),
        IN_PLACE.changed(c_reads=MOVED),
        IN_PLACE.changed(p_reads={X: access(Order.MOVED)}),
    ],
    18: [
        CUT.changed(c_reads={GIVEN: access(Order.LINES)}),
        CUT.changed(c_reads={GIVEN: access(Order.SAME, 1)}),
        CUT.changed(c_loops=Loops.ROWS),
        CUT.changed(c_gives=frozenset({RESULT, SECOND})),
    ],
    19: [CUT.changed(c_pieces=9), CUT.changed(p_pieces=1, c_pieces=MOST_PIECES + 1)],
    20: [
        DEAR.changed(places=2),
        DEAR.changed(c_reads={GIVEN: access(Order.LINES, 0, 1.5)}),
        IN_PLACE.changed(p_dearest=CHEAP, places=5),
        OF_AN_END.changed(places=2),
    ],
    21: [PROLOGUE.changed(c_is_gate=True)],
    22: [PROLOGUE.changed(kept=frozenset({GIVEN}))],
    23: [PROLOGUE.changed(p_loops=Loops.ROWS)],
    24: [
        OF_BYTES.changed(p_reads={X: ROW}),
        OF_BYTES.changed(p_reads={X: ROW, SECOND: access(Order.BROADCAST)}),
        OF_BYTES.with_value(X, Value((8, 1))),
        OF_BYTES.with_value(X, Value((8, 17))),
    ],
    25: [
        PROLOGUE.changed(p_reads={X: access(Order.MOVED)}),
        PROLOGUE.changed(p_reads={X: access(Order.MOVED), SECOND: ROW}),
        OF_COLUMNS.changed(p_reads={X: access(Order.GUARDED)}),
        OF_COLUMNS.changed(c_has_few_rows=True),
        REPEATED.changed(c_loops=Loops.STRIPS),
        OF_AN_END.changed(p_reads={X: access(Order.LINES)}),
    ],
    49: [
        EPILOGUE.changed(c_space=(4, 32)).with_value(GIVEN, Value((8, 4, 4))),
        EPILOGUE.changed(c_space=(4, 2, 16)),
    ],
    26: [PROLOGUE.changed(p_dearest=1), PROLOGUE.changed(c_loops=Loops.WINDOWS)],
    50: [
        PROLOGUE.changed(p_reads={X: access(Order.BROADCAST, 0, 8.0)}),
        PROLOGUE.changed(p_reads={X: access(Order.BROADCAST, 0, 128.0), SECOND: access(Order.SAME, 2, 0.0)}),
        PROLOGUE.changed(p_reads={}),
        OF_COLUMNS.changed(p_reads={X: access(Order.BROADCAST, 0, 16.0)}),
    ],
    27: [POINT_BY_POINT.changed(p_loops=Loops.ROWS)],
    28: [POINT_BY_POINT.changed(c_loops=Loops.ROWS)],
    29: [POINT_BY_POINT.changed(p_pieces=2), POINT_BY_POINT.changed(c_pieces=2)],
    30: [POINT_BY_POINT.changed(c_reads={GIVEN: access(Order.BROADCAST)})],
    31: [IN_PLACE.changed(p_loops=Loops.ROWS)],
    32: [IN_PLACE.changed(kept=frozenset({GIVEN}))],
    33: [
        ROWS.changed(c_reads={GIVEN: access(Order.SAME, 0)}),
        ROWS.changed(p_rows=0),
        ROWS.changed(c_rows=0),
        ROWS.changed(c_space=(9, 16)),
    ],
    34: [ONE_ROW.changed(p_pieces=2), ONE_ROW.changed(c_pieces=2)],
    35: [ONE_ROW.changed(p_is_apart=True), ONE_ROW.changed(c_is_apart=True)],
    36: [
        ONE_ROW.changed(p_rows=1),
        ONE_ROW.changed(c_space=(8, 15)),
        ONE_ROW.changed(p_space=()),
        ONE_ROW.changed(c_reads={GIVEN: access(Order.LINES, 0)}),
    ],
    37: [BESIDE.changed(p_is_gate=True), BESIDE.changed(c_is_gate=True)],
    39: [
        BESIDE.changed(p_factors=frozenset({WEIGHT})),
        BESIDE.changed(c_factors=frozenset({MORE})),
        BESIDE.changed(c_reads={X: access(Order.MOVED, 0), MORE: SAME}),
        BESIDE.changed(c_reads={X: access(Order.LINES, 1), MORE: SAME}),
        BESIDE.changed(p_reads={X: access(Order.MOVED, 0), WEIGHT: SAME}),
    ],
    38: [BESIDE.changed(p_loops=Loops.WINDOWS), BESIDE.changed(c_loops=Loops.WINDOWS)],
    51: [
        BESIDE.changed(p_has_few_rows=True, p_space=("n", 16)),
        BESIDE.changed(c_has_few_rows=True, c_space=(16, "n")),
    ],
    40: [SIDE_BY_SIDE.changed(p_loops=Loops.WINDOWS), SIDE_BY_SIDE.changed(c_loops=Loops.PRODUCT)],
    41: [SIDE_BY_SIDE.changed(c_reads={OTHER: SAME})],
    52: [
        SIDE_BY_SIDE.changed(c_reads={X: access(Order.MOVED, 0)}),
        SIDE_BY_SIDE.changed(p_reads={X: access(Order.MOVED, 0)}),
    ],
    42: [
        STRIPS.changed(c_loops=Loops.WINDOWS),
        STRIPS.changed(c_finds_faults=True),
        STRIPS.changed(p_finds_faults=True),
        STRIPS.changed(p_pieces=2),
        STRIPS.changed(c_pieces=2),
        STRIPS.changed(p_siblings=2),
        STRIPS.changed(p_is_of_bytes=True),
        STRIPS.changed(c_is_of_bytes=True),
        INTO_PRODUCT.changed(p_loops=Loops.WINDOWS),
        INTO_PRODUCT.changed(p_reduces=False),
    ],
    43: [STRIPS.changed(kept=frozenset({GIVEN}))],
    44: [STRIPS.changed(p_is_gate=True), INTO_PRODUCT.changed(c_is_gate=True)],
    45: [
        STRIPS.changed(c_reads={GIVEN: access(Order.SAME, 0)}),
        STRIPS.changed(c_rows=0),
        STRIPS.changed(c_space=(9, 16)),
        STRIPS.changed(c_loops=Loops.PRODUCT, c_rows=2),
        INTO_PRODUCT.changed(p_rows=0),
        REPEATED.changed(c_loops=Loops.STRIPS),
    ],
    46: [INTO_PRODUCT.changed(c_columns=frozenset({GIVEN, OTHER}))],
    47: [STRIPS.with_value(GIVEN, Value(bytes=size)) for size in (Count.of(8 * MOST_ROW + 1), Count.of("n"), None)],
    48: [
        *(STRIPS.with_value(WEIGHT, Value(bytes=size)) for size in (Count.of(MOST_COLUMNS + 1), Count.of("n"), None)),
        INTO_PRODUCT.with_value(OTHER, Value(bytes=Count.of(MOST_COLUMNS + 1))),
    ],
}
"""For each row forms that go the way but for that row."""
BY_NAME = {way.name: way for way in WAYS}
REASONS = {
    **dict.fromkeys((*range(2, 10), 21, 44, 46, 48), Reason.TWO_PRODUCTS),
    **dict.fromkeys((10, 11, 22, 43), Reason.PRODUCT_IS_STORED),
}
"""Of rows whose reason is not that loops differ."""


def refusing(way: Way, case: Case, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of all rows of a way that do not hold: the law itself asks only for the first."""
    found: list[int] = []
    for row in way.rows:
        asked = replace(way, rows=(row,))
        with monkeypatch.context() as patch:
            for name in ("_WAYS_OF", "_SIBLINGS"):
                patch.setattr(f"fuse_dialect.loops.law.{name}", _Only(asked) if name == "_WAYS_OF" else (asked,))
            if isinstance(case.judged(), Reason):
                found.append(row.number)
    return found


class _Only(dict[object, tuple[Way, ...]]):
    """One way, for all forms."""

    def __init__(self, way: Way):
        super().__init__()
        self._way = way

    def __missing__(self, key: object) -> tuple[Way, ...]:
        return (self._way,)


def test_rows_are_numbered_and_each_has_a_case() -> None:
    numbers = {row.number for way in WAYS for row in way.rows}
    assert numbers == set(REFUSED) == set(range(2, len(numbers) + 2))
    assert {way.name for way in WAYS} == set(JOINS)


@pytest.mark.parametrize(
    ("name", "case", "expected"), [(name, *each) for name, cases in JOINS.items() for each in cases]
)
def test_forms_join(name: str, case: Case, expected: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.judged() == expected
    assert refusing(BY_NAME[name], case, monkeypatch) == []


@pytest.mark.parametrize(("number", "case"), [(number, case) for number, cases in REFUSED.items() for case in cases])
def test_a_row_alone_refuses(number: int, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = [way for way in WAYS if number in [row.number for row in way.rows]]
    (way,) = ways if len(ways) == 1 else [BY_NAME["prologue" if case.consumer.loops is Loops.PRODUCT else "in place"]]
    assert refusing(way, case, monkeypatch) == [number]
    (row,) = [row for row in way.rows if row.number == number]
    assert row.reason is REASONS.get(number, Reason.LOOPS_DIFFER)
    monkeypatch.setattr("fuse_dialect.loops.law._WAYS_OF", _Only(way))
    monkeypatch.setattr("fuse_dialect.loops.law._SIBLINGS", (way,))
    assert case.judged() is row.reason


@pytest.mark.parametrize(
    "number", [number for number in REFUSED if number not in (*range(16, 21), *range(27, 39), *range(42, 50))]
)
def test_what_the_only_way_refuses_is_refused(number: int) -> None:
    """Other forms have a second way to go."""
    assert [case.judged() for case in REFUSED[number]] == [REASONS.get(number, Reason.LOOPS_DIFFER)] * len(
        REFUSED[number]
    )


IN_ROWS = GATE.changed(p_rows=1, c_rows=1)
OWN = Join(frozenset(), Loops.MAP, OWN_ACCESS, SPACE, 2)
MOVED_INTO_STRIPS = INTO_PRODUCT.changed(p_loops=Loops.MAP, c_loops=Loops.STRIPS)


@pytest.mark.parametrize(
    ("case", "first", "second"),
    [
        (IN_ROWS, "gate", "in strips"),
        (EPILOGUE.changed(p_rows=1), "epilogue", "in strips"),
        (MOVED_INTO_STRIPS, "prologue", "in strips"),
        (POINT_BY_POINT.changed(kept=frozenset()), "point by point", "in place"),
        (IN_PLACE.changed(c_reads={GIVEN: access(Order.LINES, 1)}), "in place", "in step"),
    ],
)
def test_of_two_ways_forms_go_the_first(case: Case, first: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    joins: list[Join | Reason] = []
    for name in (first, second):
        assert refusing(BY_NAME[name], case, monkeypatch) == []
        with monkeypatch.context() as patch:
            patch.setattr("fuse_dialect.loops.law._WAYS_OF", _Only(BY_NAME[name]))
            joins.append(case.judged())
    assert joins[0] != joins[1]
    assert case.judged() == joins[0]


def test_siblings_of_one_point_have_no_rows_in_step() -> None:
    points = SIDE_BY_SIDE.changed(p_space=(), p_rows=0, c_space=(), c_rows=0)
    assert points.judged() == Join(frozenset({GIVEN}), Loops.ROWS, OWN_ACCESS, (), 0, are_siblings=True)


def test_siblings_pass_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Pair] = []
    looked = Row(1, "somebody looks", lambda pair: not asked.append(pair), Reason.LOOPS_DIFFER)
    monkeypatch.setattr("fuse_dialect.loops.law._SIBLINGS", (Way("looked at", (looked,), lambda pair: OWN),))
    assert SIDE_BY_SIDE.judged() is OWN
    (pair,) = asked
    assert pair[:-1] == (SIDE_BY_SIDE.producer, SIDE_BY_SIDE.consumer, (), OWN_ACCESS, frozenset({GIVEN}), ())
    assert pair.places(GIVEN) == 0


@pytest.mark.parametrize("case", [POINT_BY_POINT, ROWS, GATE, EPILOGUE, PROLOGUE, BESIDE, SIDE_BY_SIDE])
def test_what_has_no_loops_joins_nothing(case: Case) -> None:
    for changed in (case.changed(p_loops=Loops.UNKNOWN), case.changed(c_loops=Loops.UNKNOWN)):
        assert changed.judged() is Reason.UNKNOWN_LOOPS


def test_each_value_that_passes_is_asked_for_by_itself() -> None:
    """A product moves columns farther than rows: both pass, each within its own reach."""
    far = {GIVEN: access(Order.LINES, 0), SECOND: access(Order.MOVED, 0)}
    case = PROLOGUE.changed(
        p_gives=frozenset({GIVEN, SECOND}),
        p_reads={X: SAME},
        c_reads=far,
        c_factors=frozenset(far),
        c_columns=frozenset({SECOND}),
    )
    assert isinstance(case.judged(), Join)
    assert case.changed(c_columns=frozenset({GIVEN})).judged() is Reason.LOOPS_DIFFER


def test_what_passes_several_values_reads_them_in_the_harder_way() -> None:
    case = ROWS.changed(
        p_gives=frozenset({GIVEN, SECOND}),
        c_reads={GIVEN: access(Order.SAME, 1), SECOND: access(Order.LINES, 1, 3.0)},
    )
    found = case.judged()
    assert isinstance(found, Join)
    assert found.access == access(Order.LINES, 1, 3.0)


def test_numbers_are_limits_that_are_kept() -> None:
    assert (CHEAP, MOST_REPEATED, MOST_PIECES, MOST_GATED) == (4, 16, 16, 4 << 20)
    assert may_repeat(CHEAP, 4)
    assert not may_repeat(CHEAP, 5)
    assert not may_repeat(CHEAP + 1, 1)
    assert may_repeat(1, MOST_REPEATED)
    assert not may_repeat(1, MOST_REPEATED + 1)
    assert may_repeat(20, 2, room=40)
    assert not may_repeat(20, 3, room=40)
    assert not may_repeat(21, 1, room=20)
    assert repeats_nothing(0, MOST_REPEATED, 9)
    assert not repeats_nothing(0, MOST_REPEATED + 1, 1)
    assert repeats_nothing(99, 1, 1)
    assert not repeats_nothing(1, 2, 1)
    assert not repeats_nothing(1, 1, 1.5)
    assert may_be_gated(MOST_GATED)
    assert not may_be_gated(MOST_GATED + 1)
    assert not may_be_gated(None)
    assert [common_rows((2, "n", 4), other) for other in ((2, "n", 5), (2, 3, 4), (2, "n", 4, 1), ())] == [2, 1, 3, 0]
    assert is_one_space((2, 3), (2, 3))
    assert is_one_space((2, 3), ())
    assert not is_one_space((), (2, 3))


def test_a_reshape_keeps_axes() -> None:
    assert keeps_axes((6, 4, 8), (24, 8)) is True
    assert keeps_axes((24, 8), (3, 8, 2, 4)) is True
    assert keeps_axes((24, 8), (12, 2, 8)) is False
    assert keeps_axes((6, 8), (4, 12)) is False
    assert keeps_axes((FEW_ROWS - 1, 8), (FEW_ROWS - 1, 8)) is True
    assert keeps_axes((2, 3, 8), (6, 8)) is True
    assert keeps_axes((24, 8), (24, 4, 2)) is True
    assert keeps_axes((3 * FEW_ROWS, 8), (3, FEW_ROWS, 8)) is True
    assert keeps_axes((3 * (FEW_ROWS - 1), 8), (3, FEW_ROWS - 1, 8)) is False
    # An axis of one is none, and of open sizes or of nothing nothing is asked.
    assert keeps_axes((1, 6, 8), (6, 1, 8)) is True
    assert keeps_axes((6, 1, 8), (48, 1)) is True
    assert keeps_axes((1, 6), (2, 1, 3)) is True
    assert keeps_axes(("n", 6, 8), (6, "n", 8)) is True
    assert keeps_axes(("n", 8), (4, 8)) is True
    assert keeps_axes((8,), (4, 8)) is True
    assert keeps_axes((0, 8), (8, 0)) is True


def test_a_body_in_place_reads_what_it_needs_there() -> None:
    found = joined(IN_PLACE.producer, IN_PLACE.consumer._replace(reads={GIVEN: ROW, X: SAME}), _join(IN_PLACE))
    assert found.reads == {X: Access(Order.LINES, 0, 1.0)}
    assert found.gives == {RESULT}


def test_a_stage_of_its_own_reads_within_the_shared_rows() -> None:
    kept = ROWS.changed(kept=frozenset({GIVEN}), p_dearest=3, c_dearest=5, p_reduces=True, p_pieces=2, c_pieces=3)
    found = joined(kept.producer, kept.consumer, _join(kept))
    assert found.reads == {X: access(Order.SAME, 1)}
    assert (found.gives, found.dearest, found.pieces) == ({GIVEN, RESULT}, 5, 1)
    assert found.reduces
    assert not found.is_apart
    assert joined(kept.consumer, kept.producer, _join(kept)).reduces


def test_maps_become_one_map() -> None:
    case = POINT_BY_POINT.changed(p_dearest=3, c_dearest=5, p_is_view=True)
    found = joined(case.producer, case.consumer, _join(case))
    assert (found.loops, found.dearest, found.is_view, found.reads) == (Loops.MAP, 8, False, {X: SAME})
    both = joined(case.producer, case.consumer._replace(is_view=True), _join(case))
    assert both.is_view
    cut = joined(CUT.producer, CUT.consumer, _join(CUT))
    assert cut.pieces == MOST_PIECES


def test_a_product_keeps_its_operands_through_what_moves_them() -> None:
    found = joined(OF_COLUMNS.producer, OF_COLUMNS.consumer, _join(OF_COLUMNS))
    assert found.factors == found.columns | {OTHER} == {X, OTHER}
    end = joined(OF_AN_END.producer, OF_AN_END.consumer, _join(OF_AN_END))
    assert (end.factors, end.columns) == ({OTHER}, {OTHER})
    gate = joined(GATE.producer, GATE.consumer, _join(GATE))
    assert gate.is_gate
    assert gate.factors == {X, WEIGHT, MORE}
    assert gate.siblings == 1
    assert joined(OF_BYTES.producer, OF_BYTES.consumer, _join(OF_BYTES)).is_of_bytes


def test_products_side_by_side_are_counted() -> None:
    found = joined(BESIDE.producer._replace(siblings=2), BESIDE.consumer, _join(BESIDE))
    assert (found.siblings, found.is_gate, found.gives) == (3, False, {GIVEN, RESULT})


def test_loops_one_after_the_other_are_apart() -> None:
    cut = SIDE_BY_SIDE.changed(c_pieces=2)
    found = joined(cut.producer, cut.consumer, _join(cut))
    assert found.is_apart
    assert not joined(SIDE_BY_SIDE.producer, SIDE_BY_SIDE.consumer, _join(SIDE_BY_SIDE)).is_apart
    assert joined(found, ROWS.consumer, _join(ROWS)).is_apart
    assert joined(ROWS.producer, ROWS.consumer._replace(is_apart=True), _join(ROWS)).is_apart


def test_an_operator_reads_values_by_their_numbers() -> None:
    form = Form(Loops.PRODUCT, SPACE, 0, {0: ROW, 1: SAME, 2: access(Order.MOVED)}, columns=frozenset({1, 2}))
    named = form.of([5, None, 5], [9])
    assert named.reads == {5: ROW.with_other(access(Order.MOVED))}
    assert (named.factors, named.columns, named.gives) == ({5}, {5}, {9})
    assert UNKNOWN_FORM.of([3], [4]).reads[3].order is Order.ANYHOW
    assert not form._replace(loops=Loops.MAP, columns=frozenset()).of([5, 6, 7], [9]).factors


def _join(case: Case) -> Join:
    found = case.judged()
    assert isinstance(found, Join)
    return found
