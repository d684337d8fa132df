"""What may be one kernel, once: rows on forms.

A producer and a kernel that reads it are one kernel in one of these *ways*, the first whose rows all hold:

- *gate*: both are products of one size that multiply one operand, and the end of the consumer reads the producer;
- *epilogue*: the producer is a product or windows, and the consumer a map that reads it in the same order;
- *prologue*: the consumer is a product whose operand the producer moves, a transpose or a slice; or a product or
  windows with an end that reads the producer, a map, as in place;
- *point by point*: both are maps, and an element of the one needs an element of the other;
- *in place*: the producer is a map, whose body stands where it is read;
- *in step*: both share rows, and the consumer reads in each row what the producer wrote in that row;
- *in strips*: at least one has products, and both share rows: some rows pass both before the next ones;
- *one row*: both run over one space, of which nothing is a row;
- *in sequence*: both are so small that one thread may run the loops one after the other; how small says the caller.

Two kernels that do not depend on each other, *siblings*, are one *side by side*: products that multiply one operand,
or loops that read one value: in step if they have rows of the same sizes, else one after the other, in one call.

`simplify` and `grouping` decide on loops what this decides on forms, and `choosing` which gates are one kernel; all go
by `bounds`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fuse_dialect.diagnostics import Reason
from fuse_dialect.loops.bounds import MOST_PIECES
from fuse_dialect.loops.forms import ANCHORS, Form, Loops, Order
from fuse_dialect.loops.joins import OWN_ACCESS, Join
from fuse_dialect.loops.pairs import (
    STRIPPED,
    Pair,
    Passed,
    are_alike,
    are_loops,
    are_products,
    are_whole,
    cuts_no_columns,
    gives_one_each,
    has_few_columns,
    has_pairs_to_multiply,
    has_rows_to_multiply,
    is_cut_alike,
    is_gate,
    is_read_by_the_end,
    is_small_enough,
    is_within_reach,
    is_worth_repeating,
    keeps_lines,
    keeps_the_axes,
    may_run_in_strips,
    may_sum_rows,
    moves_factors_only,
    moves_nothing_in_rows,
    multiply_one_operand,
    passes_no_columns,
    passes_short_rows,
    read_in_one_order,
    reads_the_rest_in_order,
    rows_in_step,
    run_over_one_space,
    shared_rows,
    strip_rows,
    strips_in_step,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A condition on two forms."""

    number: int
    name: str
    holds: Callable[[Pair], bool]
    reason: Reason
    """Why two forms of which it does not hold are no kernel."""


@dataclass(frozen=True, slots=True)
class Way:
    """How two forms become one."""

    name: str
    rows: tuple[Row, ...]
    """All must hold."""
    joined: Callable[[Pair], Join]
    is_by_value: bool = False
    """Whether the rows must hold of each value that passes, by itself."""


def _into(pair: Pair) -> Join:
    """The join of a producer that becomes a part of the consumer's loops."""
    rows = pair.consumer.rows
    if pair.producer.loops is Loops.PRODUCT:
        rows = pair.producer.rows if rows_in_step(pair) >= pair.producer.rows and cuts_no_columns(pair) else 0
    # The consumer is a map: loops are those of the producer, a map, too, or a product or windows with an end.
    return Join(pair.kept, pair.producer.loops, pair.access, pair.consumer.space, rows)


def _as_gate(pair: Pair) -> Join:
    return Join(pair.kept, Loops.PRODUCT, pair.access, pair.consumer.space, 0)


def _in_place(pair: Pair) -> Join:
    rows = pair.consumer.rows if has_rows_to_multiply(pair) else 0
    return Join(pair.kept, pair.consumer.loops, pair.access, pair.consumer.space, rows, is_in_place=True)


def _in_strips(pair: Pair) -> Join:
    space = pair.producer.space if pair.producer.loops in STRIPPED else pair.consumer.space
    return Join(pair.kept, Loops.STRIPS, pair.access, space, strip_rows(pair))


def _in_stages(pair: Pair) -> Join:
    space = max(pair.producer.space, pair.consumer.space, key=len)
    return Join(pair.kept, Loops.ROWS, pair.access, space, rows_in_step(pair))


def _in_sequence(pair: Pair) -> Join:
    return _in_stages(pair)._replace(must_be_small=True)


def _beside(pair: Pair) -> Join:
    rows = min(pair.producer.rows, pair.consumer.rows)
    return Join(pair.producer.gives, Loops.PRODUCT, OWN_ACCESS, pair.producer.space, rows, are_siblings=True)


def _side_by_side(pair: Pair) -> Join:
    """The join of two loops: neither reads the other, so any rows of the same sizes are in step.

    Without such rows the loops run one after the other, and nothing is saved but a call.
    """
    one, other = pair.producer, pair.consumer
    rows = shared_rows(pair) if are_whole(pair) else 0
    are_maps = one.loops is Loops.MAP and other.loops is Loops.MAP
    is_map = are_maps and rows > 0 and {len(one.space), len(other.space)} == {rows}
    loops = Loops.MAP if is_map else Loops.ROWS
    return Join(one.gives, loops, OWN_ACCESS, max(one.space, other.space, key=len), rows, are_siblings=True)


