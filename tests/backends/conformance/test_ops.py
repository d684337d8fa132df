"""Every op on every backend: its NumPy meaning, on memory where no byte too far can be read or written."""

import os
import sys

import numpy as np
import pytest
from guarded_memory import GuardedMemory
from op_examples import SIGNLESS, assert_close, examples, functions, operator, random_operands
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError

EXAMPLES = int(os.environ.get("FUSE_CONFORMANCE_OPS", "4"))
"""How many functions of each op are compiled; there are up to 60."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")


def spread(items: list[func.FuncOp], count: int) -> list[func.FuncOp]:
    """So many items, evenly spread."""
    if len(items) <= count:
        return items
    return [items[index * len(items) // count] for index in range(count)]


def check(backend: Backend, function: func.FuncOp, random: np.random.Generator, threads: int) -> None:
    """Compare a function of one op with its meaning; skip values that the op does not take."""
    operands = random_operands(function, random)
    try:
        expected = evaluate(operator(function), operands)
    except EvaluationError:
        return
    function.properties["sym_name"] = StringAttr("main")
    program = compile_program(
        ModuleOp([function.clone()]), CompileOptions(backend=backend, threads=threads, fuse=FuseOpsPass(opt_level=0))
    )
    for at_end in (True, False):
        with GuardedMemory() as memory:
            inputs = [memory.copy(array, at_end=at_end) for array in operands]
            results = [array for array in expected if isinstance(array, np.ndarray)]
            outputs = [memory.empty(array.shape, array.dtype, at_end=at_end) for array in results]
            program.run_into(inputs, outputs)
            signless = SIGNLESS.get(operator(function).name, ())
            for place, (actual, array) in enumerate(zip(outputs, results, strict=True)):
                both = (np.abs(actual), np.abs(array)) if place in signless else (actual, array)
                assert_close(*both, str(function))
            del inputs, outputs, actual, both


@pytest.mark.slow
@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_an_op_gives_its_meaning_between_guard_pages(backend: Backend, op_class: type[FuseOp]) -> None:
    if op_class in (TupleOp, GetTupleElementOp):
        pytest.skip("tuples are no values of a program")
    random = np.random.default_rng(0)
    candidates = [function for op in examples()[op_class.name] for function in functions(op)]
    for place, function in enumerate(spread(candidates, EXAMPLES)):
        check(backend, function, random, threads=1 + place % 2)
