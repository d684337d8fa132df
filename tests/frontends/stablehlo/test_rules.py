"""What single ops of StableHLO compute, on NumPy and natively."""

import numpy as np
import numpy.typing as npt
import pytest

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array


def outcomes(text: str, *arrays: Array) -> list[tuple[Array, ...]]:
    """The results of a program on NumPy and as machine code."""
    return [
        tuple(fd.run(fd.parse(text), *arrays)),
        tuple(fd.compile(fd.parse(text), cache=False)(*arrays)),
    ]


def convolution(x: npt.NDArray[np.float32], w: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """An image `h w b f` by a kernel `i h w o`, as `b h w f`."""
    height, width = (x.shape[axis] - w.shape[axis + 1] + 1 for axis in (0, 1))
    result = np.zeros((x.shape[2], height, width, w.shape[3]), np.float32)
    for row, column in np.ndindex(w.shape[1:3]):
        part = x[row : row + height, column : column + width]
        result += np.einsum("hwbi,io->bhwo", part, w[:, row, column])
    return result


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_groups_of_the_batch_have_kernels_of_their_own(groups: int) -> None:
    random = np.random.default_rng(groups)
    x = random.standard_normal((4, 5, 6, 2)).astype(np.float32)
    w = random.standard_normal((2, 2, 3, 6)).astype(np.float32)
    parts = zip(np.split(x, groups, axis=2), np.split(w, groups, axis=3), strict=True)
    expected = np.concatenate([convolution(*part) for part in parts], axis=3)
    result = f"tensor<{6 // groups}x3x3x6xf32>"
    text = f"""func.func @main(%x: tensor<4x5x6x2xf32>, %w: tensor<2x2x3x6xf32>) -> {result} {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [0, 1, b, f]x[i, 0, 1, o]->[b, 0, 1, f], window = {{}} {{
        batch_group_count = {groups} : i64, feature_group_count = 1 : i64
      }} : (tensor<4x5x6x2xf32>, tensor<2x2x3x6xf32>) -> {result}
      return %0 : {result}
    }}"""
    for (found,) in outcomes(text, x, w):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_real_numbers_have_parts() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %0 = stablehlo.real %x : tensor<3xf32>
      %1 = stablehlo.imag %x : tensor<3xf32>
      return %0, %1 : tensor<3xf32>, tensor<3xf32>
    }"""
    x = np.array([-0.0, np.inf, np.nan], np.float32)
    for real, imag in outcomes(text, x):
        np.testing.assert_array_equal(real, x)
        np.testing.assert_array_equal(imag, np.zeros(3, np.float32))


def test_elements_of_tuples_come_out_again() -> None:
    text = """func.func @main(%x: tensor<2xf32>, %y: tensor<i32>) -> (tensor<i32>, tensor<2xf32>) {
      %0 = stablehlo.tuple %y : tuple<tensor<i32>>
      %1 = stablehlo.tuple %x, %0 : tuple<tensor<2xf32>, tuple<tensor<i32>>>
      %2 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
      %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<i32>>) -> tensor<i32>
      %4 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<2xf32>
      return %3, %4 : tensor<i32>, tensor<2xf32>
    }"""
    x, y = np.array([1.0, 2.0], np.float32), np.array(7, np.int32)
    for first, second in outcomes(text, x, y):
        np.testing.assert_array_equal(first, y)
        np.testing.assert_array_equal(second, x)


@pytest.mark.parametrize("element", ["ui8", "i8"])
def test_an_arithmetic_shift_fills_up_with_the_highest_bit_of_any_integer(element: str) -> None:
    shape = f"tensor<6x{element}>"
    text = f"""func.func @main(%x: {shape}, %y: {shape}) -> ({shape}, {shape}) {{
      %three = stablehlo.constant dense<3> : {shape}
      %0 = stablehlo.shift_right_arithmetic %x, %y : {shape}
      %1 = stablehlo.shift_right_arithmetic %x, %three : {shape}
      return %0, %1 : {shape}, {shape}
    }}"""
    x = np.array([255, 128, 127, 200, 128, 100], np.uint8)
    distances = np.array([1, 7, 1, 8, 200, 255], np.uint8)
    by_distance = np.array([255, 255, 63, 255, 255, 0], np.uint8)
    by_three = np.array([255, 240, 15, 249, 240, 12], np.uint8)
    dtype = np.uint8 if element == "ui8" else np.int8
    for found, other in outcomes(text, x.view(dtype), distances.view(dtype)):
        np.testing.assert_array_equal(found.view(np.uint8), by_distance)
        np.testing.assert_array_equal(other.view(np.uint8), by_three)
