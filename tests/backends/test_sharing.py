"""Primitives that differ in scales alone are one kernel."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import fuse_dialect as fd

_IN, _OUT = "tensor<4x8xi32>", "tensor<4x8xf32>"


def _layers(scales: list[float], second: str = "multiply") -> str:
    """Layers of a network in 8 bits: a sum of products, times a scale that is known later and one that is known."""
    lines = [
        f"""  %c{place} = arith.constant dense<{scale!r}> : tensor<f32>
  %s{place} = fuse.{second} %scale, %c{place} : tensor<f32>
  %p{place} = fuse.matmul %x, %w{place} : ({_IN}, tensor<8x8xi32>) -> {_IN}
  %f{place} = fuse.cast %p{place} : ({_IN}) -> {_OUT}
  %y{place} = fuse.multiply %f{place}, %s{place} : ({_OUT}, tensor<f32>) -> {_OUT}"""
        for place, scale in enumerate(scales)
    ]
    weights = ", ".join(f"%w{place}: tensor<8x8xi32>" for place in range(len(scales)))
    values, types = (", ".join(each) for each in ([f"%y{place}" for place in range(len(scales))], [_OUT] * len(scales)))
    head = f"func.func @main(%x: {_IN}, %scale: tensor<f32>, {weights}) -> ({types}) {{"
    return "\n".join([head, *lines, f"  return {values} : {types}", "}"])


def _agrees(text: str) -> int:
    """How many kernels a program has, whose results are those of NumPy."""
    random = np.random.default_rng(3)
    count = text.count("fuse.matmul")
    arrays = [
        random.integers(-9, 9, (4, 8)).astype(np.int32),
        np.float32(0.37),
        *(random.integers(-9, 9, (8, 8)).astype(np.int32) for _ in range(count)),
    ]
    program = fd.compile(fd.parse(text), threads=1, cache=False, strategy="tvm")
    for actual, expected in zip(program(*arrays), fd.run(fd.parse(text), *arrays), strict=True):
        np.testing.assert_array_equal(actual, expected)
    assert all(kernel.calls for kernel in program.kernels)
    return len(program.kernels)


def test_layers_that_differ_in_scales_are_one_kernel() -> None:
    one = _agrees(_layers([0.5]))
    assert _agrees(_layers([0.5, 0.25, 0.125])) == one


def test_a_number_that_is_added_is_no_scale() -> None:
    assert _agrees(_layers([0.5, 0.25], second="add")) > _agrees(_layers([0.5], second="add"))
