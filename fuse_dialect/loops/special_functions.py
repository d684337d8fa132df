"""Mathematical functions that NumPy lacks, defines otherwise than the dialect, or computes as the processor has it."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""A NumPy array of any element type."""

_NEAR = 0.46875
"""Below this magnitude Cody approximates erf itself, above it erfc."""
_NEAR_NUMERATOR = (
    1.85777706184603153e-1,
    3.16112374387056560e00,
    1.13864154151050156e02,
    3.77485237685302021e02,
    3.20937758913846947e03,
)
_NEAR_DENOMINATOR = (
    1.0,
    2.36012909523441209e01,
    2.44024637934444173e02,
    1.28261652607737228e03,
    2.84423683343917062e03,
)
_MIDDLE_NUMERATOR = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e00,
    6.61191906371416295e01,
    2.98635138197400131e02,
    8.81952221241769090e02,
    1.71204761263407058e03,
    2.05107837782607147e03,
    1.23033935479799725e03,
)
_MIDDLE_DENOMINATOR = (
    1.0,
    1.57449261107098347e01,
    1.17693950891312499e02,
    5.37181101862009858e02,
    1.62138957456669019e03,
    3.29079923573345963e03,
    4.36261909014324716e03,
    3.43936767414372164e03,
    1.23033935480374942e03,
)


def widened(x: Array) -> Array:
    """`x` in the type in which sums of its elements are formed: f32 for f16 and bf16, else its own."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return x.astype(np.float32)
    return x


def of_reals(function: np.ufunc, x: Array) -> Array:
    """A function of NumPy, of f32 rounded once from its value in f64.

    NumPy's own forms for f32 are off by up to 4 units, and by other amounts on other processors; those for f64 are
    those of the C library or within 4 units of f64, of which f32 sees nothing.
    """
    return np.asarray(function(x.astype(np.float64)).astype(x.dtype) if x.dtype == np.float32 else function(x))


def erf(x: Array) -> Array:
    """The error function of real numbers, within 1e-15 of the exact value; NumPy has none.

    Source: W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969) 631-637,
        https://doi.org/10.1090/S0025-5718-1969-0247736-4.
    """
    magnitude = np.abs(x.astype(np.float64))
    square = np.minimum(magnitude, _NEAR) ** 2
    near = magnitude * np.polyval(_NEAR_NUMERATOR, square) / np.polyval(_NEAR_DENOMINATOR, square)
    middle = np.minimum(magnitude, 6.0)  # erf(6) is 1 in double precision
    erfc = np.exp(-(middle**2)) * np.polyval(_MIDDLE_NUMERATOR, middle) / np.polyval(_MIDDLE_DENOMINATOR, middle)
    result = np.where(magnitude <= _NEAR, near, 1.0 - erfc)
    return np.asarray(np.copysign(result, x)).astype(x.dtype)


def maximum(x: Array, y: Array) -> Array:
    """The greater number; nan when one is nan, and 0 is greater than -0.

    Source: maximum of IEEE 754-2019, `arith.maximumf`, StableHLO; of which zero `numpy.maximum` gives, NumPy
        says nothing.
    """
    greater = np.maximum(x, y)
    return greater if greater.dtype.kind in "biu" else _with_zero(greater, x, y, np.signbit(x) & np.signbit(y))


def minimum(x: Array, y: Array) -> Array:
    """The smaller number; nan when one is nan, and -0 is smaller than 0: see `maximum`."""
    smaller = np.minimum(x, y)
    return smaller if smaller.dtype.kind in "biu" else _with_zero(smaller, x, y, np.signbit(x) | np.signbit(y))


def _with_zero(extreme: Array, x: Array, y: Array, is_negative: Array) -> Array:
    """The extreme, with the sign that is asked for where both numbers are 0."""
    both = (x == 0) & (y == 0)
    if not both.any():
        return extreme
    zero = np.where(is_negative, -0.0, 0.0).astype(extreme.dtype)
    return np.asarray(np.where(both, zero, extreme))


def sign(x: Array) -> Array:
    """-1 or 1 by the sign of a number; zeros and nan stay as they are.

    Source: StableHLO `sign`; `numpy.sign` and ONNX make 0 of -0.
    """
    return np.asarray(np.where(x == 0, x, np.sign(x)))


def power(base: Array, exponent: Array) -> Array:
    """`base` to the power of `exponent`, floats of one type, as `pow` of C; f32 is rounded once from f64.

    `numpy.power` takes shortcuts that mean something else at -0 and -inf where all exponents are one number.
    """
    shape = np.broadcast_shapes(base.shape, exponent.shape)
    count = int(np.prod(shape, dtype=np.int64))
    wide = np.dtype(np.float64) if base.dtype == np.float32 else base.dtype
    bases = np.append(np.broadcast_to(base, shape).reshape(-1), [1, 1]).astype(wide, copy=False)
    exponents = np.append(np.broadcast_to(exponent, shape).reshape(-1), [3, 4]).astype(wide, copy=False)
    return np.power(bases, exponents)[:count].reshape(shape).astype(base.dtype, copy=False)


def truncated_quotient(lhs: Array, rhs: Array) -> Array:
    """`lhs / rhs` of integers, truncated toward zero; 0 where `rhs` is 0.

    Source: division in C, ONNX and `arith.divsi`; NumPy's integer division rounds toward minus infinity.
    """
    quotient = np.floor_divide(lhs, rhs)
    is_below = (quotient * rhs != lhs) & ((lhs < 0) != (rhs < 0)) & (rhs != 0)
    return np.asarray(quotient + is_below.astype(quotient.dtype))


def integer_power(base: Array, exponent: Array) -> Array:
    """`base` to the power of `exponent`, which wraps around; a negative power truncates toward zero.

    Source: `math.ipowi`; NumPy refuses negative powers of integers, and makes one type of two.
    """
    result = np.ones(np.broadcast_shapes(base.shape, exponent.shape), base.dtype)
    square, left = base, exponent.astype(np.uint64)
    left = np.where(exponent < 0, np.uint64(0), left)
    while left.any():
        result = np.where(left & np.uint64(1), result * square, result)
        square, left = square * square, left >> np.uint64(1)
    odd = (exponent & 1).astype(bool)
    negative = np.where((base < 0) & odd, -1, 1).astype(np.int8)
    inverse = np.where((base == 1) | ((base < 0) & (base == np.array(-1).astype(base.dtype))), negative, 0)
    return np.asarray(np.where(exponent < 0, inverse.astype(base.dtype), result))


def as_integers(x: Array, dtype: "np.dtype[np.generic]") -> Array:
    """Floats as integers of a type: truncated toward zero, the nearest number of the type if out of range, 0 for nan.

    Source: `llvm.fptosi.sat`; XLA. In C and NumPy it is undefined.
    """
    if dtype.kind not in "iu":  # those of 2 and 4 bits, of which NumPy knows no limits
        bits, is_signed = int(dtype.name[-1]), not dtype.name.startswith("u")
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        return np.clip(as_integers(x, np.dtype(np.int64)), low, high).astype(dtype)
    limits = np.iinfo(dtype.name)
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    # The number after the greatest is a power of two, and exact where the greatest may not be.
    is_above = wide >= 2.0 ** (limits.bits - (limits.min < 0))
    is_below = wide <= float(limits.min)
    inside = np.where(is_above | is_below | np.isnan(wide), 0, wide).astype(dtype)
    return np.where(is_above, limits.max, np.where(is_below, limits.min, inside)).astype(dtype, copy=False)
