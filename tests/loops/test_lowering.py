"""What is lowered besides operators, and what is refused."""

import pytest
from xdsl.dialects import func

from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.loops.program import Literal, LoopProgram, Refusal
from fuse_dialect.lowering.loop_program import lower


def lowered(text: str) -> LoopProgram | Refusal:
    module = parse_mlir(f"func.func @main{text}", "test.mlir", context())
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    before = str(module)
    program = lower(function)
    assert str(module) == before
    return program


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "(%x: tensor<4x4xf32>) -> tensor<f32> { %y = fuse.det %x : (tensor<4x4xf32>) return %y : tensor<f32> }",
            "'fuse.det' op has no loop form",
        ),
        (
            "(%x: tensor<4xf32>) -> tensor<4xf32> { %y = math.exp %x : tensor<4xf32> return %y : tensor<4xf32> }",
            "'math.exp' op is no op of the dialect",
        ),
        (
            """(%x: tensor<2xf32>) -> tensor<2xf32> {
              %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
              %y = fuse.add %x, %c : tensor<2xf32>
              return %y : tensor<2xf32>
            }""",
            "'arith.constant' op holds 2 numbers: constants are arguments unless link-params=true",
        ),
        (
            """(%x: tensor<?x4xf32>) -> tensor<?xf32> {
              %y = fuse.reshape %x : (tensor<?x4xf32>) -> tensor<?xf32>
              return %y : tensor<?xf32>
            }""",
            "'fuse.reshape' op joins or cuts axes of dynamic size",
        ),
        (
            """(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
              %z = fuse.concatenate %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
              return %z : tensor<?x4xf32>
            }""",
            "'fuse.concatenate' op needs static sizes",
        ),
        (
            "(%x: tensor<?xf32>) -> tensor<?xf32> { %y = fuse.repeat %x, repeats = 2 : (tensor<?xf32>) -> tensor<?xf32>"
            " return %y : tensor<?xf32> }",
            "'fuse.repeat' op has a result whose size does not follow from one size of an argument",
        ),
        ("(%x: f32) -> f32 { return %x : f32 }", "argument 'x' is of type f32"),
    ],
)
def test_function_without_loops_says_why(text: str, reason: str) -> None:
    assert lowered(text) == Refusal(reason)


def test_constant_of_one_number_is_a_literal() -> None:
    program = lowered(
        """(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
          %c = arith.constant dense<2.0> : tensor<2x2xf32>
          %y = fuse.add %x, %c : tensor<2x2xf32>
          return %y : tensor<2x2xf32>
        }"""
    )
    assert isinstance(program, LoopProgram)
    assert Literal(2.0, "f32") in program.stages[0].body


def test_tuples_are_lists_of_values() -> None:
    program = lowered(
        """(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tuple<tensor<2xf32>, tensor<3xf32>>) {
          %a = fuse.exp %x : tensor<2xf32>
          %b = fuse.exp %y : tensor<3xf32>
          %pair = "fuse.tuple"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<2xf32>, tensor<3xf32>>
          %c = "fuse.get_tuple_element"(%pair) <{index = 1 : i64}>
            : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
          %d = fuse.abs %c : tensor<3xf32>
          return %d, %pair : tensor<3xf32>, tuple<tensor<2xf32>, tensor<3xf32>>
        }"""
    )
    assert isinstance(program, LoopProgram)
    assert [(buffer.name, buffer.role.value) for buffer in program.buffers] == [
        ("x", "argument"),
        ("y", "argument"),
        ("d", "result"),
        ("a", "result"),
        ("b", "result"),
    ]


def test_call_is_refused() -> None:
    program = lowered(
        """(%x: tensor<2xf32>) -> tensor<2xf32> {
          %y = func.call @main(%x) : (tensor<2xf32>) -> tensor<2xf32>
          return %y : tensor<2xf32>
        }"""
    )
    assert program == Refusal("'func.call' op is no op of the dialect")
