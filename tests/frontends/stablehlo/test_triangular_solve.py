"""`triangular_solve` is what NumPy says of the triangle that the op reads, and refused where no `fuse` ops say it."""

from itertools import product

import numpy as np
import pytest
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass

BATCH, ROWS, COLUMNS = (2, 1), 5, 3
FLAGS = list(product([True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]))


def text(a: str, b: str, flags: tuple[bool, bool, bool, str]) -> str:
    """A program of one op."""
    left, lower, unit = (str(each).lower() for each in flags[:3])
    return f"""
    func.func @main(%a: {a}, %b: {b}) -> {b} {{
      %0 = "stablehlo.triangular_solve"(%a, %b) <{{
        left_side = {left}, lower = {lower}, unit_diagonal = {unit}, transpose_a = #stablehlo<transpose {flags[3]}>
      }}> : ({a}, {b}) -> {b}
      return %0 : {b}
    }}
    """


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_solution_is_that_of_the_triangle(flags: tuple[bool, bool, bool, str]) -> None:
    left, lower, unit, transposition = flags
    random = np.random.default_rng(0)
    a = random.standard_normal((*BATCH, ROWS, ROWS)) + 3 * np.eye(ROWS)
    b = random.standard_normal((*BATCH, ROWS, COLUMNS) if left else (*BATCH, COLUMNS, ROWS))
    triangle = (np.tril if lower else np.triu)(a)
    if unit:
        triangle = triangle - triangle * np.eye(ROWS) + np.eye(ROWS)
    matrix = triangle if transposition == "NO_TRANSPOSE" else triangle.swapaxes(-1, -2)
    if left:
        expected = np.linalg.solve(matrix, b)
    else:
        expected = np.linalg.solve(matrix.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)
    # What the op does not read may be anything.
    unread = np.ones((ROWS, ROWS)) - (np.tril if lower else np.triu)(np.ones((ROWS, ROWS)))
    a = np.where(unread + (np.eye(ROWS) if unit else 0) > 0, np.nan, a)
    types = "tensor<2x1x5x5xf64>", f"tensor<2x1x{'5x3' if left else '3x5'}xf64>"
    program = text(*types, flags)
    (found,) = fd.run(fd.parse(program), a, b)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    (compiled,) = fd.compile(fd.parse(program), cache=False)(a, b)
    np.testing.assert_allclose(compiled, expected, rtol=1e-9, atol=1e-12)


def test_nothing_to_solve() -> None:
    program = text("tensor<3x3xf32>", "tensor<3x0xf32>", (True, True, False, "NO_TRANSPOSE"))
    (found,) = fd.run(fd.parse(program), np.eye(3, dtype=np.float32), np.zeros((3, 0), np.float32))
    assert found.shape == (3, 0)


@pytest.mark.parametrize(
    ("a", "b", "transposition", "reason"),
    [
        ("tensor<3x3xf16>", "tensor<3x1xf16>", "NO_TRANSPOSE", "expects f32 or f64 elements, got f16"),
        ("tensor<3x3xf32>", "tensor<3x1xf32>", "TRANSPOSE_INVALID", "an invalid transposition"),
    ],
)
def test_what_is_not_said_is_refused(a: str, b: str, transposition: str, reason: str) -> None:
    module = fd.parse(text(a, b, (True, True, False, transposition)))
    with pytest.raises(OpError, match=reason):
        ConvertStableHLOToFusePass(strict=True).apply(Context(), module)
