"""Matrix products of any kind as blocks and tiles for a machine. Pure data, and the choice of it.

1. A block of rows stays in the second-level cache while the panels of a group of columns pass by.
2. Parts share groups of columns or blocks of rows: that of which there are enough, and which nobody does twice.
3. A long sum is taken in blocks of the reduced axis; sums wait in the result in between.
4. Factors are read where they lie if that is flat and each element is needed in one place, else copied or packed.
5. A sum of unknown length is taken in blocks, too, unless both factors are read where they lie: a workspace has a size.
   Its columns are packed anew for each block.
6. Of an unknown number of rows, those that fill no tile get the smallest of a few tiles that holds them: a decoder has
   one row, and a tile of 14 would do 14 times its work.
7. Registers for tiles are so fast that results count: one tile of rows meets all panels of a group that stays in the
   second-level cache, so that it writes along rows. In turns with the next tile it would write to a page for each row.
8. A row of such a register is a line. From two lines it takes twice as long, so rows that are no whole lines are copied
   if enough columns follow; those of an array that begins inside of a line, too, which only a call knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod

from fuse_dialect.loops import tiling
from fuse_dialect.loops.contraction import Contraction, lying_place, shapes_of
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.expansions import Expansion, expansion_of
from fuse_dialect.loops.packing import Packing, packing_of
from fuse_dialect.loops.places import Place, flat_place
from fuse_dialect.loops.program import LoopProgram, Read
from fuse_dialect.loops.tiling import Walk
from fuse_dialect.machines.machine import Machine

OPEN_BLOCK = 256
"""Points of the reduced axis in a block where nobody knows how many there are (5)."""
SMALL_TILES = (1, 4, 8)
"""Rows of tiles for the last rows where nobody knows how many there are (6)."""


class Interval(Enum):
    """What runs over an interval that each strip has for itself."""

    COLUMNS = "columns"
    """Whole panels."""
    DEPTH = "depth"
    """Points of the one reduced axis."""


@dataclass(frozen=True, slots=True)
class Matrices:
    """A contraction of matrices, with what is decided about it."""

    program: LoopProgram
    contraction: Contraction
    machine: Machine
    tile: tiling.TileSize
    lanes: int
    direct: Place | None
    """Where the rows factor lies, if it is read there."""
    packing: Packing | None
    """How the columns factor was packed at compile time."""
    lying: Place | None
    """Where the columns factor lies, if it is read there: no element of it is needed twice."""
    depth: int | None
    """All points of the reduced axes; `None` if that is not known."""
    block_depth: int | None
    """Points of the last reduced axis in a block; `None` if all."""
    strip_rows: int | None = None
    """Rows that meet all columns at once, whole tiles, where a program runs in strips; `None` where this decides."""
    interval: Interval | None = None
    """What of the product a strip may leave out."""
    block_columns: int | None = None
    """Columns that are packed at a time, whole panels, where a program runs in blocks of them."""
    expansion: Expansion | None = None
    """How columns are made of what was packed at compile time, if that is not what is multiplied."""
    has_tiles: bool = False
    """Whether registers for tiles hold the sums of many rows (`tiling`, 5)."""
    turns_panels: bool = False
    """Whether a tile of rows meets all panels of a group before the next one comes (7)."""
    straightens: bool = False
    """Whether rows that are read where they lie are copied if their array begins inside of a line (8)."""

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
    def last_tiles(self) -> tuple[int, ...]:
        """Rows of the tiles for rows that fill no tile, the smallest that holds them is taken (6)."""
        if self.rows is not None:
            rest = self.rows % self.tile.rows
            return (rest,) if rest else ()
        return (*(rows for rows in SMALL_TILES if rows < self.tile.rows), self.tile.rows)

    @property
    def columns(self) -> int | None:
        """Number of columns; `None` if it is not known."""
        return _known(self.contraction.stage.axes[self.contraction.column_axes[-1]].size)

    @property
    def packings(self) -> Mapping[str, Packing]:
        """The buffers that are packed at compile time."""
        if self.expansion is not None:
            return self.expansion.packings
        read = self.contraction.columns.constant_read
        return {} if self.packing is None or read is None else {read.buffer: self.packing}

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
        if self.direct is not None:  # (8) micro-kernels know one distance
            return _row_distance(self.contraction, self.direct)
        depth = self.block_depth if self.block_depth is not None else self.depth
        assert depth is not None, "rows of unknown length are copied in blocks"
        return tiling.pitch(self.machine, depth, self.bytes)

    @property
    def packs_blocks(self) -> bool:
        """Whether columns are packed for a block of the reduced axis, and not for all of it (5)."""
        return self.depth is None and self.block_depth is not None and self.lying is None

    @property
    def panel_depth(self) -> int:
        """Points of the reduced axes that a panel packed at run time has."""
        depth = self.block_depth if self.packs_blocks else self.depth
        assert depth is not None, "columns that are packed have a length, or are packed in blocks"
        return max(depth, 1)

    @property
    def most_tiles(self) -> int:
        """Tiles of rows in a block."""
        if self.strip_rows is not None:
            return self.strip_rows // self.tile.rows
        if self.turns_panels:
            return 1
        depth = self.block_depth if self.block_depth is not None else self.depth
        # (1) All tiles of a block meet a panel before the next one comes, so the block stays in the cache.
        row = self.tile.rows * max(depth or 1, 1) * self.bytes
        return max(1, tiling.block_bytes(self.machine) // row)

    @property
    def most_panels(self) -> int:
        """Panels of a group that is packed at run time."""
        if self.block_columns is not None:
            return self.block_columns // self.width
        if self.turns_panels:
            depth = self.block_depth if self.block_depth is not None else self.depth
            return tiling.group_panels(self.machine, depth, self.width, self.bytes)
        # Columns that need no copy need no room either; those of strips are there as long as there are strips.
        if self.packing is not None or self.lying is not None or self.strip_rows is not None:
            return 1 << 40
        return max(1, tiling.packed_bytes(self.machine) // (self.width * self.panel_depth * self.bytes))

    @property
    def splits_columns(self) -> bool:
        """Whether parts differ in their columns, else in their rows."""
        if self.turns_panels:
            return True
        panels = 1 << 30 if self.columns is None else -(-self.columns // self.width)
        tiles = 1 << 30 if self.rows is None else -(-self.rows // self.tile.rows)
        # (2) Columns that a part packs it should use alone: if parts shared rows each would pack all of them.
        if self.packing is None and self.lying is None:
            return panels >= tiling.many_tasks(self.machine) or panels >= tiles or panels > self.most_panels
        return tiles < tiling.many_tasks(self.machine)

    @property
    def rows_room(self) -> int:
        """Elements of the workspace for a block of rows, whole cache lines."""
        is_read = self.direct is not None and not self.straightens
        return 0 if is_read else self.most_tiles * self.tile.rows * self.pitch

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        if self.packing is not None or self.lying is not None:
            return self.rows_room * self.bytes
        panels = self.most_panels
        if self.columns is not None:
            panels = min(panels, -(-self.columns // self.width))
        return (self.rows_room + panels * self.width * self.panel_depth) * self.bytes

    def walk(self) -> Walk:
        """How micro-kernels get at elements of the rows factor."""
        reduced = self.contraction.reduced
        is_whole = self.block_depth is None and self.interval is not Interval.DEPTH
        panel = None if self.lying is None else _number(self.lying.strides[reduced[-1]].number)
        if self.expansion is not None and self.direct is None:
            *blocks, last = (_number(_known(self.contraction.stage.axes[axis].size)) for axis in reduced)
            return Walk((0, self.pitch), ((prod(blocks), last),) if blocks else (), 1, last, panel)
        if self.direct is None:
            return Walk((0, self.pitch), (), 1, self.depth if is_whole else None, panel)
        steps = [_number(self.direct.strides[axis].number) for axis in reduced]
        sizes = [_known(self.contraction.stage.axes[axis].size) for axis in reduced]
        row = _row_distance(self.contraction, self.direct)
        outer = tuple((_number(size), step) for size, step in zip(sizes[:-1], steps[:-1], strict=True))
        return Walk((0, row), outer, steps[-1], sizes[-1] if is_whole else None, panel)


def _number(number: int | None) -> int:
    assert number is not None, "rows that are read where they lie have known strides"
    return number


def _row_distance(contraction: Contraction, place: Place) -> int:
    """Elements from one row to the next where rows lie; 0 if there is one alone."""
    axes = contraction.row_axes
    return _number(place.strides[axes[-1]].number) if axes else 0


def _known(size: int | str) -> int | None:
    return size if isinstance(size, int) else None


def matrices_of(
    program: LoopProgram,
    contraction: Contraction,
    machine: Machine,
    constants: frozenset[str],
    *,
    shares_columns: bool = False,
    block: int | None = None,
    whole_tiles: frozenset[str] = frozenset(),
) -> Matrices | None:
    """What to do about a contraction; `None` if it has sizes for which there is no kernel.

    Args:
        program: What the contraction is from.
        contraction: As `as_matrices` gives it.
        machine: The processor.
        constants: Buffers that may be packed at compile time.
        shares_columns: Whether columns meet more rows than these: they are packed, unless one tile has all rows.
        block: How many points of the reduced axis the caller takes at a time, if it does so.
        whole_tiles: Buffers that have rows for whole tiles, whatever their number.
    """
    stage = contraction.stage
    element = element_bytes(contraction.element)
    sizes = [_known(stage.axes[axis].size) for axis in contraction.reduced]
    kinds = {buffer.name: buffer.element for buffer in program.buffers}
    # (3) Sums of a block wait in the result, so it must hold them exactly; several axes would need several loops.
    has_blocks = len(sizes) == 1 and kinds[stage.buffer] == contraction.element
    is_open = None in sizes
    if not sizes or (is_open and (shares_columns or not has_blocks)):
        return None
    depth = None if is_open else prod(size or 0 for size in sizes)
    rows = _known(stage.axes[contraction.row_axes[-1]].size) if contraction.row_axes else 1
    columns = _known(stage.axes[contraction.column_axes[-1]].size)
    lanes = tiling.lanes_of(machine, element, columns, contraction.product)
    has_tiles = tiling.fills_tiles(machine, contraction.product, lanes, rows)
    tile = tiling.tile_size(machine, lanes, rows, columns, contraction.product)
    width = tile.vectors * lanes
    tiles = 1 << 30 if rows is None else -(-rows // tile.rows)
    packing = packing_of(program, contraction, constants, width)
    expansion = None
    if packing is None and not is_open and not shares_columns:
        expansion = expansion_of(program, contraction, constants, width)
        packing = None if expansion is None else expansion.panels
    # Of a row a tile takes a whole line, and none of it again before all other lines of the block.
    direct = _direct_place(program, contraction, machine, 1 if has_tiles else tile.rows, columns, whole_tiles)
    turns_panels = has_tiles and lying_place(program, contraction, contraction.rows) is not None
    straightens = False
    if has_tiles and direct is not None:
        at_once = tiling.group_panels(machine, block or depth, width, element) * width
        is_worth_copying = min(at_once, columns or at_once) >= tiling.WORTH_STRAIGHTENING
        direct = _direct_for_tiles(contraction, direct, machine, copies=is_worth_copying)
        # A single row is one load of a tile, from two lines or not; and it has no distance to a next one.
        may_straighten = contraction.row_axes and len(contraction.reduced) == 1 and depth is not None
        straightens = direct is not None and is_worth_copying and bool(may_straighten)
    # (4) One tile of rows needs each column once: to pack it would cost as much as the product.
    lying = _lying_columns(program, contraction) if packing is None and tiles == 1 and not has_tiles else None
    block_depth = block
    if block is None and depth is None:
        block_depth = None if direct is not None and lying is not None else OPEN_BLOCK  # (5)
    elif block is None and depth is not None and has_blocks and expansion is None:
        most = tiling.depth_block(machine, depth, width, element, tiles, tiling.TILE_ROWS if has_tiles else 4)
        block_depth = None if most == depth else most
    return Matrices(
        program,
        contraction,
        machine,
        tile,
        lanes,
        direct,
        packing,
        lying,
        depth,
        block_depth,
        expansion=expansion,
        has_tiles=has_tiles,
        turns_panels=turns_panels,
        straightens=straightens,
    )


def _lying_columns(program: LoopProgram, contraction: Contraction) -> Place | None:
    """Where the columns factor lies, if its rows are contiguous and micro-kernels can read them there."""
    place, reduced = lying_place(program, contraction, contraction.columns), contraction.reduced
    if place is None or len(reduced) != 1 or place.strides[reduced[0]].number is None:
        return None
    return place if place.strides[contraction.column_axes[-1]].number == 1 else None


def _direct_for_tiles(contraction: Contraction, direct: Place, machine: Machine, *, copies: bool) -> Place | None:
    """Where the rows factor lies, if tiles should load it there; `copies`: whether enough columns follow for a copy."""
    # What a tile's row holds follows each other, as in copied rows.
    if direct.strides[contraction.reduced[-1]].number != 1:
        return None
    # (8)
    are_lines = _row_distance(contraction, direct) * element_bytes(contraction.element) % machine.line_bytes == 0
    return direct if are_lines or not copies else None


def _direct_place(
    program: LoopProgram,
    contraction: Contraction,
    machine: Machine,
    rows: int,
    columns: int | None,
    whole_tiles: frozenset[str],
) -> Place | None:
    """Where the rows factor lies, if micro-kernels should read it there."""
    place, stage = lying_place(program, contraction, contraction.rows), contraction.stage
    axes = (*contraction.row_axes, *contraction.reduced)
    if place is None or any(place.strides[axis].number is None for axis in axes):
        return None
    if contraction.row_axes:
        axis = contraction.row_axes[-1]
        read = contraction.rows.read
        if not isinstance(stage.axes[axis].size, int) and (read is None or read.buffer not in whole_tiles):
            return None  # the last tile may reach beyond the last row
        distance = _number(place.strides[axis].number) * element_bytes(contraction.element)
        if tiling.collides(machine, distance, rows) and (columns is None or columns >= tiling.WORTH_COPYING):
            return None
    return place
