"""Details of the core that nothing else shows: each test fails for a small change that other tests let through."""

import pytest
from xdsl.dialects import func

from fuse_dialect.analysis.block_graph import Role, build_graph
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.transforms.fuse_ops import FuseOpsPass
from fuse_dialect.transforms.outlining.rewiring import resolve


def _module(text):
    return read_mlir(text, "t.mlir", context())[0]


def _fused(text):
    module = _module(text)
    FuseOpsPass().apply(context(), module)
    module.verify()
    return module


_SPLIT = """
  func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
    %a, %b = fuse.split %x, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %a : tensor<2xf32>
  }"""


def test_result_of_an_op_with_several_is_a_node_of_its_own_also_where_it_is_returned():
    block = next(op for op in _module(_SPLIT).walk() if isinstance(op, func.FuncOp)).body.block
    graph = build_graph(block)
    roles = [node.role for node in graph.nodes]
    assert roles == [Role.INPUT, Role.OPERATOR, Role.RESULT]
    assert [graph.graph.escapes[index] for index in (1, 2)] == [False, True]


def test_primitive_returns_no_result_that_nothing_uses():
    functions = [op for op in _fused(_SPLIT).walk() if isinstance(op, func.FuncOp)]
    assert [len(function.function_type.outputs) for function in functions] == [1, 1]


def test_chain_of_replacements_is_followed_to_its_end():
    block = _module("func.func @main(%a: i1, %b: i1, %c: i1, %d: i1, %e: i1) { return }").body.block.first_op.body.block
    a, b, c, d, e = block.args
    chain = {a: b, b: c, c: d, d: e}
    resolve(chain)
    assert [chain[value] for value in (a, b, c, d)] == [e] * 4
    backwards = {d: e, c: d, b: c, a: b}
    resolve(backwards)
    assert [backwards[value] for value in (a, b, c, d)] == [e] * 4


def test_barriers_in_blocks_in_reverse_order_all_go():
    module = _fused("""
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        cf.br ^a
      ^d:
        return %s3 : tensor<4xf32>
      ^c:
        %s3 = fuse.stop_fusion %s2 : tensor<4xf32>
        cf.br ^d
      ^b:
        %s2 = fuse.stop_fusion %s1 : tensor<4xf32>
        cf.br ^c
      ^a:
        %r = fuse.relu %x : tensor<4xf32>
        %s1 = fuse.stop_fusion %r : tensor<4xf32>
        cf.br ^b
      }""")
    assert "stop_fusion" not in str(module)
    (ret,) = [op for op in module.body.block.first_op.walk() if isinstance(op, func.ReturnOp)]
    assert isinstance(ret.operands[0].owner, func.CallOp)


def test_dead_op_that_reads_what_stands_below_it_is_an_error():
    module = _module("""
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %dead = fuse.relu %late : tensor<4xf32>
        %late = fuse.exp %x : tensor<4xf32>
        return %x : tensor<4xf32>
      }""")
    with pytest.raises(OpError, match="stands below it"):
        FuseOpsPass().apply(context(), module)


def test_barrier_that_changes_the_type_stays():
    module = _fused("""
      func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> {
        %r = fuse.relu %x : tensor<4xf32>
        %s = fuse.stop_fusion %r : (tensor<4xf32>) -> tensor<?xf32>
        return %s : tensor<?xf32>
      }""")
    assert "fuse.stop_fusion" in str(module)
