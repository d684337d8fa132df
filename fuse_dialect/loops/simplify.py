"""Fewer stages for the same program: what a fused primitive should be is one pass over its results.

1. *Clean*: indices and guards simplified, equal instructions merged, what nobody needs dropped, and reduced axes of
   size 1.
2. *Split*: a stage that runs along a concatenation becomes one stage for each piece, if that lets the next step go on.
3. *Inline*: a map is computed where it is read, unless that repeats expensive work: it is then read in several places,
   or more than once an element, and costs more than `CHEAP`. Later maps come first, so that a value whose readers
   have become one stage is read there alone; and what repeats nothing comes first, so that a chain of cheap ops is
   judged as a whole. What the end of a sum of products reads may cost more, `FOR_A_PRODUCT` for each of them: a product
   by itself runs much faster than one that must share its loops with another stage.
4. *Finish*: a map that reads a reduction at its own index alone becomes the end of that reduction: the epilogue.
5. Where other stages stay, what a sum of products ends with reads in order, so that its columns stay one axis. A map
   that reads moved or padded elements, which a law of kernels takes for loops behind the product, is a stage.

A softmax thus has four stages (maximum, exponentials, sum, quotients), a convolution with its epilogue has one.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeAlias

from fuse_dialect.counts import Size, product
from fuse_dialect.loops.bodies import BodyBuilder, body_over, cost, moved, over, reads
from fuse_dialect.loops.bounds import MOST_PIECES, may_repeat, repeats_nothing
from fuse_dialect.loops.forms import Order
from fuse_dialect.loops.indices import (
    Guard,
    Index,
    Loop,
    axes_of,
    delinear,
    holds,
    linear,
    loop,
    number,
    simplified,
    substituted,
)
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Buffer,
    Combiner,
    Inside,
    Instruction,
    Literal,
    LoopProgram,
    Position,
    Read,
    Reduction,
    Role,
    Stage,
    Value,
)
from fuse_dialect.loops.read_orders import number_of, order_of

FOR_A_PRODUCT = 8
"""Additions an element and product of a sum that its end may cost more, so that the sum stays a kernel by itself."""
_FLOATS = ("f16", "bf16", "f32", "f64")
_PAIR = 2
"""Stages of a program that become one with the next step."""
_NAME = 64
"""Letters of a stage's name."""


def simplify(program: LoopProgram) -> LoopProgram:
    """The program with fewer and simpler stages, in an order in which they can run.

    Complexity: linear in the number of stages and their instructions, as long as few of them are read in many places.
    """
    work = _Work(program)
    count = len(work.stages) + 1
    while len(work.stages) < count:
        count = len(work.stages)
        # (3) What repeats nothing first: chains of cheap ops become one map, and count as a whole.
        work.inline_all(is_free=True)
        for buffer in list(work.writers):
            work.finish(buffer)
        work.inline_all(is_free=False)
    stages = tuple(work.stages[place] for place in sorted(work.stages))
    used = {stage.buffer for stage in stages}
    buffers = tuple(buffer for buffer in program.buffers if buffer.role is not Role.LOCAL or buffer.name in used)
    return LoopProgram(program.name, buffers, stages)


_Place: TypeAlias = tuple[int, ...]
"""When a stage runs: places are ordered as words are."""


