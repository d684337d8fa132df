"""Matrix products of any kind: blocks of rows and of columns, around the micro-kernel.

1. Work is cut into tasks: points of the outer axes, groups of columns, blocks of rows. A part of the kernel takes its
   share of them in order, so that neighbouring tasks share columns.
2. Columns that are not packed at compile time are packed by the part when it comes to a new group of them; those of a
   sum of unknown length when it comes to a new block of that.
3. Rows are read where they lie if the micro-kernel can do that, else copied block by block. Whether an array begins
   with a line of the cache is asked once; where that decides, both are written.
4. In a block, all tiles of rows meet one panel of columns before the next panel follows.
"""

from fuse_dialect.backends.assembler.values import I1, I64, Value, constant
from fuse_dialect.backends.llvm.contractions.blocks import Blocks
from fuse_dialect.backends.llvm.contractions.tile import Shape, TileCall, Tiles
from fuse_dialect.backends.llvm.contractions.tile_registers import configured, tile_shape
from fuse_dialect.backends.llvm.intervals import IntervalOf
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops import tiling
from fuse_dialect.loops.matrix_schedule import Interval, Matrices
from fuse_dialect.loops.places import Place


class _Gemm(Blocks):
    """Writes the kernel."""

    def __init__(self, request: Request, matrices: Matrices):
        super().__init__(request, matrices)
        f, contraction = request.entry, matrices.contraction
        self.m = matrices
        row = contraction.row_axes[-1] if contraction.row_axes else None
        in_blocks = matrices.block_depth is not None
        walk = matrices.walk()
        self.told = tile_shape((1, matrices.tile.rows), walk) if matrices.has_tiles else None
        self.tiles = Tiles(request, contraction, walk, (None, row), in_blocks, matrices.expansion, self.told)
        self.row_tiles = self.ceiling(self.axis(row), matrices.tile.rows) if row is not None else f.i64(1)

    def write(self) -> None:
        f = self.f
        outer = self.count_of(self.m.contraction.outer)
        self._cut(outer)
        tasks = f.multiply(f.multiply(outer, self.groups), self.blocks)
        low, high = self.frame.share(tasks)
        if self.m.straightens:
            self.is_copied = self._begins_inside_a_line()
        hints = ["unroll.disable"]
        with configured(f, self.m.machine, self.told), f.loop(low, high, carried=[f.i64(-1)], hints=hints) as loop:
            number, block = self.frame.divided(loop.index, self.blocks)
            rest, group = self.frame.divided(number, self.groups)
            point = self.point_of(rest, self.m.contraction.outer)
            first = f.multiply(group, self.group)
            count = f.least(self.group, f.subtract(self.panels, first))
            if self.m.packs_blocks:
                base = f.offset(self.frame.workspace, f.i64(self.m.rows_room), self.type)
            elif self.m.lying is None:
                base = self.columns(point, (first, count), f.compare("ne", number, loop.carried[0]))
            else:
                base = self._lying(self.m.lying, {**point, self.column: f.multiply(first, f.i64(self.width))})
            self._depth_blocks(point, group, block, base)
            loop.following = [number]
        f.ret()

    def _lying(self, place: Place, point: dict[int, Value]) -> Value:
        """Address of the columns factor at a point, where it lies."""
        read = self.m.contraction.columns.read
        assert read is not None
        return self.frame.address(read.buffer, place, point)

    def _cut(self, outer: Value) -> None:
        """Decide at run time how many groups of columns and blocks of rows there are."""
        f, m = self.f, self.m
        # Many products outside of the matrices keep parts busy by themselves.
        few = outer.number is None or outer.number < tiling.many_tasks(m.machine)
        ways = self.frame.parts if few else f.i64(1)
        if m.splits_columns:
            most = f.i64(max(1, m.most_panels))
            self.group = f.least(self.larger(self.covering(self.panels, ways), f.i64(1)), most)
            self.block = f.i64(m.most_tiles)
        else:
            # Fewer tiles than parts, which only the run knows: parts share the columns, too.
            pieces = self.covering(ways, self.larger(self.row_tiles, f.i64(1))) if m.rows is None else f.i64(1)
            self.group = self.larger(self.covering(self.panels, pieces), f.i64(1))
            share = self.larger(self.covering(self.row_tiles, ways), f.i64(1))
            # Blocks of a share are as equal as possible, none above what the cache has room for.
            self.block = self.covering(share, self.covering(share, f.i64(m.most_tiles)))
        self.groups = self.covering(self.panels, self.group)
        self.blocks = self.larger(self.covering(self.row_tiles, self.block), f.i64(1))

    def _depth_blocks(
        self,
        point: dict[int, Value],
        group: Value,
        block: Value,
        base: Value,
        columns: tuple[Value, Value] | None = None,
        over: tuple[Value, Value] | None = None,
        adds: bool = False,
    ) -> None:
        """All products of a block of rows with a group of columns.

        Args:
            point: Values of the outer axes.
            group: Its number.
            block: Its number.
            base: Address of the first panel of the group.
            columns: The first panel, and the one behind the last; by default those of the group.
            over: The points of the one reduced axis; by default all of them.
            adds: Whether sums go on from what the result holds, and are not complete afterwards.
        """
        f, m = self.f, self.m
        yes = constant(I1, 1)
        apart = m.walk().panel_step
        step = m.width if apart is None else apart
        if m.block_depth is None:
            # Copied rows are one run over all reduced axes; where they lie, the last axis is one of several.
            first, count = f.i64(0), self.axis(m.contraction.reduced[-1]) if m.direct is not None else self.depth
            if over is not None:
                first, count = over[0], f.subtract(over[1], over[0])
                base = f.offset(base, f.multiply(first, f.i64(step)), self.type)
            self._block(point, group, block, base, (first, count, yes, yes), columns)
            return
        begin, end = (f.i64(0), self.depth) if over is None else over
        stop = self.larger(end, f.i64(1))  # without products, sums are 0, and finished all the same
        with f.loop(begin, stop, m.block_depth, hints=["unroll.disable"]) as loop:
            count = f.least(f.i64(m.block_depth), f.subtract(end, loop.index))
            first = constant(I1, 0) if adds else f.compare("eq", loop.index, begin)
            last = constant(I1, 0) if adds else f.compare("sge", f.add(loop.index, f.i64(m.block_depth)), end)
            panels = base
            if m.packs_blocks:
                start = f.multiply(group, self.group)
                span = f.multiply(start, f.i64(m.width)), f.least(self.group, f.subtract(self.panels, start))
                self.copies.panels(f, self.slots, base, point, span, m.vectors, (loop.index, count))
            else:
                panels = f.offset(base, f.multiply(loop.index, f.i64(step)), self.type)
            self._block(point, group, block, panels, (loop.index, count, first, last), columns)

    def _block(
        self,
        point: dict[int, Value],
        group: Value,
        block: Value,
        base: Value,
        depth: tuple[Value, Value, Value, Value],
        columns: tuple[Value, Value] | None,
    ) -> None:
        """All products of a block of rows with a group of columns, for some points of the reduced axes."""
        f, m = self.f, self.m
        first = f.multiply(block, self.block)
        stop = f.least(f.add(first, self.block), self.row_tiles)
        if m.direct is None:
            self._copy_rows(point, first, stop, depth)
        elif m.straightens:
            with f.when(self.is_copied):
                self._copy_rows(point, first, stop, depth)
        start = f.multiply(group, self.group)
        end = f.least(f.add(start, self.group), self.panels)
        whole = self.axis(m.contraction.column_axes[-1])
        whole = f.quotient(whole, m.width)

        def panel(number: Value, columns: int | None) -> None:
            width = f.i64(m.width)
            panel_depth = depth[1] if m.packs_blocks else self.depth
            panel_size = self.panel_size(panel_depth) if m.lying is None else width
            place = f.multiply(f.subtract(number, start), panel_size)
            address = f.offset(base, place, self.packed_type)
            self._rows(point, (first, stop), number, address, columns, depth)

        low, high = (start, end) if columns is None else columns
        # Panels that are whole, then the last one: each form of the micro-kernel knows how many columns it has.
        if m.columns is None or m.columns >= m.width:
            with f.loop(low, f.least(high, whole), hints=["unroll.disable"]) as loop:
                panel(loop.index, m.width)
        if m.columns is None or m.columns % m.width:
            with f.when(f.compare("slt", whole, high)):
                panel(whole, None if m.columns is None else m.columns % m.width)

    def _copy_rows(
        self, point: dict[int, Value], first: Value, stop: Value, depth: tuple[Value, Value, Value, Value]
    ) -> None:
        """Copy the rows of some tiles to the workspace."""
        f, m = self.f, self.m
        row = f.multiply(first, f.i64(m.tile.rows))
        count = f.multiply(f.subtract(stop, first), f.i64(m.tile.rows))
        taken = depth[1] if m.block_depth is not None else self.axis(m.contraction.reduced[-1])
        copied = f.least(count, self._tiled_rows(row))
        self.copies.rows(f, self.slots, self.frame.workspace, point, (row, copied, depth[0], taken), m.pitch)

    def _begins_inside_a_line(self) -> Value:
        """Whether the array of the rows factor does (3)."""
        f, read = self.f, self.m.contraction.rows.read
        assert read is not None, "rows that are read where they lie are those of an array"
        address = f.cast("ptrtoint", self.frame.pointers[read.buffer], I64)
        place = f.binary("and", address, f.i64(self.m.machine.line_bytes - 1))
        return f.compare("ne", place, f.i64(0))

    def _tiled_rows(self, first: Value) -> Value:
        """Rows that all tiles from a row on read, which are some more than there are."""
        f, m = self.f, self.m
        if not m.contraction.row_axes:
            return f.i64(1)
        rows = f.subtract(self.axis(m.contraction.row_axes[-1]), first)
        rest = f.remainder(rows, m.tile.rows)
        *smaller, last = m.last_tiles or (0,)
        read = f.i64(last)
        for tile in reversed(smaller):
            read = f.select(f.compare("sle", rest, f.i64(tile)), f.i64(tile), read)
        return f.add(f.subtract(rows, rest), read)

    def _rows(
        self,
        point: dict[int, Value],
        tiles: tuple[Value, Value],
        panel: Value,
        address: Value,
        columns: int | None,
        depth: tuple[Value, Value, Value, Value],
    ) -> None:
        """All tiles of a block of rows, for one panel."""
        f, m = self.f, self.m
        column = m.contraction.column_axes[-1]
        vectors = m.tile.vectors if columns is None else -(-columns // m.lanes)
        row_axis = m.contraction.row_axes[-1] if m.contraction.row_axes else None

        def tile(number: Value, rows: int, some: bool) -> None:
            shape = Shape((1, rows), vectors, m.lanes, m.width, columns, some)
            at = {**point, column: f.multiply(panel, f.i64(m.width))}
            row = f.multiply(number, f.i64(m.tile.rows))
            total = f.i64(1)
            if row_axis is not None:
                at[row_axis], total = row, self.axis(row_axis)
            left = f.subtract(self.axis(column), at[column])
            call = TileCall(
                self._row_address(at, f.subtract(number, tiles[0]), depth[0]),
                address,
                at,
                depth[1],
                depth[2],
                depth[3],
                f.least(f.i64(rows), f.subtract(total, row)),
                left,
            )
            self.tiles.call(f, self.slots, shape, call)

        if m.rows is None or m.rows >= m.tile.rows:
            whole = f.quotient(self.axis(row_axis), m.tile.rows) if row_axis is not None else f.i64(1)
            with f.loop(tiles[0], f.least(tiles[1], whole), hints=["unroll.disable"]) as loop:
                tile(loop.index, m.tile.rows, False)
        if row_axis is not None and m.last_tiles:
            whole = f.quotient(self.axis(row_axis), m.tile.rows)
            left = f.subtract(self.axis(row_axis), f.multiply(whole, f.i64(m.tile.rows)))

            def last(forms: tuple[int, ...]) -> list[Value]:
                rows, *larger = forms
                if not larger:
                    tile(whole, rows, m.rows is None and rows > 1)  # one is left, at least
                    return []
                fits = f.compare("sle", left, f.i64(rows))
                f.either(fits, lambda: last((rows,)), lambda: last(tuple(larger)))
                return []

            with f.when(f.compare("slt", whole, tiles[1])):
                last(m.last_tiles)

    def _row_address(self, at: dict[int, Value], tile: Value, k: Value) -> Value:
        f, m = self.f, self.m
        if m.direct is None:
            return self._copied_address(tile)
        read = m.contraction.rows.read
        assert read is not None
        lying = self.frame.address(read.buffer, m.direct, {**at, m.contraction.reduced[-1]: k})
        return f.select(self.is_copied, self._copied_address(tile), lying) if m.straightens else lying

    def _copied_address(self, tile: Value) -> Value:
        place = self.f.multiply(tile, self.f.i64(self.m.tile.rows * self.m.pitch))
        return self.f.offset(self.frame.workspace, place, self.type)


class _StripGemm(_Gemm):
    """The same for the rows of a strip: the function gets the numbers of its first row and of the one behind it.

    Rows are counted through all outer points.
    """

    def write_columns(self) -> None:
        """Pack the columns of the outer point that a row belongs to."""
        point, _ = self._place()
        to = self.f.offset(self.frame.workspace, self.f.i64(self.m.rows_room), self.type)
        self.copies.panels(self.f, self.slots, to, point, (self.f.i64(0), self.panels), self.m.vectors)
        self.f.ret()

    def write_strip(self, interval: IntervalOf) -> None:
        """Write the products of a strip that finds its columns packed."""
        point, block = self._begun()
        columns, over = None, None
        if self.m.interval is Interval.DEPTH:
            over = interval(self.frame)
        elif self.m.interval is Interval.COLUMNS:
            columns = self._panels_of(interval(self.frame))
        self._depth_blocks(point, self.f.i64(0), block, self._columns(point), columns, over)
        self.f.ret()

    def write_block(self, interval: IntervalOf) -> None:
        """Write the products of a strip with a block of columns, which it packs, or those that add to its rows."""
        f, (point, block) = self.f, self._begun()
        zero, over = f.i64(0), interval(self.frame)
        if self.m.interval is Interval.DEPTH:
            self._depth_blocks(point, zero, block, self._columns(point), None, over, adds=True)
        else:
            low, stop = self._panels_of(over)
            base = self._packed(point)
            first = f.multiply(low, f.i64(self.width))
            self.copies.panels(f, self.slots, base, point, (first, f.subtract(stop, low)), self.m.vectors)
            # Panels are counted from the first column of all.
            base = f.offset(base, f.multiply(f.multiply(low, f.i64(-1)), self.panel_size(self.depth)), self.type)
            self._depth_blocks(point, zero, block, base, (low, stop))
        f.ret()

    def _begun(self) -> tuple[dict[int, Value], Value]:
        """The outer point of the strip, and the number of its block of rows there."""
        height = self.m.strip_rows
        assert height is not None, "a schedule of strips says how many rows they have"
        assert self.told is None, "strips multiply by vectors: they tell the processor nothing of tiles"
        point, row = self._place()
        self.group, self.block = self.larger(self.panels, self.f.i64(1)), self.f.i64(self.m.most_tiles)
        return point, self.f.quotient(row, height)

    def _columns(self, point: dict[int, Value]) -> Value:
        """Address of the first column, packed or where it lies."""
        if self.m.lying is None:
            return self._packed(point)
        return self._lying(self.m.lying, {**point, self.column: self.f.i64(0)})

    def _packed(self, point: dict[int, Value]) -> Value:
        """Address of the first panel of columns."""
        if self.m.packing is None:
            return self.f.offset(self.frame.workspace, self.f.i64(self.m.rows_room), self.type)
        return self.columns(point, (self.f.i64(0), self.panels), constant(I1, 0))

    def _panels_of(self, columns: tuple[Value, Value]) -> tuple[Value, Value]:
        """The first panel of some columns and the one behind the last."""
        return self.f.quotient(columns[0], self.width), self.ceiling(columns[1], self.width)

    def _place(self) -> tuple[dict[int, Value], Value]:
        """The outer point of the first row, and the number of the row there."""
        axes = self.m.contraction.row_axes
        rows = self.axis(axes[-1]) if axes else self.f.i64(1)
        number, row = self.frame.divided(self.frame.part, rows)
        return self.point_of(number, self.m.contraction.outer), row


def write_gemm(request: Request, matrices: Matrices) -> None:
    """Write the kernel into the entry function."""
    _Gemm(request, matrices).write()


def write_strip_gemm(columns: Request | None, rows: Request, matrices: Matrices, interval: IntervalOf) -> None:
    """Write the products of a strip, and what packs the columns of its outer point, into their functions.

    Args:
        columns: Whose function packs columns; `None` where that happens at compile time.
        rows: Whose function multiplies.
        matrices: What is multiplied.
        interval: What of the columns, or of the reduced axis, a strip needs, if it leaves some out.
    """
    if columns is not None:
        _StripGemm(columns, matrices).write_columns()
    _StripGemm(rows, matrices).write_strip(interval)


def write_block_gemm(request: Request, matrices: Matrices, interval: IntervalOf) -> None:
    """Write the products of a strip with one block of columns, which are packed there, into their function.

    Args:
        request: Whose function it is.
        matrices: What is multiplied; sums over the columns of a block add to what the result holds.
        interval: The block.
    """
    _StripGemm(request, matrices).write_block(interval)
