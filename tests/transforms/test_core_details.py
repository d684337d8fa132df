"""Details of the core that nothing else shows: each test fails for a small change that other tests let through."""

import pytest
from xdsl.dialects import func

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.fusion.ir.ssa import CapturedValues
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.fusion.outlining.rewiring import resolve
from fuse_dialect.pattern_kind import PatternKind


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
    assert roles == [NodeRole.INPUT, NodeRole.OPERATOR, NodeRole.RESULT]
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


def test_captured_values_stand_in_the_order_of_their_first_use():
    module = _module("""
      func.func @main(%a: i1, %b: i1, %x: i32, %y: i32) {
        scf.if %a {
          %s = arith.addi %y, %y : i32
          scf.if %b {
            %i = arith.addi %s, %x : i32
          }
        }
        return
      }""")
    function = module.body.block.first_op
    outer = function.body.block.first_op
    _, b, x, y = function.body.block.args
    assert list(CapturedValues().of(outer)) == [y, b, x]
    inner = outer.regions[0].block.first_op.next_op
    assert list(CapturedValues().of(inner)) == [outer.regions[0].block.first_op.results[0], x]
    shared = CapturedValues()
    assert list(shared.of(inner)) == list(CapturedValues().of(inner))
    assert list(shared.of(outer)) == [y, b, x]


_NEST = """
  "stablehlo.reduce"(%x) ({
    "stablehlo.reduce"(%x) ({
      EFFECT
      "stablehlo.return"(%x) : (i32) -> ()
    }) : (i32) -> i32
    "stablehlo.return"(%x) : (i32) -> ()
  }) : (i32) -> RESULT
"""


def _kind(effect, result="i32", head="%r ="):
    text = _NEST.replace("EFFECT", effect).replace("RESULT", result)
    text = text.replace('"stablehlo.reduce"(%x) ({\n    "', f'{head} "stablehlo.reduce"(%x) ({{\n %i = "', 1)
    module = read_mlir(
        f"func.func @main(%x: i32, %c: i1) {{ {text} return }}", "t.mlir", context(allow_unregistered=True)
    )[0]
    return kind_of(module.body.block.first_op.body.block.first_op)


def test_effect_at_any_depth_makes_an_operator_unknown():
    assert _kind("") is PatternKind.COMM_REDUCE
    assert _kind('"test.effect"() : () -> ()') is None
    assert _kind("scf.if %c { %n = arith.addi %x, %x : i32 }") is PatternKind.COMM_REDUCE
    assert _kind('scf.if %c { "test.effect"() : () -> () "test.last"() : () -> () scf.yield }') is None


def test_operator_that_gives_nothing_is_unknown():
    assert _kind("", result="()", head="") is None


def test_attributes_that_differ_in_their_last_bits_do_not_share_a_primitive():
    text = """
      func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %a = fuse.relu %x {k = 1.0 : f64} : tensor<4xf32>
        %b = fuse.relu %x {k = SECOND : f64} : tensor<4xf32>
        return %a, %b : tensor<4xf32>, tensor<4xf32>
      }"""
    count = [
        sum(isinstance(op, func.FuncOp) for op in _fused(text.replace("SECOND", second)).walk())
        for second in ("1.0", "1.0000000000000002")
    ]
    assert count == [2, 3]


def test_users_stand_as_tvm_pushes_them_nearest_to_the_root_first():
    module = _module("""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %a = fuse.relu %x : tensor<4xf32>
          %b = fuse.exp %a : tensor<4xf32>
          %c = fuse.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          return %c : tensor<4xf32>
        }""")
    block = next(op for op in module.walk() if isinstance(op, func.FuncOp)).body.block
    graph = build_graph(block)
    index = {node.op.name: number for number, node in enumerate(graph.nodes) if node.op is not None}
    users = [user for user, _ in graph.graph.users[index["fuse.relu"]]]
    assert users == [index["fuse.add"], index["fuse.exp"]]


def test_field_of_a_tuple_that_holds_a_tuple_is_seen_outside():
    # Rules that let tuples fuse further than TVM's rely on it.
    module = _module("""
        func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tuple<tuple<tensor<4xf32>>, tensor<4xf32>> {
          %a = fuse.relu %x : tensor<4xf32>
          %b = fuse.exp %y : tensor<4xf32>
          %t = fuse.tuple %a : (tensor<4xf32>) -> tuple<tensor<4xf32>>
          %u = fuse.tuple %t, %b : (tuple<tensor<4xf32>>, tensor<4xf32>) -> tuple<tuple<tensor<4xf32>>, tensor<4xf32>>
          return %u : tuple<tuple<tensor<4xf32>>, tensor<4xf32>>
        }""")
    block = next(op for op in module.walk() if isinstance(op, func.FuncOp)).body.block
    graph = build_graph(block)
    seen = {str(node.op.results[0].name_hint): graph.graph.escapes[i] for i, node in enumerate(graph.nodes) if node.op}
    assert seen == {"a": False, "b": False, "t": True, "u": True}