class _Work:
    """Stages by their places, with their readers and writers."""

    def __init__(self, program: LoopProgram):
        self.buffers: dict[str, Buffer] = {buffer.name: buffer for buffer in program.buffers}
        self.stages: dict[_Place, Stage] = {}
        self.writers: dict[str, list[_Place]] = {}
        self.readers: dict[str, dict[_Place, None]] = {buffer.name: {} for buffer in program.buffers}
        for number_, stage in enumerate(program.stages):
            self.put((number_,), cleaned(stage))

    def put(self, place: _Place, stage: Stage) -> None:
        """Add a stage, or replace the one at this place."""
        self.remove(place)
        self.stages[place] = stage
        self.writers.setdefault(stage.buffer, []).append(place)
        for buffer in _buffers_read(stage):
            self.readers[buffer][place] = None

    def remove(self, place: _Place) -> None:
        """Take the stage at this place away."""
        stage = self.stages.pop(place, None)
        if stage is not None:
            self.writers[stage.buffer].remove(place)
            for buffer in _buffers_read(stage):
                self.readers[buffer].pop(place, None)

    def drop_unread(self, buffer: str) -> None:
        """Take the writers of a local buffer away if nobody reads it (1)."""
        if self.buffers[buffer].role is Role.LOCAL and not self.readers[buffer]:
            for writer in list(self.writers[buffer]):
                self.remove(writer)

    def inline_all(self, *, is_free: bool) -> None:
        """Compute local buffers where they are read, later ones first."""
        # (3) Later maps first, so that the readers of a value have become one stage before the value's turn comes.
        for buffer in reversed(list(self.writers)):
            self.drop_unread(buffer)
            self.inline(buffer, is_free=is_free)

    def inline(self, buffer: str, *, is_free: bool) -> None:
        """Compute a local buffer where it is read (3), by readers that are cut in pieces if need be (2)."""
        producers = [self.stages[writer] for writer in self.writers[buffer]]
        readers = [self.stages[reader] for reader in self.readers[buffer]]
        is_local = self.buffers[buffer].role is Role.LOCAL
        if not is_local or not readers or any(producer.reduction is not None for producer in producers):
            return
        # Where a scatter stores is read from memory, and what it has stored is not one value an element.
        if any(
            member.scatter is not None and buffer in (member.buffer, member.scatter.places)
            for member in (*producers, *readers)
        ):
            return
        if not self._is_worth(buffer, producers, readers, is_free=is_free):
            return
        # (2, 3) All readers or none: as long as one needs the buffer it must be stored, and nothing is gained.
        inlined = [_pieces_inlined(reader, producers) for reader in readers]
        if not all(inlined):
            return
        # (5) What an end reads moved would keep the axes of its product from becoming one.
        for reader, pieces in zip(readers, inlined, strict=True):
            if _room_at_the_end(reader, buffer) and any(self._ends_moved(piece, reader) for piece in pieces):
                return
        for place, pieces in zip(list(self.readers[buffer]), inlined, strict=True):
            self.remove(place)
            for number_, stage in enumerate(pieces):
                self.put((*place, number_) if len(pieces) > 1 else place, cleaned(stage))
        for writer in list(self.writers[buffer]):
            self.remove(writer)

    def _ends_moved(self, stage: Stage, before: Stage) -> bool:
        """Whether a product that shares its loops would end with a read in another order, and did not before (5)."""
        if len(self.stages) <= _PAIR:
            return False
        known = {read.buffer for read in reads(before.finish)}
        stage = without_single_points(stage)
        sizes = [axis.size for axis in stage.axes if not axis.is_reduced]
        return any(
            read.buffer not in known and order_of(read, sizes, self.buffers[read.buffer].shape) > Order.BROADCAST
            for read in reads(stage.finish)
        )

    def _is_worth(self, buffer: str, producers: list[Stage], readers: list[Stage], *, is_free: bool) -> bool:
        """Whether it costs less to compute the buffer's elements where they are read than to store them.

        Free is what moves elements, and what computes each element once and in one place.
        """
        # Readers meet one of the producers of a buffer at each point, so the dearest counts and places are shared.
        work = max(cost(producer.body) for producer in producers)
        places = sum(len(reads((*reader.body, *reader.finish), buffer)) for reader in readers) / len(producers)
        if repeats_nothing(work, places, max(_repeats(reader, self.buffers[buffer]) for reader in readers)):
            return True
        return not is_free and may_repeat(work, places, min(_room_at_the_end(reader, buffer) for reader in readers))

    def finish(self, buffer: str) -> None:
        """Make the only reader of a reduction its end (4); again while there is one."""
        while len(self.writers[buffer]) == 1 and len(self.readers[buffer]) == 1:
            (writer,), (reader,) = self.writers[buffer], self.readers[buffer]
            # (4) A result must be stored, so its reader cannot take its place.
            if self.buffers[buffer].role is not Role.LOCAL:
                return
            merged = _finished(self.stages[writer], self.stages[reader], self.buffers[buffer])
            if merged is None or (_is_product(merged) and self._ends_moved(merged, self.stages[writer])):
                return
            self.remove(writer)
            self.put(reader, cleaned(merged))
            buffer = merged.buffer


