"""Primitives of random programs as loops, before and after simplification, mean what NumPy says."""

from collections.abc import Callable

import numpy as np
from fuzzing.comparing import assert_agrees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_moves import random_moves
from random_programs import random_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, i1, i64
from xdsl.ir import Attribute

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.opaque import SortOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.indices import Index, Loop, Quotient, Remainder, loop
from fuse_dialect.loops.program import LoopProgram, Refusal, Role
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower


def _floats(numbers: Array) -> Array:
    return numbers.astype(np.float32)


_OF_TYPE: dict[Attribute, Callable[[Array], Array]] = {
    i1: lambda numbers: numbers > 0,
    i64: lambda numbers: (2 * numbers).astype(np.int64),
}


def check(module: ModuleOp, function: func.FuncOp) -> None:
    program = lower(function)
    if isinstance(program, Refusal):
        holds_sort = any(isinstance(op, SortOp) for op in function.walk())
        assert holds_sort or "arith.constant" in program.reason, program.reason
        return
    generator = np.random.default_rng(0)
    inputs: list[Array] = []
    for argument in function.body.block.args:
        assert is_tensor(argument.type)
        numbers = generator.standard_normal(argument.type.get_shape())
        inputs.append(_OF_TYPE.get(argument.type.element_type, _floats)(numbers))
    alone = ModuleOp([function.clone()])
    simple = simplify(program)
    assert len(simple.stages) <= 2 * len(program.stages)  # pieces of a concatenation may cut others
    assert simplify(program) == simple
    for form in (program, simple):
        check_all_is_written(form)
        assert_agrees(alone, inputs, run_loops(form, inputs))


def check_all_is_written(program: LoopProgram) -> None:
    """Every element of what a program gives, or keeps for itself, is stored by a stage: from the stages alone."""
    for buffer in program.buffers:
        if buffer.role is Role.ARGUMENT:
            continue
        shape = [size for size in buffer.shape if isinstance(size, int)]
        assert len(shape) == len(buffer.shape), "the programs here have static sizes"
        written = np.zeros(shape, np.bool_)
        for stage in program.stages:
            if stage.buffer == buffer.name and stage.scatter is None:
                # A scan stores along what it reduces, too.
                axes = [axis.size for axis in stage.axes if stage.is_scan or not axis.is_reduced]
                grid = np.indices([size for size in axes if isinstance(size, int)])
                indices = stage.store or [loop(axis) for axis in range(len(axes))]
                written[tuple(_values(index, grid) for index in indices)] = True
        assert written.all(), f"nobody writes all of {buffer.name}"


def _values(index: Index, grid: Array) -> Array:
    """An index at all points; a reduction that is reshaped stores through quotients."""
    total = np.full(grid.shape[1:], index.constant)
    for atom, factor in index.terms:
        match atom:
            case Loop(axis):
                value = grid[axis]
            case Quotient(of, by):
                value = _values(of, grid) // by
            case Remainder(of, by):
                value = _values(of, grid) % by
        total = total + value * factor
    return total


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_programs(), opt_level=st.sampled_from([0, 2]), max_depth=st.sampled_from([2, 256]))
def test_primitives_of_random_programs_keep_their_meaning_as_loops(
    program: ModuleOp, opt_level: int, max_depth: int
) -> None:
    FuseOpsPass(opt_level=opt_level, max_depth=max_depth).apply(Context(), program)
    for function in program.ops:
        assert isinstance(function, func.FuncOp)
        if "primitive" in function.attributes:
            check(program, function)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_programs())
def test_random_programs_as_a_whole_keep_their_meaning_as_loops(program: ModuleOp) -> None:
    (main,) = program.ops
    assert isinstance(main, func.FuncOp)
    check(program, main)


def test_a_reduction_that_is_reshaped_stores_through_quotients() -> None:
    module = parse_mlir("""func.func @main(%x: tensor<2x3x2xf32>) -> tensor<2x3x1xf32> {
      %y = fuse.sum %x, axes = [0], keepdims = true : (tensor<2x3x2xf32>) -> tensor<1x3x2xf32>
      %z = fuse.reshape %y : (tensor<1x3x2xf32>) -> tensor<2x3x1xf32>
      return %z : tensor<2x3x1xf32>
    }""")
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    check(module, main)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_moves(), fused=st.booleans())
def test_random_moves_keep_their_meaning_as_loops(program: ModuleOp, fused: bool) -> None:
    program.verify()
    if fused:
        FuseOpsPass().apply(Context(), program)
    for function in program.ops:
        assert isinstance(function, func.FuncOp)
        if not fused or "primitive" in function.attributes:
            check(program, function)
