"""Runs IREE's end-to-end tests of ops by the NumPy meaning of the ops, before and after fusion, and counts them.

    python tools/run_iree_tests.py --iree CHECKOUT [--suites tosa_ops] [--ways plain tvm] [--only PART] [--verbose]

Each function of `tests/e2e/SUITE/*.mlir` without arguments is a case: a program with constants and checks. It is
*right* when it runs and all its checks pass; *refused* when a diagnosed error says what is not supported; *wrong* when
a check fails; everything else is an *internal* error. Ways: as written, and after `fuse-ops` with the strategies `tvm`
and `cost` and in the inline form. Refusals are counted by reason.

Exit code: 1 if a case is wrong or an error internal.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd

SUITES = ("stablehlo_ops", "tosa_ops", "tensor_ops", "linalg")
"""Folders of the tests of a checkout."""
_FUNCTION = re.compile(r"func\.func\s+(?:public\s+)?@([\w$.-]+)\s*\(\s*\)")
_FAILED = re.compile(r"op fails: ")


class Outcome(StrEnum):
    """What came of a case in one way."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One case, run in one way."""

    case: str
    way: str
    outcome: Outcome
    detail: str = ""


WAYS: Mapping[str, Callable[[ModuleOp], ModuleOp]] = {
    "plain": lambda module: module,
    "tvm": lambda module: fd.fuse_ops(module),
    "cost": lambda module: fd.fuse_ops(module, strategy="cost"),
    "inline": lambda module: fd.fuse_ops(module, form="inline"),
}
"""What is done to a module before it runs."""


def verdicts_of(path: Path, ways: Sequence[str]) -> list[Verdict]:
    """All cases of a file."""
    text = path.read_text()
    names = _FUNCTION.findall(re.sub(r"//.*", "", text))
    try:
        module = fd.parse(text, path.name)
    except fd.FuseError as error:
        return [Verdict(f"{path.name}/{name}", way, *_outcome(error)) for name in names for way in ways]
    return [_verdict(path.name, module, name, way) for name in names for way in ways]


def _verdict(file: str, module: ModuleOp, name: str, way: str) -> Verdict:
    try:
        fd.run(WAYS[way](_only(module, name)), entry=name)
    except fd.FuseError as error:
        return Verdict(f"{file}/{name}", way, *_outcome(error))
    except Exception as error:  # what is no diagnosis is what this looks for
        return Verdict(f"{file}/{name}", way, Outcome.INTERNAL, f"{type(error).__name__}: {error}")
    return Verdict(f"{file}/{name}", way, Outcome.RIGHT)


def _outcome(error: "fd.FuseError") -> tuple[Outcome, str]:
    message = str(error)
    if "internal error" in message:
        return Outcome.INTERNAL, message
    return (Outcome.WRONG if _FAILED.search(message) else Outcome.REFUSED), message


def _only(module: ModuleOp, name: str) -> ModuleOp:
    """A copy of the module with one function, and those that it calls."""
    copy = module.clone()
    functions = {op.sym_name.data: op for op in copy.ops if isinstance(op, func.FuncOp)}
    needed, pending = {name}, [name]
    while pending:
        for op in functions[pending.pop()].walk():
            callee = op.callee.string_value() if isinstance(op, func.CallOp) else None
            if callee in functions and callee not in needed:
                needed.add(callee)
                pending.append(callee)
    for op in list(copy.ops):
        if isinstance(op, func.FuncOp) and op.sym_name.data not in needed:
            op.detach()
            op.erase()
    return copy


def table(suite: str, verdicts: Sequence[Verdict], ways: Sequence[str]) -> str:
    """Counts of a suite, a line for each way."""
    lines: list[str] = []
    for way in ways:
        counts = Counter(each.outcome for each in verdicts if each.way == way)
        numbers = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
        lines.append(f"{suite:<14} {way:<7} {counts.total():>4} cases: {numbers}")
    return "\n".join(lines)


def reasons(verdicts: Iterable[Verdict]) -> Counter[str]:
    """Refused cases by reason, without what is peculiar to one of them."""
    found: dict[str, str] = {}
    for each in verdicts:
        if each.outcome is Outcome.REFUSED:
            line = each.detail.partition("\n")[0].partition("error: ")[2] or each.detail
            found.setdefault(each.case, re.sub(r"tensor<[^\s']*|\d+", "..", line))
    return Counter(found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites; 1 if a case is wrong, or an error internal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--iree", type=Path, required=True, metavar="DIR", help="a working tree of iree-org/iree")
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES), help="default: all")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="default: all")
    parser.add_argument("--only", default="", metavar="PART", help="files whose names contain this")
    parser.add_argument("--verbose", action="store_true", help="name every case that is refused")
    options = parser.parse_args(arguments)
    everything: list[Verdict] = []
    for suite in options.suites:
        files = sorted((options.iree / "tests" / "e2e" / suite).glob("*.mlir"))
        verdicts = [each for path in files if options.only in path.name for each in verdicts_of(path, options.ways)]
        print(table(suite, verdicts, options.ways), flush=True)
        everything += verdicts
    if not everything:
        print(f"no test of {', '.join(options.suites)} in {options.iree}", file=sys.stderr)
        return 1
    print("refused:")
    for reason, count in reasons(everything).most_common():
        print(f"{count:5} {reason}")
    bad = [each for each in everything if each.outcome in (Outcome.WRONG, Outcome.INTERNAL)]
    shown = [each for each in everything if each.outcome is Outcome.REFUSED] if options.verbose else []
    for each in (*bad, *shown):
        print(f"{each.outcome}: {each.case} ({each.way}): {each.detail}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
