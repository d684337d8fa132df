"""A scheduled program as code: phases one after the other, each row by row; and which buffers need memory.

Parts share the rows of each phase, or the vector loop if there is one row; a program whose phases need each other's
results runs in part 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.backends.llvm.builder import Function
from fuse_dialect.backends.llvm.family import NoNativeFormError, Request, Written
from fuse_dialect.backends.llvm.kernel import Frame, write_kernel
from fuse_dialect.backends.llvm.nest_code import Row
from fuse_dialect.backends.llvm.nests import write_nest
from fuse_dialect.backends.llvm.sorting import scratch_bytes, write_order
from fuse_dialect.backends.llvm.values import Value
from fuse_dialect.counts import product
from fuse_dialect.kernels.grouping import is_order, is_whole, parallel_sizes, reads_of
from fuse_dialect.kernels.program import Buffer, Read, Role, Stage
from fuse_dialect.kernels.schedule import LoopAxis, Nest, Phase, Schedule


@dataclass(frozen=True, slots=True)
class _Locals:
    """Where local buffers live."""

    sizes: dict[str, int]
    """Elements in memory; buffers whose elements stay in registers are missing."""
    of_a_row: frozenset[str]
    """Buffers of which only one row is in memory."""
    shared: dict[str, str]
    """Buffers that lie in the memory of a result, which is written when they are read for the last time."""


def write_schedule(request: Request, plan: Schedule) -> Written:
    """Write a kernel that runs as scheduled.

    Raises:
        NoNativeFormError: Something in the program has no native code.
    """
    places = _place_locals(plan)

    def write(frame: Frame) -> bool:
        if plan.is_parallel:
            for phase in plan.phases:
                _write_phase(frame, phase, places, shared=True)
            return any(_can_split(phase) for phase in plan.phases if not phase.is_everyones)
        with frame.f.when(frame.in_first_part()):
            for phase in plan.phases:
                _write_phase(frame, phase, places, shared=False)
        return False

    orders = [nest for phase in plan.phases for nest in phase.nests if is_order(nest.stages[0])]
    room = max((scratch_bytes(nest) for nest in orders), default=0)
    return write_kernel(request, places.sizes, write, places.shared, room)


def _can_split(phase: Phase) -> bool:
    """Whether parts may share a phase."""
    return phase.splits_rows or _vector_split(phase) is not None


def _vector_split(phase: Phase) -> Nest | None:
    """The nest whose vector loop parts share."""
    # Nests of one row need each other's elements, and threads do not wait for each other in a row.
    if phase.splits_rows or len(phase.nests) != 1:
        return None
    nest = phase.nests[0]
    return nest if nest.vector == 0 and nest.reduced >= 1 else None


def _write_phase(frame: Frame, phase: Phase, places: _Locals, *, shared: bool) -> None:
    f = frame.f
    total = _row_count(frame, phase.rows)
    if not shared or phase.is_everyones:
        _write_rows(frame, phase, places, f.i64(0), total, None)
    elif phase.splits_rows:
        _write_rows(frame, phase, places, *frame.share(total), None)
    elif (nest := _vector_split(phase)) is not None:
        # Parts begin at multiples of a line's elements, whatever their type, so that no two write to one line.
        bounds = frame.share(frame.count(nest.loops[0].size), frame.machine.line_bytes)
        _write_rows(frame, phase, places, f.i64(0), total, bounds)
    else:
        with f.when(frame.in_first_part()):
            _write_rows(frame, phase, places, f.i64(0), total, None)


def _row_count(frame: Frame, rows: Sequence[LoopAxis]) -> Value:
    f = frame.f
    total = f.i64(1)
    for loop in rows:
        total = f.multiply(total, _steps(frame, loop))
    return total


def _steps(frame: Frame, loop: LoopAxis) -> Value:
    f = frame.f
    size = frame.count(loop.size)
    return f.quotient(f.add(size, f.i64(loop.block - 1)), loop.block) if loop.block else size


def _write_rows(
    frame: Frame, phase: Phase, places: _Locals, start: Value, stop: Value, bounds: tuple[Value, Value] | None
) -> None:
    if not phase.rows:
        _write_row(frame, phase, places, {}, bounds)
        return
    with frame.f.loop(start, stop, hints=["unroll.disable"]) as loop:
        _write_row(frame, phase, places, _row_env(frame, phase.rows, loop.index), bounds)


def _row_env(frame: Frame, rows: Sequence[LoopAxis], row: Value) -> dict[int, Value]:
    """Values of the row's axes, from its number."""
    f: Function = frame.f
    env: dict[int, Value] = {}
    # The last axis counts fastest, as elements lie in memory.
    for position, loop in reversed(list(enumerate(rows))):
        value = row
        if position:
            size = _steps(frame, loop)
            quotient = f.binary("udiv", row, size)
            value = f.subtract(row, f.multiply(quotient, size))
            row = quotient
        # Merged axes: the last one counts the elements of all, so that the others stand still.
        env |= {axis: f.i64(0) for axis in loop.axes[:-1]}
        env[loop.axes[-1]] = f.multiply(value, f.i64(loop.block or 1))
    return env


def _write_row(
    frame: Frame, phase: Phase, places: _Locals, env: dict[int, Value], bounds: tuple[Value, Value] | None
) -> None:
    row = Row(frame, env, phase.row_axes, places.of_a_row, {}, bounds)
    for nest in phase.nests:
        (write_order if is_order(nest.stages[0]) else write_nest)(nest, row)


def _place_locals(plan: Schedule) -> _Locals:
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
                # A result is there anyhow; what is overwritten by it need not have memory of its own.
                result = _result_in_its_place(plan, phase, stage)
                if result is not None:
                    shared[stage.buffer] = result
                    continue
                shape = buffers[stage.buffer].shape
                if _stays_in_phase(plan, phase, stage, buffers[stage.buffer]):
                    of_a_row.add(stage.buffer)
                    rows = phase.row_axes
                    shape = tuple(size for axis, size in enumerate(parallel_sizes(stage)) if axis not in rows)
                # The workspace is reserved before the first call, when sizes that have names are not known.
                elements = product(shape).number
                if elements is None:
                    raise NoNativeFormError(
                        f"the size of an array between the loops of '{plan.program.name}' is not known"
                    )
                sizes[stage.buffer] = elements
    return _Locals(sizes, frozenset(of_a_row), shared)


def _result_in_its_place(plan: Schedule, phase: Phase, stage: Stage) -> str | None:
    """A result of the same shape that a later map writes where it reads the buffer, and nobody reads it after."""
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
    earlier = {member.buffer for nest in nests[: readers[-1]] for member in nest}
    for member in last:
        result = buffers[member.buffer]
        fits = result.role is Role.RESULT and (result.shape, result.element) == (own.shape, own.element)
        is_free = not any(_reads(other, result.name) for nest in nests for other in nest) and result.name not in earlier
        is_same = member.reduction is None and member.store == stage.store and is_whole(member, result.shape)
        if fits and is_free and is_same:
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
