"""Stages that run in an order mean the same rewritten as ones that do not: on NumPy, for every op that has some."""

from collections.abc import Iterator

import numpy as np
import pytest
from op_examples import assert_close, examples, functions, operator, random_operands
from xdsl.dialects import func

from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.targets.linalg.unordered import unordered

ORDERED = ("sort", "argsort", "topk", "scatter_nd", "cumsum", "cumprod")


def ordered_programs(op_class: type[FuseOp]) -> Iterator[tuple[func.FuncOp, LoopProgram]]:
    """Programs of one op each, with a scan or a scatter."""
    for op in examples()[op_class.name]:
        for function in functions(op):
            program = lower(function, for_kernels=False)
            if not isinstance(program, Refusal) and any(stage.is_ordered for stage in program.stages):
                yield function, program


@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_unordered_stages_mean_the_same(op_class: type[FuseOp]) -> None:
    random, count = np.random.default_rng(0), 0
    for function, program in list(ordered_programs(op_class))[::3]:
        arrays = random_operands(function, random)
        try:
            expected = evaluate(operator(function), arrays)
        except EvaluationError:
            continue  # the size that stands for `?` does not fit this op
        for form in (unordered(program), unordered(simplify(program))):
            assert not any(stage.is_ordered for stage in form.stages)
            for actual, array in zip(run_loops(form, arrays), expected, strict=True):
                assert isinstance(array, np.ndarray)
                assert_close(actual, array, str(function))
        count += 1
    assert bool(count) == (op_class.name.removeprefix("fuse.") in ORDERED)
