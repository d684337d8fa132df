"""Runs the tests with expected values of a checkout of openxla/stablehlo, and counts them.

    python tools/run_stablehlo_tests.py CHECKOUT [--only PART] [--ways numpy native] [--jobs 2] [--verbose]

The suites are `stablehlo/testdata`, where JAX computed what is expected, `stablehlo/tests/interpret` and
`stablehlo/tests/math`. Each case runs as `fd.run` runs it, fused by TVM's rules and by cost on NumPy, and fused as
machine code. It is *right* when its results pass the suite's own checks, signs of zero included; *refused* when a
diagnosed error says what is not supported; everything else is *wrong*, internal errors as well. Inputs and expected
values are read by `stablehlo_suite/constants.py`, and not by the parser that is tested.

Refusals are counted by reason. Exit code: 1 if anything is wrong.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from checking.cluster import add_cluster, in_order
from stablehlo_suite.running import WAYS, Outcome, Verdict, verdicts_of

SUITES = ("testdata", "tests/interpret", "tests/math")
"""Folders of a checkout, below `stablehlo`."""


def files_of(checkout: Path, suite: str, only: str = "") -> list[Path]:
    """The files of a suite and of its folders whose names contain `only`, in order."""
    return sorted(path for path in (checkout / "stablehlo" / suite).rglob("*.mlir") if only in path.name)


def table(suite: str, verdicts: Sequence[Verdict], ways: Sequence[str]) -> str:
    """Counts of a suite, a line for each way; a file is right when all of its cases are."""
    lines: list[str] = []
    for way in ways:
        own = [each for each in verdicts if each.way == way]
        counts = Counter(each.outcome for each in own)
        numbers = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
        files = {_file_of(each) for each in own}
        right = len(files - {_file_of(each) for each in own if each.outcome is not Outcome.RIGHT})
        checks = sum(each.checks for each in own if each.outcome is Outcome.RIGHT)
        total = sum(each.checks for each in own)
        lines.append(
            f"{suite:<16} {way:<7} {counts.total()} cases: {numbers}; right are {right} of {len(files)} files and "
            f"{checks} of {total} checks"
        )
    return "\n".join(lines)


def _file_of(verdict: Verdict) -> str:
    return verdict.case.partition("/")[0]


def reasons(verdicts: Iterable[Verdict]) -> Counter[str]:
    """Refused cases by reason, without what is peculiar to one of them."""
    found: dict[str, str] = {}
    for each in verdicts:
        if each.outcome is Outcome.REFUSED:
            found.setdefault(each.case, re.sub(r"tensor<[^\s']*|\d+", "..", each.detail.partition("\n")[0]))
    return Counter(found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites; 1 if a case is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="a working tree of openxla/stablehlo")
    parser.add_argument("--only", default="", metavar="PART", help="files whose names contain this")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="default: all")
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES), help="default: all")
    add_cluster(parser)
    parser.add_argument("--verbose", action="store_true", help="name every case that is refused")
    options = parser.parse_args(arguments)
    everything: list[Verdict] = []
    for suite in options.suites:
        files = files_of(options.checkout, suite, options.only)
        found = in_order(options.cluster, partial(verdicts_of, ways=options.ways), files)
        verdicts = [verdict for each in found for verdict in each]
        print(table(suite, verdicts, options.ways), flush=True)
        everything += verdicts
    if not everything:
        print(f"no test of {', '.join(options.suites)} in {options.checkout}", file=sys.stderr)
        return 1
    print("refused:")
    for reason, count in reasons(everything).most_common():
        print(f"{count:5} {reason}")
    for each in everything:
        if each.outcome is Outcome.WRONG or (options.verbose and each.outcome is Outcome.REFUSED):
            print(f"{each.outcome}: {each.case} ({each.way}): {each.detail}")
    return int(any(each.outcome is Outcome.WRONG for each in everything))


if __name__ == "__main__":
    sys.exit(main())
