"""How a contraction is cut up for a machine: pure functions of sizes.

1. A tile holds its sums in registers, with room for one row of the columns factor and one element of the other.
2. As few vectors as possible reach beyond the last column; tiles of rows are as equal as possible.
3. A block of the rows factor stays in the second-level cache while all columns pass by; a panel of the columns factor
   stays there, or in the first level, while the rows of the block pass by.
4. Rows that a tile reads at the same time must not need the same few lines of the first-level cache.
5. Where a processor multiplies *tiles*, registers of 16 rows of 64 bytes, four of its eight hold sums: two tiles of
   rows meet two of columns, so that each that is loaded is used twice. A tile of rows takes as long as it has rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm

from fuse_dialect.loops.functions import DOT, FLOAT_DOT, SIGNED_DOT, UNSIGNED_DOT
from fuse_dialect.machines.machine import Machine, Unit

_TILE_UNITS = {
    DOT: Unit.BYTE_TILES,
    SIGNED_DOT: Unit.BYTE_TILES,
    UNSIGNED_DOT: Unit.BYTE_TILES,
    FLOAT_DOT: Unit.PAIR_TILES,
}
"""The unit that multiplies tiles, by the function of the factors."""
_MOST_ROWS = 14
"""Rows of a tile that hide how long a product takes; more would make tiles that fit few matrices."""
WORTH_COPYING = 96
"""Columns for which a row is copied rather than read where it collides with its neighbours."""
WORTH_STRAIGHTENING = 256
"""Columns for which rows are copied that would be loaded from two lines at a time (5)."""
TILE_ROWS = 16
"""Rows of a tile, and the numbers of 32 bits in each (5)."""
FEW_TILE_ROWS = 4
"""Rows of a matrix, or the last ones of it, up to which vectors are used instead, if they multiply such numbers."""
FEW_PIXELS = 28 * 28
"""Pixels up to which parts of a convolution share its channels."""
_MOST_TILES = 4
"""Of the highest tiles, in the fewest rows that are whole tiles of several products."""


@dataclass(frozen=True, slots=True)
class TileSize:
    """Rows and vectors of a tile."""

    rows: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Where the elements of the rows factor are, from the first one that a tile needs, in elements."""

    rows: tuple[int, int]
    """Distance of neighbours along the two axes of the grid."""
    outer: tuple[tuple[int, int], ...]
    """Number of steps and distance for each reduced axis but the last."""
    step: int
    """Distance along the last reduced axis."""
    depth: int | None
    """Number of steps along the last reduced axis; `None` if the call says it."""
    panel_step: int | None = None
    """Distance of the columns factor along the last reduced axis, if it is read where it lies; `None` if packed."""


def fills_tiles(machine: Machine, product: str, lanes: int, rows: int | None) -> bool:
    """Whether a product is one of tiles (5): the machine has them, and vectors would take longer.

    Args:
        machine: The machine.
        product: The function of the factors.
        lanes: Elements of a vector, which are to be the columns of a tile.
        rows: Number of rows; `None` if it is not known.
    """
    unit = unit_of_tiles(product)
    has_unit = unit is not Unit.NONE and unit in machine.units and lanes == TILE_ROWS
    # Vectors multiply bytes as they are, and have little to do for a few rows; pairs of bf16 they must take apart.
    return has_unit and (rows is None or unit is Unit.PAIR_TILES or rows > FEW_TILE_ROWS)


def unit_of_tiles(product: str) -> Unit:
    """The unit that multiplies tiles by a function of two factors; none if there is none."""
    return _TILE_UNITS.get(product, Unit.NONE)


def needs_tiles(product: str) -> bool:
    """Whether there is nothing but tiles to multiply by a function of two factors."""
    return product in _TILE_UNITS and product != DOT


def tile_points(depth: int | None) -> int:
    """Points of the reduced axis that a tile has: equal parts if there are any, so that no point is left."""
    if depth is None:
        return TILE_ROWS
    points = even_part(depth, TILE_ROWS)
    return points if depth % points == 0 else TILE_ROWS


def block_bytes(machine: Machine) -> int:
    """Room for a block of the rows factor: less than half of the second-level cache, for panels pass through it (3)."""
    return machine.second_cache.bytes * 3 // 8


def panel_bytes(machine: Machine) -> int:
    """Room for one panel of the columns factor beside the block (3)."""
    return machine.second_cache.bytes // 4


