"""Convolutions of 3x3 taps by the minimal algorithm F(2x2, 3x3): 16 products for a tile of 2x2 results in place of 36.

1. A strip is filled as for other convolutions. Each tile of 4x4 input positions, which overlap by 2, becomes 16
   *points*: sums and differences of them, for every channel.
2. For each point there is a matrix product: points of all tiles times the points of the weights, packed in advance.
3. A tile of 2x2 results is made of sums and differences of its 16 products. `finish` runs on these.
4. nan and infinities spread over a whole tile. So where a result is not finite, the strip is computed again by the
   plain algorithm, for the panel at hand: what the weights are without points lies behind them.
5. Where pixels do not fill all tiles, the last tiles have results that nobody needs. These are stored where the first
   result of the tile belongs, before it is, so that one form of tile does for all.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (arXiv:1509.09308).
"""

from collections.abc import Sequence

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I1, VOID, Value, constant
from fuse_dialect.backends.llvm.contractions.convolution import Convolve
from fuse_dialect.backends.llvm.contractions.strips import fill_with_zeros
from fuse_dialect.backends.llvm.elements import register_type, to_memory
from fuse_dialect.backends.llvm.kernel import frame_of, inner_function
from fuse_dialect.backends.llvm.memory import reader_at
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.contraction import store_place
from fuse_dialect.loops.convolution import Window
from fuse_dialect.loops.packing import POINTS
from fuse_dialect.loops.winograd_schedule import RESULTS, WinogradPlan
from fuse_dialect.machines.machine import Unit

F32 = register_type("f32")


class _Winograd(Convolve):
    def __init__(self, request: Request, plan: WinogradPlan):
        super().__init__(request, plan.plain)
        f, self.w, self.request = request.entry, plan, request
        self.points = f.offset(self.frame.workspace, f.i64(plan.plain.rows_room), F32)
        self.products = f.offset(self.points, f.i64(plan.points_room), F32)

    def columns(self, point: dict[int, Value], group: tuple[Value, Value], is_new: Value) -> Value:
        """The panels of taps lie behind those of points."""
        packing = self.p.packing
        assert packing is not None
        return self.f.offset(super().columns(point, group, is_new), self.f.i64(packing.points_size), F32)

    def prepare(self, top: Value, stop: Value) -> None:
        """Make the points of all tiles of the strip."""
        f, name = self.f, f"{self.f.name}_points"
        if not self.request.module.defines(name):
            _write_points(inner_function(self.request, name, ["strip"], ["to"], ["rows"]), self.w)
        height, cycle = f.subtract(stop, top), RESULTS * self.above.dilation
        if left := self.above.pixels % cycle:
            with f.when(f.compare("ne", f.remainder(height, cycle), f.i64(0))):
                # (5) The last tiles read rows that are not of the image.
                first = f.add(height, f.i64((self.above.taps - 1) * self.above.dilation))
                to = f.offset(self.frame.workspace, f.multiply(first, f.i64(self.p.strip.row)), F32)
                fill_with_zeros(f, to, (cycle - left) * self.p.strip.row * 4)
        f.call(name, VOID, [self.frame.workspace, self.points, self._tile_rows(height)])

    def panel(self, at: dict[int, Value], rows: tuple[Value, Value], number: Value, panel: Value, columns: int) -> None:
        """Products of all points, then results; all over again if one is not finite."""
        f, plan = self.f, self.w
        read = plan.plain.contraction.columns.constant_read
        assert read is not None
        weights = self.frame.pointers[read.buffer]
        size = f.multiply(f.i64(plan.channels), f.i64(self.width))
        count = self._tile_rows(f.subtract(rows[1], rows[0]))
        blocks = self.ceiling(f.multiply(count, f.i64(plan.across)), plan.block)
        group = f.multiply(self.group_of(at), f.i64(POINTS**2))
        with f.loop(f.i64(0), f.i64(POINTS**2), hints=["unroll.disable"]) as loop:
            point = f.add(group, loop.index)
            place = f.multiply(f.add(f.multiply(point, self.panels), number), size)
            first = f.multiply(loop.index, f.i64(plan.tiles))
            with f.loop(f.i64(0), blocks, hints=["unroll.disable"]) as tiles:
                tile = f.add(first, f.multiply(tiles.index, f.i64(plan.block)))
                operands = [
                    f.offset(self.points, f.multiply(tile, f.i64(plan.pitch)), F32),
                    f.offset(weights, place, F32),
                    f.offset(self.products, f.multiply(tile, f.i64(self.width)), F32),
                ]
                f.call(self._product(), VOID, operands)
        outer = [at[axis] for axis in self._given()]
        # (4) A product of 0 and what is not finite is nan, so one sum tells for the whole strip.
        is_finite = f.call(self._result(columns), I1, [self.slots, self.products, rows[0], count, *outer])
        with f.when(f.compare("eq", is_finite, constant(I1, 0))):
            super().panel(at, rows, number, panel, columns)

    def _tile_rows(self, height: Value) -> Value:
        """Rows of tiles that cover some pixel rows."""
        dilation = self.above.dilation
        return self.f.multiply(self.ceiling(height, RESULTS * dilation), self.f.i64(dilation))

    def _given(self) -> list[int]:
        """The axes whose values a function of results gets."""
        pixels = (self.above.pixel, self.along.pixel)
        return [axis for axis in self.tiles.parallel if axis not in pixels]

    def _product(self) -> str:
        name = f"{self.f.name}_product"
        if not self.request.module.defines(name):
            _write_product(inner_function(self.request, name, ["a", "b"], ["to"]), self.w)
        return name

    def _result(self, columns: int) -> str:
        name = f"{self.f.name}_result_of_{columns}"
        if not self.request.module.defines(name):
            numbers = ["top", "rows", *(f"x{axis}" for axis in self._given())]
            f = inner_function(self.request, name, ["slots", "products"], (), numbers, result=I1)
            _Results(self.request, f, self.w, self._given(), columns).write()
        return name


