"""Stages that run at no point read nothing. Pure data.

An index along an axis without points may be anything, so it is simplified to a constant. A read that no loop moves is
written before the loops, where it would be one of an array that may have no element.
"""

from dataclasses import replace

from fuse_dialect.loops.grouping import reads_of
from fuse_dialect.loops.program import Body, Literal, LoopProgram, Read, Role, Stage


def without_empty_reads(program: LoopProgram) -> LoopProgram:
    """The program whose stages read nothing in loops that have no iteration, without those that nobody needs then.

    Complexity: linear in the number of instructions.
    """
    if all(axis.size != 0 for stage in program.stages for axis in stage.axes):
        return program
    needed = {buffer.name for buffer in program.buffers if buffer.role is not Role.LOCAL}
    stages: list[Stage] = []
    for stage in reversed([_without_empty_reads(stage) for stage in program.stages]):
        if stage.buffer in needed:
            stages.append(stage)
            needed.update(read.buffer for read in reads_of(stage))
    return replace(program, stages=tuple(reversed(stages)))


def _without_empty_reads(stage: Stage) -> Stage:
    if all(axis.size != 0 for axis in stage.axes):
        return stage
    # What is finished is finished once for each point of the parallel axes, also where nothing was combined.
    is_nowhere = any(axis.size == 0 for axis in stage.axes if not axis.is_reduced)
    finish = _read_nothing(stage.finish) if is_nowhere else stage.finish
    return replace(stage, body=_read_nothing(stage.body), finish=finish)


def _read_nothing(body: Body) -> Body:
    """The body with any numbers in the place of what it would read."""
    return tuple(Literal(0, inner.element) if isinstance(inner, Read) else inner for inner in body)
