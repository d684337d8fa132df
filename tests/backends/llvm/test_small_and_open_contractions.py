"""Products with sizes of 0 and 1, and with sizes that are open: whatever form they take, NumPy's result comes out."""

from itertools import product

import numpy as np
import pytest
from checking.rounding import assert_sums_of

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array

SIZES = (0, 1, 3, 17)


def compare(text: str, *arrays: Array) -> None:
    module = fd.parse(text)
    program = fd.compile(module)
    assert all(kernel.family != "numpy" for kernel in program.kernels), program.kernels
    assert_sums_of(module, arrays, program(*arrays))


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def typed(shape: tuple[int, ...], is_open: tuple[bool, ...]) -> str:
    return "x".join([*("?" if each else str(size) for size, each in zip(shape, is_open, strict=True)), "f32"])


def multiplied(op: str, lhs: str, rhs: str, result: str, attributes: str = "") -> str:
    return f"""func.func @main(%a: tensor<{lhs}>, %b: tensor<{rhs}>) -> tensor<{result}> {{
  %0 = fuse.{op} %a, %b{attributes} : (tensor<{lhs}>, tensor<{rhs}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("is_open", list(product([False, True], repeat=3)), ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_products(is_open: tuple[bool, bool, bool], transposed: bool) -> None:
    m_open, k_open, n_open = is_open
    for m, k, n in product((0, 1, 17), repeat=3):
        right, right_open = ((n, k), (n_open, k_open)) if transposed else ((k, n), (k_open, n_open))
        types = typed((m, k), (m_open, k_open)), typed(right, right_open), typed((m, n), (m_open, n_open))
        attributes = ", transpose_b = true" if transposed else ""
        compare(multiplied("matmul", *types, attributes), numbers(m, k), numbers(*right))


@pytest.mark.parametrize("is_open", list(product([False, True], repeat=4)), ids=str)
def test_products_of_batches(is_open: tuple[bool, bool, bool, bool]) -> None:
    b_open, m_open, k_open, n_open = is_open
    for b, m, k, n in [
        (2, 3, 4, 5),
        (0, 3, 4, 5),
        (1, 1, 1, 1),
        (2, 17, 0, 5),
        (2, 0, 3, 4),
        (3, 1, 17, 1),
        (1, 9, 2, 20),
    ]:
        lhs = typed((b, m, k), (b_open, m_open, k_open))
        rhs = typed((b, k, n), (b_open, k_open, n_open))
        text = multiplied("batch_matmul", lhs, rhs, typed((b, m, n), (b_open, m_open, n_open)))
        compare(text, numbers(b, m, k), numbers(b, k, n))


@pytest.mark.parametrize("batches", list(product(SIZES[:3], repeat=2)), ids=str)
@pytest.mark.parametrize("is_open", list(product([False, True], repeat=2)), ids=str)
def test_products_with_two_batch_axes(batches: tuple[int, int], is_open: tuple[bool, bool]) -> None:
    for m, k, n in ((3, 4, 5), (1, 4, 17), (0, 2, 2)):
        types = [typed((*batches, *sizes), (*is_open, False, False)) for sizes in ((m, k), (k, n), (m, n))]
        compare(multiplied("batch_matmul", *types), numbers(*batches, m, k), numbers(*batches, k, n))


@pytest.mark.parametrize("sizes", list(product((1, 3), (0, 1, 4), (1, 5, 40))), ids=str)
@pytest.mark.parametrize("dims", ["broadcast", "dot"])
def test_sums_of_outer_products(sizes: tuple[int, int, int], dims: str) -> None:
    """`vmap(lambda a, b: outer(a, b).sum(0))`: the columns do not depend on what is summed over."""
    b, n, k = sizes
    whole, left, right = f"tensor<{b}x{n}x{k}xf32>", f"tensor<{b}x{n}xf32>", f"tensor<{b}x{k}xf32>"
    outer = f"""%0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : ({left}) -> {whole}
  %1 = stablehlo.broadcast_in_dim %b, dims = [0, 2] : ({right}) -> {whole}
  %2 = stablehlo.multiply %0, %1 : {whole}"""
    if dims == "dot":
        outer = f"""%2 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [] x []
    : ({left}, {right}) -> {whole}"""
    compare(
        f"""func.func @main(%a: {left}, %b: {right}) -> {right} {{
  {outer}
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [1] : ({whole}, tensor<f32>) -> {right}
  return %3 : {right}
}}""",
        numbers(b, n),
        numbers(b, k),
    )


def test_sums_of_long_outer_products_are_taken_in_blocks() -> None:
    """The sum has several blocks, all with the same columns; whole numbers have the same sum in any order."""
    a, b = np.rint(numbers(40, 30000)), np.rint(numbers(40) * 2)
    compare(
        """func.func @main(%a: tensor<40x30000xf32>, %b: tensor<40xf32>) -> tensor<40x40xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<40x30000xf32>) -> tensor<40x30000x40xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<40xf32>) -> tensor<40x30000x40xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<40x30000x40xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [1]
    : (tensor<40x30000x40xf32>, tensor<f32>) -> tensor<40x40xf32>
  return %3 : tensor<40x40xf32>
}""",
        a,
        b,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_every_number_of_rows_around_a_tile(threads: int) -> None:
    """The last rows of an open number get a tile that holds them, and few rows share columns among threads."""
    weights = fd.parse(f"""func.func @main(%x: tensor<?x33xf32>) -> tensor<?x70xf32> {{
  %w = arith.constant dense<{numbers(33, 70).tolist()}> : tensor<33x70xf32>
  %0 = fuse.matmul %x, %w : (tensor<?x33xf32>, tensor<33x70xf32>) -> tensor<?x70xf32>
  %1 = fuse.relu %0 : tensor<?x70xf32>
  return %1 : tensor<?x70xf32>
}}""")
    long = fd.parse(multiplied("matmul", "?x600xf32", "600x70xf32", "?x70xf32"))
    for module, others in ((weights, ()), (long, (numbers(600, 70),))):
        program = fd.compile(module, threads=threads)
        assert [kernel.family for kernel in program.kernels] == ["contraction"]
        depth = 33 if not others else 600
        for rows in range(35):
            arrays = numbers(rows, depth), *others
            assert_sums_of(module, arrays, program(*arrays))
