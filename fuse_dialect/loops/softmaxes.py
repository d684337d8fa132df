"""Exponentials that cannot be large: those of differences to the maximum of a row, as a softmax has them. Pure data.

1. A difference *falls* if what is subtracted is the maximum over some axes of what it is subtracted from: then it is 0
   or less, whatever is rounded, or nan. Its exponential needs no bound above.
2. Exponentials that are only added up, and divided by their sum, may all be greater by a power of two: it leaves the
   quotients as they are. Such ones are *lifted*, so that none of them is denormal.
3. What is lifted may be anything where the difference is nan. All quotients of the row are nan then, because the sum
   becomes nan if the maximum is nan or infinite.
"""

from collections.abc import Sequence
from dataclasses import replace

from fuse_dialect.counts import Size
from fuse_dialect.loops.bodies import operands, reads
from fuse_dialect.loops.functions import Variant
from fuse_dialect.loops.indices import Index, Loop, axes_of, loop, substituted
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Combiner,
    Keep,
    Literal,
    LoopProgram,
    Read,
    Role,
    Stage,
)


def with_falling_exponents(program: LoopProgram, *, lifts: bool) -> LoopProgram:
    """The program with those exponentials of f32 marked.

    Args:
        program: The program.
        lifts: Whether those of which only quotients matter are lifted (2).
    """
    if not any(
        stage.reduction is not None and stage.reduction.combiner is Combiner.MAXIMUM for stage in program.stages
    ):
        return program
    stages: list[Stage] = []
    sums: dict[str, Body] = {}
    for stage in program.stages:
        falling = [place for place in range(len(stage.body)) if _is_falling(program, stages, stage, place)]
        found = _sums_of_lifted(program, stage) if lifts and falling == [len(stage.body) - 1] else {}
        sums.update(found)
        body = list(stage.body)
        for place in falling:
            body[place] = replace(body[place], parameter=Variant.LIFTED if found else Variant.FALLING)
        stages.append(replace(stage, body=tuple(body), finish=sums.get(stage.buffer, stage.finish)))
    return replace(program, stages=tuple(stages))


def _is_falling(program: LoopProgram, earlier: Sequence[Stage], stage: Stage, place: int) -> bool:
    """Whether an instruction is the exponential of a difference that falls (1)."""
    places = _difference(stage, place)
    if places is None:
        return False
    value, read = places[0], stage.body[places[1]]
    if not isinstance(read, Read) or read.guards:
        return False
    writers = [each for each in earlier if each.buffer == read.buffer]
    return len(writers) == 1 and _Covered(program, writers[0], stage).is_maximum_of(value, read)


def _difference(stage: Stage, place: int) -> tuple[int, int] | None:
    """The places of two numbers of whose difference an instruction is the exponential."""
    match stage.body[place]:
        case Apply("math.exp", (difference,), "f32"):
            match stage.body[difference]:
                case Apply("arith.subf", (one, other), "f32"):
                    return one, other
                case _:
                    return None
        case _:
            return None


class _Covered:
    """Whether a stage is a maximum over what another one has at its point."""

    def __init__(self, program: LoopProgram, writer: Stage, stage: Stage):
        self.shapes = {buffer.name: buffer.shape for buffer in program.buffers}
        self.writer, self.stage = writer, stage
        self.sizes = [axis.size for axis in stage.axes]
        self.axes: dict[int, Index] = {}
        """What stands for the writer's axes at a point of the stage; reduced ones are found on the way."""

    def is_maximum_of(self, value: int, read: Read) -> bool:
        """Whether the element that is read is the maximum over some axes of the value at a place of the body."""
        reduction, parallel = self.writer.reduction, [axis.size for axis in self.writer.axes if not axis.is_reduced]
        if reduction is None or reduction.combiner is not Combiner.MAXIMUM or reduction.keep is not Keep.TOTAL:
            return False
        plain = tuple(loop(axis) for axis in range(len(parallel)))
        # An axis of one element may be stored by its number, 0.
        stored = [
            index == axis or (size == 1 and index == Index())
            for index, axis, size in zip(self.writer.store or plain, plain, parallel, strict=False)
        ]
        if self.writer.finish or len(stored) != len(read.indices) or len(stored) != len(parallel) or not all(stored):
            return False
        for axis, index in enumerate(read.indices):
            if not isinstance(index, Index):
                return False
            self.axes[axis] = index
        return self._is_same(len(self.writer.body) - 1, value)

    def _is_same(self, one: int, other: int) -> bool:
        """Whether places of the bodies of the writer and of the stage have the same value."""
        left = [(one, other)]
        seen: set[tuple[int, int]] = set()
        while left:
            pair = left.pop()
            if pair in seen:
                continue
            seen.add(pair)
            match self.writer.body[pair[0]], self.stage.body[pair[1]]:
                case Apply() as own, Apply() as other_own:
                    if replace(own, operands=()) != replace(other_own, operands=()):
                        return False
                    if len(own.operands) != len(other_own.operands):
                        return False
                    left += zip(own.operands, other_own.operands, strict=True)
                case Read() as read, Read() as other_read:
                    if not self._is_same_element(read, other_read):
                        return False
                case Literal() as literal, Literal() as other_literal if repr(literal) == repr(other_literal):
                    pass
                case _:
                    return False
        return True

    def _is_same_element(self, read: Read, other: Read) -> bool:
        if read.buffer != other.buffer or read.guards or other.guards:
            return False
        return all(
            self._is_same_index(index, at, size)
            for index, at, size in zip(read.indices, other.indices, self.shapes[read.buffer], strict=True)
        )

    def _is_same_index(self, index: object, other: object, size: Size) -> bool:
        if not isinstance(index, Index) or not isinstance(other, Index):
            return False
        match index:
            case Index(((Loop(axis), 1),), 0) if axis not in self.axes and self.writer.axes[axis].size == size:
                # All of the array's axis is reduced, so wherever the stage reads, the maximum has it.
                self.axes[axis] = other
                return True
            case _:
                pass
        known = [self.axes.get(axis) for axis in range(len(self.writer.axes))]
        if any(known[axis] is None for axis in axes_of(index)):
            return False
        return substituted(index, [each if each is not None else Index() for each in known], self.sizes) == other


