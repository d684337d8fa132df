"""Windows as tiles of neighbours for a machine. Pure data, and the choice of it.

1. Taps are written out as far as code stays short; loops run over the others.
2. A tile has as many neighbours as registers hold sums for.
3. Tiles with windows at a border stand at places that are known: there each guard is decided when code is written.
   They are short, as each is code of its own. Where they would be many, results at the border are computed one by one.
4. Rows of windows of which some taps lie above or below are computed tap row by tap row.
5. A few lines of lanes at a time are computed in the whole image, so that rows stay in the first cache until the next
   row of windows reads them: where the image comes from a cache itself, or arithmetic takes longer than reading it.
6. Where lanes are no multiple of a vector, the last vector ends at the last lane and computes some lanes again: there
   is no mask, and no code of its own. Not where parts share the lanes, so that no two store to one. Without masks a
   vector has no more lanes than there are, for a part of one would be computed lane by lane.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from fuse_dialect.loops import tiling
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.program import LoopProgram, Reduction
from fuse_dialect.loops.windowing import OpenEnd, Windowing
from fuse_dialect.machines.machine import Machine, Unit

_UNROLLED_TAPS = 12
"""Most taps that are written out."""
_BLOCK_LINES = 4
"""Cache lines of neighbouring lanes in a block (5)."""
_MANY_TAPS = 25
"""Taps that take longer to compute than their image takes to read from memory (5)."""
_VECTORS = 4
"""Vectors of a tile that has no neighbours."""
_OPEN_TILE = 8
"""Neighbours of a tile where their number is not known."""
_FIXED_TILES = 6
"""Most tiles of a row that stand at known places (3)."""
_BORDER = 3
"""Neighbours of a tile at a border, at least: fewer share too few of their reads."""
_SUMS = 8
"""Sums of a tile that may be made smaller, at least: as many additions are under way at once."""


@dataclass(frozen=True, slots=True)
class RowTiles:
    """Tiles of one size, next to each other in a row."""

    first: int
    """The first neighbour."""
    stop: int
    """The first one behind them."""
    count: int
    """Neighbours of a tile."""
    is_fixed: bool
    """Whether it is one tile, with windows at a border (3)."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Windows, with what is decided about them."""

    program: LoopProgram
    windowing: Windowing
    machine: Machine
    lanes: int
    tile: int
    vectors: int
    unrolled: tuple[int, ...]
    """Taps that are written out."""
    looped: tuple[int, ...]
    whole_windows: tuple[int, int | OpenEnd | None]
    """The first neighbour along the tile axis whose guards hold, and the first behind them; `None` for the size."""

    @property
    def lane_block(self) -> int | None:
        """Lanes of a block (5); `None` if rows are computed whole."""
        windowing, machine = self.windowing, self.machine
        if windowing.tile_axis is None or not windowing.outer:
            return None
        axes = (*windowing.outer, windowing.tile_axis, windowing.lane_axis)
        *outer, lanes = (windowing.stage.axes[axis].size for axis in axes)
        if not isinstance(lanes, int) or not all(isinstance(size, int) for size in outer):
            return None
        element = element_bytes(self.reduction.start.element)
        block = _BLOCK_LINES * machine.line_bytes // element
        image = lanes * prod(size for size in outer if isinstance(size, int)) * element
        taps = prod(tap_count(windowing, axis) for axis in windowing.taps)
        return block if lanes > block and (image <= machine.second_cache.bytes or taps >= _MANY_TAPS) else None

    @property
    def overlaps(self) -> bool:
        """Whether the last vector of lanes computes some of them again (6)."""
        size = self.windowing.stage.axes[self.windowing.lane_axis].size
        return bool(self.windowing.outer) and isinstance(size, int) and size >= self.lanes

    @property
    def row_tiles(self) -> tuple[RowTiles, ...] | None:
        """The tiles of a row; `None` if its length is not known, or guards are decided in no tile."""
        inside, tile_axis = self.windowing.inside, self.windowing.tile_axis
        if inside is None or not self.holds_along_lanes:
            return None
        if tile_axis is None:
            return (RowTiles(0, 1, 1, is_fixed=False),)
        size, (first, stop) = self.windowing.stage.axes[tile_axis].size, self.whole_windows
        if not isinstance(size, int) or not size or isinstance(stop, OpenEnd):
            return None
        return row_tiles(size, (first, stop), self.tile)

    @property
    def holds_along_lanes(self) -> bool:
        """Whether no guard fails along the lane axis."""
        lane, inside = self.windowing.lane_axis, self.windowing.inside
        if inside is None or lane not in inside:
            return inside is not None
        size, stop = self.windowing.stage.axes[lane].size, inside[lane].stop
        return isinstance(size, int) and isinstance(stop, int) and inside[lane].first <= 0 and stop >= size

    @property
    def reduction(self) -> Reduction:
        """How taps are combined."""
        assert self.windowing.stage.reduction is not None
        return self.windowing.stage.reduction


