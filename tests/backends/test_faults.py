"""What an op rejects natively is the error of its meaning, wherever the kernel runs; and the next call is right."""

from collections.abc import Callable

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.dialect.op import Array

pytest.importorskip("llvmlite")

GATHER = """func.func @main(%x: tensor<3x5xf32>, %i: tensor<4x5xi32>) -> tensor<4x5xf32> {
  %e = fuse.exp %x : tensor<3x5xf32>
  %0 = fuse.gather %e, %i, axis = 0 : (tensor<3x5xf32>, tensor<4x5xi32>)
  return %0 : tensor<4x5xf32>
}"""
IN_A_LOOP = """func.func @main(%x: tensor<3x5xf32>, %i: tensor<4x5xi32>) -> tensor<4x5xf32> {
  %z = arith.constant dense<0.0> : tensor<5xf32>
  %r:2 = fuse.loop states(%z : tensor<5xf32>) rows(%i : tensor<4x5xi32>) -> (tensor<5xf32>, tensor<4x5xf32>) {
  ^bb0(%n: tensor<i64>, %s: tensor<5xf32>, %row: tensor<5xi32>):
    %p = fuse.expand_dims %row, axis = 0 : (tensor<5xi32>) -> tensor<1x5xi32>
    %0 = fuse.gather %x, %p, axis = 0 : (tensor<3x5xf32>, tensor<1x5xi32>)
    %1 = fuse.reshape %0 : (tensor<1x5xf32>) -> tensor<5xf32>
    %b = fuse.add %1, %s : tensor<5xf32>
    fuse.yield %b, %b : tensor<5xf32>, tensor<5xf32>
  }
  return %r#1 : tensor<4x5xf32>
}"""
OF_OPEN_SIZE = GATHER.replace("tensor<4x5x", "tensor<?x5x")
SCATTER = """func.func @main(%x: tensor<3x5xf32>, %i: tensor<4x5xi32>) -> tensor<3x5xf32> {
  %p = fuse.reshape %i : (tensor<4x5xi32>) -> tensor<20x1xi32>
  %u = arith.constant dense<1.0> : tensor<20x5xf32>
  %0 = fuse.scatter_nd %x, %p, %u, mode = "add" : (tensor<3x5xf32>, tensor<20x1xi32>, tensor<20x5xf32>)
  return %0 : tensor<3x5xf32>
}"""
STEP_BY_STEP = """func.func @main(%x: tensor<3x5xf32>, %i: tensor<4x5xi32>) -> (tensor<?x2xi64>, tensor<?x5xf32>) {
  %where = fuse.argwhere %i : (tensor<4x5xi32>) -> tensor<?x2xi64>
  %at = fuse.strided_slice %where, begin = [0, 0], end = [9, 1] : (tensor<?x2xi64>) -> tensor<?x1xi64>
  %p = fuse.gather_nd %i, %at : (tensor<4x5xi32>, tensor<?x1xi64>)
  %0 = fuse.gather %x, %p, axis = 0 : (tensor<3x5xf32>, tensor<?x5xi32>)
  return %where, %0 : tensor<?x2xi64>, tensor<?x5xf32>
}"""


def into(program: Program, x: Array, i: Array) -> None:
    program.run_into([x, i], [np.empty_like(result) for result in program(x, np.ones_like(i))])


RUNS: dict[str, Callable[[Program, Array, Array], object]] = {
    "call": lambda program, x, i: program(x, i),
    "profile": lambda program, x, i: program.profile(x, i, repeat=1),
    "run_into": into,
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("text", [GATHER, IN_A_LOOP, OF_OPEN_SIZE, SCATTER, STEP_BY_STEP])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_fault_is_the_error_of_the_meaning(text: str, run: str, threads: int) -> None:
    random = np.random.default_rng(0)
    module = fd.parse(text)
    program = fd.compile(module, cache=False, threads=threads)
    x, i = random.standard_normal((3, 5)).astype(np.float32), random.integers(1, 3, (4, 5)).astype(np.int32)
    wrong = i.copy()
    wrong[1, 3] = -4
    for _ in range(2):
        with pytest.raises(fd.FuseError, match="index -4 is out of bounds for axis 0 with size 3"):
            RUNS[run](program, x, wrong)
        for result, expected in zip(program(x, i), fd.run(module, x, i), strict=True):
            np.testing.assert_allclose(result, expected, 1e-6)


@pytest.mark.parametrize("text", [GATHER, IN_A_LOOP, SCATTER])
def test_what_may_reject_values_is_native(text: str) -> None:
    program = fd.compile(fd.parse(text), cache=False)
    assert {"numpy", "python"}.isdisjoint(kernel.family for kernel in program.kernels)
