"""What scalar functions mean, by NumPy, on arrays of operands.

1. Integers are signless: arrays hold them as signed, and the functions that read them as unsigned say so.
2. f16 and bf16 are computed in f32 and rounded after every function, as hardware does.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from fuse_dialect.loops.functions import Parameter
from fuse_dialect.loops.special_functions import (
    Array,
    as_integers,
    erf,
    integer_power,
    maximum,
    minimum,
    of_reals,
    power,
    truncated_quotient,
    widened,
)

Function: TypeAlias = Callable[..., Array]
"""Arrays of operands to the array of results; casting to the result's element type comes after."""


def _unsigned(array: Array) -> Array:
    """Signless integers, read as unsigned."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array


def _signed(array: Array) -> Array:
    """Signless integers, read as signed: a true i1 is -1."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def _on_unsigned(function: Function) -> Function:
    """The function on operands that are read as unsigned."""
    return lambda *operands: function(*(_unsigned(operand) for operand in operands))


def _on_floats(function: Function) -> Function:
    """The function on operands that hold f32 instead of f16 and bf16."""
    return lambda *operands: function(*(widened(operand) for operand in operands))


def _fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    """`x * y + z`, rounded once when `z` all but cancels the product, and within one unit otherwise.

    Source: T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971).
    """
    if x.dtype == np.float32:
        return x.astype(np.float64) * y + z  # the product of two f32 is exact in f64
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return (product + z) + np.where(np.isfinite(error), error, 0)


def _halves(x: Array) -> tuple[Array, Array]:
    """Two f64 of 26 bits each, whose sum is `x`."""
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _never(x: Array, y: Array) -> Array:
    return np.zeros(np.broadcast_shapes(x.shape, y.shape), np.bool_)


def _is_unordered(x: Array, y: Array) -> Array:
    return np.isnan(x) | np.isnan(y)


def _differ_ordered(x: Array, y: Array) -> Array:
    return (x < y) | (x > y)


def _not(predicate: Function) -> Function:
    return lambda *operands: np.logical_not(predicate(*operands))


_FLOAT_FUNCTIONS: dict[str, Function] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.negf": np.negative,
    "arith.remf": np.fmod,
    "arith.maximumf": maximum,
    "arith.minimumf": minimum,
    "arith.extf": np.positive,
    "arith.truncf": np.positive,
    "math.absf": np.abs,
    "math.acos": partial(of_reals, np.arccos),
    "math.acosh": partial(of_reals, np.arccosh),
    "math.asin": partial(of_reals, np.arcsin),
    "math.asinh": partial(of_reals, np.arcsinh),
    "math.atan": partial(of_reals, np.arctan),
    "math.atanh": partial(of_reals, np.arctanh),
    "math.ceil": np.ceil,
    "math.copysign": np.copysign,
    "math.cos": partial(of_reals, np.cos),
    "math.cosh": partial(of_reals, np.cosh),
    "math.erf": erf,
    "math.exp2": partial(of_reals, np.exp2),
    "math.expm1": partial(of_reals, np.expm1),
    "math.exp": partial(of_reals, np.exp),
    "math.floor": np.floor,
    "math.fma": _fused_multiply_add,
    "math.log1p": partial(of_reals, np.log1p),
    "math.log2": partial(of_reals, np.log2),
    "math.log": partial(of_reals, np.log),
    "math.powf": power,
    "math.roundeven": np.rint,
    "math.rsqrt": _reciprocal_root,
    "math.sin": partial(of_reals, np.sin),
    "math.sinh": partial(of_reals, np.sinh),
    "math.sqrt": np.sqrt,
    "math.tan": partial(of_reals, np.tan),
    "math.tanh": partial(of_reals, np.tanh),
    "math.trunc": np.trunc,
}

_INTEGER_FUNCTIONS: dict[str, Function] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": truncated_quotient,
    "arith.divui": _on_unsigned(np.floor_divide),
    "arith.floordivsi": np.floor_divide,
    "arith.remsi": np.fmod,
    "arith.remui": _on_unsigned(np.fmod),
    "arith.maxsi": np.maximum,
    "arith.maxui": _on_unsigned(np.maximum),
    "arith.minsi": np.minimum,
    "arith.minui": _on_unsigned(np.minimum),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": _on_unsigned(np.right_shift),
    "arith.trunci": np.positive,
    "arith.extsi": _signed,
    "arith.extui": _unsigned,
    "arith.sitofp": _signed,
    "arith.uitofp": _unsigned,
    "arith.select": np.where,
    "math.absi": np.abs,
    "math.ipowi": integer_power,
}

_BY_NAME: dict[str, Function] = _INTEGER_FUNCTIONS | {
    name: _on_floats(function) for name, function in _FLOAT_FUNCTIONS.items()
}

_INTEGER_PREDICATE_NAMES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_INTEGER_PREDICATES: tuple[Function, ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    _on_unsigned(np.less),
    _on_unsigned(np.less_equal),
    _on_unsigned(np.greater),
    _on_unsigned(np.greater_equal),
)
"""Meaning of `arith.cmpi` by its predicate."""

_FLOAT_PREDICATE_NAMES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
_FLOAT_PREDICATES: tuple[Function, ...] = (
    _never,
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    _differ_ordered,
    _not(_is_unordered),
    _not(_differ_ordered),
    _not(np.less_equal),
    _not(np.less),
    _not(np.greater_equal),
    _not(np.greater),
    np.not_equal,
    _is_unordered,
    _not(_never),
)
"""Meaning of `arith.cmpf` by its predicate.

A comparison of NumPy is ordered, so an unordered one is the negation of its opposite.
"""


_COMPARISONS: dict[str, dict[str, Function]] = {
    "arith.cmpi": dict(zip(_INTEGER_PREDICATE_NAMES, _INTEGER_PREDICATES, strict=True)),
    "arith.cmpf": {
        predicate: _on_floats(function)
        for predicate, function in zip(_FLOAT_PREDICATE_NAMES, _FLOAT_PREDICATES, strict=True)
    },
}
"""Meaning of the comparisons, by predicate."""

FUNCTIONS = frozenset({*_BY_NAME, *_COMPARISONS, "arith.fptosi", "arith.fptoui", "arith.bitcast"})
"""Every function that has a meaning."""


def evaluate_function(
    name: str, operands: Sequence[Array], dtype: "np.dtype[np.generic]", parameter: Parameter | None = None
) -> Array:
    """The values of a scalar function, rounded to `dtype`.

    Args:
        name: An op of `arith` or `math`.
        operands: Arrays that broadcast; integers are signed, as signless ones are read.
        dtype: Of the result.
        parameter: The predicate of a comparison. A variant of a function is the function itself.

    Raises:
        KeyError: The function has no meaning here.
    """
    if name == "arith.fptosi":
        return as_integers(operands[0], dtype)
    if name == "arith.fptoui":
        return as_integers(operands[0], np.dtype(f"u{dtype.itemsize}")).astype(dtype, copy=False)
    if name == "arith.bitcast":
        return np.ascontiguousarray(operands[0]).reshape(operands[0].shape).view(dtype)
    function = _COMPARISONS[name][str(parameter)] if name in _COMPARISONS else _BY_NAME[name]
    return np.asarray(function(*operands)).astype(dtype, copy=False)
