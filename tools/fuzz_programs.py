"""Random programs from the op registry, run in many ways that must agree with the unfused NumPy interpreter.

    python tools/fuzz_programs.py --seed 0 --count 1000 --jobs 2 --out findings

A seed makes a program of a few ops (`fuzzing/generator.py`) and chooses some of the ways to run it (`fuzzing/ways.py`):
as text, as ONNX, as StableHLO; fused by NumPy, or as machine code for several processors, between guard pages, with
random options. A finding is a wrong result, an error that is no diagnosed one, a fault, or a hang; it is made smaller
and written to the folder of `--out` as a test for lit. Exit code: 1 if there is a finding.

Plans are checked before they run; with `FUSE_CHECKED=1` kernels check every access to memory, too.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic

from checking.cluster import add_cluster, results_of
from fuzzing.coverage import Coverage
from fuzzing.generator import make_program
from fuzzing.program import RandomProgram
from fuzzing.reporting import write_finding
from fuzzing.running import PORTION, SCRIPT, Run, merged, portion, work
from fuzzing.shrinking import in_fork, shrink, smaller_programs, values_of
from fuzzing.structure_shrinking import write_structure
from fuzzing.ways import COMPLEX, STRUCTURES, VENDOR, WAYS, Finding, check, reference_of

from fuse_dialect import checked
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.fuse import ALL_OPS

MOST_SHRUNK = 2
"""Findings of one signature that are made smaller; more would be the same again."""
MOST_MISMATCHES = 30
"""The same for findings of which nothing but the way is known."""
SHRINK_SECONDS = 40.0
ENOUGH_PROGRAMS = 10_000
"""Programs after which each op must have been met with each structural edge that it can have."""
ENOUGH_STRUCTURES = 2000
"""Programs of structural edges after which each edge and each choice of options must have been met."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; 1 when there is a finding."""
    os.environ.setdefault(checked.VARIABLE, checked.PLANS)
    parser = argparse.ArgumentParser(description="Random programs from the op registry, run in many ways.")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default: 0)")
    parser.add_argument("--count", type=int, default=1000, help="programs (default: 1000)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long (default: no limit)")
    add_cluster(parser)
    parser.add_argument("--ways", type=_ways, default=tuple(WAYS), help=f"comma-separated, of {', '.join(WAYS)}")
    parser.add_argument("--ops", type=_ops, default=(), help="comma-separated: only seeds with one of them in focus")
    parser.add_argument("--out", type=Path, help="folder for findings, made smaller, as tests for lit")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for one way of one program (default: 30)")
    parser.add_argument("--no-table", action="store_true", help="leave out the table of what was met")
    parser.add_argument("--worker", nargs=2, type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--shrink", metavar="SEED:WAY", help="make the finding of a seed in one way smaller, to --out")
    options = parser.parse_args(arguments)
    if options.worker:
        first, end = options.worker
        work(first, end, options.ways, options.ops)
        return 0
    if options.shrink:
        return shrink_one(options.shrink, options.out or Path("findings"))
    try:
        return _run(options)
    except FuseError as error:
        print(error, file=sys.stderr)
        return 1


def _ways(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in WAYS]:
        raise argparse.ArgumentTypeError(f"no way '{unknown[0]}', there are {', '.join(WAYS)}")
    return names


def _ops(text: str) -> tuple[str, ...]:
    known = {op_class.name for op_class in ALL_OPS}
    names = tuple(f"fuse.{name.removeprefix('fuse.')}" for name in text.split(","))
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(f"no op '{unknown[0]}'")
    return names


def _run(options: argparse.Namespace) -> int:
    # It is left out of all ways, but who asks for it is told.
    if VENDOR in options.ways and options.ways != tuple(WAYS) and find_spec("onnxruntime") is None:
        raise FuseError(f"way '{VENDOR}' needs onnxruntime, which is not installed", hint="pip install onnxruntime")
    start, findings = monotonic(), Counter[str]()

    def report(finding: Finding) -> None:
        findings[finding.signature] += 1
        first, *others = finding.text.splitlines() or [""]
        print(f"seed {finding.seed}, {finding.way}: {finding.kind}: {first[:300]}", flush=True)
        if findings[finding.signature] == 1 and others:
            print("".join(f"    {line}\n" for line in others), end="", flush=True)
        most = MOST_SHRUNK if finding.kind == "error" else MOST_MISMATCHES
        if options.out is not None and findings[finding.signature] <= most:
            place = [f"{finding.seed}:{finding.way}", "--out", str(options.out)]
            subprocess.run([sys.executable, str(SCRIPT), "--shrink", *place], check=False)

    end = options.seed + options.count
    if options.cluster is None:
        run = Run(options.seed, end, options.ways, options.limit, report, options.ops)
        run.go(start + 60 * options.minutes)
        coverage = run.coverage
    else:
        coverage = _on_cluster(options, end, report, start + 60 * options.minutes)
    seconds = monotonic() - start
    structural = _structural(coverage)
    if not options.no_table:
        print(coverage.table())
        print(coverage.edges_of_ops())
        print(coverage.structural())
    if coverage.own:
        print(coverage.own_programs())
    for signature, count in findings.most_common():
        print(f"{count:>6}  {signature}")
    programs = coverage.programs
    rate = programs / max(seconds, 1e-9)
    print(f"seeds {options.seed} to {end - 1}: {programs} programs, {rate:.1f} a second, {findings.total()} findings")
    for name in structural:
        print(f"never met: {name}")
    return 1 if findings or structural else 0


def _on_cluster(options: argparse.Namespace, end: int, report: Callable[[Finding], None], until: float) -> Coverage:
    """Run everything on a cluster, a portion of seeds at a time; what was met."""
    coverage = Coverage()
    portions = [(first, min(first + PORTION, end)) for first in range(options.seed, end, PORTION)]
    call = partial(portion, names=options.ways, limit=options.limit, ops=options.ops)
    for _, (findings, met) in results_of(options.cluster, call, portions):
        for finding in findings:
            report(finding)
        merged(coverage, met)
        if monotonic() > until:
            break
    return coverage


def _structural(coverage: Coverage) -> list[str]:
    """Rows of structures that a run should have met and has not; a short run need not meet all."""
    programs = sum(count for (kind, _), count in coverage.structures.items() if kind == "options")
    missing = coverage.never() if programs >= ENOUGH_STRUCTURES else []
    return [*missing, *(coverage.edges_never() if coverage.programs >= ENOUGH_PROGRAMS else [])]


def shrink_one(place: str, folder: Path) -> int:
    """Make one finding smaller and write it; 1 if there is one."""
    warnings.simplefilter("ignore")
    number, _, way = place.partition(":")
    if way == STRUCTURES:
        return shrink_structure(int(number), folder)
    if way in (VENDOR, COMPLEX):
        return 0  # a few steps, which the finding names
    program = make_program(int(number))
    if program is None or way not in WAYS:
        return 0
    seen = _finding(program, way)
    if seen is None:
        print(f"seed {number}, {way}: nothing is wrong any more")
        return 0

    def holds(candidate: RandomProgram) -> bool:
        found = _finding(candidate, way)
        return found is not None and found.signature == seen.signature

    smallest = shrink(program, smaller_programs, holds, SHRINK_SECONDS)
    finding = _finding(smallest, way) or seen
    ops = ", ".join(step.op_class.name.removeprefix("fuse.") for step in smallest.steps)
    print(f"    {write_finding(folder, finding, smallest)}: {ops}: {finding.text.splitlines()[0][:200]}")
    return 1


def shrink_structure(seed: int, folder: Path) -> int:
    """Write the program of the fewest edges that shows the finding of a seed; 1 if there is one."""
    path = write_structure(folder, seed)
    print(f"    {path}" if path else f"seed {seed}, {STRUCTURES}: nothing is wrong any more")
    return 1 if path else 0


def _finding(program: RandomProgram, way: str) -> Finding | None:
    """What is wrong with a program in one way, found in a fork, which hands it over in a file."""
    with NamedTemporaryFile("w+", suffix=".json") as file:

        def attempt() -> int:
            reference = reference_of(program)
            if reference is not None and values_of(program) is None:
                return 0
            finding = check(program, reference, way)
            if finding is None:
                return 0
            Path(file.name).write_text(json.dumps(asdict(finding)))
            return 1

        status = in_fork(attempt)
        if status == 1:
            return Finding(**json.loads(Path(file.name).read_text()))
    if status == 128 + signal.SIGALRM:
        return Finding(program.seed, way, "hang", "no answer")
    return Finding(program.seed, way, "fault", f"signal {status - 128}") if status >= 128 else None


if __name__ == "__main__":
    sys.exit(main())
