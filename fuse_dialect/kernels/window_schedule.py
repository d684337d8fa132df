"""Windows as tiles of neighbours for a machine. Pure data, and the choice of it.

1. Taps are written out as far as code stays short; loops run over the others.
2. A tile has as many neighbours as registers hold sums for, taken from windows whose guards all hold.
3. Where loops run over some taps, borders are tiles, too: a guard concerns either what is written out, or the loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from fuse_dialect.kernels import tiling
from fuse_dialect.kernels.elements import element_bytes
from fuse_dialect.kernels.indices import Guard, axes_of
from fuse_dialect.kernels.machine import Machine
from fuse_dialect.kernels.program import LoopProgram, Read, Reduction
from fuse_dialect.kernels.windowing import Windowing

_UNROLLED_TAPS = 12
"""Most taps that are written out."""
_REGISTERS_OF_NEIGHBOUR = 4
"""Vector registers of the machine for each neighbour of a tile."""
_VECTORS = 4
"""Vectors of a tile that has no neighbours."""


@dataclass(frozen=True, slots=True)
class Borders:
    """The guards of what windows read, which are one list for all guarded reads."""

    known: tuple[Guard, ...]
    """Those of neighbours and taps that are written out: code knows whether they hold."""
    asked: tuple[Guard, ...]
    """Those of loops: asked once for all neighbours and taps in them."""


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
    whole_windows: tuple[int, int | None]
    """The first neighbour along the tile axis whose guards hold, and the first behind them; `None` for the size."""
    borders: Borders | None = None
    """How windows at borders are cut; `None` if each of their elements is asked for by itself."""

    @property
    def reduction(self) -> Reduction:
        """How taps are combined."""
        assert self.windowing.stage.reduction is not None
        return self.windowing.stage.reduction


def window_plan(program: LoopProgram, windowing: Windowing, machine: Machine) -> WindowPlan:
    """What to do about windows."""
    stage = windowing.stage
    assert stage.reduction is not None
    lanes = machine.lanes(element_bytes(stage.reduction.start.element))
    taps = list(windowing.taps)
    unrolled: list[int] = []
    # (1) Inner taps are written out, so that LLVM sees which of their reads are the same.
    while taps and prod(tap_count(windowing, axis) for axis in (*unrolled, taps[-1])) <= _UNROLLED_TAPS:
        unrolled.insert(0, taps.pop())
    tile, vectors, whole, most, span = 1, _VECTORS, (0, None), 1, None
    if windowing.tile_axis is not None:
        vectors, whole = 1, _whole_windows(windowing, windowing.tile_axis)
        size = stage.axes[windowing.tile_axis].size if whole[1] is None else whole[1]
        # (2) Each neighbour has a sum and its share of what is read; one part in so many is left for masks and starts.
        most = max(1, machine.registers // _REGISTERS_OF_NEIGHBOUR - 1)
        span = size - whole[0] if isinstance(size, int) else None
        tile = max(1, tiling.even_part(span, most))
    if isinstance(size := stage.axes[windowing.lane_axis].size, int):
        vectors = max(1, min(vectors, size // lanes))
    # (2) Where loops run over taps no tap is written out for long: more sums hide how long each of them takes.
    if taps and windowing.tile_axis is not None and tile > 1:
        tile = max(tile, tiling.even_part(span, 2 * most + 2))
    borders = borders_of(windowing, unrolled, taps) if whole[1] is not None and tile > 1 else None
    return WindowPlan(program, windowing, lanes, tile, vectors, tuple(unrolled), tuple(taps), whole, borders)


def _whole_windows(windowing: Windowing, axis: int) -> tuple[int, int | None]:
    """The interval of an axis in which its guards hold."""
    if windowing.inside is None or axis not in windowing.inside:
        return 0, None
    interval, size = windowing.inside[axis], windowing.stage.axes[axis].size
    # A size that is not known may be less than the interval: then no window is taken for whole.
    if not isinstance(size, int):
        return 0, 0
    first = min(max(interval.first, 0), size)
    return first, min(max(interval.stop, first), size)


def borders_of(windowing: Windowing, unrolled: Sequence[int], looped: Sequence[int]) -> Borders | None:
    """How the guards of windows are cut; `None` if some depend on other axes together, or reads differ in theirs."""
    found = {inner.guards for inner in windowing.stage.body if isinstance(inner, Read) and inner.guards}
    size = windowing.tile_axis is not None and windowing.stage.axes[windowing.tile_axis].size
    if len(found) != 1 or windowing.inside is None or not looped or not isinstance(size, int):
        return None
    (guards,) = found
    along, around = {windowing.tile_axis, *unrolled}, {*windowing.outer, *looped}
    known = tuple(guard for guard in guards if axes_of(guard.index) <= along and isinstance(guard.size, int))
    asked = tuple(guard for guard in guards if axes_of(guard.index) <= around)
    return Borders(known, asked) if len(known) + len(asked) == len(guards) else None


def tap_count(windowing: Windowing, axis: int) -> int:
    """How many taps there are along an axis."""
    size = windowing.stage.axes[axis].size
    assert isinstance(size, int), "taps are of known number"
    return size
