"""The table of kinds of foreign ops."""

import ast
import inspect
from collections import Counter

import pytest
from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnregisteredOp, f32, i64
from xdsl.ir import Block

from fuse_dialect.kinds import foreign
from fuse_dialect.kinds.foreign import CONSTANT_OPS, KIND_OF_DIALECT, KIND_OF_OP, OPS_THAT_READ_A_TUPLE
from fuse_dialect.kinds.kind_of import kind_of
from fuse_dialect.pattern_kind import PatternKind


def test_no_op_stands_in_two_rows() -> None:
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(foreign))) if isinstance(node, ast.Call)]
    rows = [call.args for call in calls if isinstance(call.func, ast.Name) and call.func.id == "_rows"]
    names = [f"{ast.literal_eval(row[0])}.{word}" for row in rows for word in ast.literal_eval(row[2]).split()]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert set(names) == set(KIND_OF_OP)


def test_special_ops_are_consistent_with_the_table() -> None:
    assert not CONSTANT_OPS & KIND_OF_OP.keys()
    assert all(KIND_OF_OP[name] is PatternKind.INJECTIVE for name in OPS_THAT_READ_A_TUPLE)
    assert all(name.split(".")[0] not in KIND_OF_DIALECT for name in KIND_OF_OP)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("stablehlo.exponential", PatternKind.ELEMWISE),
        ("stablehlo.add", PatternKind.BROADCAST),
        ("stablehlo.transpose", PatternKind.INJECTIVE),
        ("stablehlo.reduce", PatternKind.COMM_REDUCE),
        ("stablehlo.convolution", PatternKind.OUT_EWISE_FUSABLE),
        ("stablehlo.sort", PatternKind.OPAQUE),
        ("stablehlo.custom_call", None),
        ("tosa.sigmoid", PatternKind.ELEMWISE),
        ("tosa.conv2d", PatternKind.OUT_EWISE_FUSABLE),
        ("math.exp", PatternKind.ELEMWISE),
        ("somebody.else", None),
    ],
)
def test_kind_of_unregistered_op(name: str, kind: PatternKind | None) -> None:
    op = UnregisteredOp.with_name(name).create(result_types=[TensorType(f32, [4])])
    assert kind_of(op) is kind


@pytest.mark.parametrize(("dimensions", "kind"), [([], 1), ([0, 2], 1), ([2, 0], 2)])
def test_broadcast_in_dim_is_injective_when_it_turns_axes(dimensions: list[int], kind: int) -> None:
    op = UnregisteredOp.with_name("stablehlo.broadcast_in_dim").create(
        operands=Block(arg_types=[TensorType(f32, [4] * len(dimensions))]).args,
        result_types=[TensorType(f32, [4, 4, 4])],
        properties={"broadcast_dimensions": DenseArrayBase.from_list(i64, dimensions)},
    )
    assert kind_of(op) == kind
