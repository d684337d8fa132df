"""Families of large programs for benchmarks, built op by op without text.

Each family is a function from a number of ops to rows `(operator, operands)`, where operands are numbers of earlier
rows; -1 is the program's argument. Parameters of operators go without saying. All values have one type, so any wiring
is a valid program.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import FloatAttr, FunctionType, IntegerAttr, ModuleOp, TensorType, f32, f64, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, PatternKindAttr
from fuse_dialect.dialect.ops.activation import ReluOp
from fuse_dialect.dialect.ops.broadcast import AddOp
from fuse_dialect.dialect.ops.elementwise import ExpOp
from fuse_dialect.dialect.ops.matmul import DenseOp
from fuse_dialect.dialect.ops.normalization import BatchNormOp
from fuse_dialect.pattern_kind import PatternKind

Row: TypeAlias = tuple[str, Sequence[int]]

TENSOR = TensorType(f32, [8, 8])
VECTOR = TensorType(f32, [8])
DENSE_WINDOW = 30
"""How many earlier ops each op of `dense_skips` reads."""


def chain(size: int) -> Iterator[Row]:
    """Elementwise ops, one after the other."""
    for i in range(size):
        yield "exp", [i - 1]


def residual_blocks(size: int) -> Iterator[Row]:
    """Blocks of dense, batch norm, relu, dense, batch norm, and a relu of the sum with the block's input."""
    for start in range(0, size - size % 7, 7):
        before = start - 1
        yield "dense", [before]
        yield "batch_norm", [start]
        yield "relu", [start + 1]
        yield "dense", [start + 2]
        yield "batch_norm", [start + 3]
        yield "add", [start + 4, before]
        yield "relu", [start + 5]


def fan_out_tree(size: int) -> Iterator[Row]:
    """One value, read by many ops, whose results are added up in a balanced tree."""
    leaves = size // 2
    yield "exp", [-1]
    for _ in range(leaves):
        yield "exp", [0]
    values = list(range(1, leaves + 1))
    count = leaves + 1
    while len(values) > 1:
        sums: list[int] = []
        for left, right in zip(values[::2], values[1::2], strict=False):
            yield "add", [left, right]
            sums.append(count)
            count += 1
        values = sums + (values[-1:] if len(values) % 2 else [])


def fan_out_chain(size: int) -> Iterator[Row]:
    """One value, read by many ops, whose results are added up one by one."""
    leaves = size // 2
    yield "exp", [-1]
    for _ in range(leaves):
        yield "exp", [0]
    for i in range(leaves - 1):
        yield "add", [leaves + i if i else 1, i + 2]


def nested_skips(size: int) -> Iterator[Row]:
    """A way down and a way up, every step of which reads the step of the same height on the way down: a deep U-Net."""
    half = size // 2
    for i in range(half):
        yield "exp", [i - 1]
    for i in range(half):
        yield "add", [half + i - 1, half - 1 - i]


def parallel_skips(size: int) -> Iterator[Row]:
    """A long chain, and skips over it: values from before, read one by one after it."""
    skips = size // 4
    yield "exp", [-1]
    for _ in range(skips):
        yield "exp", [0]
    long = size - 2 * skips - 1
    for i in range(long):
        yield "exp", [skips + i if i else 0]
    for i in range(skips):
        yield "add", [skips + long + i, i + 1]


def random_dag(size: int) -> Iterator[Row]:
    """Ops that read two of the last 16 values, in one of ten cases one from anywhere."""
    rng = Random(0)
    for i in range(size):
        near = [rng.randrange(max(-1, i - 16), i) for _ in range(2)]
        if i and rng.random() < 0.1:
            near[1] = rng.randrange(i)
        yield ("add", near) if rng.random() < 0.6 else ("exp", near[:1])


def dense_skips(size: int) -> Iterator[Row]:
    """Every op reads the last 30."""
    for i in range(size):
        yield "sum", list(range(max(-1, i - DENSE_WINDOW), i))


FAMILIES: Mapping[str, Callable[[int], Iterator[Row]]] = {
    family.__name__: family
    for family in (
        chain,
        residual_blocks,
        fan_out_tree,
        fan_out_chain,
        nested_skips,
        parallel_skips,
        random_dag,
        dense_skips,
    )
}

_OPERATORS: Mapping[str, type[Operation]] = {
    "exp": ExpOp,
    "relu": ReluOp,
    "add": AddOp,
    "dense": DenseOp,
    "batch_norm": BatchNormOp,
    "sum": TestOp,
}


_ATTRIBUTES: Mapping[str, Mapping[str, Attribute]] = {
    "sum": {PATTERN_KIND_ATTRIBUTE: PatternKindAttr.of(PatternKind.BROADCAST)},
}
_PROPERTIES: Mapping[str, Mapping[str, Attribute]] = {
    "batch_norm": {"axis": IntegerAttr(1, i64), "epsilon": FloatAttr(1e-5, f64)},
}


def program(rows: Iterator[Row]) -> tuple[ModuleOp, int]:
    """A module with one function that computes the rows and returns the last value, and the number of its ops.

    The function's arguments are the value -1, a weight for `dense` and four parameters for `batch_norm`.
    """
    block = Block(arg_types=[TENSOR, TENSOR, *[VECTOR] * 4])
    first, *parameters = block.args
    reads_too: Mapping[str, list[SSAValue]] = {"dense": [*parameters[:1]], "batch_norm": [*parameters[1:]]}
    values: list[SSAValue] = []
    for operator, operands in rows:
        op = _OPERATORS[operator].create(
            operands=[values[i] if i >= 0 else first for i in operands] + reads_too.get(operator, []),
            result_types=[TENSOR],
            attributes=_ATTRIBUTES.get(operator, {}),
            properties=_PROPERTIES.get(operator, {}),
        )
        block.add_op(op)
        values.append(op.results[0])
    block.add_op(func.ReturnOp.create(operands=[values[-1]]))
    type = FunctionType.from_lists([argument.type for argument in block.args], [TENSOR])
    return ModuleOp([func.FuncOp("main", type, Region(block))]), len(values)
