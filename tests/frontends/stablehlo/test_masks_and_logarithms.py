"""Scatters of truth values, and running logarithms of sums, as JAX writes them: what NumPy gives."""

import numpy as np
import pytest

import fuse_dialect as fd

MASK = np.array([[True, False, False, True], [False, False, True, True], [True, True, False, False]])
PLACES = np.array([[1], [3], [9], [1]], np.int32)
"""One of them lies outside, and changes nothing."""
UPDATES = np.array([[True] * 3, [False] * 3, [True] * 3, [True] * 3]).T
REGIONS = {
    "update": ("", "%q"),
    "or": ("%r = stablehlo.or %p, %q : tensor<i1>", "%r"),
    "and": ("%r = stablehlo.and %p, %q : tensor<i1>", "%r"),
    "maximum": ("%r = stablehlo.maximum %p, %q : tensor<i1>", "%r"),
    "add": ("%r = stablehlo.add %p, %q : tensor<i1>", "%r"),
    "multiply": ("%r = stablehlo.multiply %p, %q : tensor<i1>", "%r"),
}


@pytest.mark.parametrize("name", REGIONS)
def test_truth_values_are_scattered(name: str) -> None:
    op, result = REGIONS[name]
    module = fd.parse(f"""
func.func @main(%x: tensor<3x4xi1>, %at: tensor<4x1xi32>, %u: tensor<3x4xi1>) -> tensor<3x4xi1> {{
  %0 = "stablehlo.scatter"(%x, %at, %u) <{{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1],
      scatter_dims_to_operand_dims = [1], index_vector_dim = 1>
  }}> ({{
  ^bb0(%p: tensor<i1>, %q: tensor<i1>):
    {op}
    stablehlo.return {result} : tensor<i1>
  }}) : (tensor<3x4xi1>, tensor<4x1xi32>, tensor<3x4xi1>) -> tensor<3x4xi1>
  return %0 : tensor<3x4xi1>
}}""")
    expected = MASK.copy()
    for place, update in zip(PLACES[:, 0], UPDATES.T, strict=True):
        if place < 4:
            combine = {"update": lambda _, new: new, "and": np.logical_and, "multiply": np.logical_and}
            expected[:, place] = combine.get(name, np.logical_or)(expected[:, place], update)
    for (found,) in (fd.run(module, MASK, PLACES, UPDATES), fd.compile(module, cache=False)(MASK, PLACES, UPDATES)):
        assert found.dtype == np.bool_
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 300])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_logarithms_of_sums(reverse: bool, size: int) -> None:
    padding = f"0, {size - 1}" if reverse else f"{size - 1}, 0"
    kind = f"tensor<3x{size}xf32>"
    module = fd.parse(f"""func.func @main(%x: {kind}) -> {kind} {{
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) <{{
    padding = dense<[[0, 0], [{padding}]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, {size}>
  }}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    %2 = stablehlo.subtract %a, %b : tensor<f32>
    %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.add %a, %b : tensor<f32>
    %5 = stablehlo.abs %2 : tensor<f32>
    %6 = stablehlo.negate %5 : tensor<f32>
    %7 = stablehlo.exponential %6 : tensor<f32>
    %8 = stablehlo.log_plus_one %7 : tensor<f32>
    %9 = stablehlo.add %1, %8 : tensor<f32>
    %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>
    stablehlo.return %10 : tensor<f32>
  }}) : ({kind}, tensor<f32>) -> {kind}
  return %0 : {kind}
}}""")
    x = np.random.default_rng(0).normal(size=(3, size), scale=20).astype(np.float32)
    x[0, 0], x[1, size // 2] = -np.inf, np.inf
    turned = x[:, ::-1] if reverse else x
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp.accumulate(turned, axis=1)
    expected = expected[:, ::-1] if reverse else expected
    for (found,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("place", ["", "1x"])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "update"])
def test_a_scatter_without_indices_writes_the_whole(name: str, place: str) -> None:
    """JAX writes `x.at[:].add(y)` so; it was refused."""
    combined = "%b" if name == "update" else "%c"
    line = "" if name == "update" else f"%c = stablehlo.{name} %a, %b : tensor<f32>"
    window = "1" if place else "0"
    module = fd.parse(f"""
func.func @main(%x: tensor<4xf32>, %at: tensor<{place}0xi32>, %u: tensor<{place}4xf32>) -> tensor<4xf32> {{
  %0 = "stablehlo.scatter"(%x, %at, %u) <{{
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{window}], index_vector_dim = {window}>,
      unique_indices = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {line}
    stablehlo.return {combined} : tensor<f32>
  }}) : (tensor<4xf32>, tensor<{place}0xi32>, tensor<{place}4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}""")
    x, u = np.array([1, -2, 3, 4], np.float32), np.array([5, 6, -7, 0.5], np.float32)
    shape = (1,) if place else ()
    functions = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
    expected = u if name == "update" else functions[name](x, u)
    np.testing.assert_array_equal(fd.run(module, x, np.zeros((*shape, 0), np.int32), u.reshape(*shape, 4))[0], expected)


def test_a_product_of_truth_values_is_true_where_any_pair_is() -> None:
    module = fd.parse("""
func.func @main(%x: tensor<3x300xi1>, %y: tensor<300x2xi1>) -> tensor<3x2xi1> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<3x300xi1>, tensor<300x2xi1>) -> tensor<3x2xi1>
  return %0 : tensor<3x2xi1>
}""")
    x, y = np.zeros((3, 300), bool), np.ones((300, 2), bool)
    x[0], x[1, 7], y[:, 1] = True, True, False
    expected = [[True, False], [True, False], [False, False]]
    np.testing.assert_array_equal(fd.run(module, x, y)[0], expected)
    np.testing.assert_array_equal(fd.compile(module, cache=False)(x, y)[0], expected)
