"""A kernel of strips as code: a loop over strips, and a function for each step; see `loops/strip_schedule.py`.

1. A step is a function of slots and two numbers, as a kernel is: here they are the first row of the strip, counted
   through all outer points, and the row behind the last.
2. Each step has slots of its own on the stack. They hold what its program asks for: addresses of the buffers of the
   whole kernel, of its own workspace, and of what passes between steps.
3. What passes has room for one strip. Its address is that of row 0, had it all rows: so steps count rows as ever.
4. Behind its workspace a step has sizes, then the bounds of what passes: nobody but who checks accesses reads these.
5. A part packs columns when it comes to an outer point, and keeps them for the strips that follow.
6. Where columns are taken in blocks, what has columns has room for one block, and its address is that of column 0. Two
   totals of a state change places after each block.
7. The first step of a block may say which rows it counts for. If for none, totals stay where they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I1, I8, I32, I64, VOID, Value, constant
from fuse_dialect.backends.backend import symbols_of
from fuse_dialect.backends.llvm.contractions.gemm import write_block_gemm, write_strip_gemm
from fuse_dialect.backends.llvm.intervals import interval_of, step_interval
from fuse_dialect.backends.llvm.kernel import PASSED, Frame, frame_of
from fuse_dialect.backends.llvm.phases import write_loops_of_rows
from fuse_dialect.backends.llvm.request import KERNEL_PARAMETERS, Request
from fuse_dialect.loops.one_pass import BLOCK_FIRST, BLOCK_STOP
from fuse_dialect.loops.strip_schedule import Blocks, LoopStep, Step, Strips, by_function, passed_to


@dataclass(frozen=True, slots=True)
class _Written:
    """A step, written."""

    step: Step
    slots: Value
    """On the stack of the kernel."""
    passed: list[str]
    """What passes between steps of which it has the address."""
    packs: str
    """The function that packs columns; empty if none does."""
    runs: str

    @property
    def buffers(self) -> list[str]:
        """Names of the buffers that the slots begin with."""
        return [buffer.name for buffer in self.step.program.buffers if buffer.role in PASSED]


def write_strips(request: Request, strips: Strips) -> None:
    """Write a kernel of strips."""
    if strips.single is None:
        _write(request, strips)
        return
    f = request.entry
    one, more = (_function(request, name) for name in by_function(strips, f.name))
    _write(replace(request, entry=one, program=strips.single.program), strips.single.strips)
    _write(replace(request, entry=more), strips)

    def run(function: Function) -> list[Value]:
        f.call(function.name, VOID, list(f.parameters))
        return []

    is_one = f.compare("eq", frame_of(request, f).size(strips.rows), f.i64(1))
    f.either(is_one, lambda: run(one), lambda: run(more))
    f.ret()


def _write(request: Request, strips: Strips) -> None:
    f = request.entry
    steps = [_written(request, number, strips) for number in range(len(strips.steps))]
    if strips.skipped is not None:
        f.comment(f"strips of {strips.height} rows leave out columns that a mask hides from all of them")
    frame = frame_of(request, f)
    for step in steps:
        _fill(frame, step)
    rows_of_all = frame.size(strips.rows)
    at_each = f.quotient(f.add(rows_of_all, f.i64(strips.height - 1)), strips.height)
    low, high = frame.share(f.multiply(frame.count(strips.outer), at_each))
    with f.loop(low, high, carried=[f.i64(-1)], hints=["unroll.disable"]) as loop:
        number, strip = frame.divided(loop.index, at_each)
        begun = f.multiply(number, rows_of_all)
        first = f.multiply(strip, f.i64(strips.height))
        stop = f.least(f.add(first, f.i64(strips.height)), rows_of_all)
        rows = f.add(begun, first), f.add(begun, stop)
        _place(frame, strips, steps, rows[0])
        with f.when(f.compare("ne", number, loop.carried[0])):
            for step in steps:
                if step.packs:
                    f.call(step.packs, VOID, [step.slots, *rows])
        if strips.blocks is None:
            _run(f, steps, rows)
        else:
            _run_blocks(frame, strips, strips.blocks, steps, rows)
        loop.following = [number]
    f.ret()


def _run(f: Function, steps: Sequence[_Written], rows: tuple[Value, Value]) -> None:
    for step in steps:
        f.call(step.runs, VOID, [step.slots, *rows])


def _run_blocks(
    frame: Frame, strips: Strips, blocks: Blocks, steps: Sequence[_Written], rows: tuple[Value, Value]
) -> None:
    """The steps of a strip, some of them for one block of columns after the other (6)."""
    f, columns = frame.f, frame.size(blocks.columns)
    first, end = f.i64(0), columns
    if strips.skipped is not None:
        first, end = interval_of(frame, strips.skipped, rows)
    _run(f, steps[: blocks.begin], rows)
    with f.loop(first, end, blocks.width, carried=[f.i64(0)], hints=["unroll.disable"]) as loop:
        is_odd = loop.carried[0]
        stop = f.least(f.add(loop.index, f.i64(blocks.width)), end)
        _place(frame, strips, steps, rows[0], loop.index, is_odd)
        inner = steps[blocks.begin : blocks.end]
        for step in inner:
            _store_sizes(f, step, {BLOCK_FIRST: loop.index, BLOCK_STOP: stop})
        turned = f.subtract(f.i64(1), is_odd)
        if blocks.counts:
            looking, *inner = inner
            counts = _block_counts(frame, strips, blocks, looking, rows)
            with f.when(counts):
                _run(f, inner, rows)
            turned = f.select(counts, turned, is_odd)
        else:
            _run(f, inner, rows)
        loop.following = [turned]
    _place(frame, strips, steps, rows[0], None, loop.carried[0])
    _run(f, steps[blocks.end :], rows)


def _block_counts(frame: Frame, strips: Strips, blocks: Blocks, looking: _Written, rows: tuple[Value, Value]) -> Value:
    """Whether a block counts for some row of a strip, by the step that looks at it (7)."""
    f = frame.f

    def look() -> list[Value]:
        _run(f, [looking], rows)
        return [_some_row_counts(frame, strips, blocks.counts, f.subtract(rows[1], rows[0]))]

    # Of columns that are one block nothing is left out, but by rows that see nothing.
    is_alone = f.compare("sle", frame.size(blocks.columns), f.i64(blocks.width))
    (counts,) = f.either(is_alone, lambda: [constant(I1, 1)], look)
    return counts


def _some_row_counts(frame: Frame, strips: Strips, counts: str, rows: Value) -> Value:
    """Whether the step has found something that counts in some row."""
    f = frame.f
    f.comment("a block that a mask hides from all rows of a strip is left out")
    (passed,) = [each for each in strips.passed if each.buffer == counts]
    # A number is 0 if all its bits are.
    type = I64 if passed.row_bytes == I64.bits // 8 else I32
    start = f.offset(frame.workspace, f.i64(passed.offset), I8)
    with f.loop(f.i64(0), rows, carried=[constant(type, 0)], hints=["unroll.disable"]) as loop:
        row = f.load(type, f.offset(start, loop.index, type))
        loop.following = [f.binary("or", loop.carried[0], row)]
    return f.compare("ne", loop.carried[0], constant(type, 0))


def _written(request: Request, number: int, strips: Strips) -> _Written:
    """Write the functions of a step."""
    f, step, interval = request.entry, strips.steps[number], step_interval(strips)
    passed = passed_to(strips, step)
    inner = replace(request, program=step.program)
    runs = replace(inner, entry=_function(request, f"{f.name}_{number}"))
    packs = ""
    if isinstance(step, LoopStep):
        write_loops_of_rows(runs, step.loops, step.column_axis, interval)
    elif strips.blocks is not None and step.matrices.interval is not None:
        write_block_gemm(runs, step.matrices, interval)
    else:
        columns = None
        if step.matrices.packing is None and step.matrices.lying is None:
            packs = f"{f.name}_{number}_columns"
            columns = replace(inner, entry=_function(request, packs))
        write_strip_gemm(columns, runs, step.matrices, interval)
    words = sum(buffer.role in PASSED for buffer in step.program.buffers) + 1
    words += len(symbols_of(step.program)) + 2 * len(passed)
    return _Written(step, f.scratch(I64, words), passed, packs, runs.entry.name)


def _function(request: Request, name: str) -> Function:
    return request.module.function(name, KERNEL_PARAMETERS, linkage="internal", attributes="noinline")


def _fill(frame: Frame, step: _Written) -> None:
    """Write the slots of a step that are the same for all strips (2)."""
    f = frame.f
    words = [frame.pointers.get(name) for name in step.buffers]
    words.append(f.offset(frame.workspace, f.i64(step.step.offset), I8))
    for number, word in enumerate(words):
        if word is not None:
            f.store(word, f.offset(step.slots, f.i64(number), I64))
    _store_sizes(f, step, frame.sizes)


def _store_sizes(f: Function, step: _Written, sizes: Mapping[str, Value]) -> None:
    """Write slots of sizes, which follow the workspace."""
    for place, symbol in enumerate(symbols_of(step.step.program), len(step.buffers) + 1):
        if symbol in sizes:
            f.store(sizes[symbol], f.offset(step.slots, f.i64(place), I64))


def _place(
    frame: Frame,
    strips: Strips,
    steps: Sequence[_Written],
    first: Value,
    column: Value | None = None,
    is_odd: Value | None = None,
) -> None:
    """Write the slots of what passes between steps (3).

    Args:
        frame: Of the kernel.
        strips: Its schedule.
        steps: All of them.
        first: The first row of the strip.
        column: The first column of the block; 0 by default.
        is_odd: Whether what changes places has changed it; not by default.
    """
    f = frame.f
    for each in strips.passed:
        offset = f.i64(each.offset)
        if each.turned is not None and is_odd is not None:
            offset = f.add(offset, f.multiply(is_odd, f.i64(each.turned - each.offset)))
        start = f.offset(frame.workspace, offset, I8)
        end = f.offset(start, f.i64(each.row_bytes * strips.height), I8)
        # (3) Row 0 may lie in front of the workspace; no step goes there. So may column 0.
        row_0 = f.offset(start, f.multiply(first, f.i64(-each.row_bytes)), I8)
        if each.column_bytes and column is not None:
            row_0 = f.offset(row_0, f.multiply(column, f.i64(-each.column_bytes)), I8)
        for step in steps:
            if each.buffer in step.passed:
                bounds = len(step.buffers) + 1 + len(symbols_of(step.step.program))
                bounds += 2 * step.passed.index(each.buffer)
                for slot, word in ((step.buffers.index(each.buffer), row_0), (bounds, start), (bounds + 1, end)):
                    f.store(word, f.offset(step.slots, f.i64(slot), I64))
