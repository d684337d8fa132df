"""A scheduled program as code: phases one after the other, each row by row.

Parts share the rows of each phase, or the vector loop if there is one row; a program whose phases need each other's
results runs in part 0.
"""

from collections.abc import Sequence

from fuse_dialect.backends.llvm.builder import Function
from fuse_dialect.backends.llvm.family import NoNativeFormError, Request, Written
from fuse_dialect.backends.llvm.kernel import Frame, write_kernel
from fuse_dialect.backends.llvm.nest_code import Row
from fuse_dialect.backends.llvm.nests import write_nest
from fuse_dialect.backends.llvm.sorting import scratch_bytes, write_order
from fuse_dialect.backends.llvm.values import Value
from fuse_dialect.checked import checks_plans
from fuse_dialect.kernels.grouping import is_order
from fuse_dialect.kernels.local_places import LocalPlaces, place_locals
from fuse_dialect.kernels.program import Refusal
from fuse_dialect.kernels.schedule import LoopAxis, Nest, Phase, Schedule


def write_schedule(request: Request, plan: Schedule) -> Written:
    """Write a kernel that runs as scheduled.

    Raises:
        NoNativeFormError: Something in the program has no native code.
    """
    places = place_locals(plan)
    if isinstance(places, Refusal):
        raise NoNativeFormError(places.reason)
    if checks_plans():
        from fuse_dialect.backends.checking.kernel_memory import check_kernel_memory

        check_kernel_memory(plan, places)

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


def _write_phase(frame: Frame, phase: Phase, places: LocalPlaces, *, shared: bool) -> None:
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
    frame: Frame, phase: Phase, places: LocalPlaces, start: Value, stop: Value, bounds: tuple[Value, Value] | None
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
    frame: Frame, phase: Phase, places: LocalPlaces, env: dict[int, Value], bounds: tuple[Value, Value] | None
) -> None:
    row = Row(frame, env, phase.row_axes, places.of_a_row, {}, bounds)
    for nest in phase.nests:
        (write_order if is_order(nest.stages[0]) else write_nest)(nest, row)
