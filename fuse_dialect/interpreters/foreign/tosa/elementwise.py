"""TOSA, element by element. Operands broadcast along axes of size 1."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Meaning, Rows, Surroundings, attribute_of, is_set, number_of
from fuse_dialect.interpreters.foreign.scalars import leading_zeros, narrowed
from fuse_dialect.interpreters.foreign.tosa.attributes import (
    clipped,
    integer_range,
    is_integer,
    keyword,
    zero_point,
)
from fuse_dialect.interpreters.values import layout_of
from fuse_dialect.loops.special_functions import erf, of_reals, truncated_quotient


def _of(function: Callable[..., Array]) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        return (function(*map(_computed, operands)),)

    return meaning


def _computed(array: Array) -> Array:
    """Narrow floats as f32, which are rounded once behind the op."""
    if array.dtype.kind in "iub" or array.dtype.itemsize >= 4:
        return array
    return array.astype(np.int8) if is_integer(array) else array.astype(np.float32)


def _of_reals(function: np.ufunc) -> Meaning:
    return _of(partial(of_reals, function))


def _sigmoid(x: Array) -> Array:
    return of_reals(np.reciprocal, np.asarray(1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _unsigned(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array


def _logical_right_shift(x: Array, by: Array) -> Array:
    return np.right_shift(_unsigned(x), _unsigned(by))


def _arithmetic_right_shift(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Shifts right; with `round` the last bit that goes is added."""
    value, by = operands
    result = np.right_shift(value, by)
    if is_set(op, "round"):
        last = np.where(by > 0, np.right_shift(value, np.maximum(by, 1) - 1) & 1, 0)
        result = result + last
    return (result,)


def _clamp(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    given = operands[0]
    kind = "int" if is_integer(given) else "fp"
    low, high = (
        number_of(op, f"{end}_val" if attribute_of(op, f"{end}_val") is not None else f"{end}_{kind}")
        for end in ("min", "max")
    )
    if low is None or high is None:
        raise ValueError("expects numbers in 'min_val' and 'max_val'")
    x = _computed(given)
    if keyword(op, "nan_mode") == "IGNORE":
        return (np.fmin(np.fmax(x, low), high),)
    return (np.minimum(np.maximum(x, low), high),)


def _extreme(function: np.ufunc, ignoring: np.ufunc) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        chosen = ignoring if keyword(op, "nan_mode") == "IGNORE" else function
        return (chosen(*map(_computed, operands)),)

    return meaning


def _multiply(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The product; of i32 shifted right by `shift`, rounded half up."""
    lhs, rhs = operands[:2]
    if not is_integer(lhs):
        return (_computed(lhs) * _computed(rhs),)
    shift = int(zero_point(op, operands, 2, "shift"))
    product = lhs.astype(np.int64) * rhs.astype(np.int64)
    if shift > 0:
        product = (product + (1 << (shift - 1))) >> shift
    return (product,)


def _negate(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The difference of zero points and the operand, cut to the range of its type."""
    given = operands[0]
    if not is_integer(given):
        return (-given,)
    own = int(zero_point(op, operands, 1, "input1_zp"))
    result = int(zero_point(op, operands, 2, "output_zp"))
    total = result - (given.astype(np.int64) - own)
    return (clipped(total, given.dtype),)


def _power(x: Array, y: Array) -> Array:
    return np.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)


def _select(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (np.where(*operands),)


def _identity(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return operands


def _cast(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Floats become integers by rounding to the nearest, even ones for halves, in the range of the type."""
    given = operands[0]
    layout = layout_of(op.results[0].type)
    if layout is None:
        raise ValueError("expects a tensor")
    dtype = layout[1]
    if is_integer(given):
        wide = given.astype(np.int64) if given.dtype.itemsize == 1 else given
        return (wide != 0 if dtype == np.bool_ else narrowed(wide, dtype),)
    wide = _computed(given)
    if dtype == np.bool_:
        return (wide != 0,)
    if dtype.kind not in "iu" and dtype.name != "int4":
        return (wide,)
    return (_as_integers(np.rint(wide), dtype),)


def _as_integers(whole: Array, dtype: "np.dtype[np.generic]") -> Array:
    low, high = integer_range(dtype)
    exact = np.where(np.isnan(whole), 0, whole).astype(np.float64)
    inside = np.clip(exact, low, np.nextafter(float(high), 0) if high > 2**53 else high)
    return np.where(exact >= high, high, inside.astype(np.int64)).astype(dtype)


ROWS: Rows = {
    "abs": _of(np.abs),
    "add": _of(np.add),
    "arithmetic_right_shift": _arithmetic_right_shift,
    "bitwise_and": _of(np.bitwise_and),
    "bitwise_not": _of(np.invert),
    "bitwise_or": _of(np.bitwise_or),
    "bitwise_xor": _of(np.bitwise_xor),
    "cast": _cast,
    "ceil": _of(np.ceil),
    "clamp": _clamp,
    "clz": _of(leading_zeros),
    "cos": _of_reals(np.cos),
    "equal": _of(np.equal),
    "erf": _of(erf),
    "exp": _of_reals(np.exp),
    "floor": _of(np.floor),
    "greater": _of(np.greater),
    "greater_equal": _of(np.greater_equal),
    "identity": _identity,
    "intdiv": _of(truncated_quotient),
    "log": _of_reals(np.log),
    "logical_and": _of(np.logical_and),
    "logical_left_shift": _of(np.left_shift),
    "logical_not": _of(np.logical_not),
    "logical_or": _of(np.logical_or),
    "logical_right_shift": _of(_logical_right_shift),
    "logical_xor": _of(np.logical_xor),
    "maximum": _extreme(np.maximum, np.fmax),
    "minimum": _extreme(np.minimum, np.fmin),
    "mul": _multiply,
    "negate": _negate,
    "pow": _of(_power),
    "reciprocal": _of(np.reciprocal),
    "rsqrt": _of(_reciprocal_root),
    "select": _select,
    "sigmoid": _of(_sigmoid),
    "sin": _of_reals(np.sin),
    "sub": _of(np.subtract),
    "tanh": _of_reals(np.tanh),
}
"""Meanings by the op's name without its dialect."""
