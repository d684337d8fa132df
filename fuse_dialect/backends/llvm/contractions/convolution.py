"""Convolutions whose channels lie side by side: tiles of pixels and output channels, read where the input lies.

1. A strip is some rows of output pixels. If the input has zeros around it, or is computed, its strip is copied to the
   workspace first; else it is read where it lies.
2. All tiles of a strip meet one panel of columns before the next panel follows.
3. Parts share the strips if there are many, else the panels.
"""

from dataclasses import dataclass, replace

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.contractions.blocks import Blocks
from fuse_dialect.backends.llvm.contractions.strips import fill_strip, strip_function
from fuse_dialect.backends.llvm.contractions.tile import Shape, TileCall, Tiles
from fuse_dialect.backends.llvm.contractions.tile_registers import configured, tile_shape
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.convolution_schedule import ConvolutionPlan


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

    def __init__(self, request: Request, plan: ConvolutionPlan):
        super().__init__(request, plan)
        self.p = plan
        self.above, self.along = plan.convolution.windows
        walk = plan.walk()
        self.steps, self.distance = walk.outer[0] if plan.in_blocks else (1, 0)
        if plan.in_blocks:
            walk = replace(walk, outer=walk.outer[1:])
        self.told = tile_shape((plan.grid.rows, plan.grid.columns), walk) if plan.has_tiles else None
        # positions of outer axes come from the convolution: some of them are row axes
        self.copies = replace(self.copies, contraction=plan.contraction)
        self.tiles = Tiles(
            request,
            plan.contraction,
            walk,
            (self.above.pixel, self.along.pixel),
            plan.in_blocks,
            told=self.told,
        )
        if plan.direct is None:
            self.strip = strip_function(request, plan.convolution, plan.strip)

    def write(self) -> None:
        f, plan = self.f, self.p
        strips = f.i64(-(-self.above.pixels // plan.strip_pixels))
        group = self.larger(self.panels, f.i64(1))
        if plan.splits_columns:
            group = self.larger(self.covering(self.panels, self.frame.parts), f.i64(1))
        groups = self.covering(self.panels, group)
        outer = self.count_of(plan.convolution.outer)
        low, high = self.frame.share(f.multiply(f.multiply(outer, groups), strips))
        hints = ["unroll.disable"]
        with configured(f, plan.machine, self.told), f.loop(low, high, carried=[f.i64(-1)], hints=hints) as loop:
            number, strip = self.frame.divided(loop.index, strips)
            rest, number_of_group = self.frame.divided(number, groups)
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
            # (1) As many input rows as the windows of these pixels cover.
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
        # (2) Whole tiles of pixel rows; strips are made of them, so only the last one has a rest.
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
            rows = self.frame.address(read.buffer, plan.direct, point)
        else:
            down = f.multiply(f.subtract(above, block.top), f.i64(self.above.step * plan.strip.row))
            right = f.multiply(left, f.i64(self.along.step * plan.strip.pitch))
            rows = f.offset(self.frame.workspace, f.add(down, right), self.type)
        rows, none = f.offset(rows, block.distance, self.type), f.i64(0)
        shape = Shape(grid, -(-columns // plan.lanes), plan.lanes, self.width, columns)
        self.tiles.call(
            f, self.slots, shape, TileCall(rows, block.panel, point, none, block.first, block.last, none, none)
        )


def write_convolution(request: Request, plan: ConvolutionPlan) -> None:
    """Write the kernel into the entry function."""
    Convolve(request, plan).write()
