"""Factors of a contraction in the order in which micro-kernels read them, written to the workspace.

1. Rows are copied as they lie, with another distance between them, so that they do not drive each other out of the
   cache; padding, casts and scales around the read are done on the way. The last reduced axes may lie side by side, as
   those of a window on a line of an image: such a run is copied at once where nothing of it is padding.
2. Columns are packed into panels: for each point of the reduced axes, in order, one element of each column.
3. Vectors run along the axis whose neighbours lie side by side in memory. If that is the last reduced axis, panels
   are made of squares that are transposed in registers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I1, VOID, Type, Value, constant
from fuse_dialect.backends.llvm.contractions.lines import fill_line
from fuse_dialect.backends.llvm.elements import register_type
from fuse_dialect.backends.llvm.kernel import Point, frame_of, inner_function
from fuse_dialect.backends.llvm.memory import Reader, reader_at
from fuse_dialect.backends.llvm.register_transpose import transposed
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.contraction import Contraction, Factor, Run, run_of, unit_axis
from fuse_dialect.loops.indices import Guard, axes_of

_WRITTEN_OUT = 8
"""Vectors of a run whose moves are written out."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Writes the functions that lay out factors, each once."""

    request: Request
    contraction: Contraction
    lanes: int

    @property
    def outer(self) -> tuple[int, ...]:
        """The axes whose values a call gives."""
        return self.contraction.outer

    @property
    def element(self) -> Type:
        """Register type of what is written."""
        return register_type(self.contraction.element)

    def rows(
        self, f: Function, slots: Value, to: Value, point: Point, block: tuple[Value, Value, Value, Value], pitch: int
    ) -> None:
        """Copy a block of rows.

        Args:
            f: The function that needs it.
            slots: Of the kernel.
            to: Where to.
            point: Values of the outer axes.
            block: The first row and the number of rows, the first point of the last reduced axis and the number.
            pitch: Distance of rows in elements.
        """
        known = block[3].number
        name = f"{self.request.entry.name}_rows{'' if known is None else f'_of_{known}'}"
        if not self.request.module.defines(name):
            inner = self._function(name, ("row", "rows", "first", "count"))
            _RowsCopy(self, inner, pitch, known).write()
        f.call(name, VOID, [slots, to, *(point[axis] for axis in self.outer), *block])

    def panels(
        self,
        f: Function,
        slots: Value,
        to: Value,
        point: Point,
        block: tuple[Value, Value],
        vectors: int,
        depth: tuple[Value, Value] | None = None,
    ) -> None:
        """Pack columns.

        Args:
            f: The function that needs it.
            slots: Of the kernel.
            to: Where to.
            point: Values of the outer axes.
            block: The first column and the number of panels.
            vectors: Width of a panel.
            depth: The first point of the only reduced axis and the number of points; by default all.
        """
        name = f"{self.request.entry.name}_panels"
        if not self.request.module.defines(name):
            inner = self._function(name, ("column", "panels", *(() if depth is None else ("first", "count"))))
            _PanelPack(self, inner, vectors).write()
        f.call(name, VOID, [slots, to, *(point[axis] for axis in self.outer), *block, *(depth or ())])

    def _function(self, name: str, numbers: Sequence[str]) -> Function:
        axes = [f"x{axis}" for axis in self.outer]
        return inner_function(self.request, name, ["slots"], ["to"], [*axes, *numbers])


