"""How the body of each nest runs: which instruction in which loop, for how many elements at once. Pure data.

1. Every instruction runs in the outermost loop in which its operands are known. What does not change along the vector
   axis is computed once, as a scalar, and spread over the lanes where it is needed.
2. The vector loop is up to three loops: whole groups of `unroll` vectors, single vectors, and the rest. The rest is one
   vector with a mask where the machine has masks. Else a rest of known size is shorter vectors, each half as long as
   the one before, and then it goes element by element; so it does at once where lanes are parts of one result. With
   masks, too, a row is one shorter vector where that is all of it: reads behind stores with masks wait for them.
3. A map may have its vector loop twice, and a test before it says which one runs: with products in place of rough
   quotients, where the divisor is the same for the row and neither huge nor tiny; with stores past the caches, where
   results are large.
4. In a transpose the vector loop is as wide as the tiles: a loop for each width, and the rest as in (2).
5. A map whose guards hold from one element of the vector axis to another has its vector loop for what is before,
   between and behind: in each of them such a guard is known. With masks, only if it has two vectors and a short body.
6. The one value that a row has of a buffer stays in a register for the nests that follow in the row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TypeAlias

from fuse_dialect.counts import product
from fuse_dialect.loops.byte_rounding import zero_point_of
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.functions import Variant
from fuse_dialect.loops.grouping import is_whole
from fuse_dialect.loops.indices import Index, Loop, axes_of
from fuse_dialect.loops.local_places import LocalPlaces
from fuse_dialect.loops.places import guard_axes, place_of
from fuse_dialect.loops.program import Apply, Buffer, Inside, Instruction, Literal, Position, Read, Role, Stage
from fuse_dialect.loops.schedule import Direction, Nest, Schedule
from fuse_dialect.loops.scheduling import halves, has_rest
from fuse_dialect.machines.machine import Machine, Unit

_TILES_SHARE = 4
"""Results as large as the last cache are written past it: nothing would be left there for who reads them. Those of a
transpose are from this part of it on: their lines are far apart, and to fetch them first takes most of the time."""
_MOST_CUTS = 4
"""Of a vector axis: each part between has code of its own (5)."""
_SHORT_BODY = 16
"""Functions of a body that is worth code for each part of the vector axis where masks could do (5)."""
LONG = 64
"""Fewer elements are not worth a second form of their loop (3)."""
Cell: TypeAlias = tuple[int, int]
"""A stage of the nest, and a place in its body."""


class Streams(Enum):
    """Which results go past the caches, if they lie as a test asks for (3)."""

    NONE = "none"
    VECTORS = "vectors"
    """Vectors of a map, from the first aligned one on."""
    TILES = "tiles"
    """Lines of a transpose."""


@dataclass(frozen=True, slots=True)
class VectorLoop:
    """One of the loops that a vector loop consists of (2)."""

    lanes: int
    """Elements of a vector; 0 for element by element."""
    unroll: int
    """Vectors in one iteration."""
    is_masked: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the vector axis in which guards are known (5)."""

    first: int
    stop: int
    vector_loops: tuple[VectorLoop, ...]


@dataclass(frozen=True, slots=True)
class Divisor:
    """What a quotient is divided by, which is the same for the whole vector loop (3)."""

    cell: Cell
    is_exact: bool
    """Whether the quotient is exact as far as bytes go, see `Variant.BOUNDED`; else it is rough."""
    zero_point: Cell | None = None
    """What is added to an exact one, if that is computed."""


@dataclass(frozen=True, slots=True)
class NestForm:
    """How the body of a nest runs."""

    depths: Mapping[Cell, int]
    """In how many loops an instruction runs (1)."""
    vectors: frozenset[Cell]
    """Instructions whose values differ from lane to lane (1)."""
    vector_loops: tuple[VectorLoop, ...]
    """Of the vector loop; none if there is no such loop."""
    segments: tuple[Segment, ...]
    """Parts of the vector loop, each with loops of its own; none if it is one (5)."""
    divisors: Mapping[Cell, Divisor]
    """Quotients that may be products with a reciprocal (3)."""
    streams: Streams
    keeps: frozenset[str]
    """Buffers whose one value stays in a register for later nests of the row (6)."""


def nest_forms(plan: Schedule, places: LocalPlaces, machine: Machine) -> tuple[tuple[NestForm, ...], ...]:
    """The forms of the nests of each phase."""
    forms: list[tuple[NestForm, ...]] = []
    in_memory = {
        buffer.name: buffer
        for buffer in plan.program.buffers
        if buffer.role is not Role.LOCAL or buffer.name in places.sizes or buffer.name in places.shared
    }
    shapes = {buffer.name: buffer.shape for buffer in plan.program.buffers}
    for phase in plan.phases:
        kept: frozenset[str] = frozenset()
        found: list[NestForm] = []
        for nest in phase.nests:
            form = _Analysis(nest, kept, in_memory, machine).form(_kept_by(nest, shapes))
            kept |= form.keeps
            found.append(form)
        forms.append(tuple(found))
    return tuple(forms)


