"""Meanings of checks: ops that compare results with what is expected, and fail where they differ.

1. Floats are equal if `==` says so, or both are nan. IREE compares bytes instead, StableHLO the sign of zero, too.
2. `expect_almost_eq` allows `atol + rtol * |expected|`, by default 1e-4 and 0; StableHLO's `tolerance` is `atol`.
3. `expect_close` counts the floats between two; what is not finite must be the same.

Source: iree/compiler/Modules/Check/IR/CheckOps.td; stablehlo/tests/CheckOps.td.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.constants import evaluate_attribute
from fuse_dialect.interpreters.foreign.meaning import Meaning, Rows, Surroundings, attribute_of, number_of
from fuse_dialect.interpreters.foreign.no_meaning import no_meaning
from fuse_dialect.interpreters.values import EvaluationError

_TOLERANCE = 1e-4
_CALLED_TOLERANCE = 1e-3
"""Of a check that is a `custom_call`."""


def _same(actual: Array, expected: Array) -> "npt.NDArray[np.bool_]":
    equal = np.asarray(actual == expected)
    return equal if actual.dtype.kind in "biu" else equal | (np.isnan(_wide(actual)) & np.isnan(_wide(expected)))


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "V" else array


def _fail(op: Operation, good: "npt.NDArray[np.bool_]", actual: Array, expected: Array, limit: str = "") -> None:
    """Raise an error that names the first element that is not as expected, if there is one."""
    if good.all():
        return
    place = np.unravel_index(int(np.argmin(good)), good.shape)
    where = f" at {[int(axis) for axis in place]}" if actual.ndim else ""
    number = f"{np.count_nonzero(~good)} of {good.size} elements differ: " if actual.ndim else ""
    raise EvaluationError(op, f"fails: {number}expects {expected[place]}{where}, got {actual[place]}{limit}")


def _expected(op: Operation, operands: Sequence[Array]) -> tuple[Array, Array]:
    """What is checked and what is expected."""
    actual = operands[0]
    expected = operands[1] if len(operands) > 1 else evaluate_attribute(op, attribute_of(op, "value"))
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        got, wanted = (f"{each.dtype} of shape {list(each.shape)}" for each in (actual, expected))
        raise EvaluationError(op, f"fails: expects {wanted}, got {got}")
    return actual, expected


def _equal(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    actual, expected = _expected(op, operands)
    _fail(op, _same(actual, expected), actual, expected)
    return ()


def _almost(default: float) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        actual, expected = _expected(op, operands)
        given, relative = (number_of(op, name) for name in ("atol", "rtol"))
        atol = number_of(op, "tolerance") if given is None else given
        atol, rtol = default if atol is None else atol, 0.0 if relative is None else relative
        wide, reference = actual.astype(np.float64), expected.astype(np.float64)
        near = np.isfinite(reference) & (np.abs(wide - reference) <= atol + rtol * np.abs(reference))
        _fail(op, _same(actual, expected) | near, actual, expected, f" (atol {atol:g}, rtol {rtol:g})")
        return ()

    return meaning


def _close(default: int) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        actual, expected = _expected(op, operands)
        least, most = (number_of(op, f"{name}_ulp_difference") for name in ("min", "max"))
        # They are unsigned, and the type keeps the greatest of them as -1.
        least, most = int(least or 0) % (1 << 64), default if most is None else int(most) % (1 << 64)
        distance = np.abs(_order(actual) - _order(expected))
        finite = np.isfinite(_wide(actual)) & np.isfinite(_wide(expected))
        good = np.where(finite, (distance >= least) & (distance <= most), _same(actual, expected))
        _fail(op, np.asarray(good, np.bool_), actual, expected, f" (from {least} to {most} units in the last place)")
        return ()

    return meaning


def _order(values: Array) -> "npt.NDArray[Any]":
    """Numbers in the order of floats, in Python's integers: 64 bits would overflow."""
    bits = 8 * values.dtype.itemsize
    codes = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").reshape(values.shape).astype(object)
    magnitude = codes & ((1 << (bits - 1)) - 1)
    return np.where(codes >> (bits - 1) == 1, -magnitude, magnitude)


def _is(expected: bool) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        actual = np.asarray(operands[0] != 0, np.bool_)
        _fail(op, np.asarray(actual == expected), operands[0], np.full(actual.shape, int(expected)))
        return ()

    return meaning


_CALLED: Rows = {
    "check.eq": _almost(_TOLERANCE),
    "check.expect_almost_eq": _almost(_CALLED_TOLERANCE),
    "check.expect_close": _close(3),
    "check.expect_eq": _equal,
}
"""Checks that are calls, by their target.

Source: stablehlo/reference/Api.cpp and tools/StablehloTranslateMain.cpp of openxla/stablehlo.
"""


def _called(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    target = attribute_of(op, "call_target_name")
    name = target.data if isinstance(target, StringAttr) else ""
    if name not in _CALLED or len(operands) != 2:
        raise no_meaning(op)
    if name == "check.eq" and operands[0].dtype.kind in "biu":
        return _equal(op, operands, around)
    return _CALLED[name](op, operands, around)


MEANINGS: Rows = {
    "check.expect_all_true": _is(True),
    "check.expect_almost_eq": _almost(_TOLERANCE),
    "check.expect_almost_eq_const": _almost(_TOLERANCE),
    "check.expect_close": _close(1),
    "check.expect_eq": _equal,
    "check.expect_eq_const": _equal,
    "check.expect_false": _is(False),
    "check.expect_true": _is(True),
    "stablehlo.custom_call": _called,
}
