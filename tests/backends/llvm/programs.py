"""Loop programs written by hand, with their meaning on NumPy."""

from collections.abc import Callable

import numpy as np

from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.indices import Index, loop, number
from fuse_dialect.loops.program import (
    Apply,
    Axis,
    Buffer,
    Combiner,
    Literal,
    LoopProgram,
    Read,
    Reduction,
    Role,
    Stage,
)

ROW, COLUMN = loop(0), loop(1)


def read(buffer: str, *indices: Index) -> Read:
    return Read(buffer, indices, "f32")


def apply(function: str, *operands: int) -> Apply:
    return Apply(function, operands, "f32")


def literal(value: float) -> Literal:
    return Literal(value, "f32")


def buffer(name: str, *shape: int | str, role: Role = Role.ARGUMENT) -> Buffer:
    return Buffer(name, "f32", shape, role)


def result(*shape: int | str) -> Buffer:
    return buffer("y", *shape, role=Role.RESULT)


def total(start: float = 0.0, combiner: Combiner = Combiner.ADD) -> Reduction:
    return Reduction(combiner, literal(start))


def softmax(rows: int | str, columns: int | str) -> LoopProgram:
    """Four stages: maximum, exponentials, sum, quotients."""
    space, reduced = (Axis(rows), Axis(columns)), (Axis(rows), Axis(columns, True))
    local = {"role": Role.LOCAL}
    return LoopProgram(
        "softmax",
        (
            buffer("x", rows, columns),
            result(rows, columns),
            buffer("m", rows, **local),
            buffer("e", rows, columns, **local),
            buffer("s", rows, **local),
        ),
        (
            Stage("max", "m", reduced, (read("x", ROW, COLUMN),), total(float("-inf"), Combiner.MAXIMUM)),
            Stage(
                "exp",
                "e",
                space,
                (read("x", ROW, COLUMN), read("m", ROW), apply("arith.subf", 0, 1), apply("math.exp", 2)),
            ),
            Stage("sum", "s", reduced, (read("e", ROW, COLUMN),), total()),
            Stage("quotient", "y", space, (read("e", ROW, COLUMN), read("s", ROW), apply("arith.divf", 0, 1))),
        ),
    )


def softmax_meaning(x: Array) -> Array:
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def layer_norm(rows: int, columns: int) -> LoopProgram:
    """Mean, variance, their root as a stage of one value for each row, and the map."""
    space, reduced = (Axis(rows), Axis(columns)), (Axis(rows), Axis(columns, True))
    mean = (literal(1 / columns), apply("arith.mulf", 0, 1))
    centred = (read("x", ROW, COLUMN), read("m", ROW), apply("arith.subf", 0, 1))
    local = {"role": Role.LOCAL}
    return LoopProgram(
        "layer_norm",
        (
            buffer("x", rows, columns),
            buffer("g", columns),
            buffer("b", columns),
            result(rows, columns),
            buffer("m", rows, **local),
            buffer("v", rows, **local),
            buffer("r", rows, **local),
        ),
        (
            Stage("mean", "m", reduced, (read("x", ROW, COLUMN),), total(), mean),
            Stage("variance", "v", reduced, (*centred, apply("arith.mulf", 2, 2)), total(), mean),
            Stage(
                "root",
                "r",
                (Axis(rows),),
                (read("v", ROW), literal(1e-5), apply("arith.addf", 0, 1), apply("math.rsqrt", 2)),
            ),
            Stage(
                "scale",
                "y",
                space,
                (
                    *centred,
                    read("r", ROW),
                    apply("arith.mulf", 2, 3),
                    read("g", COLUMN),
                    apply("arith.mulf", 4, 5),
                    read("b", COLUMN),
                    apply("arith.addf", 6, 7),
                ),
            ),
        ),
    )


