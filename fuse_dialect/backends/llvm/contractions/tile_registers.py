"""Sums of a micro-kernel in tile registers: tiles of rows times tiles of columns.

1. A tile of rows has up to 16 rows, each of up to 16 numbers of 32 bits that follow each other along the last reduced
   axis; a tile of columns one row for each of these points. A number is a quad of bytes, or a pair
   of bf16.
2. Columns lie as vectors want them: a tile of them is 16 columns of some rows of a panel. Rows are read where they lie.
3. Of points that fill no tile, copies with zeros behind them are multiplied: a register keeps its shape.
4. Sums go through the stack, from which `finish` takes them.
5. LLVM says which tile is in which register, and configures and releases them; nothing is kept across calls.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (Intel AMX).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I16, VOID, Type, Value, constant
from fuse_dialect.backends.llvm.contractions.emulated_tiles import TILE as EMULATED
from fuse_dialect.backends.llvm.contractions.emulated_tiles import emulated
from fuse_dialect.loops.contraction import Contraction
from fuse_dialect.loops.functions import DOT, FLOAT_DOT, SIGNED_DOT, UNSIGNED_DOT
from fuse_dialect.loops.tiling import TILE_ROWS, Walk, tile_points
from fuse_dialect.machines.machine import Machine

_TILE = Type("x86_amx")
_INSTRUCTIONS = {SIGNED_DOT: "tdpbssd", UNSIGNED_DOT: "tdpbuud", FLOAT_DOT: "tdpbf16ps"}
_BYTES = 4
"""Of a number that a tile holds."""


def instruction(contraction: Contraction) -> str:
    """The instruction that multiplies tiles of rows with tiles of columns."""
    if contraction.product == DOT:
        # The first factor is the one without signs, and rows are the first factor of the instruction.
        return "tdpbusd" if contraction.has_rows_first else "tdpbsud"
    return _INSTRUCTIONS[contraction.product]


@dataclass(frozen=True, slots=True)
class TileInstructions:
    """Writes what is done to tiles: as instructions, or as calls of functions that do the same."""

    f: Function
    machine: Machine

    @property
    def type(self) -> Type:
        """What holds a tile."""
        return EMULATED if self.machine.emulated else _TILE

    def zero(self, rows: int) -> Value:
        """A tile of sums, all 0."""
        return self._call("tilezero", self.type, [_small(rows), _small(TILE_ROWS * _BYTES)])

    def load(self, rows: int, numbers: int, at: Value, distance: Value) -> Value:
        """Some numbers of each of some rows, which are so many bytes apart."""
        return self._call("tileloadd64", self.type, [_small(rows), _small(numbers * _BYTES), at, distance])

    def add_products(self, name: str, shape: tuple[int, int], total: Value, rows: Value, columns: Value) -> Value:
        """The sums and the products of two tiles.

        Args:
            name: Of the instruction.
            shape: How many rows there are, and points.
            total: The sums so far.
            rows: The left factor.
            columns: The right factor.
        """
        sizes = [_small(shape[0]), _small(TILE_ROWS * _BYTES), _small(shape[1] * _BYTES)]
        return self._call(name, self.type, [*sizes, total, rows, columns])

    def store(self, rows: int, to: Value, distance: Value, tile: Value) -> None:
        """Write all rows of sums, so many bytes apart."""
        self._call("tilestored64", VOID, [_small(rows), _small(TILE_ROWS * _BYTES), to, distance, tile])

    def _call(self, name: str, result: Type, operands: Sequence[Value]) -> Value:
        symbol = emulated(self.f.module, name) if self.machine.emulated else f"llvm.x86.{name}.internal"
        return self.f.call(symbol, result, operands)


def _small(number: int) -> Value:
    return constant(I16, number)


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of the micro-kernel that are in one tile: neighbours along the second axis of its grid."""

    first: int
    """Number of the first row in the grid."""
    rows: int
    distance: int
    """Of its first element from that of the grid, in elements."""


def pieces_of(grid: tuple[int, int], walk: Walk) -> list[Piece]:
    """The tiles of rows of a grid."""
    starts = product(range(grid[0]), range(0, grid[1], TILE_ROWS))
    return [
        Piece(
            row * grid[1] + first,
            min(TILE_ROWS, grid[1] - first),
            row * walk.rows[0] + first * walk.rows[1],
        )
        for row, first in starts
    ]


