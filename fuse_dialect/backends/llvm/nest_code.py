"""The body of a nest as code: each instruction in the loop, and for the elements, that `loops/nest_forms.py` says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.addresses import Addresses
from fuse_dialect.backends.llvm.byte_rounding import bounded_quotient, joined, joined_bytes, parted
from fuse_dialect.backends.llvm.byte_tables import look_up
from fuse_dialect.backends.llvm.elements import from_memory, memory_type
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.backends.llvm.memory import Reader
from fuse_dialect.backends.llvm.register_transpose import transposed
from fuse_dialect.backends.llvm.scalars import Values, emit_instruction
from fuse_dialect.counts import Count
from fuse_dialect.loops.byte_rounding import TOGETHER, joined_places, joins_vectors
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.nest_forms import Cell, NestForm, sources, writer_in_nest
from fuse_dialect.loops.places import Place
from fuse_dialect.loops.program import Apply, Instruction, Read, Stage
from fuse_dialect.loops.program import Value as Computed
from fuse_dialect.loops.schedule import LoopAxis, Nest
from fuse_dialect.loops.scheduling import is_heavy

_AHEAD = 8
"""Cache lines between what a long body computes and what it asks for."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is known where a nest begins."""

    frame: Frame
    env: Mapping[int, Value]
    """Values of the row's axes."""
    local_rows: frozenset[int]
    """Axes along which buffers that live for a row do not extend."""
    row_buffers: frozenset[str]
    """Buffers that live for a row: only one row of them is in memory."""
    values: dict[str, Value]
    """Values of buffers of which a row has one element; nests add to them."""
    bounds: tuple[Value, Value] | None = None
    """The share of the vector loop, if parts share that."""
    limits: Mapping[int, tuple[Value, Value]] = field(default_factory=dict[int, tuple[Value, Value]])
    """Intervals of axes of which not all points are needed."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors that are computed at once."""

    lanes: int
    unroll: int
    mask: Value | None = None
    across: int | None = None
    """The axis along which the vectors of a tile are neighbours; else they are along the vector axis."""
    is_strip: bool = False
    """Whether the tile has all of that axis."""


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """What quotients are products with."""

    value: Value
    exact: tuple[Value, Value] | None
    """The divisor, and it times `BOUND`, for quotients that are exact as far as bytes go."""


@dataclass(frozen=True, slots=True)
class NestCode:
    """Where code of a nest goes: in which of its loops, and in which form."""

    nest: Nest
    form: NestForm
    row: Row
    env: Mapping[int, Value]
    """Values of the axes of the loops around."""
    cells: dict[Cell, list[Value]] = field(default_factory=dict[Cell, list[Value]])
    """Values: one for each vector of the group, or one for all."""
    at_once: Vectors = Vectors(0, 1)
    joined: dict[Cell, Value] = field(default_factory=dict[Cell, Value])
    """Values of bytes of all vectors of the group as one, see `byte_rounding`."""
    reciprocals: Mapping[Cell, Reciprocal] = field(default_factory=dict[Cell, Reciprocal])
    """Quotients that are products with these."""
    within: tuple[int, int] | None = None
    """The part of the vector axis where this is."""
    streams: bool = False
    """Whether results go past the caches."""

    def inside(self, loop: LoopAxis, index: Value) -> "NestCode":
        """The code inside of a loop; of merged axes the last one runs over all elements, the others stand still."""
        zero = self.row.frame.f.i64(0)
        return replace(self, env={**self.env, **dict.fromkeys(loop.axes[:-1], zero), loop.axes[-1]: index})


def caption(stage: Stage) -> str:
    ops = dict.fromkeys(
        inner.origin for inner in (*stage.body, *stage.finish) if isinstance(inner, Read | Apply) and inner.origin
    )
    return f"{stage.name}: {', '.join(ops)}" if ops else stage.name


def write_cells(code: NestCode, depth: int) -> None:
    for number, stage in enumerate(code.nest.stages):
        for place, inner in enumerate(stage.body):
            if code.form.depths[number, place] == depth:
                code.cells[number, place] = _cell(code, number, place, inner)


