"""Contractions whose sizes are known when the kernel is called, and those without elements."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from guarded_memory import GuardedMemory
from native_run import HOSTS, Native
from products import convolution, matmul
from test_contractions import run_kernel

from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm.backend import LLVMBackend
from fuse_dialect.backends.llvm.engine import callable_of
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.special_functions import erf
from fuse_dialect.kernels.program import Apply, LoopProgram, Refusal


def run_with_size(program: LoopProgram, arrays: list[Array], shape: tuple[int, ...], size: int, parts: int) -> Array:
    """The result of a kernel with one symbolic size."""
    (kernel,) = LLVMBackend().compile([KernelRequest(program)])
    assert not isinstance(kernel, Refusal), kernel
    assert kernel.family == "contraction"
    output = np.full(shape, np.nan, np.float32)
    for part in range(parts):
        workspace = np.zeros(kernel.workspace_bytes + 64, np.uint8)
        addresses = [array.ctypes.data for array in (*arrays, output)]
        slots = np.array([*addresses, workspace.ctypes.data + -workspace.ctypes.data % 64, size], np.int64)
        callable_of(kernel.address)(slots.ctypes.data, part, parts)
    return output


@pytest.mark.parametrize("rows", [0, 1, 13, 14, 15, 100])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_number_of_rows_may_be_known_at_the_call(rows: int, swapped: bool) -> None:
    random = np.random.default_rng(rows)
    a = random.standard_normal((rows, 70)).astype(np.float32)
    b = random.standard_normal((40, 70) if swapped else (70, 40)).astype(np.float32)
    actual = run_with_size(matmul("m", 70, 40, swapped=swapped), [a, b], (rows, 40), rows, 3)
    np.testing.assert_allclose(actual, a @ (b.T if swapped else b), rtol=1e-4, atol=1e-4)


def test_sums_in_blocks_with_an_unknown_number_of_rows() -> None:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((9, 4000)).astype(np.float32), random.standard_normal((4000, 33)).astype(np.float32)
    actual = run_with_size(matmul("m", 4000, 33), [a, b], (9, 33), 9, 2)
    np.testing.assert_allclose(actual, a @ b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_matrices_without_elements(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    arrays: list[Array] = [np.zeros((m, k), np.float32), np.zeros((k, n), np.float32)]
    for parts in (1, 3):
        actual, _ = run_kernel(matmul(m, k, n), arrays, frozenset([1]), parts)
        np.testing.assert_array_equal(actual, np.zeros((m, n), np.float32))


@pytest.mark.parametrize(("channels", "outputs"), [(0, 8), (8, 0)])
def test_convolutions_without_channels(channels: int, outputs: int) -> None:
    arrays: list[Array] = [np.zeros((1, 6, 6, channels), np.float32), np.zeros((3, 3, channels, outputs), np.float32)]
    actual, _ = run_kernel(convolution(6, channels, outputs, 3, pad=1), arrays, frozenset([1]), 2)
    np.testing.assert_array_equal(actual, np.zeros((1, 6, 6, outputs), np.float32))


def test_nan_and_infinity_reach_the_results_that_they_belong_to() -> None:
    a, b = np.ones((20, 8), np.float32), np.ones((8, 40), np.float32)
    a[3, 2], b[1, 33] = np.nan, np.inf
    actual, _ = run_kernel(matmul(20, 8, 40), [a, b], frozenset([1]), 2)
    np.testing.assert_array_equal(actual, a @ b)


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("rows", [1, 4, 5, 6, 12, 13, 14, 29])
def test_long_ends_run_on_every_row_of_a_tile(target: str, rows: int) -> None:
    random = np.random.default_rng(rows)
    a, b = random.standard_normal((rows, 9)).astype(np.float32), random.standard_normal((9, 37)).astype(np.float32)
    program = matmul(rows, 9, 37)
    (stage,) = program.stages
    finish = (Apply("math.erf", (0,), "f32"), Apply("math.exp", (0,), "f32"), Apply("arith.addf", (1, 2), "f32"))
    program = replace(program, stages=(replace(stage, finish=finish),))
    with GuardedMemory() as memory:
        (actual,) = Native(program, HOSTS[target])(a, b, memory=memory)
    total = a.astype(np.float64) @ b
    np.testing.assert_allclose(actual, erf(total) + np.exp(total), rtol=2e-5, atol=1e-6)
