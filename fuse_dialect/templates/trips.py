"""What a trip may take in: the law that every way to make trips obeys.

A trip grows by one operator at a time. It may when all of this holds:

1. a unit that can run the operator is free and lies ahead of the data (`templates.matcher`);
2. the operator reads the trip's *head*, the value that its last operator gave, and no value that the data has passed;
3. it does not broadcast that value: what streams by has the shape of the result; and it takes it as the operand that
   its mapping lets stream;
4. a value that others read, too, comes from a unit that can write to memory;
5. the limits of the template hold for the larger trip.

A trip that ends must have used the units that the template requires. That no trip waits for itself is for whoever makes
several of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from fuse_dialect.diagnostics import Reason
from fuse_dialect.templates.graph import VIEWS, HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.matcher import START, UnitMatcher, UnitState
from fuse_dialect.templates.regions import Excess, Held, exceeded, limits_bytes
from fuse_dialect.templates.template import HardwareTemplate
from fuse_dialect.templates.tiles import Strip, least_rows


@dataclass(frozen=True, slots=True)
class HardwareRefusal:
    """Why an operator did not join a trip."""

    reason: Reason
    message: str

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.message}"


class TripState(NamedTuple):
    """A trip as far as it has come."""

    units: tuple[UnitState, ...] = START
    """Where its data may be."""
    head: int = -1
    """The node whose value streams; -1 before the first."""
    reads: frozenset[int] = frozenset()
    """Values that it reads from memory, constants included."""
    forgotten: int = 0
    """How many more it reads that nothing else will ask for."""
    results: int = 0
    """Values behind which the data has gone on and that others read, so that they are written."""
    products: int = 0
    held: Held = Held()
    """Bytes that it holds, those of the head not counted. Where no region asks for more, all features are between
    units; the largest value counts where trips may be cut into tiles."""
    strip: Strip | None = None
    """What a tile of it holds; `None` if it cannot be cut, or need not be."""


Inside: TypeAlias = Callable[[int], int | None]
"""For a value the node of the trip that it is a view of, or that gives it; `None` for a value from outside."""


class TripLaw:
    """The law for one graph on one template."""

    def __init__(self, graph: HardwareGraph, template: HardwareTemplate, *, counts_cycles: bool = False):
        """Prepare; with `counts_cycles` states know how long units work."""
        self.graph = graph
        self.limits = template.limits
        self.matcher = UnitMatcher(template)
        self.counts_cycles = counts_cycles
        self.stores = bool(template.storing)
        """Whether only some units write to memory."""
        self.template = template
        self.has_regions = any(region.bytes and not region.streams for region in template.regions)
        """Whether regions are a limit, so that what is written counts apart."""
        self.counts_bytes = bool(self.limits.trip_bytes or self.limits.feature_bytes or self.limits.constant_bytes)
        self.counts_bytes |= self.has_regions
        self.tiles = bool(graph.rows) and limits_bytes(template)
        """Whether a trip that does not fit may be cut into tiles of rows."""
        self.counts_bytes |= self.tiles
        self.counts_reads = bool(self.limits.operands) or self.counts_bytes
        """Whether states know what a trip has read: what no limit asks about is left out, so that more are equal."""
        self.readers: list[list[int]] = [[] for _ in graph.producers]
        """For each value the nodes that read it."""
        self.gives: list[list[int]] = [[] for _ in graph.nodes]
        """For each node its values."""
        for number, node in enumerate(graph.nodes):
            for value in dict.fromkeys(node.reads):
                self.readers[value].append(number)
        for value, producer in enumerate(graph.producers):
            self.gives[producer].append(value)

    def start(self, number: int) -> TripState | HardwareRefusal:
        """A trip of one operator, or why it is beyond the limits on its own."""
        return self._limited(TripState(), number, lambda value: None)

    def extend(self, state: TripState, number: int, inside: Inside) -> TripState | HardwareRefusal:
        """The trip with one more operator, or why it cannot have it."""
        node = self.graph.nodes[number]
        # (4) what stays behind is written where it is
        if self.stores and self.leaves_behind(state.head, number, inside):
            storing = self.matcher.storing(state.units)
            if not storing:
                unit = self.matcher.units[state.units[0].last or 0].name
                head = self.graph.nodes[state.head].label
                what = f"{head} is read elsewhere, too, but unit '{unit}' does not write to memory"
                return HardwareRefusal(Reason.HARDWARE_LIMIT, what)
            state = state._replace(units=storing)
        # (1) a free unit ahead of the data
        if not self.matcher.step(state.units, node.kinds):
            return HardwareRefusal(*self.matcher.refusal(state.units, node.kinds))
        for value in node.reads:
            carried = inside(value)
            if carried is None:
                continue
            # (2) a view of the head is the head
            label = self.graph.nodes[self.graph.producers[value]].label
            if carried != state.head:
                head = self.graph.nodes[state.head].label
                return HardwareRefusal(Reason.STREAM_PASSED, f"reads {label}, but the data has gone on to {head}")
            # (3) the shape of the stream is that of the result, and its operand one that streams
            if node.streams is not None and value not in node.streams:
                what = f"{label} would stream by as an operand that comes from memory"
                return HardwareRefusal(Reason.HARDWARE_LIMIT, what)
            if value in node.widened:
                return HardwareRefusal(Reason.HARDWARE_LIMIT, f"{label} would be broadcast while it streams by")
        return self._limited(state, number, inside)

    def with_view(self, state: TripState, number: int, inside: Inside) -> TripState | HardwareRefusal:
        """The trip with a view of one of its values."""
        node = self.graph.nodes[number]
        if not self.counts_reads:
            return state
        reads = state.reads.union(value for value in node.reads if inside(value) is None)
        refusal = self._operands(len(reads) + state.forgotten)
        why = self._uncut_view(node) if self.tiles else ""
        beyond = self._beyond_whole(state) if refusal is None and why else None
        if beyond is not None:
            refusal = _uncut(beyond, node, why)
        return refusal or state._replace(reads=reads, strip=None if why else state.strip)

    def _uncut_view(self, node: HardwareNode) -> str:
        """Why a trip with a view cannot be cut into tiles; empty if it can.

        In a tile the view stands between two operators of a chain, so nobody else may read what it is made of.
        """
        if node.window is None or not node.window.is_same:
            return node.uncut or "it is none of an image"
        value = node.reads[0]
        if self.graph.escapes[value] or len(self.readers[value]) > 1:
            return f"{self.graph.nodes[self.graph.producers[value]].label} is read elsewhere, too"
        return ""

    def must_tile(self, state: TripState) -> bool:
        """Whether a trip is beyond the limits unless it is cut into tiles."""
        return self._beyond_whole(state) is not None

    def _beyond_whole(self, state: TripState) -> Excess | None:
        return exceeded(self.template, self._ending(state.held, self._size(self.gives[state.head])))

    def _ending(self, held: Held, last: int) -> Held:
        """What a trip holds that ends with a value of so many bytes."""
        return held._replace(outputs=held.outputs + last)

    def _limited(self, state: TripState, number: int, inside: Inside) -> TripState | HardwareRefusal:
        """(5) The larger trip, or the limit that it exceeds."""
        node, limits = self.graph.nodes[number], self.limits
        if limits.channel_alignment and (node.channels is None or node.channels % limits.channel_alignment):
            got = "an unknown number" if node.channels is None else node.channels
            text = f"expects channels in multiples of {limits.channel_alignment}, got {got}"
            return HardwareRefusal(Reason.HARDWARE_LIMIT, text)
        outside = dict.fromkeys(value for value in node.reads if inside(value) is None)
        reads = state.reads.union(outside) if self.counts_reads else state.reads
        products = state.products + (node.channels != 0) if limits.products else 0
        results = state.results
        if limits.results and state.head >= 0:
            results += self.leaves_behind(state.head, number, inside)
        refusal = self._operands(len(reads) + state.forgotten) or self._between(state, node, inside)
        if refusal is None and limits.products and products > limits.products:
            refusal = _beyond("the trip would hold", products, "products", limits.products)
        if refusal is None and limits.results and results + 1 > limits.results:
            refusal = _beyond("the trip would write", results + 1, "values", limits.results)
        if refusal is not None:
            return refusal
        held, strip = state.held, ""
        if self.counts_bytes:
            added = self._bytes(state, node, [value for value in outside if value not in state.reads], number, inside)
            if isinstance(added, HardwareRefusal):
                return added
            held = added
            if self.tiles:
                strip = self._strip(state, number, inside)
            refusal = self._beyond_bytes(held, strip, number)
            if refusal is not None:
                return refusal
        units = self.matcher.step(state.units, *self.work_of(number))
        if not units:
            return HardwareRefusal(*self.matcher.refusal(state.units, node.kinds))
        known = None if isinstance(strip, str) else strip
        return TripState(units, number, reads, state.forgotten, results, products, held, known)

    def _operands(self, count: int) -> HardwareRefusal | None:
        if self.limits.operands and count > self.limits.operands:
            return _beyond("the group would read", count, "values", self.limits.operands)
        return None

    def _between(self, state: TripState, node: HardwareNode, inside: Inside) -> HardwareRefusal | None:
        if not self.limits.buffer_bytes or state.head < 0 or node.role in VIEWS or self.tiles:
            return None
        for value in node.reads:
            size = self.graph.value_bytes[value]
            if inside(value) is not None and (size is None or size > self.limits.buffer_bytes):
                got = "of unknown size" if size is None else f"of {size} bytes"
                text = f"a value {got} would pass between units, the limit is {self.limits.buffer_bytes} bytes"
                return HardwareRefusal(Reason.HARDWARE_LIMIT, text)
        return None

    def skipped(self, state: TripState) -> HardwareRefusal | None:
        """Why a trip may not end here."""
        unit = self.matcher.skipped(state.units) if self.matcher.requires else ""
        return HardwareRefusal(Reason.HARDWARE_LIMIT, f"every trip must use unit '{unit}'") if unit else None

    def leaves_behind(self, head: int, number: int, inside: Inside) -> int:
        """How many values of the head, and of views of it, others than the next operator read, now that it goes on.

        A view that is not in the trip yet counts as another: what it gives may be read anywhere.
        """
        pending, count = [head], 0
        while pending:
            for value in self.gives[pending.pop()]:
                others = [each for each in self.readers[value] if each != number]
                views = [
                    each
                    for each in others
                    if self.graph.nodes[each].role in VIEWS and any(inside(given) == head for given in self.gives[each])
                ]
                count += self.graph.escapes[value] or len(views) < len(others)
                pending.extend(views)
        return count

    def _bytes(
        self, state: TripState, node: HardwareNode, added: Iterable[int], number: int, inside: Inside
    ) -> Held | HardwareRefusal:
        """What the larger trip holds, its last value not counted."""
        nodes, sizes = self.graph.nodes, self.graph.value_bytes
        inputs, weights, outputs, between, widest = state.held
        head = self._size(self.gives[state.head]) if state.head >= 0 else 0
        if self.has_regions and head and self.leaves_behind(state.head, number, inside):
            outputs += head
        else:
            between += head
        for value in added:
            size = sizes[value]
            if size is None:
                return HardwareRefusal(Reason.HARDWARE_LIMIT, "the trip would read a value of unknown size")
            if nodes[self.graph.producers[value]].role is HardwareRole.CONSTANT:
                weights += size
            elif self.has_regions:
                inputs += size
            else:
                between += size
        if any(sizes[value] is None for value in self.gives[number]):
            return HardwareRefusal(Reason.HARDWARE_LIMIT, "the trip would write a value of unknown size")
        if self.tiles:
            widest = max([widest, *(self._size([value]) for value in node.reads if inside(value) is not None)])
        return Held(inputs, weights, outputs, between, widest)

    def _beyond_bytes(self, held: Held, strip: Strip | str, number: int) -> HardwareRefusal | None:
        """Why neither the trip nor a tile of one row of it fits; `held` is without its last value."""
        limits = self.limits
        if limits.constant_bytes and held.weights > limits.constant_bytes:
            return _beyond("the trip would hold", held.weights, "bytes of constants", limits.constant_bytes)
        values = self.gives[number]
        whole = exceeded(self.template, self._ending(held, self._size(values)))
        if whole is None:
            return None
        if not self.tiles:
            return HardwareRefusal(Reason.HARDWARE_LIMIT, whole.said("the trip"))
        if isinstance(strip, str):
            return _uncut(whole, self.graph.nodes[number], strip)
        rows = least_rows(self.graph.rows[values[0]])
        tile = exceeded(self.template, strip.held(rows, held.weights, self._row(values[0])))
        if tile is None:
            return None
        height = "one row" if rows == 1 else f"{rows} rows"
        return HardwareRefusal(Reason.HARDWARE_LIMIT, tile.said(f"a tile of {height}"))

    def _row(self, value: int) -> int:
        return (self.graph.value_bytes[value] or 0) // self.graph.rows[value]

    def _strip(self, state: TripState, number: int, inside: Inside) -> Strip | str:
        """What a tile of the larger trip holds, or why it cannot be cut.

        A value from outside counts each time that an operator reads it, as other rows of it are read.
        """
        node, head = self.graph.nodes[number], state.head
        if node.window is None:
            return node.uncut or "it reads no rows"
        if head >= 0 and state.strip is None:
            return "what comes before it in the trip cannot"
        if head >= 0 and self.leaves_behind(head, number, inside):
            return f"{self.graph.nodes[head].label} is read elsewhere, too"
        row = sliced = whole = 0
        for value in dict.fromkeys(node.reads):
            is_sliced = any(node.reads[place] == value for place in node.window.sliced)
            if inside(value) is not None:
                if not is_sliced:
                    return "it reads all rows of what streams by"
                row = self._row(value)
            elif self.graph.nodes[self.graph.producers[value]].role is HardwareRole.CONSTANT:
                if is_sliced:
                    return "it reads rows of a constant"
            elif is_sliced:
                sliced += self._row(value)
            else:
                whole += self._size([value])
        return (state.strip or Strip()).behind(node.window, row, sliced, whole)

    def work_of(self, number: int) -> tuple[tuple[str, ...], int, int]:
        """Kinds, operations and bytes of the result of an operator, the latter where cycles count."""
        node = self.graph.nodes[number]
        return (
            (node.kinds, node.operations, self._size(self.gives[number])) if self.counts_cycles else (node.kinds, 0, 0)
        )

    def _size(self, values: Sequence[int]) -> int:
        return sum(self.graph.value_bytes[value] or 0 for value in values)


def _beyond(doing: str, count: int, what: str, most: int) -> HardwareRefusal:
    return HardwareRefusal(Reason.HARDWARE_LIMIT, f"{doing} {count} {what}, the limit is {most}")


def _uncut(beyond: Excess, node: HardwareNode, why: str) -> HardwareRefusal:
    text = f"{beyond.said('the trip')}, and {node.label} cannot be cut into tiles of rows: {why}"
    return HardwareRefusal(Reason.HARDWARE_LIMIT, text)
