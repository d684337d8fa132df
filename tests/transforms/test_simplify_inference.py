"""`simplify-inference`: the ops after it compute what the ops before it did, and are those that TVM emits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fuzzing.comparing import assert_agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_graphs import recorded
from relay_networks import Network
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.normalization import BatchNormOp, GroupNormOp, InstanceNormOp, LayerNormOp
from fuse_dialect.dialect.ops.opaque import DropoutOp
from fuse_dialect.dialect.types import DYNAMIC, element_type_of, tensor
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

Array = npt.NDArray[Any]

BATCH_NORM_OPS = ["add"] * 3 + ["divide"] + ["expand_dims"] * 2 + ["multiply"] * 3 + ["negative", "sqrt"]
"""What TVM's `BatchNormToInferUnpack` emits, in alphabetical order."""


def vectors(size: int, dtype: Any = np.float32) -> list[Array]:
    """Gamma, beta, mean and a positive variance."""
    generator = np.random.default_rng(size)
    values = [generator.standard_normal(size) for _ in range(3)] + [generator.uniform(0.1, 2, size)]
    return [value.astype(dtype) for value in values]


def module_of(op: FuseOp, arguments: Sequence[SSAValue], constants: Sequence[Operation] = ()) -> ModuleOp:
    """A module whose `@main` runs `op` on its arguments."""
    function = FuncOp("main", ([value.type for value in arguments], op.result_types))
    for old, new in zip(arguments, function.body.block.args, strict=True):
        old.replace_all_uses_with(new)
        new.name_hint = old.name_hint
    function.body.block.add_ops([*constants, op, ReturnOp(*op.results)])
    return ModuleOp([function])


def placeholders(arrays: Sequence[Array], shapes: Sequence[Sequence[int]] | None = None) -> Sequence[SSAValue]:
    """Values of the arrays' types, to build an op on; or of other shapes, where some sizes are dynamic."""
    shapes = [array.shape for array in arrays] if shapes is None else shapes
    types = [tensor(shape, element_type_of(array.dtype)) for shape, array in zip(shapes, arrays, strict=True)]
    return FuncOp("f", (types, [])).body.block.args


def simplify(module: ModuleOp, **options: bool) -> None:
    module.verify()
    SimplifyInferencePass(**options).apply(Context(), module)
    module.verify()


def names(module: ModuleOp) -> list[str]:
    """The `fuse` ops of a module in order, without the prefix."""
    return [op.name.removeprefix("fuse.") for op in module.walk() if isinstance(op, FuseOp)]


def assert_same_meaning(module: ModuleOp, inputs: Sequence[Array], **options: bool) -> None:
    written = module.clone()
    simplify(module, **options)
    assert_agrees(written, inputs, run_module(module, inputs), reassociates=True)


def tensors(draw: st.DrawFn, *, min_rank: int, channels: int | None = None) -> tuple[Array, int]:
    """A tensor, and an axis of it other than the first one."""
    rank = draw(st.integers(min_rank, 5))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    axis = draw(st.integers(1, rank - 1))
    if channels is not None:
        shape[axis] = channels
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    x = np.random.default_rng(draw(st.integers(0, 2**16))).standard_normal(shape)
    return x.astype(dtype), axis


@st.composite
def norms(draw: st.DrawFn) -> tuple[FuseOp, list[SSAValue], list[Array]]:
    """A layer, instance or group norm, its placeholders and inputs."""
    kind = draw(st.sampled_from([LayerNormOp, InstanceNormOp, GroupNormOp]))
    groups, members = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    x, axis = tensors(draw, min_rank=3, channels=groups * members)
    gamma, beta, _, _ = vectors(x.shape[axis], x.dtype)
    arrays = [x, gamma, beta]
    values = list(placeholders(arrays))
    counted_from_back = draw(st.booleans())
    properties: dict[str, Any] = {"axis": axis - x.ndim if counted_from_back else axis, "epsilon": 1e-3}
    if kind is GroupNormOp:
        properties["num_groups"] = groups
    return kind(*values, **properties), values, arrays