def _cell(code: NestCode, number: int, place: int, inner: Instruction) -> list[Value]:
    if isinstance(inner, Read):
        source = writer_in_nest(code.nest.stages, number, inner)
        # The writer has run at this very point (rule 2 of `schedule`), so the value needs no memory.
        if source is not None:
            return code.cells[source, len(code.nest.stages[source].body) - 1]
    if (number, place) in code.reciprocals:
        return [_product(code, number, place, inner, copy) for copy in range(code.at_once.unroll)]
    is_vector = (number, place) in code.form.vectors
    # In a tile copies differ along the other axis, so also what is a scalar in each may differ.
    copies = code.at_once.unroll if is_vector or code.at_once.across is not None else 1
    lanes = code.at_once.lanes if is_vector else 0
    if isinstance(inner, Read) and is_vector and (columns := transposed_read(code, code.nest.stages[number], inner)):
        return columns
    joins = copies == TOGETHER and joins_vectors(code.row.frame.machine, lanes)
    if joins and isinstance(inner, Apply) and place in joined_places(code.nest.stages[number].body, 0):
        all = _joined(code, number, inner)
        if all is not None:
            code.joined[number, place] = all
            return parted(code.row.frame.f, all, TOGETHER)
    writers = [partial(_instruction, code, number, inner, copy, lanes) for copy in range(copies)]
    return code.row.frame.f.interleaved(writers)


def _product(code: NestCode, number: int, place: int, inner: Instruction, copy: int) -> Value:
    """A quotient as a product with the reciprocal."""
    assert isinstance(inner, Apply)
    f = code.row.frame.f
    dividend = copy_of(code, (number, inner.operands[0]), copy)
    lanes, reciprocal = dividend.type.lanes, code.reciprocals[number, place]
    if reciprocal.exact is None:
        return f.fmul(dividend, f.splat(reciprocal.value, lanes))
    divisor, bound = reciprocal.exact
    return bounded_quotient(f, dividend, *(f.splat(each, lanes) for each in (divisor, reciprocal.value, bound)))


def _joined(code: NestCode, number: int, inner: Apply) -> Value | None:
    """Bytes that are rounded to, looked up or chosen for all vectors at once; `None` where each chooses by itself."""
    if inner.function == "arith.select":
        return _chosen(code, number, inner)
    f, source = code.row.frame.f, (number, inner.operands[0])
    values = [copy_of(code, source, copy) for copy in range(TOGETHER)]
    match inner.parameter:
        case bytes() as table:
            return look_up(f, code.row.frame.machine, table, code.joined.get(source) or joined(f, values))
        case int() | None as zero:
            return joined_bytes(f, values, zero)
        case _:
            raise AssertionError("bytes are rounded to, or looked up")


def _chosen(code: NestCode, number: int, inner: Apply) -> Value | None:
    """Joined bytes or one byte for all of them, by one condition (7 of `loops/byte_rounding.py`)."""
    f, (condition, bytes, other) = code.row.frame.f, [(number, place) for place in inner.operands]
    all = code.joined.get(bytes)
    # Vectors along the vector axis have one condition if it is no vector itself: guards are known in a segment.
    alike = [value for cell in (condition, other) for value in code.cells[cell][:1] if not value.type.lanes]
    if all is None or len(alike) < 2 or code.at_once.across is not None:
        return None
    by, byte = alike
    return f.select(by, all, f.splat(byte, all.type.lanes))


def _instruction(code: NestCode, number: int, inner: Instruction, copy: int, lanes: int) -> Value:
    stage, frame = code.nest.stages[number], code.row.frame
    near = around(code, stage, copy, lanes)
    # The processor sees too few elements of a long body ahead to ask for what it needs next by itself.
    if isinstance(inner, Read) and lanes and code.nest.tiles == () and is_heavy(code.nest.stages):
        # Neighbours share a line, which is asked for once.
        begun = copy * lanes * element_bytes(inner.element)
        if begun % frame.machine.line_bytes == 0:
            near.prefetch(inner, _AHEAD * frame.machine.line_bytes)
    values = {cell[1]: copy_of(code, cell, copy) for cell in sources(code.nest.stages, number, inner)}
    return emit_instruction(near.scalars, near, inner, values, stage.body)


