"""`eliminate-common-subexpr`: the same values from fewer ops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_programs import SHAPE, random_programs
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from fuse_dialect.dialect.constants import constant_attribute
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import ExpOp
from fuse_dialect.dialect.types import tensor
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass


def merge(module: ModuleOp) -> None:
    module.verify()
    EliminateCommonSubexprPass().apply(Context(), module)
    module.verify()


def pure_ops(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, FuseOp | arith.ConstantOp)]


def distinct(module: ModuleOp) -> int:
    """Number of different values that the ops of `main` compute, by comparing printed expressions of numbered ops."""
    numbers: dict[object, int] = {}
    of_value: dict[object, object] = {}
    for op in module.walk():
        if not isinstance(op, FuseOp | arith.ConstantOp):
            continue
        operands = tuple(of_value.get(value, id(value)) for value in op.operands)
        text = (op.name, operands, str(op.properties), str(op.attributes), str(op.result_types))
        number = numbers.setdefault(text, len(numbers))
        of_value.update((result, (number, index)) for index, result in enumerate(op.results))
    return len(numbers)


@given(random_programs(), st.integers(0, 2**16))
def test_random_programs_have_no_op_twice_and_give_the_same_bits(module: ModuleOp, seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = [generator.uniform(-1, 1, SHAPE).astype(np.float32) for _ in range(2)]
    before = run_module(module, inputs)
    expected = distinct(module)
    merge(module)
    assert len(pure_ops(module)) == expected
    for one, other in zip(run_module(module, inputs), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_wide_concatenation_of_duplicates_is_rewired_at_once() -> None:
    function = FuncOp("main", ([tensor([1], f32)], [tensor([5000], f32)]))
    (x,) = function.body.block.args
    ops = [ExpOp(x) for _ in range(5000)]
    joined = ConcatenateOp(*(op.result for op in ops), axis=0)
    function.body.block.add_ops([*ops, joined, ReturnOp(joined.result)])
    module = ModuleOp([function])
    merge(module)
    assert pure_ops(module) == [ops[0], joined]


def constants_left(*arrays: np.ndarray) -> int:
    """How many constants are left of one for each array, all of which are read."""
    module = ModuleOp([])
    function = FuncOp("main", ((), ()))
    block = function.body.block
    made = [arith.ConstantOp(constant_attribute(array)) for array in arrays]
    results = [each.result for each in made]
    block.add_ops([*made, ReturnOp(*results)])
    function.update_function_type()
    module.body.block.add_op(function)
    merge(module)
    return len(pure_ops(module))


def test_large_constants_are_one_if_all_elements_are_the_same() -> None:
    array = np.arange(10_000, dtype=np.float32)
    middle, end, start = array.copy(), array.copy(), array.copy()
    middle[5_000] = end[-1] = start[0] = -1
    assert constants_left(array, array.copy()) == 1
    assert constants_left(array, middle) == 2
    assert constants_left(array, end, start, middle, middle.copy()) == 4
    assert constants_left(array, array.reshape(100, 100)) == 2
    assert constants_left(array, array.view(np.int32)) == 2
