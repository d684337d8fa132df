"""Loops and branches converted to `scf` mean what they meant."""

from collections.abc import Sequence

import numpy as np
import pytest
from checking.rounding import assert_near
from linalg_meaning import run_linalg
from test_convert_fuse_to_linalg import converted
from test_linalg_in_iree import call, loaded, needs_iree
from xdsl.context import Context

from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module

F32 = np.float32
PROGRAMS: dict[str, tuple[str, list[list[Array]]]] = {
    "rows": (
        """func.func @main(%h: tensor<2xf32>, %x: tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>) {
  %last, %all = fuse.loop states(%h : tensor<2xf32>) rows(%x : tensor<4x2xf32>) -> (tensor<2xf32>, tensor<4x2xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<2xf32>, %row: tensor<2xf32>):
    %sum = fuse.add %state, %row : tensor<2xf32>
    %next = fuse.tanh %sum : tensor<2xf32>
    %twice = fuse.add %next, %h : tensor<2xf32>
    fuse.yield %next, %twice : tensor<2xf32>, tensor<2xf32>
  }
  return %last, %all : tensor<2xf32>, tensor<4x2xf32>
}""",
        [[np.array([0.5, -1], F32), np.arange(8, dtype=F32).reshape(4, 2) / 8]],
    ),
    "conditions": (
        """func.func @main(%n: tensor<i64>, %go: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<?xi64>) {
  %end = arith.constant dense<9.0> : tensor<f32>
  %last, %all = fuse.loop limit(%n : tensor<i64>) while(%go : tensor<i1>) states(%x : tensor<f32>) -> (tensor<f32>, tensor<?xi64>) {
  ^bb0(%i: tensor<i64>, %state: tensor<f32>):
    %next = fuse.add %state, %state : tensor<f32>
    %more = fuse.less %next, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
    fuse.yield while(%more : tensor<i1>) %next, %i : tensor<f32>, tensor<i64>
  }
  return %last, %all : tensor<f32>, tensor<?xi64>
}""",  # noqa: E501  (a type)
        [
            [np.array(n), np.array(go), np.array(1, F32)]
            for n, go in ((2, True), (1 << 62, True), (3, False), (0, True))
        ],
    ),
    "limit": (
        """func.func @main(%n: tensor<i64>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %last = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<?xf32>) -> (tensor<?xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<?xf32>):
    %next = fuse.concatenate %state, %state {axis = 0 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    fuse.yield %next : tensor<?xf32>
  }
  return %last : tensor<?xf32>
}""",
        [[np.array(2), np.array([1, 2], F32)], [np.array(-1), np.array([1, 2], F32)]],
    ),
    "branches": (
        """func.func @main(%go: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %sum = fuse.add %x, %y : tensor<3xf32>
  %z = fuse.if(%go : tensor<i1>) -> (tensor<3xf32>) {
    %r = fuse.relu %sum : tensor<3xf32>
    %e = fuse.exp %r : tensor<3xf32>
    fuse.yield %e : tensor<3xf32>
  } else {
    %w = fuse.if(%go : tensor<i1>) -> (tensor<3xf32>) {
      fuse.yield %x : tensor<3xf32>
    } else {
      %m = fuse.multiply %x, %sum : tensor<3xf32>
      fuse.yield %m : tensor<3xf32>
    }
    fuse.yield %w : tensor<3xf32>
  }
  %end = fuse.negative %z : tensor<3xf32>
  return %end : tensor<3xf32>
}""",
        [[np.array(go), np.array([1, -2, 3], F32), np.array([0, 1, 2], F32)] for go in (True, False)],
    ),
}


ROUNDINGS = 100
"""More than any of these programs has on the way to an element."""


def assert_same(actual: Sequence[Array], expected: Sequence[object]) -> None:
    for one, other in zip(actual, expected, strict=True):
        assert isinstance(other, np.ndarray)
        assert one.shape == other.shape
        assert_near(one, other, ROUNDINGS)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_keep_their_meaning_in_linalg(name: str, fused: bool) -> None:
    text, inputs = PROGRAMS[name]
    module = parse_mlir(text)
    if fused:
        FuseOpsPass().apply(Context(), module)
    linalg = converted(module)
    for arrays in inputs:
        assert_same(run_linalg(linalg, arrays), run_module(module, arrays))
        assert_same(run_module(linalg, arrays), run_module(module, arrays))


@needs_iree
@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_keep_their_meaning_in_iree(name: str) -> None:
    text, inputs = PROGRAMS[name]
    module = parse_mlir(text)
    FuseOpsPass().apply(Context(), module)
    functions = loaded(module)
    for arrays in inputs:
        assert_same(call(functions, "main", arrays), run_module(module, arrays))
