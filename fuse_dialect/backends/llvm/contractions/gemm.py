"""Matrix products of any kind: blocks of rows and of columns, around the micro-kernel.

1. Work is cut into tasks: points of the outer axes, groups of columns, blocks of rows. A part of the kernel takes its
   share of them in order, so that neighbouring tasks share columns.
2. Columns that are not packed at compile time are packed by the part when it comes to a new group of them.
3. Rows are read where they lie if the micro-kernel can do that, else copied block by block.
4. In a block, all tiles of rows meet one panel of columns before the next panel follows.
"""

from dataclasses import dataclass
from math import prod

from fuse_dialect.backends.llvm.builder import Function, Module
from fuse_dialect.backends.llvm.contractions import schedule
from fuse_dialect.backends.llvm.contractions.blocks import Blocks
from fuse_dialect.backends.llvm.contractions.tile import Shape, TileCall, Tiles, Walk
from fuse_dialect.backends.llvm.elements import element_bytes, memory_type
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.backends.llvm.values import I1, Value, constant
from fuse_dialect.kernels.access import FlatPlace, flat_place
from fuse_dialect.kernels.contraction import Contraction, shapes_of, store_place
from fuse_dialect.kernels.packing import Packing, packing_of
from fuse_dialect.kernels.program import LoopProgram, Read


