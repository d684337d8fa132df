"""Functions whose sizes the data decide: programs of what stands between such ops mean what the function means."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.backends.runtime.program import Program

ROWS = 8
WIDTH = 4


def found_rows(size: str) -> str:
    """The first row of `%x` with a positive element and the first without, through a product; `%x` itself, twice.

    Native code does not count distinct elements that are left in their order.
    """
    x = f"tensor<{size}x{WIDTH}xf32>"
    return f"""func.func @main(%x: {x}, %w: tensor<{WIDTH}x3xf32>)
        -> (tensor<?x3xf32>, tensor<?xi64>, {x}, {x}, tensor<2xf32>, tensor<{size}xf32>) {{
      %shape = fuse.shape_of %x : ({x}) -> tensor<2xi64>
      %count = fuse.strided_slice %shape, begin = [0], end = [1] : (tensor<2xi64>) -> tensor<1xi64>
      %doubled = fuse.add %x, %x : {x}
      %score = fuse.max %doubled, axes = [1] : ({x}) -> tensor<{size}xf32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %above = fuse.greater %score, %zero : (tensor<{size}xf32>, tensor<f32>) -> tensor<{size}xi1>
      %kinds, %places, %inverse, %counts = fuse.unique %above, sorted = false : tensor<{size}xi1>
      %rows = fuse.take %doubled, %places, axis = 0 : ({x}, tensor<?xi64>) -> tensor<?x{WIDTH}xf32>
      %product = fuse.matmul %rows, %w : (tensor<?x{WIDTH}xf32>, tensor<{WIDTH}x3xf32>) -> tensor<?x3xf32>
      %active = fuse.relu %product : tensor<?x3xf32>
      %spread = fuse.dyn_broadcast_to %zero, %count : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
      %exp = fuse.exp %score : tensor<{size}xf32>
      %sum = fuse.add %exp, %spread : (tensor<{size}xf32>, tensor<?xf32>) -> tensor<{size}xf32>
      %pair = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      return %active, %places, %x, %x, %pair, %sum
        : tensor<?x3xf32>, tensor<?xi64>, {x}, {x}, tensor<2xf32>, tensor<{size}xf32>
    }}"""


def stretches_of(program: Program) -> Any:
    return program._stretches  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("size", ["?", str(ROWS)])
def test_a_function_is_cut_where_the_data_decide(size: str) -> None:
    module = fd.parse(found_rows(size))
    program = fd.compile(module)
    rng = np.random.default_rng(0)
    w = rng.standard_normal((WIDTH, 3)).astype(np.float32)
    for shift in (0.0, -10.0, 10.0, 0.5, 0.0):  # some, none and all
        x = (rng.standard_normal((ROWS, WIDTH)) + shift).astype(np.float32)
        for got, wanted in zip(program(x, w), fd.run(module, x, w), strict=True):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    assert len(stretches_of(program)._parts) == 3


@given(rows=st.integers(0, 12), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_any_number_of_rows(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, WIDTH), (WIDTH, 3)))
    for got, wanted in zip(PROGRAM(x, w), fd.run(MODULE, x, w), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


MODULE = fd.parse(found_rows("?"))
PROGRAM = fd.compile(MODULE)


def test_results_have_memory_of_their_own() -> None:
    x, w = np.ones((ROWS, WIDTH), np.float32), np.ones((WIDTH, 3), np.float32)
    results = PROGRAM(x, w)
    for place, one in enumerate(results):
        assert one.flags.writeable
        assert not any(np.shares_memory(one, other) for other in (x, w, *results[:place]))


def test_no_call_of_a_stretch_is_on_numpy() -> None:
    assert [kernel.name for kernel in PROGRAM.kernels if kernel.family == "numpy"] == ["fused_unique"]


def test_indices_out_of_range_are_brought_into_it_in_a_stretch_too() -> None:
    module = fd.parse(
        """func.func @main(%x: tensor<?xf32>, %table: tensor<4xf32>) -> tensor<?xf32> {
          %zero = arith.constant dense<0.0> : tensor<f32>
          %y = fuse.exp %x : tensor<?xf32>
          %above = fuse.greater %x, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
          %kinds, %places, %inverse, %counts = fuse.unique %above, sorted = false : tensor<?xi1>
          %own = fuse.take %table, %places, axis = 0 : (tensor<4xf32>, tensor<?xi64>) -> tensor<?xf32>
          %own_y = fuse.take %y, %places, axis = 0 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
          %sum = fuse.add %own, %own_y : tensor<?xf32>
          return %sum : tensor<?xf32>
        }"""
    )
    program, table = fd.compile(module), np.arange(4, dtype=np.float32)
    for x in ([-1, 2, 3, -1], [-1, 2, 3, -1, 5, 6]):
        given = np.array(x, np.float32)
        np.testing.assert_allclose(program(given, table)[0], fd.run(module, given, table)[0], rtol=1e-6)


def test_what_a_later_stretch_computes_anew_finds_what_it_reads() -> None:
    module = fd.parse(
        """func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<f32>) {
          %zero = arith.constant dense<0.5> : tensor<f32>
          %above = fuse.greater %x, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
          %kinds, %places, %inverse, %counts = fuse.unique %above, sorted = false : tensor<?xi1>
          %rows = fuse.take %x, %places, axis = 0 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
          %every = fuse.strided_slice %rows, begin = [0], end = [9], strides = [2] : (tensor<?xf32>) -> tensor<?xf32>
          %sum = fuse.sum %every : (tensor<?xf32>) -> tensor<f32>
          %shape = fuse.shape_of %every : (tensor<?xf32>) -> tensor<1xi64>
          %exp = fuse.exp %x : tensor<?xf32>
          %low = fuse.less %exp, %sum : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
          %others, %firsts, %backs, %many = fuse.unique %low, sorted = false : tensor<?xi1>
          %spread = fuse.dyn_broadcast_to %zero, %shape : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
          %cos = fuse.cos %spread : tensor<?xf32>
          %taken = fuse.take %x, %firsts, axis = 0 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
          %tanh = fuse.tanh %taken : tensor<?xf32>
          return %cos, %tanh, %sum : tensor<?xf32>, tensor<?xf32>, tensor<f32>
        }"""
    )
    program = fd.compile(module)
    for size in (9, 4):
        x = np.linspace(0, 1, size, dtype=np.float32)
        for got, wanted in zip(program(x), fd.run(module, x), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
