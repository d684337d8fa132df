"""Every op with a loop form gives as machine code what NumPy says; so do primitives of random programs."""

from itertools import islice

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_run import Native
from op_examples import assert_close, examples, functions, operator, random_operands
from random_moves import random_moves
from random_programs import random_programs
from test_ops_as_loops import WITHOUT_LOOPS
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, i1, i64

from fuse_dialect.backends.backend import KernelRequest, Refusal
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower

OPS = [op for op in ALL_OPS if op not in (TupleOp, GetTupleElementOp) and op.name not in WITHOUT_LOOPS]
FUNCTIONS_OF_AN_OP = 12
"""More would only repeat the same with other types."""


@pytest.mark.parametrize("op_class", OPS, ids=lambda op: op.name)
def test_machine_code_of_an_op_gives_its_meaning(op_class: type) -> None:
    random = np.random.default_rng(0)
    compiled = 0
    lowered = ((function, lower(function)) for op in examples()[op_class.name] for function in functions(op))
    programs = ((function, program) for function, program in lowered if isinstance(program, LoopProgram))
    for function, program in islice(programs, FUNCTIONS_OF_AN_OP):
        arrays = random_operands(function, random)
        try:
            expected = evaluate(operator(function), arrays)
        except EvaluationError:
            continue  # the size that stands for `?` does not fit this op
        is_static = all(isinstance(size, int) for buffer in program.buffers for size in buffer.shape)
        families = ["generic"] if is_static and compiled % 4 == 3 else []
        emitted = LLVMBackend(families=families).emit(KernelRequest(simplify(program)))
        if isinstance(emitted, Refusal):
            assert not is_static  # an array between two loops whose size is known only at the call
            assert "is not known" in emitted.reason
            continue
        native = Native(simplify(program), families=families)
        for actual, array in zip(native(*arrays), expected, strict=True):
            assert isinstance(array, np.ndarray)
            assert_close(actual, array, str(function))
        compiled += 1
    assert compiled


def inputs_of(function: func.FuncOp) -> list[Array]:
    random = np.random.default_rng(0)
    inputs: list[Array] = []
    for argument in function.body.block.args:
        assert is_tensor(argument.type)
        numbers = random.standard_normal(argument.type.get_shape())
        element = argument.type.element_type
        as_integers = (2 * numbers).astype(np.int64)
        inputs.append(numbers > 0 if element == i1 else as_integers if element == i64 else numbers.astype(np.float32))
    return inputs


def check(module: ModuleOp, function: func.FuncOp) -> None:
    program = lower(function)
    if not isinstance(program, LoopProgram):
        return
    inputs = inputs_of(function)
    native = Native(simplify(program))
    results = native(*inputs, parts=2 if native.kernel.parallel else 1)
    assert_agrees(ModuleOp([function.clone()]), inputs, results)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_programs() | random_moves(), opt_level=st.sampled_from([0, 2]))
def test_primitives_of_random_programs_keep_their_meaning_as_machine_code(program: ModuleOp, opt_level: int) -> None:
    FuseOpsPass(opt_level=opt_level).apply(Context(), program)
    for function in program.ops:
        assert isinstance(function, func.FuncOp)
        if "primitive" in function.attributes:
            check(program, function)