def _buffers_read(stage: Stage) -> list[str]:
    found = [read.buffer for read in reads((*stage.body, *stage.finish))]
    return found if stage.scatter is None else [*found, stage.scatter.places]


def extents(stage: Stage) -> tuple[Size, ...]:
    """Sizes of a stage's axes."""
    return tuple(axis.size for axis in stage.axes)


def cleaned(stage: Stage) -> Stage:
    """The stage with simple indices, every instruction once and needed, and no reduced axis of size 1 (1)."""
    # A scan stores by its reduced axis, and an exclusive one stores no value of the body.
    kept = [axis for axis, own in enumerate(stage.axes) if not (own.is_reduced and own.size == 1 and not stage.is_scan)]
    values = [loop(kept.index(axis)) if axis in kept else number(0) for axis in range(len(stage.axes))]
    axes = tuple(stage.axes[axis] for axis in kept)
    sizes = tuple(axis.size for axis in axes)
    builder = BodyBuilder(sizes)
    result = builder.copy(body_over(stage.body, values, sizes), [])
    # (1) A reduction over one element is its value combined with what it starts with.
    if stage.reduction is not None and not any(axis.is_reduced for axis in axes):
        result = _started(builder, result, stage.reduction)
        result = builder.copy(body_over(stage.finish, values, sizes), [result])
        return replace(stage, axes=axes, body=builder.finished(result), reduction=None, finish=())
    ending = BodyBuilder(sizes, first=1)
    last = ending.copy(body_over(stage.finish, values, sizes), [0])
    return replace(stage, axes=axes, body=builder.finished(result), finish=ending.finished(last))


def _started(builder: BodyBuilder, value: int, reduction: Reduction) -> int:
    """The place of a value combined with the start of a reduction, which is neutral but for one number: -0 + 0 is 0."""
    start = reduction.start
    if reduction.combiner is not Combiner.ADD or start.element not in _FLOATS or math.copysign(1, start.value) < 0:
        return value
    zero = builder.add(start)
    return builder.add(Apply("arith.addf", (value, zero), start.element))


def _piece(stage: Stage, axis: int, start: int, size: int) -> Stage:
    """The part of a stage that runs from `start` on along an axis."""
    axes = tuple(replace(own, size=size) if place == axis else own for place, own in enumerate(stage.axes))
    values = [loop(place) + (start if place == axis else 0) for place in range(len(axes))]
    sizes = tuple(own.size for own in axes)
    return replace(
        stage,
        axes=axes,
        body=body_over(stage.body, values, sizes),
        finish=body_over(stage.finish, values, sizes),
        store=tuple(substituted(index, values, ()) for index in stage.stored),
    )


def _repeats(reader: Stage, buffer: Buffer) -> float:
    """How often a stage reads an element of a buffer, about."""
    return max(_repeats_of(read, reader, buffer) for read in reads((*reader.body, *reader.finish), buffer.name))


def _repeats_of(read: Read, reader: Stage, buffer: Buffer) -> float:
    indices = [index for index in read.indices if isinstance(index, Index)]
    if len(indices) != len(read.indices):
        return math.inf
    sizes = extents(reader)
    others = {axis for axis, size in enumerate(sizes) if size != 1}
    alone = [index.terms[0][0] for index in indices if len(index.terms) == 1]
    if others <= {atom.axis for atom in alone if isinstance(atom, Loop)}:
        return 1  # every axis has an index of its own, so that two points never read one element
    # Without such a proof, points for each element of the buffer are the average.
    points, elements = number_of(sizes), number_of(buffer.shape)
    if points is not None and elements:
        return points / elements
    found = set[int]().union(*(axes_of(index) for index in indices))
    missing = number_of([size for axis, size in enumerate(sizes) if axis not in found])
    return math.inf if missing is None else missing


