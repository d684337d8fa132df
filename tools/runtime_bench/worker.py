"""A process that runs one engine: it reads commands on stdin and answers on stdout, one JSON object a line.

    python -m runtime_bench.worker ENGINE THREADS

Commands: `prepare` a workload from its folder and compare the output with the reference, `time` it for some seconds,
`check` the output once more, `limits` of the machine. An answer has `failed` where there is no result.
"""

import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TextIO

import numpy as np

from .engines import Job, NotAvailableError, Prepared, aligned_copy, engine_named
from .heap import make_room
from .limits import measure_limits

CHUNK_SECONDS = 5e-5
"""Shorter calls are timed several at once, because reading the clock takes time, too."""
WARM_UP = 0.2
"""Share of a turn that is not counted: others have emptied the caches."""


class Worker:
    """The engine and the workload that it has prepared."""

    def __init__(self, name: str, threads: int):
        self._engine = engine_named(name)
        self._threads = threads
        self._prepared: Prepared | None = None
        self._reference: np.ndarray[Any, Any] | None = None

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do what a command says."""
        try:
            match command["do"]:
                case "prepare":
                    return self._prepare(Path(command["folder"]))
                case "time":
                    return time_calls(self._ready().call, command["seconds"])
                case "check":
                    return {"error": self._error()}
                case other:
                    return {"failed": f"unknown command '{other}'"}
        except NotAvailableError as error:
            return {"failed": str(error)}
        except MemoryError:
            return {"failed": "not enough memory"}
        except Exception as error:
            # Whatever an engine raises is a result of the measurement.
            lines = str(error).strip().splitlines() or [""]
            return {"failed": f"{type(error).__name__}: {lines[0][:300]}"}

    def _ready(self) -> Prepared:
        if self._prepared is None:
            raise NotAvailableError("no workload is prepared")
        return self._prepared

    def _prepare(self, folder: Path) -> dict[str, Any]:
        self._prepared = self._reference = None
        job = load_job(folder, self._threads)
        self._reference = np.load(folder / "reference.npy")
        start = perf_counter()
        self._prepared = self._engine.prepare(job)
        self._prepared.call()
        seconds = perf_counter() - start
        make_room(4 * int(np.prod(job.shape)))
        self._prepared.call()
        return {"seconds": seconds, "error": self._error()}

    def _error(self) -> float:
        """Greatest absolute error over the greatest element of the reference; infinite where the shapes differ."""
        output, reference = self._ready().output(), self._reference
        assert reference is not None
        if output.shape != reference.shape:
            return float("inf")
        error = float(np.max(np.abs(output - reference)) / np.max(np.abs(reference)))
        return error if error == error else float("inf")


def load_job(folder: Path, threads: int) -> Job:
    """The workload that lies in a folder."""
    about = json.loads((folder / "job.json").read_text())
    inputs = {name: aligned_copy(np.load(folder / f"{name}.npy")) for name in about["inputs"]}
    return Job(folder / "model.onnx", inputs, tuple(about["shape"]), threads)


def time_calls(call: Callable[[], object], seconds: float) -> dict[str, Any]:
    """Median and minimum of the seconds of a call, over calls that take `seconds` together."""
    start = perf_counter()
    call()
    once = perf_counter() - start
    while perf_counter() - start < WARM_UP * seconds:
        begin = perf_counter()
        call()
        once = min(once, perf_counter() - begin)
    chunk = max(1, round(CHUNK_SECONDS / max(once, 1e-9)))
    times: list[float] = []
    start = end = perf_counter()
    while end - start < seconds:
        begin = perf_counter()
        for _ in range(chunk):
            call()
        end = perf_counter()
        times.append((end - begin) / chunk)
    return {"median": median(times), "minimum": min(times), "calls": chunk * len(times)}


@contextmanager
def answers_only() -> Generator[TextIO]:
    """The stream for answers: what libraries print goes to stderr instead."""
    with os.fdopen(os.dup(1), "w", buffering=1) as stream:
        os.dup2(2, 1)
        yield stream


def pin(threads: int) -> None:
    """Keep this process to the last cores that it may use, as many as it has threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def main() -> int:
    """Answer until stdin ends."""
    name, threads = sys.argv[1], int(sys.argv[2])
    pin(threads)
    with answers_only() as stream:
        worker = None if name == "limits" else Worker(name, threads)
        for line in sys.stdin:
            answer = measure_limits(threads) if worker is None else worker.answer(json.loads(line))
            print(json.dumps(answer), file=stream)
    return 0


if __name__ == "__main__":
    sys.exit(main())
