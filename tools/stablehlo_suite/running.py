"""The ways to run a case, and what comes of it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
from fuse_dialect.fusion.inline import InlinePass
from stablehlo_suite.cases import Case, Check, cases_of
from stablehlo_suite.constants import Array, UnreadableError, read_dense, read_type
from stablehlo_suite.judging import complaint, exact_function, functions_in, is_near_sum, parts_of, sums_in, sums_up

FUNCTION_ULPS = 3
"""Greatest distance of a function from its value in f64: the suite's own limit."""


class Outcome(StrEnum):
    """What came of a case in one way."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One case, run in one way."""

    case: str
    way: str
    outcome: Outcome
    detail: str = ""
    """Why it was refused, or what is wrong."""
    checks: int = 1
    """How many results it looks at; 1 where that cannot be read."""
    has_arguments: bool = True
    """Whether its inputs came from outside."""


Way: TypeAlias = Callable[[ModuleOp, str, Sequence[Array]], Sequence[Array]]


def _numpy(module: ModuleOp, entry: str, inputs: Sequence[Array]) -> Sequence[Array]:
    return fd.run(module, *inputs, entry=entry)


def _fused(module: ModuleOp, entry: str, inputs: Sequence[Array]) -> Sequence[Array]:
    return fd.compile(module, backend="numpy", entry=entry, cache=False)(*inputs)


def _by_cost(module: ModuleOp, entry: str, inputs: Sequence[Array]) -> Sequence[Array]:
    return fd.compile(module, backend="numpy", entry=entry, cache=False, strategy="cost")(*inputs)


def _native(module: ModuleOp, entry: str, inputs: Sequence[Array]) -> Sequence[Array]:
    return fd.compile(module, entry=entry, cache=False)(*inputs)


WAYS: Mapping[str, Way] = {"numpy": _numpy, "fused": _fused, "cost": _by_cost, "native": _native}
"""`fd.run`; fused by TVM's rules and by cost, its kernels by their NumPy meaning; fused, as machine code."""


def verdicts_of(path: Path, ways: Sequence[str]) -> list[Verdict]:
    """All cases of a file in some ways.

    A case whose inputs must be known beforehand is run again with its inputs in the program.
    """
    given, written = list(cases_of(path)), list(cases_of(path, as_written=True))
    found: list[Verdict] = []
    for case, other in zip(given, written, strict=True):
        for way in ways:
            verdict = _verdict(case, way)
            if verdict.outcome is Outcome.REFUSED and case.inputs:
                again = _verdict(other, way)
                verdict = verdict if again.outcome is Outcome.REFUSED else again
            found.append(verdict)
    return found


def _verdict(case: Case, way: str) -> Verdict:
    def of(outcome: Outcome, detail: str = "") -> Verdict:
        return Verdict(case.name, way, outcome, detail, max(1, len(case.checks)), bool(case.inputs))

    if case.unreadable:
        return of(Outcome.REFUSED, case.unreadable)
    try:
        module = fd.parse(case.text)
        inputs = [read_dense(each.dense, read_type(each.type)) for each in case.inputs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = WAYS[way](module, case.entry, [*map(_in_pairs, inputs)])
        wrong = _complaints(case, inputs, results)
    except UnreadableError as error:
        return of(Outcome.REFUSED, str(error))
    except fd.FuseError as error:
        is_internal = "internal error" in error.message
        return of(Outcome.WRONG, error.message) if is_internal else of(Outcome.REFUSED, _reason(case, error))
    except Exception as error:  # whatever else a program lets out is a defect
        return of(Outcome.WRONG, f"{type(error).__name__}: {error}")
    return of(Outcome.WRONG, wrong) if wrong else of(Outcome.RIGHT)


def _in_pairs(array: Array) -> Array:
    """Complex numbers as programs take them."""
    return parts_of(array) if array.dtype.kind == "c" else array


def _of_pairs(actual: Array, expected: Array) -> Array:
    """Complex numbers of pairs that a program gives, where these are expected."""
    if expected.dtype.kind != "c" or actual.dtype.itemsize * 2 != expected.dtype.itemsize:
        return actual
    return np.ascontiguousarray(actual).view(expected.dtype).reshape(actual.shape[:-1])


def _complaints(case: Case, inputs: Sequence[Array], results: Sequence[Array]) -> str:
    exact = exact_function(case, inputs)
    for number, check in enumerate(case.checks):
        actual = results[number]
        if isinstance(check.expected, int):
            expected = results[check.expected]
        else:
            expected = read_dense(check.expected.dense, read_type(check.expected.type))
        actual = _of_pairs(actual, expected)
        wrong = complaint(check, actual, expected)
        if wrong and check.kind == "close" and (several := functions_in(case)) > 1:
            wrong = complaint(replace(check, ulps=(check.ulps[0], several * check.ulps[1])), actual, expected)
        if wrong and exact is not None:
            within = Check("close", check.expected, ulps=(0, FUNCTION_ULPS))
            wrong = complaint(within, actual, exact)
        if wrong and not (sums_up(case) and is_near_sum(check, actual, expected, sums_in(case))):
            return f"result {number}: {wrong}"
    return ""


def _reason(case: Case, error: fd.FuseError) -> str:
    """Why a case is refused: of a program that can be read, the op that no `fuse` op says, and what about it."""
    try:
        module = fd.parse(case.text)
        InlinePass().apply(Context(), module)
        ConvertStableHLOToFusePass(strict=True).apply(Context(), module)
    except OpError as first:
        return str(first)
    except Exception:  # the reason is then what the error says
        return error.message
    return error.message
