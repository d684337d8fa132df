"""Inverse trigonometric and hyperbolic functions of complex numbers, from the roots of `1 - z` and `1 + z`.

Source: W. Kahan, "Branch cuts for complex elementary functions" (1987): `CASIN`, `CACOS`, `CACOSH`, `CATANH`.
"""

from collections.abc import Callable, Mapping

from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.frontends.fuse_values import result, scalar
from fuse_dialect.frontends.stablehlo.rules.arithmetic import difference, over, times, total, where
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import Parts
from fuse_dialect.frontends.stablehlo.rules.special_functions import atan2, is_negative, log_plus_one


def inverse_functions(square_root: Callable[[Parts], Parts]) -> Mapping[str, Callable[[Parts], Parts]]:
    """The functions by the name of the op.

    Args:
        square_root: The root whose real part is not negative, and whose imaginary part has the sign of that of its
            square, also where that is a zero.
    """

    def roots(z: Parts) -> tuple[Parts, Parts]:
        """The roots of `1 - z` and `1 + z`."""
        one = scalar(z[0], 1)
        below = difference(one, z[0]), result(e.NegativeOp(z[1]))
        return square_root(below), square_root((total(one, z[0]), z[1]))

    def arcsine(z: Parts) -> Parts:
        z = _from_above(z)
        below, above = roots(z)
        real = atan2(z[0], difference(times(below[0], above[0]), times(below[1], above[1])))
        return real, _arsinh(difference(times(below[0], above[1]), times(below[1], above[0])))

    def arccosine(z: Parts) -> Parts:
        below, above = roots(_from_above(z))
        half = atan2(below[0], above[0])
        return total(half, half), _arsinh(difference(times(above[0], below[1]), times(above[1], below[0])))

    def arcosh(z: Parts) -> Parts:
        z, one = _from_above(z), scalar(z[0], 1)
        below, above = square_root((difference(z[0], one), z[1])), square_root((total(z[0], one), z[1]))
        half = atan2(below[1], above[0])
        return _arsinh(total(times(below[0], above[0]), times(below[1], above[1]))), total(half, half)

    return {
        "chlo.acos": arccosine,
        "chlo.acosh": arcosh,
        "chlo.asin": arcsine,
        "chlo.asinh": _turned(arcsine),
        "chlo.atan": _turned(_artanh),
        "chlo.atanh": _artanh,
    }


def _from_above(z: Parts) -> Parts:
    """A number without a negative zero as imaginary part: XLA knows one side of a cut alone, which is above."""
    zero = scalar(z[1], 0)
    return z[0], where(result(c.EqualOp(z[1], zero)), zero, z[1])


def _arsinh(x: SSAValue) -> SSAValue:
    return result(t.AsinhOp(x))


def _artanh(z: Parts) -> Parts:
    """`log1p(4 x / ((1 - x) ** 2 + y ** 2)) / 4` for x from 0, with the sign of x else, and half of an angle."""
    x, y = z
    one, size = scalar(x, 1), result(e.AbsOp(x))
    near, square = difference(one, size), times(y, y)
    real = log_plus_one(over(times(scalar(x, 4), size), total(times(near, near), square)))
    real = times(real, scalar(x, 0.25))
    angle = atan2(total(y, y), difference(times(near, total(one, size)), square))
    return where(is_negative(x), result(e.NegativeOp(real)), real), times(angle, scalar(x, 0.5))


def _turned(function: Callable[[Parts], Parts]) -> Callable[[Parts], Parts]:
    """`-i f(i z)`."""

    def turned(z: Parts) -> Parts:
        real, imaginary = function((result(e.NegativeOp(z[1])), z[0]))
        return imaginary, result(e.NegativeOp(real))

    return turned
