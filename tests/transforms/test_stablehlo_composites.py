"""`stablehlo.composite`: what its decomposition says; without one it is refused, with a place."""

import numpy as np
import pytest

import fuse_dialect as fd

PROGRAM = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.composite "mine.twice" %x {decomposition = @twice} : (tensor<3xf32>) -> tensor<3xf32>
  %z = stablehlo.composite "mine.four_times" %y {decomposition = @four_times} : (tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
func.func VISIBILITY @four_times(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.composite "mine.twice" %x {decomposition = @twice} : (tensor<3xf32>) -> tensor<3xf32>
  %z = stablehlo.composite "mine.twice" %y {decomposition = @twice} : (tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
func.func VISIBILITY @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.add %x, %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
"""


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_a_composite_is_its_decomposition(visibility: str) -> None:
    module = fd.parse(PROGRAM.replace("VISIBILITY", visibility))
    x = np.array([1, -2, 0.5], np.float32)
    np.testing.assert_array_equal(fd.run(module, x)[0], 8 * x)
    np.testing.assert_array_equal(fd.compile(module, cache=False)(x)[0], 8 * x)


def test_private_decompositions_fuse_with_the_rest() -> None:
    program = fd.compile(fd.parse(PROGRAM.replace("VISIBILITY", "private")), cache=False)
    assert len(program.kernels) == 1


@pytest.mark.parametrize(
    "decomposition",
    ["", "func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"],
    ids=["missing", "of other types"],
)
def test_without_a_decomposition_it_is_refused_at_its_place(decomposition: str) -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.composite "mine.op" %x {decomposition = @f}
    : (tensor<3xf32>) -> tensor<3xf32> loc("m.mlir":7:3)
  return %y : tensor<3xf32>
}
"""
    module = fd.parse(text + decomposition)
    x = np.zeros(3, np.float32)
    for call in (lambda: fd.run(module, x), lambda: fd.compile(module, cache=False)(x)):
        with pytest.raises(fd.FuseError, match=r"'stablehlo.composite' op has no meaning") as caught:
            call()
        assert str(caught.value.location) == "m.mlir:7:3"
