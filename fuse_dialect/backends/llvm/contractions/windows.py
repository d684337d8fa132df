"""Depthwise convolutions and pools: a few vectors of results at a time, all taps of their windows unrolled.

1. A tile is some neighbours along the tile axis. What their windows share is read once, since LLVM sees all reads.
2. Tiles whose guards all hold go without them; others test the guards of every read.
3. Parts share the outer axes and the tile axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from fuse_dialect.backends.llvm.builder import Function, Parameter
from fuse_dialect.backends.llvm.combining import accumulator_type, combine, neutral
from fuse_dialect.backends.llvm.contractions.frame import Frame
from fuse_dialect.backends.llvm.contractions.reads import Reader
from fuse_dialect.backends.llvm.contractions.schedule import even_part
from fuse_dialect.backends.llvm.elements import element_bytes, memory_type, to_memory
from fuse_dialect.backends.llvm.family import Request
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.backends.llvm.scalars import Scalars
from fuse_dialect.backends.llvm.values import I1, I64, PTR, VOID, Value, constant
from fuse_dialect.kernels.access import FlatPlace
from fuse_dialect.kernels.contraction import store_place
from fuse_dialect.kernels.program import Body, LoopProgram, Reduction
from fuse_dialect.kernels.windowing import Windowing, without_guards

_UNROLLED_TAPS = 12
_REGISTERS_OF_NEIGHBOUR = 4
"""Vector registers of the processor for each neighbour of a tile."""
_VECTORS = 4
"""Vectors of a tile that has no neighbours."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Windows, with what is decided about them."""

    program: LoopProgram
    windowing: Windowing
    lanes: int
    tile: int
    vectors: int
    unrolled: tuple[int, ...]
    """Taps that are written out."""
    looped: tuple[int, ...]

    @property
    def reduction(self) -> Reduction:
        """How taps are combined."""
        assert self.windowing.stage.reduction is not None
        return self.windowing.stage.reduction


