"""Meanings of `arith` and `math`, on numbers and on tensors.

1. What most functions mean says `loops.meanings`, which also the kernels of this package are compared with.
2. Integers of 2 and 4 bits are computed in 8 and cut, i1 as 0 and -1; floats of 8 bits and fewer in f32, and rounded.
3. Unsigned functions of an index read its 64 bits as unsigned.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.scalars import predicate_of
from fuse_dialect.interpreters.constants import evaluate_attribute
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, attribute_of
from fuse_dialect.interpreters.values import value_dtype
from fuse_dialect.loops.meanings import FUNCTIONS, evaluate_function
from fuse_dialect.loops.special_functions import of_reals

_NARROW_BITS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}


def scalar_function(op: Operation, operands: Sequence[Array]) -> Array:
    """The values of the one result of an op, element by element; operands broadcast.

    Raises:
        KeyError: The op has no meaning.
    """
    type = op.results[0].type
    dtype = value_dtype(getattr(type, "element_type", type))
    name = op.name
    if name in ("arith.select", "arith.bitcast", "arith.extui", "arith.uitofp"):
        wide = (
            [_unsigned_bits(operand) for operand in operands] if name in ("arith.extui", "arith.uitofp") else operands
        )
        return evaluate_function(name, wide, dtype)
    wide = [_computed(operand) for operand in operands]
    own = np.dtype(np.int8) if dtype == np.bool_ or dtype.name in _NARROW_BITS else dtype
    if name in _MORE:
        result = np.asarray(_MORE[name](*wide))
    elif name in ("arith.cmpi", "arith.cmpf"):
        predicate = predicate_of(op)
        unsigned = name == "arith.cmpi" and str(predicate).startswith("u")
        given = [_unsigned_bits(operand) for operand in operands] if unsigned else wide
        return evaluate_function(name, given, dtype, predicate)
    else:
        given = [_unsigned_bits(operand) for operand in operands] if name in _UNSIGNED else wide
        result = evaluate_function(name, given, own if _is_integer(dtype) else dtype)
    return narrowed(result, dtype)


def _is_integer(dtype: "np.dtype[np.generic]") -> bool:
    return dtype.kind in "iub" or dtype.name in _NARROW_BITS


_UNSIGNED = frozenset({"arith.divui", "arith.remui", "arith.maxui", "arith.minui", "arith.shrui"})


def _computed(array: Array) -> Array:
    """The array in a type that NumPy computes with: condition 2."""
    if array.dtype == np.bool_:
        return -array.astype(np.int8)
    if array.dtype.name in _NARROW_BITS:
        return array.astype(np.int8)
    if array.dtype.name.startswith("float") and array.dtype.itemsize == 1:
        return array.astype(np.float32)
    return array


def _unsigned_bits(array: Array) -> Array:
    """The array's integers, read as unsigned."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    if array.dtype.name in _NARROW_BITS:
        return (array.astype(np.int8) & ((1 << _NARROW_BITS[array.dtype.name]) - 1)).view(np.uint8)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array


def narrowed(array: Array, dtype: "np.dtype[np.generic]") -> Array:
    """The array in a type: integers keep their low bits, also where these are fewer than a byte."""
    if dtype == np.bool_ and array.dtype.kind in "iu":
        return (array & 1).astype(np.bool_)
    bits = _NARROW_BITS.get(dtype.name)
    if bits is not None and array.dtype.kind in "iub":
        low = array.astype(np.int64) & ((1 << bits) - 1)
        sign = 0 if dtype.name.startswith("u") else 1 << (bits - 1)
        return ((low ^ sign) - sign).astype(dtype)
    return array.astype(dtype, copy=False)


