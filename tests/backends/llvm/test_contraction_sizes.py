"""Contractions whose sizes are known when the kernel is called, and those without elements."""

from dataclasses import replace

import numpy as np
import pytest
from checking.rounding import assert_product, assert_sums
from fuzzing.comparing import assert_agrees

pytest.importorskip("llvmlite")

from guarded_memory import GuardedMemory
from native_run import HOSTS, Native
from products import convolution, matmul
from test_contractions import run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.engine import callable_of
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm.backend import LLVMBackend
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.program import Apply, LoopProgram, Refusal
from fuse_dialect.loops.special_functions import erf


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
    assert_product(actual, a, b.T if swapped else b)


def test_sums_in_blocks_with_an_unknown_number_of_rows() -> None:
    random = np.random.default_rng(0)
    a, b = random.standard_normal((9, 4000)).astype(np.float32), random.standard_normal((4000, 33)).astype(np.float32)
    actual = run_with_size(matmul("m", 4000, 33), [a, b], (9, 33), 9, 2)
    assert_product(actual, a, b)


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


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize(
    ("size", "taps", "step", "pad", "channels"),
    [
        (12, 5, 1, 2, 20),
        (13, 7, 1, 3, 40),
        (20, 9, 1, 4, 17),
        (9, 9, 1, 4, 16),
        (15, 5, 2, 2, 33),
        (8, 7, 1, 6, 16),
        (7, 3, 1, 1, 24),
        (9, 3, 2, 1, 17),
    ],
)
def test_borders_of_large_windows_are_padded_with_zeros(
    target: str, size: int, taps: int, step: int, pad: int, channels: int
) -> None:
    random = np.random.default_rng(size)
    x = random.standard_normal((1, size, size, channels)).astype(np.float32)
    w = random.standard_normal((taps, taps, 1, channels)).astype(np.float32)
    w[0, 1, 0, 2], w[1, taps - 1, 0, 5] = np.inf, np.nan  # zeros times these are nan, so nothing may be left out
    program = convolution(size, channels, channels, taps, step=step, pad=pad, groups=channels)
    with GuardedMemory() as memory:
        (actual,) = Native(program, HOSTS[target])(x, w, parts=2, memory=memory)
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (taps, taps), (1, 2))[:, ::step, ::step]
    with np.errstate(invalid="ignore"):
        expected = np.einsum("nyxcij,ijc->nyxc", windows, w[:, :, 0].astype(np.float64))
    sizes = np.einsum(
        "nyxcij,ijc->nyxc", np.abs(windows), np.nan_to_num(np.abs(w[:, :, 0].astype(np.float64)), posinf=0)
    )
    assert_sums(actual, expected, taps * taps, sizes)


@pytest.mark.parametrize("cpu", [None, "haswell"])
@pytest.mark.parametrize(
    "properties",
    [
        "max_pool2d {}, pool_size = [5, 5], padding = [4, 4, 4, 4], dilation = [2, 2]",
        "max_pool2d {}, pool_size = [7, 5], strides = [2, 1], padding = [3, 2, 3, 2]",
        "avg_pool2d {}, pool_size = [5, 5], padding = [2, 2, 2, 2], count_include_pad = true",
        "avg_pool2d {}, pool_size = [5, 7], padding = [2, 3, 2, 3]",
    ],
)
def test_borders_of_large_pools_are_those_of_numpy(cpu: str | None, properties: str) -> None:
    text = f"""func.func @main(%x: tensor<1x17x14x24xf32>) -> tensor<1x?x?x24xf32> {{
  %y = fuse.{properties.format("%x")}, layout = "NHWC" : (tensor<1x17x14x24xf32>) -> tensor<1x?x?x24xf32>
  return %y : tensor<1x?x?x24xf32>
}}"""
    x = np.random.default_rng(0).standard_normal((1, 17, 14, 24)).astype(np.float32)
    x[0, 0, 3, 1], x[0, 5, 13, 2] = np.nan, -np.inf
    assert_agrees(fd.parse(text), [x], fd.compile(fd.parse(text), target_cpu=cpu)(x))
