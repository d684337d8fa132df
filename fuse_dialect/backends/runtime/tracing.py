"""Notes when each native kernel runs, and on which thread: a function between the driver and each kernel.

1. The driver's table of a frame is copied. Each row that names a kernel names `fuse_traced` instead, or
   `fuse_traced_checked` for a kernel that says whether there was a fault, and where the kernel's slots stood the
   address of a *record*: the kernel, its slots, the log, what tells threads apart, the row.
2. That function reads the counter of the processor, calls the kernel, reads it again, and adds an entry to the log.
   Threads take entries with one atomic addition; when the log is full, they are counted and left out.
3. Ticks become seconds by the time of a whole segment, which Python measures too.

Kernels run in the frame, by the driver and with the workers of any other call, so the trace shows what is.
"""

import ctypes
import platform
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, c_int64
from dataclasses import dataclass
from threading import get_ident
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import I64, PTR, VOID, Type, Value
from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.driver import CONTROL, clock_of
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph
from fuse_dialect.backends.runtime.executable import Executable, Frame, Segment
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.profiling import kernel_reports
from fuse_dialect.backends.runtime.stepwise import StepTimes
from fuse_dialect.backends.runtime.trace import Trace, TraceEvent
from fuse_dialect.dialect.op import Array
from fuse_dialect.process_wide import Once

MOST_EVENTS = 200_000
"""Entries of the log; a loop may run a kernel any number of times."""
_ENTRY = 6
"""Words of an entry: start, end, thread, row, part, parts."""
_RECORD = 5
_HEAD = 2
"""Words before the entries: how many were asked for, how many there is room for."""


def _text() -> str:
    """The functions between the driver and kernels, as LLVM IR (1, 2)."""
    module, clock = Module(), clock_of(platform.machine())

    def words(f: Function, start: Value, kinds: Sequence[Type]) -> list[Value]:
        return [f.load(kind, f.offset(start, f.i64(place), I64)) for place, kind in enumerate(kinds)]

    f = module.function("fuse_clock", [], result=I64)
    f.ret(f.call(clock, I64, []))

    given = [Parameter("record", PTR), Parameter("start", I64), Parameter("part", I64), Parameter("parts", I64)]
    f = module.function("note", given, linkage="internal")
    record, start, part, parts = f.parameters
    end = f.call(clock, I64, [])
    _, _, log, who, row = words(f, record, (PTR, PTR, PTR, PTR, I64))
    thread = f.emit(I64, f"call i64 {who.text}()")
    number = f.emit(I64, f"atomicrmw add {log}, i64 1 acq_rel")
    room = f.load(I64, f.offset(log, f.i64(1), I64))
    with f.when(f.compare("slt", number, room)):
        entry = f.offset(log, f.add(f.multiply(number, f.i64(_ENTRY)), f.i64(_HEAD)), I64)
        for place, value in enumerate((start, end, thread, row, part, parts)):
            f.store(value, f.offset(entry, f.i64(place), I64))
    f.ret()

    f = module.function("fuse_traced", [given[0], *given[2:]])
    record, part, parts = f.parameters
    kernel, slots = words(f, record, (PTR, PTR))
    start = f.call(clock, I64, [])
    f.do(f"call void {kernel.text}({slots}, {part}, {parts})")
    f.call("note", VOID, [record, start, part, parts])
    f.ret()

    f = module.function("fuse_traced_checked", [given[0]], result=I64)
    (record,) = f.parameters
    kernel, slots = words(f, record, (PTR, PTR))
    start = f.call(clock, I64, [])
    following = f.emit(I64, f"call i64 {kernel.text}({slots})")
    f.call("note", VOID, [record, start, f.i64(0), f.i64(1)])
    f.ret(following)
    return module.text()


@dataclass(frozen=True, slots=True)
class _Native:
    """The functions of this module."""

    traced: int
    """Address of what stands before a kernel."""
    traced_checked: int
    """The same for a kernel that says whether there was a fault."""
    clock: Callable[[], int]
    code: Any
    """Keeps the machine code."""


@Once
def _native() -> _Native:
    from fuse_dialect.backends.assembler.engine import compile_object, load

    code = load(compile_object(_text()), ("fuse_clock", "fuse_traced", "fuse_traced_checked"))
    places = code.addresses
    clock = CFUNCTYPE(c_int64)(places["fuse_clock"])
    return _Native(places["fuse_traced"], places["fuse_traced_checked"], clock, code)


