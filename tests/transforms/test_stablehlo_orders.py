"""Sorting StableHLO: the total order of floats, and equal elements, as NumPy and as machine code."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import fuse_dialect as fd

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
LOW_FIRST = [-np.nan, -np.inf, -1, -0.0, 0.0, 1e-5, 2, np.inf, np.nan]
"""The total order."""


def both(text: str, *operands: npt.NDArray[Any]) -> list[list[npt.NDArray[Any]]]:
    """The results of `fd.run` and of machine code."""
    module = fd.parse(text)
    return [list(fd.run(module, *operands)), list(fd.compile(module, cache=False)(*operands))]


def sort_of(element: str, size: int, direction: str, kind: str) -> str:
    type_ = f"tensor<{size}x{element}>"
    return f"""func.func @main(%x: {type_}) -> {type_} {{
  %y = "stablehlo.sort"(%x) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %c = stablehlo.compare {direction}, %a, %b, {kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}) : ({type_}) -> {type_}
  return %y : {type_}
}}"""


def signed(values: list[float], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array in which the sign of nan is as written, which conversions to narrow floats do not keep."""
    return np.array([np.copysign(np.array(abs(v), dtype), np.array(np.copysign(1.0, v), dtype)) for v in values], dtype)


def assert_same_bits(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_a_sort_by_total_order(direction: str, element: str) -> None:
    ordered = signed(LOW_FIRST, FLOATS[element])
    x = ordered[np.random.default_rng(0).permutation(ordered.size)]
    for (found,) in both(sort_of(element, x.size, direction, "TOTALORDER"), x):
        assert_same_bits(found, ordered if direction == "LT" else ordered[::-1])


def test_zeros_by_total_order() -> None:
    for (found,) in both(sort_of("f32", 3, "LT", "TOTALORDER"), np.array([1, 0, -0.0], np.float32)):
        assert_same_bits(found, np.array([-0.0, 0, 1], np.float32))


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_zeros_that_are_equal_keep_their_order(direction: str, element: str) -> None:
    x = signed([0, -0.0, 0, -0.0, -1, 0, 3, -0.0] * 8, FLOATS[element])
    wanted = np.array(sorted(x.tolist(), reverse=direction == "GT")).astype(x.dtype)  # `sorted` is stable both ways
    for (found,) in both(sort_of(element, x.size, direction, "FLOAT"), x):
        assert_same_bits(found, wanted)


@pytest.mark.parametrize("is_ascend", ["true", "false"])
def test_fuse_sort_keeps_the_order_of_zeros(is_ascend: str) -> None:
    x = np.array([0, -0.0, 0, -0.0, -1] * 7, np.float32)
    text = f"""func.func @main(%x: tensor<35xf32>) -> tensor<35xf32> {{
  %y = fuse.sort %x, is_ascend = {is_ascend} : tensor<35xf32>
  return %y : tensor<35xf32>
}}"""
    wanted = np.array(sorted(x.tolist(), reverse=is_ascend == "false"), np.float32)
    for (found,) in both(text, x):
        assert_same_bits(found, wanted)


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("element", FLOATS)
def test_comparisons_by_total_order(element: str, direction: str) -> None:
    ordered = signed(LOW_FIRST, FLOATS[element])
    first, second = (np.ascontiguousarray(each.reshape(-1)) for each in np.meshgrid(ordered, ordered))
    place, other = (each.reshape(-1) for each in np.meshgrid(np.arange(9), np.arange(9)))
    type_ = f"tensor<81x{element}>"
    text = f"""func.func @main(%a: {type_}, %b: {type_}) -> tensor<81xi1> {{
  %c = stablehlo.compare {direction}, %a, %b, TOTALORDER : ({type_}, {type_}) -> tensor<81xi1>
  return %c : tensor<81xi1>
}}"""
    functions = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less}
    functions |= {"LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}
    for (found,) in both(text, first, second):
        np.testing.assert_array_equal(found, functions[direction](place, other))


TOP_K = {
    "op": "%v, %i = chlo.top_k(%x, k = 9) : {type} -> ({type}, tensor<9xi32>)",
    "composite": '%v, %i = stablehlo.composite "chlo.top_k" %x {{composite_attributes = {{k = 9 : i64}}, '
    "decomposition = @none}} : ({type}) -> ({type}, tensor<9xi32>)",
}


@pytest.mark.parametrize("form", TOP_K)
@pytest.mark.parametrize("element", FLOATS)
def test_top_k_by_total_order(element: str, form: str) -> None:
    ordered = signed(LOW_FIRST, FLOATS[element])
    places = np.random.default_rng(1).permutation(9)
    type_ = f"tensor<9x{element}>"
    text = f"""func.func @main(%x: {type_}) -> ({type_}, tensor<9xi32>) {{
  {TOP_K[form].format(type=type_)}
  return %v, %i : {type_}, tensor<9xi32>
}}"""
    x = np.empty_like(ordered)
    x[places] = ordered[::-1]
    for values, indices in both(text, x):
        assert_same_bits(values, ordered[::-1])
        np.testing.assert_array_equal(indices, places)


def test_booleans_are_sorted() -> None:
    x = np.array([True, False, True, False, False])
    text = sort_of("i1", 5, "LT", "UNSIGNED")
    for (found,) in both(text, x):
        assert found.dtype == np.bool_
        np.testing.assert_array_equal(found, np.sort(x))


@pytest.mark.parametrize("sizes", [(0, 1), (2, 0), (0, 0)])
def test_an_update_without_elements_changes_nothing(sizes: tuple[int, int]) -> None:
    update = f"tensor<{sizes[0]}x{sizes[1]}xf32>"
    text = f"""func.func @main(%x: tensor<2x3xf32>, %u: {update}, %i: tensor<i32>) -> tensor<2x3xf32> {{
  %y = stablehlo.dynamic_update_slice %x, %u, %i, %i
    : (tensor<2x3xf32>, {update}, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}}"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for (found,) in both(text, x, np.zeros(sizes, np.float32), np.int32(1)):
        np.testing.assert_array_equal(found, x)


JAX_KEYS = """    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.compare EQ, %a, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %z, %a : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %ka = stablehlo.select %2, %n, %1 : tensor<i1>, tensor<f32>
    %3 = stablehlo.compare EQ, %b, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.select %3, %z, %b : tensor<i1>, tensor<f32>
    %5 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %kb = stablehlo.select %5, %n, %4 : tensor<i1>, tensor<f32>
    %6 = stablehlo.compare LT, %ka, %kb, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>"""
LAST_IS_FLOAT = """    %7 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %8 = stablehlo.compare EQ, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.and %8, %6 : tensor<i1>
    %10 = stablehlo.or %7, %9 : tensor<i1>"""
FIRST_IS_FLOAT = """    %7 = stablehlo.compare GT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %8 = stablehlo.compare EQ, %ka, %kb, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %9 = stablehlo.and %8, %7 : tensor<i1>
    %10 = stablehlo.or %6, %9 : tensor<i1>"""


def sort_by_two(tail: str) -> str:
    types = "tensor<60xf32>, tensor<60xi32>, tensor<60xi32>"
    return f"""func.func @main(%x: tensor<60xf32>, %k: tensor<60xi32>, %i: tensor<60xi32>) -> ({types}) {{
  %y:3 = "stablehlo.sort"(%x, %k, %i) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
{JAX_KEYS}
{tail}
    stablehlo.return %10 : tensor<i1>
  }}) : ({types}) -> ({types})
  return %y#0, %y#1, %y#2 : {types}
}}"""


def mixed_keys() -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    random = np.random.default_rng(3)
    x = random.choice(np.array([0.0, -0.0, 1.5, -2, np.inf, np.nan], np.float32), 60)
    return x, random.integers(-2, 3, 60).astype(np.int32), np.arange(60, dtype=np.int32)


@pytest.mark.parametrize("tail", [LAST_IS_FLOAT, FIRST_IS_FLOAT], ids=["last", "first"])
def test_a_sort_by_two_keys(tail: str) -> None:
    x, keys, places = mixed_keys()
    # What is last in `lexsort` counts first; it is stable, its nan is last, and its zeros are equal.
    wanted = np.lexsort((x, keys)) if tail is LAST_IS_FLOAT else np.lexsort((-keys, x))
    for found in both(sort_by_two(tail), x, keys, places):
        np.testing.assert_array_equal(found[2], wanted)
        assert_same_bits(found[0], x[wanted])
        np.testing.assert_array_equal(found[1], keys[wanted])


def test_an_order_in_which_nan_equals_nothing_is_refused() -> None:
    module = fd.parse(sort_by_two(FIRST_IS_FLOAT.replace("EQ, %ka, %kb, TOTALORDER", "EQ, %ka, %kb, FLOAT")))
    with pytest.raises(fd.FuseError, match=r"'stablehlo.sort' op has no meaning"):
        fd.run(module, *mixed_keys())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("EQ, %c, %d", "EQ, %d, %c"),  # of other operands than those that are compared
        ("stablehlo.and %8, %6", "stablehlo.or %8, %6"),
        ("LT, %c, %d", "LE, %c, %d"),
        ("LT, %c, %d", "LT, %d, %c"),
        ("LT, %c, %d", "LT, %c, %e"),
        ("select %5, %n, %4", "select %5, %z, %4"),
        ("EQ, %b, %z", "EQ, %a, %z"),
    ],
)
def test_an_order_of_its_own_is_refused(old: str, new: str) -> None:
    text = sort_by_two(LAST_IS_FLOAT)
    assert old in text
    module = fd.parse(text.replace(old, new))
    with pytest.raises(fd.FuseError, match=r"'stablehlo.sort' op has no meaning"):
        fd.run(module, *mixed_keys())