def _unsigned(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "i" else array


def _ceil_quotient(lhs: Array, rhs: Array) -> Array:
    # Not the negative of a floor: the least integer has no negative.
    return np.floor_divide(lhs, rhs) + (np.remainder(lhs, rhs) != 0).astype(lhs.dtype)


def _unsigned_ceil_quotient(lhs: Array, rhs: Array) -> Array:
    lhs, rhs = _unsigned(lhs), _unsigned(rhs)
    return np.floor_divide(lhs, rhs) + (np.fmod(lhs, rhs) != 0)


def _round_away(x: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


def _bits(array: Array) -> Array:
    """The bits of each integer, the lowest first, along a new last axis."""
    places = np.arange(8 * array.dtype.itemsize, dtype=_unsigned(array).dtype)
    return np.asarray((_unsigned(array)[..., None] >> places) & 1 == 1)


def leading_zeros(array: Array) -> Array:
    """How many high bits of each integer are 0."""
    bits = _bits(array)[..., ::-1]
    return np.where(np.any(bits, -1), np.argmax(bits, -1), np.int64(bits.shape[-1]))


def _trailing_zeros(array: Array) -> Array:
    bits = _bits(array)
    return np.where(np.any(bits, -1), np.argmax(bits, -1), np.int64(bits.shape[-1]))


def _count_of_ones(array: Array) -> Array:
    return _bits(array).sum(-1)


def _angle(y: Array, x: Array) -> Array:
    return np.arctan2(y.astype(np.float64), x.astype(np.float64))


def _erfc(x: Array) -> Array:
    return np.vectorize(math.erfc, otypes=[np.float64])(x.astype(np.float64))


def _is_normal(x: Array) -> Array:
    tiny = {2: 2.0**-14, 4: 2.0**-126, 8: 2.0**-1022}[x.dtype.itemsize]
    return np.isfinite(x) & (np.abs(x) >= (2.0**-126 if x.dtype.name == "bfloat16" else tiny))


def _clamped(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


def _integer_power_of_float(base: Array, exponent: Array) -> Array:
    return np.power(base.astype(np.float64), exponent)


_MORE: Mapping[str, Callable[..., Array]] = {
    "arith.ceildivsi": _ceil_quotient,
    "arith.ceildivui": _unsigned_ceil_quotient,
    "arith.index_cast": np.positive,
    "arith.index_castui": _unsigned,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.scaling_extf": np.multiply,
    "arith.scaling_truncf": np.divide,
    "math.atan2": _angle,
    "math.cbrt": partial(of_reals, np.cbrt),
    "math.clampf": _clamped,
    "math.ctlz": leading_zeros,
    "math.ctpop": _count_of_ones,
    "math.cttz": _trailing_zeros,
    "math.erfc": _erfc,
    "math.fpowi": _integer_power_of_float,
    "math.isfinite": np.isfinite,
    "math.isinf": np.isinf,
    "math.isnan": np.isnan,
    "math.isnormal": _is_normal,
    "math.log10": partial(of_reals, np.log10),
    "math.round": _round_away,
}
"""Functions that no kernel of this package has."""


def _meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (scalar_function(op, operands),)


def _constant(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (evaluate_attribute(op, attribute_of(op, "value")),)


def _wide_sum(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`arith.addui_extended`: the sum, and whether it overflowed."""
    total = operands[0] + operands[1]
    return total, _unsigned(total) < _unsigned(operands[0])


def _wide_product(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`arith.mulsi_extended` and `mului_extended`: the low and the high half of the product."""
    lhs, rhs = operands if op.name == "arith.mulsi_extended" else map(_unsigned, operands)
    bits = 8 * lhs.dtype.itemsize
    product = lhs.astype(object) * rhs.astype(object)
    mask = (1 << bits) - 1
    halves = (np.asarray(product & mask), np.asarray((product >> bits) & mask))
    return [half.astype(f"u{lhs.dtype.itemsize}").view(f"i{lhs.dtype.itemsize}") for half in halves]


ELEMENTWISE = frozenset({*FUNCTIONS, *_MORE})
"""Names of the ops that `scalar_function` knows."""
MEANINGS: Rows = {
    **dict.fromkeys(sorted(ELEMENTWISE), _meaning),
    "arith.constant": _constant,
    "arith.addui_extended": _wide_sum,
    "arith.mulsi_extended": _wide_product,
    "arith.mului_extended": _wide_product,
}