class RegisterSums:
    """Sums of one form of the micro-kernel; made at the start of its function."""

    def __init__(self, f: Function, machine: Machine, walk: Walk, instruction: str, element: Type):
        """What is multiplied.

        Args:
            f: The function.
            machine: What has tiles, or emulates them.
            walk: Where the rows factor is.
            instruction: That multiplies two tiles.
            element: Register type of a number of 32 bits.
        """
        assert walk.step == 1, "numbers of a tile's row follow each other"
        self.f, self.walk, self.instruction, self.element = f, walk, instruction, element
        self.do = TileInstructions(f, machine)
        self.points = tile_points(walk.depth)

    def begin(self, grid: tuple[int, int], vectors: int, width: int) -> tuple[Value, ...]:
        """Sums of 0 for a grid of rows, and some vectors of a panel of some width."""
        f = self.f
        self.pieces, self.vectors, self.width = pieces_of(grid, self.walk), vectors, width
        if self.walk.depth is None or self.walk.depth % self.points:
            rows = max(piece.rows for piece in self.pieces) * len(self.pieces)
            self.left = f.scratch(self.element, rows * TILE_ROWS), f.scratch(self.element, TILE_ROWS * self.columns)
        return tuple(self.do.zero(piece.rows) for piece in self.pieces for _ in range(vectors))

    @property
    def columns(self) -> int:
        """Columns that are multiplied."""
        return self.vectors * TILE_ROWS

    def added(self, a: Value, b: Value, depth: Value, sums: Sequence[Value]) -> tuple[Value, ...]:
        """The sums and the products of some points of the last reduced axis.

        Args:
            a: Address of the first element of the rows factor.
            b: Address of the first element of the panel.
            depth: How many points.
            sums: What there is so far.
        """
        f = self.f
        rest = f.remainder(depth, self.points)
        whole = f.subtract(depth, rest)
        distances = f.i64(self.walk.rows[1] * _BYTES), f.i64(self.width * _BYTES)
        with f.loop(f.i64(0), whole, self.points, sums, ["unroll.disable"]) as loop:
            row = f.offset(a, loop.index, self.element)
            panel = f.offset(b, f.multiply(loop.index, f.i64(self.width)), self.element)
            starts = [f.offset(row, f.i64(piece.distance), self.element) for piece in self.pieces]
            loop.following = self._step(starts, panel, distances, loop.carried)
        if rest.number == 0:
            return loop.carried
        # (3) Once, or never.
        with f.loop(whole, depth, self.points, loop.carried, ["unroll.disable"]) as last:
            row = f.offset(a, last.index, self.element)
            panel = f.offset(b, f.multiply(last.index, f.i64(self.width)), self.element)
            starts = self._copy_rows(row, rest)
            self._copy_columns(panel, rest)
            distances = f.i64(TILE_ROWS * _BYTES), f.i64(self.columns * _BYTES)
            last.following = self._step(starts, self.left[1], distances, last.carried)
        return last.carried

    def store(self, sums: Sequence[Value], to: Value) -> None:
        """Write the sums row by row, as many columns as are multiplied in each (4)."""
        f, distance = self.f, self.f.i64(self.columns * _BYTES)
        for number, (piece, v) in enumerate(product(self.pieces, range(self.vectors))):
            place = f.offset(to, f.i64(piece.first * self.columns + v * TILE_ROWS), self.element)
            self.do.store(piece.rows, place, distance, sums[number])

    def _step(
        self, starts: Sequence[Value], panel: Value, distances: tuple[Value, Value], sums: Sequence[Value]
    ) -> tuple[Value, ...]:
        """The sums and the products of one tile of columns for each vector with all tiles of rows."""
        f, do = self.f, self.do
        columns = [
            do.load(self.points, TILE_ROWS, f.offset(panel, f.i64(v * TILE_ROWS), self.element), distances[1])
            for v in range(self.vectors)
        ]
        following: list[Value] = []
        for piece, start in zip(self.pieces, starts, strict=True):
            rows = do.load(piece.rows, self.points, start, distances[0])
            for tile in columns:
                total = sums[len(following)]
                following.append(do.add_products(self.instruction, (piece.rows, self.points), total, rows, tile))
        return tuple(following)

    def _copy_rows(self, row: Value, rest: Value) -> list[Value]:
        """Copy the last points of all rows, with zeros behind them; gives where each tile is."""
        f, type = self.f, self.element.wide(TILE_ROWS)
        mask, starts = f.first_lanes(rest, TILE_ROWS), list[Value]()
        for number, piece in enumerate(self.pieces):
            start = f.offset(row, f.i64(piece.distance), self.element)
            to = f.offset(self.left[0], f.i64(number * self.pieces[0].rows * TILE_ROWS), self.element)
            with f.loop(f.i64(0), f.i64(piece.rows), hints=["unroll.disable"]) as loop:
                source = f.offset(start, f.multiply(loop.index, f.i64(self.walk.rows[1])), self.element)
                numbers = f.masked_load(type, source, mask, constant(type, 0))
                f.store(numbers, f.offset(to, f.multiply(loop.index, f.i64(TILE_ROWS)), self.element), 64)
            starts.append(to)
        return starts

    def _copy_columns(self, panel: Value, rest: Value) -> None:
        """Copy the last points of the panel, with zeros behind them: what is there need not be a number."""
        f, type = self.f, self.element.wide(TILE_ROWS)

        def row(number: Value, values: Sequence[Value]) -> None:
            to = f.offset(self.left[1], f.multiply(number, f.i64(self.columns)), self.element)
            for v, value in enumerate(values):
                f.store(value, f.offset(to, f.i64(v * TILE_ROWS), self.element), 64)

        with f.loop(f.i64(0), rest, hints=["unroll.disable"]) as loop:
            source = f.offset(panel, f.multiply(loop.index, f.i64(self.width)), self.element)
            places = [f.offset(source, f.i64(v * TILE_ROWS), self.element) for v in range(self.vectors)]
            row(loop.index, [f.load(type, place) for place in places])
        with f.loop(rest, f.i64(TILE_ROWS), hints=["unroll.disable"]) as loop:
            row(loop.index, [constant(type, 0)] * self.vectors)
