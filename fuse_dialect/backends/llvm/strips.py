"""A kernel of strips as code: a loop over strips, and a function for each step; see `loops/strip_schedule.py`.

1. A step is a function of slots and two numbers, as a kernel is: here they are the first row of the strip, counted
   through all outer points, and the row behind the last.
2. Each step has slots of its own on the stack. They hold what its program asks for: addresses of the buffers of the
   whole kernel, of its own workspace, and of what passes between steps.
3. What passes has room for one strip. Its address is that of row 0, had it all rows: so steps count rows as ever.
4. A part packs columns when it comes to an outer point, and keeps them for the strips that follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I64, VOID, Value
from fuse_dialect.backends.llvm.contractions.gemm import write_strip_gemm
from fuse_dialect.backends.llvm.kernel import PASSED, Frame, frame_of
from fuse_dialect.backends.llvm.phases import write_loops_of_rows
from fuse_dialect.backends.llvm.request import KERNEL_PARAMETERS, Request
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.strip_schedule import ProductStep, Strips


@dataclass(frozen=True, slots=True)
class _Step:
    """A step, written."""

    program: LoopProgram
    slots: Value
    """On the stack of the kernel."""
    packs: str
    """The function that packs columns; empty if none does."""
    runs: str
    workspace: int
    """Offset of its workspace."""


def write_strips(request: Request, strips: Strips) -> None:
    """Write a kernel of strips."""
    f = request.entry
    steps = [_written(request, number, strips) for number in range(len(strips.steps))]
    frame = frame_of(request, f)
    for step in steps:
        _fill(frame, step, {})
    passed = {each.buffer: each for each in strips.passed}
    low, high = frame.share(f.i64(strips.outer * strips.strips))
    with f.loop(low, high, carried=[f.i64(-1)], hints=["unroll.disable"]) as loop:
        number, strip = frame.divided(loop.index, f.i64(strips.strips))
        begun = f.multiply(number, f.i64(strips.rows))
        first = f.multiply(strip, f.i64(strips.height))
        stop = f.least(f.add(first, f.i64(strips.height)), f.i64(strips.rows))
        rows = f.add(begun, first), f.add(begun, stop)
        # (3) The address of a row 0 that may lie in front of the workspace; no step goes there.
        places = {
            name: f.offset(
                f.offset(frame.workspace, f.i64(each.offset), I8),
                f.subtract(f.i64(0), f.multiply(rows[0], f.i64(each.row_bytes))),
                I8,
            )
            for name, each in passed.items()
        }
        for step in steps:
            _fill(frame, step, places)
        with f.when(f.compare("ne", number, loop.carried[0])):
            for step in steps:
                if step.packs:
                    f.call(step.packs, VOID, [step.slots, *rows])
        for step in steps:
            f.call(step.runs, VOID, [step.slots, *rows])
        loop.following = [number]
    f.ret()


def _written(request: Request, number: int, strips: Strips) -> _Step:
    """Write the functions of a step."""
    f, step = request.entry, strips.steps[number]
    program = strips.program if isinstance(step, ProductStep) else step.program
    inner = replace(request, program=program)
    slots = f.scratch(I64, _slot_count(program))
    runs = replace(inner, entry=_function(request, f"{f.name}_{number}"))
    if not isinstance(step, ProductStep):
        write_loops_of_rows(runs, step.loops)
        return _Step(program, slots, "", runs.entry.name, step.offset)
    packs = None
    if step.matrices.packing is None:
        packs = replace(inner, entry=_function(request, f"{f.name}_{number}_columns"))
    write_strip_gemm(packs, runs, step.matrices)
    return _Step(program, slots, packs.entry.name if packs else "", runs.entry.name, step.offset)


def _function(request: Request, name: str) -> Function:
    return request.module.function(name, KERNEL_PARAMETERS, linkage="internal", attributes="noinline")


def _slot_count(program: LoopProgram) -> int:
    return sum(buffer.role in PASSED for buffer in program.buffers) + 1


def _fill(frame: Frame, step: _Step, places: Mapping[str, Value]) -> None:
    """Write slots of a step (2): those of `places`, or the others if there are none.

    Args:
        frame: Of the kernel.
        step: Whose slots.
        places: Addresses of what passes between steps.
    """
    f = frame.f
    passed = [buffer.name for buffer in step.program.buffers if buffer.role in PASSED]
    for number, name in enumerate(passed):
        address = places.get(name) if places else frame.pointers.get(name)
        if address is not None:
            f.store(address, f.offset(step.slots, f.i64(number), I64))
    if not places:
        room = f.offset(frame.workspace, f.i64(step.workspace), I8)
        f.store(room, f.offset(step.slots, f.i64(len(passed)), I64))
