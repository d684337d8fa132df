"""A scheduled program as code: phases one after the other, each row by row.

Parts share the rows of each phase, or the vector loop if there is one row; a program whose phases need each other's
results runs in part 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.intervals import IntervalOf
from fuse_dialect.backends.llvm.kernel import Frame, write_kernel
from fuse_dialect.backends.llvm.nest_code import Row
from fuse_dialect.backends.llvm.nests import write_nest
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.grouping import is_order
from fuse_dialect.loops.local_places import LocalPlaces
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.nest_forms import NestForm
from fuse_dialect.loops.schedule import LoopAxis, Phase


def write_loops(request: Request, loops: LoopNests) -> None:
    """Write a kernel of loops that runs as scheduled."""
    plan, places = loops.schedule, loops.places

    def write(frame: Frame) -> None:
        if plan.is_parallel:
            for phase, forms in zip(plan.phases, loops.forms, strict=True):
                _write_phase(frame, _PlacedPhase(phase, forms, places), shared=True)
            return
        with frame.f.when(frame.in_first_part()):
            for phase, forms in zip(plan.phases, loops.forms, strict=True):
                _write_phase(frame, _PlacedPhase(phase, forms, places), shared=False)

    write_kernel(request, places, loops.scratch_bytes, write)


def write_loops_of_rows(request: Request, loops: LoopNests, axis: int | None, interval: IntervalOf) -> None:
    """Write loops of one phase for some of its rows: the function gets the first one, and the one behind the last.

    Args:
        request: What is wanted.
        loops: The loops.
        axis: The column axis, if these rows need not all its points.
        interval: Which ones they need, the first and the one behind the last.
    """
    (phase,), (forms,) = loops.schedule.phases, loops.forms

    def write(frame: Frame) -> None:
        limits = {} if axis is None else {axis: interval(frame)}
        _write_rows(frame, _PlacedPhase(phase, forms, loops.places, limits), frame.part, frame.parts, None)

    write_kernel(request, loops.places, loops.scratch_bytes, write)


@dataclass(frozen=True, slots=True)
class _PlacedPhase:
    """A phase, with what is decided about it."""

    phase: Phase
    forms: tuple[NestForm, ...]
    """Of its nests."""
    places: LocalPlaces
    limits: Mapping[int, tuple[Value, Value]] = field(default_factory=dict[int, tuple[Value, Value]])
    """Intervals of axes of which not all points are needed."""


def _write_phase(frame: Frame, placed: _PlacedPhase, *, shared: bool) -> None:
    f, phase = frame.f, placed.phase
    total = _row_count(frame, phase.rows)
    if not shared or phase.is_everyones:
        _write_rows(frame, placed, f.i64(0), total, None)
    elif phase.splits_rows:
        _write_rows(frame, placed, *frame.share(total), None)
    elif (nest := phase.vector_split) is not None:
        # Parts begin at multiples of a line's elements, whatever their type, so that no two write to one line.
        bounds = frame.share(frame.count(nest.loops[0].size), frame.machine.line_bytes)
        _write_rows(frame, placed, f.i64(0), total, bounds)
    else:
        with f.when(frame.in_first_part()):
            _write_rows(frame, placed, f.i64(0), total, None)


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
    frame: Frame, placed: _PlacedPhase, start: Value, stop: Value, bounds: tuple[Value, Value] | None
) -> None:
    if not placed.phase.rows:
        _write_row(frame, placed, {}, bounds)
        return
    with frame.f.loop(start, stop, hints=["unroll.disable"]) as loop:
        _write_row(frame, placed, _row_env(frame, placed.phase.rows, loop.index), bounds)


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


def _write_row(frame: Frame, placed: _PlacedPhase, env: dict[int, Value], bounds: tuple[Value, Value] | None) -> None:
    row = Row(frame, env, placed.phase.row_axes, placed.places.of_a_row, {}, bounds, placed.limits)
    for nest, form in zip(placed.phase.nests, placed.forms, strict=True):
        if is_order(nest.stages[0]):
            from fuse_dialect.backends.llvm.sorting import write_order

            write_order(nest, form, row)
        else:
            write_nest(nest, form, row)
