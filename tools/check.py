"""Run the checks of the project: `python tools/check.py`, in an environment with the extra `all`.

    python tools/check.py            everything, as continuous integration does
    python tools/check.py --quick    under a minute: no types, the units of fusion and tools, two FileCheck files
    python tools/check.py --changed  what belongs to the files that differ from `main`
    python tools/check.py --target-cpu haswell   everything, with the code of an older processor (`FUSE_TARGET_CPU`)

On x86 everything includes the tests of backends with the code of a processor that has AVX2 and no more, and the tests
that compare sums with NumPy's with NumPy as it is on other processors: `--only sums-haswell`.

All steps run, also after one has failed, and a summary closes the output. Those that run no tests of pytest run beside
those that do, where one process of several has nothing to do: what a step prints follows when it has ended, whole.
What LLVM has made of a text is kept for the run (`checking/kept_objects.py`). A step that prints nothing for a while is
reported as running. Exit code: 0 all passed, 1 otherwise.
"""

import argparse
import io
import os
import platform
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sys.executable).parent
"""Where the environment that runs this file keeps its commands; not resolved, because that would leave the venv."""
SILENCE = 20.0
"""Seconds without output after which a step is reported as running."""
OLDER = "haswell"
"""The processor whose code is tested besides that of the machine: AVX2, and nothing for bf16."""
X86 = ("x86_64", "AMD64")
VARIABLE = "FUSE_TARGET_CPU"
NOT_SLOW = ("-m", "not slow")
OF_CODE = ("-m", "not slow and not interpreted")
"""Tests that depend on the code that is made."""
SITE = ("sphinx-build", "-W", "--keep-going", "-q", "-b", "dummy", "docs", "build/site")
"""What the site is made of is read and resolved, and a warning is an error; nothing is written: that takes longest."""
QUICK_TESTS = (
    "tests/fusion",
    "tests/hardware",
    "tests/tools/test_check.py",
    "tests/tools/test_fuse_opt.py",
    "tests/tools/test_pass_flags.py",
    "tests/tools/test_reference.py",
    "tests/transforms/test_fuse_ops.py",
)
"""What breaks first, and takes little."""


@dataclass(frozen=True, slots=True)
class Step:
    """One check."""

    name: str
    """How `--only` and the summary call it."""
    command: Sequence[str]
    """A script of the environment, then its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that stand besides those of this process."""


def steps(jobs: int) -> tuple[Step, ...]:
    """All checks, quick ones first."""
    tests = ("pytest", "-q", "-rs", "-n", str(jobs))
    older = Step(OLDER, (*tests, *OF_CODE, "tests/backends"), {VARIABLE: OLDER})
    elsewhere = (older, *sum_steps(tests)) if platform.machine() in X86 else ()
    # Every op natively, where kernels compare each access with the bounds of its array.
    checked = Step("checked", (*tests, *OF_CODE, "tests/backends/conformance"), {"FUSE_CHECKED": "1"})
    return (
        Step("lint", ("ruff", "check", ".")),
        Step("format", ("ruff", "format", "--check", ".")),
        Step("imports", ("lint-imports",)),
        Step("types", ("basedpyright", "--pythonpath", sys.executable)),
        Step("pytest", tests),
        checked,
        *elsewhere,
        *((Step("docs", SITE),) if find_spec("sphinx") is not None else ()),
        Step("filecheck", ("lit", "-sv", "-j", str(jobs), "tests/filecheck")),
    )


def sum_steps(tests: Sequence[str]) -> tuple[Step, ...]:
    """The tests that compare sums with NumPy's, with NumPy as on each processor that this one can stand for."""
    if find_spec("numpy") is None or find_spec("xdsl") is None:
        return ()  # the first step says what to install
    from checking.machine import other_processors
    from checking.sums import files_with_sums

    files = [str(path.relative_to(ROOT)) for path in files_with_sums(ROOT / "tests")]
    command = (*tests, "-m", "sums and not slow", *files)
    return tuple(Step(f"sums-{other.name}", command, other.environment()) for other in other_processors())


