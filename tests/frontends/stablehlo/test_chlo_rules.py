"""What ops compute that pick, map, broadcast and group: on NumPy, natively, and after fusion of StableHLO itself."""

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import RULES
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME


def outcomes(text: str, *arrays: Array) -> list[tuple[Array, ...]]:
    """The results of a program on NumPy, after fusion, and as machine code."""
    return [
        tuple(fd.run(fd.parse(text), *arrays)),
        tuple(fd.run(fd.fuse_ops(fd.parse(text)), *arrays)),
        tuple(fd.run(fd.fuse_ops(fd.parse(text), form="inline"), *arrays)),
        tuple(fd.compile(fd.parse(text), cache=False)(*arrays)),
    ]


@pytest.mark.parametrize(
    ("dim", "batch", "result"), [(1, 0, "3x2x2x5"), (2, 1, "3x4x2"), (1, 1, "3x2x5"), (-1, 1, "3x4x2")]
)
def test_torch_index_select_picks_slices_and_moves_indices_inside(dim: int, batch: int, result: str) -> None:
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    indices = np.array([[0, 3], [-4, 2]] if not batch else [[0, 3], [9, 2], [1, 1]], np.int32)
    shape = "x".join(map(str, indices.shape))
    text = f"""func.func @main(%x: tensor<3x4x5xf32>, %i: tensor<{shape}xi32>) -> tensor<{result}xf32> {{
      %0 = "stablehlo.torch_index_select"(%x, %i) {{dim = {dim} : i64, batch_dims = {batch} : i64}}
        : (tensor<3x4x5xf32>, tensor<{shape}xi32>) -> tensor<{result}xf32>
      return %0 : tensor<{result}xf32>
    }}"""
    axis = dim % 3
    inside = np.clip(indices, 0, x.shape[axis] - 1)
    expected = (
        np.take(x, inside, axis=axis)
        if not batch
        else np.stack([np.take(one, places, axis=axis - 1) for one, places in zip(x, inside, strict=True)])
    )
    for (found,) in outcomes(text, x, indices):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("clause", "result"), [("", "2x3"), (" {broadcast_dimensions = array<i64: 0>}", "2x3")])
def test_operands_of_chlo_are_broadcast(clause: str, result: str) -> None:
    size = 2 if clause else 3
    x = np.arange(size, dtype=np.float32)
    y = np.arange(6, dtype=np.float32).reshape(2, 3) * 2
    text = f"""func.func @main(%x: tensor<{size}xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {{
      %0 = "chlo.broadcast_subtract"(%x, %y){clause} : (tensor<{size}xf32>, tensor<2x3xf32>) -> tensor<{result}xf32>
      %1 = "chlo.broadcast_compare"(%x, %0) {{comparison_direction = #chlo<comparison_direction LT>
        {clause.replace(" {", ", ").replace("}", "")}}}
        : (tensor<{size}xf32>, tensor<2x3xf32>) -> tensor<{result}xi1>
      return %0, %1 : tensor<2x3xf32>, tensor<2x3xi1>
    }}"""
    spread = x[:, None] if clause else x
    for found, less in outcomes(text, x, y):
        np.testing.assert_array_equal(found, spread - y)
        np.testing.assert_array_equal(less, spread < spread - y)


def test_every_op_that_broadcasts_has_the_rule_of_the_op_that_does_not() -> None:
    without = {"chlo.broadcast_complex"}
    broadcasts = {name for name in BY_NAME if name.startswith("chlo.broadcast_")}
    assert broadcasts - RULES.keys() <= without


def test_map_does_to_all_elements_what_it_does_to_one() -> None:
    text = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = "stablehlo.map"(%x, %y) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.constant dense<3.0> : tensor<f32>
          %1 = stablehlo.multiply %a, %c : tensor<f32>
          %2 = stablehlo.maximum %1, %b : tensor<f32>
          stablehlo.return %2 : tensor<f32>
      }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    x, y = (np.random.default_rng(seed).standard_normal((2, 3)).astype(np.float32) for seed in (1, 2))
    for (found,) in outcomes(text, x, y):
        np.testing.assert_array_equal(found, np.maximum(x * np.float32(3), y))


