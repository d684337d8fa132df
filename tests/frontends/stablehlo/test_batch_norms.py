"""Normalizations of a batch, in training and backward, against the definition in f64."""

import numpy as np
import numpy.typing as npt
import pytest

import fuse_dialect as fd

Reals = npt.NDArray[np.float64]

TRAINING = """
func.func @main(%x: tensor<{0}x{1}>, %s: tensor<{2}x{1}>, %o: tensor<{2}x{1}>)
    -> (tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>) {{
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{{epsilon = 1.0e-3 : f32, feature_index = {3} : i64}}>
    : (tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>) -> (tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>)
  return %0#0, %0#1, %0#2 : tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>
}}"""
GRADIENT = """
func.func @main(%x: tensor<{0}x{1}>, %s: tensor<{2}x{1}>, %m: tensor<{2}x{1}>, %v: tensor<{2}x{1}>, %g: tensor<{0}x{1}>)
    -> (tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>) {{
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) <{{epsilon = 1.0e-3 : f32, feature_index = {3} : i64}}>
    : (tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>, tensor<{0}x{1}>)
    -> (tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>)
  return %0#0, %0#1, %0#2 : tensor<{0}x{1}>, tensor<{2}x{1}>, tensor<{2}x{1}>
}}"""


def trained(x: Reals, scale: Reals, offset: Reals, axis: int) -> tuple[Reals, Reals, Reals]:
    """The normalized batch, with its mean and variance."""
    last = np.moveaxis(x, axis, -1)
    rows = last.reshape(-1, last.shape[-1])
    mean, variance = rows.mean(0), rows.var(0)
    normal = (last - mean) / np.sqrt(variance + 1e-3) * scale + offset
    return np.moveaxis(normal, -1, axis), mean, variance


@pytest.mark.parametrize(("type_", "dtype", "rtol"), [("f32", "f4", 1e-5), ("f64", "f8", 1e-9), ("f16", "f2", 5e-3)])
@pytest.mark.parametrize("axis", [0, 1, 3])
def test_in_training_a_batch_has_its_own_statistics(axis: int, type_: str, dtype: str, rtol: float) -> None:
    random = np.random.default_rng(axis)
    x = (random.normal(size=(3, 4, 5, 2)) * 3 + 1).astype(dtype)
    scale, offset = random.normal(size=(2, x.shape[axis])).astype(dtype)
    module = fd.parse(TRAINING.format("3x4x5x2", type_, x.shape[axis], axis))
    expected = trained(x.astype(np.float64), scale.astype(np.float64), offset.astype(np.float64), axis)
    for results in (fd.run(module, x, scale, offset), fd.compile(module, cache=False)(x, scale, offset)):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_gradient_is_that_of_the_definition(axis: int) -> None:
    """By differences, in the direction of each operand."""
    random = np.random.default_rng(axis)
    x, gradient, direction = random.normal(size=(3, 3, 4, 2))
    scale, offset, of_scale, of_offset = random.normal(size=(4, x.shape[axis]))
    _, mean, variance = trained(x, scale, offset, axis)
    module = fd.parse(GRADIENT.format("3x4x2", "f64", x.shape[axis], axis))
    inputs = (x, scale, mean, variance, gradient)

    def slope(of_x: Reals, of_scale: Reals, of_offset: Reals) -> float:
        up, down = (
            trained(x + step * of_x, scale + step * of_scale, offset + step * of_offset, axis)[0]
            for step in (1e-5, -1e-5)
        )
        return float(((up - down) * gradient).sum() / 2e-5)

    none, flat = np.zeros_like(x), np.zeros_like(scale)
    for results in (fd.run(module, *inputs), fd.compile(module, cache=False)(*inputs)):
        np.testing.assert_allclose((results[0] * direction).sum(), slope(direction, flat, flat), rtol=1e-6)
        np.testing.assert_allclose((results[1] * of_scale).sum(), slope(none, of_scale, flat), rtol=1e-6)
        np.testing.assert_allclose((results[2] * of_offset).sum(), slope(none, flat, of_offset), rtol=1e-6)
