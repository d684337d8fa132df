"""The bounds that tests use: sums in any order keep them, and what is wrong does not."""

from collections.abc import Callable

import numpy as np
import pytest
from checking.rounding import (
    ROUNDOFF,
    assert_near,
    assert_product,
    assert_sums,
    assert_sums_of,
    gamma,
    in_doubles,
    roundings_of,
    sum_bound,
)
from fuzzing.comparing import assert_agrees
from hypothesis import given
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named

PRODUCT = """func.func @main(%x: tensor<4x9xf32>, %w: tensor<9x5xf32>) -> tensor<5x4xf32> {
  %y = fuse.matmul %x, %w : (tensor<4x9xf32>, tensor<9x5xf32>) -> tensor<4x5xf32>
  %t = fuse.transpose %y, permutation = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %t : tensor<5x4xf32>
}"""


def added_up(terms: Array, order: Array, element: str) -> Array:
    """The sum of terms one by one, in an order, in the type in which such sums are formed."""
    wide = np.dtype("float32") if element in ("f16", "bf16") else dtype_named(element)
    total = np.zeros((), wide)
    for term in terms[order].astype(wide):
        total = np.asarray(total + term)
    return total.astype(dtype_named(element))


@given(
    element=st.sampled_from(["f64", "f32", "f16", "bf16"]),
    seed=st.integers(0, 2**32),
    count=st.integers(1, 200),
    scale=st.sampled_from([1e-38, 1e-6, 1.0, 30.0]),
)
def test_sums_in_any_order_keep_the_bound(element: str, seed: int, count: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    terms = (random.standard_normal(count) * scale).astype(dtype_named(element))
    wide = terms.astype(np.longdouble)
    result = added_up(terms, random.permutation(count), element)
    assert_sums(result, np.asarray(wide.sum().astype(np.float64)), count, float(np.abs(wide).sum()))


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
def test_a_sum_that_misses_a_term_is_wrong(element: str) -> None:
    terms = np.random.default_rng(0).uniform(0.5, 1, 100).astype(dtype_named(element)).astype(np.float64)
    short = np.asarray(terms[:-1].sum()).astype(dtype_named(element))
    with pytest.raises(AssertionError, match="1 of 1 sums are wrong, first at "):
        assert_sums(short, np.asarray(terms.sum()), 100, terms.sum())


def test_more_roundings_than_digits_are_no_bound() -> None:
    with pytest.raises(ValueError, match="leave nothing"):
        gamma(2**24, "float32")
    assert gamma(1, "float64") == pytest.approx(2**-53)
    assert sum_bound(1, 0.0, "float32") == 2.0**-149


def numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def turned(change: Callable[[Array], None]) -> Array:
    result = np.ascontiguousarray((numbers(4, 9) @ numbers(9, 5)).T)
    change(result)
    return result


def nothing(array: Array) -> None:
    """Leave it."""


def one_term_less(array: Array) -> None:
    array[2, 3] -= numbers(4, 9)[3, 0] * numbers(9, 5)[0, 2]


def infinite(array: Array) -> None:
    array[0, 0] = np.inf


def test_a_program_of_one_sum_needs_no_numbers() -> None:
    module, inputs = fd.parse(PRODUCT), [numbers(4, 9), numbers(9, 5)]
    for check in (assert_sums_of, assert_agrees):
        check(module, inputs, [turned(nothing)])
        for change in (one_term_less, infinite):
            with pytest.raises(AssertionError):
                check(module, inputs, [turned(change)])
    with pytest.raises(AssertionError):
        assert_product(turned(one_term_less).T, *inputs)
    assert roundings_of(module) == 1 + 2 * 9


def test_deep_results_are_seen_from_the_greatest_element() -> None:
    expected = numbers(50)
    lost = 100**0.5 * ROUNDOFF["float32"] * np.abs(expected).max()
    assert_near(expected + lost.astype(np.float32), expected, 100)
    with pytest.raises(AssertionError):
        assert_near(expected + 100 * lost.astype(np.float32), expected, 100)
    assert_near(np.arange(3), np.arange(3), 100)
    with pytest.raises(AssertionError):
        assert_near(np.arange(3), np.arange(1, 4), 100)


def test_sizes_that_are_open_are_those_of_the_inputs() -> None:
    module = fd.parse(PRODUCT.replace("4x9xf32", "?x?xf32").replace("4x5xf32", "?x5xf32").replace("5x4xf32", "5x?xf32"))
    assert roundings_of(module, [numbers(4, 9), numbers(9, 5)]) == 1 + 2 * 9


def test_doubles_keep_constants_and_integers() -> None:
    module = fd.parse("""func.func @main(%i: tensor<2xi64>) -> tensor<2xf16> {
      %c = arith.constant dense<[0.5, -0.25, 0.1]> : tensor<3xf16>
      %y = fuse.take %c, %i, axis = 0 : (tensor<3xf16>, tensor<2xi64>) -> tensor<2xf16>
      return %y : tensor<2xf16>
    }""")
    (result,) = fd.run(in_doubles(module, np.abs), np.array([1, 2]))
    np.testing.assert_array_equal(result, np.array([0.25, np.float16(0.1)], np.float64))
