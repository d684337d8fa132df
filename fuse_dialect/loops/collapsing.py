"""Maps whose rows are short and guarded, over one axis for a row and its neighbours. Pure data.

Padding along the width of an image with its channels last guards the axis before the last: `0 <= w - 1 < 112`. A loop
that counts `w` and `c` together knows no `w`, so each pixel is a row of its own (4 of `schedule`), of a few channels.
But where `c` is below the number of channels `n`, a guard holds for `w` exactly where it holds for `w * n + c` with all
its numbers `n` times as large. So both axes become one, with buffers that have one axis in the place of two.

1. All that a stage reads and writes runs through both axes without a gap, or depends on neither.
2. Guards ask for the outer axis alone, and nothing asks for the value of one of them.
3. Nobody else uses these buffers: all see the same shape.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fuse_dialect.loops.grouping import reads_of
from fuse_dialect.loops.indices import axes_of, loop
from fuse_dialect.loops.iteration_space import with_axes
from fuse_dialect.loops.program import (
    Axis,
    Buffer,
    Guard,
    Index,
    Inside,
    Instruction,
    LoopProgram,
    Position,
    Read,
    Stage,
    Value,
)


def with_collapsed_rows(program: LoopProgram) -> LoopProgram:
    """The program whose maps have long rows where guards had made them short.

    Complexity: linear in the number of instructions.
    """
    users = Counter(name for stage in program.stages for name in _used(stage))
    buffers = {buffer.name: buffer for buffer in program.buffers}
    stages: list[Stage] = []
    for stage in program.stages:
        found = None
        if _may_collapse(stage):
            found = next((each for pair in _pairs(stage) if (each := _collapsed(stage, *pair, buffers, users))), None)
        if found is not None:
            stage, changed = found
            buffers.update((buffer.name, buffer) for buffer in changed)
        stages.append(stage)
    return replace(program, buffers=tuple(buffers.values()), stages=tuple(stages))


def _used(stage: Stage) -> set[str]:
    scattered = () if stage.scatter is None else (stage.scatter.places,)
    return {stage.buffer, *scattered, *(read.buffer for read in reads_of(stage))}


def _may_collapse(stage: Stage) -> bool:
    return stage.reduction is None and stage.scatter is None and not stage.finish


def _pairs(stage: Stage) -> Iterator[tuple[int, int]]:
    """Axes that guards ask for, each with the one along which results lie side by side."""
    guards = [guard for each in stage.body if isinstance(each, Read | Inside) for guard in each.guards]
    guarded = {axis for guard in guards for axis in axes_of(guard.index) if isinstance(stage.axes[axis].size, int)}
    for inner, axis in enumerate(stage.axes):
        if stage.stored[-1:] == (loop(inner),) and isinstance(axis.size, int) and axis.size > 1:
            yield from ((outer, inner) for outer in sorted(guarded))


class _MisfitError(Exception):
    """A condition does not hold."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two axes of a stage that may become one."""

    outer: int
    inner: int
    size: int
    """Of the inner axis."""

    def whole(self, index: Index) -> Index:
        """An index, or the number of a guard, of elements instead of rows of them (1, 2)."""
        rest = index - loop(self.outer)
        if self.touches(rest):
            raise _MisfitError
        return rest * self.size + loop(self.inner)

    def touches(self, index: Index | Value) -> bool:
        """Whether an index asks for one of the axes."""
        return isinstance(index, Index) and not axes_of(index).isdisjoint((self.outer, self.inner))

    def place(self, indices: Sequence[Index | Value], buffer: Buffer) -> int | None:
        """The axis of a buffer that the outer axis runs through, with the inner one behind it (1); `None` if neither.

        Raises:
            _MisfitError: They run through it otherwise.
        """
        touched = [place for place, index in enumerate(indices) if self.touches(index)]
        if not touched:
            return None
        first = touched[0]
        is_pair = touched == [first, first + 1] and indices[first + 1] == loop(self.inner)
        if not is_pair or buffer.shape[first + 1] != self.size or not all(isinstance(n, int) for n in buffer.shape):
            raise _MisfitError
        return first


def _collapsed(
    stage: Stage, outer: int, inner: int, buffers: Mapping[str, Buffer], users: Mapping[str, int]
) -> tuple[Stage, list[Buffer]] | None:
    """The stage over one axis less, and its buffers that have one less, too; `None` if a condition does not hold."""
    size, count = stage.axes[inner].size, stage.axes[outer].size
    assert isinstance(size, int)
    assert isinstance(count, int)
    pair = _Pair(outer, inner, size)
    accesses = [(read.buffer, read.indices) for read in reads_of(stage)] + [(stage.buffer, stage.stored)]
    try:
        places = {(name, pair.place(indices, buffers[name])) for name, indices in accesses}
        place_of = dict(places)
        is_own = all(users[name] == 1 for name, place in places if place is not None)
        if not is_own or len(place_of) < len(places):
            return None
        store = _indices(stage.stored, pair, place_of[stage.buffer])
        changed = replace(
            stage,
            body=tuple(_instruction(each, pair, place_of) for each in stage.body),
            store=tuple(index for index in store if isinstance(index, Index)),
        )
    except _MisfitError:
        return None
    axes = [axis for place, axis in enumerate(stage.axes) if place != outer]
    axes[inner - (inner > outer)] = Axis(size * count)
    values = [loop(axis - (axis > outer)) for axis in range(len(stage.axes))]
    return with_axes(changed, axes, values), [_buffer(buffers[name], place) for name, place in place_of.items()]


def _instruction(instruction: Instruction, pair: _Pair, place_of: Mapping[str, int | None]) -> Instruction:
    match instruction:
        case Read(buffer, indices, _, guards):
            return replace(instruction, indices=_indices(indices, pair, place_of[buffer]), guards=_guards(guards, pair))
        case Inside(guards):
            return Inside(_guards(guards, pair))
        case Position(index) if pair.touches(index):
            raise _MisfitError
        case _:
            return instruction


def _guards(guards: Sequence[Guard], pair: _Pair) -> tuple[Guard, ...]:
    found: list[Guard] = []
    for guard in guards:
        if pair.touches(guard.index):
            if not isinstance(guard.size, int):
                raise _MisfitError
            guard = Guard(pair.whole(guard.index), guard.size * pair.size)
        found.append(guard)
    return tuple(found)


def _indices(indices: Sequence[Index | Value], pair: _Pair, place: int | None) -> tuple[Index | Value, ...]:
    if place is None:
        return tuple(indices)
    first = indices[place]
    assert isinstance(first, Index)
    return (*indices[:place], pair.whole(first), *indices[place + 2 :])


def _buffer(buffer: Buffer, place: int | None) -> Buffer:
    if place is None:
        return buffer
    rows, size = buffer.shape[place : place + 2]
    assert isinstance(rows, int)
    assert isinstance(size, int)
    return replace(buffer, shape=(*buffer.shape[:place], rows * size, *buffer.shape[place + 2 :]))
