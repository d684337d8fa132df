"""Worker processes: started, asked, suspended while others are measured."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent.parent
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "8589934592", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
"""glibc keeps freed memory, so that an engine which allocates its output does not pay for fresh pages each time."""
TIMEOUT = 900.0
"""Seconds after which a worker is given up."""


def environment(threads: int, extra: dict[str, str]) -> dict[str, str]:
    """Environment of a process that runs an engine."""
    counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    path = os.pathsep.join(filter(None, (str(TOOLS), os.environ.get("PYTHONPATH"))))
    return {**os.environ, **counts, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **extra}


class WorkerProcess:
    """A worker; suspended except while it answers, so that threads that wait in a loop disturb nobody."""

    def __init__(self, engine: str, threads: int, log: Path):
        self._log = log.open("a")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "runtime_bench.worker", engine, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment(threads, MALLOC),
        )

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, **command: Any) -> dict[str, Any]:
        """The answer to a command; it has `failed` where there is no result."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.send_signal(signal.SIGCONT)
            print(json.dumps(command), file=process.stdin, flush=True)
            ready, _, _ = select.select([process.stdout], [], [], TIMEOUT)
            line = process.stdout.readline() if ready else ""
        except (BrokenPipeError, ProcessLookupError):
            line = ""
        if line:
            process.send_signal(signal.SIGSTOP)
            return json.loads(line)
        return {"failed": self._ended()}

    def _ended(self) -> str:
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            self.close()
            return f"no answer after {TIMEOUT:.0f} s"
        return f"the process ended with signal {-code}" if code < 0 else f"the process ended with exit code {code}"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._log.close()
