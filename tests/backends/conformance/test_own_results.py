"""Results are arrays of their own: writing to one changes no input, no constant and no other result."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.values import separate

PROGRAMS = {
    "inputs": """func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
      return %x, %x : tensor<2x3xf32>, tensor<2x3xf32>
    }""",
    "views of an input": """func.func @main(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>, tensor<2xf32>) {
      %a = fuse.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
      %b = fuse.transpose %x, permutation = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %c = fuse.strided_slice %a, begin = [0], end = [6], strides = [3] : (tensor<6xf32>) -> tensor<2xf32>
      return %a, %b, %c : tensor<6xf32>, tensor<3x2xf32>, tensor<2xf32>
    }""",
    "one value and its views": """
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<6xf32>) {
      %y = fuse.exp %x : tensor<2x3xf32>
      %z = fuse.reshape %y : (tensor<2x3xf32>) -> tensor<6xf32>
      return %y, %y, %z : tensor<2x3xf32>, tensor<2x3xf32>, tensor<6xf32>
    }""",
    "constants": """func.func @main(%x: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) {
      %c = arith.constant dense<2.0> : tensor<4xf32>
      %d = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      return %c, %d, %d : tensor<4xf32>, tensor<3xf32>, tensor<3xf32>
    }""",
    "sizes that are known late": """
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<?x2xi64>, tensor<?xi64>, tensor<?x2xi64>) {
      %p = fuse.argwhere %x : (tensor<2x3xf32>) -> tensor<?x2xi64>
      %q = fuse.reshape %p : (tensor<?x2xi64>) -> tensor<?xi64>
      return %p, %q, %p : tensor<?x2xi64>, tensor<?xi64>, tensor<?x2xi64>
    }""",
    "results of one function that are one value": """
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
      %a, %b, %c = func.call @f(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
      return %a, %b, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    }
    func.func private @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
        attributes {primitive} {
      %y = fuse.sort %x : tensor<2x3xf32>
      return %y, %y, %x : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    }""",
}


def _runs(module: ModuleOp, backend: Backend) -> list[Callable[[Array], Sequence[Array]]]:
    program = compile_program(module, CompileOptions(backend=backend))
    return [lambda x: fd.run(module, x), program, program]


@pytest.mark.parametrize("name", PROGRAMS)
def test_writing_to_a_result_changes_nothing_else(backend: Backend, name: str) -> None:
    module = fd.parse(PROGRAMS[name])
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    before = x.copy()
    for run in _runs(module, backend):
        results = run(x)
        expected = [result.copy() for result in results]
        for result in results:
            assert result.flags.writeable
        for place, result in enumerate(results):
            result[...] = 99
            np.testing.assert_array_equal(x, before)
            for other, wanted in zip(results[place + 1 :], expected[place + 1 :], strict=True):
                np.testing.assert_array_equal(other, wanted)
        for result, wanted in zip(run(x), expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


def test_a_result_that_shares_nothing_is_not_copied() -> None:
    x, own, constant = np.zeros(3), np.ones(3), np.full(3, 2.0)
    constant.flags.writeable = False
    results = separate([own, x, own[1:], constant], [x])
    assert [result is given for result, given in zip(results, [own, x, own[1:], constant], strict=True)] == [
        True,
        False,
        False,
        False,
    ]
    assert not any(np.shares_memory(one, other) for one in results for other in (x, constant))
    assert not np.shares_memory(results[0], results[2])
