"""The entry function as data: which calls share a kernel, and what each reads."""

import fuse_dialect as fd
from fuse_dialect.backends.runtime.entry_reader import read_entry

TEXT = """
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %w = arith.constant dense<2.0> : tensor<4x4xf32>
  %a = func.call @f(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = func.call @f(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = func.call @f(%y, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
func.func private @f(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {primitive} {
  %r = fuse.dense %p, %q : (tensor<4x4xf32>, tensor<4x4xf32>)
  return %r : tensor<4x4xf32>
}"""


def test_calls_of_one_function_share_a_kernel_if_the_same_arguments_are_constants() -> None:
    graph = read_entry(fd.parse(TEXT))
    assert [primitive.constants for primitive in graph.primitives] == [frozenset({1}), frozenset()]
    assert [call.kernel for call in graph.calls] == [0, 1, 0]
    assert len(graph.constants) == 1
