"""`refine-shapes` keeps what a program means, and leaves nothing dynamic once all sizes are known."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_shapes import arguments, shape_programs
from xdsl.context import Context

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.transforms.refine_shapes import RefineShapesPass


def refined(module, **sizes):
    """A copy of the module with sizes by name."""
    copy = module.clone()
    RefineShapesPass(sizes=tuple(f"{name}={size}" for name, size in sizes.items())).apply(Context(), copy)
    copy.verify()
    return copy


def outcome(module, inputs, **sizes):
    """The results after refinement with the sizes, or `None` when an op rejects what it gets."""
    try:
        return run_module(refined(module, **sizes), inputs)
    except OpError:
        return None


def assert_same(one, other):
    assert (one is None) == (other is None)
    for left, right in zip(one or (), other or (), strict=True):
        np.testing.assert_array_equal(left, right)


def open_types(module):
    values = [
        value for op in module.walk() for value in (*op.results, *(op.regions[0].block.args if op.regions else ()))
    ]
    return [value.type for value in values if is_tensor(value.type) and DYNAMIC in value.type.get_shape()]


@given(module=shape_programs(), b=st.integers(0, 3), s=st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_static_program_gives_what_the_dynamic_one_gives(module, b, s):
    inputs = arguments({"b": b, "s": s})
    try:
        expected = run_module(module, inputs)
    except EvaluationError:
        expected = None
    assert_same(outcome(module, inputs, b=b, s=s), expected)
    if expected is not None:
        static = refined(module, b=b, s=s)
        assert not open_types(static)
        assert not [op.name for op in static.walk() if op.name.startswith("fuse.dyn_")]


@given(module=shape_programs(), b=st.integers(0, 3), s=st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_what_names_tell_holds_for_all_sizes(module, b, s):
    inputs = arguments({"b": b, "s": s})
    try:
        expected = run_module(module, inputs)
    except EvaluationError:
        return
    assert_same(outcome(module, inputs), expected)
    half = refined(module, s=s)
    assert_same(run_module(half, inputs), expected)
    FuseOpsPass().apply(Context(), half)
    half.verify()
    assert_same(run_module(half, inputs), expected)


def test_a_tuple_of_what_was_refined_is_refined_too():
    module = parse_mlir("""
        func.func @main(%x: tensor<3x7xf32>) -> tuple<tensor<?xi64>, tuple<tensor<?x7xf32>>> {
          %k = arith.constant dense<[2, 1]> : tensor<2xi64>
          %t = fuse.dyn_tile %x, %k : (tensor<3x7xf32>, tensor<2xi64>) -> tensor<?x?xf32>
          %i = fuse.argmax %t, axes = [1] : (tensor<?x?xf32>) -> tensor<?xi64>
          %s = fuse.dyn_tile %x, %k : (tensor<3x7xf32>, tensor<2xi64>) -> tensor<?x7xf32>
          %inner = fuse.tuple %s : (tensor<?x7xf32>) -> tuple<tensor<?x7xf32>>
          %p = fuse.tuple %i, %inner : (tensor<?xi64>, tuple<tensor<?x7xf32>>)
            -> tuple<tensor<?xi64>, tuple<tensor<?x7xf32>>>
          return %p : tuple<tensor<?xi64>, tuple<tensor<?x7xf32>>>
        }""")
    x = np.arange(21, dtype=np.float32).reshape(3, 7)
    static = refined(module)
    assert not open_types(static)
    assert "-> tuple<tensor<6xi64>, tuple<tensor<6x7xf32>>>" in str(static)
    assert_same(run_module(static, [x]), run_module(module, [x]))


def test_a_tuple_of_constants_has_no_elements():
    module = parse_mlir("""
        func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tuple<tensor<1xi1>>) {
          %c = arith.constant dense<true> : tensor<1xi1>
          %t = fuse.tuple %c : (tensor<1xi1>) -> tuple<tensor<1xi1>>
          %y = fuse.abs %x : tensor<?xf32>
          return %y, %t : tensor<?xf32>, tuple<tensor<1xi1>>
        }""")
    x = np.array([-1, 2], np.float32)
    assert_same(run_module(refined(module), [x]), run_module(module, [x]))


LOOP_OF_A_CONSTANT_LIMIT = """
func.func @main(%x: tensor<?x2xf32> {fuse.sizes = ["n", ""]}) -> (tensor<?x2xf32>, tensor<?x?x2xf32>, tensor<i64>) {
  %n = arith.constant dense<3> : tensor<i64>
  %last, %stack = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<?x2xf32>)
      -> (tensor<?x2xf32>, tensor<?x?x2xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<?x2xf32>):
    %y = fuse.exp %s : (tensor<?x2xf32>) -> (tensor<?x2xf32>)
    fuse.yield %y, %s : tensor<?x2xf32>, tensor<?x2xf32>
  }
  return %last, %stack, %n : tensor<?x2xf32>, tensor<?x?x2xf32>, tensor<i64>
}
"""


def test_a_loop_that_was_replaced_reads_nothing():
    # Passes that follow ask a value for its readers: one that stands nowhere ended `rematerialize-scalars`.
    module = refined(parse_mlir(LOOP_OF_A_CONSTANT_LIMIT), n=5)
    readers = [use.operation for op in module.walk() for value in op.results for use in value.uses]
    assert readers
    assert all(reader.parent is not None for reader in readers)
    assert "tensor<3x5x2xf32>" in str(module)
