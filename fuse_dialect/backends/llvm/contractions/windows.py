"""Depthwise convolutions and pools: a few vectors of results at a time, all taps of their windows unrolled.

1. A tile is some neighbours along the tile axis. What their windows share is read once, since LLVM sees all reads.
2. A tile at a border knows its place, so its guards are decided here. Taps above or below the image are left out a row
   of taps at a time, and what they would add is added once. Where neither can be, results are computed one by one.
3. Parts share the outer axes, or the lanes.
4. A tile asks in advance for the lines that the next row of tiles will read: it comes by much later, from memory.
5. Where the plan has blocks of lanes, a part computes all its rows for one block before the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I1, VOID, Value, constant
from fuse_dialect.backends.llvm.combining import accumulator_type, combine, neutral
from fuse_dialect.backends.llvm.elements import to_memory
from fuse_dialect.backends.llvm.finishing import finished
from fuse_dialect.backends.llvm.kernel import frame_of, inner_function
from fuse_dialect.backends.llvm.memory import Reader, reader_at
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.backends.llvm.scalars import Scalars
from fuse_dialect.loops.bodies import indices_of
from fuse_dialect.loops.contraction import store_place
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.indices import axes_of
from fuse_dialect.loops.places import Place, flat_place
from fuse_dialect.loops.program import Body, Read, Reduction
from fuse_dialect.loops.window_schedule import WindowPlan, tap_count
from fuse_dialect.loops.windowing import OpenEnd, common_guards, decided, split_by


class _Windows:
    def __init__(self, request: Request, plan: WindowPlan):
        self.request, self.plan, self.f = request, plan, request.entry
        self.slots = self.f.parameters[0]
        self.frame = frame_of(request, self.f)
        self.stage = plan.windowing.stage

    def size(self, axis: int) -> Value:
        return self.frame.size(self.stage.axes[axis].size)

    def write(self) -> None:
        """One task for each point of the outer axes; for each part if there are none."""
        f, windowing = self.f, self.plan.windowing
        strips = f.i64(1) if windowing.outer else self.frame.parts
        total = strips
        for axis in windowing.outer:
            total = f.multiply(total, self.size(axis))
        low, high = self.frame.share(total)

        def rows(lanes: tuple[Value, Value] | None) -> None:
            with f.loop(low, high, hints=["unroll.disable"]) as loop:
                number, strip = self.frame.divided(loop.index, strips)
                _, point = self.frame.point_of(number, {axis: self.stage.axes[axis].size for axis in windowing.outer})
                self._row(point, lanes if lanes is not None else self._lanes_of(strip, strips))

        block, size = self.plan.lane_block, self.size(windowing.lane_axis)
        if block is None:
            rows(None)
        else:
            # (5)
            with f.loop(f.i64(0), size, block, hints=["unroll.disable"]) as loop:
                rows((loop.index, f.least(f.add(loop.index, f.i64(block)), size)))
        f.ret()

    def _lanes_of(self, strip: Value, strips: Value) -> tuple[Value, Value]:
        """The first lane of a strip, and the first behind it."""
        f, lanes = self.f, self.plan.lanes
        size = self.size(self.plan.windowing.lane_axis)
        if strips.number == 1:
            return f.i64(0), size
        # (3) Whole vectors for each part, so that no two store to one.
        vectors = f.quotient(f.add(size, f.i64(lanes - 1)), lanes)
        low = f.binary("udiv", f.multiply(vectors, strip), strips)
        high = f.binary("udiv", f.multiply(vectors, f.add(strip, f.i64(1))), strips)
        return f.multiply(low, f.i64(lanes)), f.least(f.multiply(high, f.i64(lanes)), size)

    def _row(self, point: dict[int, Value], lanes: tuple[Value, Value]) -> None:
        """All neighbours along the tile axis."""
        tiles, tile_axis = self.plan.row_tiles, self.plan.windowing.tile_axis
        if tiles is None:
            self._guarded_row(point, lanes)
            return
        f = self.f

        def row(form: _Form) -> list[Value]:
            for each in tiles:
                own = replace(form, count=each.count, start=each.first if each.is_fixed else None)
                if each.stop - each.first == each.count or tile_axis is None:
                    self._call(point, f.i64(each.first), f.i64(each.count), lanes, own)
                    continue
                with f.loop(f.i64(each.first), f.i64(each.stop), each.count, hints=["unroll.disable"]) as loop:
                    self._call(point, loop.index, f.i64(each.count), lanes, own)
            return []

        holds = self._is_inside(point)
        # Loops over taps ask for each row of them anyhow, so one function does for all rows.
        if holds.number is not None or self.plan.looped:
            row(_Form(1, in_rows=holds.number is None))
        else:
            f.either(holds, lambda: row(_Form(1)), lambda: row(_Form(1, in_rows=True)))

    def _guarded_row(self, point: dict[int, Value], lanes: tuple[Value, Value]) -> None:
        """The same with tiles where all guards hold, and the others one by one."""
        f, plan, tile_axis = self.f, self.plan, self.plan.windowing.tile_axis
        if tile_axis is None:
            size, first, stop = 1, 0, 1
        else:
            size = self.stage.axes[tile_axis].size
            first, stop = plan.whole_windows
        extent = self.frame.size(size)
        begin = f.i64(first) if isinstance(stop, int | None) else f.least(f.i64(first), extent)
        end = extent if stop is None else f.least(self._end(stop), extent)
        if isinstance(stop, OpenEnd):
            end = f.greatest(end, begin)

        def guarded(start: Value, count: Value) -> None:
            if count.number != 0:
                self._call(point, start, count, lanes, _Form(1, is_guarded=True))

        def tiles(*, in_rows: bool = False) -> list[Value]:
            guarded(f.i64(0), begin)
            # Tiles where all guards hold; what is left of them is one smaller tile if its number is known.
            count = f.subtract(end, begin)
            rest = f.add(f.subtract(count, f.remainder(count, plan.tile)), begin)
            with f.loop(begin, rest, plan.tile, hints=["unroll.disable"]) as loop:
                self._call(point, loop.index, f.i64(plan.tile), lanes, _Form(plan.tile, in_rows=in_rows))
            left = f.subtract(end, rest)
            if left.number:
                self._call(point, rest, left, lanes, _Form(left.number, in_rows=in_rows))
            elif left.number is None:
                with f.loop(rest, end, hints=["unroll.disable"]) as loop:
                    self._call(point, loop.index, f.i64(1), lanes, _Form(1, in_rows=in_rows))
            guarded(end, f.subtract(extent, end))
            return []

        if not plan.holds_along_lanes:
            guarded(f.i64(0), extent)
            return
        holds = self._is_inside(point)
        if holds.number is not None:
            tiles(in_rows=not holds.number)
        else:
            f.either(holds, tiles, lambda: tiles(in_rows=True))

    def _end(self, stop: int | OpenEnd) -> Value:
        """Where an interval ends."""
        f = self.f
        if isinstance(stop, int):
            return f.i64(stop)
        room = f.add(self.frame.size(stop.size), f.i64(stop.step - 1 - stop.reach))
        return f.quotient(f.greatest(room, f.i64(0)), stop.step)

    def _call(
        self, point: dict[int, Value], start: Value, count: Value, lanes: tuple[Value, Value], form: "_Form"
    ) -> None:
        """Call the function for a tile; a guarded one is for any number of neighbours."""
        axes, tile_axis = list(self.plan.windowing.outer), self.plan.windowing.tile_axis
        values = [point[axis] for axis in axes] + ([] if tile_axis is None else [start])
        self.f.call(_tile_function(self.request, self.plan, form), VOID, [self.slots, *values, *lanes, count])

    def _is_inside(self, point: dict[int, Value]) -> Value:
        """Whether all guards of the outer axes hold."""
        f, windowing = self.f, self.plan.windowing
        result = constant(I1, 1)
        for axis, interval in (windowing.inside or {}).items():
            if axis in windowing.outer:
                first = f.compare("sge", point[axis], f.i64(interval.first))
                both = f.binary("and", first, f.compare("slt", point[axis], self._end(interval.stop)))
                result = both if result.number is not None else f.binary("and", result, both)
        return result


@dataclass(frozen=True, slots=True)
class _Form:
    """What a function for a tile knows of it."""

    count: int
    """Neighbours."""
    start: int | None = None
    """Its first neighbour, if that is known."""
    in_rows: bool = False
    """Whether rows of taps may lie outside."""
    is_guarded: bool = False
    """Whether it computes any number of neighbours, one by one: these are few, and long to write."""

    @property
    def name(self) -> str:
        """The end of the function's name."""
        if self.is_guarded:
            return "guarded"
        return f"{self.count}{'' if self.start is None else f'_at{self.start}'}{'_rows' if self.in_rows else ''}"


