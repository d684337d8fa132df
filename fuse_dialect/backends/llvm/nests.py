"""A nest of loops as code, for one row: see `kernels/schedule.py` for what a nest is.

1. Every instruction is written in the outermost loop in which its operands are known: what does not change along the
   vector axis is computed once, as a scalar, and spread over the lanes where it is needed.
2. The vector loop is written as up to three loops: whole groups of `unroll` vectors, single vectors, and the rest. The
   rest is one vector with a mask where the processor has masks, else it goes element by element.
3. Accumulators are carried through all loops over reduced axes. They begin neutral; the start of the reduction is
   combined once, at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fuse_dialect.backends.llvm.addresses import Addresses
from fuse_dialect.backends.llvm.combining import accumulator_type, across, combine, neutral
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.backends.llvm.memory import Memory
from fuse_dialect.backends.llvm.scalars import Scalars, Values, emit_body, emit_instruction
from fuse_dialect.backends.llvm.values import Value, constant
from fuse_dialect.kernels.counts import Count
from fuse_dialect.kernels.indices import Guard, Index, axes_of
from fuse_dialect.kernels.places import Place, guard_axes, place_of
from fuse_dialect.kernels.program import Apply, Inside, Instruction, Position, Read, Stage
from fuse_dialect.kernels.program import Value as Computed
from fuse_dialect.kernels.schedule import Direction, LoopAxis, Nest

Cell = tuple[int, int]
"""A stage of the nest, and a place in its body."""


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


@dataclass(frozen=True, slots=True)
class _Segment:
    """A part of the vector loop."""

    lanes: int
    unroll: int
    mask: Value | None = None


@dataclass(eq=False, slots=True)
class _Writer:
    nest: Nest
    row: Row
    depths: dict[Cell, int] = field(default_factory=dict[Cell, int])
    """In how many loops an instruction is written."""
    vectors: set[Cell] = field(default_factory=set[Cell])
    """Instructions whose values differ from lane to lane."""
    cells: dict[Cell, list[Value]] = field(default_factory=dict[Cell, list[Value]])
    """Values: one for each vector of the group, or one for all."""
    env: dict[int, Value] = field(default_factory=dict[int, Value])
    segment: _Segment = _Segment(0, 1)
    reciprocals: dict[Cell, Value] = field(default_factory=dict[Cell, Value])

    @property
    def vector_axis(self) -> int | None:
        position = self.nest.vector
        return None if position is None else self.nest.loops[position].axes[-1]


def write_nest(nest: Nest, row: Row) -> None:
    """Write the code of a nest."""
    writer = _Writer(nest, row, env=dict(row.env))
    for stage in nest.stages:
        row.frame.f.comment(_caption(stage))
    _analyse(writer)
    _descend(writer, 0, ())


def _caption(stage: Stage) -> str:
    ops = dict.fromkeys(
        inner.origin for inner in (*stage.body, *stage.finish) if isinstance(inner, Read | Apply) and inner.origin
    )
    return f"{stage.name}: {', '.join(ops)}" if ops else stage.name


def _analyse(writer: _Writer) -> None:
    """Find out where each instruction is written, and what differs from lane to lane."""
    position_of = {axis: number + 1 for number, loop in enumerate(writer.nest.loops) for axis in loop.axes}
    for number, stage in enumerate(writer.nest.stages):
        for place, inner in enumerate(stage.body):
            axes = _axes_of(stage, inner, writer)
            depth = max((position_of.get(axis, 0) for axis in axes), default=0)
            is_vector = writer.vector_axis in axes
            for cell in _sources(writer, number, inner):
                depth = max(depth, writer.depths[cell])
                is_vector = is_vector or cell in writer.vectors
            writer.depths[number, place] = depth
            if is_vector:
                writer.vectors.add((number, place))


def _sources(writer: _Writer, number: int, inner: Instruction) -> list[Cell]:
    """The cells whose values an instruction needs."""
    match inner:
        case Apply():
            return [(number, place) for place in inner.operands]
        case Read():
            writer_number = _writer_in_nest(writer, number, inner)
            if writer_number is not None:
                return [(writer_number, len(writer.nest.stages[writer_number].body) - 1)]
            return [(number, index.place) for index in inner.indices if not isinstance(index, Index)]
        case _:
            return []


def _writer_in_nest(writer: _Writer, number: int, read: Read) -> int | None:
    """The earlier stage of the nest that has the element in a register."""
    names = [stage.buffer for stage in writer.nest.stages[:number]]
    return names.index(read.buffer) if read.buffer in names else None


def _axes_of(stage: Stage, inner: Instruction, writer: _Writer) -> set[int]:
    """The axes that an instruction itself depends on."""
    match inner:
        case Read():
            if inner.buffer in writer.row.values:
                return set()
            axes = set(guard_axes(inner.guards))
            for index in inner.indices:
                if isinstance(index, Index):
                    axes |= axes_of(index)
            return axes
        case Position():
            return axes_of(inner.index)
        case Inside():
            return set(guard_axes(inner.guards))
        case _:
            return set()


def _descend(writer: _Writer, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    """Write what belongs to a depth, and the loops in it; gives the accumulators that come out."""
    nest = writer.nest
    _write_cells(writer, depth)
    begins = depth == nest.reduced and any(stage.reduction is not None for stage in nest.stages)
    if begins:
        carried = _neutral(writer)
    if depth == len(nest.loops):
        carried = _at_point(writer, carried)
    elif depth == nest.vector:
        carried = _vector_loop(writer, depth, carried)
    else:
        carried = _plain_loop(writer, depth, carried)
    if begins:
        _finish(writer, carried)
        return ()
    return carried


def _plain_loop(writer: _Writer, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    frame, loop = writer.row.frame, writer.nest.loops[depth]
    f = frame.f
    start, stop = f.i64(0), frame.count(loop.size)
    if loop.is_inside:
        start = writer.env[loop.axes[-1]]
        stop = f.least(f.add(start, f.i64(loop.block)), stop)
    with f.loop(start, stop, carried=carried) as code:
        saved = writer.env
        writer.env = _with_axes(saved, loop, code.index, f.i64(0))
        code.following = _descend(writer, depth + 1, code.carried)
        writer.env = saved
    return code.carried


def _with_axes(env: Mapping[int, Value], loop: LoopAxis, index: Value, zero: Value) -> dict[int, Value]:
    """Merged axes: the last one runs over all elements, the others stand still."""
    return {**env, **dict.fromkeys(loop.axes[:-1], zero), loop.axes[-1]: index}


def _vector_loop(writer: _Writer, depth: int, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    nest, frame = writer.nest, writer.row.frame
    f = frame.f
    start, stop = writer.row.bounds or (f.i64(0), frame.count(nest.loops[depth].size))
    for lanes, unroll, is_masked in _segments(writer):
        step = max(lanes, 1) * unroll
        last = stop if is_masked or step == 1 else f.subtract(stop, f.remainder(f.subtract(stop, start), step))
        if start.number is not None and start.number == last.number:
            continue
        with f.loop(start, last, step, carried=carried) as code:
            saved, segment = writer.env, writer.segment
            writer.env = _with_axes(saved, nest.loops[depth], code.index, f.i64(0))
            mask = f.first_lanes(f.subtract(stop, code.index), lanes) if is_masked else None
            writer.segment = _Segment(lanes, unroll, mask)
            code.following = _descend(writer, depth + 1, code.carried)
            writer.env, writer.segment = saved, segment
        carried, start = code.carried, last
    return carried


def _segments(writer: _Writer) -> list[tuple[int, int, bool]]:
    """Lanes, unrolling and whether there is a mask, for each part of the vector loop."""
    nest = writer.nest
    parts: list[tuple[int, int, bool]] = []
    if nest.unroll > 1:
        parts.append((nest.lanes, nest.unroll, False))
    if writer.row.frame.host.has_masks:
        return [*parts, *([] if parts else [(nest.lanes, 1, False)]), (nest.lanes, 1, True)]
    return [*parts, (nest.lanes, 1, False), (0, 1, False)]


def _write_cells(writer: _Writer, depth: int) -> None:
    for number, stage in enumerate(writer.nest.stages):
        for place, inner in enumerate(stage.body):
            if writer.depths[number, place] == depth:
                writer.cells[number, place] = _cell(writer, number, place, inner)


def _cell(writer: _Writer, number: int, place: int, inner: Instruction) -> list[Value]:
    if isinstance(inner, Read):
        source = _writer_in_nest(writer, number, inner)
        if source is not None:
            return writer.cells[source, len(writer.nest.stages[source].body) - 1]
    is_vector = (number, place) in writer.vectors
    copies = writer.segment.unroll if is_vector else 1
    lanes = writer.segment.lanes if is_vector else 0
    return [_instruction(writer, number, inner, copy, lanes) for copy in range(copies)]


def _instruction(writer: _Writer, number: int, inner: Instruction, copy: int, lanes: int) -> Value:
    stage = writer.nest.stages[number]
    around = _around(writer, stage, copy, lanes)
    values = {cell[1]: _copy_of(writer, cell, copy) for cell in _sources(writer, number, inner)}
    return emit_instruction(around.scalars, around, inner, values, stage.body)


@dataclass(frozen=True, slots=True)
class _Around:
    """The surroundings of one copy of a stage's body."""

    row: Row
    stage: Stage
    memory: Memory
    scalars: Scalars

    def read(self, read: Read, values: Values) -> Value:
        """An element of a buffer."""
        if read.buffer in self.row.values and not read.guards:
            return self.row.values[read.buffer]
        return self.memory.read(read, self.place(read.buffer, read.indices), values.__getitem__)

    def place(self, buffer: str, indices: Sequence[Index | Computed]) -> Place:
        """Where an element lies; buffers of a row have no other rows."""
        place = place_of(indices, self.row.frame.buffers[buffer].shape, len(self.stage.axes))
        if buffer not in self.row.row_buffers:
            return place
        strides = tuple(Count() if axis in self.row.local_rows else s for axis, s in enumerate(place.strides))
        return replace(place, strides=strides)

    def position(self, index: Index) -> Value:
        """The value of an index."""
        return self.memory.addresses.index(index)

    def extent(self, size: str) -> Value:
        """The value of a symbolic size."""
        return self.row.frame.sizes[size]

    def inside(self, guards: Sequence[Guard]) -> Value:
        """Whether guards hold."""
        return self.memory.addresses.guard(guards)


