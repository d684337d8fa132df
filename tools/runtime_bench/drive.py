"""Runs workloads on engines: all are set up and checked, then they take turns, round after round."""

import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from onnx.onnx_ml_pb2 import ModelProto

from .engines import ENGINES, Engine, NotAvailableError
from .processes import MALLOC, WorkerProcess
from .results import Limits, Results, ThreadsResult, Timing, WorkloadResult
from .translate import reference_output
from .workloads import Workload, cost_of

TOLERANCE = 1e-4
"""Greatest absolute error over the greatest element of the reference; an engine beyond it is wrong, and not timed."""

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure."""

    workloads: Sequence[Workload]
    engines: Sequence[Engine]
    threads: Sequence[int]
    rounds: int
    seconds: float
    """Of one engine's turn in a round."""


def write_job(workload: Workload, folder: Path) -> ModelProto:
    """Write model, inputs and reference output for the workers to read; returns the model."""
    folder.mkdir(parents=True, exist_ok=True)
    model = workload.build()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    inputs = workload.inputs(model)
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
    reference = reference_output(model, inputs)
    np.save(folder / "reference.npy", reference)
    (folder / "job.json").write_text(json.dumps({"inputs": list(inputs), "shape": reference.shape}))
    return model


def run(plan: Plan, folder: Path, log: Log) -> Results:
    """Measure everything; `folder` is for files."""
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    for engine in plan.engines:
        try:
            versions[engine.name] = f"{engine.version()}: {engine.how}"
        except NotAvailableError as error:
            missing[engine.name] = str(error)
    for name, reason in missing.items():
        log(f"{name}: not available: {reason}")
    load = os.getloadavg()[0]
    models = {workload.name: write_job(workload, folder / workload.name) for workload in plan.workloads}
    runs: list[ThreadsResult] = []
    for threads in plan.threads:
        log(f"threads: {threads}")
        team = _Team([engine.name for engine in plan.engines if engine.name in versions], threads, folder)
        try:
            results = [
                _measure(team, each, models[each.name], folder / each.name, plan, log) for each in plan.workloads
            ]
            runs.append(ThreadsResult(threads, team.limits(), tuple(results)))
        finally:
            team.close()
    settings = (
        f"{plan.rounds} rounds of {plan.seconds} s an engine, pinned to as many cores as threads; "
        + ", ".join(f"{name}={value}" for name, value in MALLOC.items())
        + f"; transparent huge pages: {_huge_pages()}; load of the machine before: {load:.1f}"
    )
    date = datetime.now().astimezone().strftime("%Y-%m-%d")
    return Results(date, machine(), settings, versions, missing, tuple(runs))


@dataclass(slots=True)
class _Team:
    """The workers of all engines, and that for the limits of the machine."""

    engines: list[str]
    threads: int
    folder: Path
    _workers: dict[str, WorkerProcess] = field(default_factory=dict[str, WorkerProcess])
    _limits: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def ask(self, engine: str, **command: Any) -> dict[str, Any]:
        """The answer of an engine's worker; one that ended is started again."""
        worker = self._workers.get(engine)
        if worker is None or not worker.alive:
            if worker is not None:
                worker.close()
            log = self.folder / f"{engine}.log"
            worker = self._workers[engine] = WorkerProcess(engine, self.threads, log)
        return worker.ask(**command)

    def look_at_machine(self) -> None:
        """Measure the limits of the machine once more."""
        answer = self.ask("limits", do="limits")
        if "failed" in answer:
            raise RuntimeError(f"the limits of the machine cannot be measured: {answer['failed']}")
        self._limits.append(answer)

    def limits(self) -> Limits:
        """The best that was seen."""
        best = {key: max(each[key] for each in self._limits) for key in ("stream", "fma", "sgemm")}
        return Limits(**best, how=self._limits[0]["how"])

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers.values():
            worker.close()


def _measure(team: _Team, workload: Workload, model: ModelProto, folder: Path, plan: Plan, log: Log) -> WorkloadResult:
    cost = cost_of(model)
    failures: dict[str, str] = {}
    ready: dict[str, dict[str, Any]] = {}
    for engine in team.engines:
        answer = team.ask(engine, do="prepare", folder=str(folder))
        problem = _problem(answer)
        if problem is None:
            ready[engine] = answer
            log(f"  {workload.name} {engine}: error {answer['error']:.1e}, ready after {answer['seconds']:.2f} s")
        else:
            failures[engine] = problem
            log(f"  {workload.name} {engine}: {problem}")
    turns: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ready}
    for _ in range(plan.rounds):
        team.look_at_machine()
        for engine in [name for name in ready if name not in failures]:
            answer = team.ask(engine, do="time", seconds=plan.seconds)
            if "failed" in answer:
                failures[engine] = answer["failed"]
            else:
                turns[engine].append(answer)
    for engine in [name for name in ready if name not in failures]:
        # Once more: calls that leave something behind show after many.
        problem = _problem(team.ask(engine, do="check"))
        if problem is not None:
            failures[engine] = f"after timing: {problem}"
    timings = {
        engine: _timing(ready[engine], turns[engine]) for engine in ready if turns[engine] and engine not in failures
    }
    log("  " + ", ".join(f"{engine} {timing.median * 1e3:.4g} ms" for engine, timing in timings.items()))
    return WorkloadResult(workload.name, cost.bytes, cost.flops, timings, failures)


def _problem(answer: dict[str, Any]) -> str | None:
    """Why an answer is no success."""
    if "failed" in answer:
        return answer["failed"]
    if not answer["error"] <= TOLERANCE:
        return f"wrong result: error {answer['error']:.1e} exceeds {TOLERANCE:.0e}"
    return None


def _timing(prepared: dict[str, Any], turns: Sequence[dict[str, Any]]) -> Timing:
    medians = [turn["median"] for turn in turns]
    minimum = min(turn["minimum"] for turn in turns)
    return Timing(median(medians), minimum, prepared["error"], prepared["seconds"], tuple(medians))


def machine() -> str:
    """Processor, cores, system and Python."""
    return f"{_processor()}, {platform.system()} {platform.machine()}, Python {sys.version.split()[0]}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    if not names:
        return platform.processor() or platform.machine()
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    widest = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "no AVX")
    return f"{len(names)} x {names[0]} ({widest})"


def _huge_pages() -> str:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists():
        return "unknown"
    return setting.read_text().partition("[")[2].partition("]")[0]


def engines_named(names: Sequence[str] | None) -> list[Engine]:
    """The engines of these names, or those that run by default, in the order of the table."""
    return [engine for engine in ENGINES if (engine.default if names is None else engine.name in names)]