_DIFFER, _TWO, _STORED = Reason.LOOPS_DIFFER, Reason.TWO_PRODUCTS, Reason.PRODUCT_IS_STORED
KNOWN = Row(
    1,
    "both have loops",
    lambda p: p.producer.loops is not Loops.UNKNOWN and p.consumer.loops is not Loops.UNKNOWN,
    Reason.UNKNOWN_LOOPS,
)
GATE = Way(
    "gate",
    (
        Row(2, "both are products", are_products, _TWO),
        Row(3, "neither is a gate", lambda p: not is_gate(p), _TWO),
        Row(4, "nobody else reads what passes", lambda p: not p.kept, _TWO),
        Row(5, "each stores one value of one product", gives_one_each, _TWO),
        Row(6, "each thread has memory for what passes", is_small_enough, _TWO),
        Row(7, "the end reads it at the same point", is_read_by_the_end, _TWO),
        Row(8, "both multiply one operand", multiply_one_operand, _TWO),
    ),
    _as_gate,
)
EPILOGUE = Way(
    "epilogue",
    (
        Row(9, "the product has no gate", lambda p: not p.producer.is_gate, _TWO),
        Row(10, "the product is not stored", lambda p: not p.kept, _STORED),
        Row(11, "each stores one value of one product", gives_one_each, _STORED),
        Row(12, "the reader is a map", lambda p: p.consumer.loops is Loops.MAP, _DIFFER),
        Row(13, "the map is whole", lambda p: p.consumer.pieces == 1, _DIFFER),
        Row(14, "it reads the product in order", lambda p: p.access.order is Order.SAME, _DIFFER),
        Row(15, "it reads all else in order", reads_the_rest_in_order, _DIFFER),
        Row(49, "it cuts no axes of the product across", keeps_the_axes, _DIFFER),
    ),
    _into,
)
_STANDS_WHERE_READ = (
    Row(16, "it is known where the value is read", lambda p: p.access.order is not Order.ANYHOW, _DIFFER),
    Row(17, "rows move nothing", moves_nothing_in_rows, _DIFFER),
    Row(18, "pieces end where the reader can be cut", is_cut_alike, _DIFFER),
    Row(19, "pieces are few", lambda p: p.producer.pieces * p.consumer.pieces <= MOST_PIECES, _DIFFER),
    Row(20, "computing it again is cheap", is_worth_repeating, _DIFFER),
)
PROLOGUE = Way(
    "prologue",
    (
        Row(21, "the reader has no gate", lambda p: not p.consumer.is_gate, _TWO),
        Row(22, "what is multiplied is not stored", lambda p: not p.kept, _STORED),
        Row(23, "the producer is a map", lambda p: p.producer.loops is Loops.MAP, _DIFFER),
        Row(24, "rows of bytes stay in lines", keeps_lines, _DIFFER),
        Row(25, "it moves no farther than the product copies", is_within_reach, _DIFFER),
        Row(26, "what is multiplied is only moved", moves_factors_only, _DIFFER),
        Row(50, "what is multiplied is not repeated along its whole axis", has_pairs_to_multiply, _DIFFER),
        *_STANDS_WHERE_READ,
    ),
    _in_place,
    is_by_value=True,
)
POINT_BY_POINT = Way(
    "point by point",
    (
        Row(27, "the producer is a map", lambda p: p.producer.loops is Loops.MAP, _DIFFER),
        Row(28, "the reader is a map", lambda p: p.consumer.loops is Loops.MAP, _DIFFER),
        Row(29, "both are whole", are_whole, _DIFFER),
        Row(30, "an element needs one element", lambda p: p.access.order is Order.SAME, _DIFFER),
    ),
    _into,
)
IN_PLACE = Way(
    "in place",
    (
        Row(31, "the producer is a map", lambda p: p.producer.loops is Loops.MAP, _DIFFER),
        Row(32, "it is not stored", lambda p: not p.kept, _DIFFER),
        *_STANDS_WHERE_READ,
    ),
    _in_place,
)
IN_STEP = Way("in step", (Row(33, "rows of both are in step", lambda p: rows_in_step(p) > 0, _DIFFER),), _in_stages)
ONE_ROW = Way(
    "one row",
    (
        Row(34, "both are whole", are_whole, _DIFFER),
        # Loops of siblings that run one after the other have no space in common, so there is no row of it.
        Row(35, "no loops are apart", lambda p: not p.producer.is_apart and not p.consumer.is_apart, _DIFFER),
        Row(36, "both run over one space", run_over_one_space, _DIFFER),
    ),
    _in_stages,
)
IN_SEQUENCE = Way("in sequence", (), _in_sequence)
IN_STRIPS = Way(
    "in strips",
    (
        Row(42, "both have loops of one piece, on no bytes", may_run_in_strips, _DIFFER),
        Row(43, "nothing that passes is stored", lambda p: not p.kept, _STORED),
        Row(44, "neither has a gate", lambda p: not is_gate(p), _TWO),
        Row(45, "rows of both are in step", strips_in_step, _DIFFER),
        Row(46, "what passes is no operand that all rows need", passes_no_columns, _TWO),
        Row(47, "rows of what passes are short", passes_short_rows, _DIFFER),
        Row(48, "each thread has memory for columns", has_few_columns, _TWO),
    ),
    _in_strips,
)
BESIDE = Way(
    "products side by side",
    (
        Row(37, "neither has a gate", lambda p: not is_gate(p), _DIFFER),
        Row(38, "both are products", are_products, _DIFFER),
        Row(
            39,
            "both multiply one operand alike",
            lambda p: are_alike(p, p.producer.factors & p.consumer.factors),
            _DIFFER,
        ),
        Row(51, "neither may be sums of few rows", lambda p: not may_sum_rows(p), _DIFFER),
    ),
    _beside,
)
SIDE_BY_SIDE = Way(
    "loops side by side",
    (
        Row(40, "neither multiplies", are_loops, _DIFFER),
        Row(41, "both read one value", lambda p: not p.producer.reads.keys().isdisjoint(p.consumer.reads), _DIFFER),
        Row(52, "neither reads moved what the other reads in order", read_in_one_order, _DIFFER),
    ),
    _side_by_side,
)
WAYS = (
    GATE,
    EPILOGUE,
    PROLOGUE,
    POINT_BY_POINT,
    IN_PLACE,
    IN_STEP,
    ONE_ROW,
    IN_SEQUENCE,
    IN_STRIPS,
    BESIDE,
    SIDE_BY_SIDE,
)
"""All of them."""
_WAYS_OF: Mapping[tuple[Loops, Loops], tuple[Way, ...]] = {
    (Loops.PRODUCT, Loops.PRODUCT): (GATE, IN_STRIPS),
    (Loops.PRODUCT, Loops.ROWS): (EPILOGUE, IN_STRIPS),
    (Loops.PRODUCT, Loops.STRIPS): (IN_STRIPS,),
    (Loops.ROWS, Loops.PRODUCT): (PROLOGUE, IN_STRIPS),
    (Loops.ROWS, Loops.ROWS): (POINT_BY_POINT, IN_PLACE, IN_STEP, ONE_ROW, IN_SEQUENCE),
    (Loops.ROWS, Loops.STRIPS): (PROLOGUE, IN_STRIPS),
    (Loops.STRIPS, Loops.PRODUCT): (IN_STRIPS,),
    (Loops.STRIPS, Loops.ROWS): (IN_STRIPS,),
    (Loops.STRIPS, Loops.STRIPS): (IN_STRIPS,),
}
"""Those of a producer and a consumer, by what they are (`_part`)."""
_SIBLINGS = (BESIDE, SIDE_BY_SIDE)
"""Those of kernels that do not depend on each other."""


