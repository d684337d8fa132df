"""What a run of the benchmark measured, and its JSON form."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Timing:
    """What one engine needed for one workload. Times are seconds of a call."""

    median: float
    """Of the medians of the rounds."""
    minimum: float
    """Over all rounds."""
    error: float
    """Greatest absolute error over the greatest element of the reference."""
    prepare: float
    """Seconds from the model file to the first output, without what was imported before."""
    rounds: tuple[float, ...] = ()
    """Medians of the rounds."""


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """One workload on all engines."""

    name: str
    bytes: int
    flops: int
    timings: dict[str, Timing]
    failures: dict[str, str]
    """Why an engine has no timing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the machine did at best during the run."""

    stream: float
    """GB/s, read and written."""
    fma: float
    """GFLOP/s on registers."""
    sgemm: float
    """GFLOP/s of NumPy's matrix product."""
    how: str

    def seconds(self, result: WorkloadResult) -> float:
        """The least time for the traffic and the arithmetic of a workload, done at the same time."""
        return max(result.bytes / self.stream, result.flops / self.fma) / 1e9


@dataclass(frozen=True, slots=True)
class ThreadsResult:
    """All workloads with one number of threads."""

    threads: int
    limits: Limits
    workloads: tuple[WorkloadResult, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """A whole run."""

    date: str
    machine: str
    settings: str
    versions: dict[str, str]
    """Of the engines that are installed, with how they are set up."""
    missing: dict[str, str]
    """Why other engines are not."""
    runs: tuple[ThreadsResult, ...] = field(default=())

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Results":
        """The results that `to_json` wrote.

        Raises:
            ValueError: The text is not such JSON.
        """
        try:
            data: dict[str, Any] = json.loads(text)
            data["runs"] = tuple(_threads_result(run) for run in data["runs"])
            return cls(**data)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the results of a run: {error}") from error


def _threads_result(data: dict[str, Any]) -> ThreadsResult:
    workloads = tuple(_workload_result(each) for each in data["workloads"])
    return ThreadsResult(data["threads"], Limits(**data["limits"]), workloads)


def _workload_result(data: dict[str, Any]) -> WorkloadResult:
    timings: dict[str, Timing] = {}
    for engine, timing in data.pop("timings").items():
        timing["rounds"] = tuple(timing["rounds"])
        timings[engine] = Timing(**timing)
    return WorkloadResult(timings=timings, **data)
