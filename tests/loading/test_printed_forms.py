"""Ops that xDSL prints as other ops, or not at all, and does not verify."""

import ast
from pathlib import Path

import pytest
from xdsl import dialects
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.ops import NamedOperation
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.loading.printed_forms import INPUTS, OPEN_LISTS
from fuse_dialect.loading.verification import verify_module

OPEN, OPEN_32 = -(1 << 63), -(1 << 31)
TENSOR = """
func.func @f(%a: tensor<4x?xf32>, %n: index) {{
  %0 = "tensor.expand_shape"(%a{operands}) <{{
    reassociation = [[0, 1], [2]], static_output_shape = array<i64: 2, {places}>
  }}> : (tensor<4x?xf32>{types}) -> tensor<2x2x?xf32>
  return
}}
"""
POINTER = """
func.func @f(%a: !llvm.ptr, %n: i32) {{
  %0 = "llvm.getelementptr"(%a{operands}) <{{
    elem_type = f32, rawConstantIndices = array<i32: {places}>, noWrapFlags = 0 : i32
  }}> : (!llvm.ptr{types}) -> !llvm.ptr
  return
}}
"""
SHARD = """
func.func @f(%a: tensor<4xf32>, %n: index) {{
  %0 = "shard.recv"(%a{operands}) <{{grid = @g, source = array<i64: {places}>}}>
    : (tensor<4xf32>{types}) -> tensor<4xf32>
  return
}}
"""
TILES = """
func.func @f(%a: tensor<4x?xf32>, %n: index) {{
  %0 = tensor.empty(%n, %n) : tensor<4x?x?xf32>
  %1 = "linalg.pack"(%a, %0{operands}) <{{
    inner_dims_pos = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 0, {count}>,
    static_inner_tiles = array<i64: {places}>
  }}> : (tensor<4x?xf32>, tensor<4x?x?xf32>{types}) -> tensor<4x?x?xf32>
  return
}}
"""


@pytest.mark.parametrize(
    ("text", "type", "places"),
    [
        (TILES, "index", f"{OPEN}"),
        (TENSOR, "index", f"2, {OPEN}"),
        (POINTER, "i32", f"{OPEN_32}"),
        (SHARD, "index", f"3, {OPEN}"),
    ],
)
def test_each_open_place_has_one_operand(text: str, type: str, places: str) -> None:
    def module(count: int) -> str:
        return text.format(operands=", %n" * count, types=f", {type}" * count, places=places, count=count)

    verify_module(parse_mlir(module(1)))
    for count in (0, 2):
        with pytest.raises(VerifyException, match=rf"passed as values \({count}\) does not match .* markers \(1\)"):
            verify_module(parse_mlir(module(count)))


def test_tiles_go_into_a_value_of_the_type_of_the_result() -> None:
    text = """
    func.func @f(%a: tensor<4x8xf32>, %b: tensor<4x2x4xf32>) {
      %0 = "linalg.pack"(%a, %b) <{
        inner_dims_pos = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_inner_tiles = array<i64: 4>
      }> : (tensor<4x8xf32>, tensor<4x2x4xf32>) -> tensor<4x?x4xf32>
      return
    }
    """
    with pytest.raises(VerifyException, match="expects a result of the type of 'dest', got tensor<4x\\?x4xf32>"):
        verify_module(parse_mlir(text))


def test_every_op_of_xdsl_with_open_lists_is_verified() -> None:
    open_ops: set[str] = set()
    for path in Path(dialects.__path__[0]).rglob("*.py"):
        for op in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)):
            used = {node.id for node in ast.walk(op) if isinstance(node, ast.Name)}
            if used & {"DynamicIndexList", "print_dynamic_index_list"} and "verify_dynamic_index_list" not in used:
                open_ops |= {_name(op)}
    assert open_ops - {""} == set(OPEN_LISTS)


def test_named_ops_of_linalg_have_the_inputs_that_their_names_want() -> None:
    named = [op for op in Linalg.operations if issubclass(op, NamedOperation)]
    assert {op.name for op in named} == set(INPUTS)
    with pytest.raises(VerifyException, match="expects 3 operands in 'ins' and 1 in 'outs'"):
        verify_module(
            parse_mlir("""
            func.func @f(%c: tensor<2xi1>, %x: tensor<2xf32>) {
              %0 = "linalg.select"(%c, %x, %x, %x) <{operandSegmentSizes = array<i32: 1, 3>}> ({
              ^bb0(%a: i1, %b: f32, %d: f32, %e: f32):
                "linalg.yield"(%b) : (f32) -> ()
              }) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              return
            }""")
        )


def _name(op: ast.ClassDef) -> str:
    """What the class calls its ops, empty if it is no op."""
    for node in op.body:
        match node:
            case ast.Assign(targets=[ast.Name("name")], value=ast.Constant(str(name))):
                return name
            case _:
                pass
    return ""