def test_bits_of_other_widths_lie_on_an_axis_lowest_first() -> None:
    text = """func.func @main(%x: tensor<3xi32>) -> (tensor<3x4xui8>, tensor<3x32xi1>, tensor<3xi32>, tensor<3xi32>) {
      %0 = stablehlo.bitcast_convert %x : (tensor<3xi32>) -> tensor<3x4xui8>
      %1 = stablehlo.bitcast_convert %x : (tensor<3xi32>) -> tensor<3x32xi1>
      %2 = stablehlo.bitcast_convert %0 : (tensor<3x4xui8>) -> tensor<3xi32>
      %3 = stablehlo.bitcast_convert %1 : (tensor<3x32xi1>) -> tensor<3xi32>
      return %0, %1, %2, %3 : tensor<3x4xui8>, tensor<3x32xi1>, tensor<3xi32>, tensor<3xi32>
    }"""
    x = np.array([-2, 0x12345678, 2**31 - 1], np.int32)
    for bytes_, bits, from_bytes, from_bits in outcomes(text, x):
        np.testing.assert_array_equal(bytes_, x.view(np.uint8).reshape(3, 4))
        np.testing.assert_array_equal(bits, np.unpackbits(bytes_, axis=1, bitorder="little").astype(bool))
        np.testing.assert_array_equal(from_bytes, x)
        np.testing.assert_array_equal(from_bits, x)


def test_the_greatest_integers_keep_the_least_of_what_stands_beside_them() -> None:
    text = """func.func @main(%x: tensor<4x2xi32>, %y: tensor<4x2xi32>, %s: tensor<i32>, %t: tensor<i32>)
        -> (tensor<2xi32>, tensor<2xi32>) {
      %0:2 = "stablehlo.reduce"(%x, %y, %s, %t) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare GE, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %2 = stablehlo.select %1, %a, %c : tensor<i1>, tensor<i32>
        %3 = stablehlo.compare EQ, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %4 = stablehlo.minimum %b, %d : tensor<i32>
        %5 = stablehlo.select %1, %b, %d : tensor<i1>, tensor<i32>
        %6 = stablehlo.select %3, %4, %5 : tensor<i1>, tensor<i32>
        stablehlo.return %2, %6 : tensor<i32>, tensor<i32>
      }) {dimensions = array<i64: 0>} : (tensor<4x2xi32>, tensor<4x2xi32>, tensor<i32>, tensor<i32>)
        -> (tensor<2xi32>, tensor<2xi32>)
      return %0#0, %0#1 : tensor<2xi32>, tensor<2xi32>
    }"""
    x = np.array([[1, 5], [7, 2], [7, 5], [0, 1]], np.int32)
    y = np.array([[1, 8], [6, 2], [4, 9], [0, 1]], np.int32)
    for start, companion, expected in ((-9, 0, ([7, 5], [4, 8])), (5, 3, ([7, 5], [4, 3])), (8, 3, ([8, 8], [3, 3]))):
        for found in outcomes(text, x, y, np.array(start, np.int32), np.array(companion, np.int32)):
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


FFT = """func.func @main(%x: tensor<2x{n}xf32>, %y: tensor<2x{n}xf32>)
    -> (tensor<2x{m}xf32>, tensor<2x{m}xf32>, tensor<2x{n}xf32>, tensor<2x{n}xf32>, tensor<2x{n}xf32>) {{
  %0 = stablehlo.fft %x, type = RFFT, length = [{n}] : (tensor<2x{n}xf32>) -> tensor<2x{m}xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<2x{m}xcomplex<f32>>) -> tensor<2x{m}xf32>
  %2 = stablehlo.imag %0 : (tensor<2x{m}xcomplex<f32>>) -> tensor<2x{m}xf32>
  %3 = stablehlo.fft %0, type = IRFFT, length = [{n}] : (tensor<2x{m}xcomplex<f32>>) -> tensor<2x{n}xf32>
  %4 = stablehlo.complex %x, %y : tensor<2x{n}xcomplex<f32>>
  %5 = stablehlo.fft %4, type = FFT, length = [{n}] : (tensor<2x{n}xcomplex<f32>>) -> tensor<2x{n}xcomplex<f32>>
  %6 = stablehlo.multiply %5, %5 : tensor<2x{n}xcomplex<f32>>
  %7 = stablehlo.fft %6, type = IFFT, length = [{n}] : (tensor<2x{n}xcomplex<f32>>) -> tensor<2x{n}xcomplex<f32>>
  %8 = stablehlo.real %7 : (tensor<2x{n}xcomplex<f32>>) -> tensor<2x{n}xf32>
  %9 = stablehlo.imag %7 : (tensor<2x{n}xcomplex<f32>>) -> tensor<2x{n}xf32>
  return %1, %2, %3, %8, %9 : tensor<2x{m}xf32>, tensor<2x{m}xf32>, tensor<2x{n}xf32>, tensor<2x{n}xf32>,
    tensor<2x{n}xf32>
}}"""


