"""The micro-kernel: a tile of sums in registers, the products that they add up, and what becomes of them.

1. The tile has a grid of rows, along one or two axes, and vectors along the columns. For each point of the reduced
   axes it loads the vectors of one panel row, and multiplies them with one element for each row.
2. Elements of the rows factor lie at fixed distances from each other, see `Walk`; the columns factor is packed: for
   each point of the reduced axes as many elements as the tile has columns, one after the other.
3. After the last product `finish` runs on the tile and the results are stored. If the reduced axes are taken in
   blocks, sums wait in the result in between.
4. A long `finish` runs from the stack, a few vectors side by side: the code stays small, and few values live at once.
5. Whatever comes from memory is asked for in advance: the panel some rows ahead, the rows of the next tile while this
   one runs, and at its start the lines that `finish` reads and writes. A processor finds few of these by itself.
6. Where a processor has registers for tiles, these hold the sums of many rows, and give them to the result or the
   stack. Results are not fetched then: tiles are many rows high, and lines of so many rows drive each other out.
7. A single row asks for a line with each product. Where all columns are few, most of those lines are beyond the last
   one, and in a loop of small products they take the place of what the next round needs: nothing is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I1, I8, VOID, Type, Value, constant
from fuse_dialect.backends.llvm.contractions.dots import dot, pair_dot
from fuse_dialect.backends.llvm.contractions.expanded import ExpandedColumns
from fuse_dialect.backends.llvm.contractions.tile_registers import RegisterSums, TileShape, instruction
from fuse_dialect.backends.llvm.elements import register_type, to_memory
from fuse_dialect.backends.llvm.finishing import finished, joins_bytes
from fuse_dialect.backends.llvm.kernel import Point, frame_of, inner_function
from fuse_dialect.backends.llvm.memory import Reader, reader_at
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.bounds import CHAINS
from fuse_dialect.loops.contraction import Contraction, store_place
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.expansions import Expansion
from fuse_dialect.loops.functions import DOT, PAIR_DOT, scalar_function
from fuse_dialect.loops.places import Place, flat_place
from fuse_dialect.loops.program import Apply, Read
from fuse_dialect.loops.tiling import FEW_TILE_ROWS, Walk, needs_tiles
from fuse_dialect.machines.machine import Unit

_PRODUCTS = 28
"""Products of vectors in the innermost loop, at least about so many: enough to hide the loop's own instructions."""
_LONG = 240
"""Instructions from which on `finish` is not repeated for every vector of the tile."""

_Write: TypeAlias = Callable[[], None]
_Row: TypeAlias = tuple[Value, Value, Sequence[Value]]
"""The place of a row in the grid, and its vectors of sums."""
_Store: TypeAlias = Callable[[Sequence[_Row]], list[_Write]]
"""Computes what becomes of the sums of some rows of the grid; what it gives writes that to memory."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One form of the micro-kernel."""

    grid: tuple[int, int]
    vectors: int
    lanes: int
    width: int
    """Columns of a panel: as many as the vectors have room for, or more."""
    columns: int | None
    """How many columns there are, of those that the vectors have room for; `None` if the call says it."""
    some_rows: bool = False
    """Whether the call says how many rows of the grid are stored."""

    @property
    def rows(self) -> int:
        """Rows of the grid."""
        return self.grid[0] * self.grid[1]

    @property
    def name(self) -> str:
        """Part of the function's name."""
        columns = "n" if self.columns is None else self.columns
        return f"{self.grid[0]}x{self.grid[1]}x{columns}{'_some' if self.some_rows else ''}"


@dataclass(frozen=True, slots=True)
class TileCall:
    """What a call of the micro-kernel gets."""

    rows: Value
    """Address of the first element of the rows factor."""
    panel: Value
    """Address of the first element of the columns factor."""
    point: Point
    """Values of the parallel axes at the tile's first element."""
    depth: Value
    first: Value
    """Whether sums start at 0, an i1."""
    last: Value
    """Whether the results are complete afterwards, an i1."""
    row_count: Value
    column_count: Value


