"""Where the local buffers of a schedule live: in registers, in a workspace, or in the memory of a result.

1. A buffer whose readers are all in the nest of its writer, or that has one value in a row, needs no memory.
2. A buffer lies in the memory of a result that a later map of the phase writes where it reads the buffer, when nobody
   reads it after: the result is there anyhow. Both last until that map, so a result has room for one buffer.
3. Of a buffer that is written and read within each row of one phase, the workspace has one row.
4. Buffers in the workspace begin with lines of their own, in the order of the program; a fault is one element.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from fuse_dialect.counts import product
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.grouping import is_whole, parallel_sizes, reads_of
from fuse_dialect.loops.program import Buffer, LoopProgram, Read, Refusal, Role, Stage
from fuse_dialect.loops.schedule import Nest, Phase, Schedule

ALIGNMENT = 64
"""Of the workspace, and of every buffer in it."""


@dataclass(frozen=True, slots=True)
class LocalPlaces:
    """Where local buffers live."""

    sizes: dict[str, int]
    """Elements in memory; buffers whose elements stay in registers are missing."""
    of_a_row: frozenset[str]
    """Buffers of which only one row is in memory."""
    shared: dict[str, str]
    """Buffers that lie in the memory of a result, which is written when they are read for the last time."""
    offsets: dict[str, int]
    """Where buffers with memory of their own lie in the workspace, in bytes; each begins with a line."""
    bytes: int
    """Of all of them."""


def place_locals(plan: Schedule) -> LocalPlaces | Refusal:
    """Places for all local buffers, or why there are none: a workspace is reserved before sizes are known."""
    buffers = {buffer.name: buffer for buffer in plan.program.buffers}
    sizes: dict[str, int] = {}
    of_a_row: set[str] = set()
    shared: dict[str, str] = {}
    for phase in plan.phases:
        for nest in phase.nests:
            for stage in nest.stages:
                if buffers[stage.buffer].role is not Role.LOCAL:
                    continue
                if _stays_in_registers(plan, phase, nest, stage):
                    continue
                result = _result_in_its_place(plan, phase, stage, shared.values())
                if result is not None:
                    shared[stage.buffer] = result
                    continue
                shape = buffers[stage.buffer].shape
                if _stays_in_phase(plan, phase, stage, buffers[stage.buffer]):
                    of_a_row.add(stage.buffer)
                    rows = phase.row_axes
                    shape = tuple(size for axis, size in enumerate(parallel_sizes(stage)) if axis not in rows)
                elements = product(shape).number
                if elements is None:
                    return Refusal(f"the size of an array between the loops of '{plan.program.name}' is not known")
                sizes[stage.buffer] = elements
    return LocalPlaces(sizes, frozenset(of_a_row), shared, *_in_workspace(plan.program, sizes))


def with_scratch(program: LoopProgram) -> tuple[LoopProgram, int] | None:
    """The program with local buffers of open sizes as results, the last ones, and how many; `None` if it has none.

    Who calls it has memory for them, once sizes are known, as for any result.
    """
    open = [each for each in program.buffers if each.role is Role.LOCAL and product(each.shape).number is None]
    if not open:
        return None
    others = [each for each in program.buffers if each not in open]
    return replace(program, buffers=(*others, *(replace(each, role=Role.RESULT) for each in open))), len(open)


def _in_workspace(program: LoopProgram, sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Offset of each local buffer, and the bytes of all of them."""
    offsets: dict[str, int] = {}
    end = 0
    for buffer in program.buffers:
        elements = 1 if buffer.role is Role.FAULT else sizes.get(buffer.name)
        if elements is not None:
            offsets[buffer.name] = end
            # (4) Whole lines, so that buffers of one part share none.
            end += -(-elements * element_bytes(buffer.element) // ALIGNMENT) * ALIGNMENT
    return offsets, end


def _result_in_its_place(plan: Schedule, phase: Phase, stage: Stage, taken: Collection[str]) -> str | None:
    """A result of the same shape, not taken, that a later map writes where it reads the buffer for the last time."""
    buffers = {buffer.name: buffer for buffer in plan.program.buffers}
    own = buffers[stage.buffer]
    nests = [list(nest.stages) for nest in phase.nests]
    readers = [number for number, nest in enumerate(nests) if any(_reads(member, own.name) for member in nest)]
    if not readers or not (_stays_in_phase(plan, phase, stage, own)):
        return None
    last = nests[readers[-1]]
    # An element may be overwritten when just that element has been read for the last time.
    if any(read.guards or tuple(read.indices) != stage.store for member in last for read in _reads(member, own.name)):
        return None
    for member in last:
        result = buffers[member.buffer]
        fits = result.role is Role.RESULT and (result.shape, result.element) == (own.shape, own.element)
        is_same = member.reduction is None and member.store == stage.store and is_whole(member, result.shape)
        # (2) another buffer that lies there lives until the result is written, as this one does
        if fits and is_same and result.name not in taken:
            return result.name
    return None


def _reads(stage: Stage, buffer: str) -> list[Read]:
    return [read for read in reads_of(stage) if read.buffer == buffer]


def _stays_in_registers(plan: Schedule, phase: Phase, nest: Nest, stage: Stage) -> bool:
    """Whether all readers are in the nest, or get the row's one value."""
    around = nest.loops if stage.reduction is None else nest.loops[: nest.reduced]
    has_one_value = not around and _stays_in_phase(plan, phase, stage, _buffer_of(plan, stage))
    inside = {id(member) for member in nest.stages}
    for other_phase in plan.phases:
        for other in other_phase.nests:
            for member in other.stages:
                reads = _reads(member, stage.buffer)
                # A guard would have to choose between the value and its fill, which reads of memory do.
                if has_one_value and all(not read.guards for read in reads):
                    continue
                if reads and id(member) not in inside:
                    return False
    return True


def _buffer_of(plan: Schedule, stage: Stage) -> Buffer:
    return next(buffer for buffer in plan.program.buffers if buffer.name == stage.buffer)


def _stays_in_phase(plan: Schedule, phase: Phase, stage: Stage, buffer: Buffer) -> bool:
    """Whether the buffer is written and read within each row of one phase."""
    outside = [member for other in plan.phases if other is not phase for nest in other.nests for member in nest.stages]
    return is_whole(stage, buffer.shape) and not any(_reads(member, stage.buffer) for member in outside)