@dataclass(frozen=True, slots=True)
class RowReader(Reader):
    """The surroundings of one copy of a stage's body: of some buffers there is only one row, or one value."""

    row: Row = field(kw_only=True)

    def read(self, read: Read, values: Values) -> Value:
        """An element of a buffer."""
        if read.buffer in self.row.values and not read.guards:
            return self.row.values[read.buffer]
        return Reader.read(self, read, values)

    def place(self, buffer: str, indices: Sequence[Index | Computed]) -> Place:
        """Where an element lies; buffers of a row have no other rows."""
        place = Reader.place(self, buffer, indices)
        if buffer not in self.row.row_buffers:
            return place
        strides = tuple(Count() if axis in self.row.local_rows else s for axis, s in enumerate(place.strides))
        return replace(place, strides=strides)


def around(code: NestCode, stage: Stage, copy: int, lanes: int) -> RowReader:
    frame = code.row.frame
    env = code.env
    axis, across = code.nest.vector_axis, code.at_once.across
    # Copies are neighbours along the axis across in a tile, else along the vector axis.
    if copy and across is not None:
        env = {**env, across: frame.f.add(env[across], frame.f.i64(copy))}
    elif copy and axis is not None:
        env = {**env, axis: frame.f.add(env[axis], frame.f.i64(copy * lanes))}
    sizes = [item.size for item in stage.axes]
    addresses = Addresses(frame, sizes, env, axis, lanes, code.within)
    return RowReader(addresses, code.at_once.mask if lanes else None, row=code.row)


def transposed_read(code: NestCode, stage: Stage, read: Read) -> list[Value]:
    """The vectors of a tile, if the read runs across them: rows are read and transposed; none if it does not."""
    axis, segment = code.nest.vector_axis, code.at_once
    place = around(code, stage, 0, 0).place(read.buffer, read.indices)
    if axis is None or segment.across is None or place.stride(segment.across) != 1 or place.computed or read.guards:
        return []
    # What is contiguous, or the same in all lanes, is read well as it is.
    if axis in place.odd_axes or place.stride(axis) in (0, 1):
        return []
    f, element = code.row.frame.f, code.row.frame.buffers[read.buffer].element
    lanes, height = segment.lanes, segment.unroll
    # Lines are transposed in halves, and a strip of three channels has none: its other reads are read one by one.
    if segment.is_strip and height & (height - 1) and place.stride(axis) != height:
        return []
    if place.stride(axis) == height and segment.is_strip:
        start = around(code, stage, 0, 0).address(read.buffer, place)
        strip = f.load(memory_type(element, lanes * height), start)
        columns = [f.shuffle(strip, strip, list(range(row, lanes * height, height))) for row in range(height)]
    else:
        rows: list[Value] = []
        # Each row is read where its lane is: along the other axis, where elements lie side by side.
        for lane in range(lanes):
            beside = replace(code, env={**code.env, axis: f.add(code.env[axis], f.i64(lane))})
            start = around(beside, stage, 0, 0).address(read.buffer, place)
            rows.append(f.load(memory_type(element, height), start))
        columns = transposed(f, rows)
    return [from_memory(f, value, element) for value in columns]


def keep_value(code: NestCode, stage: Stage, value: Value) -> None:
    """Let later nests of the row have the value of a buffer, if it is the one that the row has."""
    if stage.buffer in code.form.keeps:
        code.row.values[stage.buffer] = value


def copy_of(code: NestCode, cell: Cell, copy: int) -> Value:
    values = code.cells[cell]
    return values[copy if len(values) > 1 else 0]


def result_of(code: NestCode, number: int, copy: int) -> Value:
    return copy_of(code, (number, len(code.nest.stages[number].body) - 1), copy)


def bounds_of(code: NestCode, depth: int) -> tuple[Value, Value]:
    """Where a loop starts, and before what it stops: all of its axis, the part's share, or one block."""
    frame, loop = code.row.frame, code.nest.loops[depth]
    f, size = frame.f, frame.count(loop.size)
    if loop.is_inside:
        start = code.env[loop.axes[-1]]
        return start, f.least(f.add(start, f.i64(loop.block)), size)
    if loop.axes[-1] in code.row.limits:
        return code.row.limits[loop.axes[-1]]
    if depth == code.nest.vector and code.row.bounds is not None:
        return code.row.bounds
    return f.i64(0), size
