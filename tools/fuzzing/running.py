"""A process that runs programs, and the one that hands out seeds and collects findings.

A worker tells before each way what it is about to do, so that a fault or a hang has a seed; then it is restarted behind
that seed. Several of them are run by a cluster, see `checking.cluster`.
"""

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from select import select
from time import monotonic
from typing import IO, Any

from fuzzing.coverage import Coverage
from fuzzing.generator import focus_of, make_program
from fuzzing.ways import OWN, Finding, check, chosen_ways, described, reference_of

SCRIPT = Path(__file__).resolve().parent.parent / "fuzz_programs.py"
START_SECONDS = 120.0
"""For a worker to load everything, on a machine that has other work."""
PORTION = 50
"""Programs between two reports of coverage."""


def work(first: int, end: int, names: Sequence[str], ops: Sequence[str]) -> None:
    """Run the programs of some seeds, and say on standard output what happens, a line of JSON each.

    Args:
        first: The first seed.
        end: Behind the last seed.
        names: The ways that may be chosen.
        ops: Names of ops, of which one must be in the focus of a seed; none for all.
    """
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no report
    coverage = Coverage()

    def say(**message: Any) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    seeds = (seed for seed in range(first, end) if not ops or focus_of(seed)[0].name in ops)
    for place, seed in enumerate(seeds):
        say(seed=seed, way="generator")
        for finding in findings_of(seed, names, say, coverage):
            say(finding=asdict(finding))
        if place % PORTION == PORTION - 1:
            say(coverage=_packed(coverage))
            coverage = Coverage()
    say(coverage=_packed(coverage), done=True)


def findings_of(seed: int, names: Sequence[str], say: Callable[..., None], coverage: Coverage) -> list[Finding]:
    """What is wrong with the program of a seed."""
    try:
        program = make_program(seed)
        if program is None:
            return []
        coverage.add(program)
        ways = chosen_ways(seed, names)
        reference = None if OWN.issuperset(ways) else reference_of(program)
    except Exception as error:
        return [Finding(seed, "generator", "error", described(error))]
    found: list[Finding] = []
    for way in ways:
        say(seed=seed, way=way)
        if way in OWN:
            coverage.add_own(seed, way)
        finding = check(program, reference, way)
        if finding is not None:
            found.append(finding)
    return found


def portion(
    seeds: tuple[int, int], names: Sequence[str], limit: float, ops: Sequence[str]
) -> tuple[list[Finding], dict[str, Any]]:
    """The findings of some seeds, in a process of their own, and what was met: for a worker of a cluster.

    Args:
        seeds: The first, and that behind the last.
        names: The ways that may be chosen.
        limit: Seconds for one way of one program.
        ops: Names of ops in the focus; none for all.
    """
    findings: list[Finding] = []
    run = Run(*seeds, names, limit, findings.append, ops)
    run.go()
    return findings, _packed(run.coverage)


def merged(coverage: Coverage, packed: dict[str, Any]) -> None:
    """Add what a portion has met."""
    coverage.merge(_unpacked(packed))


def _packed(coverage: Coverage) -> dict[str, Any]:
    tables = {"met": coverage.met, "pairs": coverage.pairs, "neighbours": coverage.neighbours}
    tables |= {"edges": coverage.edges, "structures": coverage.structures, "own": coverage.own}
    return {
        "programs": coverage.programs,
        **{name: [[*key, count] for key, count in table.items()] for name, table in tables.items()},
    }


def _unpacked(data: dict[str, Any]) -> Coverage:
    def counter(name: str) -> Counter[Any]:
        return Counter({tuple(row[:-1]): row[-1] for row in data[name]})

    return Coverage(
        counter("met"),
        counter("pairs"),
        counter("neighbours"),
        counter("edges"),
        counter("structures"),
        counter("own"),
        data["programs"],
    )


@dataclass(eq=False, slots=True)
class _Worker:
    """A process and what it said last."""

    process: "subprocess.Popen[bytes]"
    seed: int
    way: str = "start"
    since: float = field(default_factory=monotonic)
    pending: bytes = b""
    """The beginning of a line that has not arrived as a whole."""


@dataclass(eq=False, slots=True)
class Run:
    """Programs of many seeds, in a process of their own."""

    first: int
    end: int
    names: Sequence[str]
    limit: float
    """Seconds for one way of one program."""
    report: Callable[[Finding], None]
    ops: Sequence[str] = ()
    """Ops in the focus; none for all."""
    coverage: Coverage = field(default_factory=Coverage)
    _worker: _Worker | None = None

    def go(self, until: float = float("inf")) -> None:
        """Run everything, or as much as is begun before the clock says `until`."""
        self._start(self.first)
        while (worker := self._worker) is not None:
            stream = _output(worker)
            if select([stream], [], [], 1.0)[0]:
                self._read(worker, stream)
            if self._worker is not worker:
                continue
            limit = self.limit if worker.way != "start" else max(self.limit, START_SECONDS)
            if monotonic() - worker.since > limit:
                worker.process.kill()
                self._lost(worker, "hang", f"no answer within {self.limit:g} s")
            elif monotonic() > until:
                worker.process.kill()
                self._forget(worker)

    def _start(self, seed: int) -> None:
        if seed >= self.end:
            return
        command = [sys.executable, str(SCRIPT), "--worker", str(seed), str(self.end), "--ways", ",".join(self.names)]
        command += ["--ops", ",".join(self.ops)] if self.ops else []
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        self._worker = _Worker(process, seed)

    def _read(self, worker: _Worker, stream: IO[bytes]) -> None:
        # Without a buffer of Python's: `select` would not know of lines that wait in there.
        data = os.read(stream.fileno(), 1 << 16)
        if not data:
            code = worker.process.wait()
            self._lost(worker, "fault", f"the process ended with {code}")
            return
        *lines, worker.pending = (worker.pending + data).split(b"\n")
        for line in lines:
            self._hear(worker, json.loads(line))

    def _hear(self, worker: _Worker, message: dict[str, Any]) -> None:
        """Take in what a worker says."""
        worker.since = monotonic()
        if "way" in message:
            worker.seed, worker.way = message["seed"], message["way"]
        if "finding" in message:
            self._report(Finding(**message["finding"]))
        if "coverage" in message:
            self.coverage.merge(_unpacked(message["coverage"]))
        if message.get("done"):
            worker.process.wait()
            self._forget(worker)

    def _forget(self, worker: _Worker) -> None:
        self._worker = None
        worker.process.wait()
        _output(worker).close()

    def _report(self, finding: Finding) -> None:
        """Hand over a finding; meanwhile nobody listens to the worker, which is no hang of it."""
        self.report(finding)
        if self._worker is not None:
            self._worker.since = monotonic()

    def _lost(self, worker: _Worker, kind: str, text: str) -> None:
        self._forget(worker)
        self._report(Finding(worker.seed, worker.way, kind, text))
        self._start(worker.seed + 1)


def _output(worker: _Worker) -> IO[bytes]:
    stream = worker.process.stdout
    assert stream is not None, "it is a pipe"
    return stream
