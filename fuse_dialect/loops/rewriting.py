"""Small changes of programs, stages and bodies, each of which keeps the meaning."""

from collections.abc import Mapping
from dataclasses import replace

from fuse_dialect.counts import Size
from fuse_dialect.loops.indices import Guard
from fuse_dialect.loops.program import Axis, Body, Extent, Inside, Instruction, Literal, LoopProgram, Read, Stage
from fuse_dialect.loops.sizes import Sizes


def renamed(stage: Stage, buffers: Mapping[str, str]) -> Stage:
    """The stage with other names of its buffers."""

    def rename(body: Body) -> Body:
        return tuple(
            replace(inner, buffer=buffers.get(inner.buffer, inner.buffer)) if isinstance(inner, Read) else inner
            for inner in body
        )

    target = stage.scatter
    if target is not None:
        target = replace(target, places=buffers.get(target.places, target.places))
    return replace(
        stage,
        buffer=buffers.get(stage.buffer, stage.buffer),
        body=rename(stage.body),
        finish=rename(stage.finish),
        scatter=target,
    )


def with_sizes(program: LoopProgram, sizes: Sizes) -> LoopProgram:
    """The program with the number, or the one name, that stands for each size."""

    def guards(old: tuple[Guard, ...]) -> tuple[Guard, ...]:
        return tuple(Guard(guard.index, sizes.resolve(guard.size)) for guard in old)

    def instruction(inner: Instruction) -> Instruction:
        match inner:
            # Indices name axes, not sizes: only guards and extents can change.
            case Read() if inner.guards:
                return replace(inner, guards=guards(inner.guards))
            case Inside():
                return Inside(guards(inner.guards))
            case Extent():
                return _extent(sizes.resolve(inner.size), inner.element)
            case _:
                return inner

    stages = tuple(
        replace(
            stage,
            axes=tuple(Axis(sizes.resolve(axis.size), axis.is_reduced) for axis in stage.axes),
            body=tuple(map(instruction, stage.body)),
            finish=tuple(map(instruction, stage.finish)),
        )
        for stage in program.stages
    )
    buffers = tuple(
        replace(buffer, shape=tuple(sizes.resolve(size) for size in buffer.shape)) for buffer in program.buffers
    )
    return LoopProgram(program.name, buffers, stages)


def _extent(size: Size, element: str) -> Extent | Literal:
    if isinstance(size, str):
        return Extent(size, element)
    return Literal(float(size) if element in ("f16", "bf16", "f32", "f64") else size, element)