def _write_points(f: Function, plan: WinogradPlan) -> None:
    """The points of the tiles of some rows of tiles."""
    strip, to, rows = f.parameters
    lanes, sizes = plan.plain.lanes, plan.plain.strip
    type = F32.wide(lanes)
    with (
        f.loop(f.i64(0), rows, hints=["unroll.disable"]) as row,
        f.loop(f.i64(0), f.i64(plan.across), hints=["unroll.disable"]) as column,
        # What the last vector has behind the channels is not multiplied, and there is room for it.
        f.loop(f.i64(0), f.i64(plan.channels), lanes, hints=["unroll.disable"]) as channel,
    ):
        above, along = plan.plain.convolution.windows
        down = f.multiply(_first_pixel(f, row.index, above), f.i64(sizes.row))
        right = f.multiply(_first_pixel(f, column.index, along), f.i64(sizes.pitch))
        steps = above.dilation * sizes.row, along.dilation * sizes.pitch
        start = f.offset(strip, f.add(f.add(down, right), channel.index), F32)
        tile = f.add(f.multiply(row.index, f.i64(plan.across)), column.index)
        target = f.offset(to, f.add(f.multiply(tile, f.i64(plan.pitch)), channel.index), F32)
        read = [
            [f.load(type, f.offset(start, f.i64(i * steps[0] + j * steps[1]), F32)) for j in range(POINTS)]
            for i in range(POINTS)
        ]
        # (1) The transform is separable: columns first, then rows of what came out.
        turned = [_points_of(f, vectors) for vectors in zip(*read, strict=True)]  # by column, then by row
        for i, vectors in enumerate(zip(*turned, strict=True)):
            for j, value in enumerate(_points_of(f, vectors)):
                place = (i * POINTS + j) * plan.tiles * plan.pitch
                f.store(value, f.offset(target, f.i64(place), F32))
    f.ret()


def _first_pixel(f: Function, tile: Value, window: Window) -> Value:
    """Where along an axis the first result of a tile stands; the second one is `dilation` pixels behind it."""
    cycle = f.multiply(f.quotient(tile, window.dilation), f.i64(RESULTS * window.dilation))
    return f.add(cycle, f.remainder(tile, window.dilation))


def _points_of(f: Function, d: Sequence[Value]) -> list[Value]:
    return [f.fsub(d[0], d[2]), f.fadd(d[1], d[2]), f.fsub(d[2], d[1]), f.fsub(d[1], d[3])]


def _results_of(f: Function, m: Sequence[Value]) -> list[Value]:
    return [f.fadd(f.fadd(m[0], m[1]), m[2]), f.fsub(f.fsub(m[1], m[2]), m[3])]


def _write_product(f: Function, plan: WinogradPlan) -> None:
    """A block of tiles times one panel, for one point."""
    a, b, to = f.parameters
    lanes, vectors = plan.plain.lanes, plan.plain.vectors
    type, width = F32.wide(lanes), lanes * vectors
    zeros = [constant(type, 0)] * (plan.block * vectors)
    with f.loop(f.i64(0), f.i64(plan.channels), carried=zeros, hints=["unroll.disable"]) as loop:
        panel = f.offset(b, f.multiply(loop.index, f.i64(width)), F32)
        loaded = [f.load(type, f.offset(panel, f.i64(v * lanes), F32)) for v in range(vectors)]
        # Weights are read once for all tiles and come from memory: they are asked for some lines ahead.
        machine = plan.plain.machine
        for line in range(0, width * 4, machine.line_bytes):
            f.prefetch(panel, f.i64(machine.ahead_bytes + line))
        start, sums = f.offset(a, loop.index, F32), list[Value]()
        for tile in range(plan.block):
            element = f.splat(f.load(F32, f.offset(start, f.i64(tile * plan.pitch), F32)), lanes)
            for v, vector in enumerate(loaded):
                sums.append(_added(f, plan, element, vector, loop.carried[tile * vectors + v]))
        loop.following = sums
    for number, total in enumerate(loop.carried):
        f.store(total, f.offset(to, f.i64(number * lanes), F32))
    f.ret()