class _Copy:
    """What the two layouts share."""

    def __init__(self, copies: Copies, f: Function):
        self.copies, self.f = copies, f
        _, self.to, *rest = f.parameters
        self.frame = frame_of(copies.request, f)
        self.point: dict[int, Value] = dict(zip(copies.outer, rest, strict=False))
        self.numbers = rest[len(copies.outer) :]
        self.reduced = copies.contraction.reduced
        self.stage = copies.contraction.stage

    def size(self, axis: int) -> Value:
        return self.frame.size(self.stage.axes[axis].size)

    def value(self, factor: Factor, lane_axis: int, mask: Value | None, lanes: int | None = None) -> Value:
        """The factor at the current point, for neighbours along an axis; 0 lanes for the point alone."""
        lanes = self.copies.lanes if lanes is None else lanes
        reader = reader_at(self.frame, self.stage.axes, self.point, lanes, lane_axis if lanes else None, mask)
        return reader.scalars.wide(reader.body(factor.body))

    def over(self, axes: Sequence[int], write: Callable[[Value], None]) -> None:
        """Loops over reduced axes around what `write` writes; it gets the number of the point among all of them."""
        f = self.f
        if not axes:
            write(f.i64(0))
            return
        axis, *rest = axes

        def inner(below: Value) -> None:
            total = self.point[axis]
            for other in rest:
                total = f.multiply(total, self.size(other))
            write(f.add(total, below))

        with f.loop(f.i64(0), self.size(axis), hints=["unroll.disable"]) as loop:
            self.point[axis] = loop.index
            self.over(rest, inner)