@dataclass(frozen=True, slots=True)
class Tiles:
    """Writes micro-kernels for one contraction, each form once."""

    request: Request
    contraction: Contraction
    walk: Walk
    grid_axes: tuple[int | None, int | None]
    """The axes along which the grid has rows."""
    in_blocks: bool
    """Whether sums wait in the result until the last block of the reduced axes."""
    expansion: Expansion | None = None
    """How columns are made of what is packed, if that is not what is multiplied."""
    told: TileShape | None = None
    """What the kernel tells the processor of tiles, if many rows are multiplied in registers for these (6)."""

    @property
    def parallel(self) -> tuple[int, ...]:
        """The parallel axes."""
        return tuple(axis for axis, each in enumerate(self.contraction.stage.axes) if not each.is_reduced)

    @property
    def sum_type(self) -> Type:
        """Register type of a sum."""
        return register_type(self.contraction.element)

    def call(self, f: Function, slots: Value, shape: Shape, call: TileCall) -> None:
        """Call a micro-kernel, which is written at the first call."""
        name = f"{self.request.entry.name}_tile_{shape.name}"
        if not self.request.module.defines(name):
            self._write(name, shape)
        operands = [slots, call.rows, call.panel, *(call.point[axis] for axis in self.parallel)]
        operands += [call.depth, call.row_count, call.column_count, call.first, call.last]
        f.call(name, VOID, operands)

    def _write(self, name: str, shape: Shape) -> None:
        numbers = [*(f"x{axis}" for axis in self.parallel), "depth", "row_count", "column_count"]
        f = inner_function(self.request, name, ["slots", "a", "b"], (), numbers, ["first", "last"])
        _Tile(self, f, shape).write()


