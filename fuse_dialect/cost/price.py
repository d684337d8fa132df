"""What kernels take on a machine, before there are any.

The seconds of a kernel are those of its call, and the greater of those of its arithmetic and of moving what it reads
and stores, and what passes between its stages: that moves at the speed of the level where a row lies. Steps of strips
are begun for each strip. A kernel that only reshapes takes no time: it is a view.

Source: the roofline model, https://doi.org/10.1145/1498765.1498785.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from fuse_dialect.cost.draft import Draft, Price
from fuse_dialect.counts import Count, product
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.loops.bounds import CHAINS
from fuse_dialect.loops.forms import ANCHORS, Form, Loops, OperatorForm, Order
from fuse_dialect.loops.joins import Join
from fuse_dialect.machines.machine import Machine

STRIP = 16
"""Rows of a strip, about: the least that one has."""
STEP_CALLS = 3.0
"""Calls of kernels that a step of a strip takes as long as, besides its loops: places of rows, panels and tiles are
found anew for each strip. Measured on attention of four heads to five tokens."""
SHORT_ROWS = 2.0
"""How much longer maps of bytes take in rows of fewer than four vectors than by themselves. Measured on Mamba."""


class Times(NamedTuple):
    """What a kernel takes, in seconds."""

    call: float
    moving: float
    work: float
    """All arithmetic."""
    between: float
    apart: float = 0.0

    @property
    def loops(self) -> float:
        """Without the call, and as if nothing went on at the same time."""
        return self.moving + self.work + self.between + self.apart

    def total(self) -> float:
        """Moving and arithmetic go on at the same time."""
        call, moving, work, between, apart = self
        moving += between
        return call + (work if work >= moving else moving) + apart


class Prices:
    """Prices of kernels of a graph on a machine."""

    def __init__(self, graph: ValueGraph, machine: Machine, forms: Sequence[OperatorForm | None], open_size: int = 64):
        """Prices of kernels of a graph.

        Args:
            graph: The graph.
            machine: What they run on, with rates.
            forms: Of each operator how its loops look from outside.
            open_size: What a size that is not known is taken for.
        """
        assert machine.rates is not None, "machines.description.with_rates gives a machine its rates"
        self.graph, self.machine, self.rates, self.forms, self.open_size = (
            graph,
            machine,
            machine.rates,
            forms,
            open_size,
        )
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

    def storing(self, values: Iterable[int]) -> float:
        """What storing some values takes."""
        return sum([self._storing[value] for value in values])

    def of_operator(self, node: int, form: Form, work: Count | None) -> Price:
        """The price of a kernel of one operator.

        Args:
            node: The operator.
            form: Its form, by numbers of values.
            work: See `OperatorForm`.
        """
        facts, reading = self.graph.facts, dict[int, float]()
        for value, touched in zip(facts.reads[node], facts.touched[node], strict=True):
            if value in form.reads:
                seconds = self.moving(self.number(touched), self._bytes[value])
                reading[value] = max(seconds, reading[value]) if value in reading else seconds
        is_product = form.loops in ANCHORS
        flops = self.number(facts.flops[node])
        storing = self.storing(form.gives)
        own = 0.0 if is_product else (flops if work is None else self.number(work)) / self.rates.vectors
        products = flops / (self.rates.products * form.speed) if is_product else 0.0
        times = Times(self.rates.call, sum(reading.values()) + storing, own + products, 0.0)
        return Price(reading, storing, times.moving, own, products, 0.0, 0.0, 0.0 if form.is_view else times.total())

    def joined(self, first: Draft, second: Draft, join: Join, form: Form) -> Price:
        """The price of the kernel of both, whose form is `form`."""
        times = self.times(first, second, join)
        one, other = first.price.reading, second.price.reading
        reading: dict[int, float] = {}
        for value in form.reads:
            if value not in one:
                reading[value] = other[value]
            elif value not in other or value in first.form.gives:
                reading[value] = one[value]
            else:
                reading[value] = max(one[value], other[value])
        products = self._products(first, join) + self._products(second, join)
        seconds = 0.0 if form.is_view else times.total()
        storing = self.storing(form.gives)
        return Price(
            reading, storing, times.moving, times.work - products, products, times.between, times.apart, seconds
        )

    def seconds_joined(self, first: Draft, second: Draft, join: Join) -> float:
        """What the kernel of both would take."""
        is_view = first.form.is_view and second.form.is_view
        return 0.0 if is_view else self.times(first, second, join).total()

    def times(self, first: Draft, second: Draft, join: Join) -> Times:
        """What the kernel of both would take, and of what that is the sum."""
        one, other = first.price, second.price
        if join.is_one_after_other:
            # Each has its own loops: what both read is read twice, and what one computes does not hide what one moves.
            own = max(one.work + one.products, one.moving + one.between) + one.apart
            return Times(self.rates.call, other.moving, other.work + other.products, other.between, own + other.apart)
        moving, between = self._moved(first, second, join), one.between + other.between
        if not join.are_siblings:
            is_stored = not join.is_in_place and (
                (join.loops is Loops.ROWS and join.access.order is not Order.SAME)
                or (join.loops is Loops.STRIPS and second.form.loops is not Loops.MAP)
            )
            if is_stored or (one.products and other.products):
                between += self._passing([value for value in first.form.gives if value in other.reading], join)
        apart = one.apart + other.apart
        if join.loops is Loops.STRIPS:
            apart += sum(self._packing(form) for form in (first.form, second.form) if form.loops is Loops.PRODUCT)
            # Moving and the beginning of steps go on beside products that are long enough.
            between += self._steps(first, second, join)
        work = one.work
        if work and join.is_in_place and join.access.repeats > 1:
            # What stands in the place where it is read runs as often as it is read.
            work *= join.access.repeats
        work = work * self._waiting(first, join) + other.work * self._waiting(second, join)
        work += self._products(first, join) + self._products(second, join)
        if first.has_copies and second.has_copies:
            work -= self._work_of(first.members & second.members)
        return Times(self.rates.call, moving, work, between, apart)

    def _waiting(self, draft: Draft, join: Join) -> float:
        """How much longer a map takes that becomes rows of few vectors, which wait for one instruction after the other.

        By itself it runs several such rows side by side. That counts for bytes, which are computed in many steps, and
        of which four vectors are one, and for maps with less to store than that; others wait for memory either way.
        """
        if join.loops is not Loops.ROWS or draft.form.loops is not Loops.MAP:
            return 1.0
        row, points = (product(sizes).number for sizes in (join.space[join.rows :], join.space))
        if row is None or points is None or not 1 < row < CHAINS * self.machine.lanes(4):
            return 1.0
        return SHORT_ROWS if all(self._bytes[value] <= points for value in draft.form.gives) else 1.0

    def _products(self, draft: Draft, join: Join) -> float:
        """Seconds of the products of one of two that join: strips multiply by vectors, whatever did before."""
        return draft.price.products * draft.form.speed if join.loops is Loops.STRIPS else draft.price.products

    def _moved(self, first: Draft, second: Draft, join: Join) -> float:
        """Seconds of reading and storing what the kernel of both does."""
        one, other = first.price, second.price
        reading = other.reading
        moving = one.moving - one.storing + other.moving
        if join.kept:
            moving += self.storing(join.kept)
        if not join.are_siblings:
            passing = 0.0
            for value in first.form.gives:
                if value in reading:
                    passing += reading[value]
            moving -= passing
        for value, seconds in one.reading.items():
            # What both read is read once, unless one goes through it in another order.
            if value in reading and (
                not join.are_siblings or first.form.reads[value].order == second.form.reads[value].order
            ):
                moving -= min(seconds, reading[value])
        return moving

    def _passing(self, values: Iterable[int], join: Join) -> float:
        """Seconds of storing values row by row and reading them again."""
        rows = max(1.0, self.number(product(join.space[: join.rows])))
        if join.loops is Loops.STRIPS:
            rows = max(1.0, rows / STRIP)
        return sum(2 * self.machine.moving(self._bytes[value], self._bytes[value] / rows) for value in values)

    def _steps(self, first: Draft, second: Draft, join: Join) -> float:
        """Seconds of beginning the steps that strips get; each point outside of the rows has a strip, at least.

        None where a size is open: it may as well be one for which that does not count.
        """
        if any(isinstance(size, str) for size in join.space):
            return 0.0
        steps = sum(draft.form.loops not in (Loops.MAP, Loops.STRIPS) for draft in (first, second))
        strips = max(1.0, self.number(product(join.space[: max(join.rows - 1, 0)])))
        return steps * strips * STEP_CALLS * self.rates.call

    def _packing(self, product: Form) -> float:
        """Seconds of packing constant columns of a product: strips do it in each call, a kernel of its own never."""
        facts = self.graph.facts
        constants = [
            value for value in product.columns if self.graph.roles[facts.values[value].producer] is NodeRole.CONSTANT
        ]
        return self.storing(constants)

    def _work_of(self, nodes: Collection[int]) -> float:
        """Seconds of arithmetic of some operators, products left out."""
        forms = [self.forms[node] for node in nodes]
        counts = [known.work for known in forms if known is not None and known.form.loops not in ANCHORS]
        return sum(self.number(count) / self.rates.vectors for count in counts)
