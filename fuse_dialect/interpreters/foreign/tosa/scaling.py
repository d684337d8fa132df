"""TOSA: integers scaled by multipliers and shifts, and functions of integers as tables."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, attribute_of, integers_of, is_set
from fuse_dialect.interpreters.foreign.tosa.attributes import clipped, keyword, zero_point
from fuse_dialect.interpreters.values import layout_of


def scaled(value: Array, multiplier: Array, shift: Array, *, double_round: bool) -> Array:
    """`value * multiplier / 2**shift`, rounded half up; with `double_round` also at bit 30 where the shift exceeds 31.

    Args:
        value: i64.
        multiplier: As `value`, or of rank 0.
        shift: As `multiplier`, of 2 to 62.
        double_round: Whether to round twice.

    Source: TOSA specification, `apply_scale_32` and `apply_scale_16`.
    """
    if (shift < 2).any() or (shift > 62).any():
        raise ValueError(f"expects shifts from 2 to 62, got {np.unique(shift).tolist()}")
    rounding = np.left_shift(np.int64(1), shift.astype(np.int64) - 1)
    if double_round:
        at_bit_30 = np.where(value >= 0, np.int64(1 << 30), np.int64(-(1 << 30)))
        rounding = rounding + np.where(shift > 31, at_bit_30, 0)
    return np.right_shift(value * multiplier + rounding, shift.astype(np.int64))


def _double_rounds(op: Operation) -> bool:
    return keyword(op, "rounding_mode") == "DOUBLE_ROUND" or is_set(op, "double_round")


def _apply_scale(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    value, multiplier, shift = (operand.astype(np.int64) for operand in operands)
    return (scaled(value, multiplier, shift, double_round=_double_rounds(op)),)


def _rescale(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Input less its zero point, scaled for all or for each channel, plus the zero point of the output, and cut."""
    given = operands[0]
    layout = layout_of(op.results[0].type)
    if layout is None:
        raise ValueError("expects a tensor")
    if attribute_of(op, "multiplier") is None:
        multiplier, shift = (operand.astype(np.int64) for operand in operands[1:3])
        zero_points = operands[3:]
    else:
        multiplier, shift = (np.array(integers_of(op, name)) for name in ("multiplier", "shift"))
        zero_points = operands[1:]
    takes_unsigned, gives_unsigned = is_set(op, "input_unsigned"), is_set(op, "output_unsigned")
    value = _read(given, unsigned=takes_unsigned)
    own = _point(zero_points, 0, int(zero_point(op, (), 0, "input_zp")), unsigned=takes_unsigned)
    result_zero = _point(zero_points, 1, int(zero_point(op, (), 0, "output_zp")), unsigned=gives_unsigned)
    if not is_set(op, "per_channel"):
        multiplier, shift = multiplier.reshape(-1)[0], shift.reshape(-1)[0]
    total = (
        scaled(value - own, np.asarray(multiplier), np.asarray(shift), double_round=_double_rounds(op)) + result_zero
    )
    return (_written(total, layout[1], unsigned=gives_unsigned),)


def _read(array: Array, *, unsigned: bool) -> Array:
    own = array.view(f"u{array.dtype.itemsize}") if unsigned and array.dtype.kind == "i" else array
    return own.astype(np.int64)


def _point(points: Sequence[Array], place: int, default: int, *, unsigned: bool) -> int:
    return int(_read(points[place], unsigned=unsigned).reshape(-1)[0]) if len(points) > place else default


def _written(total: Array, dtype: "np.dtype[np.generic]", *, unsigned: bool) -> Array:
    """Integers cut to the range of a type, which may be read as unsigned."""
    own = np.dtype(f"u{dtype.itemsize}") if unsigned and dtype.kind == "i" else dtype
    return clipped(total, own).astype(own).astype(dtype)


def _table(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """i8: one of 256 entries; i16: between two of 513, with 7 bits in between."""
    given = operands[0]
    table = (operands[1] if len(operands) > 1 else _table_attribute(op)).astype(np.int64)
    if given.dtype.itemsize == 1:
        return (table[given.astype(np.int64) + 128],)
    place = given.astype(np.int64) + 32768
    index, fraction = place >> 7, place & 0x7F
    base, following = table[index], table[index + 1]
    return ((base << 7) + (following - base) * fraction,)


def _table_attribute(op: Operation) -> Array:
    return np.array(integers_of(op, "table"))


ROWS: Rows = {
    "apply_scale": _apply_scale,
    "rescale": _rescale,
    "table": _table,
}
"""Meanings by the op's name without its dialect."""
