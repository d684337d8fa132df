"""How a contraction is cut up for a processor: pure functions of sizes.

1. A tile holds its sums in registers, with room for one row of the columns factor and one element of the other.
2. As few vectors as possible reach beyond the last column; tiles of rows are as equal as possible.
3. A block of the rows factor stays in the second-level cache while all columns pass by; a panel of the columns factor
   stays there, or in the first level, while the rows of the block pass by.
"""

from dataclasses import dataclass

from fuse_dialect.backends.llvm.host import Host

BLOCK_BYTES = 384 * 1024
"""Room for a block of the rows factor: less than half of a second-level cache of today."""
PANEL_BYTES = 256 * 1024
"""Room for one panel of the columns factor."""
PACKED_BYTES = 8 << 20
"""Room for the columns factor if it is packed at each call."""
MANY_TASKS = 8
"""Tasks from which on parts are busy for about the same time."""
WORTH_COPYING = 96
"""Columns for which a row is copied rather than read where it collides with its neighbours."""
FEW_PIXELS = 28 * 28
"""Pixels up to which parts of a convolution share its channels."""


@dataclass(frozen=True, slots=True)
class TileSize:
    """Rows and vectors of a tile."""

    rows: int
    vectors: int


def tile_size(host: Host, lanes: int, rows: int | None, columns: int | None) -> TileSize:
    """The tile for a matrix of results.

    Args:
        host: The processor.
        lanes: Elements of a vector.
        rows: Number of rows; `None` if it is not known.
        columns: Number of columns; `None` if it is not known.
    """
    least = min(rows or 1 << 30, most_rows(host, 2))
    needed = -(-columns // lanes) if columns is not None else 1 << 10
    # few rows leave registers for more vectors, which hide how long a product takes
    vectors = 2 if least > 4 else next(count for count in (8, 6, 4, 2) if most_rows(host, count) >= least or count == 2)
    vectors = max(1, min(vectors, needed))
    return TileSize(even_part(rows, most_rows(host, vectors)), vectors)


def most_rows(host: Host, vectors: int) -> int:
    """Rows for which the registers suffice."""
    return min((host.registers - vectors - 1) // vectors, 14)


def even_part(total: int | None, most: int) -> int:
    """The size of equal parts, at most `most`, of which as few as possible cover the total."""
    if total is None or total == 0:
        return most
    parts = -(-total // most)
    return -(-total // parts)


def depth_block(depth: int, width: int, bytes: int, tiles: int) -> int:
    """Points of the reduced axis that one panel in cache has; all, if too few tiles share a panel."""
    if tiles < 3 or depth * width * bytes <= PANEL_BYTES * 3 // 2:
        return depth
    blocks = -(-depth * width * bytes // PANEL_BYTES)
    return -(-depth // blocks // 4) * 4


def collides(distance: int, rows: int) -> bool:
    """Whether rows at this distance in bytes fall into so few sets of a first-level cache that they collide."""
    if distance % 64:
        return False
    sets = 64
    lines = distance // 64 % sets
    different = 1 if lines == 0 else sets // _common(lines, sets)
    return rows > 6 * different


def pitch(elements: int, bytes: int) -> int:
    """The distance of copied rows, in elements: whole cache lines, an odd number of them."""
    line = 64 // bytes
    lines = -(-elements // line)
    return (lines + 1 - lines % 2) * line


def _common(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a