def quick_steps(jobs: int) -> tuple[Step, ...]:
    """Checks of under a minute together."""
    lint, format, imports, _, pytest, *_ = steps(jobs)
    smoke = ("tests/filecheck/tools/errors.mlir", "tests/filecheck/transforms/fuse-ops/outlining.mlir")
    tests = Step("pytest", (*pytest.command, *NOT_SLOW, *QUICK_TESTS))
    return (lint, format, imports, tests, Step("filecheck", ("lit", "-sv", "-j", str(jobs), *smoke)))


def changed_steps(jobs: int, files: Iterable[str]) -> tuple[Step, ...]:
    """Checks of what belongs to the files: their types, the tests of their parts of the package, and what is cheap.

    A file that belongs to no part, such as `pyproject.toml`, asks for everything.
    """
    names = [name for name in files if not name.endswith(".md")]
    parts = {_part_of(name) for name in names}
    if None in parts:
        return steps(jobs)
    lint, format, imports, types, pytest, *_, filecheck = steps(jobs)
    sources = [name for name in names if name.startswith(("fuse_dialect/", "tools/")) and name.endswith(".py")]
    folders = sorted(f"tests/{part}" for part in parts if part and (ROOT / "tests" / part).is_dir())
    texts = sorted(f"tests/filecheck/{part}" for part in parts if part and (ROOT / "tests/filecheck" / part).is_dir())
    chosen = [lint, format, imports]
    if sources:
        chosen.append(Step("types", (*types.command, *sources)))
    if folders:
        chosen.append(Step("pytest", (*pytest.command, *NOT_SLOW, *folders)))
    if texts:
        chosen.append(Step("filecheck", (*filecheck.command[:-1], *texts)))
    return tuple(chosen)


def _part_of(name: str) -> str | None:
    """The part of the package that a file belongs to: `fusion`, `tools`, ...; `None` if it may be all of them."""
    folders = list(Path(name).parts)
    if folders[0] == "tools":
        return "tools"
    if folders[:2] == ["tests", "filecheck"] and len(folders) > 3:
        return folders[2]
    if folders[0] in ("fuse_dialect", "tests") and len(folders) > 2:
        return folders[1]
    return "" if folders[0] == "docs" else None


def changed_files(base: str) -> list[str]:
    """The files that differ from where the branch left `base`, and those that git does not know yet.

    Raises:
        SystemExit: There is no such commit.
    """
    start = _git("merge-base", "HEAD", base)
    if not start:
        sys.exit(f"error: git finds no common commit with '{base}'\nhint: --changed=COMMIT names another one")
    names = [*_git("diff", "--name-only", start[0]), *_git("ls-files", "--others", "--exclude-standard")]
    return sorted(name for name in dict.fromkeys(names) if (ROOT / name).exists())


