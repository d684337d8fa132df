"""Kernels in the making: what they read and store, what their loops are, and what they take by the cost model.

What a kernel may be follows from what loops can be. A producer joins a consumer if one of these holds:

1. *in place*: the consumer is a map or rows, and reads the producer, a map, once an element, or the producer is cheap;
   its body stands where it is read;
2. *in step*: both share rows, and the consumer reads in each row what the producer wrote in that row;
3. *epilogue*: the producer is a product or windows, and the consumer is a map that reads it in the same order; or, as a
   *gate*, the consumer is a product of the same size that multiplies one of the same operands, and its epilogue does;
4. *prologue*: the consumer is a product whose operand the producer moves: a transpose, a slice; or a product or windows
   with an epilogue that reads the producer, a map, as in (1);
5. *in sequence*: both are maps or rows, and so small that one thread may run the loops one after the other.

Two kernels that do not depend on each other, *siblings*, join if they read a value in common and both are products, or
none is. Maps and rows run in step if they have rows of the same sizes; else one after the other, in one call.

The seconds of a kernel are those of its call, and the greater of those of its arithmetic and of moving what it reads
and stores, and what passes between its stages: that moves at the speed of the level where a row lies. A kernel that
only reshapes takes no time: it is a view.

Source: the roofline model, https://doi.org/10.1145/1498765.1498785.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuse_dialect.counts import Count, Size, product
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.value_graph import NodeRole, ValueGraph
from fuse_dialect.kernels.forms import UNKNOWN_ACCESS, Access, LoopForm, Loops, Order
from fuse_dialect.kernels.law import CHEAP, MOST_GATED, MOST_PIECES, MOST_REPEATED
from fuse_dialect.machines.machine import Machine

SMALL = 2e-6
"""Seconds in which small loops run (5): less than it takes threads to meet."""
ANCHORS = (Loops.PRODUCT, Loops.WINDOWS)
"""Loops of which a kernel has one, with maps around it; only products stand side by side."""
_SCALAR_BYTES = 8


@dataclass(eq=False, slots=True)
class Draft:
    """A kernel in the making. Times are in seconds."""

    members: set[int]
    """Nodes; scalar constants and views are left out."""
    loops: Loops
    space: tuple[Size, ...]
    rows: int
    """Leading axes of `space` that all stages share."""
    reads: dict[int, Access]
    """Values from outside, and how they are read."""
    reading: dict[int, float]
    """What reading each of them takes."""
    outputs: set[int]
    """Values that it stores."""
    storing: float
    work: float
    """Of arithmetic outside of products."""
    products: float
    """Of arithmetic in products."""
    between: float = 0.0
    """Of moving what passes between stages."""
    dearest: int = 0
    """Additions for one element of a result."""
    is_view: bool = False
    pieces: int = 1
    """In how many pieces its result is written, see `LoopForm`."""
    siblings: int = 1
    """How many products stand side by side."""
    is_gate: bool = False
    """Whether one of its products ends with what another one gives (3)."""
    factors: frozenset[int] = frozenset()
    """Values that a product in it multiplies."""
    columns: frozenset[int] = frozenset()
    """Those of them that it copies before."""
    is_of_bytes: bool = False
    """Whether a product in it multiplies bytes."""
    escapes: bool = False
    """Whether something outside the graph sees what it stores."""
    may_repeat: bool = False
    """Whether all of it may be computed again."""
    has_copies: bool = False
    """Whether some of its nodes are in other kernels, too."""
    moving: float = 0.0
    """Of reading and storing."""
    apart: float = 0.0
    """Of loops that run before the others, or after them."""
    seconds: float = 0.0
    """Of all."""


class Join(NamedTuple):
    """How two drafts become one: a producer and a consumer, or siblings."""

    kept: frozenset[int]
    """Outputs of the first one that are stored."""
    loops: Loops
    access: Access
    """That of the second one to what the first one gives."""
    space: tuple[Size, ...]
    rows: int
    is_in_place: bool = False
    are_siblings: bool = False


class Times(NamedTuple):
    """What a kernel takes, in seconds."""

    call: float
    moving: float
    work: float
    """All arithmetic."""
    between: float
    apart: float = 0.0

    def total(self) -> float:
        """Moving and arithmetic go on at the same time."""
        call, moving, work, between, apart = self
        moving += between
        return call + (work if work >= moving else moving) + apart


_OWN = Access(Order.SAME, 1 << 30, 1.0)
"""The access of a kernel to what it reads itself."""


class Costs:
    """Drafts of kernels of a graph on a machine."""

    def __init__(self, graph: ValueGraph, machine: Machine, forms: Sequence[LoopForm | None], open_size: int = 64):
        """Costs of kernels of a graph.

        Args:
            graph: The graph.
            machine: What they run on, with rates.
            forms: Of each operator how its loops look from outside.
            open_size: What a size that is not known is taken for.
        """
        assert machine.rates is not None, "machines.description.with_rates gives a machine its rates"
        self.graph, self.machine, self.rates, self.open_size = graph, machine, machine.rates, open_size
        self.forms = forms
        self._numbers: dict[int, tuple[Count, float]] = {}
        self._moving: dict[tuple[float, float], float] = {}
        self._bytes = [self.number(value.bytes) for value in graph.facts.values]
        self._storing = [self.moving(bytes, bytes) for bytes in self._bytes]

    def number(self, count: Count | None) -> float:
        """A count as a number; 0 if it is not known."""
        if count is None:
            return 0.0
        known = self._numbers.get(id(count))
        if known is None:
            # The count is kept along: another one must not get its identity.
            known = self._numbers[id(count)] = count, self._number(count)
        return known[1]

    def _number(self, count: Count) -> float:
        if count.number is not None:
            return float(count.number)
        symbols = {symbol for names, _ in count.terms for symbol in names}
        return float(count.at(dict.fromkeys(symbols, self.open_size)) or 0)

    def moving(self, bytes: float, resident: float) -> float:
        """See `Machine.moving`; a program has few sizes."""
        known = self._moving.get((bytes, resident))
        if known is None:
            known = self._moving[bytes, resident] = self.machine.moving(bytes, resident)
        return known

    def bytes_of(self, value: int) -> float:
        """Bytes of a value."""
        return self._bytes[value]

    def draft(self, node: int, form: LoopForm, outputs: set[int]) -> Draft:
        """The kernel of one node.

        Args:
            node: An operator.
            form: Its loops.
            outputs: The values that it stores.
        """
        facts, roles, bytes_of = self.graph.facts, self.graph.roles, self._bytes
        values = facts.values
        reads: dict[int, Access] = {}
        reading: dict[int, float] = {}
        accesses = form.reads or (UNKNOWN_ACCESS,) * len(facts.reads[node])
        for value, touched, access in zip(facts.reads[node], facts.touched[node], accesses, strict=True):
            bytes = bytes_of[value]
            if bytes <= _SCALAR_BYTES and roles[values[value].producer] is NodeRole.CONSTANT:
                continue  # a scalar constant stands in the kernel itself
            reads[value] = access.with_other(reads[value]) if value in reads else access
            seconds = self.moving(self.number(touched), bytes)
            reading[value] = max(seconds, reading[value]) if value in reading else seconds
        is_product = form.loops in ANCHORS
        flops = self.number(facts.flops[node])
        storing = sum([self._storing[value] for value in outputs])
        work = 0.0 if is_product else (flops if form.work is None else self.number(form.work)) / self.rates.vectors
        products = flops / self.rates.products if is_product else 0.0
        times = Times(self.rates.call, sum(reading.values()) + storing, work + products, 0.0)
        return Draft(
            {node},
            form.loops,
            form.space,
            form.rows,
            reads,
            reading,
            set(outputs),
            storing,
            work,
            products,
            dearest=form.dearest,
            is_view=form.is_view,
            pieces=form.pieces,
            factors=frozenset(reads) if is_product else frozenset(),
            columns=frozenset([facts.reads[node][place] for place in form.columns]) if form.columns else form.columns,
            is_of_bytes=form.is_of_bytes,
            escapes=any(values[value].escapes for value in outputs),
            may_repeat=facts.may_repeat[node],
            moving=times.moving,
            seconds=0.0 if form.is_view else times.total(),
        )

    def seconds_joined(self, first: Draft, second: Draft, join: Join) -> float:
        """What the kernel of both would take."""
        return 0.0 if first.is_view and second.is_view else self._times(first, second, join).total()

    def arrays_joined(self, first: Draft, second: Draft, join: Join) -> int:
        """How many values the kernel of both would read and store."""
        reads = second.reads
        inside = 0 if join.are_siblings else len(first.outputs & reads.keys())
        return len(reads) - inside + len(first.reads.keys() - reads.keys()) + len(second.outputs) + len(join.kept)

    def fused(self, producer: Draft, consumer: Draft, kept: Iterable[int]) -> Join | Reason:
        """A producer and one that reads it as one kernel, or why they are none.

        Args:
            producer: It stores something that `consumer` reads.
            consumer: It stores nothing that `producer` reads.
            kept: Those of the producer's outputs that the kernel has to store.
        """
        if producer.loops is Loops.UNKNOWN or consumer.loops is Loops.UNKNOWN:
            return Reason.UNKNOWN_LOOPS
        stored = frozenset(kept)
        reads = consumer.reads
        through = [value for value in producer.outputs if value in reads]
        access = reads[through[0]]
        if len(through) > 1:
            for value in through:
                access = access.with_other(reads[value])
        if producer.loops in ANCHORS:
            return self._with_epilogue(producer, consumer, stored, access)
        if consumer.loops in ANCHORS:
            return self._with_prologue(producer, consumer, stored, through)
        return self._in_rows(producer, consumer, stored, through, access)

    def siblings(self, one: Draft, other: Draft) -> Join | Reason:
        """Two kernels of which none depends on the other as one, or why they are none."""
        if one.loops is Loops.UNKNOWN or other.loops is Loops.UNKNOWN:
            return Reason.UNKNOWN_LOOPS
        shared = [value for value in one.reads if value in other.reads]
        kept = frozenset(one.outputs)
        if one.is_gate or other.is_gate:
            return Reason.LOOPS_DIFFER
        if one.loops is Loops.PRODUCT and other.loops is Loops.PRODUCT:
            for value in shared:
                if value in one.factors and value in other.factors and _is_alike(one.reads[value], other.reads[value]):
                    return Join(kept, Loops.PRODUCT, _OWN, one.space, 0, are_siblings=True)
            return Reason.LOOPS_DIFFER
        if one.loops in ANCHORS or other.loops in ANCHORS or not shared:
            return Reason.LOOPS_DIFFER
        # Neither reads the other, so any rows of the same sizes are in step. Without such rows the loops run one after
        # the other, and nothing is saved but a call.
        rows = _common(one, other) if one.pieces == other.pieces == 1 else 0
        is_map = one.loops is Loops.MAP and other.loops is Loops.MAP and one.space == other.space
        loops = Loops.MAP if is_map and rows and rows == len(one.space) else Loops.ROWS
        return Join(kept, loops, _OWN, max(one.space, other.space, key=len), rows, are_siblings=True)

    def joined(self, first: Draft, second: Draft, join: Join) -> Draft:
        """The kernel of both."""
        values, times = self.graph.facts.values, self._times(first, second, join)
        reads = {value: access for value, access in second.reads.items() if values[value].producer not in first.members}
        reading = {value: second.reading[value] for value in reads}
        is_inlined = join.is_in_place or (join.loops is Loops.MAP and not join.are_siblings)
        for value, inner in first.reads.items():
            # What stands where it is read reads what it needs there; a stage of its own reads as it always does.
            own = join.access.then(inner) if is_inlined else inner.within(join.rows)
            if value in reads:
                reads[value] = own.with_other(reads[value])
                reading[value] = max(first.reading[value], reading[value])
            else:
                reads[value] = own
                reading[value] = first.reading[value]
        products = first.products + second.products
        is_row_step = join.loops is Loops.ROWS and not join.is_in_place
        is_beside = join.are_siblings and join.loops is Loops.PRODUCT
        siblings = first.siblings + second.siblings if is_beside else max(first.siblings, second.siblings)
        is_gate = first.loops in ANCHORS and second.loops in ANCHORS and not join.are_siblings
        outputs, is_view = {*join.kept, *second.outputs}, first.is_view and second.is_view
        return Draft(
            first.members | second.members,
            join.loops,
            join.space,
            join.rows,
            reads,
            reading,
            outputs,
            sum([self._storing[value] for value in outputs]),
            times.work - products,
            products,
            times.between,
            second.dearest + (first.dearest if join.loops is Loops.MAP else 0),
            is_view,
            # In a row, pieces are stages like others.
            1 if is_row_step else first.pieces * second.pieces,
            siblings,
            is_gate,
            _passed_on(first, second, first.factors, second.factors, reads),
            _passed_on(first, second, first.columns, second.columns, reads),
            first.is_of_bytes or second.is_of_bytes,
            second.escapes or (bool(join.kept) and any(values[value].escapes for value in join.kept)),
            first.may_repeat and second.may_repeat,
            first.has_copies or second.has_copies,
            times.moving,
            times.apart,
            0.0 if is_view else times.total(),
        )

    def _times(self, first: Draft, second: Draft, join: Join) -> Times:
        if join.are_siblings and not join.rows and join.loops is Loops.ROWS:
            # Each has its own loops: what both read is read twice, and what one computes does not hide what one moves.
            own = max(first.work + first.products, first.moving + first.between) + first.apart
            work = second.work + second.products
            return Times(self.rates.call, second.moving, work, second.between, own + second.apart)
        reading, between = second.reading, first.between + second.between
        moving = first.moving - first.storing + second.moving
        if join.kept:
            moving += sum([self._storing[value] for value in join.kept])
        if not join.are_siblings:
            passing = 0.0
            for value in first.outputs:
                if value in reading:
                    passing += reading[value]
            moving -= passing
            is_stored = join.loops is Loops.ROWS and not join.is_in_place and join.access.order is not Order.SAME
            if is_stored or (first.products and second.products):
                between += self._between([value for value in first.outputs if value in reading], join)
        for value, seconds in first.reading.items():
            # What both read is read once, unless one goes through it in another order.
            if value in reading and (not join.are_siblings or first.reads[value].order == second.reads[value].order):
                other = reading[value]
                moving -= seconds if seconds <= other else other
        work = first.work
        if work and join.is_in_place and join.access.repeats > 1:
            # What stands in the place where it is read runs as often as it is read.
            work *= join.access.repeats
        work = work + second.work + first.products + second.products
        if first.has_copies and second.has_copies:
            work -= sum(self._work_of(node) for node in first.members & second.members)
        return Times(self.rates.call, moving, work, between, first.apart + second.apart)

    def _between(self, values: Iterable[int], join: Join) -> float:
        """Seconds of storing values row by row and reading them again."""
        rows = max(1.0, self.number(product(join.space[: join.rows])))
        return sum(2 * self.machine.moving(self._bytes[value], self._bytes[value] / rows) for value in values)

    def _with_epilogue(self, producer: Draft, consumer: Draft, kept: frozenset[int], access: Access) -> Join | Reason:
        """The join of (3)."""
        if producer.is_gate:
            return Reason.TWO_PRODUCTS
        if consumer.loops in ANCHORS:
            is_gate = not kept and self._is_gate(producer, consumer, access)
            return Join(kept, Loops.PRODUCT, access, consumer.space, 0) if is_gate else Reason.TWO_PRODUCTS
        if kept or producer.siblings > 1 or len(consumer.outputs) > 1 or len(producer.outputs) > 1:
            return Reason.PRODUCT_IS_STORED
        is_plain = consumer.loops is Loops.MAP and consumer.pieces == 1 and access.order is Order.SAME
        others = (other.order for value, other in consumer.reads.items() if value not in producer.outputs)
        if not is_plain or any(order > Order.BROADCAST for order in others):
            return Reason.LOOPS_DIFFER
        return Join(kept, producer.loops, access, consumer.space, consumer.rows)

    def _is_gate(self, producer: Draft, consumer: Draft, access: Access) -> bool:
        """Whether two products of one size may be one kernel, the first of which the epilogue of the second reads."""
        values = self.graph.facts.values
        if producer.loops is not Loops.PRODUCT or consumer.loops is not Loops.PRODUCT or consumer.is_gate:
            return False
        if any(len(each.outputs) != 1 or each.siblings > 1 for each in (producer, consumer)):
            return False
        (given,), (stored,) = producer.outputs, consumer.outputs
        bytes = values[given].bytes
        if bytes is None or bytes.number is None or bytes.number > MOST_GATED:
            return False
        if given in consumer.factors or access.order is not Order.SAME or values[given].shape != values[stored].shape:
            return False
        # As many products of an element in both: that of a shared operand and the result follows from their sizes.
        shared = (producer.factors & consumer.factors) - producer.columns - consumer.columns
        return any(_is_alike(producer.reads[value], consumer.reads[value]) for value in shared)

    def _with_prologue(
        self, producer: Draft, consumer: Draft, kept: frozenset[int], through: list[int]
    ) -> Join | Reason:
        """The join of (4)."""
        if consumer.is_gate:
            return Reason.TWO_PRODUCTS
        if kept:
            return Reason.PRODUCT_IS_STORED
        if producer.loops is not Loops.MAP or producer.pieces > 1:
            return Reason.LOOPS_DIFFER
        for value in through:
            # What is multiplied may only be moved; what an epilogue reads may be computed there.
            is_factor, access = value in consumer.factors, consumer.reads[value]
            most = Order.BROADCAST
            if is_factor:
                most = Order.MOVED if value in consumer.columns else Order.LINES
                # Rows of bytes are read some neighbours at once, for which all of a sum must lie in a row.
                if consumer.is_of_bytes and value not in consumer.columns and not self._keeps_lines(producer, value):
                    return Reason.LOOPS_DIFFER
            if any(access.then(inner).order > most for inner in producer.reads.values()):
                return Reason.LOOPS_DIFFER
            if is_factor and (producer.dearest or consumer.loops is not Loops.PRODUCT):
                return Reason.LOOPS_DIFFER
            if not self._is_in_place(producer, consumer, [value], access):
                return Reason.LOOPS_DIFFER
        access = consumer.reads[through[0]]
        return Join(kept, consumer.loops, access, consumer.space, consumer.rows, is_in_place=True)

    def _keeps_lines(self, producer: Draft, value: int) -> bool:
        """Whether a producer reads lines of the length of those that it gives, and nothing is moved."""
        values = self.graph.facts.values
        return all(
            inner.order <= Order.BROADCAST and values[read].shape[-1:] == values[value].shape[-1:]
            for read, inner in producer.reads.items()
        )

    def _in_rows(
        self, producer: Draft, consumer: Draft, kept: frozenset[int], through: list[int], access: Access
    ) -> Join | Reason:
        """The join of (1), (2) or (5)."""
        is_map = producer.loops is Loops.MAP
        is_whole = producer.pieces == 1 and consumer.pieces == 1
        if is_map and consumer.loops is Loops.MAP and is_whole and access.order is Order.SAME:
            return Join(kept, Loops.MAP, access, consumer.space, consumer.rows)
        if is_map and not kept and self._is_in_place(producer, consumer, through, access):
            return Join(kept, consumer.loops, access, consumer.space, consumer.rows, is_in_place=True)
        rows = min(access.rows, _common(producer, consumer))
        # Loops of siblings that run one after the other have no space in common, so there is no row of it.
        is_one = is_whole and not producer.apart and not consumer.apart and _is_one_row(producer, consumer, access)
        is_in_step = bool(rows) or is_one
        space = max(producer.space, consumer.space, key=len)
        join = Join(kept, Loops.ROWS, access, space, rows)
        if is_in_step:
            return join
        times = self._times(producer, consumer, join)
        is_small = times.moving + times.work + times.between + times.apart <= SMALL
        return join if is_small else Reason.LOOPS_DIFFER

    def _is_in_place(self, producer: Draft, consumer: Draft, through: list[int], access: Access) -> bool:
        """Whether the body of a map may stand where it is read (1)."""
        if access.order is Order.ANYHOW:
            return False
        if consumer.loops is Loops.ROWS and any(
            access.then(inner).order is Order.MOVED for inner in producer.reads.values()
        ):
            # Maps turn a transpose in blocks; rows would read it element by element.
            return False
        if producer.pieces > 1:
            # The reader is cut along the same axis, which must be one of its own.
            is_cut_alike = access.order is Order.SAME and access.rows >= len(producer.space)
            if not is_cut_alike or consumer.loops is not Loops.MAP or len(consumer.outputs) > 1:
                return False
        if producer.pieces * consumer.pieces > MOST_PIECES:
            return False
        if not producer.dearest:
            return True
        values, members = self.graph.facts.values, consumer.members
        places = sum(reader in members for value in through for reader in values[value].readers)
        if places <= 1 and access.repeats <= 1:
            return True
        return producer.dearest <= CHEAP and producer.dearest * places <= MOST_REPEATED

    def _work_of(self, node: int) -> float:
        """Seconds of arithmetic of one node, products left out."""
        form = self.forms[node]
        if form is None or form.loops in ANCHORS:
            return 0.0
        return self.number(form.work) / self.rates.vectors


def _is_alike(one: Access, other: Access) -> bool:
    """Whether two products read an operand in the same way, however many columns each has."""
    return (one.order, one.rows) == (other.order, other.rows)


def _common(one: Draft, other: Draft) -> int:
    """Leading rows of the same sizes."""
    rows, most = 0, min(one.rows, other.rows)
    while rows < most and one.space[rows] == other.space[rows]:
        rows += 1
    return rows


def _is_one_row(one: Draft, other: Draft, access: Access) -> bool:
    """Whether all loops run over one space of which nothing is a row, as those of a softmax of one row do."""
    is_alike = one.space == other.space or not one.space or not other.space
    return is_alike and not min(one.rows, other.rows) and access.order <= Order.BROADCAST


def _passed_on(
    first: Draft, second: Draft, one: frozenset[int], other: frozenset[int], reads: Iterable[int]
) -> frozenset[int]:
    """Which of some operands of products in both are still read; in place of what a prologue gave, what it reads."""
    moved = first.reads if not first.factors and not other.isdisjoint(first.outputs) else {}
    return frozenset({*one, *other, *moved}.intersection(reads)) if one or other else one