def refused(way: Way, pair: Pair) -> Row | None:
    """The first row of a way that does not hold."""
    for each in pair.singles() if way.is_by_value else (pair,):
        for row in way.rows:
            if not row.holds(each):
                return row
    return None


def join(
    producer: Form,
    consumer: Form,
    kept: frozenset[int],
    values: Sequence[Passed],
    places: Callable[[int], int],
) -> Join | Reason:
    """A producer and one that reads it as one kernel, or why they are none.

    Args:
        producer: It stores something that `consumer` reads.
        consumer: It stores nothing that `producer` reads.
        kept: Those of the producer's values that the kernel has to store.
        values: What is known of each value, by its number.
        places: In how many places the consumer reads a value.
    """
    reads = consumer.reads
    through = tuple([value for value in producer.gives if value in reads])
    access = reads[through[0]]
    for value in through[1:]:
        access = access.with_other(reads[value])
    pair = Pair(producer, consumer, through, access, kept, values, places)
    return _first_way(_WAYS_OF[_part(producer), _part(consumer)], pair)


def _part(form: Form) -> Loops:
    """What a form is in a pair: one product or window, strips, or loops."""
    if form.loops is Loops.STRIPS:
        return form.loops
    return Loops.PRODUCT if form.loops in ANCHORS else Loops.ROWS


def siblings(one: Form, other: Form) -> Join | Reason:
    """Two kernels of which none depends on the other as one, or why they are none."""
    return _first_way(_SIBLINGS, Pair(one, other, (), OWN_ACCESS, one.gives, (), _nowhere))


def _nowhere(value: int) -> int:
    """In how many places a sibling reads a value of the other: none."""
    return 0


def _first_way(ways: Sequence[Way], pair: Pair) -> Join | Reason:
    """The join of the first way whose rows all hold, or the reason of the first way."""
    if not KNOWN.holds(pair):
        return KNOWN.reason
    first: Reason | None = None
    for way in ways:
        row = refused(way, pair)
        if row is None:
            return way.joined(pair)
        first = first or row.reason
    assert first is not None, "there is a way to try for any two forms"
    return first