class _TracedFrame:
    """A frame whose rows note what they do."""

    def __init__(self, executable: Executable):
        frame = executable.new_frame()
        self.log = np.zeros(_HEAD + MOST_EVENTS * _ENTRY, np.int64)
        self.log[1] = MOST_EVENTS
        self.rows_of_a_part = len(frame.table) // executable.threads
        kernels = self._calls(executable)
        checked = kernels & ((frame.table[:, 2] & CONTROL) != 0)
        self.records = np.zeros((len(frame.table), _RECORD), np.int64)
        self.records[:, :2] = frame.table[:, :2]
        self.records[:, 2] = address_of(self.log)
        self.records[:, 3] = ctypes.cast(ctypes.pythonapi.PyThread_get_thread_ident, ctypes.c_void_p).value or 0
        self.records[:, 4] = np.arange(len(frame.table))
        table = frame.table.copy()
        if kernels.any():
            table[kernels, 0] = _native().traced
            table[checked, 0] = _native().traced_checked
            table[kernels, 1] = address_of(self.records) + np.flatnonzero(kernels) * self.records.strides[0]
        self.frame = Frame(frame.memory, frame.slots, table, address_of(table))

    def _calls(self, executable: Executable) -> npt.NDArray[np.bool_]:
        """Which rows, of all parts, name kernels; the others are ends of loops and the like."""
        calls = np.zeros(self.rows_of_a_part, np.bool_)
        for segment in executable.segments:
            steps = executable.plan.flow.steps[segment.first : segment.first + segment.rows]
            calls[segment.row : segment.row + segment.rows] = [isinstance(step, Call) for step in steps]
        return np.tile(calls, executable.threads)

    def taken(self) -> tuple[list[list[int]], int]:
        """The entries of the log, which is empty afterwards, and how many were left out."""
        count = int(self.log[0])
        noted = min(count, MOST_EVENTS)
        entries: list[list[int]] = self.log[_HEAD : _HEAD + noted * _ENTRY].reshape(noted, _ENTRY).tolist()
        self.log[0] = 0
        return entries, count - noted


class _Tracer:
    """The events of some runs."""

    def __init__(self, executable: Executable):
        self.executable = executable
        self.traced = _TracedFrame(executable)
        self.events: list[TraceEvent] = []
        self.left_out = 0
        self.threads = {get_ident(): 0}
        self.began = perf_counter()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Any], number: int) -> None:
        """Run everything once."""
        executable, frame = self.executable, self.traced.frame
        start = perf_counter() - self.began
        executable.bind(frame, inputs, outputs)
        held: dict[int, Array] = {}
        for segment in executable.segments:
            if segment.rows:
                self._run_native(segment, number)
                continue
            begin = perf_counter()
            executable.run_numpy(frame, segment.first, inputs, outputs, held)
            kernel = executable.plan.call_at(segment.first).kernel
            self.events.append(TraceEvent(kernel, begin - self.began, perf_counter() - begin, 0, run=number))
        self.events.append(TraceEvent(-1, start, perf_counter() - self.began - start, 0, run=number))

    def _run_native(self, segment: Segment, number: int) -> None:
        executable, clock = self.executable, _native().clock
        begin, first = perf_counter(), clock()
        threads = executable.threads if segment.is_shared else 1
        executable.run_rows(self.traced.frame, segment.row, segment.rows, threads)
        last, end = clock(), perf_counter()
        entries, left_out = self.traced.taken()
        self.left_out += left_out
        per_tick = (end - begin) / max(1, last - first)
        for start, stop, thread, row, part, parts in sorted(entries):
            step = executable.plan.flow.steps[segment.first + row % self.traced.rows_of_a_part - segment.row]
            assert isinstance(step, Call), "control steps are not traced"
            at = begin - self.began + (start - first) * per_tick
            name = self.threads.setdefault(thread, len(self.threads))
            self.events.append(TraceEvent(step.kernel, at, (stop - start) * per_tick, name, part, parts, number))


def trace_stepwise(
    graph: EntryGraph, primitives: Sequence[Compiled], run: Callable[[StepTimes], object], repeat: int
) -> Trace:
    """What happens in some runs of a function that Python runs step by step, after one that is not noted.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        run: Runs it once, and notes times.
        repeat: How many runs.
    """
    times = StepTimes()
    run(times)
    events: list[TraceEvent] = []
    began = perf_counter()
    for number in range(repeat):
        times = StepTimes()
        start = perf_counter()
        run(times)
        events.append(TraceEvent(-1, start - began, perf_counter() - start, 0, run=number))
        events += [TraceEvent(kernel, at - began, taken, 0, run=number) for kernel, at, taken in times.events]
    shapes = [times.shapes.get(number, type.shape) for number, type in enumerate(graph.tensors)]
    return Trace(graph.name, sorted(events, key=_order), kernel_reports(graph, primitives, shapes))


def _order(event: TraceEvent) -> tuple[float, float]:
    """By start, what is around others before them."""
    return event.start, -event.seconds


def trace_of(executable: Executable, inputs: Sequence[Array], outputs: Sequence[Any], repeat: int) -> Trace:
    """What happens in some runs, after one that is not noted.

    Args:
        executable: What is run.
        inputs: Dense arrays.
        outputs: Dense arrays for what kernels write, `None` for other outputs.
        repeat: How many runs.
    """
    executable.run(executable.new_frame(), inputs, outputs)
    tracer = _Tracer(executable)
    for number in range(repeat):
        tracer.run(inputs, outputs, number)
    reports = kernel_reports(executable.graph, executable.primitives, executable.plan.shapes)
    return Trace(executable.graph.name, sorted(tracer.events, key=_order), reports, tracer.left_out)