def _around(writer: _Writer, stage: Stage, copy: int, lanes: int) -> _Around:
    frame = writer.row.frame
    env = writer.env
    axis = writer.vector_axis
    if copy and axis is not None:
        env = {**env, axis: frame.f.add(env[axis], frame.f.i64(copy * lanes))}
    sizes = [item.size for item in stage.axes]
    addresses = Addresses(frame, sizes, env, axis, lanes)
    memory = Memory(addresses, writer.segment.mask if lanes else None)
    return _Around(writer.row, stage, memory, Scalars(frame.f, frame.host, lanes, frame.fast_math))


def _at_point(writer: _Writer, carried: tuple[Value, ...]) -> tuple[Value, ...]:
    """Store what maps computed, and combine what reductions did."""
    left = iter(carried)
    following: list[Value] = []
    for number, stage in enumerate(writer.nest.stages):
        if stage.reduction is None:
            _store_map(writer, number, stage)
        else:
            own = [next(left) for _ in range(_accumulators(writer))]
            following.extend(_accumulate(writer, number, stage, own))
    return tuple(following)


def _copy_of(writer: _Writer, cell: Cell, copy: int) -> Value:
    values = writer.cells[cell]
    return values[copy if len(values) > 1 else 0]


def _result_of(writer: _Writer, number: int, copy: int) -> Value:
    return _copy_of(writer, (number, len(writer.nest.stages[number].body) - 1), copy)


