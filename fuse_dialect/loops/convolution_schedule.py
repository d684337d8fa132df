"""Convolutions as strips of pixels, panels of channels and tiles for a machine. Pure data, and the choice of it.

1. A strip is some rows of output pixels. If the input has zeros around it, or is computed, its strip is copied to the
   workspace first; else it is read where it lies.
2. All tiles of a strip meet one panel of columns before the next panel follows.
3. Parts share the strips if there are many, else the panels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from fuse_dialect.loops import tiling
from fuse_dialect.loops.contraction import Contraction, lying_place
from fuse_dialect.loops.convolution import Convolution
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.packing import Packing, packing_of
from fuse_dialect.loops.places import Place
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.tiling import Walk, walk_of
from fuse_dialect.machines.machine import Machine


@dataclass(frozen=True, slots=True)
class Strip:
    """Sizes of a strip, in elements."""

    rows: int
    """Rows of positions that there is room for."""
    positions: int
    """Positions of a row."""
    innermost: int
    """Elements of a position."""
    pitch: int
    """Distance of positions: more than they have elements if they would drive each other out of the cache."""

    @property
    def row(self) -> int:
        """Distance of rows."""
        return self.positions * self.pitch

    @property
    def plane(self) -> int:
        """Elements for one point of the free axes."""
        return self.rows * self.row


@dataclass(frozen=True, slots=True)
class Grid:
    """How output pixels are cut into tiles."""

    rows: int
    """Pixel rows of a tile."""
    columns: int
    """Pixel columns of a tile."""


def tile_grid(height: int, width: int) -> Grid:
    """The tile that fills two tiles of rows, each of pixels side by side."""
    if width > tiling.TILE_ROWS:
        return Grid(1, tiling.even_part(width, 2 * tiling.TILE_ROWS))
    return Grid(min(height, 2), width)


def grid_of(height: int, width: int, most: int) -> Grid:
    """The tile that wastes the least: part of a row, or several rows if these are short."""
    if 2 * width > most:
        return Grid(1, tiling.even_part(width, most))
    return Grid(tiling.even_part(height, max(most // max(width, 1), 1)), max(width, 1))


@dataclass(frozen=True, slots=True)
class ConvolutionPlan:
    """A convolution, with what is decided about it."""

    program: LoopProgram
    convolution: Convolution
    machine: Machine
    lanes: int
    vectors: int
    grid: Grid
    strip_pixels: int
    """Pixel rows of a strip."""
    strip: Strip
    direct: Place | None
    """Where the rows factor lies, if it is read there."""
    packing: Packing | None
    splits_columns: bool
    has_tiles: bool = False
    """Whether registers for tiles hold the sums (`tiling`, 5)."""

    @property
    def packings(self) -> Mapping[str, Packing]:
        """The buffer that is packed at compile time."""
        read = self.contraction.columns.constant_read
        return {} if self.packing is None or read is None else {read.buffer: self.packing}

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
        # What lies behind the strip begins with a cache line, whatever the element type.
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
        is_long = tiling.depth_block(self.machine, depth, self.vectors * self.lanes, bytes, tiles) < depth
        # Sums wait in the result between steps, so it must have room for them: their own type.
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
            # (1) In a strip distances follow from its layout: planes, rows, positions, elements.
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
        return walk_of(list(zip(self.sizes(self.contraction.reduced), strides, strict=True)), (rows[0], rows[1]))


def _number(size: int | str | None) -> int:
    assert isinstance(size, int), "the sizes of a convolution are known"
    return size


def convolution_plan(
    program: LoopProgram, convolution: Convolution, machine: Machine, constants: frozenset[str]
) -> ConvolutionPlan | None:
    """What to do about a convolution; `None` if its columns are of unknown number."""
    contraction = convolution.contraction
    stage = contraction.stage
    columns = stage.axes[contraction.column_axes[-1]].size
    if not isinstance(columns, int) or not contraction.reduced:
        return None
    bytes = element_bytes(contraction.element)
    lanes = tiling.lanes_of(machine, bytes, columns, contraction.product)
    vectors = max(1, min(2, -(-columns // lanes)))
    above, along = convolution.windows
    others = tiling.temporaries(machine, contraction.product, vectors)
    grid = grid_of(above.pixels, along.pixels, max(1, tiling.most_rows(machine, vectors, others)))
    has_tiles = convolution.innermost is not None and tiling.fills_tiles(
        machine, contraction.product, lanes, above.pixels * along.pixels
    )
    if has_tiles:
        grid = tile_grid(above.pixels, along.pixels)
    packing = packing_of(program, contraction, constants, vectors * lanes)
    innermost = 1 if convolution.innermost is None else _number(stage.axes[convolution.innermost].size)
    free = prod(_number(stage.axes[axis].size) for axis in convolution.free)
    positions = along.positions(along.pixels)
    panels = -(-columns // (vectors * lanes))
    # (3) Few pixels make few strips: then parts share the panels, and each has the strip for itself.
    splits_columns = above.pixels * along.pixels <= tiling.FEW_PIXELS and panels > 1
    pixels = above.pixels
    if not splits_columns or free * above.positions(pixels) * positions * innermost * bytes > 2 * tiling.block_bytes(
        machine
    ):
        row = free * above.step * positions * innermost * bytes
        pixels = min(pixels, max(1, tiling.block_bytes(machine) // max(row, 1)))
        if not splits_columns:
            pixels = min(pixels, -(-above.pixels // tiling.many_tasks(machine)))
        # Whole tiles, so that only the last strip has smaller ones.
        pixels = min(above.pixels, -(-pixels // grid.rows) * grid.rows)
    # (1) Positions of neighbouring pixels are read at once, and must not drive each other out of the cache.
    pitch = innermost
    if tiling.collides(machine, along.step * innermost * bytes, grid.columns):
        pitch = tiling.pitch(machine, innermost, bytes)
    strip = Strip(above.positions(pixels), positions, innermost, pitch)
    direct = _direct_place(program, convolution, machine, grid, columns)
    if has_tiles and direct is not None and direct.strides[contraction.reduced[-1]].number != 1:
        direct = None  # what a tile's row holds follows each other, as in a strip
    return ConvolutionPlan(
        program, convolution, machine, lanes, vectors, grid, pixels, strip, direct, packing, splits_columns, has_tiles
    )


def _direct_place(
    program: LoopProgram, convolution: Convolution, machine: Machine, grid: Grid, columns: int
) -> Place | None:
    """Where the rows factor lies, if micro-kernels should read it there."""
    contraction = convolution.contraction
    place = lying_place(program, contraction, contraction.rows)
    pixels = [window.pixel for window in convolution.windows if window.pixel is not None]
    if place is None or any(place.strides[axis].number is None for axis in (*pixels, *contraction.reduced)):
        return None
    along = convolution.windows[1].pixel
    distance = 1 if along is None else _number(place.strides[along].number)
    collide = tiling.collides(machine, distance * element_bytes(contraction.element), grid.columns)
    return None if collide and columns >= tiling.WORTH_COPYING else place