class _RowsCopy(_Copy):
    def __init__(self, copies: Copies, f: Function, pitch: int, known: int | None):
        super().__init__(copies, f)
        self.pitch, self.known = pitch, known
        self.factor = copies.contraction.rows
        self.axis = copies.contraction.row_axes[-1] if copies.contraction.row_axes else None

    def write(self) -> None:
        if (run := run_of(self.copies.request.program, self.copies.contraction)) is not None:
            self._write_runs(run)
            return
        f = self.f
        row, rows, first, count = self.numbers
        if self.known is not None:
            count = f.i64(self.known)
        with f.loop(f.i64(0), rows, hints=["unroll.disable"]) as loop:
            # rows beyond the last one are read by tiles, and not stored: any row will do
            if self.axis is not None:
                bound = f.subtract(self.size(self.axis), f.i64(1))
                self.point[self.axis] = f.least(f.add(loop.index, row), bound)
            base = f.offset(self.to, f.multiply(loop.index, f.i64(self.pitch)), self.copies.element)

            def along(number: Value) -> None:
                self._along(f.offset(base, f.multiply(number, count), self.copies.element), first, count)

            self.over(self.reduced[:-1], along)
        f.ret()

    def _along(self, target: Value, first: Value, count: Value) -> None:
        """Points of the last reduced axis, at the current point of the others."""
        f, lanes, last = self.f, self.copies.lanes, self.reduced[-1]
        if count.number is not None:
            self._along_known(target, first, count.number)
            return
        # (1) Whole vectors, then one with a mask: nothing beyond the row is read or written.
        whole = f.subtract(count, f.remainder(count, lanes))
        with f.loop(f.i64(0), whole, lanes, hints=["unroll.disable"]) as inner:
            self.point[last] = f.add(inner.index, first)
            f.store(self.value(self.factor, last, None), f.offset(target, inner.index, self.copies.element))
        with f.when(f.compare("slt", whole, count)):
            mask = f.first_lanes(f.subtract(count, whole), lanes)
            self.point[last] = f.add(whole, first)
            value = self.value(self.factor, last, mask)
            f.masked_store(value, f.offset(target, whole, self.copies.element), mask)

    def _along_known(self, target: Value, first: Value, count: int) -> None:
        """The same where the number of points is known."""
        f, last = self.f, self.reduced[-1]

        def fill(start: Value, lanes: int, mask: Value | None) -> None:
            self.point[last] = f.add(start, first)
            value, to = self.value(self.factor, last, mask, lanes), f.offset(target, start, self.copies.element)
            if mask is None:
                f.store(value, to)
            else:
                f.masked_store(value, to, mask)

        fill_line(f, self.frame.machine, self.copies.lanes, count, fill)

    def _write_runs(self, run: Run) -> None:
        """All rows for one point of the other reduced axes after the other."""
        f, element = self.f, self.copies.element
        row, rows, _, _ = self.numbers
        axis, inner = self.copies.contraction.row_axes[-1], self.reduced[-run.axes :]

        def line(number: Value) -> None:
            to = f.offset(self.to, f.multiply(number, f.i64(run.length)), element)
            # What all rows have in common is computed in front of their loop.
            of_line = self._are_inside(run, [guard for guard in run.guards if axis not in axes_of(guard.index)])
            with f.loop(f.i64(0), rows, hints=["unroll.disable"]) as loop:
                bound = f.subtract(self.size(axis), f.i64(1))
                self.point[axis] = f.least(f.add(loop.index, row), bound)
                target = f.offset(to, f.multiply(loop.index, f.i64(self.pitch)), element)
                of_row = self._are_inside(run, [guard for guard in run.guards if axis in axes_of(guard.index)])
                is_inside = f.binary("and", of_line, of_row)
                f.either(is_inside, lambda: self._whole(run, target), lambda: self._piecewise(inner, target))

        self.over(self.reduced[: -run.axes], line)
        f.ret()

    def _at(self, run: Run, *, is_last: bool) -> Reader:
        """The reader at the first or the last point of a run."""
        f, axes = self.f, self.reduced[-run.axes :]
        ends = {axis: f.subtract(self.size(axis), f.i64(1)) if is_last else f.i64(0) for axis in axes}
        return reader_at(self.frame, self.stage.axes, {**self.point, **ends})

    def _are_inside(self, run: Run, guards: Sequence[Guard]) -> Value:
        """Whether guards hold at all points of a run: they do at its ends."""
        ends = [self._at(run, is_last=is_last).inside(guards) for is_last in (False, True)] if guards else []
        return reduce(partial(self.f.binary, "and"), ends, constant(I1, 1))

    def _whole(self, run: Run, target: Value) -> list[Value]:
        """A run of which nothing is padding."""
        f, lanes, element = self.f, self.copies.lanes, self.copies.element
        source = self._at(run, is_last=False).address(run.read.buffer, run.place)
        rest = run.length % lanes
        whole = f.i64(run.length - rest)

        def moved(start: Value, lanes: int, mask: Value | None = None) -> None:
            type = element.wide(lanes)
            at, to = (f.offset(each, start, element) for each in (source, target))
            if mask is None:
                f.store(f.load(type, at), to)
            else:
                f.masked_store(f.masked_load(type, at, mask, constant(type, 0)), to, mask)

        def moved_last(start: Value, lanes: int, mask: Value | None) -> None:
            moved(f.add(start, whole), lanes, mask)

        if run.length > _WRITTEN_OUT * lanes:
            with f.loop(f.i64(0), whole, lanes, hints=["unroll.disable"]) as loop:
                moved(loop.index, lanes)
        else:
            for start in range(0, run.length - rest, lanes):
                moved(f.i64(start), lanes)
        fill_line(f, self.frame.machine, lanes, rest, moved_last)
        return []

    def _piecewise(self, axes: Sequence[int], target: Value) -> list[Value]:
        """A run some of which is padding."""
        f = self.f
        count = self.size(axes[-1])

        def along(number: Value) -> None:
            self._along(f.offset(target, f.multiply(number, count), self.copies.element), f.i64(0), count)

        self.over(axes[:-1], along)
        return []