def _added(f: Function, plan: WinogradPlan, lhs: Value, rhs: Value, total: Value) -> Value:
    return f.fma(lhs, rhs, total) if Unit.FMA in plan.plain.machine.units else f.fadd(f.fmul(lhs, rhs), total)


class _Results:
    """Writes the function that makes results of products."""

    def __init__(self, request: Request, f: Function, plan: WinogradPlan, given: Sequence[int], columns: int):
        self.f, self.plan, self.columns = f, plan, columns
        _, self.products, self.top, self.rows, *values = f.parameters
        self.frame = frame_of(request, f)
        self.point = dict(zip(given, values, strict=True))
        self.contraction = plan.plain.contraction
        store = store_place(plan.plain.program, self.contraction.stage)
        assert store is not None
        self.store = store

    def write(self) -> None:
        f, plan = self.f, self.plan
        zero, across = constant(F32.wide(plan.plain.lanes), 0), f.i64(plan.across)
        above, along = plan.plain.convolution.windows
        with f.loop(f.i64(0), self.rows, carried=[zero], hints=["unroll.disable"]) as row:
            with f.loop(f.i64(0), across, carried=row.carried, hints=["unroll.disable"]) as column:
                tile = f.add(f.multiply(row.index, across), column.index)
                below = f.add(self.top, _first_pixel(f, row.index, above))
                right = _first_pixel(f, column.index, along)
                column.following = [self._tile(tile, below, right, column.carried[0])]
            row.following = list(column.carried)
        # a sum of products with 0 is 0, or nan if one of them was not finite
        bad = f.compare("une", row.carried[0], zero)
        f.ret(f.binary("xor", f.intrinsic("vector.reduce.or", I1, [bad], over=[bad.type]), constant(I1, 1)))

    def _tile(self, tile: Value, below: Value, right: Value, seen: Value) -> Value:
        """The results of a tile; gives a sum of products of all of them with 0."""
        f, plan, plain = self.f, self.plan, self.plan.plain
        width, zero = plain.vectors * plain.lanes, constant(seen.type, 0)
        start = f.offset(self.products, f.multiply(tile, f.i64(width)), F32)
        for v in range(-(-self.columns // plain.lanes)):
            read = [
                [self._product((i * POINTS + j) * plan.tiles * width + v * plain.lanes, start) for j in range(POINTS)]
                for i in range(POINTS)
            ]
            turned = [_results_of(f, vectors) for vectors in zip(*read, strict=True)]  # by column, then by row
            writes: list[tuple[Value, Value]] = []
            left = self.columns - v * plain.lanes
            mask = None if left >= plain.lanes else f.first_lanes(f.i64(left), plain.lanes)
            for i, vectors in enumerate(zip(*turned, strict=True)):
                for j, value in enumerate(_results_of(f, vectors)):
                    seen = _added(f, plan, value, zero, seen)
                    writes.append(self._finished(value, (self._pixel(0, below, i), self._pixel(1, right, j)), v, mask))
            # (5) The first result comes last, for it is the one that there always is.
            for value, address in reversed(writes):
                if mask is None:
                    f.store(value, address)
                else:
                    f.masked_store(value, address, mask)
        return seen

    def _pixel(self, axis: int, first: Value, number: int) -> Value:
        """Where a result of a tile is stored along an axis (5)."""
        f, window = self.f, self.plan.plain.convolution.windows[axis]
        pixel = f.add(first, f.i64(number * window.dilation))
        if number == 0 or window.pixels % (RESULTS * window.dilation) == 0:
            return pixel
        return f.select(f.compare("slt", pixel, f.i64(window.pixels)), pixel, first)

    def _product(self, place: int, start: Value) -> Value:
        return self.f.load(F32.wide(self.plan.plain.lanes), self.f.offset(start, self.f.i64(place), F32))

    def _finished(self, value: Value, pixel: tuple[Value, Value], v: int, mask: Value | None) -> tuple[Value, Value]:
        """What becomes of a vector of sums, and its address."""
        f, stage, plain = self.f, self.contraction.stage, self.plan.plain
        column, point = self.contraction.column_axes[-1], dict(self.point)
        for window, at in zip(plain.convolution.windows, pixel, strict=True):
            assert window.pixel is not None
            point[window.pixel] = at
        point[column] = f.add(point[column], f.i64(v * plain.lanes))
        if stage.finish:
            value = reader_at(self.frame, stage.axes, point, plain.lanes, column, mask).body(stage.finish, [value])
        return to_memory(f, value), self.frame.address(stage.buffer, self.store, point)


def write_winograd(request: Request, plan: WinogradPlan) -> None:
    """Write the kernel into the entry function."""
    _Winograd(request, plan).write()
