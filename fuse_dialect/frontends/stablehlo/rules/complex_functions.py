"""Functions of complex numbers, as formulas of their real and imaginary parts, without needless overflow.

Source: W. Kahan, "Branch cuts for complex elementary functions" (1987); `numpy` for what infinities and zeros give.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.frontends.fuse_values import result, scalar
from fuse_dialect.frontends.stablehlo.rules.arithmetic import difference, over, times, total, where
from fuse_dialect.frontends.stablehlo.rules.building import Rule
from fuse_dialect.frontends.stablehlo.rules.complex_inverses import inverse_functions
from fuse_dialect.frontends.stablehlo.rules.complex_orders import COMPLEX_ORDERS
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import (
    PAIRS,
    Parts,
    pair,
    parts,
    product,
)
from fuse_dialect.frontends.stablehlo.rules.special_functions import (
    atan2,
    exponential_minus_one,
    is_negative,
    log_plus_one,
)


def _of(function: Callable[..., Parts]) -> Rule:
    return lambda op: [pair(*function(*map(parts, op.operands)))]


def _is(x: SSAValue, number: float) -> SSAValue:
    return result(c.EqualOp(x, scalar(x, number)))


def _minus(x: SSAValue) -> SSAValue:
    return result(e.NegativeOp(x))


def magnitude(z: Parts) -> SSAValue:
    """The absolute value: no square overflows, and zeros and infinities stay what they are."""
    x, y = (result(e.AbsOp(part)) for part in z)
    most, least = result(b.MaximumOp(x, y)), result(b.MinimumOp(x, y))
    ratio = over(least, most)
    size = times(most, result(e.SqrtOp(total(times(ratio, ratio), scalar(most, 1)))))
    is_plain = result(c.LogicalOrOp(_is(most, 0), _is(most, math.inf)))
    either = result(b.MaximumOp(where(_is(x, math.inf), x, most), where(_is(y, math.inf), y, most)))
    return where(is_plain, either, size)


def _abs(op: Operation) -> Sequence[SSAValue]:
    return [magnitude(parts(op.operands[0]))]


def _divide(x: Parts, y: Parts) -> Parts:
    """Quotients, by the ratio of the smaller part of the divisor to the larger one.

    Source: R. L. Smith, "Algorithm 116: Complex division" (1962).
    """
    is_real = result(c.GreaterEqualOp(result(e.AbsOp(y[0])), result(e.AbsOp(y[1]))))
    large, small = where(is_real, *y), where(is_real, y[1], y[0])
    ratio = over(small, large)
    ratio = where(_is(large, 0), scalar(large, 0), ratio)  # of 0 and 0: the parts are divided by 0 below
    divisor = total(large, times(small, ratio))
    first, second = where(is_real, *x), where(is_real, x[1], x[0])
    real = over(total(first, times(second, ratio)), divisor)
    imaginary = over(difference(second, times(first, ratio)), divisor)
    return real, where(is_real, imaginary, _minus(imaginary))


def _exponential(z: Parts) -> Parts:
    size = result(e.ExpOp(z[0]))
    sine = times(size, result(t.SinOp(z[1])))
    return times(size, result(t.CosOp(z[1]))), where(_is(z[1], 0), z[1], sine)


def _exponential_minus_one(z: Parts) -> Parts:
    """`expm1(x) cos(y) - 2 sin(y / 2) ** 2`, in which nothing cancels near 0."""
    half = result(t.SinOp(times(z[1], scalar(z[1], 0.5))))
    real = times(exponential_minus_one(z[0]), result(t.CosOp(z[1])))
    return difference(real, times(scalar(half, 2), times(half, half))), _exponential(z)[1]


def _logarithm(z: Parts) -> Parts:
    """The logarithm of the size, which may be greater than any number, and the angle."""
    x, y = (result(e.AbsOp(part)) for part in z)
    most, size = result(b.MaximumOp(x, y)), magnitude(z)
    ratio = over(result(b.MinimumOp(x, y)), most)
    apart = total(result(e.LogOp(most)), times(log_plus_one(times(ratio, ratio)), scalar(most, 0.5)))
    overflows = result(c.LogicalAndOp(_is(size, math.inf), result(c.LessOp(most, scalar(most, math.inf)))))
    return where(overflows, apart, result(e.LogOp(size))), atan2(z[1], z[0])


def _logarithm_of_one_plus(z: Parts) -> Parts:
    """Near 0 `log1p(2 x + x * x + y * y) / 2`, as `1 + x` would lose what `x` has."""
    x, y = z
    one = total(x, scalar(x, 1))
    square = total(times(x, total(x, scalar(x, 2))), times(y, y))
    near = times(log_plus_one(square), scalar(x, 0.5))
    far, angle = _logarithm((one, y))
    size = result(b.MaximumOp(result(e.AbsOp(x)), result(e.AbsOp(y))))
    return where(result(c.LessOp(size, scalar(x, 0.5))), near, far), angle


def _square_root(z: Parts) -> Parts:
    """The root with a real part that is not negative, as XLA has it: a negative zero is none."""
    return _root(z, result(c.LessOp(z[1], scalar(z[1], 0))))


def _signed_root(z: Parts) -> Parts:
    """The same where the imaginary part has the sign of that of the square, also of a zero."""
    return _root(z, is_negative(z[1]))


def _root(z: Parts, is_below: SSAValue) -> Parts:
    """One part of a sum without cancellation, the other by it."""
    x, y = z
    size = times(total(magnitude(z), result(e.AbsOp(x))), scalar(x, 0.5))
    root = result(e.SqrtOp(size))
    other = over(times(result(e.AbsOp(y)), scalar(y, 0.5)), root)
    other = where(_is(root, 0), scalar(root, 0), other)
    is_right = result(c.GreaterEqualOp(x, scalar(x, 0)))
    upper = where(is_right, other, root)
    imaginary = where(is_below, _minus(upper), upper)
    return where(is_right, root, other), imaginary


def _reciprocal_root(z: Parts) -> Parts:
    one = scalar(z[0], 1)
    return _divide((one, scalar(z[0], 0)), _square_root(z))


def _power(z: Parts, exponent: Parts) -> Parts:
    """`exp(w log z)`; 1 for an exponent of 0, and 0 for a base of 0."""
    value = _exponential(product(exponent, _logarithm(z)))
    is_zero = result(c.LogicalAndOp(_is(z[0], 0), _is(z[1], 0)))
    is_one = result(c.LogicalAndOp(_is(exponent[0], 0), _is(exponent[1], 0)))
    real, imaginary = (where(is_zero, scalar(part, 0), part) for part in value)
    return where(is_one, scalar(real, 1), real), where(is_one, scalar(real, 0), imaginary)


def _sign(z: Parts) -> Parts:
    """The number of size 1 in the same direction; 0 for 0."""
    size = magnitude(z)
    divisor = where(_is(size, 0), scalar(size, 1), size)
    return over(z[0], divisor), over(z[1], divisor)


def _sine(z: Parts) -> Parts:
    """`sin(x) cosh(y) + i cos(x) sinh(y)`."""
    x, y = z
    real = times(result(t.SinOp(x)), result(t.CoshOp(y)))
    return real, times(result(t.CosOp(x)), result(t.SinhOp(y)))


def _cosine(z: Parts) -> Parts:
    """`cos(x) cosh(y) - i sin(x) sinh(y)`."""
    x, y = z
    real = times(result(t.CosOp(x)), result(t.CoshOp(y)))
    return real, _minus(times(result(t.SinOp(x)), result(t.SinhOp(y))))


def _hyperbolic_sine(z: Parts) -> Parts:
    x, y = z
    return times(result(t.SinhOp(x)), result(t.CosOp(y))), times(result(t.CoshOp(x)), result(t.SinOp(y)))


def _hyperbolic_cosine(z: Parts) -> Parts:
    x, y = z
    return times(result(t.CoshOp(x)), result(t.CosOp(y))), times(result(t.SinhOp(x)), result(t.SinOp(y)))


def _hyperbolic_tangent(z: Parts) -> Parts:
    """`(h (1 + t t) + i t (1 - h h)) / (1 + h h t t)` with `h = tanh(x)`, `t = tan(y)`; `1 - h h` by `cosh(x)`."""
    x, y = z
    h, tangent, one = result(t.TanhOp(x)), result(t.TanOp(y)), scalar(x, 1)
    square, wide = times(tangent, tangent), result(t.CoshOp(x))
    divisor = total(one, times(times(h, h), square))
    real = over(times(h, total(one, square)), divisor)
    return real, over(over(tangent, times(wide, wide)), divisor)


def _tangent(z: Parts) -> Parts:
    """`-i tanh(i z)`."""
    real, imaginary = _hyperbolic_tangent((_minus(z[1]), z[0]))
    return imaginary, _minus(real)


def _logistic(z: Parts) -> Parts:
    one = scalar(z[0], 1)
    real, imaginary = _exponential((_minus(z[0]), _minus(z[1])))
    return _divide((one, scalar(one, 0)), (total(real, one), imaginary))


def _square(z: Parts) -> Parts:
    return product(z, z)


FUNCTIONS: Mapping[str, Callable[..., Parts]] = {
    "stablehlo.cosine": _cosine,
    "stablehlo.divide": _divide,
    "stablehlo.exponential": _exponential,
    "stablehlo.exponential_minus_one": _exponential_minus_one,
    "stablehlo.log": _logarithm,
    "stablehlo.log_plus_one": _logarithm_of_one_plus,
    "stablehlo.logistic": _logistic,
    "stablehlo.power": _power,
    "stablehlo.rsqrt": _reciprocal_root,
    "stablehlo.sign": _sign,
    "stablehlo.sine": _sine,
    "stablehlo.sqrt": _square_root,
    "stablehlo.tan": _tangent,
    "stablehlo.tanh": _hyperbolic_tangent,
    "chlo.cosh": _hyperbolic_cosine,
    "chlo.sinh": _hyperbolic_sine,
    "chlo.square": _square,
    "chlo.tan": _tangent,
    **inverse_functions(_signed_root),
}
"""Functions of complex numbers, by the name of the op: parts in, parts out."""

COMPLEX: Mapping[str, Rule] = {
    **PAIRS,
    **COMPLEX_ORDERS,
    "stablehlo.abs": _abs,
    **{name: _of(function) for name, function in FUNCTIONS.items()},
}
"""Rules of ops on complex numbers, by the name of the op."""