class _PanelPack(_Copy):
    def __init__(self, copies: Copies, f: Function, vectors: int):
        super().__init__(copies, f)
        self.vectors = vectors
        self.width = vectors * copies.lanes
        self.factor = copies.contraction.columns
        self.axis = copies.contraction.column_axes[-1]
        self.block = (self.numbers[2], self.numbers[3]) if len(self.numbers) > 2 else None
        """Points of the reduced axis, if not all are packed."""

    def points(self, axis: int) -> Value:
        """How many points of a reduced axis are packed."""
        return self.size(axis) if self.block is None else self.block[1]

    def point_at(self, number: Value) -> Value:
        """The point of the last reduced axis with a number among those that are packed."""
        return number if self.block is None else self.f.add(number, self.block[0])

    def write(self) -> None:
        f, column, panels = self.f, self.numbers[0], self.numbers[1]
        # (3) Vectors run along what is contiguous; along the sums, squares are transposed on the way.
        last = self.reduced[-1]
        runs_along_sums = unit_axis(self.copies.request.program, self.factor.body, len(self.stage.axes)) == last
        depth = f.i64(1)
        for axis in self.reduced:
            depth = f.multiply(depth, self.points(axis))
        with f.loop(f.i64(0), panels, hints=["unroll.disable"]) as loop:
            start = f.add(f.multiply(loop.index, f.i64(self.width)), column)
            to = f.offset(self.to, f.multiply(loop.index, f.multiply(depth, f.i64(self.width))), self.copies.element)
            if runs_along_sums:
                self.over(self.reduced[:-1], lambda number: self._squares(to, start, number))
            else:
                self._straight(to, start)
        f.ret()

    def _straight(self, to: Value, start: Value) -> None:
        """Vectors along the columns, one after the other."""
        f, lanes = self.f, self.copies.lanes
        left = f.subtract(self.size(self.axis), start)

        def panel(masked: bool) -> list[Value]:
            # Columns beyond the last are multiplied like others, and not stored: any fill will do.
            masks = [f.first_lanes(f.subtract(left, f.i64(v * lanes)), lanes) for v in range(self.vectors)]

            def write(number: Value) -> None:
                for v in range(self.vectors):
                    self.point[self.axis] = f.add(start, f.i64(v * lanes))
                    value = self.value(self.factor, self.axis, masks[v] if masked else None)
                    place = f.add(f.multiply(number, f.i64(self.width)), f.i64(v * lanes))
                    f.store(value, f.offset(to, place, self.copies.element))

            if self.block is None:
                self.over(self.reduced, write)
                return []
            with f.loop(f.i64(0), self.block[1], hints=["unroll.disable"]) as loop:
                self.point[self.reduced[-1]] = self.point_at(loop.index)
                write(loop.index)
            return []

        f.either(f.compare("sge", left, f.i64(self.width)), lambda: panel(False), lambda: panel(True))

    def _squares(self, to: Value, start: Value, number: Value) -> None:
        """Squares of as many columns as reduced points, transposed."""
        f, lanes, last = self.f, self.copies.lanes, self.reduced[-1]
        depth = self.points(last)
        whole = f.subtract(depth, f.remainder(depth, lanes))
        base = f.offset(to, f.multiply(f.multiply(number, depth), f.i64(self.width)), self.copies.element)
        bound = f.subtract(self.size(self.axis), f.i64(1))

        def square(k: Value, first: Value, count: Value | None) -> None:
            mask = None if count is None else f.first_lanes(count, lanes)
            self.point[last] = self.point_at(k)
            loaded: list[Value] = []
            for lane in range(lanes):
                # Columns beyond the last repeat it: no mask covers rows of a square, and none is stored.
                self.point[self.axis] = f.least(f.add(f.add(first, start), f.i64(lane)), bound)
                loaded.append(self.value(self.factor, last, mask))
            for lane, value in enumerate(transposed(f, loaded)):
                place = f.add(f.multiply(f.add(k, f.i64(lane)), f.i64(self.width)), first)

                def store(value: Value = value, place: Value = place) -> None:
                    f.store(value, f.offset(base, place, self.copies.element))

                if count is None:
                    store()
                else:
                    with f.when(f.compare("slt", f.i64(lane), count)):
                        store()

        with f.loop(f.i64(0), f.i64(self.width), lanes, hints=["unroll.disable"]) as columns:
            with f.loop(f.i64(0), whole, lanes, hints=["unroll.disable"]) as loop:
                square(loop.index, columns.index, None)
            if whole.number is None or whole.number != depth.number:
                with f.when(f.compare("slt", whole, depth)):
                    square(whole, columns.index, f.subtract(depth, whole))
