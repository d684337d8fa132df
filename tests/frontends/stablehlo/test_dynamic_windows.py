"""Running sums of open length, which JAX writes as windows whose sizes are operands."""

from collections.abc import Callable

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array

TYPE = "tensor<?x?xf32>"


def running(op: str, init: float, axis: int, window: str = "%n", side: int = 0) -> str:
    """A program that calls for windows of a size, with one less added before (0) or behind (1) an axis."""
    sizes = ["%one", "%one"]
    sizes[axis] = "%window"
    around = ["%zero"] * 4
    around[2 * axis + side] = "%less"
    pairs = [f"%p{place} = stablehlo.reshape %q{place} : (tensor<2xi32>) -> tensor<1x2xi32>" for place in (0, 1)]
    joined = [
        f"%q{place} = stablehlo.concatenate {', '.join(around[2 * place : 2 * place + 2])}, dim = 0 "
        ": (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>"
        for place in (0, 1)
    ]
    return f"""
func.func @main(%x: {TYPE}) -> {TYPE} {{
  %init = stablehlo.constant dense<{init:e}> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %minus = stablehlo.constant dense<-1> : tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = {axis} : ({TYPE}) -> tensor<i32>
  %m = stablehlo.add {window}, %minus : tensor<i32>
  %window = stablehlo.reshape {window} : (tensor<i32>) -> tensor<1xi32>
  %less = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %w = stablehlo.concatenate {", ".join(sizes)}, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %ones = stablehlo.concatenate %one, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  {joined[0]}
  {joined[1]}
  {pairs[0]}
  {pairs[1]}
  %p = stablehlo.concatenate %p0, %p1, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %init, %w, %ones, %ones, %ones, %p) {{
    api_version = 2 : i32, called_computations = [@combine]
  }} : ({TYPE}, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> {TYPE}
  return %y : {TYPE}
}}
func.func @combine(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{
  %r = stablehlo.{op} %a, %b : tensor<f32>
  return %r : tensor<f32>
}}"""


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("op", "init", "of_numpy"), [("add", 0.0, np.cumsum), ("multiply", 1.0, np.cumprod)])
def test_windows_as_long_as_an_axis_are_running_reductions(
    op: str, init: float, of_numpy: Callable[..., Array], axis: int, side: int
) -> None:
    text = running(op, init, axis, side=side)
    program = fd.compile(fd.parse(text), cache=False)
    for shape in [(3, 5), (1, 1), (2, 4), (4, 2)]:
        x = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)
        expected = np.flip(of_numpy(np.flip(x, axis), axis), axis) if side else of_numpy(x, axis)
        for (found,) in (fd.run(fd.parse(text), x), program(x)):
            np.testing.assert_array_equal(found, expected)


def test_a_shorter_window_is_an_error_of_the_call() -> None:
    program = fd.compile(fd.parse(running("add", 0.0, 1, window="%three")), cache=False)
    np.testing.assert_array_equal(program(np.ones((2, 3), np.float32))[0], [[1, 2, 3]] * 2)
    with pytest.raises(fd.FuseError, match="3 positions on an axis of 5"):
        program(np.ones((2, 5), np.float32))


@pytest.mark.parametrize(("op", "init"), [("maximum", 0.0), ("add", 1.0)])
def test_other_windows_of_computed_size_are_refused(op: str, init: float) -> None:
    with pytest.raises(fd.FuseError, match="dynamic_reduce_window"):
        fd.compile(fd.parse(running(op, init, 0)), cache=False)