@pytest.mark.slow
@given(norms())
@settings(deadline=None)
def test_norms_keep_their_meaning(norm: tuple[FuseOp, list[SSAValue], list[Array]]) -> None:
    op, values, arrays = norm
    module = module_of(op, values)
    assert_same_meaning(module, arrays)
    assert op.name.removeprefix("fuse.") not in names(module)


@pytest.mark.slow
@given(st.data(), st.booleans(), st.booleans())
@settings(deadline=None)
def test_batch_norm_keeps_its_meaning(data: st.DataObject, are_constant: bool, fold_constants: bool) -> None:
    x, axis = tensors(data.draw, min_rank=2)
    parameters = vectors(x.shape[axis], x.dtype)
    if are_constant:
        constants = [constant(array) for array in parameters]
        (value,) = placeholders([x])
        op = BatchNormOp(value, *(item.result for item in constants), axis=axis, epsilon=1e-3)
        module, inputs = module_of(op, [value], constants), [x]
    else:
        values = placeholders([x, *parameters])
        module, inputs = module_of(BatchNormOp(*values, axis=axis, epsilon=1e-3), values), [x, *parameters]
    assert_same_meaning(module, inputs, fold_constants=fold_constants)
    assert "batch_norm" not in names(module)


def batch_norm_module(shape: Sequence[int], *, constants: bool, axis: int = 1) -> tuple[ModuleOp, BatchNormOp]:
    x = np.zeros([1 if dim == DYNAMIC else dim for dim in shape], np.float32)
    parameters = vectors(x.shape[axis])
    if not constants:
        values = placeholders([x, *parameters], [shape, *(array.shape for array in parameters)])
        op = BatchNormOp(*values, axis=axis)
        return module_of(op, values), op
    ops = [constant(array) for array in parameters]
    (value,) = placeholders([x], [shape])
    op = BatchNormOp(value, *(item.result for item in ops), axis=axis)
    return module_of(op, [value], ops), op


def test_batch_norm_of_arguments_becomes_the_ops_of_tvm() -> None:
    module, _ = batch_norm_module([2, 3, 4, 4], constants=False)
    simplify(module)
    assert sorted(names(module)) == BATCH_NORM_OPS


def test_batch_norm_of_constants_becomes_multiply_and_add() -> None:
    module, _ = batch_norm_module([2, 3, 4, 4], constants=True)
    simplify(module)
    assert names(module) == ["multiply", "add"]
    constants = [op for op in module.walk() if isinstance(op, arith.ConstantOp)]
    assert [str(op.result.type) for op in constants] == ["tensor<3x1x1xf32>"] * 2


def test_batch_norm_of_constants_is_kept_apart_on_request() -> None:
    module, _ = batch_norm_module([2, 3, 4, 4], constants=True)
    simplify(module, fold_constants=False)
    assert sorted(names(module)) == BATCH_NORM_OPS


def test_batch_norm_over_the_last_axis_needs_no_expand_dims() -> None:
    module, _ = batch_norm_module([2, 4, 3], constants=False, axis=-1)
    simplify(module)
    assert "expand_dims" not in names(module)


def test_batch_norm_takes_dynamic_dimensions() -> None:
    module, _ = batch_norm_module([DYNAMIC, 3, DYNAMIC], constants=True)
    x = np.ones((5, 3, 7), np.float32)
    assert_same_meaning(module, [x])


def test_a_constant_that_others_use_stays() -> None:
    module, op = batch_norm_module([2, 3], constants=True)
    gamma = op.gamma
    block = op.parent
    assert block is not None
    add = AddOp(op.result, gamma)
    assert block.last_op is not None
    block.insert_op_before(add, block.last_op)
    block.last_op.operands = [add.result]
    simplify(module)
    assert gamma.owner in list(block.ops)
    assert len([op for op in block.ops if isinstance(op, arith.ConstantOp)]) == 3


