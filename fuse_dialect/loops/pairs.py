"""Two forms that may become one, and what holds of them: the conditions that rows of `law` name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from fuse_dialect.counts import Count, Size, product
from fuse_dialect.loops.bounds import (
    MOST_COLUMNS,
    MOST_ROW,
    common_rows,
    is_one_space,
    keeps_axes,
    may_be_gated,
    may_repeat,
    repeats_nothing,
)
from fuse_dialect.loops.forms import Access, Form, Loops, Order

LOOPS = (Loops.MAP, Loops.ROWS)
"""Loops that multiply nothing in tiles."""
STRIPPED = (Loops.PRODUCT, Loops.STRIPS)
"""Loops that run strip by strip."""


_PAIR = (-3, -2)
"""Where the space of a product has its rows and its columns, if it has both and one axis of sums."""


class Passed(Protocol):
    """What is known of a value, whoever reads it."""

    @property
    def shape(self) -> tuple[Size, ...]:
        """Its sizes."""
        ...

    @property
    def bytes(self) -> Count | None:
        """Its bytes; `None` if its elements have no known size."""
        ...


class Pair(NamedTuple):
    """A producer and one that reads it."""

    producer: Form
    consumer: Form
    through: tuple[int, ...]
    """What the consumer reads of the producer."""
    access: Access
    """How it reads all of that."""
    kept: frozenset[int]
    """Values of the producer that have to be stored."""
    values: Sequence[Passed]
    """What is known of each value, by its number."""
    places: Callable[[int], int]
    """In how many places the consumer reads a value."""

    @property
    def forms(self) -> tuple[Form, Form]:
        """Both."""
        return self.producer, self.consumer

    def singles(self) -> Iterator["Pair"]:
        """The pair for each value that passes, by itself."""
        if len(self.through) == 1:
            yield self
            return
        for value in self.through:
            yield self._replace(through=(value,), access=self.consumer.reads[value])

    def inner(self) -> Iterator[Access]:
        """The accesses to what the producer reads, where its body stands where it is read."""
        return (self.access.then(access) for access in self.producer.reads.values())


def are_alike(pair: Pair, operands: Iterable[int]) -> bool:
    """Whether both read one of some operands in the same way, however many columns each has."""
    one, other = pair.producer.reads, pair.consumer.reads
    return any((one[value].order, one[value].rows) == (other[value].order, other[value].rows) for value in operands)


def read_in_one_order(pair: Pair) -> bool:
    """Whether neither moves what the other reads in order: a transpose runs in blocks, and blocks are all of a map."""
    one, other = pair.producer.reads, pair.consumer.reads
    shared = one.keys() & other.keys()
    return all((one[value].order is Order.MOVED) == (other[value].order is Order.MOVED) for value in shared)


def gives_one_each(pair: Pair) -> bool:
    """Whether each is one product, or a kernel without any, that stores one value."""
    return all(len(form.gives) == 1 and form.siblings == 1 for form in pair.forms)


def is_small_enough(pair: Pair) -> bool:
    bytes = pair.values[pair.through[0]].bytes
    return may_be_gated(None if bytes is None else bytes.number)


def is_read_by_the_end(pair: Pair) -> bool:
    """Whether the consumer's end reads what the producer gives, at the same point."""
    given, values = pair.through[0], pair.values
    stored = next(iter(pair.consumer.gives))
    return (
        values[given].shape == values[stored].shape
        and pair.access.order is Order.SAME
        and given not in pair.consumer.factors
    )


def multiply_one_operand(pair: Pair) -> bool:
    """Whether both have as many products an element: that of a shared operand and the result follows from sizes."""
    one, other = pair.forms
    return are_alike(pair, (one.factors & other.factors) - one.columns - other.columns)


def reads_the_rest_in_order(pair: Pair) -> bool:
    rest = (access for value, access in pair.consumer.reads.items() if value not in pair.producer.gives)
    return all(access.order <= Order.BROADCAST for access in rest)


