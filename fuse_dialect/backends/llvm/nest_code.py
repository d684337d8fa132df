"""The body of a nest as code: which instruction is written in which loop, for how many elements.

Every instruction is written in the outermost loop in which its operands are known. What does not change along the
vector axis is computed once, as a scalar, and spread over the lanes where it is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fuse_dialect.backends.llvm.addresses import Addresses
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.backends.llvm.memory import Memory
from fuse_dialect.backends.llvm.scalars import Scalars, Values, emit_instruction
from fuse_dialect.backends.llvm.values import Value
from fuse_dialect.kernels.counts import Count
from fuse_dialect.kernels.indices import Guard, Index, axes_of
from fuse_dialect.kernels.places import Place, guard_axes, place_of
from fuse_dialect.kernels.program import Apply, Inside, Instruction, Position, Read, Stage
from fuse_dialect.kernels.program import Value as Computed
from fuse_dialect.kernels.schedule import LoopAxis, Nest

Cell: TypeAlias = tuple[int, int]
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
class Segment:
    """A part of the vector loop."""

    lanes: int
    unroll: int
    mask: Value | None = None


@dataclass(eq=False, slots=True)
class NestCode:
    nest: Nest
    row: Row
    depths: dict[Cell, int] = field(default_factory=dict[Cell, int])
    """In how many loops an instruction is written."""
    vectors: set[Cell] = field(default_factory=set[Cell])
    """Instructions whose values differ from lane to lane."""
    cells: dict[Cell, list[Value]] = field(default_factory=dict[Cell, list[Value]])
    """Values: one for each vector of the group, or one for all."""
    env: dict[int, Value] = field(default_factory=dict[int, Value])
    segment: Segment = Segment(0, 1)
    reciprocals: dict[Cell, Value] = field(default_factory=dict[Cell, Value])
    """Quotients that are products with these."""
    streams: bool = False
    """Whether results go past the caches."""

    @property
    def vector_axis(self) -> int | None:
        position = self.nest.vector
        return None if position is None else self.nest.loops[position].axes[-1]


def caption(stage: Stage) -> str:
    ops = dict.fromkeys(
        inner.origin for inner in (*stage.body, *stage.finish) if isinstance(inner, Read | Apply) and inner.origin
    )
    return f"{stage.name}: {', '.join(ops)}" if ops else stage.name


def analyse(code: NestCode) -> None:
    """Find out where each instruction is written, and what differs from lane to lane."""
    position_of = {axis: number + 1 for number, loop in enumerate(code.nest.loops) for axis in loop.axes}
    for number, stage in enumerate(code.nest.stages):
        for place, inner in enumerate(stage.body):
            axes = _axes_of(stage, inner, code)
            depth = max((position_of.get(axis, 0) for axis in axes), default=0)
            is_vector = code.vector_axis in axes
            for cell in _sources(code, number, inner):
                depth = max(depth, code.depths[cell])
                is_vector = is_vector or cell in code.vectors
            code.depths[number, place] = depth
            if is_vector:
                code.vectors.add((number, place))


def _sources(code: NestCode, number: int, inner: Instruction) -> list[Cell]:
    """The cells whose values an instruction needs."""
    match inner:
        case Apply():
            return [(number, place) for place in inner.operands]
        case Read():
            writer_number = _writer_in_nest(code, number, inner)
            if writer_number is not None:
                return [(writer_number, len(code.nest.stages[writer_number].body) - 1)]
            return [(number, index.place) for index in inner.indices if not isinstance(index, Index)]
        case _:
            return []


def _writer_in_nest(code: NestCode, number: int, read: Read) -> int | None:
    """The earlier stage of the nest that has the element in a register."""
    names = [stage.buffer for stage in code.nest.stages[:number]]
    return names.index(read.buffer) if read.buffer in names else None


def _axes_of(stage: Stage, inner: Instruction, code: NestCode) -> set[int]:
    """The axes that an instruction itself depends on."""
    match inner:
        case Read():
            if inner.buffer in code.row.values:
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


def write_cells(code: NestCode, depth: int) -> None:
    for number, stage in enumerate(code.nest.stages):
        for place, inner in enumerate(stage.body):
            if code.depths[number, place] == depth:
                code.cells[number, place] = _cell(code, number, place, inner)


def _cell(code: NestCode, number: int, place: int, inner: Instruction) -> list[Value]:
    if isinstance(inner, Read):
        source = _writer_in_nest(code, number, inner)
        if source is not None:
            return code.cells[source, len(code.nest.stages[source].body) - 1]
    if (number, place) in code.reciprocals:
        return [_product(code, number, place, inner, copy) for copy in range(code.segment.unroll)]
    is_vector = (number, place) in code.vectors
    copies = code.segment.unroll if is_vector else 1
    lanes = code.segment.lanes if is_vector else 0
    return [_instruction(code, number, inner, copy, lanes) for copy in range(copies)]


def _product(code: NestCode, number: int, place: int, inner: Instruction, copy: int) -> Value:
    """A quotient as a product with the reciprocal."""
    assert isinstance(inner, Apply)
    f = code.row.frame.f
    dividend = copy_of(code, (number, inner.operands[0]), copy)
    return f.fmul(dividend, f.splat(code.reciprocals[number, place], dividend.type.lanes))


def _instruction(code: NestCode, number: int, inner: Instruction, copy: int, lanes: int) -> Value:
    stage = code.nest.stages[number]
    near = around(code, stage, copy, lanes)
    values = {cell[1]: copy_of(code, cell, copy) for cell in _sources(code, number, inner)}
    return emit_instruction(near.scalars, near, inner, values, stage.body)


@dataclass(frozen=True, slots=True)
class Around:
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


def around(code: NestCode, stage: Stage, copy: int, lanes: int) -> Around:
    frame = code.row.frame
    env = code.env
    axis = code.vector_axis
    if copy and axis is not None:
        env = {**env, axis: frame.f.add(env[axis], frame.f.i64(copy * lanes))}
    sizes = [item.size for item in stage.axes]
    addresses = Addresses(frame, sizes, env, axis, lanes)
    memory = Memory(addresses, code.segment.mask if lanes else None)
    return Around(code.row, stage, memory, Scalars(frame.f, frame.host, lanes, frame.fast_math))


def copy_of(code: NestCode, cell: Cell, copy: int) -> Value:
    values = code.cells[cell]
    return values[copy if len(values) > 1 else 0]


def result_of(code: NestCode, number: int, copy: int) -> Value:
    return copy_of(code, (number, len(code.nest.stages[number].body) - 1), copy)


def with_axes(env: Mapping[int, Value], loop: LoopAxis, index: Value, zero: Value) -> dict[int, Value]:
    """Merged axes: the last one runs over all elements, the others stand still."""
    return {**env, **dict.fromkeys(loop.axes[:-1], zero), loop.axes[-1]: index}
