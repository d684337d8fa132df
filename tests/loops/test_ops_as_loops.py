"""Every op as loops means what its NumPy meaning says; ops without a loop form stand on a list."""

import numpy as np
import pytest
from op_examples import assert_close, examples, functions, operator, random_operands
from xdsl.dialects import func

from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.interpreters.loops import LoopFaultError, run_loops
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.loops.program import Refusal, Role
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower

WITHOUT_LOOPS = {
    "fuse.argwhere": "the number of results depends on the values",
    **{
        f"fuse.{name}": "the size of the result depends on the values"
        for name in (
            *("dyn_arange", "dyn_broadcast_to", "dyn_full", "dyn_one_hot", "dyn_pad", "dyn_reshape"),
            *("dyn_strided_slice", "dyn_tile", "dyn_topk"),
        )
    },
    "fuse.deformable_conv2d": "one kernel of it is slower than NumPy, which multiplies matrices",
    "fuse.det": "each step of the elimination needs the one before",
    "fuse.dft": "a fast transform is no loop over elements",
    **{f"fuse.{name}": "a fast transform is no loop over elements" for name in ("fft", "rfft", "irfft")},
    **{
        f"fuse.{name}": "each step of the elimination needs the one before"
        for name in (
            *("cholesky", "lu", "householder_qr", "householder_product", "eigh", "eigvalsh", "svd", "svdvals"),
            *("solve", "triangular_solve", "inverse"),
        )
    },
    "fuse.non_max_suppression": "the number of results depends on the values",
    "fuse.shape_of": "no element is read, and loops know sizes by number alone",
    "fuse.unique": "the number of results depends on the values",
}
"""Ops without a loop form, and why."""

REFUSED = ("has no loop form for these properties", "which no loops compute with")
"""How refusals end that concern some properties of an op, or types of less than 8 bits and floats of 8."""


def check(function: func.FuncOp, random: np.random.Generator) -> str:
    """Compare the loops with the meaning; the reason where there are none."""
    program = lower(function, knows_results=True)
    if isinstance(program, Refusal):
        return program.reason
    op = operator(function)
    arrays = random_operands(function, random)
    forms = (program, simplify(program))
    try:
        expected = evaluate(op, arrays)
    except EvaluationError:
        if any(buffer.role is Role.FAULT for buffer in program.buffers):
            for form in forms:
                with pytest.raises(LoopFaultError):
                    run_loops(form, arrays)
            return ""
        return "static"  # the size that stands for `?` does not fit this op
    given = [buffer.shape for buffer in program.buffers if buffer.role is Role.RESULT]
    sizes = {
        name: size
        for own, array in zip(given, expected, strict=True)
        if isinstance(array, np.ndarray)
        for name, size in zip(own, array.shape, strict=True)
        if isinstance(name, str)
    }
    for form in forms:
        for actual, array in zip(run_loops(form, arrays, sizes), expected, strict=True):
            assert isinstance(array, np.ndarray)
            assert_close(actual, array, str(function))
    return ""


@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_loops_of_an_op_give_its_meaning(op_class: type[FuseOp]) -> None:
    if op_class in (TupleOp, GetTupleElementOp):
        pytest.skip("a tuple is a list of values to a loop program")
    random = np.random.default_rng(0)
    outcomes: list[str] = []
    for op in examples()[op_class.name]:
        for function in functions(op):
            is_static = all(DYNAMIC not in type.get_shape() for type in operator(function).operand_types)
            outcome = check(function, random)
            outcomes.append(outcome)
            if op_class.name not in WITHOUT_LOOPS:
                refused = outcome.endswith(REFUSED)
                assert not outcome or not is_static or refused, (
                    f"{function}: {outcome}; give the class 'loops' or 'decompose', or the reason to WITHOUT_LOOPS in "
                    "tests/loops/test_ops_as_loops.py"
                )
    if op_class.name in WITHOUT_LOOPS:
        assert set(outcomes) == {f"'{op_class.name}' op has no loop form"}
    else:
        assert "" in outcomes