def _kept_by(nest: Nest, shapes: Mapping[str, tuple[int | str, ...]]) -> frozenset[str]:
    """The buffers of which a nest computes the one value that a row has (6)."""
    kept: set[str] = set()
    for stage in nest.stages:
        around = nest.loops if stage.reduction is None else nest.loops[: nest.reduced]
        # A piece of a concatenation is not the value of the row.
        if not around and not stage.is_scan and is_whole(stage, shapes[stage.buffer]):
            kept.add(stage.buffer)
    return frozenset(kept)


def writer_in_nest(stages: Sequence[Stage], number: int, read: Read) -> int | None:
    """The earlier stage of the nest that has the element in a register."""
    names = [stage.buffer for stage in stages[:number]]
    return names.index(read.buffer) if read.buffer in names else None


def sources(stages: Sequence[Stage], number: int, inner: Instruction) -> list[Cell]:
    """The cells whose values an instruction of a stage needs."""
    match inner:
        case Apply():
            return [(number, place) for place in inner.operands]
        case Read():
            writer = writer_in_nest(stages, number, inner)
            if writer is not None:
                return [(writer, len(stages[writer].body) - 1)]
            return [(number, index.place) for index in inner.indices if not isinstance(index, Index)]
        case _:
            return []


class _Analysis:
    def __init__(self, nest: Nest, kept: frozenset[str], in_memory: Mapping[str, Buffer], machine: Machine):
        self.nest, self.kept, self.in_memory, self.machine = nest, kept, in_memory, machine
        self.depths: dict[Cell, int] = {}
        self.vectors: set[Cell] = set()

    def form(self, keeps: frozenset[str]) -> NestForm:
        self.place()
        is_map = not any(stage.reduction is not None or stage.scatter is not None for stage in self.nest.stages)
        # (3) Two forms of a reduction would need their accumulators joined; its quotients come later anyhow.
        divisors = self.divisors() if is_map and self.nest.vector is not None else {}
        streams = self.streams() if is_map and self.nest.vector is not None else Streams.NONE
        vector_loops = () if self.nest.vector is None else self.vector_loops(self._size())
        segments = self.segments() if is_map and self.nest.vector is not None else ()
        return NestForm(self.depths, frozenset(self.vectors), vector_loops, segments, divisors, streams, keeps)

    def _size(self) -> int | None:
        """Elements of the vector axis, if they are known."""
        assert self.nest.vector is not None, "the nest has a vector loop"
        return self.nest.loops[self.nest.vector].size.number

    def segments(self) -> tuple[Segment, ...]:
        """The parts of the vector axis in which guards are known (5)."""
        assert self.nest.vector is not None, "the nest has a vector loop"
        vector, size = self.nest.loops[self.nest.vector], self._size()
        if self.nest.tiles or vector.is_inside or size is None or not self.is_worth_segments(size):
            return ()
        (axis, *others), cuts = vector.axes, set[int]()
        for inner in (inner for stage in self.nest.stages for inner in stage.body if isinstance(inner, Read | Inside)):
            for guard in inner.guards:
                if guard.index.terms == ((Loop(axis), 1),) and isinstance(guard.size, int):
                    cuts |= {-guard.index.constant, guard.size - guard.index.constant}
        inside = sorted(cut for cut in cuts if 0 < cut < size)
        if others or not 0 < len(inside) <= _MOST_CUTS:
            return ()
        return tuple(Segment(low, high, self.vector_loops(high - low)) for low, high in pairwise([0, *inside, size]))

    def is_worth_segments(self, size: int) -> bool:
        """Whether guards that are known are worth several loops: masks do for few vectors, and for long bodies (5)."""
        if Unit.MASKS not in self.machine.units:
            return True
        body = [inner for stage in self.nest.stages for inner in stage.body if isinstance(inner, Apply)]
        return size >= 2 * self.nest.lanes and len(body) <= _SHORT_BODY

    def place(self) -> None:
        """Find out where each instruction runs, and what differs from lane to lane (1)."""
        position_of = {axis: number + 1 for number, loop in enumerate(self.nest.loops) for axis in loop.axes}
        for number, stage in enumerate(self.nest.stages):
            for place, inner in enumerate(stage.body):
                axes = self.axes_of(inner)
                # As far outside as its axes allow: once a row, if nothing in it moves along the row.
                depth = max((position_of.get(axis, 0) for axis in axes), default=0)
                is_vector = self.nest.vector_axis in axes
                # Operands come first in SSA order, so their depths are known, and no instruction runs before them.
                for cell in sources(self.nest.stages, number, inner):
                    depth = max(depth, self.depths[cell])
                    is_vector = is_vector or cell in self.vectors
                self.depths[number, place] = depth
                if is_vector:
                    self.vectors.add((number, place))

    def axes_of(self, inner: Instruction) -> set[int]:
        """The axes that an instruction itself depends on."""
        match inner:
            case Read():
                # The one value of a row stands in a register (6); where a guard chooses, it is read.
                if inner.buffer in self.kept and not inner.guards:
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

    def divisors(self) -> dict[Cell, Divisor]:
        """Rough and bounded quotients of vectors by what is the same in the whole vector loop."""
        depth = self.nest.vector
        assert depth is not None, "the nest has a vector loop"
        size = self.nest.loops[depth].size.number
        if size is not None and size < LONG:
            return {}
        found: dict[Cell, Divisor] = {}
        for number, stage in enumerate(self.nest.stages):
            for place, inner in enumerate(stage.body):
                if not isinstance(inner, Apply) or (number, place) not in self.vectors:
                    continue
                if inner.parameter not in (Variant.ROUGH, Variant.BOUNDED) or inner.element not in ("f32", "f64"):
                    continue
                is_exact = inner.parameter is Variant.BOUNDED
                zero = zero_point_of(stage.body, 0, place) if is_exact else None
                cell, zero_point = (number, inner.operands[1]), None if zero is None else (number, zero)
                is_known = all(
                    self.depths[each] <= depth and each not in self.vectors
                    for each in (cell, zero_point)
                    if each is not None
                )
                if is_known and not isinstance(stage.body[cell[1]], Literal):
                    found[number, place] = Divisor(cell, is_exact, zero_point)
        return found

    def streams(self) -> Streams:
        if self.nest.tiles and self.may_stream_tiles():
            return Streams.TILES
        return Streams.VECTORS if self.may_stream_vectors() else Streams.NONE

    def may_stream_tiles(self) -> bool:
        """Whether every vector of the large results is a line, if the first one is: parts of lines must not pass by."""
        nest, machine = self.nest, self.machine
        assert nest.vector is not None, "the nest has a vector loop"
        axis, lanes = nest.loops[nest.vector].axes[-1], nest.lanes
        if Unit.STREAMS not in machine.units or (nest.loops[nest.vector].size.number or 1) % lanes:
            return False
        for stage in nest.stages:
            buffer = self.in_memory.get(stage.buffer)
            if buffer is None:
                continue
            store = place_of(stage.store, buffer.shape, len(stage.axes))
            # Whatever the other axes are, each vector begins a line if all steps are whole lines.
            steps = [store.constant, *(stride for number, stride in enumerate(store.strides) if number != axis)]
            is_large = takes(buffer, machine.last_cache.bytes // _TILES_SHARE)
            is_line = lanes * element_bytes(buffer.element) == machine.line_bytes
            if not is_line or store.stride(axis) != 1 or store.odd or not is_large:
                return False
            if any(step.number is None or step.number % lanes for step in steps):
                return False
        return True

    def may_stream_vectors(self) -> bool:
        """Whether results are so large that they would only push other things out of the caches."""
        nest, machine = self.nest, self.machine
        if nest.vector != len(nest.loops) - 1 or Unit.STREAMS not in machine.units:
            return False
        for stage in nest.stages:
            buffer = self.in_memory.get(stage.buffer)
            if buffer is None:
                continue
            # Narrow results of wide computations are stored in halves of vectors, which are not streamed.
            is_whole_vector = nest.lanes * element_bytes(buffer.element) == machine.vector_bytes
            if not is_whole_vector or not takes(buffer, machine.last_cache.bytes):
                return False
        return True

    def vector_loops(self, size: int | None) -> tuple[VectorLoop, ...]:
        """The loops over so many elements of the vector axis, all or a part of them (2)."""
        nest, has_masks = self.nest, Unit.MASKS in self.machine.units
        assert nest.vector is not None, "the nest has a vector loop"
        if nest.tiles:
            # (4) Whole tiles of each width first; the rest is less than the least.
            widths = halves(nest.lanes, size)
            rest = VectorLoop(nest.lanes, 1, is_masked=True) if has_masks else VectorLoop(0, 1, is_masked=False)
            return (
                *(VectorLoop(width, 1, is_masked=False) for width in widths),
                *([rest] if has_rest(widths, size) else []),
            )
        groups = [VectorLoop(nest.lanes, nest.unroll, is_masked=False)] if nest.unroll > 1 else []
        single = VectorLoop(nest.lanes, 1, is_masked=False)
        shorter = [VectorLoop(width, 1, is_masked=False) for width in self._shorter(size)]
        if not has_masks:
            return (*groups, single, *shorter, VectorLoop(0, 1, is_masked=False))
        rest = VectorLoop(nest.lanes, 1, is_masked=True)
        if size is not None and size < nest.lanes and [part.lanes for part in shorter] == [size]:
            return (*shorter, rest)
        return (*(groups or [single]), rest)

    def _shorter(self, size: int | None) -> tuple[int, ...]:
        """The vectors that a rest consists of (2)."""
        nest = self.nest
        if size is None or nest.direction is Direction.ACROSS:
            return ()
        return halves(nest.lanes // 2, size % nest.lanes)


def takes(buffer: Buffer, bytes: int) -> bool:
    """Whether a buffer is known to take as many bytes, or more."""
    elements = product(buffer.shape).number
    return elements is not None and elements * element_bytes(buffer.element) >= bytes
