"""A strip of the input of a convolution in the workspace: zeros around it, nothing that its windows do not read.

A strip holds, for each point of the free axes, some rows of positions, and for each position the innermost elements.
Behind the positions that windows have there may be room for others, which are 0.
"""

from dataclasses import dataclass, replace

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I1, I8, I64, PTR, VOID, Value, constant
from fuse_dialect.backends.llvm.contractions.lines import fill_line
from fuse_dialect.backends.llvm.elements import register_type
from fuse_dialect.backends.llvm.kernel import Point, frame_of, inner_function
from fuse_dialect.backends.llvm.memory import reader_at
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.contraction import shapes_of
from fuse_dialect.loops.convolution import Convolution
from fuse_dialect.loops.convolution_schedule import Strip
from fuse_dialect.loops.indices import Guard, Index, Loop, axes_of
from fuse_dialect.loops.places import Place, flat_place
from fuse_dialect.loops.program import Apply, Axis, Body, Literal, Read


@dataclass(frozen=True, slots=True)
class _Run:
    """A row of a strip that is made of one run of memory, with the same number everywhere around it."""

    read: Read
    place: Place
    first: int
    """The first position that is made of the run."""
    stop: int
    """The first position behind it."""
    guards: tuple[Guard, ...]
    """Whether there is a run at all."""
    inside: Body
    """What an element of the run becomes."""
    around: Body
    """What stands around it."""

    @property
    def is_copied(self) -> bool:
        """Whether `memset` and `memcpy` do, which know zeros alone; and -0.0 has a bit."""
        (*others, number) = self.around
        return not others and isinstance(number, Literal) and number.value == 0 and str(number.value) != "-0.0"


def strip_function(request: Request, convolution: Convolution, strip: Strip) -> str:
    """Write the function that fills a strip: of `slots`, the address, the outer axes, the first row, the rows."""
    name = f"{request.entry.name}_strip"
    numbers = [*(f"x{axis}" for axis in convolution.outer), "first", "rows"]
    _Fill(request, inner_function(request, name, ["slots"], ["to"], numbers), convolution, strip).write()
    return name


def fill_strip(
    f: Function, name: str, slots: Value, to: Value, convolution: Convolution, point: Point, rows: tuple[Value, Value]
) -> None:
    """Call a function that `strip_function` wrote."""
    f.call(name, VOID, [slots, to, *(point[axis] for axis in convolution.outer), *rows])


def fill_with_zeros(f: Function, to: Value, bytes: int) -> None:
    """Write zeros to memory."""
    if bytes > 0:
        f.intrinsic("memset", VOID, [to, constant(I8, 0), f.i64(bytes), constant(I1, 0)], over=[PTR, I64])


