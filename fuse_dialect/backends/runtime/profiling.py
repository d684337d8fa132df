"""Measuring the kernels of a program one by one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fuse_dialect.analysis.anchor_sources import anchor_source
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, How, Loop
from fuse_dialect.backends.runtime.executable import Executable, Frame
from fuse_dialect.backends.runtime.kernel_timing import KernelReport, KernelTiming
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.shapes import iterations
from fuse_dialect.backends.runtime.stepwise import StepTimes
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.machines.machine import Machine

if TYPE_CHECKING:
    # Most programs are compiled and never measured.
    from fuse_dialect.backends.runtime.report import Profile
    from fuse_dialect.backends.runtime.roofline import Limits

_MOST_SOURCES = 64
"""Calls of one kernel whose sources are kept."""


def kernel_reports(
    graph: EntryGraph, primitives: Sequence[Compiled], shapes: Sequence[Shape]
) -> dict[int, KernelReport]:
    """What runs each primitive, by its number, in order of the first call.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        shapes: Sizes of each tensor, as far as they are known.
    """
    counts: dict[int, int] = {}
    sources: dict[int, list[str]] = {}
    costs: dict[int, tuple[int | None, int | None]] = {}
    for call, times in _counted(graph, graph.calls, primitives, shapes):
        counts[call.kernel] = counts.get(call.kernel, 0) + times
        if call.source:
            sources.setdefault(call.kernel, []).append(call.source)
        if call.kernel not in costs:
            costs[call.kernel] = _cost(primitives[call.kernel], call, shapes)
    return {
        number: replace(
            _report(primitives[number], count, *costs[number]),
            sources=_sources(primitives[number], sources.get(number, [])),
        )
        for number, count in counts.items()
    }


def _sources(compiled: Compiled, calls: Sequence[str]) -> tuple[str, ...]:
    """Where the calls of a kernel come from; of a single one its anchor, since a call has the place of its last op."""
    if len(calls) > 1:
        return tuple(calls[:_MOST_SOURCES])
    anchor = anchor_source(compiled.primitive.function.body.block.ops)
    return (anchor,) if anchor else tuple(calls)


def _counted(
    graph: EntryGraph, calls: Sequence[Call], primitives: Sequence[Compiled], shapes: Sequence[Shape]
) -> Iterator[tuple[Call, int]]:
    """The calls that run, with those inside loops and branches; how often each runs if its branch is taken.

    A loop whose number of iterations is known only when it runs counts as one.
    """
    for call in calls:
        how = primitives[call.kernel].how
        if how is not How.CONTROL:
            yield call, 1
        if how in (How.CONTROL, How.MIXED):
            count = iterations(graph, call.control, shapes) if isinstance(call.control, Loop) else 1
            for part in call.parts:
                for inner, times in _counted(graph, part, primitives, shapes):
                    yield inner, times * (1 if count is None else count)


def _cost(compiled: Compiled, call: Call, shapes: Sequence[Shape]) -> tuple[int | None, int | None]:
    """Bytes and arithmetic of one call, as far as sizes are known."""
    if compiled.how is How.VIEW:
        return 0, 0
    arguments, results = [shapes[tensor] for tensor in call.arguments], [shapes[tensor] for tensor in call.results]
    if any(DYNAMIC in shape for shape in (*arguments, *results)):
        return None, None
    return compiled.cost_at(arguments, results)


def _report(compiled: Compiled, calls: int, bytes: int | None, flops: int | None) -> KernelReport:
    match compiled.how:
        case How.VIEW:
            return KernelReport(compiled.name, compiled.ops, "view", "", calls, bytes, flops)
        case How.SETTLED:
            return KernelReport(compiled.name, compiled.ops, "settled", "", calls, 0, 0)
        case How.NUMPY:
            promised = compiled.broken_promise
            return KernelReport(compiled.name, compiled.ops, "numpy", compiled.reason, calls, bytes, flops, promised)
        case How.MIXED | How.CONTROL:
            return KernelReport(compiled.name, compiled.ops, "python", compiled.reason, calls, None, None)
        case How.NATIVE | How.MOVE | How.COUNT:
            assert compiled.kernel is not None, "a native primitive has a kernel"
            family, promised = compiled.kernel.family, compiled.broken_promise
            return KernelReport(compiled.name, compiled.ops, family, "", calls, bytes, flops, promised)


def profile_of(
    executable: Executable,
    frame: Frame,
    inputs: Sequence[Array],
    outputs: Sequence[Any],
    repeat: int,
    machine: Machine | None = None,
) -> "Profile":
    """Times of whole runs, and of every kernel in as many other runs; the first of each is left out.

    Args:
        executable: What is run.
        frame: Memory that no other call uses.
        inputs: Dense arrays.
        outputs: Dense arrays for what kernels write, `None` for other outputs.
        repeat: How many runs are measured.
        machine: What the code is made for, if that is known.
    """
    from fuse_dialect.backends.runtime.report import Profile
    from fuse_dialect.backends.runtime.roofline import machine_limits

    whole: list[float] = []
    times: dict[int, list[float]] = {}
    for _ in range(repeat + 1):
        start = perf_counter()
        executable.run(frame, inputs, outputs)
        whole.append(perf_counter() - start)
        for kernel, seconds in _run_timed(executable, frame, inputs, outputs).items():
            times.setdefault(kernel, []).append(seconds)
    limits = machine_limits(executable.threads, machine)
    reports = kernel_reports(executable.graph, executable.primitives, executable.plan.shapes)
    timings = [
        KernelTiming(report, tuple(times[kernel][1:]), _roofline(report, limits))
        for kernel, report in reports.items()
        if kernel in times
    ]
    return Profile(tuple(timings), tuple(whole[1:]), executable.threads, limits, _name(machine))


def profile_stepwise(
    graph: EntryGraph,
    primitives: Sequence[Compiled],
    run: Callable[[StepTimes], object],
    repeat: int,
    machine: Machine | None = None,
) -> "Profile":
    """Times of a program that runs step by step, because sizes are known only while it runs.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        run: Runs the program once, and notes the seconds of its calls and the sizes of its tensors.
        repeat: How many runs are measured.
        machine: What the code is made for, if that is known.
    """
    from fuse_dialect.backends.runtime.report import Profile
    from fuse_dialect.backends.runtime.roofline import machine_limits

    whole: list[float] = []
    times: dict[int, list[float]] = {}
    steps = StepTimes()
    for _ in range(repeat + 1):
        steps = StepTimes()
        start = perf_counter()
        run(steps)
        whole.append(perf_counter() - start)
        for kernel, seconds in steps.seconds.items():
            times.setdefault(kernel, []).append(seconds)
    limits = machine_limits(1, machine)
    shapes = [steps.shapes.get(number, type.shape) for number, type in enumerate(graph.tensors)]
    reports = kernel_reports(graph, primitives, shapes)
    # What a run has counted is truer than what is known before: of a branch that it never took there is nothing to say.
    counted = {
        kernel: replace(reports[kernel], calls=count) for kernel, count in steps.calls.items() if kernel in reports
    }
    timings = [
        KernelTiming(report, tuple(times[kernel][1:]), _roofline(report, limits))
        for kernel, report in counted.items()
        if len(times.get(kernel, ())) > 1
    ]
    return Profile(tuple(timings), tuple(whole[1:]), 1, limits, _name(machine))


def _run_timed(
    executable: Executable, frame: Frame, inputs: Sequence[Array], outputs: Sequence[Any]
) -> dict[int, float]:
    """Seconds of all calls of each primitive in one run."""
    executable.bind(frame, inputs, outputs)
    held: dict[int, Array] = {}
    seconds: dict[int, float] = {}
    for segment in executable.segments:
        if segment.rows:
            taken = executable.run_segment_timed(frame, segment)
        else:
            start = perf_counter()
            executable.run_numpy(frame, segment.first, inputs, outputs, held)
            taken = (perf_counter() - start,)
        for offset, each in enumerate(taken):
            step = executable.plan.flow.steps[segment.first + offset]
            if isinstance(step, Call):
                seconds[step.kernel] = seconds.get(step.kernel, 0.0) + each
    return seconds


def _name(machine: Machine | None) -> str:
    return "" if machine is None else machine.name


def _roofline(report: KernelReport, limits: "Limits") -> float | None:
    if report.bytes is None or report.flops is None:
        return None
    return report.calls * max(report.bytes / limits.bytes_per_second, report.flops / limits.flops_per_second)
