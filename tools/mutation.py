"""Mutants: small changes that a test must notice. Prints the score and what survives.

    python tools/mutation.py                                 all mutants; exit code 1 when one survives that should not
    python tools/mutation.py --only fuse_dialect.fusion      those whose names begin so
    python tools/mutation.py --only fuse_dialect.fusion --every 10    one of ten of them
    python tools/mutation.py --whole fuse_dialect.budget     every place of a module that the common rules find
    python tools/mutation.py --only fuse_dialect.fusion --list    what they change

Each mutant of `mutating/table.py` is a rule of `mutating/rules.py` at one place of a function, in a copy of the package
that shadows the installed one. The tests of its part of the package run on it until the first fails. A mutant that
takes more time or memory than all the tests need is killed, too: somebody waits for the run. Before that the tests run
on the package as it is: they must pass.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from checking.cluster import add_cluster, results_of
from mutating.mutant import ROOT, Mutant, mutants_of
from mutating.table import EQUIVALENT, MUTANTS, WHOLE
from mutating.tests_of_parts import FIRST, TESTS

MOST_SECONDS, MOST_BYTES = 240, 2 << 30
"""For one mutant; the tests of a part take a minute and 500 MB at most, two minutes where threads share a core."""


def part_of(mutant: Mutant) -> str:
    """The part of the package: the longest name of `TESTS` that the module stands below, or else its room."""
    return max((part for part in TESTS if f"{mutant.module}.".startswith(f"{part}.")), key=len)


def main() -> int:
    """Print a line for each mutant; 1 when one survives."""
    parser = argparse.ArgumentParser(description="Mutants, and the tests that notice them.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="mutants whose names begin so")
    parser.add_argument("--part", choices=tuple(TESTS), help="mutants of one part of the package")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of so many of them")
    parser.add_argument("--whole", metavar="MODULE", help="in place of the table: every place of a module")
    parser.add_argument("--list", action="store_true", help="print what the mutants change, and run nothing")
    add_cluster(parser)
    options = parser.parse_args()
    known = mutants_of({}, [options.whole]) if options.whole else mutants_of(MUTANTS, WHOLE)
    chosen = [each for each in known if str(each).startswith(options.only) and options.part in (None, part_of(each))]
    chosen = chosen[:: options.every]
    if options.list:
        for mutant in chosen:
            place = mutant.place()
            print(f"{mutant}\n    {mutant.file}:{place.line}: {_short(place.before)} -> {_short(place.after)}")
        return 0
    for part in dict.fromkeys(part_of(mutant) for mutant in chosen):
        _check_unchanged(part)
    verdicts: list[tuple[Mutant, bool]] = []
    for mutant, (is_killed, line) in results_of(options.cluster, _verdict, chosen):
        print(line, flush=True)
        verdicts.append((mutant, is_killed))
    counted = [(mutant, killed) for mutant, killed in verdicts if str(mutant) not in EQUIVALENT]
    killed = Counter(part_of(mutant) for mutant, is_killed in counted if is_killed)
    for folder, count in Counter(part_of(mutant) for mutant, _ in counted).items():
        print(f"{folder}: {killed[folder]} of {count}")
    total = sum(killed.values())
    print(f"{total} of {len(counted)} mutants killed ({100 * total / max(1, len(counted)):.0f} %)")
    return 1 if any(is_killed == (str(mutant) in EQUIVALENT) for mutant, is_killed in verdicts) else 0


def _check_unchanged(part: str) -> None:
    """The tests of a part pass, within the limits, on the package as it is; if they did not, they would kill all."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_package(folder)
        reason = _first_failure(folder, TESTS[part])
    if reason is not None:
        raise SystemExit(f"{part}: the tests do not pass on the package as it is: {reason}")


def _copy_package(folder: str) -> None:
    shutil.copytree(ROOT / "fuse_dialect", Path(folder) / "fuse_dialect", ignore=shutil.ignore_patterns("__pycache__"))


def _verdict(mutant: Mutant) -> tuple[bool, str]:
    """Whether a test notices a mutant, and a line that says so."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_package(folder)
        place = mutant.place()
        (Path(folder) / mutant.file).write_text(place.changed)
        reason = _first_failure(folder, _sorted_tests(mutant))
    same = EQUIVALENT.get(str(mutant), "")
    verdict = "killed" if reason is not None else "same" if same else "SURVIVED"
    change = f"line {place.line}: {_short(place.before)} -> {_short(place.after)}"
    return reason is not None, f"{verdict:8} {mutant} ({change}) {(reason or same)[:100]}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) < 60 else f"{words[:57]}..."


def _limit() -> None:
    """Limit the process that is about to run the tests; time of the processor, which other work does not change."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _sorted_tests(mutant: Mutant) -> list[str]:
    """The tests of the part, that one first that `FIRST` names, or those that are named after the file."""
    places = [place for place in FIRST if f"{mutant.module}.".startswith(f"{place}.")]
    name = FIRST[max(places, key=len)] if places else mutant.file.stem
    return sorted(TESTS[part_of(mutant)], key=lambda test: name not in test)


def _first_failure(folder: str, tests: Sequence[str]) -> str | None:
    """The first test that fails with the package in `folder`, or why there is none; `None` if all pass."""
    search = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    command += ["--hypothesis-profile=first-failure", "--hypothesis-seed=0", *tests]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": search, "FUSE_TEST_ANY_PACKAGE": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limit,
    )
    if not run.returncode:
        return None
    if run.returncode == -signal.SIGXCPU:
        return f"more than {MOST_SECONDS} s"
    failed = (line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))
    return next(failed, f"pytest ends with {run.returncode}").removeprefix("FAILED ")


if __name__ == "__main__":
    sys.exit(main())
