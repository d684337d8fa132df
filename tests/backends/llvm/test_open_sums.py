"""Products that add up over an axis of unknown length are products in tiles, whatever the sizes turn out to be."""

from itertools import product

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees

import fuse_dialect as fd

pytestmark = pytest.mark.sums

DEPTHS = (0, 1, 3, 17, 255, 256, 257, 600)
"""None, some, and about one block and two."""


def _program(rows: str, columns: str, *, is_turned: bool) -> str:
    rhs = f"tensor<2x{columns}x?xf32>" if is_turned else f"tensor<2x?x{columns}xf32>"
    lhs, result = f"tensor<2x{rows}x?xf32>", f"tensor<2x{rows}x{columns}xf32>"
    return f"""func.func @main(%x: {lhs}, %y: {rhs}) -> {result} {{
  %p = fuse.batch_matmul %x, %y, transpose_b = {str(is_turned).lower()} : ({lhs}, {rhs}) -> {result}
  %r = fuse.relu %p : {result}
  return %r : {result}
}}"""


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [*product(["1", "5", "?"], ["7", "32", "?"])])
def test_any_depth(rows: str, columns: str, *, is_turned: bool) -> None:
    module = fd.parse(_program(rows, columns, is_turned=is_turned))
    program = fd.compile(module, cache=False)
    (kernel,) = program.kernels
    assert kernel.family == "contraction" or (rows == "1" and is_turned)
    rng = np.random.default_rng(0)
    for depth in DEPTHS:
        m, n = (13 if size == "?" else int(size) for size in (rows, columns))
        x = rng.standard_normal((2, m, depth)).astype(np.float32)
        y = rng.standard_normal((2, n, depth) if is_turned else (2, depth, n)).astype(np.float32)
        assert_agrees(module, [x, y], program(x, y))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("element", ["f64", "i32"])
def test_other_elements_and_threads(element: str, threads: int) -> None:
    module = fd.parse(_program("?", "?", is_turned=False).replace("f32", element))
    program = fd.compile(module, threads=threads, cache=False)
    rng = np.random.default_rng(0)
    dtype = np.float64 if element == "f64" else np.int32
    for m, depth, n in [(1, 300, 1), (70, 513, 90), (2, 0, 3), (0, 5, 4)]:
        x, y = ((9 * rng.standard_normal(shape)).astype(dtype) for shape in [(2, m, depth), (2, depth, n)])
        assert_agrees(module, [x, y], program(x, y))


def test_sums_of_halves_are_rounded_once() -> None:
    """Sums of a block would wait in the result, which does not hold them: those go another way."""
    module = fd.parse(_program("?", "?", is_turned=False).replace("f32", "f16"))
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float16) for shape in [(2, 5, 600), (2, 600, 9)])
    assert_agrees(module, [x, y], fd.compile(module, cache=False)(x, y))
