"""The loops of an op are the same whether they are found anew or kept, and kept ones are found once."""

from functools import cache
from typing import ClassVar

import pytest
from op_examples import examples, functions, operator
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.utils.test_value import create_ssa_value

from fuse_dialect.dialect.fields import tensor_operand, tensor_result
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp, MapOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.loops.printing import program_text
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.lowering import op_loops
from fuse_dialect.lowering.loop_program import lower, lower_op
from fuse_dialect.lowering.op_loops import keeping_loops


def text(program: LoopProgram | Refusal) -> str:
    return program.reason if isinstance(program, Refusal) else program_text(program)


@cache
def all_functions() -> list[func.FuncOp]:
    return [function for op in ALL_OPS for example in examples()[op.name] for function in functions(example)]


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, op_loops._MOST_KEPT])
def test_kept_loops_of_all_ops_are_those_that_are_found_anew(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_loops, "_MOST_KEPT", most)
    every = all_functions()
    assert len(every) > 500
    anew = [text(lower(function)) for function in every]
    with keeping_loops():
        for _ in range(2):
            assert [text(lower(function)) for function in every] == anew


@pytest.mark.slow
def test_loops_of_an_op_alone_are_those_of_a_function_that_holds_it() -> None:
    for function in all_functions():
        alone, held = lower_op(operator(function)), lower(function)
        if isinstance(alone, Refusal) or isinstance(held, Refusal):
            assert alone == held
        else:
            assert (alone.buffers, alone.stages) == (held.buffers, held.stages)


@irdl_op_definition
class CountedOp(MapOp):
    """Its operand; it notes when its code is asked for."""

    name = "fuse.counted"
    x = tensor_operand()
    y = tensor_result()
    ASKED: ClassVar[list[str]] = []

    def infer_types(self) -> list[TensorType]:
        return [self.operands[0].type]

    def evaluate(self, *operands):
        return operands

    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        self.ASKED.append(str(elements[0].type))
        return elements[0]


def test_equal_ops_are_asked_for_their_loops_once() -> None:
    def asked(*shapes: tuple[int, ...]) -> int:
        CountedOp.ASKED.clear()
        for shape in shapes:
            assert isinstance(lower_op(counted(shape)), LoopProgram)
        return len(CountedOp.ASKED)

    def counted(shape: tuple[int, ...]) -> FuseOp:
        value = create_ssa_value(TensorType(f32, shape))
        return CountedOp.create(operands=[value], result_types=[value.type])

    assert asked((4,), (4,)) == 2
    with keeping_loops():
        assert asked((4,), (4,), (5,), (4,)) == 2
        assert asked((DYNAMIC,), (DYNAMIC,)) == 2  # of an open size more may turn out
    assert asked((4,)) == 1


def test_constants_that_compare_equal_are_told_apart() -> None:
    def reading(number: str, element: str) -> func.FuncOp:
        module = parse_mlir(f"""
        func.func @f(%x: tensor<4x{element}>) -> tensor<4x{element}> {{
          %c = arith.constant dense<{number}> : tensor<4x{element}>
          %y = fuse.multiply %x, %c : tensor<4x{element}>
          return %y : tensor<4x{element}>
        }}""")
        (function,) = module.ops
        assert isinstance(function, func.FuncOp)
        return function

    every = [reading(*each) for each in (("0.0", "f32"), ("-0.0", "f32"), ("1", "i32"), ("1", "i64"), ("2", "i32"))]
    anew = [text(lower(function)) for function in every]
    assert len(set(anew)) == len(every)
    with keeping_loops():
        assert [text(lower(function)) for function in every] == anew


def test_loops_that_are_kept_within_others_end_with_them() -> None:
    block = Block(arg_types=[TensorType(f32, (4,))])
    op = CountedOp.create(operands=[block.args[0]], result_types=[block.args[0].type])
    CountedOp.ASKED.clear()
    with keeping_loops():
        lower_op(op)
        with keeping_loops():
            lower_op(op)
        lower_op(op)
    assert len(CountedOp.ASKED) == 2