def layer_norm_meaning(x: Array, g: Array, b: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def broadcasts(rows: int | str, columns: int | str) -> LoopProgram:
    """`(x + r) * c`, with a row and a column."""
    body = (
        read("x", ROW, COLUMN),
        read("r", COLUMN),
        apply("arith.addf", 0, 1),
        read("c", ROW, number(0)),
        apply("arith.mulf", 2, 3),
    )
    return LoopProgram(
        "broadcasts",
        (buffer("x", rows, columns), buffer("r", columns), buffer("c", rows, 1), result(rows, columns)),
        (Stage("map", "y", (Axis(rows), Axis(columns)), body),),
    )


def transpose(rows: int, columns: int) -> LoopProgram:
    return LoopProgram(
        "transpose",
        (buffer("x", columns, rows), result(rows, columns)),
        (Stage("map", "y", (Axis(rows), Axis(columns)), (read("x", COLUMN, ROW),)),),
    )


def column_sums(rows: int, columns: int) -> LoopProgram:
    return LoopProgram(
        "column_sums",
        (buffer("x", rows, columns), result(columns)),
        (Stage("sum", "y", (Axis(columns), Axis(rows, True)), (read("x", COLUMN, ROW),), total()),),
    )


def row_sums(rows: int, columns: int) -> LoopProgram:
    return LoopProgram(
        "row_sums",
        (buffer("x", rows, columns), result(rows)),
        (Stage("sum", "y", (Axis(rows), Axis(columns, True)), (read("x", ROW, COLUMN),), total()),),
    )


def whole_maximum(rows: int, columns: int) -> LoopProgram:
    reduction = total(float("-inf"), Combiner.MAXIMUM)
    return LoopProgram(
        "whole_maximum",
        (buffer("x", rows, columns), result()),
        (Stage("max", "y", (Axis(rows, True), Axis(columns, True)), (read("x", ROW, COLUMN),), reduction),),
    )


def column_softmax(rows: int, columns: int) -> LoopProgram:
    """Stages that need each other's results whole: `x / sum over rows of x`."""
    return LoopProgram(
        "column_share",
        (buffer("x", rows, columns), result(rows, columns), buffer("s", columns, role=Role.LOCAL)),
        (
            Stage("sum", "s", (Axis(columns), Axis(rows, True)), (read("x", COLUMN, ROW),), total()),
            Stage(
                "quotient",
                "y",
                (Axis(rows), Axis(columns)),
                (read("x", ROW, COLUMN), read("s", COLUMN), apply("arith.divf", 0, 1)),
            ),
        ),
    )


def concatenation(rows: int, columns: int) -> LoopProgram:
    """Two stages that write pieces of one buffer."""
    space = (Axis(rows), Axis(columns))
    return LoopProgram(
        "concatenation",
        (buffer("x", rows, columns), result(rows, 2 * columns)),
        (
            Stage("left", "y", space, (read("x", ROW, COLUMN),)),
            Stage(
                "right",
                "y",
                space,
                (read("x", ROW, COLUMN), apply("arith.negf", 0)),
                store=(ROW, COLUMN + columns),
            ),
        ),
    )


Program = Callable[[int, int], LoopProgram]
PROGRAMS: dict[str, tuple[Program, Callable[..., Array]]] = {
    "softmax": (softmax, softmax_meaning),
    "layer_norm": (layer_norm, layer_norm_meaning),
    "broadcasts": (broadcasts, lambda x, r, c: (x + r) * c),
    "transpose": (transpose, lambda x: x.T),
    "column_sums": (column_sums, lambda x: x.sum(0)),
    "row_sums": (row_sums, lambda x: x.sum(1)),
    "whole_maximum": (whole_maximum, lambda x: np.asarray(x.max())),
    "column_share": (column_softmax, lambda x: x / x.sum(0)),
    "concatenation": (concatenation, lambda x: np.concatenate([x, -x], 1)),
}
"""Programs of two sizes, with their meanings on the arguments."""
