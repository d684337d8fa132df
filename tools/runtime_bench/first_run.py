"""What the first run of a model costs, each time in a process of its own: seconds, and memory."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from .drive import Log, machine, write_job
from .engines import NotAvailableError, engine_named
from .processes import TIMEOUT, environment
from .workloads import workload_named

STARTUP_WORKLOAD, MEMORY_WORKLOAD = "resnet18", "resnet50"
COLD_SECONDS, CACHED_SECONDS = 3.0, 1.0
"""The bar: from file to first output, without and with compiled code on disk."""


def _once(engine: str, folder: Path, threads: int, cache: Path) -> dict[str, Any]:
    """What one process measured, with the seconds of the whole process as `process`."""
    caches = {
        "XDG_CACHE_HOME": str(cache),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torch"),
        "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    cache.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "runtime_bench.once", engine, str(folder), str(threads)]
    start = perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TIMEOUT, env=environment(threads, caches)
    )
    seconds = perf_counter() - start
    if done.returncode != 0 or not done.stdout:
        return {"failed": f"exit code {done.returncode}"}
    return {**json.loads(done.stdout), "process": seconds}


def _report(
    workload: str,
    engines: Sequence[str],
    folder: Path,
    log: Log,
    header: str,
    row: Callable[[str, Path], str],
) -> str:
    write_job(workload_named(workload), folder / workload)
    columns = header.count("|") - 1
    lines = [machine(), "", header, "|" + " --- |" * columns]
    for name in engines:
        try:
            engine_named(name).version()
            lines.append(f"| {name} | {row(name, folder / workload)} |")
        except NotAvailableError as error:
            lines.append(f"| {name} | {error}{' |' * (columns - 1)}")
        log(lines[-1])
    return "\n".join(lines)


def startup_report(engines: Sequence[str], threads: int, repeat: int, folder: Path, log: Log) -> str:
    """Markdown: seconds from the file of ResNet-18 to the first output, the best of some runs."""

    def row(name: str, job: Path) -> str:
        cold: list[dict[str, Any]] = []
        cached: list[dict[str, Any]] = []
        for index in range(repeat):
            cache = folder / f"cache-{name}-{index}"
            cold.append(_succeeded(_once(name, job, threads, cache)))
            cached.append(_succeeded(_once(name, job, threads, cache)))
        best = [min(each[key] for each in runs) for runs in (cold, cached) for key in ("first", "process")]
        verdict = ""
        if name == "ours":
            verdict = "PASS" if best[0] <= COLD_SECONDS and best[2] <= CACHED_SECONDS else "MISS"
        return " | ".join([*(f"{seconds:.2f} s" for seconds in best), verdict])

    bar = f"bar: {COLD_SECONDS:.0f} s cold, {CACHED_SECONDS:.0f} s cached"
    header = f"| {STARTUP_WORKLOAD} | cold | whole process | cached | whole process | {bar} |"
    return _report(STARTUP_WORKLOAD, engines, folder, log, header, row)


def memory_report(engines: Sequence[str], threads: int, repeat: int, folder: Path, log: Log) -> str:
    """Markdown: peak memory of ResNet-50 in megabytes, the least of some runs."""

    def row(name: str, job: Path) -> str:
        runs = [_succeeded(_once(name, job, threads, folder / "cache")) for _ in range(repeat)]
        return " | ".join(f"{min(each[key] for each in runs):.0f} MB" for key in ("before", "peak", "steady"))

    header = f"| {MEMORY_WORKLOAD} | before | peak up to the first output | peak of later calls |"
    return _report(MEMORY_WORKLOAD, engines, folder, log, header, row)


def _succeeded(answer: dict[str, Any]) -> dict[str, Any]:
    if "failed" in answer:
        raise NotAvailableError(answer["failed"])
    return answer
