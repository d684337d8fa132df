"""The table of kinds of foreign ops."""

import ast
import inspect
from collections import Counter
from pathlib import Path

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, TensorType, UnregisteredOp, f32, i64
from xdsl.ir import Block

from fuse_dialect.fusion.kinds import foreign, imported
from fuse_dialect.fusion.kinds.edges_of import edges_of
from fuse_dialect.fusion.kinds.foreign import FOREIGN_DIALECTS, FOREIGN_OPS, ForeignOp, foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.pattern_kind import PatternKind

SPECIFICATIONS = Path(__file__).parents[2] / "data" / "specifications"


def test_no_op_stands_in_two_rows() -> None:
    trees = [ast.parse(inspect.getsource(module)) for module in (foreign, imported)]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call.args for call in calls if isinstance(call.func, ast.Name) and call.func.id == "rows"]
    names = [f"{ast.literal_eval(row[0])}.{word}" for row in named for word in ast.literal_eval(row[2]).split()]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    again = {name.replace("stablehlo.", "mhlo.", 1) for name in names if name.startswith("stablehlo.")}
    assert {*names, *again} == set(FOREIGN_OPS)


@pytest.mark.parametrize("name", FOREIGN_OPS)
def test_facets_of_a_row_are_consistent(name: str) -> None:
    row = FOREIGN_OPS[name]
    assert row != ForeignOp()
    assert row.kind is None or not row.is_constant
    assert row.kind is PatternKind.INJECTIVE or not (row.reads_tuple or row.reshape_only)
    assert row.kind is PatternKind.OUT_EWISE_FUSABLE or not row.is_product
    assert row.kind is None or not row.has_no_effects, "a kind says so already"


@pytest.mark.parametrize("dialect", ["stablehlo", "tosa"])
def test_every_op_of_the_specification_has_a_row(dialect: str) -> None:
    names = (SPECIFICATIONS / f"{dialect}.txt").read_text().split()
    assert len(names) == len(set(names)) > 100
    missing = [name for name in names if f"{dialect}.{name}" not in FOREIGN_OPS]
    assert missing == []


def test_a_barrier_has_no_kind() -> None:
    barriers = [name for name, row in FOREIGN_OPS.items() if row.is_barrier]
    assert all(FOREIGN_OPS[name].kind is None for name in barriers)
    assert {"stablehlo.while", "stablehlo.custom_call", "tosa.cond_if"} <= set(barriers)


@pytest.mark.parametrize("size", [4, DYNAMIC_INDEX])
def test_a_size_that_an_op_reads_is_known_before_its_kernel_starts(size: int) -> None:
    block = Block(arg_types=[TensorType(f32, [1]), TensorType(i64, [1])])
    properties = {"broadcast_dimensions": DenseArrayBase.from_list(i64, [0])}
    op = UnregisteredOp.with_name("stablehlo.dynamic_broadcast_in_dim").create(
        operands=block.args, result_types=[TensorType(f32, [size])], properties=properties
    )
    kind = kind_of(op)
    assert kind is PatternKind.BROADCAST
    assert list(edges_of(op, kind)) == [PatternKind.BROADCAST, PatternKind.OPAQUE]


def test_a_row_comes_before_its_dialect() -> None:
    assert foreign_op("arith.constant").kind is None
    assert foreign_op("arith.addf") is FOREIGN_DIALECTS["arith"]
    assert foreign_op("nobody.knows") == ForeignOp()


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
