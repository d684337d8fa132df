"""Tiles of rows: what a trip holds that computes some rows of its result at a time, and how many rows fit.

A trip is a chain: each operator reads the value before it, or a view of it. From rows of its result follow those that
each operator reads, from the last to the first; windows reach over the edge, so neighbouring tiles read some rows
twice, the *halo*. Rows beyond a feature map are padding. A transposed convolution gives several rows for each that it
reads, and its tile cuts off those of its neighbours.

Source: interval arithmetic on windows as in Halide's bounds inference (J. Ragan-Kelley et al., PLDI 2013,
https://doi.org/10.1145/2491956.2462176), and Vela's cascades of stripes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.templates.regions import Held, exceeded
from fuse_dialect.templates.template import HardwareTemplate

MOST_TILES = 1_024
"""Tiles that a trip is cut into at most."""


def least_rows(total: int) -> int:
    """The fewest rows of a tile for so many rows in all."""
    return max(1, -(-total // MOST_TILES))


@dataclass(frozen=True, slots=True)
class StepRows:
    """Rows of one operator in a tile."""

    first: int
    """First row that it reads."""
    count: int
    above: int
    """Rows of padding before the first; of a transposed convolution those of the result that it cuts off."""
    below: int
    """The same behind the last; less than 0 where a transposed convolution adds rows."""


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Which rows of its operands an operator reads for rows of its result."""

    sliced: frozenset[int]
    """Places of the operands that have rows; the others are read whole for each tile."""
    reach: int = 1
    """Rows from the first to the last that one row of the result reads; transposed, that one of the operand adds to."""
    stride: int = 1
    before: int = 0
    """Rows of padding before the first."""
    up: int = 0
    """Of a transposed convolution the stride: rows of the result for each of the operand; 0 of all others."""

    @property
    def is_same(self) -> bool:
        """Whether each row of the result is one of the operand."""
        return (self.reach, self.stride, self.before, self.up) == (1, 1, 0, 0)

    def read(self, first: int, count: int, size: int) -> StepRows:
        """The rows that it reads for some rows of its result, of operands of `size` rows."""
        if self.up:
            start, stop = first + self.before, first + self.before + count
            # The first row that reaches the start, or that before it where rows are further apart than they reach.
            least = min(-(-(start - self.reach + 1) // self.up), start // self.up, size - 1)
            low, high = max(0, least), min((stop - 1) // self.up, size - 1)
            return StepRows(low, high + 1 - low, start - low * self.up, high * self.up + self.reach - stop)
        start = first * self.stride - self.before
        stop = start + (count - 1) * self.stride + self.reach
        above, below = max(0, -start), max(0, stop - size)
        return StepRows(start + above, stop - below - (start + above), above, below)


@dataclass(frozen=True, slots=True)
class Line:
    """Bytes that grow with the rows of a trip's last value: `slope * rows + base` at most."""

    slope: int = 0
    base: int = 0

    def at(self, rows: int) -> int:
        """The bytes for so many rows."""
        return self.slope * rows + self.base

    def behind(self, window: RowWindow, row: int, whole: int = 0) -> "Line":
        """The line with one more operator, which reads `row` bytes of each row, and `whole` besides."""
        # For so many rows of the result it reads (rows * stride + halo) / up at most.
        up = max(1, window.up)
        halo = max(window.reach, up) + up - 2 if window.up else window.reach - window.stride
        slope = self.slope + row
        return Line(-(-slope * window.stride // up), self.base - (-slope * halo // up) + whole)


@dataclass(frozen=True, slots=True)
class Strip:
    """Bytes of a trip as they grow with the rows of its last value, which does not count.

    Rows beyond the edges count, so what is held may be less.
    """

    inputs: Line = Line()
    between: Line = Line()
    widest: Line = Line()

    def behind(self, window: RowWindow, head: int, sliced: int, whole: int) -> "Strip":
        """The strip with one more operator.

        Args:
            window: Of the operator.
            head: Bytes of a row of the value that streams into it.
            sliced: Bytes of a row of all else that it reads by rows.
            whole: Bytes of what it reads as a whole.
        """
        widest = Line(max(self.widest.slope, head), self.widest.base).behind(window, 0)
        return Strip(
            self.inputs.behind(window, sliced, whole),
            self.between.behind(window, head),
            Line(widest.slope, max(0, widest.base)),
        )

    def held(self, rows: int, weights: int, row: int) -> Held:
        """What a tile of so many rows holds, of `row` bytes each of the last value."""
        return Held(self.inputs.at(rows), weights, row * rows, self.between.at(rows), self.widest.at(rows))


@dataclass(frozen=True, slots=True)
class TileStep:
    """One operator of a trip."""

    window: RowWindow
    size: int
    """Rows of the operands that are sliced."""
    row: int
    """Bytes of a row of the result; 0 of a view, which addresses the value that it is made of."""
    sliced: int
    """Bytes of a row of what it reads by rows from outside."""
    whole: int
    """Bytes of feature maps that it reads whole from outside."""


def rows_of_steps(steps: Sequence[TileStep], first: int, count: int) -> list[StepRows]:
    """The rows that each operator reads for rows of the result of the last one; linear in their number."""
    found: list[StepRows] = []
    for step in reversed(steps):
        rows = step.window.read(first, count, step.size)
        first, count = rows.first, rows.count
        found.append(rows)
    found.reverse()
    return found


def tile_bytes(steps: Sequence[TileStep], first: int, count: int, weights: int) -> Held:
    """What a tile holds."""
    rows = rows_of_steps(steps, first, count)
    given = [*(each.count for each in rows[1:]), count]
    sizes = [number * step.row for number, step in zip(given, steps, strict=True) if step.row]
    inputs = sum(each.count * step.sliced + step.whole for each, step in zip(rows, steps, strict=True))
    *between, last = sizes or [0]
    return Held(inputs, weights, last, sum(between), max(between, default=0))


def most_rows(steps: Sequence[TileStep], total: int, template: HardwareTemplate, constants: int) -> int:
    """The most rows of the result in a tile that fits, of tiles as equal as can be; 0 if none fits.

    Complexity: O(MOST_TILES * steps * log(total)).
    """

    def fits(rows: int) -> bool:
        tiles = ((first, min(rows, total - first)) for first in range(0, total, rows))
        return all(exceeded(template, tile_bytes(steps, *tile, constants)) is None for tile in tiles)

    low, high = least_rows(total), total
    if not fits(low):
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    even = -(-total // -(-total // low))
    return even if fits(even) else low