def _store_map(writer: _Writer, number: int, stage: Stage) -> None:
    if not writer.nest.loops:
        writer.row.values[stage.buffer] = _result_of(writer, number, 0)
    if stage.buffer not in writer.row.frame.pointers:
        return
    for copy in range(writer.segment.unroll):
        around = _around(writer, stage, copy, writer.segment.lanes)
        value = around.scalars.wide(_result_of(writer, number, copy))
        around.memory.store(value, stage.buffer, around.place(stage.buffer, stage.store))


def _accumulators(writer: _Writer) -> int:
    """How many a reduction has: one for each vector, and a scalar if the rest of the loop goes element by element."""
    nest = writer.nest
    if nest.vector is None:
        return 1
    if nest.direction is Direction.ALONG:
        return writer.segment.unroll
    return nest.unroll + (not writer.row.frame.host.has_masks)


def _neutral(writer: _Writer) -> tuple[Value, ...]:
    nest = writer.nest
    values: list[Value] = []
    for stage in nest.stages:
        if stage.reduction is None:
            continue
        if nest.vector is None:
            values.append(neutral(stage.reduction, 0))
        elif nest.direction is Direction.ALONG:
            values += [neutral(stage.reduction, writer.segment.lanes)] * writer.segment.unroll
        else:
            values += [neutral(stage.reduction, nest.lanes)] * nest.unroll
            if not writer.row.frame.host.has_masks:
                values.append(neutral(stage.reduction, 0))
    return tuple(values)


