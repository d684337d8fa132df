"""The same stage over other axes: axes of one element dropped, split, or merged. Pure functions.

A stage says the same whatever axes its points are numbered by; a schedule chooses those by which reads become plain.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fuse_dialect.kernels.indices import Guard, Index, Loop, Quotient, Remainder, loop, number, substituted
from fuse_dialect.kernels.program import Axis, Body, Inside, Instruction, Position, Read, Stage


def with_axes(stage: Stage, axes: Sequence[Axis], values: Sequence[Index]) -> Stage:
    """The stage over other axes.

    Args:
        stage: The stage.
        axes: The new axes, parallel ones first.
        values: For each old axis its value by the new axes; all points of the old axes must be reached once.
    """
    sizes = [axis.size for axis in axes]

    def changed(index: Index) -> Index:
        return substituted(index, values, sizes)

    parallel = sum(not axis.is_reduced for axis in stage.axes)
    store = stage.store or tuple(loop(axis) for axis in range(parallel))
    return replace(
        stage,
        axes=tuple(axes),
        body=tuple(with_indices(instruction, changed) for instruction in stage.body),
        finish=tuple(with_indices(instruction, changed) for instruction in stage.finish),
        store=tuple(map(changed, store)),
    )


def without_single_points(stage: Stage) -> Stage:
    """The stage without its axes of one element."""
    kept = [axis for axis, each in enumerate(stage.axes) if each.size != 1]
    places = {axis: place for place, axis in enumerate(kept)}
    values = [loop(places[axis]) if axis in places else number(0) for axis in range(len(stage.axes))]
    return with_axes(stage, [stage.axes[axis] for axis in kept], values)


def split_axes(stage: Stage) -> Stage:
    """The stage with an axis `a` as `by * outer + inner` for each `a // by` and `a % by` in an index.

    Grouped convolutions and the heads of attention come out as plain reads.
    """
    while (found := _division(stage)) is not None:
        axis, by = found
        size = stage.axes[axis].size
        assert isinstance(size, int)
        outer, inner = replace(stage.axes[axis], size=size // by), replace(stage.axes[axis], size=by)
        axes = [*stage.axes[:axis], outer, inner, *stage.axes[axis + 1 :]]
        values = [loop(old + (old > axis)) for old in range(len(stage.axes))]
        values[axis] = loop(axis) * by + loop(axis + 1)
        stage = with_axes(stage, axes, values)
    return stage


def merged_axes(stage: Stage, outer: int, inner: int) -> Stage:
    """The stage with one axis, at the place of `inner`, for all points of two axes; the size of `inner` is known."""
    size, count = stage.axes[inner].size, stage.axes[outer].size
    assert isinstance(size, int)
    assert isinstance(count, int)
    axes = list(stage.axes)
    axes[inner] = replace(axes[inner], size=size * count)
    del axes[outer]
    values = [loop(axis - (axis > outer)) for axis in range(len(stage.axes))]
    whole = loop(inner - (inner > outer))
    values[outer], values[inner] = whole // size, whole % size
    return with_axes(stage, axes, values)


def indices_of(body: Body) -> list[Index]:
    """All indices in a body."""
    found: list[Index] = []
    for instruction in body:
        match instruction:
            case Read(_, indices, _, guards):
                found += [index for index in indices if isinstance(index, Index)]
                found += [guard.index for guard in guards]
            case Position(index):
                found.append(index)
            case Inside(guards):
                found += [guard.index for guard in guards]
            case _:
                pass
    return found


def _division(stage: Stage) -> tuple[int, int] | None:
    """An axis and a divisor of its size, by which some index divides the axis."""
    pending = [*indices_of(stage.body), *indices_of(stage.finish), *stage.store]
    while pending:
        for atom, _ in pending.pop().terms:
            if isinstance(atom, Quotient | Remainder):
                match atom.of:
                    case Index(((Loop(axis), 1),), 0):
                        size = stage.axes[axis].size
                        if isinstance(size, int) and size % atom.by == 0 and size > atom.by:
                            return axis, atom.by
                    case _:
                        pending.append(atom.of)
    return None


def with_indices(instruction: Instruction, changed: Callable[[Index], Index]) -> Instruction:
    """The instruction with changed indices, those of its guards too."""
    match instruction:
        case Read(_, indices, _, guards):
            moved = tuple(changed(index) if isinstance(index, Index) else index for index in indices)
            return replace(instruction, indices=moved, guards=_changed_guards(guards, changed))
        case Position(index):
            return replace(instruction, index=changed(index))
        case Inside(guards):
            return replace(instruction, guards=_changed_guards(guards, changed))
        case _:
            return instruction


def _changed_guards(guards: tuple[Guard, ...], changed: Callable[[Index], Index]) -> tuple[Guard, ...]:
    return tuple(Guard(changed(guard.index), guard.size) for guard in guards)
