"""Convolutions whose channels lie side by side: tiles of pixels and output channels, read where the input lies.

1. A strip is some rows of output pixels. If the input has zeros around it, or is computed, its strip is copied to the
   workspace first; else it is read where it lies.
2. All tiles of a strip meet one panel of columns before the next panel follows.
3. Parts share the strips if there are many, else the panels.
"""

from dataclasses import dataclass, replace
from math import prod

from fuse_dialect.backends.llvm.builder import Function, Module
from fuse_dialect.backends.llvm.contractions import schedule
from fuse_dialect.backends.llvm.contractions.blocks import Blocks
from fuse_dialect.backends.llvm.contractions.strips import Strip, fill_strip, strip_function
from fuse_dialect.backends.llvm.contractions.tile import Shape, TileCall, Tiles, Walk
from fuse_dialect.backends.llvm.elements import element_bytes, memory_type
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.backends.llvm.values import Value
from fuse_dialect.kernels.access import FlatPlace, flat_place
from fuse_dialect.kernels.contraction import Contraction, shapes_of, store_place
from fuse_dialect.kernels.convolution import Convolution
from fuse_dialect.kernels.packing import Packing, packing_of
from fuse_dialect.kernels.program import LoopProgram


@dataclass(frozen=True, slots=True)
class Grid:
    """How output pixels are cut into tiles."""

    rows: int
    """Pixel rows of a tile."""
    columns: int
    """Pixel columns of a tile."""