def group_panels(machine: Machine, depth: int | None, width: int, bytes: int) -> int:
    """Panels of columns that stay in the second-level cache while tiles of rows pass by (5); one for unknown depths."""
    return 1 if depth is None else max(1, block_bytes(machine) // (width * max(depth, 1) * bytes))


def packed_bytes(machine: Machine) -> int:
    """Room for the columns factor if it is packed at each call: a part of the last cache, for it is read soon."""
    return machine.last_cache.bytes // 4


def many_tasks(machine: Machine) -> int:
    """Tasks from which on all cores are busy for about the same time."""
    return 4 * machine.cores


def temporaries(machine: Machine, product: str, vectors: int) -> int:
    """Registers that products of a tile take besides sums, its row of the columns factor and one element.

    Where bytes are multiplied as numbers of 16 bits, both factors are there twice, with even and with odd bytes.
    """
    return vectors + 2 if product == DOT and Unit.BYTE_DOTS not in machine.units else 0


def tile_size(
    machine: Machine, lanes: int, rows: int | None, columns: int | None, product: str = "arith.mulf"
) -> TileSize:
    """The tile for a matrix of results.

    Args:
        machine: The machine.
        lanes: Elements of a vector.
        rows: Number of rows; `None` if it is not known.
        columns: Number of columns; `None` if it is not known.
        product: The function of the factors.
    """

    def most(vectors: int) -> int:
        return most_rows(machine, vectors, temporaries(machine, product, vectors))

    if fills_tiles(machine, product, lanes, rows):
        # (5) Two tiles of rows with two of columns.
        return TileSize(even_part(rows, 2 * TILE_ROWS), 1 if columns is not None and columns <= lanes else 2)
    least = max(1, min(rows or 1 << 30, most(2)))
    needed = -(-columns // lanes) if columns is not None else 1 << 10
    vectors = 2
    if least <= 4:  # (1) few rows leave registers for more vectors, which hide how long a product takes
        vectors = next(count for count in (8, 6, 4, 2) if most(count) >= least or count == 2)
    vectors = max(1, min(vectors, needed))
    return TileSize(even_part(rows, max(1, most(vectors))), vectors)


def lanes_of(machine: Machine, bytes: int, columns: int | None, product: str) -> int:
    """Elements of the vectors for a product: whole ones, or the shortest for few columns, but not shorter than four.

    A processor may compute a long vector in two halves, and takes as long if one of them is empty (2). Nor does a short
    vector that is full need a mask. Products of bytes and pairs, which take apart whole vectors, keep these.

    Args:
        machine: The machine.
        bytes: Of an element.
        columns: Number of columns; `None` if it is not known.
        product: The function of the factors.
    """
    lanes = machine.lanes(bytes)
    while product == "arith.mulf" and columns is not None and 2 * columns <= lanes and lanes > 4:
        lanes //= 2
    return lanes


def most_rows(machine: Machine, vectors: int, others: int = 0) -> int:
    """Rows for which the registers suffice (1), if `others` are taken; fewer than one if not for any."""
    return min((machine.registers - vectors - 1 - others) // vectors, _MOST_ROWS)


def even_part(total: int | None, most: int) -> int:
    """The size of equal parts, at most `most`, of which as few as possible cover the total (2)."""
    if total is None or total == 0:
        return most
    parts = -(-total // most)
    return -(-total // parts)


def rows_in_step(rows: Sequence[int]) -> list[int]:
    """Rows of the tiles of several products that run over the same rows, so that few rows are whole tiles of all.

    Tiles of 13 rows and of 6 would have 78 in common: those of 13 get 12. What has few in common stays as it is.

    Args:
        rows: Of the tile of each product, as its registers would have it.
    """
    least = min(rows)
    forms = list(rows), [each - each % least for each in rows], [least] * len(rows)
    return next(form for form in forms if lcm(*form) <= _MOST_TILES * max(form))


def depth_block(machine: Machine, depth: int, width: int, bytes: int, tiles: int, unit: int = 4) -> int:
    """Points of the reduced axis that one panel in cache has; all, if too few tiles share a panel."""
    room = panel_bytes(machine)
    # A block costs a round trip of the sums through memory: two tiles, or a panel that nearly fits, do not pay for it.
    if tiles < 3 or depth * width * bytes <= room * 3 // 2:
        return depth
    blocks = -(-depth * width * bytes // room)
    return -(-depth // blocks // unit) * unit


def collides(machine: Machine, distance: int, rows: int) -> bool:
    """Whether rows at this distance in bytes fall into so few sets of a first-level cache that they collide (4)."""
    cache, line = machine.first_cache, machine.line_bytes
    if distance % line:
        return False  # the rows drift through the sets
    sets = max(1, cache.bytes // cache.ways // line)
    different = sets // gcd(distance // line, sets)
    # A quarter of the ways is left for the panel and the results.
    return rows > cache.ways * 3 // 4 * different


def pitch(machine: Machine, elements: int, bytes: int) -> int:
    """The distance of copied rows, in elements: whole cache lines, an odd number of them, so that none collide (4)."""
    line = max(1, machine.line_bytes // bytes)
    lines = -(-elements // line)
    return (lines + 1 - lines % 2) * line


def walk_of(loops: list[tuple[int, int]], rows: tuple[int, int]) -> Walk:
    """The walk over reduced axes; loops that go on where the next inner one ends are one loop with it.

    Args:
        loops: Number of steps and distance for each reduced axis, outermost first.
        rows: Distance of neighbours along the two axes of the grid.
    """
    merged: list[tuple[int, int]] = []
    for size, stride in loops:
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    (depth, step), outer = merged[-1], merged[:-1]
    return Walk(rows, tuple(outer), step, depth)