def _tile_function(request: Request, plan: WindowPlan, form: _Form) -> str:
    """The name of the function that computes a tile, for some lanes; it is written at the first call."""
    name = f"{request.entry.name}_window_{form.name}"
    if not request.module.defines(name):
        windowing = plan.windowing
        axes = [*windowing.outer, *([] if windowing.tile_axis is None else [windowing.tile_axis])]
        numbers = [*(f"x{axis}" for axis in axes), "low", "high", "count"]
        f = inner_function(request, name, ["slots"], (), numbers)
        store = store_place(plan.program, windowing.stage)
        assert store is not None
        _Tile(request, plan, f, axes, form, store).write()
    return name


class _Tile:
    def __init__(
        self,
        request: Request,
        plan: WindowPlan,
        f: Function,
        axes: Sequence[int],
        form: _Form,
        store: Place,
    ):
        self.plan, self.f, self.form, self.store = plan, f, form, store
        self.count, self.guarded = form.count, form.is_guarded
        _, *rest = f.parameters
        self.frame = frame_of(request, f)
        self.point: dict[int, Value] = dict(zip(axes, rest, strict=False))
        self.low, self.high, self.neighbours = rest[-3:]
        self.windowing = windowing = plan.windowing
        self.unrolled, self.looped = plan.unrolled, plan.looped
        held: set[int] = set()
        if not form.is_guarded:
            held.add(windowing.lane_axis)
            if form.in_rows:
                # (2) A loop over each tap axis but the last, so that its rows can be left out.
                self.unrolled, self.looped = plan.unrolled[-1:], (*plan.looped, *plan.unrolled[:-1])
            else:
                held.update(windowing.outer)
            if windowing.tile_axis is not None and form.start is None:
                held.add(windowing.tile_axis)
        self.body: Body = decided(windowing.stage.body, frozenset(held), {})

    def write(self) -> None:
        f, axis = self.f, self.windowing.tile_axis
        if self.guarded and axis is not None:
            first = self.point[axis]
            with f.loop(f.i64(0), self.neighbours, hints=["unroll.disable"]) as loop:
                self.point[axis] = f.add(first, loop.index)
                self._lanes()
        else:
            self._lanes()
        f.ret()

    def _lanes(self) -> None:
        """All lanes: several vectors at once, single vectors, and the rest; only what there can be of these.

        Each is as long as all windows of the tile, and a number of channels is mostly a multiple of a vector.
        """
        f, plan = self.f, self.plan
        step = plan.lanes * plan.vectors
        steps, singles, rest = _lane_parts(plan, self.windowing.stage.axes[self.windowing.lane_axis].size)
        start = self.low
        if steps and not (rest and plan.overlaps and plan.vectors == 1):
            wide = f.subtract(self.high, f.remainder(f.subtract(self.high, self.low), step))
            with f.loop(self.low, wide, step, hints=["unroll.disable"]) as loop:
                self._vectors(loop.index, plan.vectors, None)
            start = wide
        if rest and plan.overlaps:
            last = f.subtract(self.high, f.i64(plan.lanes))
            with f.loop(start, self.high, plan.lanes, hints=["unroll.disable"]) as loop:
                self._vectors(f.least(loop.index, last), 1, None)
            return
        # Several vectors, single ones, then a mask: each result is computed once.
        if singles:
            first = start
            start = f.subtract(self.high, f.remainder(f.subtract(self.high, first), plan.lanes))
            with f.loop(first, start, plan.lanes, hints=["unroll.disable"]) as loop:
                self._vectors(loop.index, 1, None)
        if rest:
            with f.when(f.compare("slt", start, self.high)):
                self._vectors(start, 1, f.first_lanes(f.subtract(self.high, start), plan.lanes))

    def _vectors(self, first: Value, vectors: int, mask: Value | None) -> None:
        """All results of the tile for some vectors of lanes."""
        f, plan = self.f, self.plan
        type = accumulator_type(plan.reduction, plan.lanes)
        places = [(number, v) for number in range(self.count) for v in range(vectors)]
        if not self.guarded and not self.looped:
            self._prefetch(first, vectors)
        totals = [neutral(plan.reduction, plan.lanes) for _ in places]
        totals = self._looped(self.looped, dict(self.point), totals, first, places, mask)
        start = constant(type, plan.reduction.start.value)
        scalars = Scalars(f, self.frame.machine, plan.lanes, self.frame.fast_math)
        # Sums begin neutral, so that taps in any order give them; the start is combined once.
        if not _is_neutral(plan.reduction):
            totals = [combine(scalars, plan.reduction, start, total) for total in totals]
        stage = self.windowing.stage
        readers = [self._reader(self._at(self.point, number, first, v), mask) for number, v in places]
        values = finished(readers, stage.finish, totals)
        writes = [
            (to_memory(f, value), reader.address(stage.buffer, self.store))
            for value, reader in zip(values, readers, strict=True)
        ]
        for value, address in writes:
            if mask is None:
                f.store(value, address)
            else:
                f.masked_store(value, address, mask)

    def _prefetch(self, first: Value, vectors: int) -> None:
        """Fetch what the same tile one step further along the next axis reads, and this one does not."""
        f, windowing, buffers = self.f, self.windowing, self.frame.buffers
        for read in self.body:
            place = None
            if isinstance(read, Read):
                place = flat_place(read.indices, buffers[read.buffer].shape, len(windowing.stage.axes))
            if not isinstance(read, Read) or place is None or place.strides[windowing.lane_axis].number != 1:
                continue
            at = {**self.point, **{axis: f.i64(0) for axis in self.unrolled}, windowing.lane_axis: first}
            element = buffers[read.buffer].element
            start = self.frame.address(read.buffer, place, at)
            for offset in self._fresh(place):
                for v in range(vectors):
                    f.prefetch(start, f.i64((offset + v * self.plan.lanes) * element_bytes(element)))

    def _fresh(self, place: Place) -> list[int]:
        """Distances of such elements from the first that the tile reads; none if its strides are not known."""
        windowing, strides = self.windowing, [stride.number or 0 for stride in place.strides]
        step = min((strides[axis] for axis in windowing.outer if strides[axis] > 0), default=0)
        axes = [(tap_count(windowing, axis), strides[axis]) for axis in self.unrolled]
        if windowing.tile_axis is not None:
            axes.append((self.count, strides[windowing.tile_axis]))
        points = _points([size for size, _ in axes])
        # (4) Elements of this tile, by their distance from its first: what the next tile shares with them is here.
        read = {sum(at * stride for at, (_, stride) in zip(point, axes, strict=True)) for point in points}
        return sorted({offset + step for offset in read} - read) if step else []

    def _reader(self, point: dict[int, Value], mask: Value | None) -> Reader:
        axes = self.windowing.stage.axes
        return reader_at(self.frame, axes, point, self.plan.lanes, self.windowing.lane_axis, mask)

    def _at(self, point: dict[int, Value], number: int, first: Value, v: int) -> dict[int, Value]:
        f, at = self.f, dict(point)
        if self.windowing.tile_axis is not None:
            at[self.windowing.tile_axis] = f.add(f.i64(number), at[self.windowing.tile_axis])
        at[self.windowing.lane_axis] = f.add(first, f.i64(v * self.plan.lanes))
        return at

    def _looped(
        self,
        axes: Sequence[int],
        point: dict[int, Value],
        totals: list[Value],
        first: Value,
        places: list[tuple[int, int]],
        mask: Value | None,
    ) -> list[Value]:
        """Loops over taps that are not written out, around those that are."""
        f = self.f
        if axes:
            size = self.frame.size(self.windowing.stage.axes[axes[0]].size)
            with f.loop(f.i64(0), size, carried=totals, hints=["unroll.disable"]) as loop:
                inner = {**point, axes[0]: loop.index}
                loop.following = self._looped(axes[1:], inner, list(loop.carried), first, places, mask)
            return list(loop.carried)
        guards = ()
        if self.form.in_rows:
            guards = common_guards(self.body, frozenset(point) - {self.windowing.tile_axis})
        if not guards:
            return self._added(self.body, point, totals, first, places, mask)
        inside, outside = split_by(self.body, guards)
        holds = self._reader(self._at(point, 0, first, 0), None).inside(guards)
        return list(
            f.either(
                holds,
                lambda: self._added(inside, point, totals, first, places, mask),
                lambda: self._added_once(outside, point, totals, first, places, mask),
            )
        )

    def _added(
        self,
        body: Body,
        point: dict[int, Value],
        totals: Sequence[Value],
        first: Value,
        places: list[tuple[int, int]],
        mask: Value | None,
    ) -> list[Value]:
        """The totals with the taps that are written out."""
        f, tile_axis, results = self.f, self.windowing.tile_axis, list(totals)
        scalars = Scalars(f, self.frame.machine, self.plan.lanes, self.frame.fast_math)
        for taps in _points([tap_count(self.windowing, axis) for axis in self.unrolled]):
            at = {**point, **{axis: f.i64(tap) for axis, tap in zip(self.unrolled, taps, strict=True)}}
            for number, (place, v) in enumerate(places):
                own = body
                if self.form.start is not None and tile_axis is not None:
                    known = {**dict(zip(self.unrolled, taps, strict=True)), tile_axis: self.form.start + place}
                    own = decided(body, frozenset(), known)
                value = scalars.wide(self._reader(self._at(at, place, first, v), mask).body(own))
                results[number] = combine(scalars, self.plan.reduction, results[number], value)
        return results

    def _added_once(
        self,
        body: Body,
        point: dict[int, Value],
        totals: Sequence[Value],
        first: Value,
        places: list[tuple[int, int]],
        mask: Value | None,
    ) -> list[Value]:
        """The same for taps that are the same for all neighbours: what they come to is computed once."""
        tile_axis = self.windowing.tile_axis
        if any(tile_axis in axes_of(index) for index in indices_of(body)):
            return self._added(body, point, totals, first, places, mask)
        vectors = sorted({v for _, v in places})
        start = [neutral(self.plan.reduction, self.plan.lanes) for _ in vectors]
        sums = self._added(body, point, start, first, [(0, v) for v in vectors], mask)
        scalars = Scalars(self.f, self.frame.machine, self.plan.lanes, self.frame.fast_math)
        return [
            combine(scalars, self.plan.reduction, total, sums[v]) for total, (_, v) in zip(totals, places, strict=True)
        ]


