"""Whether a result is what a check wants, as the checks of the suite are defined.

Three kinds of results may miss a check of units in the last place and be right:

1. A sum, whose error is one of its terms: where they cancel out, the sum of the suite is as far from the exact one.
   Its units are those of the largest element expected.
2. A function of which the suite's own value is further from the exact one: f64 decides.
3. A program of several functions, of which each may be off by the units that a check allows: they add up.

Source of the checks: stablehlo/tests/CheckOps.cpp of openxla/stablehlo.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stablehlo_suite.cases import Case, Check
from stablehlo_suite.constants import Array

_FARTHEST = 2**64 - 1
_ADDS = re.compile(r"stablehlo\.add\b")
_COMBINES = re.compile(r"stablehlo\.(?:reduce|reduce_window|scatter|select_and_scatter)\b")
_PRODUCTS = re.compile(r"stablehlo\.(?:fft|dot_general|convolution|dynamic_conv|triangular_solve)\b")
_LENGTHS = re.compile(r"stablehlo\.fft[^\n]*length = \[([^\]]*)\]")
_OP = re.compile(r"\b(?:stablehlo|chlo)\.(?!constant|custom_call)(\w+)")
_ROUNDED = re.compile(
    r"(?:stablehlo\.(?:log|log_plus_one|exponential|exponential_minus_one|power|cosine|sine|tanh|logistic)"
    r"|chlo\.(?:erf_inv|erfc?|lgamma))\b"
)
_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "cosh": np.cosh,
    "exponential_minus_one": np.expm1,
    "sinh": np.sinh,
    "tanh": np.tanh,
}
"""Functions whose expected values were not computed exactly enough for the checks."""


def sums_up(case: Case) -> bool:
    """Whether a program adds several elements to one."""
    return bool(_PRODUCTS.search(case.text) or (_COMBINES.search(case.text) and _ADDS.search(case.text)))


def functions_in(case: Case) -> int:
    """How many ops of a program are functions that are rounded (3)."""
    return len(_ROUNDED.findall(case.text))


def sums_in(case: Case) -> int:
    """How many sums follow one another for one element: a transform has one for each axis."""
    return max([len(each.split(",")) for each in _LENGTHS.findall(case.text)], default=1)


def is_near_sum(check: Check, actual: Array, expected: Array, sums: int = 1) -> bool:
    """Whether a sum, or so many after one another, is within the check's units at the scale of all sums (1)."""
    if actual.dtype.kind == "c" and actual.shape == expected.shape and actual.dtype == expected.dtype:
        return is_near_sum(check, parts_of(actual), parts_of(expected), sums)
    if (
        check.kind != "close"
        or actual.dtype.kind in "biuc"
        or actual.shape != expected.shape
        or not np.isfinite(expected).all()
    ):
        return False
    scale = np.spacing(np.abs(expected).max(initial=0))
    bound = sums * check.ulps[1] * float(scale)
    return bool((np.abs(actual.astype(np.float64) - expected.astype(np.float64)) <= bound).all())


def exact_function(case: Case, inputs: Sequence[Array]) -> Array | None:
    """What a program of one function gives in f64 (2); `None` if it is none of those that NumPy has there."""
    names = _OP.findall(case.text)
    if len(names) != 1 or names[0] not in _FUNCTIONS or len(inputs) != 1:
        return None
    return _FUNCTIONS[names[0]](inputs[0].astype(np.float64)).astype(inputs[0].dtype)


def complaint(check: Check, actual: Array, expected: Array) -> str:
    """What is wrong with a result; nothing if it is right.

    Args:
        check: What is wanted.
        actual: The result.
        expected: An array of the type that it must have.
    """
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype} of shape {actual.shape}, expected {expected.dtype} of shape {expected.shape}"
    good = np.atleast_1d(_good(check, actual, expected))
    if good.all():
        return ""
    place = tuple(int(index) for index in np.argwhere(~good)[0])
    where = list(place) if actual.ndim else []
    got, wanted = (np.atleast_1d(each)[place] for each in (actual, expected))
    return f"{np.count_nonzero(~good)} of {good.size} differ, at {where} {got} is not {wanted} ({check.kind})"


def parts_of(numbers: Array) -> Array:
    """Real and imaginary parts of complex numbers, along a last axis."""
    part = np.dtype(f"float{numbers.dtype.itemsize * 4}")
    return np.stack([numbers]).view(part).reshape(*numbers.shape, 2)


def _good(check: Check, actual: Array, expected: Array) -> npt.NDArray[np.bool_]:
    if actual.dtype.kind == "c":
        return np.logical_and.reduce(_good(check, parts_of(actual), parts_of(expected)), axis=-1)
    if actual.dtype.kind in "biu" or check.kind == "eq":
        return same(actual, expected)
    if check.kind == "almost_eq":
        wide, reference = actual.astype(np.float64), expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(wide - reference) <= check.tolerance  # nan and infinity are near nothing
        return near | same(actual, expected)
    least, most = check.ulps
    distance = ulps_between(actual, expected)
    finite = np.isfinite(actual) & np.isfinite(expected)
    # What is not finite is next to nothing, and as far from all else as 64 bits can say.
    others = np.where(same(actual, expected), least == 0, most == _FARTHEST)
    return np.where(finite, (distance >= least) & (distance <= most), others)


def same(actual: Array, expected: Array) -> npt.NDArray[np.bool_]:
    """Where values are equal, signs of zero as well, or are both not a number."""
    if actual.dtype.kind in "biu":
        return actual == expected
    numbers = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
    return numbers | (np.isnan(actual) & np.isnan(expected))


def ulps_between(actual: Array, expected: Array) -> npt.NDArray[Any]:
    """How many floats lie between the elements of two arrays; the zeros are one float."""
    return np.abs(_order(actual) - _order(expected))


def _order(values: Array) -> npt.NDArray[Any]:
    """Numbers in the order of floats, in Python's integers where 64 bits would overflow."""
    bits = values.dtype.itemsize * 8
    unsigned = values.view(f"uint{bits}").astype(object if bits == 64 else np.int64)
    magnitude = unsigned & ((1 << (bits - 1)) - 1)
    return np.where(np.signbit(values), -magnitude, magnitude)