def _git(*arguments: str) -> list[str]:
    return subprocess.run(
        ("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()


def main() -> int:
    """Run the steps that the command line asks for; returns the exit code."""
    names = [step.name for step in steps(1)]
    parser = argparse.ArgumentParser(description="Run the checks of the project.")
    parser.add_argument("--only", action="append", choices=names, help="run this step alone; may be repeated")
    parser.add_argument("--quick", action="store_true", help="what takes under a minute")
    parser.add_argument(
        "--changed", nargs="?", const="main", metavar="BASE", help="what belongs to files that differ from BASE (main)"
    )
    parser.add_argument("--target-cpu", metavar="NAME", help="test the code of this processor instead of the machine's")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes for the tests (default: %(default)s)")
    options = parser.parse_args()
    if options.changed is not None:
        available = changed_steps(options.jobs, changed_files(options.changed))
    else:
        available = quick_steps(options.jobs) if options.quick else steps(options.jobs)
    chosen = [step for step in available if options.only is None or step.name in options.only]
    if options.target_cpu is not None:
        os.environ[VARIABLE] = options.target_cpu
    print("\n".join(machine_lines()))
    start = perf_counter()
    with TemporaryDirectory() as objects:
        os.environ["FUSE_TEST_OBJECTS"] = objects
        results = run_side_by_side(chosen)
    print("\nsummary:")
    for step, code, seconds in results:
        verdict = "ok" if code == 0 else f"FAILED, exit code {code}"
        print(f"  {step.name:<13} {seconds:7.1f} s  {verdict}")
    print(f"  {'together':<13} {perf_counter() - start:7.1f} s")
    return int(any(code != 0 for _, code, _ in results))


def machine_lines() -> list[str]:
    """What numbers depend on here; nothing where NumPy is missing."""
    if find_spec("numpy") is None:
        return []
    from checking.machine import description

    return description()


def run_side_by_side(chosen: Sequence[Step]) -> list[tuple[Step, int, float]]:
    """Run steps, those of pytest in one row and the others in another; their exit codes and seconds, in their order."""
    rows = [[step for step in chosen if (step.command[0] == "pytest") == is_pytest] for is_pytest in (True, False)]
    kept = all(rows)

    def run(row: Sequence[Step]) -> dict[str, tuple[int, float]]:
        return {step.name: _run(step, kept=kept) for step in row}

    with ThreadPoolExecutor(len(rows)) as threads:
        found = {name: result for results in threads.map(run, rows) for name, result in results.items()}
    return [(step, *found[step.name]) for step in chosen]


def _run(step: Step, *, kept: bool) -> tuple[int, float]:
    """Exit code and seconds of one step, whose output goes through, or follows as a whole if it is `kept`."""
    settings = [f"{name}='{value}'" for name, value in step.environment.items()]
    head = f"\n--- {step.name}: {' '.join((*settings, *step.command))}"
    print(f"[{step.name} begins]" if kept else head, flush=True)
    output = io.StringIO()
    start = perf_counter()
    try:
        command = (str(SCRIPTS / step.command[0]), *step.command[1:])
        code = run_aloud(command, step.name, environment=step.environment, to=output if kept else None)
    except OSError as error:
        print(f"error: cannot run '{step.command[0]}': {error.strerror}", file=sys.stderr)
        print('hint: pip install ".[all]"', file=sys.stderr)
        code = 127
    if kept:
        print(f"{head}\n{output.getvalue()}", flush=True)  # in one piece: other steps print, too
    return code, perf_counter() - start


def run_aloud(
    command: Sequence[str],
    name: str,
    silence: float = SILENCE,
    environment: Mapping[str, str] | None = None,
    to: TextIO | None = None,
) -> int:
    """Run a command, pass its output on, and say that it runs whenever it has been silent for some seconds.

    Args:
        command: A file to run, and its arguments.
        name: What it is called where it is said to run.
        silence: So many seconds.
        environment: Variables besides those of this process.
        to: Where its output goes, by default to this one's.

    Raises:
        OSError: There is no such command.
    """
    start = perf_counter()
    pending: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    variables = {**os.environ, **(environment or {})}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0, env=variables
    ) as process:
        stream = process.stdout
        assert stream is not None, "a pipe was asked for"

        def read() -> None:
            while chunk := stream.read(4096):
                pending.put(chunk)
            pending.put(b"")

        threading.Thread(target=read, daemon=True).start()
        at_line_start = True
        while True:
            try:
                chunk = pending.get(timeout=silence)
            except queue.Empty:
                lead = "" if at_line_start else "\n"
                print(f"{lead}[{name} is running, {perf_counter() - start:.0f} s]", flush=True)
                at_line_start = True
                continue
            if not chunk:
                break
            (to or sys.stdout).write(chunk.decode("utf-8", "replace"))
            sys.stdout.flush()
            at_line_start = to is not None or chunk.endswith(b"\n")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