@pytest.mark.sums
@pytest.mark.parametrize("points", [1, 2, 7, 12, 66, 67, 75, 96])
def test_fourier_transforms_between_real_numbers(points: int) -> None:
    x, y = (np.random.default_rng(seed).standard_normal((2, points)).astype(np.float32) for seed in (3, 4))
    spectrum, square = np.fft.rfft(x), np.fft.ifft(np.fft.fft(x + 1j * y) ** 2)
    expected = (spectrum.real, spectrum.imag, x, square.real, square.imag)
    # A sum of `points` terms, twice, of numbers that are at most 4 before the square: each term errs by 2^-24 of 16 n.
    bound = 2.0**-24 * 64 * points**2
    for found in outcomes(FFT.format(n=points, m=points // 2 + 1), x, y):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=bound)


def test_functions_of_complex_numbers_whose_parts_are_asked_for() -> None:
    body = "\n".join(
        f"""%{name} = stablehlo.{name} %z : tensor<4xcomplex<f32>>
        %re_{name} = stablehlo.real %{name} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
        %im_{name} = stablehlo.imag %{name} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>"""
        for name in ("exponential", "sine", "cosine", "negate")
    )
    values = ", ".join(
        f"%{part}_{name}" for name in ("exponential", "sine", "cosine", "negate") for part in ("re", "im")
    )
    types = ", ".join(["tensor<4xf32>"] * 8)
    text = f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> ({types}) {{
      %z = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
      {body}
      return {values} : {types}
    }}"""
    x, y = np.array([0, 1, -1, 2], np.float32), np.array([0.5, -1, 1, 0], np.float32)
    exact = [f(x.astype(complex) + 1j * y) for f in (np.exp, np.sin, np.cos, np.negative)]
    expected = [part for each in exact for part in (each.real, each.imag)]
    for found in outcomes(text, x, y):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_each_group_of_rows_has_a_matrix_and_rows_behind_them_are_zero() -> None:
    text = """func.func @main(%x: tensor<6x2xf32>, %w: tensor<3x2x2xf32>, %n: tensor<3xi32>) -> tensor<6x2xf32> {
      %0 = "chlo.ragged_dot"(%x, %w, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
        lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
      } : (tensor<6x2xf32>, tensor<3x2x2xf32>, tensor<3xi32>) -> tensor<6x2xf32>
      return %0 : tensor<6x2xf32>
    }"""
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    w = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    w[1, 0, 0] = np.inf  # which must not touch the rows of others
    groups = [0, 0, 0, 2, 2]
    expected = np.array([*(x[row] @ w[group] for row, group in enumerate(groups)), [0, 0]], np.float32)
    for (found,) in outcomes(text, x, w, np.array([3, 0, 2], np.int32)):
        np.testing.assert_array_equal(found, expected)


def test_a_padding_that_is_known_late_may_have_gaps_that_are_known() -> None:
    text = """func.func @main(%x: tensor<2x3xi32>, %low: tensor<2xi64>, %high: tensor<2xi64>) -> tensor<?x?xi32> {
      %v = stablehlo.constant dense<-1> : tensor<i32>
      %gaps = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
      %0 = stablehlo.dynamic_pad %x, %v, %low, %high, %gaps
        : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi32>
      return %0 : tensor<?x?xi32>
    }"""
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    spaced = np.full((2, 5), -1, np.int32)
    spaced[:, ::2] = x
    expected = np.pad(spaced, ((1, 0), (0, 2)), constant_values=-1)[:, 1:]
    arrays = (x, np.array([1, -1]), np.array([0, 2]))
    for (found,) in (fd.run(fd.parse(text), *arrays), fd.compile(fd.parse(text), cache=False)(*arrays)):
        np.testing.assert_array_equal(found, expected)
