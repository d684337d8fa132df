"""Which quotients may be rough: those of approximated numbers, and no others."""

import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.loops.functions import Variant
from fuse_dialect.loops.program import Apply, LoopProgram
from fuse_dialect.loops.quotients import with_rough_quotients
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower


def quotients(body: str, *, all: bool = False) -> list[bool]:
    """Of each quotient of a function of two matrices and a column, whether it is rough."""
    arguments = "%x: tensor<5x37xf32>, %y: tensor<5x37xf32>, %s: tensor<5x1xf32>"
    module = fd.parse(f"func.func @main({arguments}) -> tensor<5x37xf32> {{\n{body}\nreturn %r : tensor<5x37xf32>\n}}")
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    program = lower(function)
    assert isinstance(program, LoopProgram)
    program = with_rough_quotients(simplify(program), all=all)
    applied = [each for stage in program.stages for each in (*stage.body, *stage.finish) if isinstance(each, Apply)]
    return [each.parameter is Variant.ROUGH for each in applied if each.function == "arith.divf"]


COLUMN = "(tensor<5x37xf32>, tensor<5x1xf32>) -> tensor<5x37xf32>"
EXACTLY = {
    "a column": f"%r = fuse.divide %x, %s : {COLUMN}",
    "a root": f"%t = fuse.sqrt %s : tensor<5x1xf32>\n%r = fuse.divide %x, %t : {COLUMN}",
    "a maximum": "%t = fuse.max %x, axes = [1], keepdims = true : (tensor<5x37xf32>) -> tensor<5x1xf32>\n"
    f"%r = fuse.divide %x, %t : {COLUMN}",
    "a sum": "%t = fuse.sum %x, axes = [1], keepdims = true : (tensor<5x37xf32>) -> tensor<5x1xf32>\n"
    f"%r = fuse.divide %x, %t : {COLUMN}",
    "a choice by what is approximated": "%e = fuse.exp %x : tensor<5x37xf32>\n"
    "%c = fuse.less %e, %y : (tensor<5x37xf32>, tensor<5x37xf32>) -> tensor<5x37xi1>\n"
    "%w = fuse.where %c, %x, %y : (tensor<5x37xi1>, tensor<5x37xf32>, tensor<5x37xf32>) -> tensor<5x37xf32>\n"
    f"%r = fuse.divide %w, %s : {COLUMN}",
}
ROUGHLY = {
    "a dividend": f"%t = fuse.tanh %x : tensor<5x37xf32>\n%r = fuse.divide %t, %s : {COLUMN}",
    "a divisor": f"%t = fuse.exp %s : tensor<5x1xf32>\n%r = fuse.divide %x, %t : {COLUMN}",
    "a softmax": "%r = fuse.softmax %x : tensor<5x37xf32>",
}


@pytest.mark.parametrize("body", EXACTLY.values(), ids=EXACTLY)
def test_what_is_divided_as_it_is_comes_out_exact(body: str) -> None:
    assert quotients(body) == [False]
    assert quotients(body, all=True) == [True]


@pytest.mark.parametrize("body", ROUGHLY.values(), ids=ROUGHLY)
def test_what_is_approximated_anyhow_may_be_rough(body: str) -> None:
    assert quotients(body) == [True]