class _Fill:
    def __init__(self, request: Request, f: Function, convolution: Convolution, strip: Strip):
        self.f, self.program, self.convolution, self.strip = f, request.program, convolution, strip
        _, self.to, *rest = f.parameters
        self.frame = frame_of(request, f)
        above, along = convolution.windows
        positions = (Axis(above.positions(above.pixels)), Axis(along.positions(along.pixels)))
        self.axes = (*convolution.contraction.stage.axes, *positions)
        self.point: dict[int, Value] = dict(zip(convolution.outer, rest, strict=False))
        self.first, self.rows = rest[-2:]
        self.rank = len(convolution.contraction.stage.axes)
        self.positions = along.positions(along.pixels)
        self.type = register_type(convolution.contraction.element)

    def write(self) -> None:
        f, run = self.f, self._run()
        sizes = [self.convolution.contraction.stage.axes[axis].size for axis in self.convolution.free]
        planes = f.i64(1)
        for size in sizes:
            planes = f.multiply(planes, self.frame.size(size))
        with f.loop(f.i64(0), planes, hints=["unroll.disable"]) as plane:
            self.point |= self.frame.point_of(plane.index, dict(zip(self.convolution.free, sizes, strict=True)))[1]
            base = f.offset(self.to, f.multiply(plane.index, f.i64(self.strip.plane)), self.type)
            with f.loop(f.i64(0), self.rows, hints=["unroll.disable"]) as row:
                self.point[self.rank] = f.add(row.index, self.first)
                to = f.offset(base, f.multiply(row.index, f.i64(self.strip.row)), self.type)
                if run is not None:
                    self._fill_run(run, to)
                else:
                    self._fill_row(to)
                filled = self.positions * self.strip.pitch
                if filled < self.strip.row:
                    behind = f.offset(to, f.i64(filled), self.type)
                    fill_with_zeros(f, behind, (self.strip.row - filled) * self.type.bits // 8)
        f.ret()

    def _run(self) -> _Run | None:
        """The row as made of one run, if the factor has one read with one number around it that allows it."""
        body = self.convolution.by_position
        reads = [each for each in body if isinstance(each, Read)]
        if len(reads) != 1 or not all(isinstance(each, Read | Apply | Literal) for each in body):
            return None
        (read,) = reads
        indices = [index for index in read.indices if isinstance(index, Index)]
        along, innermost = self.rank + 1, self.convolution.innermost
        place = flat_place(indices, shapes_of(self.program)[read.buffer], self.rank + 2)
        if len(indices) < len(read.indices) or place is None:
            return None
        # One run needs positions without a gap, in the array and in the strip.
        if not place.strides[along].number == self.strip.innermost == self.strip.pitch:
            return None
        if innermost is not None and place.strides[innermost].number != 1:
            return None
        first, stop, others = 0, self.positions, list[Guard]()
        for guard in read.guards:
            # A guard of other axes holds for a whole row or for nothing of it.
            if not axes_of(guard.index) & {along, innermost}:
                others.append(guard)
            elif guard.index.terms == ((Loop(along), 1),) and isinstance(guard.size, int):
                # 0 <= position + c < size, solved for the position.
                first = max(first, -guard.index.constant)
                stop = min(stop, guard.size - guard.index.constant)
            else:
                return None
        plain, number = replace(read, guards=(), otherwise=None), read.otherwise or Literal(0, read.element)
        inside, around = (tuple(new if each is read else each for each in body) for new in (plain, number))
        return _Run(read, place, min(first, self.positions), max(stop, first), tuple(others), inside, around)

    def _fill_run(self, run: _Run, to: Value) -> None:
        f, strip = self.f, self.strip
        along, innermost = self.rank + 1, self.convolution.innermost
        # Elements of all positions lie one behind the other, as if the first one had them all.
        self.point[along] = f.i64(run.first)
        axis, begin = (along, run.first) if innermost is None else (innermost, 0)

        def fill(first: int, stop: int, *, inside: bool) -> None:
            start = f.offset(to, f.i64(first * strip.innermost), self.type)
            count = (stop - first) * strip.innermost
            if not run.is_copied:
                self._fill_along(start, axis, count, run.inside if inside else run.around, begin)
            elif inside:
                point = {**self.point, along: f.i64(run.first)}
                address = self.frame.address(run.read.buffer, run.place, point)
                self._copy(start, address, count * self.type.bits // 8)
            else:
                fill_with_zeros(f, start, count * self.type.bits // 8)

        def inside() -> list[Value]:
            fill(0, run.first, inside=False)
            fill(run.first, run.stop, inside=True)
            fill(run.stop, self.positions, inside=False)
            return []

        def outside() -> list[Value]:
            fill(0, self.positions, inside=False)
            return []

        if run.guards:
            f.either(reader_at(self.frame, self.axes, self.point).inside(run.guards), inside, outside)
        else:
            inside()

    def _copy(self, to: Value, source: Value, bytes: int) -> None:
        if bytes > 0:
            arguments = [to, source, self.f.i64(bytes), constant(I1, 0)]
            self.f.intrinsic("memcpy", VOID, arguments, over=[PTR, PTR, I64])

    def _fill_row(self, to: Value) -> None:
        """Position by position, vectors along the innermost axis; along the positions if there is none."""
        f, innermost = self.f, self.convolution.innermost
        if innermost is None:
            self._fill_along(to, self.rank + 1, self.positions, self.convolution.by_position)
            return
        with f.loop(f.i64(0), f.i64(self.positions), hints=["unroll.disable"]) as position:
            self.point[self.rank + 1] = position.index
            start = f.offset(to, f.multiply(position.index, f.i64(self.strip.pitch)), self.type)
            self._fill_along(start, innermost, self.strip.innermost, self.convolution.by_position)

    def _fill_along(self, to: Value, axis: int, count: int, body: Body, begin: int = 0) -> None:
        """So many elements along an axis, from `begin` on, in vectors."""
        f, machine = self.f, self.frame.machine

        def fill(first: Value, lanes: int, mask: Value | None) -> None:
            self.point[axis] = f.add(first, f.i64(begin))
            reader = reader_at(self.frame, self.axes, self.point, lanes, axis if lanes else None, mask)
            value, target = reader.body(body), f.offset(to, first, self.type)
            if lanes and not value.type.lanes:
                value = f.splat(value, lanes)  # the same for all
            if mask is None:
                f.store(value, target)
            else:
                f.masked_store(value, target, mask)

        fill_line(f, machine, machine.lanes(self.type.bits // 8), count, fill)
