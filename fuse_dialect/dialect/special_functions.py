"""Mathematical functions that NumPy lacks, or defines otherwise than the dialect."""

import numpy as np

from fuse_dialect.dialect.op import Array

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


def truncated_quotient(lhs: Array, rhs: Array) -> Array:
    """`lhs / rhs` of integers, truncated toward zero; undefined where `rhs` is 0.

    Source: division in C, ONNX and `arith.divsi`; NumPy's integer division rounds toward minus infinity.
    """
    quotient = np.floor_divide(lhs, rhs)
    is_below = (quotient * rhs != lhs) & ((lhs < 0) != (rhs < 0))
    return np.asarray(quotient + is_below.astype(quotient.dtype))


def integer_power(base: Array, exponent: Array) -> Array:
    """`base` to the power of `exponent`, both of one integer type; a negative power truncates toward zero.

    Source: `math.ipowi`; NumPy refuses negative powers of integers.
    """
    power = np.power(base, np.maximum(exponent, 0))
    odd = (exponent & 1).astype(bool)
    sign = np.where((base < 0) & odd, -1, 1).astype(np.int8)
    inverse = np.where(np.abs(base) == 1, sign, 0).astype(base.dtype)
    return np.asarray(np.where(exponent < 0, inverse, power))