def window_plan(program: LoopProgram, windowing: Windowing, host: Host) -> WindowPlan:
    """What to do about windows."""
    stage = windowing.stage
    assert stage.reduction is not None
    lanes = host.vector_bytes // element_bytes(stage.reduction.start.element)
    taps = list(windowing.taps)
    unrolled: list[int] = []
    while taps and prod(_size(windowing, axis) for axis in (*unrolled, taps[-1])) <= _UNROLLED_TAPS:
        unrolled.insert(0, taps.pop())
    tile, vectors = 1, _VECTORS
    if windowing.tile_axis is not None:
        size = stage.axes[windowing.tile_axis].size
        most = max(1, host.registers // _REGISTERS_OF_NEIGHBOUR - 1)
        tile = even_part(size if isinstance(size, int) else None, most)
        vectors = 1
    if isinstance(size := stage.axes[windowing.lane_axis].size, int):
        vectors = max(1, min(vectors, size // lanes))
    return WindowPlan(program, windowing, lanes, tile, vectors, tuple(unrolled), tuple(taps))


def _size(windowing: Windowing, axis: int) -> int:
    size = windowing.stage.axes[axis].size
    assert isinstance(size, int), "taps are of known number"
    return size


class _Windows:
    def __init__(self, request: Request, plan: WindowPlan):
        self.request, self.plan, self.f = request, plan, request.entry
        self.slots, self.part, self.parts = self.f.parameters
        self.frame = Frame(self.f, plan.program, self.slots, request.host)
        self.stage = plan.windowing.stage

    def size(self, axis: int) -> Value:
        return self.frame.size(self.stage.axes[axis].size)

    def write(self) -> None:
        """One task for each tile of each point of the outer axes."""
        f, plan, windowing = self.f, self.plan, self.plan.windowing
        extent = f.i64(1) if windowing.tile_axis is None else self.size(windowing.tile_axis)
        tiles = f.quotient(f.add(extent, f.i64(plan.tile - 1)), plan.tile)
        strips = f.i64(1)
        if not windowing.outer and windowing.tile_axis is None:  # parts share the lanes
            strips = self.parts
        total = f.multiply(tiles, strips)
        for axis in windowing.outer:
            total = f.multiply(total, self.size(axis))
        low = f.binary("udiv", f.multiply(total, self.part), self.parts)
        high = f.binary("udiv", f.multiply(total, f.add(self.part, f.i64(1))), self.parts)
        with f.loop(low, high, hints=["unroll.disable"]) as loop:
            number, strip = _divided(f, loop.index, strips)
            number, tile = _divided(f, number, tiles)
            point: dict[int, Value] = {}
            for axis in reversed(windowing.outer):
                number, point[axis] = _divided(f, number, self.size(axis))
            first = f.multiply(tile, f.i64(plan.tile))
            if windowing.tile_axis is not None:
                point[windowing.tile_axis] = first
            self._tile(point, f.subtract(extent, first), self._lanes_of(strip, strips))
        f.ret()

    def _lanes_of(self, strip: Value, strips: Value) -> tuple[Value, Value]:
        """The first lane of a strip, and the first behind it."""
        f, lanes = self.f, self.plan.lanes
        size = self.size(self.plan.windowing.lane_axis)
        if strips.number == 1:
            return f.i64(0), size
        vectors = f.quotient(f.add(size, f.i64(lanes - 1)), lanes)
        low = f.binary("udiv", f.multiply(vectors, strip), strips)
        high = f.binary("udiv", f.multiply(vectors, f.add(strip, f.i64(1))), strips)
        return f.multiply(low, f.i64(lanes)), f.least(f.multiply(high, f.i64(lanes)), size)

    def _tile(self, point: dict[int, Value], left: Value, lanes: tuple[Value, Value]) -> None:
        """Call the function for a tile: whole or smaller, guarded or not."""
        f, plan, tile_axis = self.f, self.plan, self.plan.windowing.tile_axis
        size = 1 if tile_axis is None else self.stage.axes[tile_axis].size

        def call(count: int) -> None:
            def of(guarded: bool) -> list[Value]:
                name = _tile_function(self.request, plan, count, guarded=guarded)
                axes = [*plan.windowing.outer, *([] if tile_axis is None else [tile_axis])]
                f.call(name, VOID, [self.slots, *(point[axis] for axis in axes), *lanes])
                return []

            inside = self._is_inside(point, count)
            if inside.number is not None:
                of(guarded=not inside.number)
            else:
                f.either(inside, lambda: of(guarded=False), lambda: of(guarded=True))

        rest = size % plan.tile if isinstance(size, int) else None
        if rest == 0:
            call(plan.tile)
            return

        def smaller() -> list[Value]:
            if rest is not None:
                call(rest)
                return []
            with f.loop(f.i64(0), left) as loop:  # one by one, if it is not known how many are left
                assert tile_axis is not None
                first = point[tile_axis]
                point[tile_axis] = f.add(first, loop.index)
                call(1)
                point[tile_axis] = first
            return []

        def whole() -> list[Value]:
            call(plan.tile)
            return []

        f.either(f.compare("sge", left, f.i64(plan.tile)), whole, smaller)

    def _is_inside(self, point: dict[int, Value], count: int) -> Value:
        """Whether all guards hold in a tile."""
        f, windowing = self.f, self.plan.windowing
        if windowing.inside is None:
            return constant(I1, 0)
        result = constant(I1, 1)
        for axis, interval in windowing.inside.items():
            if axis == windowing.lane_axis:
                size = self.stage.axes[axis].size
                if interval.first > 0 or not isinstance(size, int) or interval.stop < size:
                    return constant(I1, 0)
                continue
            reach = f.i64(count - 1 if axis == windowing.tile_axis else 0)
            first = f.compare("sge", point[axis], f.i64(interval.first))
            last = f.compare("slt", f.add(point[axis], reach), f.i64(interval.stop))
            both = f.binary("and", first, last)
            result = both if result.number is not None else f.binary("and", result, both)
        return result


def _divided(f: Function, value: Value, by: Value) -> tuple[Value, Value]:
    if by.number is not None:
        return f.quotient(value, by.number), f.remainder(value, by.number)
    return f.binary("udiv", value, by), f.binary("urem", value, by)


def _tile_function(request: Request, plan: WindowPlan, count: int, *, guarded: bool) -> str:
    """The name of the function that computes a tile, for some lanes; it is written at the first call."""
    name = f"{request.entry.name}_window_{count}{'_guarded' if guarded else ''}"
    if not request.module.defines(name):
        windowing = plan.windowing
        axes = [*windowing.outer, *([] if windowing.tile_axis is None else [windowing.tile_axis])]
        parameters = [Parameter("slots", PTR, "noalias readonly"), *(Parameter(f"x{axis}", I64) for axis in axes)]
        parameters += [Parameter("low", I64), Parameter("high", I64)]
        f = request.module.function(name, parameters, linkage="internal", attributes="noinline")
        store = store_place(plan.program, windowing.stage)
        assert store is not None
        _Tile(request, plan, f, axes, count, store, guarded=guarded).write()
    return name


class _Tile:
    def __init__(
        self,
        request: Request,
        plan: WindowPlan,
        f: Function,
        axes: Sequence[int],
        count: int,
        store: FlatPlace,
        *,
        guarded: bool,
    ):
        self.plan, self.f, self.count, self.store = plan, f, count, store
        slots, *rest = f.parameters
        self.frame = Frame(f, plan.program, slots, request.host)
        self.point: dict[int, Value] = dict(zip(axes, rest, strict=False))
        self.low, self.high = rest[-2:]
        self.windowing = plan.windowing
        body = self.windowing.stage.body
        self.body: Body = body if guarded else without_guards(body)
        self.fast_math = request.fast_math

    def write(self) -> None:
        f, plan = self.f, self.plan
        step = plan.lanes * plan.vectors
        wide = f.subtract(self.high, f.remainder(f.subtract(self.high, self.low), step))
        with f.loop(self.low, wide, step, hints=["unroll.disable"]) as loop:
            self._vectors(loop.index, plan.vectors, None)
        start = wide
        if plan.vectors > 1:
            start = f.subtract(self.high, f.remainder(f.subtract(self.high, wide), plan.lanes))
            with f.loop(wide, start, plan.lanes, hints=["unroll.disable"]) as loop:
                self._vectors(loop.index, 1, None)
        with f.when(f.compare("slt", start, self.high)):
            self._vectors(start, 1, f.first_lanes(f.subtract(self.high, start), plan.lanes))
        f.ret()

    def _vectors(self, first: Value, vectors: int, mask: Value | None) -> None:
        """All results of the tile for some vectors of lanes."""
        f, plan = self.f, self.plan
        type = accumulator_type(plan.reduction, plan.lanes)
        places = [(number, v) for number in range(self.count) for v in range(vectors)]
        totals = [neutral(plan.reduction, plan.lanes) for _ in places]
        totals = self._looped(plan.looped, dict(self.point), totals, first, places, mask)
        start = constant(type, plan.reduction.start.value)
        scalars = Scalars(f, self.frame.host, plan.lanes, self.fast_math)
        writes: list[tuple[Value, Value]] = []
        for (number, v), total in zip(places, totals, strict=True):
            if not _is_neutral(plan.reduction):
                total = combine(scalars, plan.reduction, start, total)
            reader = self._reader(self._at(self.point, number, first, v), mask)
            if self.windowing.stage.finish:
                total = reader.body(self.windowing.stage.finish, [total])
            memory = memory_type(self.frame.buffers[self.windowing.stage.buffer].element)
            place = self.frame.place(self.store, reader.point)
            address = f.offset(self.frame.address(self.windowing.stage.buffer), place, memory)
            writes.append((to_memory(f, total), address))
        for value, address in writes:
            if mask is None:
                f.store(value, address)
            else:
                f.masked_store(value, address, mask)

    def _reader(self, point: dict[int, Value], mask: Value | None) -> Reader:
        rank = len(self.windowing.stage.axes)
        return Reader(self.frame, rank, point, self.plan.lanes, self.windowing.lane_axis, mask)

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
        scalars = Scalars(f, self.frame.host, self.plan.lanes, self.fast_math)
        for taps in _points([_size(self.windowing, axis) for axis in self.plan.unrolled]):
            at = {**point, **{axis: f.i64(tap) for axis, tap in zip(self.plan.unrolled, taps, strict=True)}}
            for number, (place, v) in enumerate(places):
                value = self._reader(self._at(at, place, first, v), mask).body(self.body)
                totals[number] = combine(scalars, self.plan.reduction, totals[number], value)
        return totals


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
