"""Stages without axes of size 1, and with explicit stores: the form that schedules are made for."""

from collections.abc import Sequence
from dataclasses import replace

from fuse_dialect.counts import Size
from fuse_dialect.kernels.indices import Guard, Index, loop, number, substituted
from fuse_dialect.kernels.program import Body, Inside, Instruction, Position, Read, Stage, Value


def squeezed(stage: Stage) -> Stage:
    """The same stage without the axes that have size 1, and with its store written out."""
    kept = [axis for axis in stage.axes if axis.size != 1]
    sizes = [axis.size for axis in kept]
    values: list[Index] = []
    for axis in stage.axes:
        values.append(number(0) if axis.size == 1 else loop(sum(value != number(0) for value in values)))
    parallel = [position for position, axis in enumerate(stage.axes) if not axis.is_reduced]
    store = stage.store or tuple(loop(position) for position in parallel)
    return replace(
        stage,
        axes=tuple(kept),
        body=_rewritten(stage.body, values, sizes),
        finish=_rewritten(stage.finish, values, sizes),
        store=tuple(substituted(index, values, sizes) for index in store),
    )


def _rewritten(body: Body, values: Sequence[Index], sizes: Sequence[Size]) -> Body:
    def index(old: Index) -> Index:
        return substituted(old, values, sizes)

    def guards(old: tuple[Guard, ...]) -> tuple[Guard, ...]:
        return tuple(Guard(index(guard.index), guard.size) for guard in old)

    def instruction(inner: Instruction) -> Instruction:
        match inner:
            case Read():
                indices = tuple(old if isinstance(old, Value) else index(old) for old in inner.indices)
                return replace(inner, indices=indices, guards=guards(inner.guards))
            case Position():
                return replace(inner, index=index(inner.index))
            case Inside():
                return Inside(guards(inner.guards))
            case _:
                return inner

    return tuple(map(instruction, body))
