"""A process that loads a workload, runs it, and says what that took: for `--startup` and `--memory`.

    python -m runtime_bench.once ENGINE FOLDER THREADS

Prints a JSON object: `first`, seconds from before the engine is imported to the first output; and megabytes: `before`
the engine is imported, `peak` up to the first output, and `steady`, the peak of later calls.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

from .engines import engine_named
from .worker import answers_only, load_job, pin

CALLS = 5


def main() -> int:
    """Measure once."""
    name, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    pin(threads)
    job = load_job(folder, threads)
    before = _megabytes("VmRSS")
    with answers_only() as stream:
        try:
            start = perf_counter()
            prepared = engine_named(name).prepare(job)
            prepared.call()
            first = perf_counter() - start
            peak = _megabytes("VmHWM")
            _reset_peak()
            for _ in range(CALLS):
                prepared.call()
            answer = {"first": first, "before": before, "peak": peak, "steady": _megabytes("VmHWM")}
        except Exception as error:
            # Whatever an engine raises is a result of the measurement.
            answer = {"failed": (str(error).splitlines() or [type(error).__name__])[0]}
        print(json.dumps(answer), file=stream)
    return 0


def _megabytes(what: str) -> float:
    """A figure of the kernel's on this process; 0 where there is no such kernel."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(what)), 0.0)


def _reset_peak() -> None:
    """Let the peak begin at what is in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("warning: the peak of later calls includes that of loading", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