def _room_at_the_end(reader: Stage, buffer: str) -> float:
    """Additions an element that the end of a sum of products may spend on what it reads (3); 0 for other readers."""
    if not _is_product(reader) or reads(reader.body, buffer):
        return 0
    depth = number_of([axis.size for axis in reader.axes if axis.is_reduced])
    # Where the depth is open, it is that of a product like others.
    return math.inf if depth is None else FOR_A_PRODUCT * depth


def _is_product(stage: Stage) -> bool:
    """Whether a stage is a sum of products."""
    if stage.reduction is None or stage.reduction.combiner is not Combiner.ADD:
        return False
    match stage.body[-1]:
        case Apply("arith.mulf" | "arith.muli"):
            return True
        case _:
            return False


def _pieces_inlined(reader: Stage, producers: list[Stage]) -> list[Stage]:
    """The reader with the producers' bodies in place of its reads, or its pieces; none where that cannot be."""
    whole = _inlined(reader, producers)
    if whole is not None:
        return [whole]
    # (2) One producer has no pieces; many would make as many kernels of one. The points of a scatter have an order.
    if not 1 < len(producers) <= MOST_PIECES or reader.scatter is not None:
        return []
    for read in reads((*reader.body, *reader.finish), producers[0].buffer):
        for axis, index in enumerate(read.indices):
            match index:
                case Index(((Loop(own), 1),), 0) if not reader.axes[own].is_reduced and _is_cut(producers, axis):
                    size = reader.axes[own].size
                    if not isinstance(size, int):
                        return []
                    pieces = [
                        _inlined(cleaned(_piece(reader, own, start, count)), producers)
                        for start, count in _parts(size, producers, axis)
                    ]
                    return [piece for piece in pieces if piece is not None] if None not in pieces else []
                case _:
                    pass
    return []


def _parts(size: int, producers: list[Stage], axis: int) -> list[tuple[int, int]]:
    """Start and size of the parts of an axis that lie in the producers' pieces, and of what lies behind them.

    A reader may end before the pieces do, or read behind them under guards, which hold there at no point.
    """
    parts: list[tuple[int, int]] = []
    behind = 0
    for producer in producers:
        start, own = producer.store[axis].constant, producer.axes[axis].size
        assert isinstance(own, int), "the pieces have been looked at"
        behind = start + own
        parts.append((start, min(size, behind) - start))
    parts.append((behind, size - behind))
    return [(start, count) for start, count in parts if count > 0]


def _is_cut(producers: list[Stage], axis: int) -> bool:
    """Whether the producers write pieces one behind the other along an axis, and whole other axes."""
    starts = [producer.store[axis].constant for producer in producers]
    sizes = [producer.axes[axis].size for producer in producers]
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) == len(sizes) and starts == [0, *accumulate(known[:-1])] and any(starts)


def _inlined(reader: Stage, producers: list[Stage]) -> Stage | None:
    """The reader with the producers' body in place of its reads of their buffer; `None` where that cannot be."""
    body = _body_inlined(reader.body, 0, reader, producers)
    finish = _body_inlined(reader.finish, 1, reader, producers) if reader.finish else ()
    if body is None or finish is None:
        return None
    return replace(reader, name=_joined(producers[0].name, reader.name), body=body, finish=finish)


def _body_inlined(body: Body, first: int, reader: Stage, producers: list[Stage]) -> Body | None:
    builder = BodyBuilder(extents(reader), first)
    places = list(range(first))
    for instruction in body:
        instruction = moved(instruction, places)
        if isinstance(instruction, Read) and instruction.buffer == producers[0].buffer:
            place = _computed(instruction, builder, producers)
            if place is None:
                return None
            places.append(place)
        else:
            places.append(builder.add(instruction))
    return builder.finished(places[-1])