def _sums_of_lifted(program: LoopProgram, stage: Stage) -> dict[str, Body]:
    """The buffers of the sums of what a stage stores, each with how its sum is finished (3).

    None if anything but quotients by such sums needs the exponentials (2).
    """
    roles = {buffer.name: buffer.role for buffer in program.buffers}
    if stage.reduction is not None or stage.scatter is not None or roles[stage.buffer] is not Role.LOCAL:
        return {}
    readers = [each for each in program.stages if reads((*each.body, *each.finish), stage.buffer)]
    sums = [each for each in readers if _is_sum(each) and roles[each.buffer] is Role.LOCAL]
    names = {each.buffer for each in sums}
    users = [each for each in program.stages if any(reads((*each.body, *each.finish), name) for name in names)]
    written = [each.buffer for each in program.stages]
    if any(written.count(name) != 1 for name in (stage.buffer, *names)):
        return {}
    others = [each for each in (*readers, *users) if each.buffer not in names]
    finished = {each.buffer: _finished(program, stage, each) for each in sums}
    if not all(_is_divided(each, stage.buffer, names) for each in others):
        return {}
    return {} if None in finished.values() else {name: body for name, body in finished.items() if body is not None}


def _finished(program: LoopProgram, stage: Stage, total: Stage) -> Body | None:
    """The sum of a row, or nan if the maximum of the row is no number (3); `None` if the sum is not over a row."""
    places = _difference(stage, len(stage.body) - 1)
    (read,) = reads(total.body)
    maximum = None if places is None else stage.body[places[1]]
    plain = tuple(loop(axis) for axis in range(len(stage.axes)))
    stored = zip(stage.store or plain, plain, (axis.size for axis in stage.axes), strict=True)
    if not isinstance(maximum, Read) or not all(
        at == axis or (size == 1 and at == Index()) for at, axis, size in stored
    ):
        return None
    values = [index for index in read.indices if isinstance(index, Index)]
    sizes = [axis.size for axis in total.axes]
    indices = [substituted(index, values, sizes) for index in maximum.indices if isinstance(index, Index)]
    reduced = {axis for axis, each in enumerate(total.axes) if each.is_reduced}
    if len(values) != len(stage.axes) or any(reduced & axes_of(index) for index in indices):
        return None
    again = replace(maximum, indices=tuple(indices))
    return again, Literal(0.0, "f32"), Apply("arith.mulf", (1, 2), "f32"), Apply("arith.addf", (0, 3), "f32")


def _is_sum(stage: Stage) -> bool:
    reduction = stage.reduction
    if reduction is None or reduction.combiner is not Combiner.ADD or reduction.keep is not Keep.TOTAL:
        return False
    is_plain = len(stage.body) == 1 and not stage.finish and reduction.start.element == "f32"
    return is_plain and reduction.start.value == 0 and not reads(stage.body)[0].guards


def _is_divided(stage: Stage, buffer: str, sums: set[str]) -> bool:
    """Whether a stage reads a buffer as dividends of its sums, and the sums as divisors of it, and for nothing else."""
    if reads(stage.finish) and any(read.buffer in {buffer, *sums} for read in reads(stage.finish)):
        return False
    dividends = _places(stage.body, {buffer})
    divisors = _places(stage.body, sums)
    if not dividends or not divisors or dividends & {len(stage.body) - 1} or divisors & {len(stage.body) - 1}:
        return False
    for each in stage.body:
        if not (dividends | divisors) & set(operands(each)):
            continue
        match each:
            case Apply("arith.divf", (one, other), "f32") if one in dividends and other in divisors:
                pass
            case _:
                return False
    return not any(read.guards for read in reads(stage.body) if read.buffer in {buffer, *sums})


def _places(body: Body, buffers: set[str]) -> set[int]:
    return {place for place, each in enumerate(body) if isinstance(each, Read) and each.buffer in buffers}