class _Tile:
    def __init__(self, tiles: Tiles, f: Function, shape: Shape):
        self.tiles, self.f, self.shape = tiles, f, shape
        _, self.a, self.b, *rest = f.parameters
        self.frame = frame_of(tiles.request, f)
        self.machine = tiles.request.machine
        store = store_place(tiles.request.program, tiles.contraction.stage)
        assert store is not None, "sums are recognised by where they are stored"
        self.store = store
        self.point = dict(zip(tiles.parallel, rest, strict=False))
        self.depth, self.row_count, self.column_count, self.first, self.last = rest[len(tiles.parallel) :]
        self.type = tiles.sum_type.wide(shape.lanes)
        self.registers = None
        if tiles.told is not None and (shape.rows > FEW_TILE_ROWS or needs_tiles(tiles.contraction.product)):
            name = instruction(tiles.contraction)
            self.registers = RegisterSums(f, self.machine, tiles.walk, name, tiles.sum_type)
        self.straight = self._straight() if self.registers is not None else None
        self.is_long = self.registers is not None or self._is_long()
        if self.is_long and self.straight is None:
            self.stack = f.scratch(tiles.sum_type, shape.rows * shape.vectors * shape.lanes)

    def _is_long(self) -> bool:
        return self.shape.some_rows or self._cost() * self.shape.rows * self.shape.vectors > _LONG

    def _cost(self) -> float:
        """Instructions of `finish` for a vector."""
        finish = self.tiles.contraction.stage.finish
        return sum(scalar_function(each.function).instructions if isinstance(each, Apply) else 1 for each in finish)

    def _straight(self) -> int | None:
        """Elements between rows of the result, if registers for tiles can be stored there: whole ones, as they are."""
        shape, stage = self.shape, self.tiles.contraction.stage
        is_whole = shape.columns == shape.vectors * shape.lanes and not shape.some_rows and not self.tiles.in_blocks
        if stage.finish or not is_whole or self.frame.buffers[stage.buffer].element != self.tiles.contraction.element:
            return None
        distance = self._distance(self.store, 0, 1, 0)
        return distance if self._distance(self.store, 0, 0, 1) == shape.lanes else None

    def write(self) -> None:
        f, tiles = self.f, self.tiles
        self._prefetch_results()
        if self.registers is not None and not tiles.in_blocks:
            self._multiply(self.registers)
            self._finish_tiles(self.registers)
            f.ret()
            return
        sums = self._sums()
        if tiles.in_blocks:
            if self.registers is not None:
                with f.when(f.compare("eq", self.first, constant(I1, 0))):
                    self._add_waiting_rows()
            else:
                sums = f.either(self.first, lambda: sums, lambda: self._with_waiting(sums))
            complete, waiting, end = f.label("complete"), f.label("waiting"), f.label("done")
            f.branch(self.last, complete, waiting)
            f.start(waiting)
            self._each_row(sums, self._store_sums)
            f.br(end)
            f.start(complete)
            self._each_row(sums, self._finished)
            f.br(end)
            f.start(end)
        else:
            self._each_row(sums, self._finished)
        f.ret()

    def _multiply(self, registers: RegisterSums) -> None:
        """Add up all products in registers for tiles."""
        f, told, depth = self.f, self.tiles.told, self.tiles.walk.depth
        assert told is not None, "a kernel that uses tiles tells the processor so"
        registers.begin(self.shape.grid, self.shape.vectors, self.shape.width, told)
        self._outer(0, (self.a, self.b, f.i64(0)), self.depth if depth is None else f.i64(depth), ())

    def _finish_tiles(self, registers: RegisterSums) -> None:
        """Store what is in registers for tiles, or what `finish` makes of it."""
        f, shape = self.f, self.shape
        if self.straight is not None:
            for number, piece in enumerate(registers.pieces):
                r, c = f.i64(piece.first // shape.grid[1]), f.i64(piece.first % shape.grid[1])
                to = self.frame.address(self.tiles.contraction.stage.buffer, self.store, self._at(r, c, 0))
                registers.store(number, to, f.i64(self.straight), f.i64(shape.lanes))
            registers.end()
            return
        # One tile after the other, unless that is much code, or nobody knows how many rows there are.
        apart = len(registers.pieces) > 1 and not shape.some_rows and self._cost() * CHAINS <= _LONG
        for number, piece in enumerate(registers.pieces):
            self._put_on_stack(registers, number)
            if apart:
                self._each_row_of_stack(piece.first, piece.rows, self._finished)
        registers.end()
        if not apart:
            self._each_row_of_stack(0, shape.rows, self._finished)

    def _prefetch_results(self) -> None:
        """Fetch the lines of the results, and what `finish` reads for each row of them."""
        shape, contraction = self.shape, self.tiles.contraction
        # (5) A prefetch of what does not exist does no harm, but takes the place of one that does.
        if shape.some_rows or shape.columns is None:
            return  # some of the tile lies outside
        if self.registers is None:  # (6)
            self._prefetch_lines(contraction.stage.buffer, self.store, writes=True)
        for read in contraction.stage.finish:
            if isinstance(read, Read) and not read.guards:
                place = flat_place(read.indices, self.frame.buffers[read.buffer].shape, len(contraction.stage.axes))
                if place is not None and place.strides[contraction.column_axes[-1]].number == 1:
                    self._prefetch_lines(read.buffer, place, writes=False)

    def _prefetch_lines(self, buffer: str, place: Place, *, writes: bool) -> None:
        """Fetch the lines of a place, for each vector of the tile, if the rows differ."""
        f, grid = self.f, self.shape.grid
        if all(axis is None or not place.depends_on(axis) for axis in self.tiles.grid_axes):
            return
        bytes, fetched = element_bytes(self.frame.buffers[buffer].element), list[int]()
        for row in range(self.shape.rows):
            for v in range(self.shape.vectors):
                r, c = row // grid[1], row % grid[1]
                distance = self._distance(place, r, c, v)
                if distance is not None:
                    # Neighbours in a line are fetched once: vectors of bytes are an eighth of one.
                    if any(abs(distance * bytes - other) < self.machine.line_bytes for other in fetched):
                        continue
                    fetched.append(distance * bytes)
                f.prefetch(self.frame.address(buffer, place, self._at(f.i64(r), f.i64(c), v)), f.i64(0), writes=writes)

    def _distance(self, place: Place, r: int, c: int, v: int) -> int | None:
        """Elements from the first vector of the tile to another one; `None` if that is known at run time alone."""
        steps = [(axis, count) for axis, count in zip(self.tiles.grid_axes, (r, c), strict=True) if axis is not None]
        steps.append((self.tiles.contraction.column_axes[-1], v * self.shape.lanes))
        strides = [(place.strides[axis].number, count) for axis, count in steps]
        if place.odd or any(stride is None for stride, _ in strides):
            return None
        return sum((stride or 0) * count for stride, count in strides)

    def _sums(self) -> tuple[Value, ...]:
        """The products added up over all reduced axes."""
        f, walk = self.f, self.tiles.walk
        depth, start = self.depth if walk.depth is None else f.i64(walk.depth), (self.a, self.b, f.i64(0))
        if self.registers is not None:
            self._multiply(self.registers)
            for number in range(len(self.registers.pieces)):
                self._put_on_stack(self.registers, number)
            self.registers.end()
            return ()
        sums = tuple(constant(self.type, 0) for _ in range(self.shape.rows * self.shape.vectors))
        return self._outer(0, start, depth, sums)

    def _outer(
        self, level: int, at: tuple[Value, Value, Value], depth: Value, sums: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        """The loops over reduced axes from `level` on; there are at most as many as a convolution has.

        Args:
            level: How many loops are around.
            at: Addresses of both factors, and the number of the point of the loops around.
            depth: Points of the last axis.
            sums: What there is so far.
        """
        f, walk, expansion = self.f, self.tiles.walk, self.tiles.expansion
        a, b, number = at
        if level == len(walk.outer):
            if expansion is not None:
                axes, column = self.tiles.contraction.stage.axes, self.tiles.contraction.column_axes[-1]
                around = reader_at(self.frame, axes, self.point, self.shape.lanes, column)
                columns = ExpandedColumns(around, expansion, (b, self.point[column], number))
                return self._blockwise(a, columns, depth, sums)
            if self.registers is not None:
                self.registers.add(a, b, depth)
                return ()
            return self._inner(a, b, depth, sums)
        count, distance = walk.outer[level]
        below = f.i64(self.shape.width)
        for inner, _ in walk.outer[level + 1 :]:
            below = f.multiply(below, f.i64(inner))
        below = f.multiply(below, depth)
        with f.loop(f.i64(0), f.i64(count), carried=sums) as loop:
            row = f.offset(a, f.multiply(loop.index, f.i64(distance)), self.tiles.sum_type)
            if expansion is not None:
                panel = f.offset(b, f.multiply(loop.index, f.quotient(below, expansion.per_byte)), I8)
            else:
                panel = f.offset(b, f.multiply(loop.index, below), self.tiles.sum_type)
            inner = f.add(f.multiply(number, f.i64(count)), loop.index)
            loop.following = self._outer(level + 1, (row, panel, inner), depth, loop.carried)
        return loop.carried

    def _blockwise(
        self, a: Value, columns: ExpandedColumns, depth: Value, sums: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        """The innermost loop over columns that expand; what scales all its products is multiplied behind it."""
        f, shape = self.f, self.shape
        scales = [columns.outside(v) for v in range(shape.vectors)]
        start = [constant(self.type, 0)] * len(sums) if scales[0] is not None else sums
        assert depth.number is not None, "blocks have a known length"
        step, most = columns.per_byte, max(1, _PRODUCTS // len(sums))
        unroll = next(steps for steps in range(max(most, step), 0, -1) if depth.number % steps == steps % step == 0)
        with f.loop(f.i64(0), depth, unroll, start, ["unroll.disable"]) as loop:
            following = loop.carried
            for first in range(0, unroll, step):
                k = f.add(loop.index, f.i64(first))
                expanded = columns.inside(k, shape.vectors, shape.width)
                for number, vectors in enumerate(expanded):
                    following = self._products(a, f.add(k, f.i64(number)), vectors, following)
            loop.following = following
        return tuple(
            total if scale is None else self._product(total, scale, sums[place])
            for place, total in enumerate(loop.carried)
            for scale in [scales[place % shape.vectors]]
        )

    def _inner(self, a: Value, b: Value, depth: Value, sums: tuple[Value, ...]) -> tuple[Value, ...]:
        """The innermost loop, several steps at a time."""
        f = self.f
        # Sums of integers that follow each other LLVM takes in another order, which many sums have no registers for.
        most = _PRODUCTS // 2 if self.tiles.contraction.product == PAIR_DOT else _PRODUCTS
        unroll = max(1, most // (self.shape.rows * self.shape.vectors))
        if depth.number is not None:
            # A divisor of the depth needs no second loop for the rest.
            unroll = next(steps for steps in range(unroll, 0, -1) if depth.number % steps == 0)
        rest = f.remainder(depth, unroll)
        whole = f.subtract(depth, rest)
        with f.loop(f.i64(0), whole, unroll, sums, ["unroll.disable"]) as loop:
            sums = loop.carried
            for step in range(unroll):
                sums = self._step(a, b, f.add(loop.index, f.i64(step)), sums)
            loop.following = sums
        sums = loop.carried
        if rest.number == 0:
            return sums
        with f.loop(whole, depth, 1, sums, ["unroll.disable"]) as loop:
            loop.following = self._step(a, b, loop.index, loop.carried)
        return loop.carried

    def _step(self, a: Value, b: Value, k: Value, sums: Sequence[Value]) -> tuple[Value, ...]:
        f, shape, walk, scalar = self.f, self.shape, self.tiles.walk, self.tiles.sum_type
        step = shape.width if walk.panel_step is None else walk.panel_step
        panel = f.stepped(b, k, step, scalar)
        # (1) Vectors of the columns stay in registers while one element of each row is spread over all lanes.
        vectors = [self._panel_vector(panel, v) for v in range(shape.vectors)]
        self._prefetch_factors(a, panel, k)
        return self._products(a, k, vectors, sums)

    def _products(self, a: Value, k: Value, vectors: Sequence[Value], sums: Sequence[Value]) -> tuple[Value, ...]:
        """The sums, and the products with the vectors of one point of the last reduced axis."""
        f, shape, walk, scalar = self.f, self.shape, self.tiles.walk, self.tiles.sum_type
        first = f.stepped(a, k, walk.step, scalar)
        result: list[Value] = []
        for row in range(shape.rows):
            distance = row // shape.grid[1] * walk.rows[0] + row % shape.grid[1] * walk.rows[1]
            element = f.splat(f.load(scalar, f.offset(first, f.i64(distance), scalar)), shape.lanes)
            for v, vector in enumerate(vectors):
                result.append(self._product(element, vector, sums[row * shape.vectors + v]))
        return tuple(result)

    def _prefetch_factors(self, a: Value, panel: Value, k: Value) -> None:
        """Fetch a later row of the panel, and a piece of the rows of the next tile if they follow those of this one."""
        f, shape, walk = self.f, self.shape, self.tiles.walk
        bytes = self.tiles.sum_type.bits // 8
        step = (shape.width if walk.panel_step is None else walk.panel_step) * bytes
        # (5), (7); where `step` is 0 all products are with the same columns, which are here already.
        if step and not (shape.rows == 1 and self._has_few_columns()):
            for line in range(0, shape.vectors * shape.lanes * bytes, self.machine.line_bytes):
                f.prefetch(panel, f.i64(max(self.machine.ahead_bytes // step, 1) * step + line))
        reach = shape.rows * walk.rows[1] * bytes
        if walk.depth and _follow_each_other(walk, shape, 2 * self.machine.line_bytes):
            piece = f.multiply(k, f.i64(-(-reach // walk.depth)))
            f.prefetch(a, f.add(piece, f.i64(reach)), near=reach <= self.machine.first_cache.bytes // 2)

    def _has_few_columns(self) -> bool:
        """Whether the whole columns factor takes half of the first cache at most."""
        contraction = self.tiles.contraction
        sizes = [contraction.stage.axes[axis].size for axis in contraction.columns.axes]
        known = [size for size in sizes if isinstance(size, int)]
        bytes = prod(known) * self.tiles.sum_type.bits // 8
        return len(known) == len(sizes) and bytes <= self.machine.first_cache.bytes // 2

    def _panel_vector(self, panel: Value, v: int) -> Value:
        """Some columns; those beyond the last are 0 in a packed panel, and not there in the array itself."""
        f = self.f
        address = f.offset(panel, f.i64(v * self.shape.lanes), self.tiles.sum_type)
        mask = None if self.tiles.walk.panel_step is None else self._mask(v)
        if mask is None:
            return f.load(self.type, address)
        return f.masked_load(self.type, address, mask, constant(self.type, 0))

    def _product(self, lhs: Value, rhs: Value, total: Value) -> Value:
        f, contraction = self.f, self.tiles.contraction
        if contraction.product == PAIR_DOT:
            return pair_dot(f, self.machine, (lhs, rhs), total)
        if contraction.product == DOT:
            # Rows and columns are told apart by where results lie, so either may be the factor without signs.
            return dot(f, self.machine, (lhs, rhs) if contraction.has_rows_first else (rhs, lhs), total)
        if not lhs.type.is_float:
            return f.binary("add", f.binary("mul", lhs, rhs), total)
        if Unit.FMA in self.machine.units:
            return f.fma(lhs, rhs, total)
        return f.fadd(f.fmul(lhs, rhs), total)

    def _each_row(self, sums: Sequence[Value], store: _Store) -> None:
        """Let `store` write every row of the tile."""
        f, shape = self.f, self.shape
        if not self.is_long:
            grid = [(f.i64(row // shape.grid[1]), f.i64(row % shape.grid[1])) for row in range(shape.rows)]
            pieces = [sums[row * shape.vectors : (row + 1) * shape.vectors] for row in range(shape.rows)]
            # all results before the first store, so that what the rows share is read once
            for write in store([(*place, piece) for place, piece in zip(grid, pieces, strict=True)]):
                write()
            return
        scalar = self.tiles.sum_type
        # (4) From the stack, so that `finish` is there once and not for every vector.
        for number, total in enumerate(sums):
            f.store(total, f.offset(self.stack, f.i64(number * shape.lanes), scalar), 64)
        self._each_row_of_stack(0, shape.rows, store)

    def _each_row_of_stack(self, first: int, rows: int, store: _Store) -> None:
        """Let `store` write some rows of the tile, whose sums are on the stack."""
        f, shape, scalar = self.f, self.shape, self.tiles.sum_type
        stop = self.row_count if shape.some_rows else f.i64(first + rows)
        step = self._rows_at_once(rows)

        def row(number: Value) -> _Row:
            base = self._on_stack(number)
            piece = [
                f.load(self.type, f.offset(base, f.i64(v * shape.lanes), scalar), 64) for v in range(shape.vectors)
            ]
            if shape.grid[0] == 1:
                return f.i64(0), number, piece
            return f.quotient(number, shape.grid[1]), f.remainder(number, shape.grid[1]), piece

        with f.loop(f.i64(first), stop, step, hints=["unroll.disable"]) as loop:
            numbers = [f.add(loop.index, f.i64(place)) for place in range(step)]
            for write in store([row(number) for number in numbers]):
                write()

    def _put_on_stack(self, registers: RegisterSums, number: int) -> None:
        """Store the sums of a tile of rows in their place on the stack."""
        f, lanes = self.f, self.shape.lanes
        to = self._on_stack(f.i64(registers.pieces[number].first))
        registers.store(number, to, f.i64(self.shape.vectors * lanes), f.i64(lanes))

    def _on_stack(self, row: Value) -> Value:
        """Address of the sums of a row on the stack."""
        place = self.f.multiply(row, self.f.i64(self.shape.vectors * self.shape.lanes))
        return self.f.offset(self.stack, place, self.tiles.sum_type)

    def _rows_at_once(self, count: int) -> int:
        """Of so many rows those of an iteration, so that enough vectors are computed side by side (4)."""
        shape = self.shape
        if shape.some_rows:
            return 1
        divisors = [rows for rows in range(1, count + 1) if count % rows == 0]
        if not joins_bytes(self.tiles.contraction.stage.finish, self.machine, shape.lanes):
            return max(rows for rows in divisors if rows == 1 or rows * shape.vectors <= CHAINS)
        # Vectors that become one of bytes, or up to twice as many, if that leaves fewer of these half empty.
        few = [rows for rows in divisors if rows == 1 or rows * shape.vectors <= 2 * CHAINS]
        return min(few, key=lambda rows: (-(-rows * shape.vectors // CHAINS) / rows, rows))

    def _with_waiting(self, sums: Sequence[Value]) -> list[Value]:
        """The sums plus those of earlier blocks, which wait in the result."""
        f, shape, total = self.f, self.shape, list(sums)
        for row in range(shape.rows):
            r, c = f.i64(row // shape.grid[1]), f.i64(row % shape.grid[1])
            if shape.some_rows:  # rows that are not stored wait nowhere; any that is will do
                c = f.least(c, f.subtract(self.row_count, f.i64(1)))
            for v in range(shape.vectors):
                number = row * shape.vectors + v
                total[number] = self._added_to_waiting(r, c, v, total[number])
        return total

    def _add_waiting_rows(self) -> None:
        """Add those of earlier blocks, which wait in the result, to the sums on the stack."""
        f, shape = self.f, self.shape
        stop = self.row_count if shape.some_rows else f.i64(shape.rows)
        with f.loop(f.i64(0), stop, hints=["unroll.disable"]) as loop:
            r, c = f.quotient(loop.index, shape.grid[1]), f.remainder(loop.index, shape.grid[1])
            base = f.offset(self.stack, f.multiply(loop.index, f.i64(shape.vectors * shape.lanes)), self.tiles.sum_type)
            for v in range(shape.vectors):
                place = f.offset(base, f.i64(v * shape.lanes), self.tiles.sum_type)
                f.store(self._added_to_waiting(r, c, v, f.load(self.type, place, 64)), place, 64)

    def _added_to_waiting(self, r: Value, c: Value, v: int, total: Value) -> Value:
        """A vector of sums plus those of earlier blocks."""
        f = self.f
        address, mask = self._target(r, c, v)
        zero = constant(self.type, 0)
        old = f.load(self.type, address) if mask is None else f.masked_load(self.type, address, mask, zero)
        return f.fadd(old, total) if old.type.is_float else f.binary("add", old, total)

    def _store_sums(self, rows: Sequence[_Row]) -> list[_Write]:
        return [self._writer(r, c, v, total) for r, c, sums in rows for v, total in enumerate(sums)]

    def _finished(self, rows: Sequence[_Row]) -> list[_Write]:
        finish, lanes = self.tiles.contraction.stage.finish, self.shape.lanes
        # What is short takes turns row by row: the tile's values fill the registers.
        takes_turns = self.is_long or joins_bytes(finish, self.machine, lanes)
        writes: list[_Write] = []
        for group in [rows] if takes_turns else [[row] for row in rows]:
            places = [(r, c, v) for r, c, sums in group for v in range(len(sums))]
            totals = [total for _, _, sums in group for total in sums]
            values = finished([self._reader(*place) for place in places], finish, totals)
            writes += [self._writer(*place, value) for place, value in zip(places, values, strict=True)]
        return writes

    def _reader(self, r: Value, c: Value, v: int) -> Reader:
        """What is around a vector of sums."""
        contraction = self.tiles.contraction
        axes, column = contraction.stage.axes, contraction.column_axes[-1]
        return reader_at(self.frame, axes, self._at(r, c, v), self.shape.lanes, column, self._mask(v))

    def _at(self, r: Value, c: Value, v: int) -> Mapping[int, Value]:
        """The point of the first lane of a vector of the tile."""
        f, point = self.f, dict(self.point)
        for axis, moved in zip(self.tiles.grid_axes, (r, c), strict=True):
            if axis is not None:
                point[axis] = f.add(moved, point[axis])
        column = self.tiles.contraction.column_axes[-1]
        point[column] = f.add(point[column], f.i64(v * self.shape.lanes))
        return point

    def _mask(self, v: int) -> Value | None:
        """The lanes of a vector that are columns; `None` if all are."""
        columns, lanes = self.shape.columns, self.shape.lanes
        if columns is not None and columns >= (v + 1) * lanes:
            return None
        count = self.f.subtract(self.column_count if columns is None else self.f.i64(columns), self.f.i64(v * lanes))
        return self.f.first_lanes(count, lanes)

    def _target(self, r: Value, c: Value, v: int) -> tuple[Value, Value | None]:
        """Where a vector is stored, and which lanes."""
        buffer = self.tiles.contraction.stage.buffer
        return self.frame.address(buffer, self.store, self._at(r, c, v)), self._mask(v)

    def _writer(self, r: Value, c: Value, v: int, value: Value) -> _Write:
        def write() -> None:
            address, mask = self._target(r, c, v)
            stored = to_memory(self.f, value)
            if mask is None:
                self.f.store(stored, address)
            else:
                self.f.masked_store(stored, address, mask)

        return write


def _follow_each_other(walk: Walk, shape: Shape, gap: int) -> bool:
    """Whether rows lie one behind the other with at most a gap between, so that those of the next tile come next."""
    # (5) Only where the next tile begins behind this one is its place known here.
    is_one_row = shape.grid[0] == 1 or walk.rows[0] == shape.grid[1] * walk.rows[1]
    is_dense = walk.depth is not None and walk.depth <= walk.rows[1] <= walk.depth + gap
    return not walk.outer and walk.step == 1 and is_one_row and is_dense