def test_attributes_names_and_locations_move_to_the_new_value() -> None:
    module, op = batch_norm_module([2, 3], constants=False)
    place = FileLineColLoc(StringAttr("net.py"), IntAttr(3), IntAttr(1))
    op.location = place
    op.attributes["layer"] = StringAttr("stem")
    op.result.name_hint = "normed"
    simplify(module)
    ops = [op for op in module.walk() if isinstance(op, FuseOp)]
    assert all(op.location == place for op in ops)
    assert ops[-1].attributes == {"layer": StringAttr("stem")}
    assert ops[-1].results[0].name_hint == "normed"


def test_layer_norm_has_the_ops_of_the_recorded_one() -> None:
    (case,) = (
        case
        for case in recorded("handmade")
        if (case["name"], case["stage"]) == ("layernorm_manual", "SimplifyInference")
    )
    values = placeholders([np.zeros((8, 128), np.float32), *vectors(128)[:2]])
    module = module_of(LayerNormOp(*values), values)
    simplify(module)
    assert sorted(names(module)) == sorted(names(Network(case).module))


def test_group_norm_takes_one_dynamic_dimension() -> None:
    arrays = [np.random.default_rng(0).standard_normal((2, 4, 5)).astype(np.float32), *vectors(4)[:2]]
    values = placeholders(arrays, [[DYNAMIC, 4, 5], [4], [4]])
    assert_same_meaning(module_of(GroupNormOp(*values, num_groups=2), values), arrays)


def test_group_norm_with_two_dynamic_dimensions_stays() -> None:
    values = placeholders([np.zeros((2, 4, 5), np.float32), *vectors(4)[:2]], [[DYNAMIC, 4, DYNAMIC], [4], [4]])
    module = module_of(GroupNormOp(*values, num_groups=2), values)
    simplify(module)
    assert names(module) == ["group_norm"]


def test_dropouts_vanish() -> None:
    values = placeholders([np.zeros((2, 3), np.float32)])
    ops: list[FuseOp] = [DropoutOp(values[0])]
    for _ in range(3):
        ops.append(DropoutOp(ops[-1].results[0]))
    module = module_of(ops[-1], values, ops[:-1])
    simplify(module)
    assert names(module) == []
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    assert function.body.block.last_op is not None
    assert list(function.body.block.last_op.operands) == list(function.body.block.args)


def test_ops_out_of_order_are_replaced_too() -> None:
    values = placeholders([np.zeros((2, 3), np.float32)])
    first = DropoutOp(values[0])
    second = DropoutOp(first.result)
    module = module_of(second, values, [first])
    first.detach()
    assert second.parent is not None
    second.parent.insert_op_after(first, second)
    simplify(module)
    assert names(module) == []


def test_a_dropout_of_itself_is_diagnosed() -> None:
    values = placeholders([np.zeros((2, 3), np.float32)])
    op = DropoutOp(values[0])
    module = module_of(op, values)
    op.operands = [op.result]
    with pytest.raises(PassFailedException, match=r"'fuse\.dropout' op depends on its own result"):
        SimplifyInferencePass().apply(Context(), module)


@pytest.mark.parametrize("attribute", ["primitive", "fuse.compiler"])
def test_finished_functions_are_left_alone(attribute: str) -> None:
    module, op = batch_norm_module([2, 3], constants=False)
    function = op.parent_op()
    assert function is not None
    function.attributes[attribute] = UnitAttr()
    simplify(module)
    assert names(module) == ["batch_norm"]


def test_a_wide_concatenation_of_dropouts_is_rewritten_at_once() -> None:
    (value,) = placeholders([np.zeros((2, 3), np.float32)])
    dropouts = [DropoutOp(value) for _ in range(3000)]
    module = module_of(ConcatenateOp(*(op.result for op in dropouts)), [value], dropouts)
    concatenate = next(op for op in module.walk() if isinstance(op, ConcatenateOp))
    simplify(module)
    assert len(set(concatenate.operands)) == 1