def _accumulate(writer: _Writer, number: int, stage: Stage, own: list[Value]) -> list[Value]:
    assert stage.reduction is not None
    frame, segment = writer.row.frame, writer.segment
    scalars = Scalars(frame.f, frame.host, segment.lanes, frame.fast_math)
    is_rest = writer.nest.direction is Direction.ACROSS and writer.nest.vector is not None and not segment.lanes
    places = [len(own) - 1] if is_rest else list(range(segment.unroll))
    following = list(own)
    for copy, place in enumerate(places):
        value = scalars.wide(_result_of(writer, number, copy))
        combined = combine(scalars, stage.reduction, own[place], value)
        if segment.mask is not None and writer.nest.direction is Direction.ACROSS:
            combined = frame.f.select(segment.mask, combined, own[place])
        following[place] = combined
    return following


def _finish(writer: _Writer, carried: tuple[Value, ...]) -> None:
    """Combine the accumulators of each reduction, run its `finish` and store the results."""
    left = iter(carried)
    for stage in writer.nest.stages:
        if stage.reduction is None:
            continue
        own = [next(left) for _ in range(_accumulators(writer))]
        for copy, value in enumerate(_totals(writer, stage, own)):
            _store_total(writer, stage, copy, value)


def _totals(writer: _Writer, stage: Stage, own: list[Value]) -> list[Value]:
    """The combined values: one, or one for each vector of results."""
    assert stage.reduction is not None
    nest, frame = writer.nest, writer.row.frame
    if nest.direction is Direction.ACROSS and nest.vector is not None:
        wide = Scalars(frame.f, frame.host, nest.lanes, frame.fast_math)
        while nest.unroll > 1 and len(own) > 1 and own[1].type.lanes:
            own[:2] = [combine(wide, stage.reduction, own[0], own[1])]
        total = across(wide, stage.reduction, own[0])
        single = Scalars(frame.f, frame.host, 0, frame.fast_math)
        for rest in own[1:]:
            total = combine(single, stage.reduction, total, rest)
        own = [total]
    lanes = own[0].type.lanes
    scalars = Scalars(frame.f, frame.host, lanes, frame.fast_math)
    start = constant(accumulator_type(stage.reduction, lanes), stage.reduction.start.value)
    return [combine(scalars, stage.reduction, start, value) for value in own]


def _store_total(writer: _Writer, stage: Stage, copy: int, value: Value) -> None:
    around = _around(writer, stage, copy, value.type.lanes)
    result = emit_body(around.scalars, around, stage.finish, [value])[-1]
    if not value.type.lanes and not writer.nest.loops[: writer.nest.reduced]:
        writer.row.values[stage.buffer] = result
    if stage.buffer in writer.row.frame.pointers:
        around.memory.store(result, stage.buffer, around.place(stage.buffer, stage.store))