def cuts_no_columns(pair: Pair) -> bool:
    """Whether several axes of columns stay one: nothing else that the reader reads has some of them alone."""
    producer, consumer = pair.forms
    points = product(consumer.space).number
    if len(consumer.space) - producer.rows <= 1:
        return True
    rest = (access for value, access in consumer.reads.items() if value not in producer.gives)
    return all(access.order is Order.SAME or access.rows or access.repeats == points for access in rest)


def keeps_the_axes(pair: Pair) -> bool:
    return keeps_axes(pair.values[pair.through[0]].shape, pair.consumer.space)


def keeps_lines(pair: Pair) -> bool:
    """Whether rows of bytes, which are read some neighbours at once, still lie in lines that hold all of a sum."""
    consumer, values, value = pair.consumer, pair.values, pair.through[0]
    if not consumer.is_of_bytes or value not in consumer.factors or value in consumer.columns:
        return True
    return all(
        access.order <= Order.BROADCAST and values[read].shape[-1:] == values[value].shape[-1:]
        for read, access in pair.producer.reads.items()
    )


def is_within_reach(pair: Pair) -> bool:
    """Whether what is multiplied is only moved as far as a product copies, and what an end reads lies in order."""
    consumer, value = pair.consumer, pair.through[0]
    if consumer.loops is Loops.STRIPS and not has_rows_to_multiply(pair):
        return False
    most = Order.BROADCAST
    if value in consumer.factors:
        # Columns that come to lie along the sums are not copied for few rows: it would be no product any more.
        most = Order.MOVED if value in consumer.columns and not consumer.has_few_rows else Order.LINES
    return all(access.order <= most for access in pair.inner())


def has_rows_to_multiply(pair: Pair) -> bool:
    """Whether rows that are multiplied still differ, if a map is computed there: a repeated vector is one row."""
    producer, consumer = pair.producer, pair.consumer
    rows = consumer.factors.intersection(pair.through) - consumer.columns
    if not rows or producer.loops is not Loops.MAP:
        return True
    return any(access.rows >= consumer.rows or access.repeats <= 1 for access in producer.reads.values())


def has_pairs_to_multiply(pair: Pair) -> bool:
    """Whether what a product multiplies still differs along the axis that the other factor has not.

    Of one row, or of one column, that is repeated along the whole axis nothing is left but sums.
    """
    producer, consumer, (value,) = pair.producer, pair.consumer, pair.through
    if value not in consumer.factors or consumer.loops is not Loops.PRODUCT or len(consumer.space) < -_PAIR[0]:
        return True
    size = consumer.space[_PAIR[value in consumer.columns]]
    if not isinstance(size, int):
        return True
    inner = [access for access in producer.reads.values() if access.repeats]
    return any(access.rows >= len(producer.space) - 1 or access.repeats < size for access in inner)


def moves_factors_only(pair: Pair) -> bool:
    is_factor = pair.through[0] in pair.consumer.factors
    return not is_factor or (not pair.producer.dearest and pair.consumer.loops in STRIPPED)


def moves_nothing_in_rows(pair: Pair) -> bool:
    """Whether no row reads a transpose element by element, which maps do in blocks."""
    return pair.consumer.loops is not Loops.ROWS or all(access.order is not Order.MOVED for access in pair.inner())


def is_cut_alike(pair: Pair) -> bool:
    """Whether the reader can be cut where the producer's pieces end: along an axis of its own."""
    producer, consumer, access = pair.producer, pair.consumer, pair.access
    if producer.pieces == 1:
        return True
    is_alike = access.order is Order.SAME and access.rows >= len(producer.space)
    return is_alike and consumer.loops is Loops.MAP and len(consumer.gives) == 1