@dataclass(frozen=True, slots=True)
class Matrices:
    """A contraction of matrices, with what is decided about it."""

    program: LoopProgram
    contraction: Contraction
    host: Host
    tile: schedule.TileSize
    lanes: int
    direct: FlatPlace | None
    """Where the rows factor lies, if it is read there."""
    packing: Packing | None
    """How the columns factor was packed at compile time."""
    lying: FlatPlace | None
    """Where the columns factor lies, if it is read there: no element of it is needed twice."""
    depth: int | None
    """All points of the reduced axes; `None` if that is not known."""
    block_depth: int | None
    """Points of the last reduced axis in a block; `None` if all."""

    @property
    def vectors(self) -> int:
        """Vectors of a panel."""
        return self.tile.vectors

    @property
    def width(self) -> int:
        """Columns of a panel."""
        return self.tile.vectors * self.lanes

    @property
    def rows(self) -> int | None:
        """Number of rows; `None` if it is not known."""
        axes = self.contraction.row_axes
        return _known(self.contraction.stage.axes[axes[-1]].size) if axes else 1

    @property
    def columns(self) -> int | None:
        """Number of columns; `None` if it is not known."""
        return _known(self.contraction.stage.axes[self.contraction.column_axes[-1]].size)

    @property
    def is_plain(self) -> bool:
        """Whether rows lie at equal distances: nothing is padded, and no two axes are merged that are apart."""
        shapes, rank = shapes_of(self.program), len(self.contraction.stage.axes)
        reads = [each for each in self.contraction.rows.body if isinstance(each, Read)]
        return all(
            not read.guards and flat_place(read.indices, shapes[read.buffer], rank) is not None for read in reads
        )

    @property
    def bytes(self) -> int:
        """Of an element of the factors."""
        return element_bytes(self.contraction.element)

    @property
    def pitch(self) -> int:
        """Distance of copied rows, in elements."""
        depth = self.block_depth if self.block_depth is not None else self.depth
        assert depth is not None, "rows of unknown length are copied in blocks"
        return schedule.pitch(depth, self.bytes)

    @property
    def most_tiles(self) -> int:
        """Tiles of rows in a block."""
        depth = self.block_depth if self.block_depth is not None else self.depth
        row = self.tile.rows * max(depth or 1, 1) * self.bytes
        return max(1, schedule.BLOCK_BYTES // row)

    @property
    def most_panels(self) -> int:
        """Panels of a group that is packed at run time."""
        if self.packing is not None or self.lying is not None:
            return 1 << 40
        return max(1, schedule.PACKED_BYTES // (self.width * max(self.depth or 4096, 1) * self.bytes))

    @property
    def splits_columns(self) -> bool:
        """Whether parts differ in their columns, else in their rows."""
        panels = 1 << 30 if self.columns is None else -(-self.columns // self.width)
        tiles = 1 << 30 if self.rows is None else -(-self.rows // self.tile.rows)
        if self.packing is None and self.lying is None:
            return panels >= schedule.MANY_TASKS or panels >= tiles or panels > self.most_panels
        return tiles < schedule.MANY_TASKS

    @property
    def rows_room(self) -> int:
        """Elements of the workspace for a block of rows, whole cache lines."""
        return 0 if self.direct is not None else self.most_tiles * self.tile.rows * self.pitch

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        if self.packing is not None or self.lying is not None:
            return self.rows_room * self.bytes
        panels = self.most_panels
        if self.columns is not None:
            panels = min(panels, -(-self.columns // self.width))
        return (self.rows_room + panels * self.width * (self.depth or 4096)) * self.bytes

    def walk(self) -> Walk:
        """How micro-kernels get at elements of the rows factor."""
        reduced = self.contraction.reduced
        panel = None if self.lying is None else _number(self.lying.strides[reduced[-1]].number)
        if self.direct is None:
            return Walk((0, self.pitch), (), 1, self.depth if self.block_depth is None else None, panel)
        steps = [_number(self.direct.strides[axis].number) for axis in reduced]
        sizes = [_number(_known(self.contraction.stage.axes[axis].size)) for axis in reduced]
        rows = self.contraction.row_axes
        row = _number(self.direct.strides[rows[-1]].number) if rows else 0
        outer = tuple(zip(sizes[:-1], steps[:-1], strict=True))
        return Walk((0, row), outer, steps[-1], sizes[-1] if self.block_depth is None else None, panel)


def _number(number: int | None) -> int:
    assert number is not None, "rows that are read where they lie have known strides"
    return number


def _known(size: int | str) -> int | None:
    return size if isinstance(size, int) else None


def matrices_of(
    program: LoopProgram, contraction: Contraction, host: Host, constants: frozenset[str]
) -> Matrices | None:
    """What to do about a contraction; `None` if it has sizes for which there is no kernel.

    Args:
        program: What the contraction is from.
        contraction: As `as_matrices` gives it.
        host: The processor.
        constants: Buffers that may be packed at compile time.
    """
    stage = contraction.stage
    element = element_bytes(contraction.element)
    lanes = host.vector_bytes // element
    sizes = [_known(stage.axes[axis].size) for axis in contraction.reduced]
    if not sizes or None in sizes:
        return None
    depth = prod(size or 0 for size in sizes)
    rows = _known(stage.axes[contraction.row_axes[-1]].size) if contraction.row_axes else 1
    columns = _known(stage.axes[contraction.column_axes[-1]].size)
    tile = schedule.tile_size(host, lanes, rows, columns)
    width = tile.vectors * lanes
    kinds = {buffer.name: buffer.element for buffer in program.buffers}
    tiles = 1 << 30 if rows is None else -(-rows // tile.rows)
    block = depth
    if len(sizes) == 1 and kinds[stage.buffer] == contraction.element:
        block = schedule.depth_block(depth, width, element, tiles)
    packing = packing_of(program, contraction, constants, width)
    direct = _direct_place(program, contraction, tile.rows, columns)
    lying = _lying_columns(program, contraction) if packing is None and tiles == 1 else None
    block_depth = None if block == depth else block
    return Matrices(program, contraction, host, tile, lanes, direct, packing, lying, depth, block_depth)


def _lying_columns(program: LoopProgram, contraction: Contraction) -> FlatPlace | None:
    """Where the columns factor lies, if its rows are contiguous and micro-kernels can read them there."""
    read, reduced = contraction.columns.read, contraction.reduced
    if read is None or read.guards or len(reduced) != 1:
        return None
    buffer = next(buffer for buffer in program.buffers if buffer.name == read.buffer)
    place = flat_place(read.indices, buffer.shape, len(contraction.stage.axes))
    if buffer.element != contraction.element or place is None or place.strides[reduced[0]].number is None:
        return None
    return place if place.strides[contraction.column_axes[-1]].number == 1 else None


def _direct_place(program: LoopProgram, contraction: Contraction, rows: int, columns: int | None) -> FlatPlace | None:
    """Where the rows factor lies, if micro-kernels should read it there."""
    read, stage = contraction.rows.read, contraction.stage
    if read is None or read.guards:
        return None
    buffer = next(buffer for buffer in program.buffers if buffer.name == read.buffer)
    place = flat_place(read.indices, buffer.shape, len(stage.axes))
    axes = (*contraction.row_axes, *contraction.reduced)
    if buffer.element != contraction.element or place is None:
        return None
    if any(place.strides[axis].number is None for axis in axes):
        return None
    if contraction.row_axes:
        axis = contraction.row_axes[-1]
        if not isinstance(stage.axes[axis].size, int):
            return None  # the last tile may reach beyond the last row
        distance = _number(place.strides[axis].number) * element_bytes(contraction.element)
        if schedule.collides(distance, rows) and (columns is None or columns >= schedule.WORTH_COPYING):
            return None
    return place


class _Gemm(Blocks):
    """Writes the kernel."""

    def __init__(self, module: Module, matrices: Matrices, f: Function):
        super().__init__(module, matrices, f)
        self.m = matrices
        contraction, program = matrices.contraction, matrices.program
        store = store_place(program, contraction.stage)
        assert store is not None
        row = contraction.row_axes[-1] if contraction.row_axes else None
        in_blocks = matrices.block_depth is not None
        self.tiles = Tiles(
            module, program, contraction, store, matrices.host, f.name, matrices.walk(), (None, row), in_blocks
        )
        self.row_tiles = self.ceiling(self.axis(row), matrices.tile.rows) if row is not None else f.i64(1)

    def write(self) -> None:
        f = self.f
        outer = f.i64(1)
        for axis in self.m.contraction.outer:
            outer = f.multiply(outer, self.axis(axis))
        self._cut(outer)
        tasks = f.multiply(f.multiply(outer, self.groups), self.blocks)
        low, high = self.share(tasks)
        with f.loop(low, high, carried=[f.i64(-1)], hints=["unroll.disable"]) as loop:
            number, block = self.divided(loop.index, self.blocks)
            rest, group = self.divided(number, self.groups)
            point = self.point_of(rest, self.m.contraction.outer)
            first = f.multiply(group, self.group)
            count = f.least(self.group, f.subtract(self.panels, first))
            if self.m.lying is None:
                base = self.columns(point, (first, count), f.compare("ne", number, loop.carried[0]))
            else:
                base = self._lying(self.m.lying, {**point, self.column: f.multiply(first, f.i64(self.width))})
            self._depth_blocks(point, group, block, base)
            loop.following = [number]
        f.ret()

    def _lying(self, place: FlatPlace, point: dict[int, Value]) -> Value:
        """Address of the columns factor at a point, where it lies."""
        read = self.m.contraction.columns.read
        assert read is not None
        return self.f.offset(self.frame.address(read.buffer), self.frame.place(place, point), self.type)

    def _cut(self, outer: Value) -> None:
        """Decide at run time how many groups of columns and blocks of rows there are."""
        f, m = self.f, self.m
        few = outer.number is None or outer.number < schedule.MANY_TASKS
        ways = self.parts if few else f.i64(1)
        if m.splits_columns:
            most = f.i64(max(1, m.most_panels))
            self.group = f.least(self.larger(self.covering(self.panels, ways), f.i64(1)), most)
            self.block = f.i64(m.most_tiles)
        else:
            self.group = self.larger(self.panels, f.i64(1))
            share = self.larger(self.covering(self.row_tiles, ways), f.i64(1))
            self.block = self.covering(share, self.covering(share, f.i64(m.most_tiles)))
        self.groups = self.covering(self.panels, self.group)
        self.blocks = self.larger(self.covering(self.row_tiles, self.block), f.i64(1))

    def _depth_blocks(self, point: dict[int, Value], group: Value, block: Value, base: Value) -> None:
        f, m = self.f, self.m
        yes = constant(I1, 1)
        if m.block_depth is None:
            count = self.axis(m.contraction.reduced[-1]) if m.direct is not None else self.depth
            self._block(point, group, block, base, (f.i64(0), count, yes, yes))
            return
        stop = self.larger(self.depth, f.i64(1))  # without products, sums are 0, and finished all the same
        with f.loop(f.i64(0), stop, m.block_depth, hints=["unroll.disable"]) as loop:
            count = f.least(f.i64(m.block_depth), f.subtract(self.depth, loop.index))
            first = f.compare("eq", loop.index, f.i64(0))
            last = f.compare("sge", f.add(loop.index, f.i64(m.block_depth)), self.depth)
            apart = m.walk().panel_step
            step = m.width if apart is None else apart
            panels = f.offset(base, f.multiply(loop.index, f.i64(step)), self.type)
            self._block(point, group, block, panels, (loop.index, count, first, last))

    def _block(
        self,
        point: dict[int, Value],
        group: Value,
        block: Value,
        base: Value,
        depth: tuple[Value, Value, Value, Value],
    ) -> None:
        """All products of a block of rows with a group of columns, for some points of the reduced axes."""
        f, m = self.f, self.m
        first = f.multiply(block, self.block)
        stop = f.least(f.add(first, self.block), self.row_tiles)
        if m.direct is None:
            row = f.multiply(first, f.i64(m.tile.rows))
            count = f.multiply(f.subtract(stop, first), f.i64(m.tile.rows))
            last = self.axis(m.contraction.reduced[-1])
            taken = depth[1] if m.block_depth is not None else last
            self.copies.rows(f, self.slots, self.frame.workspace, point, (row, count, depth[0], taken), m.pitch)
        start = f.multiply(group, self.group)
        end = f.least(f.add(start, self.group), self.panels)
        whole = self.axis(m.contraction.column_axes[-1])
        whole = f.quotient(whole, m.width)

        def panel(number: Value, columns: int | None) -> None:
            width = f.i64(m.width)
            panel_size = f.multiply(self.depth, width) if m.lying is None else width
            place = f.multiply(f.subtract(number, start), panel_size)
            address = f.offset(base, place, self.type)
            self._rows(point, (first, stop), number, address, columns, depth)

        if m.columns is None or m.columns >= m.width:
            with f.loop(start, f.least(end, whole), hints=["unroll.disable"]) as loop:
                panel(loop.index, m.width)
        if m.columns is None or m.columns % m.width:
            with f.when(f.compare("slt", whole, end)):
                panel(whole, None if m.columns is None else m.columns % m.width)

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
        if row_axis is not None and (m.rows is None or m.rows % m.tile.rows):
            whole = f.quotient(self.axis(row_axis), m.tile.rows)
            with f.when(f.compare("slt", whole, tiles[1])):
                tile(whole, m.tile.rows if m.rows is None else m.rows % m.tile.rows, m.rows is None)

    def _row_address(self, at: dict[int, Value], tile: Value, k: Value) -> Value:
        f, m = self.f, self.m
        if m.direct is None:
            place = f.multiply(tile, f.i64(m.tile.rows * m.pitch))
            return f.offset(self.frame.workspace, place, self.type)
        read = m.contraction.rows.read
        assert read is not None
        place = self.frame.place(m.direct, {**at, m.contraction.reduced[-1]: k})
        return f.offset(self.frame.address(read.buffer), place, memory_type(m.contraction.element))


def write_gemm(module: Module, matrices: Matrices, f: Function) -> None:
    """Write the kernel into `f`, a function of `slots`, `part` and `parts`."""
    _Gemm(module, matrices, f).write()