def _lane_parts(plan: WindowPlan, size: int | str) -> tuple[bool, bool, bool]:
    """Whether some range of lanes has several vectors at once, single ones behind them, and lanes behind those.

    Args:
        plan: Says what ranges there are: all lanes, blocks of them, or a share of whole vectors for each part (3).
        size: Of the axis of lanes.
    """
    step, block = plan.lanes * plan.vectors, plan.lane_block
    if isinstance(size, str) or (block is not None and block % plan.lanes):
        return True, plan.vectors > 1, True
    rest = size % plan.lanes != 0
    if not plan.windowing.outer or (block is not None and block % step):
        return True, plan.vectors > 1, rest
    return size >= step, size % step >= plan.lanes, rest


def _points(sizes: list[int]) -> list[tuple[int, ...]]:
    points: list[tuple[int, ...]] = [()]
    for size in sizes:
        points = [(*point, value) for point in points for value in range(size)]
    return points


def _is_neutral(reduction: Reduction) -> bool:
    """Whether the start changes nothing: 0 of a sum, and what a maximum of windows starts with."""
    value = neutral(reduction, 0)
    return constant(value.type, reduction.start.value).text == value.text


def write_windows(request: Request, plan: WindowPlan) -> None:
    """Write the kernel into the entry function."""
    _Windows(request, plan).write()
