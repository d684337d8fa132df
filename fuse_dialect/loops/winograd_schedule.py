"""Convolutions of 3x3 taps by tiles of 2x2 results, for a machine. Pure data, and the choice of it.

1. Results come in tiles of two by two, from tiles of four by four positions. Where taps are `d` pixels apart, so are
   the results of a tile, and `d` tiles stand in one another. Where the pixels along an axis do not fill all tiles, the
   second results of the last ones are not needed, and they read positions behind the last one, which are 0.
2. For each of 16 points, a matrix product of tiles and channels with panels of the weights' points.
3. Where a result is not finite the strip is computed again by the plain algorithm, from what lies in the strip.
"""

from dataclasses import dataclass, replace

from fuse_dialect.loops import tiling
from fuse_dialect.loops.convolution import Window
from fuse_dialect.loops.convolution_schedule import ConvolutionPlan, Grid, Strip
from fuse_dialect.loops.packing import POINTS, TAPS

RESULTS = 2
"""Results of a tile along each axis."""
LEAST_CHANNELS = 8
"""Channels from which on products outweigh sums and differences."""
_LEAST_TILES = 9
"""Tiles below which a micro-kernel has too few products for what points cost."""
_MOST_PRODUCTS = 2 / 3
"""Of the products without tiles, those that are left at most: 4/9 where all results of tiles are needed."""
_MOST_TILES = 56
"""Tiles of a strip."""
_FALLBACK_PIXELS = 4
"""Pixels of a tile of the plain algorithm, which hardly ever runs: its code shall be short."""


@dataclass(frozen=True, slots=True)
class WinogradPlan:
    """A convolution by tiles of 2x2 results."""

    plain: ConvolutionPlan
    """The strips, and what runs where results are not finite."""
    channels: int
    pitch: int
    """Distance of points of neighbouring tiles, in elements."""
    rows: int
    """Rows of tiles in a strip."""
    tiles: int
    """Tiles in a strip, rounded up to whole blocks."""
    block: int
    """Tiles whose products a micro-kernel has in registers."""

    @property
    def across(self) -> int:
        """Tiles in a row of them."""
        return tiles_of(self.plain.convolution.windows[1])

    @property
    def points_room(self) -> int:
        """Elements of the workspace for points of a strip."""
        return POINTS**2 * self.tiles * self.pitch

    @property
    def products_room(self) -> int:
        """Elements of the workspace for products of a strip with one panel."""
        return POINTS**2 * self.tiles * self.plain.vectors * self.plain.lanes

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        return (self.plain.rows_room + self.points_room + self.products_room) * 4


def winograd_plan(plan: ConvolutionPlan) -> WinogradPlan | None:
    """The plan for a convolution that has another one; `None` if it is not of the form, or gains nothing."""
    convolution, contraction, packing = plan.convolution, plan.contraction, plan.packing
    above, along = convolution.windows
    # Points of weights are made before the first call, and only in one form: constants of f32.
    if packing is None or contraction.element != "f32" or convolution.free:
        return None
    if contraction.product != "arith.mulf":  # no pairs of numbers
        return None
    if convolution.innermost is None or any(w.pixel is None or w.taps != TAPS for w in (above, along)):
        return None
    # (1) F(2x2, 3x3) covers results in pairs, whose windows share positions; others would need another matrix.
    if any(w.step != 1 or 0 < w.pixels % (RESULTS * w.dilation) < w.dilation for w in (above, along)):
        return None
    (channels,), (columns,) = plan.sizes((convolution.innermost,)), plan.sizes((contraction.column_axes[-1],))
    across, down = tiles_of(along), tiles_of(above)
    if min(channels, columns) < LEAST_CHANNELS or across * down < _LEAST_TILES:
        return None
    # (1) Of lines of one pixel half of a tile is not needed: hardly a product is saved.
    if across * down * POINTS**2 > above.pixels * along.pixels * TAPS**2 * _MOST_PRODUCTS:
        return None
    room = plan.machine.second_cache.bytes * 15 // 32  # half, but for what passes by
    pitch = tiling.pitch(plan.machine, channels, 4)
    # (2) Points are written and read once for each panel, so all of a strip stay in the second-level cache. One row of
    # tiles is the least: a long one is read from the last cache, which is faster than twice as many products.
    tile_bytes = POINTS**2 * pitch * 4
    if across * above.dilation * tile_bytes > tiling.packed_bytes(plan.machine):
        return None
    most = max(1, min(_MOST_TILES, room // tile_bytes) // (across * above.dilation))
    rows = tiling.even_part(down // above.dilation, most) * above.dilation
    block = tiling.even_part(rows * across, tiling.most_rows(plan.machine, plan.vectors))
    pixels = rows * RESULTS
    positions = along.positions(across * RESULTS)
    strip = Strip(above.positions(pixels), positions, plan.strip.innermost, plan.strip.pitch)
    plain = replace(
        plan,
        # (3) The plain algorithm runs on the same strip, so it must be filled even where it could be read in place.
        grid=Grid(1, tiling.even_part(along.pixels, _FALLBACK_PIXELS)),
        strip_pixels=pixels,
        strip=strip,
        direct=None,
        packing=replace(packing, has_points=True),
    )
    return WinogradPlan(plain, channels, pitch, rows, -(-rows * across // block) * block, block)


def tiles_of(window: Window) -> int:
    """Tiles that cover the results along one axis."""
    return -(-window.pixels // (RESULTS * window.dilation)) * window.dilation
