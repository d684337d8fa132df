"""Which programs pass columns of open length block by block, and why others do not."""

import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.loops.for_machine import for_machine
from fuse_dialect.loops.grouping import shared_rows
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.one_pass import OnePass, one_pass
from fuse_dialect.loops.pass_schedule import strips_in_blocks
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.names import find_machine

MACHINE = find_machine("cpu-avx512")
X, ROW, VALUES, RESULT = "tensor<4x?xf32>", "tensor<4x1xf32>", "tensor<?x8xf32>", "tensor<4x8xf32>"
ALONG, KEPT = f"({X}) -> {ROW}", "axes = [1], keepdims = true"
MEAN = [f"%mean = fuse.mean %x, {KEPT} : {ALONG}", f"%d = fuse.subtract %x, %mean : ({X}, {ROW}) -> {X}"]
SOFTMAX = f"%p = fuse.softmax %x : {X}"
PRODUCT = f"%y = fuse.matmul %p, %v : ({X}, {VALUES}) -> {RESULT}"


def program_of(lines: list[str], result: str = "%y", type: str = RESULT) -> LoopProgram:
    """A program on rows `%x` of open length, and values `%v`."""
    text = "\n".join(
        [f"func.func @main(%x: {X}, %u: {X}, %v: {VALUES}) -> {type} {{", *lines, f"return {result} : {type}", "}"]
    )
    (function,) = [op for op in fd.parse(text).body.block.ops if isinstance(op, func.FuncOp)]
    program = lower(function)
    assert isinstance(program, LoopProgram)
    return for_machine(simplify(program), MACHINE)


def found(program: LoopProgram) -> OnePass | Refusal:
    stages = [without_single_points(stage) for stage in program.stages]
    return one_pass(program, stages, shared_rows(stages), 64)


def test_a_softmax_before_a_product_is_one_pass() -> None:
    program = program_of([SOFTMAX, PRODUCT])
    plan = found(program)
    assert isinstance(plan, OnePass)
    assert len(plan.states) == 3
    # What a block has of columns is its weights, which are stored once for the sum and the product.
    assert plan.in_block == {"y.weights"}
    along = [stage for stage in plan.block if plan.column_axis(stage) is not None]
    exponentials = [each for stage in along for each in stage.body if getattr(each, "function", "") == "math.exp"]
    assert len(exponentials) == 1
    strips = strips_in_blocks(program, MACHINE)
    assert strips is not None
    assert strips.blocks is not None
    assert strips.blocks.begin == 1


def test_rows_without_a_chain_need_no_state_but_their_own() -> None:
    plan = found(program_of([f"%p = fuse.exp %x : {X}", PRODUCT]))
    assert isinstance(plan, OnePass)
    assert [state.old for state in plan.states] == ["y.old"]


@pytest.mark.parametrize(
    ("lines", "result", "type", "reason"),
    [
        ([SOFTMAX], "%p", X, "stores all columns"),
        ([*MEAN, f"%p = fuse.tanh %d : {X}", PRODUCT], "%y", RESULT, "does not distribute over what 'math.tanh' does"),
        ([*MEAN, f"%p = fuse.exp %d : {X}", PRODUCT], "%y", RESULT, "reads a total that is not finished"),
        ([*MEAN, f"%p = fuse.multiply %d, %d : {X}", PRODUCT], "%y", RESULT, "may be larger than 1"),
        ([f"%y = fuse.max %x, {KEPT} : {ALONG}"], "%y", ROW, ""),
    ],
    ids=["stored", "tanh", "exponential of a deviation", "deviation", "maximum alone"],
)
def test_others_say_why(lines: list[str], result: str, type: str, reason: str) -> None:
    program = program_of(lines, result, type)
    plan = found(program)
    if reason:
        assert isinstance(plan, Refusal)
        assert reason in plan.reason
    # Loops alone need no strips.
    assert strips_in_blocks(program, MACHINE) is None
