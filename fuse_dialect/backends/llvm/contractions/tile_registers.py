"""Sums of a micro-kernel in tile registers: tiles of rows times tiles of columns.

1. A tile of rows has up to 16 rows, each of up to 16 numbers of 32 bits that follow each other along the last reduced
   axis; a tile of columns one row for each of these points. A number is a quad of bytes, or a pair
   of bf16.
2. Columns lie as vectors want them: a tile of them is 16 columns of some rows of a panel. Rows are read where they lie.
3. Of points that fill no tile, copies with zeros behind them are multiplied: a register keeps its shape.
4. Registers are numbered: four of sums, two of rows, two of columns. What shapes they have a processor is told, which
   takes as long as half a micro-kernel: a kernel says it once, for the tiles that most of its rows are in, and takes it
   back at its end. A micro-kernel of other rows says what it needs, and then what was said before.
5. Sums go to the result if that is where they belong as they are. Else they go through the stack, tile by tile of rows:
   while vectors finish one, the other one is still multiplied.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (Intel AMX).
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I32, VOID, Type, Value, constant
from fuse_dialect.backends.llvm.contractions.emulated_tiles import NUMBERS, emulated
from fuse_dialect.loops.contraction import Contraction
from fuse_dialect.loops.functions import DOT, FLOAT_DOT, SIGNED_DOT, UNSIGNED_DOT
from fuse_dialect.loops.tiling import TILE_ROWS, Walk, tile_points
from fuse_dialect.machines.machine import Machine

_INSTRUCTIONS = {SIGNED_DOT: "tdpbssd", UNSIGNED_DOT: "tdpbuud", FLOAT_DOT: "tdpbf16ps"}
_BYTES = 4
"""Of a number that a tile holds."""
_SUMS, _ROWS, _COLUMNS, _REGISTERS = 0, 4, 6, 8
"""The first register of sums, of rows and of columns, and how many there are (4)."""
_EACH = 2
"""Tiles of rows, and of columns, that meet."""


def instruction(contraction: Contraction) -> str:
    """The instruction that multiplies tiles of rows with tiles of columns."""
    if contraction.product == DOT:
        # The first factor is the one without signs, and rows are the first factor of the instruction.
        return "tdpbusd" if contraction.has_rows_first else "tdpbsud"
    return _INSTRUCTIONS[contraction.product]


@dataclass(frozen=True, slots=True)
class TileShape:
    """What shapes registers have: rows of the tiles of rows, and points of the reduced axis (4)."""

    rows: tuple[int, ...]
    points: int

    def configuration(self) -> list[int]:
        """The 64 bytes that say so: a kind of layout, bytes of a row of each register, and rows of each."""
        rows, bytes = [0] * _REGISTERS, [0] * _REGISTERS
        for piece, count in enumerate(self.rows):
            for v in range(_EACH):
                rows[_SUMS + _EACH * piece + v], bytes[_SUMS + _EACH * piece + v] = count, TILE_ROWS * _BYTES
            rows[_ROWS + piece], bytes[_ROWS + piece] = count, self.points * _BYTES
        for v in range(_EACH):
            rows[_COLUMNS + v], bytes[_COLUMNS + v] = self.points, TILE_ROWS * _BYTES
        none = [0] * _REGISTERS
        wide = [byte for count in bytes for byte in (count, 0)]
        return [1, 0, *[0] * 14, *wide, *[0] * 16, *rows, *none]


@dataclass(frozen=True, slots=True)
class TileInstructions:
    """Writes what is done to tiles: as instructions, or as calls of functions that do the same on memory."""

    f: Function
    machine: Machine
    shape: TileShape
    memory: Value | None
    """What stands for registers where instructions are emulated."""

    @staticmethod
    def begun(f: Function, machine: Machine, shape: TileShape) -> "TileInstructions":
        """At the start of a function that multiplies tiles."""
        memory = f.scratch(I32, _REGISTERS * NUMBERS) if machine.emulated else None
        return TileInstructions(f, machine, shape, memory)

    def zero(self, number: int) -> None:
        """Make all numbers of a register 0."""
        self._do("tilezero", number)

    def load(self, number: int, at: Value, distance: Value) -> None:
        """Load a register with rows that are so many bytes apart."""
        self._do("tileloadd64", number, at, distance, sizes=self._sizes(number))

    def add_products(self, name: str, total: int, rows: int, columns: int) -> None:
        """Add the products of two registers to a third; `name` is that of the instruction."""
        if self.memory is None:
            self.f.call(f"llvm.x86.{name}", VOID, [constant(I8, each) for each in (total, rows, columns)])
            return
        f, count = self.f, self.shape.rows[rows - _ROWS]
        operands = [*map(self._place, (total, rows, columns)), f.i64(count), f.i64(self.shape.points)]
        f.call(emulated(f.module, name), VOID, operands)

    def store(self, number: int, to: Value, distance: Value) -> None:
        """Write the rows of a register, so many bytes apart."""
        self._do("tilestored64", number, to, distance, sizes=self._sizes(number))

    def _do(self, name: str, number: int, *operands: Value, sizes: Sequence[Value] = ()) -> None:
        f = self.f
        if self.memory is None:
            f.call(f"llvm.x86.{name}", VOID, [constant(I8, number), *operands])
        else:
            f.call(emulated(f.module, name), VOID, [self._place(number), *sizes, *operands])

    def _place(self, number: int) -> Value:
        assert self.memory is not None, "registers have a place where they are emulated"
        return self.f.offset(self.memory, self.f.i64(number * NUMBERS), I32)

    def _sizes(self, number: int) -> list[Value]:
        """Rows of a register and bytes of each, from what a processor would be told."""
        bytes = self.shape.configuration()
        return [self.f.i64(bytes[48 + number]), self.f.i64(bytes[16 + 2 * number])]


def configure(f: Function, machine: Machine, shape: TileShape) -> None:
    """Tell the processor what shapes registers have from here on."""
    if not machine.emulated:
        name = f"tiles.{'x'.join(map(str, (*shape.rows, shape.points)))}"
        f.call("llvm.x86.ldtilecfg", VOID, [f.module.table(name, I8, shape.configuration())])


def release(f: Function, machine: Machine) -> None:
    """Tell the processor that registers are not needed any more: the system need not keep them for the thread."""
    if not machine.emulated:
        f.call("llvm.x86.tilerelease", VOID, [])


@contextmanager
def configured(f: Function, machine: Machine, shape: TileShape | None) -> Generator[None]:
    """Registers have shapes in what the `with` block writes (4); no shape, no tiles."""
    if shape is not None:
        configure(f, machine, shape)
    yield
    if shape is not None:
        release(f, machine)


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


def tile_shape(grid: tuple[int, int], walk: Walk) -> TileShape:
    """What shapes registers have in a micro-kernel."""
    return TileShape(tuple(piece.rows for piece in pieces_of(grid, walk)), tile_points(walk.depth))


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
        self.f, self.machine, self.walk = f, machine, walk
        self.instruction, self.element = instruction, element

    def begin(self, grid: tuple[int, int], vectors: int, width: int, told: TileShape) -> None:
        """Make sums 0 for a grid of rows, and some vectors of a panel of some width.

        Args:
            grid: Rows along its two axes.
            vectors: How many of the panel.
            width: Of the panel.
            told: What the kernel told the processor (4).
        """
        f = self.f
        self.pieces, self.vectors, self.width = pieces_of(grid, self.walk), vectors, width
        self.shape, self.told = tile_shape(grid, self.walk), told
        assert len(self.pieces) <= _EACH, "a grid is two tiles of rows at most"
        self.points = self.shape.points
        self.do = TileInstructions.begun(f, self.machine, self.shape)
        if self.walk.depth is None or self.walk.depth % self.points:
            rows = max(self.shape.rows) * len(self.pieces)
            self.left = f.scratch(self.element, rows * TILE_ROWS), f.scratch(self.element, TILE_ROWS * self.columns)
        if self.shape != told:
            configure(f, self.machine, self.shape)
        for number in self._sums():
            self.do.zero(number)

    @property
    def columns(self) -> int:
        """Columns that are multiplied."""
        return self.vectors * TILE_ROWS

    def _sums(self) -> list[int]:
        return [number for piece in range(len(self.pieces)) for number in self._sums_of(piece)]

    def _sums_of(self, piece: int) -> list[int]:
        """The registers of sums of a tile of rows."""
        return [_SUMS + _EACH * piece + v for v in range(self.vectors)]

    def add(self, a: Value, b: Value, depth: Value) -> None:
        """Add the products of some points of the last reduced axis.

        Args:
            a: Address of the first element of the rows factor.
            b: Address of the first element of the panel.
            depth: How many points.
        """
        f = self.f
        rest = f.remainder(depth, self.points)
        whole = f.subtract(depth, rest)
        distances = f.i64(self.walk.rows[1] * _BYTES), f.i64(self.width * _BYTES)
        with f.loop(f.i64(0), whole, self.points, hints=["unroll.disable"]) as loop:
            row = f.offset(a, loop.index, self.element)
            panel = f.offset(b, f.multiply(loop.index, f.i64(self.width)), self.element)
            starts = [f.offset(row, f.i64(piece.distance), self.element) for piece in self.pieces]
            self._step(starts, panel, distances)
        if rest.number == 0:
            return
        # (3) Once, or never.
        with f.loop(whole, depth, self.points, hints=["unroll.disable"]) as last:
            row = f.offset(a, last.index, self.element)
            panel = f.offset(b, f.multiply(last.index, f.i64(self.width)), self.element)
            starts = self._copy_rows(row, rest)
            self._copy_columns(panel, rest)
            self._step(starts, self.left[1], (f.i64(TILE_ROWS * _BYTES), f.i64(self.columns * _BYTES)))

    def store(self, number: int, to: Value, distance: Value, across: Value) -> None:
        """Write the sums of a tile of rows.

        Args:
            number: Of the tile of rows.
            to: Address of its first sum.
            distance: Elements from one row to the next.
            across: Elements from one vector to the next.
        """
        f = self.f
        for v, register in enumerate(self._sums_of(number)):
            place = f.offset(to, f.multiply(f.i64(v), across), self.element)
            self.do.store(register, place, f.multiply(distance, f.i64(_BYTES)))

    def end(self) -> None:
        """Tell the processor what it was told before, once all sums are stored (4)."""
        if self.shape != self.told:
            configure(self.f, self.machine, self.told)

    def _step(self, starts: Sequence[Value], panel: Value, distances: tuple[Value, Value]) -> None:
        """Add the products of one tile of columns for each vector with all tiles of rows."""
        f, do = self.f, self.do
        for v in range(self.vectors):
            do.load(_COLUMNS + v, f.offset(panel, f.i64(v * TILE_ROWS), self.element), distances[1])
        for piece, start in enumerate(starts):
            do.load(_ROWS + piece, start, distances[0])
            for v, total in enumerate(self._sums_of(piece)):
                do.add_products(self.instruction, total, _ROWS + piece, _COLUMNS + v)

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