def _computed(read: Read, builder: BodyBuilder, producers: list[Stage]) -> int | None:
    """The place of the value that a read gives, computed as the producer does."""
    producer = _producer(read, builder.extents, producers)
    if producer is None:
        return None
    if read.guards and len(producer.body) == 1:
        match producer.body[0]:
            case Read(guards=(), indices=own) as only if all(isinstance(index, Index) for index in own):
                copy = _at(only, read, producer, builder.extents)
                return None if copy is None else builder.add(copy)
            case _:
                pass
    places: list[int] = []
    for instruction in producer.body:
        copy = _at(instruction, read, producer, builder.extents)
        if copy is None:
            return None
        places.append(builder.add(moved_computed(copy, places, instruction)))
    if not read.guards:
        return places[-1]
    assert read.otherwise is not None
    # The producer computes, whether or not its reads are allowed, so the guards decide on the value instead.
    inside = builder.add(Inside(read.guards))
    fill = builder.add(read.otherwise)
    return builder.add(Apply("arith.select", (inside, places[-1], fill), read.element, origin=read.origin))


def moved_computed(copy: Instruction, places: list[int], original: Instruction) -> Instruction:
    """The copy of a producer's instruction with operands at their new places.

    Indices that the original computes itself move along; those that come from the reader stand at their place already.
    """
    if not isinstance(copy, Read) or not isinstance(original, Read):
        return moved(copy, places)
    indices = tuple(
        Value(places[old.place]) if isinstance(old, Value) else new
        for new, old in zip(copy.indices, original.indices, strict=True)
    )
    return replace(copy, indices=indices)


def _producer(read: Read, sizes: Sequence[Size], producers: list[Stage]) -> Stage | None:
    """The stage that writes all the elements that a read gives."""
    if len(producers) == 1 and not producers[0].store:
        return producers[0]
    indices = [index for index in read.indices if isinstance(index, Index)]
    if read.guards or len(indices) != len(read.indices):
        return None
    for producer in producers:
        offsets = [index - own.constant for index, own in zip(indices, producer.store, strict=True)]
        if all(holds(Guard(offset, axis.size), sizes) for offset, axis in zip(offsets, producer.axes, strict=True)):
            return producer
    return None


def _at(instruction: Instruction, read: Read, producer: Stage, sizes: Sequence[Size]) -> Instruction | None:
    """A producer's instruction for the element that a read names; under its guards where it reads."""
    values: list[Index] = []
    computed: dict[int, Value] = {}
    for axis, index in enumerate(read.indices):
        if isinstance(index, Value):
            computed[axis] = index
            values.append(number(0))
        else:
            values.append(index - (producer.store[axis].constant if producer.store else 0))
    # A computed index cannot be put into an expression of loop variables: it must stand alone in a read.
    if computed and not _takes_values(instruction, set(computed)):
        return None
    copy = over(instruction, values, sizes)
    if not isinstance(copy, Read) or not isinstance(instruction, Read):
        return copy
    indices = tuple(_value(old, computed) or new for new, old in zip(copy.indices, instruction.indices, strict=True))
    if not read.guards:
        return replace(copy, indices=indices)
    # Where the reader's guard fails its own fill is chosen later, except where the read itself is the value.
    otherwise = copy.otherwise or (read.otherwise if len(producer.body) == 1 else _zero(copy.element))
    return replace(copy, indices=indices, guards=(*copy.guards, *read.guards), otherwise=otherwise)


def _value(index: "Index | Value", computed: dict[int, Value]) -> Value | None:
    match index:
        case Index(((Loop(axis), 1),), 0):
            return computed.get(axis)
        case _:
            return None