def grid_of(height: int, width: int, most: int) -> Grid:
    """The tile that wastes the least: part of a row, or several rows if these are short."""
    if 2 * width > most:
        return Grid(1, schedule.even_part(width, most))
    return Grid(schedule.even_part(height, max(most // max(width, 1), 1)), max(width, 1))


@dataclass(frozen=True, slots=True)
class ConvolutionPlan:
    """A convolution, with what is decided about it."""

    program: LoopProgram
    convolution: Convolution
    host: Host
    lanes: int
    vectors: int
    grid: Grid
    strip_pixels: int
    """Pixel rows of a strip."""
    strip: Strip
    direct: FlatPlace | None
    """Where the rows factor lies, if it is read there."""
    packing: Packing | None
    splits_columns: bool

    @property
    def contraction(self) -> Contraction:
        """What the convolution is."""
        return self.convolution.contraction

    @property
    def rows_room(self) -> int:
        """Elements of the workspace for a strip."""
        if self.direct is not None:
            return 0
        elements = self.strip.plane * prod(self.sizes(self.convolution.free))
        return -(-elements // 64) * 64

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        bytes = element_bytes(self.contraction.element)
        if self.packing is not None:
            return self.rows_room * bytes
        columns, width = self.sizes(self.contraction.column_axes)[0], self.vectors * self.lanes
        panels = -(-columns // width)
        return (self.rows_room + panels * width * prod(self.sizes(self.contraction.reduced))) * bytes

    def sizes(self, axes: tuple[int, ...]) -> list[int]:
        """Sizes of axes, which are known."""
        return [_number(self.contraction.stage.axes[axis].size) for axis in axes]

    @property
    def in_blocks(self) -> bool:
        """Whether a panel is too long for the cache, so that its first reduced axis is taken step by step."""
        kinds = {buffer.name: buffer.element for buffer in self.program.buffers}
        pixels = self.strip_pixels * self.convolution.windows[1].pixels
        tiles = -(-pixels // (self.grid.rows * self.grid.columns))
        depth, bytes = prod(self.sizes(self.contraction.reduced)), element_bytes(self.contraction.element)
        is_long = schedule.depth_block(depth, self.vectors * self.lanes, bytes, tiles) < depth
        return is_long and bool(self.walk().outer) and kinds[self.contraction.stage.buffer] == self.contraction.element

    def walk(self) -> Walk:
        """How micro-kernels get at elements of the rows factor, over all reduced axes."""
        convolution, strip = self.convolution, self.strip
        above, along = convolution.windows
        if self.direct is not None:
            place = self.direct
            strides = [_number(place.strides[axis].number) for axis in self.contraction.reduced]
            rows = tuple(0 if w.pixel is None else _number(place.strides[w.pixel].number) for w in (above, along))
        else:
            strides, distance = list[int](), strip.plane
            for size in reversed(self.sizes(convolution.free)):
                strides.insert(0, distance)
                distance *= size
            if above.tap is not None:
                strides.append(above.dilation * strip.row)
            if along.tap is not None:
                strides.append(along.dilation * strip.pitch)
            if convolution.innermost is not None:
                strides.append(1)
            rows = (above.step * strip.row, along.step * strip.pitch)
        return _walk(list(zip(self.sizes(self.contraction.reduced), strides, strict=True)), (rows[0], rows[1]))


def _number(size: int | str | None) -> int:
    assert isinstance(size, int), "the sizes of a convolution are known"
    return size


def _walk(loops: list[tuple[int, int]], rows: tuple[int, int]) -> Walk:
    """Loops that go on where the next inner one ends are one loop with it."""
    merged: list[tuple[int, int]] = []
    for size, stride in loops:
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    (depth, step), outer = merged[-1], merged[:-1]
    return Walk(rows, tuple(outer), step, depth)


def convolution_plan(
    program: LoopProgram, convolution: Convolution, host: Host, constants: frozenset[str]
) -> ConvolutionPlan | None:
    """What to do about a convolution; `None` if its columns are of unknown number."""
    contraction = convolution.contraction
    stage = contraction.stage
    columns = stage.axes[contraction.column_axes[-1]].size
    if not isinstance(columns, int) or not contraction.reduced:
        return None
    bytes = element_bytes(contraction.element)
    lanes = host.vector_bytes // bytes
    vectors = max(1, min(2, -(-columns // lanes)))
    above, along = convolution.windows
    grid = grid_of(above.pixels, along.pixels, schedule.most_rows(host, vectors))
    packing = packing_of(program, contraction, constants, vectors * lanes)
    innermost = 1 if convolution.innermost is None else _number(stage.axes[convolution.innermost].size)
    free = prod(_number(stage.axes[axis].size) for axis in convolution.free)
    positions = along.positions(along.pixels)
    panels = -(-columns // (vectors * lanes))
    splits_columns = above.pixels * along.pixels <= schedule.FEW_PIXELS and panels > 1
    pixels = above.pixels
    if not splits_columns or free * above.positions(pixels) * positions * innermost * bytes > 2 * schedule.BLOCK_BYTES:
        row = free * above.step * positions * innermost * bytes
        pixels = min(pixels, max(1, schedule.BLOCK_BYTES // max(row, 1)))
        if not splits_columns:
            pixels = min(pixels, -(-above.pixels // schedule.MANY_TASKS))
        pixels = min(above.pixels, -(-pixels // grid.rows) * grid.rows)
    pitch = innermost
    if schedule.collides(along.step * innermost * bytes, grid.columns):
        pitch = schedule.pitch(innermost, bytes)
    strip = Strip(above.positions(pixels), positions, innermost, pitch)
    direct = _direct_place(program, convolution, grid, columns)
    return ConvolutionPlan(
        program, convolution, host, lanes, vectors, grid, pixels, strip, direct, packing, splits_columns
    )


def _direct_place(program: LoopProgram, convolution: Convolution, grid: Grid, columns: int) -> FlatPlace | None:
    contraction = convolution.contraction
    read = contraction.rows.read
    if read is None or read.guards:
        return None
    buffer = next(buffer for buffer in program.buffers if buffer.name == read.buffer)
    place = flat_place(read.indices, shapes_of(program)[read.buffer], len(contraction.stage.axes))
    pixels = [window.pixel for window in convolution.windows if window.pixel is not None]
    if place is None or buffer.element != contraction.element:
        return None
    if any(place.strides[axis].number is None for axis in (*pixels, *contraction.reduced)):
        return None
    along = convolution.windows[1].pixel
    distance = 1 if along is None else _number(place.strides[along].number)
    collide = schedule.collides(distance * element_bytes(contraction.element), grid.columns)
    return None if collide and columns >= schedule.WORTH_COPYING else place


@dataclass(frozen=True, slots=True)
class _Block:
    """A strip, a panel, and some points of the reduced axes."""

    top: Value
    """The first pixel row."""
    panel: Value
    """Address of the first element of the columns factor."""
    distance: Value
    """How far the rows factor has moved, in elements."""
    first: Value
    last: Value


class Convolve(Blocks):
    """Writes a convolution."""

    def __init__(self, module: Module, plan: ConvolutionPlan, f: Function):
        super().__init__(module, plan, f)
        self.p = plan
        self.above, self.along = plan.convolution.windows
        store = store_place(plan.program, plan.contraction.stage)
        assert store is not None
        walk = plan.walk()
        # positions of outer axes come from the convolution: some of them are row axes
        self.copies = replace(self.copies, contraction=plan.contraction)
        self.tiles = Tiles(
            module,
            plan.program,
            plan.contraction,
            store,
            plan.host,
            f.name,
            replace(walk, outer=walk.outer[1:]) if plan.in_blocks else walk,
            (self.above.pixel, self.along.pixel),
            plan.in_blocks,
        )
        self.steps, self.distance = walk.outer[0] if plan.in_blocks else (1, 0)
        if plan.direct is None:
            self.strip = strip_function(module, plan.program, plan.convolution, plan.host, plan.strip, f.name)

    def write(self) -> None:
        f, plan = self.f, self.p
        strips = f.i64(-(-self.above.pixels // plan.strip_pixels))
        group = self.larger(self.panels, f.i64(1))
        if plan.splits_columns:
            group = self.larger(self.covering(self.panels, self.parts), f.i64(1))
        groups = self.covering(self.panels, group)
        outer = f.i64(1)
        for axis in plan.convolution.outer:
            outer = f.multiply(outer, self.axis(axis))
        low, high = self.share(f.multiply(f.multiply(outer, groups), strips))
        with f.loop(low, high, carried=[f.i64(-1)], hints=["unroll.disable"]) as loop:
            number, strip = self.divided(loop.index, strips)
            rest, number_of_group = self.divided(number, groups)
            point = self.point_of(rest, plan.convolution.outer)
            first = f.multiply(number_of_group, group)
            count = f.least(group, f.subtract(self.panels, first))
            base = self.columns(point, (first, count), f.compare("ne", number, loop.carried[0]))
            self._strip(point, strip, (first, count), base)
            loop.following = [number]
        f.ret()

    def _strip(self, point: dict[int, Value], number: Value, group: tuple[Value, Value], base: Value) -> None:
        """All tiles of a strip, for a group of panels."""
        f, plan = self.f, self.p
        top = f.multiply(number, f.i64(plan.strip_pixels))
        stop = f.least(f.add(top, f.i64(plan.strip_pixels)), f.i64(self.above.pixels))
        if plan.direct is None:
            pixels = f.subtract(f.subtract(stop, top), f.i64(1))
            reach = (self.above.taps - 1) * self.above.dilation + 1
            rows = f.add(f.multiply(pixels, f.i64(self.above.step)), f.i64(reach))
            first = f.multiply(top, f.i64(self.above.step))
            to = self.frame.workspace
            fill_strip(f, self.strip, self.slots, to, plan.convolution, point, (first, rows))
        self.prepare(top, stop)
        columns = plan.sizes((self.column,))[0]
        whole, rest = f.i64(columns // self.width), columns % self.width
        end = f.add(group[0], group[1])

        def panel(number: Value, columns: int) -> None:
            place = f.multiply(f.subtract(number, group[0]), f.multiply(self.depth, f.i64(self.width)))
            at = {**point, self.column: f.multiply(number, f.i64(self.width))}
            self.panel(at, (top, stop), number, f.offset(base, place, self.type), columns)

        if columns >= self.width:
            with f.loop(group[0], f.least(end, whole), hints=["unroll.disable"]) as loop:
                panel(loop.index, self.width)
        if rest:
            with f.when(f.compare("slt", whole, end)):
                panel(whole, rest)

    def prepare(self, top: Value, stop: Value) -> None:
        """What else is to be done once for a strip of pixel rows, before all panels."""

    def panel(self, at: dict[int, Value], rows: tuple[Value, Value], number: Value, panel: Value, columns: int) -> None:
        """All tiles of a strip of pixel rows, for one panel.

        Args:
            at: Values of the outer axes and of the column axis.
            rows: The first pixel row, and the first that is not of the strip.
            number: Of the panel.
            panel: Its address.
            columns: How many columns it has.
        """
        f = self.f
        with f.loop(f.i64(0), f.i64(self.steps), hints=["unroll.disable"]) as loop:
            below = f.multiply(f.quotient(self.depth, self.steps), f.i64(self.width))
            block = _Block(
                rows[0],
                f.offset(panel, f.multiply(loop.index, below), self.type),
                f.multiply(loop.index, f.i64(self.distance)),
                f.compare("eq", loop.index, f.i64(0)),
                f.compare("eq", loop.index, f.i64(self.steps - 1)),
            )
            self._grid(at, rows[1], block, columns)

    def _grid(self, at: dict[int, Value], stop: Value, block: _Block, columns: int) -> None:
        """All tiles of a strip, for one panel; tiles at its lower and right ends may be smaller."""
        f, grid, width = self.f, self.p.grid, self.along.pixels
        below = f.subtract(stop, f.remainder(stop, grid.rows))

        def row(start: Value, rows: int) -> None:
            def tile(left: Value, pixels: int) -> None:
                self._tile(at, (start, left), (rows, pixels), block, columns)

            if width // grid.columns:
                end = f.i64(width // grid.columns * grid.columns)
                with f.loop(f.i64(0), end, grid.columns, hints=["unroll.disable"]) as loop:
                    tile(loop.index, grid.columns)
            if width % grid.columns:
                tile(f.i64(width // grid.columns * grid.columns), width % grid.columns)

        with f.loop(block.top, below, grid.rows, hints=["unroll.disable"]) as loop:
            row(loop.index, grid.rows)
        if self.above.pixels % grid.rows:
            with f.when(f.compare("slt", below, stop)):
                row(below, self.above.pixels % grid.rows)

    def _tile(
        self,
        at: dict[int, Value],
        place: tuple[Value, Value],
        grid: tuple[int, int],
        block: _Block,
        columns: int,
    ) -> None:
        f, plan = self.f, self.p
        above, left = place
        point = dict(at)
        for window, value in ((self.above, above), (self.along, left)):
            if window.pixel is not None:
                point[window.pixel] = value
        if plan.direct is not None:
            read = plan.contraction.rows.read
            assert read is not None
            memory = memory_type(plan.contraction.element)
            rows = f.offset(self.frame.address(read.buffer), self.frame.place(plan.direct, point), memory)
        else:
            down = f.multiply(f.subtract(above, block.top), f.i64(self.above.step * plan.strip.row))
            right = f.multiply(left, f.i64(self.along.step * plan.strip.pitch))
            rows = f.offset(self.frame.workspace, f.add(down, right), self.type)
        rows, none = f.offset(rows, block.distance, self.type), f.i64(0)
        shape = Shape(grid, -(-columns // plan.lanes), plan.lanes, self.width, columns)
        self.tiles.call(
            f, self.slots, shape, TileCall(rows, block.panel, point, none, block.first, block.last, none, none)
        )


def write_convolution(module: Module, plan: ConvolutionPlan, f: Function) -> None:
    """Write the kernel into `f`, a function of `slots`, `part` and `parts`."""
    Convolve(module, plan, f).write()