def is_worth_repeating(pair: Pair) -> bool:
    work = pair.producer.dearest
    if not work:
        return True
    places = sum([pair.places(value) for value in pair.through])
    return repeats_nothing(work, places, pair.access.repeats) or may_repeat(work, places)


def rows_in_step(pair: Pair) -> int:
    return min(pair.access.rows, shared_rows(pair))


def shared_rows(pair: Pair) -> int:
    one, other = pair.forms
    return common_rows(one.space[: one.rows], other.space[: other.rows])


def run_over_one_space(pair: Pair) -> bool:
    """Whether all loops run over one space of which nothing is a row, as those of a softmax of one row do."""
    one, other = pair.forms
    has_rows = one.rows and other.rows
    return not has_rows and is_one_space(one.space, other.space) and pair.access.order <= Order.BROADCAST


def are_loops(pair: Pair) -> bool:
    return pair.producer.loops in LOOPS and pair.consumer.loops in LOOPS


def are_products(pair: Pair) -> bool:
    return pair.producer.loops is Loops.PRODUCT and pair.consumer.loops is Loops.PRODUCT


def are_whole(pair: Pair) -> bool:
    return pair.producer.pieces == 1 and pair.consumer.pieces == 1


def strip_rows(pair: Pair) -> int:
    """How many axes are rows of the strips that products of both run in; 0 if none does, or theirs differ."""
    rows = {form.rows for form in pair.forms if form.loops in STRIPPED}
    return rows.pop() if len(rows) == 1 else 0


def may_run_in_strips(pair: Pair) -> bool:
    # Maps in front of one product are left to a kernel of their own: strips pay for what a row needs all of.
    if not pair.producer.reduces and pair.consumer.loops is Loops.PRODUCT:
        return False
    if any(form.finds_faults or (form.loops in STRIPPED and form.siblings > 1) for form in pair.forms):
        return False
    return all(form.loops in (*LOOPS, *STRIPPED) and form.pieces == 1 and not form.is_of_bytes for form in pair.forms)


def strips_in_step(pair: Pair) -> bool:
    return rows_in_step(pair) >= strip_rows(pair) > 0 and has_rows_to_multiply(pair)


def passes_no_columns(pair: Pair) -> bool:
    return pair.consumer.columns.isdisjoint(pair.through)


def passes_blocks(pair: Pair) -> bool:
    """Whether columns of open length pass block by block: weights to their product, scores to their softmax.

    What follows the product may be a map.
    """
    producer, consumer = pair.forms
    if consumer.splits:
        return consumer.loops is Loops.STRIPS and not producer.splits
    if producer.loops is Loops.STRIPS:
        return producer.splits and consumer.loops is Loops.MAP
    return producer.splits and consumer.loops is Loops.PRODUCT


def passes_short_rows(pair: Pair) -> bool:
    """Whether the rows of what passes are short enough for one tile of them to be in a cache; or pass in blocks."""
    if pair.producer.splits or pair.consumer.splits:
        return passes_blocks(pair)
    rows = product(pair.producer.space[: strip_rows(pair)]).number
    if not rows:
        return False
    sizes = [pair.values[value].bytes for value in pair.through]
    return all(size is not None and size.number is not None and size.number <= MOST_ROW * rows for size in sizes)


def has_few_columns(pair: Pair) -> bool:
    """Whether threads have memory for the columns of all products, or for those of a block."""
    if passes_blocks(pair):
        return True
    sizes = [pair.values[value].bytes for value in pair.producer.columns | pair.consumer.columns]
    return all(size is not None and size.number is not None and size.number <= MOST_COLUMNS for size in sizes)


def is_gate(pair: Pair) -> bool:
    return pair.producer.is_gate or pair.consumer.is_gate


def may_sum_rows(pair: Pair) -> bool:
    """Whether one is a product of open size that may be sums of few rows: tiles of no other product stand beside it."""
    return any(form.has_few_rows and any(isinstance(size, str) for size in form.space) for form in pair.forms)