def _takes_values(instruction: Instruction, axes: set[int]) -> bool:
    """Whether an instruction depends on these axes through whole indices of a read alone."""
    match instruction:
        case Read():
            inner = [
                index
                for index in instruction.indices
                if isinstance(index, Index) and _value(index, {axis: Value(0) for axis in axes}) is None
            ]
            inner += [guard.index for guard in instruction.guards]
        case Position():
            inner = [instruction.index]
        case Inside():
            inner = [guard.index for guard in instruction.guards]
        case _:
            inner = []
    return all(axes.isdisjoint(axes_of(index)) for index in inner)


def _zero(element: str) -> Literal:
    if element == "i1":
        return Literal(False, element)
    return Literal(0.0 if element in _FLOATS else 0, element)


def _finished(reduction: Stage, reader: Stage, buffer: Buffer) -> Stage | None:
    """The reduction with the reader, a map, as its end; `None` where it reads elements other than its own."""
    found = reads(reader.body, buffer.name)
    if reduction.reduction is None or reduction.store or reader.reduction is not None or len(found) != 1:
        return None
    at = _inverse(found[0], reduction, reader)
    sizes = tuple(axis.size for axis in reduction.axes if not axis.is_reduced)
    # No indices mean one for each axis. A scalar has none, so that a sum with axes of size 1 cannot store it.
    if at is None or (sizes and not at):
        return None
    builder = BodyBuilder(sizes, first=1)
    total = builder.copy(reduction.finish, [0]) if reduction.finish else 0
    places: list[int] = []
    for instruction in reader.body:
        if instruction is found[0]:
            places.append(total)
        else:
            places.append(builder.add(moved(over(instruction, at, sizes), places)))
    store = [simplified(index, sizes) for index in at]
    if reader.store:
        store = [index + own.constant for index, own in zip(store, reader.store, strict=True)]
    own = [simplified(loop(axis), sizes) for axis in range(len(sizes))]
    return replace(
        reduction,
        name=_joined(reduction.name, reader.name),
        buffer=reader.buffer,
        finish=builder.finished(places[-1]),
        store=() if store == own else tuple(store),
    )


def _inverse(read: Read, reduction: Stage, reader: Stage) -> list[Index] | None:
    """For each axis of the reader its index by the reduction's parallel axes, if the read is one to one."""
    parallel = [axis for axis in reduction.axes if not axis.is_reduced]
    sizes = [axis.size for axis in parallel]
    indices = [index for index in read.indices if isinstance(index, Index)]
    if read.guards or len(indices) != len(read.indices):
        return None
    at: dict[int, Index] = {}
    for axis, index in enumerate(indices):
        match simplified(index, extents(reader)):
            case Index(((Loop(own), 1),), 0) if own not in at and reader.axes[own].size == sizes[axis]:
                at[own] = loop(axis)
            case Index((), 0) if sizes[axis] == 1:
                pass
            case _:
                return _same_place(indices, sizes, reader)
    if any(axis.size != 1 for place, axis in enumerate(reader.axes) if place not in at):
        return None
    return [at.get(axis, number(0)) for axis in range(len(reader.axes))]


def _same_place(indices: list[Index], sizes: list[Size], reader: Stage) -> list[Index] | None:
    """The inverse of a read of all elements in row-major order: of a reshape."""
    own = extents(reader)
    if product(own) != product(sizes):
        return None
    position = linear(indices, sizes)
    plain = linear([loop(axis) for axis in range(len(own))], own)
    if position is None or plain is None or simplified(position, own) != simplified(plain, own):
        return None
    place = linear([loop(axis) for axis in range(len(sizes))], sizes)
    found = None if place is None else delinear(place, own, sizes)
    return None if found is None else list(found)


def _joined(first: str, second: str) -> str:
    """The name of two stages that have become one."""
    name = f"{first}_{second}"
    if len(name) <= _NAME:
        return name
    return f"{name[: _NAME // 2].rpartition('_')[0]}_etc_{name[-_NAME // 2 :].partition('_')[2]}"
