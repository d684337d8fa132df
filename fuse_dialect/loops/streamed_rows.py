"""Rows of results that go past the caches are written once: what lay in them before is computed again. Pure data.

A softmax stores the exponentials of a row where the result will be, adds them up, and divides them. Where results are
so large that they are stored past the caches, exponentials go to memory, too: each line is written twice. Those that
are computed in both stages are written nowhere.

1. The stage is a map of f32 into a local buffer, of a few functions.
2. Two stages read it, each point by point: a reduction, and after it a map. So it is computed twice, and no more.
3. The map's result is as large as the last cache, and the machine stores past it. Where results stay in the caches, to
   read exponentials takes less time than to compute them again, however long the rows are.

The numbers are the same ones. Source: M. Dukhan, A. Ablavatski, Two-pass softmax algorithm (arXiv:2001.04438), whose
"three-pass algorithm with recomputing" this is.
"""

from dataclasses import replace

from fuse_dialect.loops.bodies import with_maps
from fuse_dialect.loops.grouping import reads_of
from fuse_dialect.loops.nest_forms import takes
from fuse_dialect.loops.program import Apply, LoopProgram, Role, Stage
from fuse_dialect.machines.machine import Machine, Unit

_MOST_FUNCTIONS = 4
"""Of a body that is computed twice: an exponential of a difference, and a scale or a mask."""


def with_streamed_rows_computed_again(program: LoopProgram, machine: Machine) -> LoopProgram:
    """The program without a local buffer whose place would be in such results (1 to 3)."""
    if Unit.STREAMS not in machine.units:
        return program
    for stage in program.stages:
        readers = [each for each in program.stages if any(read.buffer == stage.buffer for read in reads_of(each))]
        if len(readers) != 2 or not _is_small_map(program, stage):
            continue
        total, result = readers
        if total.reduction is None or total.is_ordered or result.reduction is not None or result.is_ordered:
            continue
        buffer = next(buffer for buffer in program.buffers if buffer.name == result.buffer)
        if buffer.role is not Role.RESULT or not takes(buffer, machine.last_cache.bytes):
            continue
        summed, mapped = (with_maps(reader, {stage.buffer: stage}) for reader in readers)
        if summed is not None and mapped is not None:
            bodies = {id(total): summed, id(result): mapped}
            stages = [replace(each, body=bodies.get(id(each), each.body)) for each in program.stages]
            return replace(
                program,
                buffers=tuple(each for each in program.buffers if each.name != stage.buffer),
                stages=tuple(each for each in stages if each.buffer != stage.buffer),
            )
    return program


def _is_small_map(program: LoopProgram, stage: Stage) -> bool:
    """Whether a stage is all of a local buffer that may be computed twice (1)."""
    buffer = next(buffer for buffer in program.buffers if buffer.name == stage.buffer)
    is_map = stage.reduction is None and not stage.is_ordered and buffer.role is Role.LOCAL
    is_whole = sum(other.buffer == stage.buffer for other in program.stages) == 1
    functions = sum(isinstance(each, Apply) for each in stage.body)
    return is_map and is_whole and buffer.element == "f32" and functions <= _MOST_FUNCTIONS
