"""The same stage over another iteration space: axes of one element dropped, axes split or merged. Pure functions.

A stage says the same whatever axes its points are numbered by; a schedule chooses those by which reads become plain.
"""

from collections.abc import Sequence
from dataclasses import replace

from fuse_dialect.loops.bodies import body_over, indices_of
from fuse_dialect.loops.indices import Index, Loop, Quotient, Remainder, loop, number, substituted
from fuse_dialect.loops.program import Axis, Stage


def with_axes(stage: Stage, axes: Sequence[Axis], values: Sequence[Index]) -> Stage:
    """The stage over other axes.

    Args:
        stage: The stage.
        axes: The new axes, parallel ones first.
        values: For each old axis its value by the new axes; all points of the old axes must be reached once.
    """
    sizes = [axis.size for axis in axes]
    target = stage.scatter
    if target is not None:
        target = replace(target, indices=tuple(substituted(index, values, sizes) for index in target.indices))
    return replace(
        stage,
        axes=tuple(axes),
        body=body_over(stage.body, values, sizes),
        finish=body_over(stage.finish, values, sizes),
        store=tuple(substituted(index, values, sizes) for index in stage.stored),
        scatter=target,
    )


def without_single_points(stage: Stage) -> Stage:
    """The stage without its axes of one element, but for the one along which a scan runs."""
    kept = [axis for axis, each in enumerate(stage.axes) if each.size != 1 or (each.is_reduced and stage.is_scan)]
    # An axis of one element is 0 at its only point, wherever it stands.
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
        # The size is a multiple of `by`, so every point of the axis is one point of the pair: no guard is needed.
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
    # The pair counts as `outer * size + inner`, so both come back as quotient and remainder.
    whole = loop(inner - (inner > outer))
    values[outer], values[inner] = whole // size, whole % size
    return with_axes(stage, axes, values)


def _division(stage: Stage) -> tuple[int, int] | None:
    """An axis and a divisor of its size, by which some index divides the axis."""
    pending = [*indices_of(stage.body), *indices_of(stage.finish), *stage.store]
    # Only a loop variable by itself is split: parts of a divided sum would carry into each other.
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
