"""Special functions of StableHLO and CHLO beside exact values, as NumPy and as machine code, in every float type."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import fuse_dialect as fd

DTYPES: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


def results(op: str, element: str, *operands: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """What `fd.run` and machine code give for one op of f16, bf16, f32 or f64."""
    type_ = f"tensor<{operands[0].size}x{element}>"
    names = [f"%x{number}" for number in range(len(operands))]
    tail = f"{type_} -> {type_}" if op.startswith("chlo.") else type_
    module = fd.parse(
        f"func.func @main({', '.join(f'{name}: {type_}' for name in names)}) -> {type_} {{\n"
        f"  %y = {op} {', '.join(names)} : {tail}\n  return %y : {type_}\n}}"
    )
    return [fd.run(module, *operands)[0], fd.compile(module, cache=False)(*operands)[0]]


def distance(found: npt.NDArray[Any], exact: npt.NDArray[np.float64], element: str) -> float:
    """The greatest error in units in the last place, by the exact values rounded to the type."""
    dtype = np.dtype(DTYPES[element])
    smallest = float(ml_dtypes.finfo(dtype).smallest_normal)
    digits = ml_dtypes.finfo(dtype).nmant
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), smallest))) - digits)
    return float(np.max(np.abs(found.astype(np.float64) - exact) / unit))


def points(low: float, high: float, element: str) -> npt.NDArray[Any]:
    return np.random.default_rng(0).uniform(low, high, 4000).astype(DTYPES[element])


def exactly(function: Callable[[float], float], x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.array([function(float(each)) for each in x])


NARROW = 1.01
"""Units of a type of 16 bits: computed in f32 and rounded once, which may be at a tie."""


@pytest.mark.parametrize(
    ("element", "high", "most"), [("f16", 4, NARROW), ("bf16", 9, NARROW), ("f32", 9, 6), ("f64", 26, 8)]
)
def test_erfc_has_a_tail(element: str, high: float, most: float) -> None:
    x = points(-4, high, element)
    for found in results("chlo.erfc", element, x):
        assert distance(found, exactly(math.erfc, x), element) < most


def test_erfc_of_the_example_of_bf16() -> None:
    x = np.array([2.328125], ml_dtypes.bfloat16)
    for found in results("chlo.erfc", "bf16", x):
        assert found == np.array([math.erfc(2.328125)], ml_dtypes.bfloat16)


@pytest.mark.parametrize("element", DTYPES)
def test_erfc_at_its_ends(element: str) -> None:
    x = np.array([0, np.inf, -np.inf, np.nan, 200], DTYPES[element])
    for found in results("chlo.erfc", element, x):
        np.testing.assert_array_equal(found.astype(np.float32), [1, 0, 2, np.nan, 0])


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("op", "function", "low", "high"),
    [
        ("chlo.lgamma", math.lgamma, 2.5, 20),
        ("stablehlo.log_plus_one", math.log1p, -0.9, 20),
        ("stablehlo.exponential_minus_one", math.expm1, -5, 5),
        ("stablehlo.cbrt", math.cbrt, -20, 20),
    ],
)
def test_functions_of_narrow_floats_are_rounded_once(
    op: str, function: Callable[[float], float], low: float, high: float, element: str
) -> None:
    x = points(low, high, element)
    for found in results(op, element, x):
        assert distance(found, exactly(function, x), element) < NARROW


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_lgamma_of_narrow_floats_near_its_zeros_and_below(element: str) -> None:
    x = points(-5, 5, element)
    x = x[x.astype(np.float32) != np.floor(x.astype(np.float32))]
    exact = exactly(math.lgamma, x)
    for found in results("chlo.lgamma", element, x):
        # Where the logarithm is 0 an error of f32 remains, of terms of up to 10.
        rounding = 2.0 ** -(ml_dtypes.finfo(np.dtype(DTYPES[element])).nmant + 1) * np.abs(exact)
        assert np.all(np.abs(found.astype(np.float64) - exact) <= 1.01 * rounding + 2e-5)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_atan2_of_narrow_floats_is_rounded_once(element: str) -> None:
    y, x = points(-5, 5, element), points(-3, 4, element)[::-1]
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    for found in results("stablehlo.atan2", element, y, np.ascontiguousarray(x)):
        assert distance(found, exact, element) < NARROW


@pytest.mark.parametrize(("element", "most"), [("f16", NARROW), ("bf16", NARROW), ("f32", 8), ("f64", 8)])
def test_erf_inv_turns_erf_back(element: str, most: float) -> None:
    y = np.random.default_rng(1).uniform(-5.5 if element == "f64" else -3, 5.5 if element == "f64" else 3, 2000)
    x = np.array([math.erf(each) for each in y]).astype(DTYPES[element])
    x = x[np.abs(x.astype(np.float64)) < 1]
    exact = np.array([_inverse(float(each)) for each in x])
    for found in results("chlo.erf_inv", element, x):
        assert distance(found, exact, element) < most


def _inverse(x: float) -> float:
    """The zero of `erf(y) - x` by bisection of its logarithm, with `erfc` where `erf` is near 1."""
    low, high = 0.0, 7.0
    for _ in range(200):
        middle = (low + high) / 2
        is_below = math.erf(middle) < abs(x) if abs(x) < 0.5 else math.erfc(middle) > 1 - abs(x)
        low, high = (middle, high) if is_below else (low, middle)
    return math.copysign(low, x)


@pytest.mark.parametrize("element", DTYPES)
def test_erf_inv_at_its_ends(element: str) -> None:
    x = np.array([1, -1, 0, 2, np.nan], DTYPES[element])
    for found in results("chlo.erf_inv", element, x):
        np.testing.assert_array_equal(found.astype(np.float32), [np.inf, -np.inf, 0, np.nan, np.nan])


def test_the_cube_root_of_a_zero_has_its_sign() -> None:
    module = fd.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.cbrt"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}""")
    x = np.array([-0.0, 0.0, -8.0, np.inf], np.float32)
    for (found,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        np.testing.assert_allclose(found, [0, 0, -2, np.inf], rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(found), [True, False, True, False])
