"""TOSA: ops that move elements."""

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.constants import evaluate_attribute
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, attribute_of, integers_of, number_of
from fuse_dialect.interpreters.foreign.tosa.attributes import given_integers, zero_point


def _const(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    values = attribute_of(op, "values")
    return (evaluate_attribute(op, attribute_of(op, "value") if values is None else values),)


def _axis(op: Operation, array: Array) -> int:
    axis = integers_of(op, "axis")[0]
    if not 0 <= axis < array.ndim:
        raise IndexError(f"axis {axis} is not among the {array.ndim} of its tensor")
    return axis


def _concat(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.concatenate(operands, axis=_axis(op, operands[0])),)


def _pad(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Widths before and behind each axis, in turns; what is there is `pad_const`, or the zero point."""
    source = operands[0]
    widths = np.array(given_integers(op, operands, 1, "padding")).reshape(-1, 2)
    if len(widths) != source.ndim:
        raise ValueError(f"expects two widths for each of {source.ndim} axes")
    value = zero_point(op, operands, 2, "pad_const", "input_zp")
    shape = [size + int(before) + int(behind) for size, (before, behind) in zip(source.shape, widths, strict=True)]
    if widths.min(initial=0) < 0:
        raise ValueError(f"expects widths of at least 0, got {widths.reshape(-1).tolist()}")
    around.check_room(op, shape, source.dtype)
    result = np.full(shape, value).astype(source.dtype)
    result[tuple(slice(int(low), int(low) + size) for low, size in zip(widths[:, 0], source.shape, strict=True))] = (
        source
    )
    return (result,)


def _reshape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The elements in another shape, in which one size may be -1."""
    source = operands[0]
    shape = given_integers(op, operands, 1, "new_shape")
    if shape.count(-1) == 1 and (known := prod(size for size in shape if size != -1)):
        shape = [source.size // known if size == -1 else size for size in shape]
    if min(shape, default=0) < 0 or prod(shape) != source.size:
        raise ValueError(f"cannot make {shape} of {list(source.shape)}")
    return (source.reshape(shape),)


def _reverse(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.flip(operands[0], _axis(op, operands[0])),)


def _slice(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source = operands[0]
    starts, sizes = given_integers(op, operands, 1, "start"), given_integers(op, operands, 2, "size")
    for axis, (start, size, whole) in enumerate(zip(starts, sizes, source.shape, strict=True)):
        if start < 0 or size < 0 or start + size > whole:
            raise IndexError(f"start {start}, size {size} reach out of axis {axis} of size {whole}")
    return (source[tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))],)


def _tile(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    source = operands[0]
    counts = given_integers(op, operands, 1, "multiples")
    around.check_room(op, [size * count for size, count in zip(source.shape, counts, strict=True)], source.dtype)
    return (np.tile(source, counts),)


def _transpose(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (operands[0].transpose(given_integers(op, operands, 1, "perms")),)


def _checked(indices: Array, size: int) -> Array:
    outside = indices[(indices < 0) | (indices >= size)]
    if outside.size:
        raise IndexError(f"index {int(outside.flat[0])} is outside axis 1 of size {size}")
    return indices


def _gather(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Rows of `[N, K, C]` at indices `[N, W]`."""
    values, indices = operands
    return (values[np.arange(values.shape[0])[:, None], _checked(indices, values.shape[1])],)


def _row_gather(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Rows of `[N, K, C]` at indices `[N, W]`, `row_count` of them from each index on, as `[N, W * row_count, C]`."""
    values, indices = operands[:2]
    count = given_integers(op, operands, 2, "row_count")[0]
    places = (indices[..., None] + np.arange(count)).reshape(indices.shape[0], -1)
    return (values[np.arange(values.shape[0])[:, None], _checked(places, values.shape[1])],)


def _scatter(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`[N, K, C]` with rows of `[N, W, C]` written at indices `[N, W]`, none of which may be there twice."""
    values, indices, given = operands
    result = np.array(values)
    _checked(indices, values.shape[1])
    if any(len(np.unique(row)) != row.size for row in indices):
        raise ValueError("expects every index once in a batch")
    result[np.arange(values.shape[0])[:, None], indices] = given
    return (result,)


def _dim(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.array([operands[0].shape[int(cast(int, number_of(op, "axis")))]]),)


ROWS: Rows = {
    "concat": _concat,
    "const": _const,
    "const_shape": _const,
    "dim": _dim,
    "gather": _gather,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "row_gather": _row_gather,
    "scatter": _scatter,
    "slice": _slice,
    "tile": _tile,
    "transpose": _transpose,
}
"""Meanings by the op's name without its dialect."""
