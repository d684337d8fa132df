"""TOSA: ops on lists of sizes, `!tosa.shape<N>`."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Meaning, Rows, Surroundings, is_set
from fuse_dialect.interpreters.foreign.tosa.attributes import given_integers


def _of(function: Callable[..., Array]) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        return (function(*operands),)

    return meaning


def _divided(rounding: Callable[[Array, Array], Array]) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        lhs, rhs = operands
        if (rhs <= 0).any() or (lhs < 0).any():
            raise ValueError(f"expects sizes and positive divisors, got {lhs.tolist()} and {rhs.tolist()}")
        return (rounding(lhs, rhs),)

    return meaning


def _logarithm(rounding: Callable[[Array], Array]) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        if (operands[0] < 1).any():
            raise ValueError(f"expects sizes of at least 1, got {operands[0].tolist()}")
        return (rounding(np.log2(operands[0].astype(np.float64))),)

    return meaning


def _concat_shape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.concatenate(operands),)


def _slice_shape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    start = given_integers(op, operands, 1, "start")[0]
    size = given_integers(op, operands, 2, "size")[0]
    if start < 0 or size < 0 or start + size > operands[0].size:
        raise IndexError(f"start {start}, size {size} reach out of {operands[0].size} sizes")
    return (operands[0][start : start + size],)


def _assert_equal_shape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    lhs, rhs = operands
    equal = lhs == rhs
    if is_set(op, "allow_broadcast"):
        equal = equal | (lhs == 1) | (rhs == 1)
    if not equal.all():
        raise ValueError(f"expects equal sizes, got {lhs.tolist()} and {rhs.tolist()}")
    return ()


ROWS: Rows = {
    "add_shape": _of(np.add),
    "assert_equal_shape": _assert_equal_shape,
    "concat_shape": _concat_shape,
    "div_ceil_shape": _divided(lambda lhs, rhs: -(-lhs // rhs)),
    "div_floor_shape": _divided(np.floor_divide),
    "exp2_shape": _of(np.exp2),
    "log2_ceil_shape": _logarithm(np.ceil),
    "log2_floor_shape": _logarithm(np.floor),
    "max_shape": _of(np.maximum),
    "min_shape": _of(np.minimum),
    "mod_shape": _divided(np.mod),
    "mul_shape": _of(np.multiply),
    "slice_shape": _slice_shape,
    "sub_shape": _of(np.subtract),
}
"""Meanings by the op's name without its dialect."""
