"""Results as Markdown: one table for each number of threads, then what did not run and why."""

from collections.abc import Iterator, Sequence

from .engines import ENGINES
from .results import Results, ThreadsResult, WorkloadResult
from .verdict import OURS, PEERS, Statistic, fastest, judge
from .workloads import WORKLOADS


def markdown(results: Results, statistic: Statistic) -> str:
    """The whole report."""
    return "\n".join(_lines(results, statistic)) + "\n"


def _lines(results: Results, statistic: Statistic) -> Iterator[str]:
    yield f"{results.date}, {results.machine}"
    yield ""
    yield f"Settings: {results.settings}. Times are the {statistic} of the rounds; `0.50x` is ours over that engine."
    yield ""
    for name, version in results.versions.items():
        yield f"- {name}: {version}"
    for name, reason in results.missing.items():
        yield f"- {name}: not available: {reason}"
    for run in results.runs:
        yield ""
        yield from _table(run, statistic)
        yield ""
        yield from _failures(run)


def _table(run: ThreadsResult, statistic: Statistic) -> Iterator[str]:
    limits, count = run.limits, "1 thread" if run.threads == 1 else f"{run.threads} threads"
    yield (
        f"{count}. Limits ({limits.how}): {limits.stream:.1f} GB/s STREAM scale, {limits.fma:.0f} GFLOP/s sgemm peak"
        f" ({limits.sgemm:.0f} by NumPy)."
    )
    yield ""
    engines = [engine.name for engine in ENGINES if any(engine.name in each.timings for each in run.workloads)]
    yield _row(["workload", *engines, "limit", "best peer", "bar"])
    yield _row(["---"] * (len(engines) + 4))
    bars = {workload.name: workload.bar for workload in WORKLOADS}
    for result in run.workloads:
        cells = [_cell(result, engine, statistic) for engine in engines]
        verdict = judge(bars[result.name], result, limits, statistic)
        limit = limit_cell(result, limits.seconds(result), statistic)
        yield _row([result.name, *cells, limit, _best(result, statistic), str(verdict)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(result: WorkloadResult, engine: str, statistic: Statistic) -> str:
    timing = result.timings.get(engine)
    if timing is None:
        return "wrong" if "wrong result" in result.failures.get(engine, "") else "-"
    time, ours = statistic.of(timing), result.timings.get(OURS)
    if ours is None or engine == OURS:
        return duration(time)
    return f"{duration(time)} {statistic.of(ours) / time:.2f}x"


def limit_cell(result: WorkloadResult, limit: float, statistic: Statistic) -> str:
    """The least time that the machine allows, and which share of it ours reaches.

    Data that stays in the caches can be faster than the limit, which is that of the memory.
    """
    ours = result.timings.get(OURS)
    text = duration(limit)
    return text if ours is None else f"{text} {limit / statistic.of(ours):.0%}"


def _best(result: WorkloadResult, statistic: Statistic) -> str:
    peer, ours = fastest(result, PEERS, statistic), result.timings.get(OURS)
    if peer is None:
        return "-"
    return peer if ours is None else f"{peer} {statistic.of(ours) / statistic.of(result.timings[peer]):.2f}x"


def duration(seconds: float) -> str:
    """Three digits of milliseconds, or of microseconds below 0.1 ms."""
    for factor, unit in ((1e3, "ms"), (1e6, "us")):
        value = seconds * factor
        if value >= 0.1 or unit == "us":
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    raise AssertionError("the last unit takes everything")


def _failures(run: ThreadsResult) -> Iterator[str]:
    places: dict[tuple[str, str], list[str]] = {}
    for result in run.workloads:
        for failure in result.failures.items():
            places.setdefault(failure, []).append(result.name)
    for (engine, reason), names in places.items():
        everywhere = len(names) == len(run.workloads)
        yield f"- {engine} on {'all workloads' if everywhere else ', '.join(names)}: {reason}"
