"""`fold-constants`: what is computed at compile time is what would have been computed later."""

from typing import Any

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from hypothesis import given
from hypothesis import strategies as st
from random_programs import SHAPE, random_programs
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FileLineColLoc, IntAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, WhereOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import ExpOp, NegativeOp
from fuse_dialect.dialect.ops.layout import TransposeOp
from fuse_dialect.dialect.types import tensor
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.fold_constants import _KEEP_ELEMENTS, FoldConstantsPass  # pyright: ignore[reportPrivateUsage]


def fold(module: ModuleOp, **options: int) -> None:
    module.verify()
    FoldConstantsPass(**options).apply(Context(), module)
    module.verify()


def program(*ops: Operation, results: int = 1) -> ModuleOp:
    """A module whose `@main` without arguments runs the ops and returns the result of the last ones."""
    returned: list[SSAValue] = [value for op in ops[-results:] for value in op.results]
    function = FuncOp("main", ([], [value.type for value in returned]))
    function.body.block.add_ops([*ops, ReturnOp(*returned)])
    return ModuleOp([function])


def fuse_ops(module: ModuleOp) -> list[FuseOp]:
    return [op for op in module.walk() if isinstance(op, FuseOp)]


def stored_bytes(module: ModuleOp) -> int:
    attributes = (op.value for op in module.walk() if isinstance(op, arith.ConstantOp))
    return sum(len(value.data.data) for value in attributes if isinstance(value, DenseIntOrFPElementsAttr))


@given(random_programs(), st.integers(0, 2**16))
def test_random_programs_keep_their_meaning(module: ModuleOp, seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = [generator.uniform(-1, 1, SHAPE).astype(np.float32) for _ in range(2)]
    written = module.clone()
    count = len(fuse_ops(module))
    fold(module)
    assert len(fuse_ops(module)) <= count
    assert_agrees(written, inputs, run_module(module, inputs))


@given(random_programs())
def test_nothing_is_left_to_fold(module: ModuleOp) -> None:
    """Programs of constants alone, and a second run that finds nothing."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    block = function.body.block
    assert block.first_op is not None
    for argument in list(block.args):
        op = constant(np.random.default_rng(0).uniform(-1, 1, SHAPE).astype(np.float32))
        block.insert_op_before(op, block.first_op)
        argument.replace_all_uses_with(op.result)
        block.erase_arg(argument)
    function.update_function_type()
    written = module.clone()
    fold(module)
    assert {op.name for op in fuse_ops(module)} <= {"fuse.stop_fusion", "fuse.tuple", "fuse.get_tuple_element"} | {
        op.name for op in fuse_ops(module) if _reads_what_stays(op)
    }
    assert_agrees(written, [], run_module(module, []))
    text = str(module)
    fold(module)
    assert str(module) == text


def _reads_what_stays(op: FuseOp) -> bool:
    return any(not isinstance(value.owner, arith.ConstantOp) for value in op.operands)


@pytest.mark.parametrize("keeper", [op for op in ALL_OPS if issubclass(op, _KEEP_ELEMENTS)], ids=lambda op: op.name)
def test_ops_that_keep_elements_read_one_operand_and_compute_nothing(keeper: type[FuseOp]) -> None:
    assert len(keeper.get_irdl_definition().operands) == 1
    assert keeper.FLOPS_PER_RESULT_ELEMENT == 0


def test_names_locations_and_unknown_attributes_move_to_the_constant() -> None:
    a = constant(np.array([1.0, 2.0], np.float32))
    op = ExpOp(a)
    op.location = FileLineColLoc(StringAttr("net.py"), IntAttr(3), IntAttr(1))
    op.attributes["layer"] = StringAttr("stem")
    op.result.name_hint = "scale"
    module = program(a, op)
    location = op.location
    fold(module)
    (folded,) = (each for each in module.walk() if isinstance(each, arith.ConstantOp))
    assert folded.location == location
    assert folded.attributes == {"layer": StringAttr("stem")}
    assert folded.result.name_hint == "scale"


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float16, np.float64])
def test_every_element_type_is_folded(dtype: Any) -> None:
    a = constant(np.arange(6).reshape(2, 3).astype(dtype))
    module = program(a, TransposeOp(a, permutation=[1, 0]))
    fold(module)
    assert not fuse_ops(module)
    (result,) = run_module(module, [])
    np.testing.assert_array_equal(result, np.arange(6).reshape(2, 3).astype(dtype).T)


def test_module_never_outgrows_the_budget() -> None:
    a = constant(np.arange(4, dtype=np.float32).reshape(2, 2))
    ops = [TransposeOp(a, permutation=[1, 0]) for _ in range(10)]
    module = program(a, *ops, results=10)
    before = stored_bytes(module)
    fold(module, max_total_bytes=50)
    # Three more copies of 16 bytes fit into 50; whether the op that reads last frees the original makes no difference.
    assert stored_bytes(module) == before + 3 * 16
    assert len(fuse_ops(module)) == 7


def test_a_wide_concatenation_of_folded_ops_is_rewired_at_once() -> None:
    (x,) = FuncOp("f", ([tensor([1], f32)], [])).body.block.args
    a = constant(np.ones(1, np.float32))
    ops = [NegativeOp(a) for _ in range(3000)]
    function = FuncOp("main", ([tensor([1], f32)], [tensor([3001], f32)]))
    joined = ConcatenateOp(*(op.result for op in ops), x, axis=0)
    function.body.block.add_ops([a, *ops, joined, ReturnOp(joined.result)])
    x.replace_all_uses_with(function.body.block.args[0])
    module = ModuleOp([function])
    fold(module)
    assert fuse_ops(module) == [joined]


def test_a_user_above_what_it_reads_is_rewired_too() -> None:
    """The verifier of xDSL accepts it, and blocks need not stand in the order in which they run."""
    a = constant(np.ones(1, np.float32))
    negative = NegativeOp(a)
    function = FuncOp("main", ([tensor([1], f32)], [tensor([1], f32)]))
    add = AddOp(function.body.block.args[0], negative.result)
    function.body.block.add_ops([add, a, negative, ReturnOp(add.result)])
    module = ModuleOp([function])
    fold(module)
    assert fuse_ops(module) == [add]
    assert isinstance(add.rhs.owner, arith.ConstantOp)


@pytest.mark.parametrize("holds", [True, False])
def test_a_choice_by_one_truth_value_is_what_it_chooses(holds: bool) -> None:
    type = tensor([2, 3], f32)
    function = FuncOp("main", ([type, type, tensor([3], f32)], [type, type]))
    x, y, row = function.body.block.args
    condition = constant(np.broadcast_to(np.array(holds), (2, 3)))
    choice = WhereOp(condition.result, x, y)
    negative = NegativeOp(choice.results[0])
    wide = WhereOp(condition.result, *((row, y) if holds else (x, row)))
    function.body.block.add_ops([condition, choice, negative, wide, ReturnOp(negative.results[0], wide.results[0])])
    module = ModuleOp([function])
    fold(module)
    # What has another shape than the result stays.
    assert [op.name for op in fuse_ops(module)] == ["fuse.negative", "fuse.where"]
    assert negative.operands[0] is (x if holds else y)
