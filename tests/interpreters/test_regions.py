"""Loops and branches: in `run_module`, in xDSL's interpreter, and in compiled programs."""

import numpy as np
import pytest
from xdsl.interpreter import Interpreter

from fuse_dialect.api import compile as compile_module
from fuse_dialect.api import fuse_ops, parse, run
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.numpy_functions import register_numpy
from fuse_dialect.interpreters.values import EvaluationError

SUMS = """
func.func @main(%n: tensor<i64>, %go: tensor<i1>, %x: tensor<?x2xf32>, %scale: tensor<f32>)
    -> (tensor<2xf32>, tensor<?x2xf32>) {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %last, %all = fuse.loop limit(%n : tensor<i64>) while(%go : tensor<i1>) states(%zero : tensor<2xf32>)
      rows(%x : tensor<?x2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<2xf32>, %row: tensor<2xf32>):
    %one = arith.constant dense<1.0> : tensor<f32>
    %unit = fuse.multiply %scale, %one : tensor<f32>
    %scaled = fuse.multiply %row, %unit : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %sum = fuse.add %s, %scaled : tensor<2xf32>
    fuse.yield %sum, %sum : tensor<2xf32>, tensor<2xf32>
  }
  func.return %last, %all : tensor<2xf32>, tensor<?x2xf32>
}
"""

X = np.arange(10, dtype=np.float32).reshape(5, 2)


def inputs(count=99, go=True):
    return [np.array(count), np.array(go), X, np.array(2, np.float32)]


@pytest.mark.parametrize("count", [0, 2, 5, 99])
def test_a_loop_ends_with_its_limit_or_its_rows(count):
    last, stack = run_module(parse(SUMS), inputs(count))
    sums = np.cumsum(2 * X, axis=0)[: min(count, 5)]
    np.testing.assert_array_equal(stack, sums)
    np.testing.assert_array_equal(last, sums[-1] if count else [0, 0])


def test_a_condition_that_is_false_at_first_runs_nothing():
    last, stack = run_module(parse(SUMS), inputs(go=False))
    assert stack.shape == (0, 2)
    np.testing.assert_array_equal(last, [0, 0])


@pytest.mark.parametrize("fused", [False, True])
def test_the_interpreter_of_xdsl_gives_the_same(fused):
    module = parse(SUMS)
    if fused:
        fuse_ops(module)
    interpreter = Interpreter(module)
    register_numpy(interpreter)
    for one, other in zip(interpreter.call_op("main", tuple(inputs())), run_module(parse(SUMS), inputs()), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_compiled_program_runs_loops_by_their_meaning(backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    program = compile_module(parse(SUMS), backend, cache=False)
    for one, other in zip(program(*inputs()), run(parse(SUMS), *inputs()), strict=True):
        np.testing.assert_array_equal(one, other)
    families = {kernel.family for kernel in program.kernels}
    if backend == "numpy":
        (loop,) = [kernel for kernel in program.kernels if kernel.name == "loop"]
        assert (loop.family, loop.ops, loop.flops) == ("numpy", ("loop",), None)
    else:
        assert "numpy" not in families


CHOICE = """
func.func @main(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<?xf32> {
  %e = fuse.exp %x : tensor<3xf32>
  %y = fuse.if (%c : tensor<i1>) -> (tensor<?xf32>) {
    %two = fuse.concatenate %e, %x, axis = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
    fuse.yield %two : tensor<6xf32>
  } else {
    fuse.yield %e : tensor<3xf32>
  }
  func.return %y : tensor<?xf32>
}
"""


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_branch_sees_the_values_around_it(condition, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    x = np.zeros(3, np.float32)
    expected = [1, 1, 1, 0, 0, 0] if condition else [1, 1, 1]
    np.testing.assert_array_equal(run(parse(CHOICE), np.array(condition), x)[0], expected)
    program = compile_module(parse(CHOICE), backend, cache=False)
    np.testing.assert_array_equal(program(np.array(condition), x)[0], expected)


def test_rows_of_different_number_are_an_error_with_a_place():
    text = """
    func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) {
      fuse.loop rows(%x, %y : tensor<?xf32>, tensor<?xf32>) {
      ^bb0(%i: tensor<i64>, %a: tensor<f32>, %b: tensor<f32>):
        fuse.yield
      }
      func.return
    }"""
    with pytest.raises(EvaluationError, match=r"'fuse\.loop' op expects equally many rows, got 2 and 3"):
        run_module(parse(text), [np.zeros(2, np.float32), np.zeros(3, np.float32)])
    with pytest.raises(FuseError, match="expects equally many rows"):
        run(parse(text), np.zeros(2, np.float32), np.zeros(3, np.float32))


def test_values_that_change_their_size_cannot_be_stacked():
    text = """
    func.func @main(%x: tensor<?xf32>, %n: tensor<i64>) -> tensor<?x?xf32> {
      %last, %all = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<?xf32>)
          -> (tensor<?xf32>, tensor<?x?xf32>) {
      ^bb0(%i: tensor<i64>, %s: tensor<?xf32>):
        %t = fuse.concatenate %s, %s, axis = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        fuse.yield %t, %t : tensor<?xf32>, tensor<?xf32>
      }
      func.return %all : tensor<?x?xf32>
    }"""
    with pytest.raises(EvaluationError, match="cannot stack result 1"):
        run_module(parse(text), [np.zeros(2, np.float32), np.array(3)])


WHILE = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  %n = arith.constant dense<50> : tensor<i64>
  %yes = arith.constant dense<true> : tensor<i1>
  %last, %all = fuse.loop limit(%n : tensor<i64>) while(%yes : tensor<i1>) states(%x : tensor<4xf32>)
      -> (tensor<4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %two = arith.constant dense<2> : tensor<i64>
    %more = fuse.less %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %next = fuse.add %s, %s : tensor<4xf32>
    fuse.yield while(%more : tensor<i1>) %next, %s : tensor<4xf32>, tensor<4xf32>
  }
  func.return %last, %all : tensor<4xf32>, tensor<?x4xf32>
}
"""


def test_a_loop_ends_when_its_body_says_so():
    last, stack = run(parse(WHILE), np.ones(4, np.float32))
    np.testing.assert_array_equal(last, np.full(4, 8))
    assert stack.shape == (3, 4)


def test_rows_that_are_small_one_by_one_count_together():
    x = np.ones(4, np.float32)
    run(parse(WHILE), x, max_value_bytes=48)
    with pytest.raises(FuseError, match="stacks more than 47 bytes"):
        run(parse(WHILE), x, max_value_bytes=47)


def test_regions_within_regions_are_counted():
    depth = 140
    ops = "".join("%r = fuse.if (%c : tensor<i1>) -> (tensor<f32>) {\n" for _ in range(depth))
    ends = "fuse.yield %x : tensor<f32>\n} else {\nfuse.yield %x : tensor<f32>\n}\n"
    inner = "".join("fuse.yield %r : tensor<f32>\n} else {\nfuse.yield %x : tensor<f32>\n}\n" for _ in range(depth - 1))
    text = f"func.func @main(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {{\n{ops}{ends}{inner}"
    module = parse(f"{text}func.return %r : tensor<f32>\n}}")
    with pytest.raises(FuseError, match="exceeds 128 calls and regions within each other"):
        run(module, np.array(True), np.array(1, np.float32))
