"""Whether ours reaches the bar of a workload."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from .engines import ENGINES
from .results import Limits, Timing, WorkloadResult
from .workloads import Bar, Limit

OURS, UNFUSED = "ours", "ours-unfused"
PEERS = tuple(engine.name for engine in ENGINES if engine.peer)


class Statistic(StrEnum):
    """Which figure of a timing counts: the minimum is better on a machine that others use, too."""

    MEDIAN = "median"
    MINIMUM = "minimum"

    def of(self, timing: Timing) -> float:
        """Seconds of a call."""
        return timing.median if self is Statistic.MEDIAN else timing.minimum


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a bar."""

    text: str
    """The measured figure beside the one that is asked for."""
    passed: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a bar."""

    checks: tuple[Check, ...]
    unknown: tuple[str, ...]
    """What could not be measured; a bar is not reached while something of it is unknown."""

    @property
    def word(self) -> str:
        """PASS, MISS, or NO RESULT where nothing is missed as far as measured."""
        if any(not check.passed for check in self.checks):
            return "MISS"
        return "NO RESULT" if self.unknown else "PASS"

    def __str__(self) -> str:
        return "; ".join([self.word, *(check.text for check in self.checks), *self.unknown])


def fastest(result: WorkloadResult, names: tuple[str, ...], statistic: Statistic) -> str | None:
    """The fastest of some engines, if one of them has a result."""
    present = [name for name in names if name in result.timings]
    return min(present, key=lambda name: statistic.of(result.timings[name]), default=None)


def judge(bar: Bar, result: WorkloadResult, limits: Limits, statistic: Statistic) -> Verdict:
    """Compare one workload with its bar."""
    ours = result.timings.get(OURS)
    if ours is None:
        return Verdict((), (f"ours: {result.failures.get(OURS, 'not measured')}",))
    time = statistic.of(ours)
    checks: list[Check] = []
    unknown = [f"{name} not measured" for name in bar.peers if name not in result.timings]
    peer = fastest(result, bar.peers, statistic)
    if peer is not None:
        checks.append(_ratio(time, result, peer, bar.ratio, statistic.of))
    if bar.unfused is not None:
        if UNFUSED in result.timings:
            checks.append(_ratio(time, result, UNFUSED, bar.unfused, statistic.of))
        else:
            unknown.append(f"{UNFUSED} not measured")
    if bar.limit is not None:
        best = result.bytes / limits.stream if bar.limit is Limit.STREAM else result.flops / limits.fma
        share = best / 1e9 / time
        checks.append(Check(f"{share:.0%} of {bar.limit} (>= {bar.share:.0%})", share >= bar.share))
    return Verdict(tuple(checks), tuple(unknown))


def _ratio(
    time: float, result: WorkloadResult, other: str, allowed: float, seconds: Callable[[Timing], float]
) -> Check:
    ratio = time / seconds(result.timings[other])
    return Check(f"{ratio:.2f}x {other} (<= {allowed:.2f}x)", ratio <= allowed)
