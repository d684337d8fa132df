"""Measuring the kernels of a program one by one."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, Shape
from fuse_dialect.backends.runtime.executable import Executable, Frame
from fuse_dialect.backends.runtime.plan import How
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.report import KernelReport, KernelTiming, Profile
from fuse_dialect.backends.runtime.roofline import Limits, machine_limits
from fuse_dialect.backends.runtime.stepwise import StepTimes
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC


def kernel_reports(
    graph: EntryGraph, primitives: Sequence[Compiled], shapes: Sequence[Shape]
) -> tuple[KernelReport, ...]:
    """What runs each primitive, in order of the first call.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        shapes: Sizes of each tensor, as far as they are known.
    """
    counts: dict[int, int] = {}
    costs: dict[int, tuple[int | None, int | None]] = {}
    for call in graph.calls:
        counts[call.kernel] = counts.get(call.kernel, 0) + 1
        if call.kernel not in costs:
            costs[call.kernel] = _cost(primitives[call.kernel], call, shapes)
    return tuple(_report(primitives[number], count, *costs[number]) for number, count in counts.items())


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
        case How.NUMPY:
            return KernelReport(compiled.name, compiled.ops, "numpy", compiled.reason, calls, bytes, flops)
        case How.NATIVE:
            assert compiled.kernel is not None, "a native primitive has a kernel"
            return KernelReport(compiled.name, compiled.ops, compiled.kernel.family, "", calls, bytes, flops)


def profile_of(
    executable: Executable, frame: Frame, inputs: Sequence[Array], outputs: Sequence[Any], repeat: int
) -> Profile:
    """Times of whole runs, and of every kernel in as many other runs; the first of each is left out.

    Args:
        executable: What is run.
        frame: Memory that no other call uses.
        inputs: Dense arrays.
        outputs: Dense arrays for what kernels write, `None` for other outputs.
        repeat: How many runs are measured.
    """
    whole: list[float] = []
    times: dict[int, list[float]] = {}
    for _ in range(repeat + 1):
        start = perf_counter()
        executable.run(frame, inputs, outputs)
        whole.append(perf_counter() - start)
        for kernel, seconds in _run_timed(executable, frame, inputs, outputs).items():
            times.setdefault(kernel, []).append(seconds)
    limits = machine_limits(executable.threads)
    reports = kernel_reports(executable.graph, executable.primitives, executable.plan.shapes)
    order = dict.fromkeys(call.kernel for call in executable.graph.calls)
    timings = [
        KernelTiming(report, tuple(times[kernel][1:]), _roofline(report, limits))
        for kernel, report in zip(order, reports, strict=True)
        if kernel in times
    ]
    return Profile(tuple(timings), tuple(whole[1:]), executable.threads)


def profile_stepwise(
    graph: EntryGraph, primitives: Sequence[Compiled], run: Callable[[StepTimes], object], repeat: int
) -> Profile:
    """Times of a program that runs step by step, because sizes are known only while it runs.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        run: Runs the program once, and notes the seconds of its calls and the sizes of its tensors.
        repeat: How many runs are measured.
    """
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
    limits = machine_limits(1)
    shapes = [steps.shapes.get(number, type.shape) for number, type in enumerate(graph.tensors)]
    reports = kernel_reports(graph, primitives, shapes)
    order = dict.fromkeys(call.kernel for call in graph.calls)
    timings = [
        KernelTiming(report, tuple(times[kernel][1:]), _roofline(report, limits))
        for kernel, report in zip(order, reports, strict=True)
    ]
    return Profile(tuple(timings), tuple(whole[1:]), 1)


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
            kernel = executable.plan.calls[segment.first + offset].kernel
            seconds[kernel] = seconds.get(kernel, 0.0) + each
    return seconds


def _roofline(report: KernelReport, limits: Limits) -> float | None:
    if report.bytes is None or report.flops is None:
        return None
    return report.calls * max(report.bytes / limits.bytes_per_second, report.flops / limits.flops_per_second)