def window_plan(program: LoopProgram, windowing: Windowing, machine: Machine) -> WindowPlan:
    """What to do about windows."""
    stage = windowing.stage
    assert stage.reduction is not None
    lanes, count = machine.lanes(element_bytes(stage.reduction.start.element)), stage.axes[windowing.lane_axis].size
    if isinstance(count, int) and Unit.MASKS not in machine.units:
        lanes = min(lanes, 1 << max(count, 1).bit_length() - 1)  # (6)
    taps = list(windowing.taps)
    unrolled: list[int] = []
    # (1) Inner taps are written out, so that LLVM sees which of their reads are the same.
    while taps and prod(tap_count(windowing, axis) for axis in (*unrolled, taps[-1])) <= _UNROLLED_TAPS:
        unrolled.insert(0, taps.pop())
    tile, vectors, whole = 1, _VECTORS, (0, None)
    if windowing.tile_axis is not None:
        vectors, whole = 1, _whole_windows(windowing, windowing.tile_axis)
        size = stage.axes[windowing.tile_axis].size if whole[1] is None else whole[1]
        # (2) Half of the registers hold sums: more of them than one addition takes cycles. The others are for reads.
        most = machine.registers // 2 - 1
        # What is left of an unknown number is computed one by one.
        tile = max(1, tiling.even_part(size - whole[0], most)) if isinstance(size, int) else min(most, _OPEN_TILE)
    if isinstance(count, int):
        vectors = max(1, min(vectors, count // lanes))
    return WindowPlan(program, windowing, machine, lanes, tile, vectors, tuple(unrolled), tuple(taps), whole)


def row_tiles(size: int, whole: tuple[int, int | None], tile: int) -> tuple[RowTiles, ...] | None:
    """The tiles of a row; `None` if too many would stand at known places (3).

    Args:
        size: Neighbours of the row, one or more.
        whole: See `WindowPlan.whole_windows`.
        tile: Most neighbours of a tile.
    """
    first, stop = whole[0], size if whole[1] is None else whole[1]
    if first == 0 and stop == size:
        even = size - size % tile
        cuts = [(0, even, tile), (even, size, size % tile)]
        return tuple(RowTiles(low, high, count, is_fixed=False) for low, high, count in cuts if low < high)
    if (cut := _short_borders(size, (first, stop), tile)) is not None:
        head, middle, tail = cut
        cuts = [(0, head, head, True), (head, size - tail, middle, False), (size - tail, size, tail, True)]
        return tuple(RowTiles(low, high, count, is_fixed) for low, high, count, is_fixed in cuts if low < high)
    begin = -(-first // tile) * tile
    end = begin + max(0, stop - begin) // tile * tile
    if size <= 2 * tile or end <= begin:
        begin = end = 0
    middle = [RowTiles(begin, end, tile, is_fixed=False)] if end > begin else []
    head = [RowTiles(place, place + tile, tile, is_fixed=True) for place in range(0, begin, tile)]
    parts = -(-(size - end) // tile)
    cuts = [end + (size - end) * part // parts for part in range(parts + 1)] if parts else []
    tail = [RowTiles(low, high, high - low, is_fixed=True) for low, high in pairwise(cuts)]
    return (*head, *middle, *tail) if len(head) + len(tail) <= _FIXED_TILES else None


def _short_borders(size: int, whole: tuple[int, int], tile: int) -> tuple[int, int, int] | None:
    """Neighbours of the tile at the start, of those between, and of that at the end, with the least code (3).

    `None` if a row is as short as two tiles, or a border longer than one.
    """
    first, behind = whole[0], size - whole[1]
    if size <= 2 * tile or max(first, behind) > tile:
        return None
    heads = range(max(first, min(_BORDER, tile)), tile + 1) if first else (0,)
    tails = range(max(behind, min(_BORDER, tile)), tile + 1) if behind else (0,)
    choices = [
        (head + each + tail, -each, abs(head - tail), head, tail)
        for each in range(min(_SUMS, tile), tile + 1)
        for head in heads
        for tail in tails
        if (between := size - head - tail) > 0 and between % each == 0
    ]
    if not choices:
        return None
    _, each, _, head, tail = min(choices)
    return head, -each, tail


def _whole_windows(windowing: Windowing, axis: int) -> tuple[int, int | OpenEnd | None]:
    """The interval of an axis in which its guards hold."""
    if windowing.inside is None or axis not in windowing.inside:
        return 0, None
    interval, size = windowing.inside[axis], windowing.stage.axes[axis].size
    first, stop = max(interval.first, 0), interval.stop
    if isinstance(stop, OpenEnd):
        return first, stop
    # A size that is not known may be less than the interval: then no window is taken for whole.
    if not isinstance(size, int):
        return 0, 0
    first = min(first, size)
    return first, min(max(stop, first), size)


def tap_count(windowing: Windowing, axis: int) -> int:
    """How many taps there are along an axis."""
    size = windowing.stage.axes[axis].size
    assert isinstance(size, int), "taps are of known number"
    return size
