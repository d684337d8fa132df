"""Ops of StableHLO and CHLO that look at bits, and small forms of reductions and sorts, beside their definitions."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import fuse_dialect as fd

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def both(text: str, *operands: npt.NDArray[Any]) -> list[list[npt.NDArray[Any]]]:
    """The results of `fd.run` and of machine code."""
    module = fd.parse(text)
    return [list(fd.run(module, *operands)), list(fd.compile(module, cache=False)(*operands))]


def of_one_op(op: str, element: str, count: int, size: int) -> str:
    type_ = f"tensor<{size}x{element}>"
    names = [f"%x{number}" for number in range(count)]
    tail = f"{', '.join([type_] * count)} -> {type_}" if op.startswith("chlo.") else type_
    arguments = ", ".join(f"{name}: {type_}" for name in names)
    return (
        f"func.func @main({arguments}) -> {type_} {{\n %y = {op} {', '.join(names)} : {tail}\n return %y : {type_}\n}}"
    )


def numbers(name: str) -> npt.NDArray[Any]:
    """All magnitudes, and the ends."""
    info, random = np.iinfo(name), np.random.default_rng(0)
    wide = random.integers(info.min, info.max, 300, dtype=name, endpoint=True)
    small = wide >> np.array(random.integers(0, info.bits, 300), name)
    return np.concatenate([wide, small, np.array([info.min, info.max, 0, 1], name)])


def mlir(name: str) -> str:
    return name.replace("uint", "ui").replace("int", "i")


@pytest.mark.parametrize("name", INTEGERS)
def test_upper_halves_of_products(name: str) -> None:
    x = numbers(name)
    y = np.roll(x, 7)
    bits = np.iinfo(name).bits
    exact = np.array([int(a) * int(b) >> bits for a, b in zip(x, y, strict=True)], name)
    for (found,) in both(of_one_op("chlo.mulhi", mlir(name), 2, x.size), x, y):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("name", INTEGERS)
def test_leading_zeros(name: str) -> None:
    x, bits = numbers(name), np.iinfo(name).bits
    exact = np.array([bits - (int(each) % 2**bits).bit_length() for each in x], name)
    for (found,) in both(of_one_op("stablehlo.count_leading_zeros", mlir(name), 1, x.size), x):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("element", FLOATS)
def test_the_next_float(element: str) -> None:
    dtype = FLOATS[element]
    smallest = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    each = np.array([0, -0.0, smallest, -smallest, 1, -1, 1.5, np.inf, -np.inf, np.nan], dtype)
    x, y = (np.ascontiguousarray(grid.reshape(-1)) for grid in np.meshgrid(each, each))
    exact = np.nextafter(x, y)
    for (found,) in both(of_one_op("chlo.next_after", element, 2, x.size), x, y):
        is_nan = np.isnan(exact)
        np.testing.assert_array_equal(np.isnan(found), is_nan)
        np.testing.assert_array_equal(found[~is_nan], exact[~is_nan])


@pytest.mark.parametrize(("exponent", "mantissa", "like"), [(5, 10, np.float16), (8, 7, ml_dtypes.bfloat16)])
def test_precision_is_that_of_a_type(exponent: int, mantissa: int, like: npt.DTypeLike) -> None:
    x = np.random.default_rng(0).standard_normal(2000).astype(np.float32)
    x = np.concatenate([x, np.array([1e30, -1e30, np.inf, np.nan, 0, -0.0, 65520, 65519], np.float32)])
    with np.errstate(over="ignore"):
        exact = x.astype(like).astype(np.float32)
    text = f"""func.func @main(%x: tensor<{x.size}xf32>) -> tensor<{x.size}xf32> {{
  %y = stablehlo.reduce_precision %x, format = e{exponent}m{mantissa} : tensor<{x.size}xf32>
  return %y : tensor<{x.size}xf32>
}}"""
    for (found,) in both(text, x):
        np.testing.assert_array_equal(found, exact)
        np.testing.assert_array_equal(np.signbit(found)[x == 0], np.signbit(x)[x == 0])


@pytest.mark.parametrize(
    ("form", "x", "expected"),
    [
        ("e3m2", [1.124, 1.125, 1.375, 0.25, 0.249, 14, 15, -15], [1, 1, 1.5, 0.25, 0.25, 14, np.inf, -np.inf]),
        ("e3m2", [0.124, -0.1, 0.0], [0, -0.0, 0]),  # less than the smallest normal number
        ("e8m0", [1.5, 1.4, 3, 3.1, np.nan], [2, 1, 2, 4, np.inf]),  # ties to even exponents; there is no nan
        ("e11m52", [1.1, np.nan], [1.1, np.nan]),
    ],
)
def test_precision_of_formats_that_are_no_type(form: str, x: list[float], expected: list[float]) -> None:
    text = f"""func.func @main(%x: tensor<{len(x)}xf32>) -> tensor<{len(x)}xf32> {{
  %y = stablehlo.reduce_precision %x, format = {form} : tensor<{len(x)}xf32>
  return %y : tensor<{len(x)}xf32>
}}"""
    for (found,) in both(text, np.array(x, np.float32)):
        np.testing.assert_array_equal(found, np.array(expected, np.float32))


def test_booleans_add_up_to_true() -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    for (found,) in both(of_one_op("stablehlo.add", "i1", 2, 4), x, y):
        np.testing.assert_array_equal(found, x | y)


def test_a_sort_by_the_second_operand() -> None:
    text = """func.func @main(%x: tensor<5xf32>, %k: tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>) {
  %y:2 = "stablehlo.sort"(%x, %k) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %e = stablehlo.compare GT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %e : tensor<i1>
  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  return %y#0, %y#1 : tensor<5xf32>, tensor<5xi32>
}"""
    x, keys = np.arange(5, dtype=np.float32), np.array([1, 3, 1, 2, 3], np.int32)
    for values, places in both(text, x, keys):
        np.testing.assert_array_equal(values, [1, 4, 3, 0, 2])
        np.testing.assert_array_equal(places, [3, 3, 2, 1, 1])


def test_a_reduction_of_two_tensors_that_have_nothing_to_do_with_each_other() -> None:
    text = """func.func @main(%x: tensor<2x3xf32>, %k: tensor<2x3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %s = stablehlo.constant dense<1.0> : tensor<f32>
  %i = stablehlo.constant dense<2147483647> : tensor<i32>
  %y:2 = stablehlo.reduce(%x init: %s), (%k init: %i) across dimensions = [0]
    : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %0 = stablehlo.add %a, %b : tensor<f32>
    %1 = stablehlo.minimum %c, %d : tensor<i32>
    stablehlo.return %0, %1 : tensor<f32>, tensor<i32>
  }
  return %y#0, %y#1 : tensor<3xf32>, tensor<3xi32>
}"""
    x, k = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[5, -1, 7], [4, 0, 9]], np.int32)
    for sums, least in both(text, x, k):
        np.testing.assert_array_equal(sums, [4, 6, 8])
        np.testing.assert_array_equal(least, [4, -1, 7])
