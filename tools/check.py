"""Run every check of the project: `python tools/check.py`, in an environment with the extra `all`.

All steps run, also after one has failed, and a summary closes the output. Exit code: 0 all passed, 1 otherwise.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sys.executable).parent
"""Where the environment that runs this file keeps its commands; not resolved, because that would leave the venv."""


@dataclass(frozen=True, slots=True)
class Step:
    """One check."""

    name: str
    """How `--only` and the summary call it."""
    command: Sequence[str]
    """A script of the environment, then its arguments."""


def steps(jobs: int) -> tuple[Step, ...]:
    """All checks, quick ones first."""
    return (
        Step("lint", ("ruff", "check", ".")),
        Step("format", ("ruff", "format", "--check", ".")),
        Step("imports", ("lint-imports",)),
        Step("types", ("basedpyright", "--pythonpath", sys.executable)),
        Step("pytest", ("pytest", "-q", "-n", str(jobs))),
        Step("filecheck", ("lit", "-sv", "-j", str(jobs), "tests/filecheck")),
    )


def main() -> int:
    """Run the steps that the command line asks for; returns the exit code."""
    names = [step.name for step in steps(1)]
    parser = argparse.ArgumentParser(description="Run every check of the project.")
    parser.add_argument("--only", action="append", choices=names, help="run this step alone; may be repeated")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes for the tests (default: %(default)s)")
    options = parser.parse_args()
    chosen = [step for step in steps(options.jobs) if options.only is None or step.name in options.only]
    results = [(step, *_run(step)) for step in chosen]
    print("\nsummary:")
    for step, code, seconds in results:
        verdict = "ok" if code == 0 else f"FAILED, exit code {code}"
        print(f"  {step.name:<10} {seconds:7.1f} s  {verdict}")
    return int(any(code != 0 for _, code, _ in results))


def _run(step: Step) -> tuple[int, float]:
    """Exit code and seconds of one step, whose output goes through."""
    print(f"\n--- {step.name}: {' '.join(step.command)}", flush=True)
    start = perf_counter()
    try:
        code = subprocess.run((str(SCRIPTS / step.command[0]), *step.command[1:]), cwd=ROOT, check=False).returncode
    except OSError as error:
        print(f"error: cannot run '{step.command[0]}': {error.strerror}", file=sys.stderr)
        print('hint: pip install ".[all]"', file=sys.stderr)
        code = 127
    return code, perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
