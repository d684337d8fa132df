"""Special functions that no `fuse` op is, made of those that are; narrow floats are computed in f32, rounded once."""

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, f64
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.frontends.fuse_values import cast_to, result, scalar, tensor
from fuse_dialect.frontends.stablehlo.rules.building import Rule


def of_floats(function: Callable[..., SSAValue]) -> Rule:
    """The rule of a function of floats of one type.

    Its steps are many ops, and each would round to the type: in bf16 nothing is left of a difference or a series. So
    operands of 16 bits go through f32.
    """

    def rule(op: Operation) -> Sequence[SSAValue]:
        own = tensor(op.results[0]).element_type
        if not isinstance(own, BFloat16Type | Float16Type):
            return [function(*op.operands)]
        return [cast_to(function(*(cast_to(each, f32) for each in op.operands)), own)]

    return rule


def log_plus_one(x: SSAValue) -> SSAValue:
    """`log(1 + x)` without loss near 0: the rounding of `1 + x` cancels out.

    Source: W. Kahan, in HP-15C Advanced Functions Handbook (1982), appendix.
    """
    one = scalar(x, 1.0)
    u = result(b.AddOp(x, one))
    log = result(e.LogOp(u))
    corrected = result(b.DivideOp(result(b.MultiplyOp(log, x)), result(b.SubtractOp(u, one))))
    is_plain = result(c.LogicalOrOp(result(c.EqualOp(u, x)), result(e.IsinfOp(u))))
    smooth = result(b.WhereOp(result(c.EqualOp(u, one)), x, corrected))
    return result(b.WhereOp(is_plain, log, smooth))


def exponential_minus_one(x: SSAValue) -> SSAValue:
    """`exp(x) - 1` without loss near 0; see `log_plus_one`."""
    one = scalar(x, 1.0)
    u = result(e.ExpOp(x))
    less = result(b.SubtractOp(u, one))
    corrected = result(b.DivideOp(result(b.MultiplyOp(less, x)), result(e.LogOp(u))))
    small = result(c.LessOp(result(e.AbsOp(x)), scalar(x, 0.5)))
    return result(b.WhereOp(result(c.EqualOp(u, one)), x, result(b.WhereOp(small, corrected, less))))


def _cbrt(x: SSAValue) -> SSAValue:
    size = result(e.AbsOp(x))
    rough = result(b.PowerOp(size, scalar(x, 1 / 3)))
    # A third is no number of the type, which is many units of large ones. One step of Newton's, where there is a root.
    excess = result(b.SubtractOp(rough, result(b.DivideOp(size, result(b.MultiplyOp(rough, rough))))))
    closer = result(b.SubtractOp(rough, result(b.MultiplyOp(excess, scalar(x, 1 / 3)))))
    root = result(b.WhereOp(result(c.EqualOp(excess, excess)), closer, rough))
    signed = result(b.WhereOp(result(c.LessOp(x, scalar(x, 0))), result(e.NegativeOp(root)), root))
    return result(b.WhereOp(result(c.EqualOp(x, scalar(x, 0))), x, signed))  # zeros keep their sign


def atan2(y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of a point: zeros and infinities count with their signs, as IEEE 754 has it."""
    zero, pi = scalar(x, 0), scalar(x, math.pi)
    both_zero = result(c.LogicalAndOp(result(c.EqualOp(x, zero)), result(c.EqualOp(y, zero))))
    both_infinite = result(c.LogicalAndOp(result(e.IsinfOp(x)), result(e.IsinfOp(y))))
    near_y = result(b.WhereOp(both_infinite, result(e.SignOp(y)), y))
    near_x = result(b.WhereOp(both_infinite, result(e.SignOp(x)), x))
    angle = result(t.AtanOp(result(b.DivideOp(near_y, near_x))))
    angle = result(b.WhereOp(both_zero, y, angle))
    half_turn = result(b.WhereOp(is_negative(y), result(e.NegativeOp(pi)), pi))
    return result(b.WhereOp(is_negative(x), result(b.AddOp(angle, half_turn)), angle))


def is_negative(x: SSAValue) -> SSAValue:
    """Whether the sign is set, also that of a zero: its reciprocal is an infinity of the same sign."""
    zero = scalar(x, 0)
    below = result(c.LessOp(x, zero))
    return result(c.LogicalOrOp(below, result(c.LessOp(result(e.ReciprocalOp(x)), zero))))


ERFC_TAIL = (
    2.8047708675257977e-05,
    -0.0001365200505479234,
    -0.0002201147916832763,
    0.0011002720854403644,
    0.0016119022526208298,
    -0.006955012466207144,
    -0.01836592685126287,
    0.04637362702173706,
    0.5187683700929879,
    -0.8040722618854793,
)
ERFC_TAIL_OF_F64 = (
    1.3262956022709584e-10,
    -1.6164756150672942e-09,
    1.1845419845787955e-09,
    1.4100842396935222e-08,
    -2.5042106439123162e-08,
    -5.319592811043855e-08,
    1.9023852902016444e-07,
    5.284280009209815e-08,
    -9.73447374391288e-07,
    6.952407485408886e-07,
    4.010452159380559e-06,
    -6.3976162826328166e-06,
    -1.4771071620333067e-05,
    3.8873713078721625e-05,
    5.453586738431029e-05,
    -0.00021131553535754647,
    -0.0002426619715109038,
    0.0011597609013779726,
    0.001620994931464594,
    -0.0069752546844415305,
    -0.018367473809383757,
    0.04637608495283519,
    0.5187684450161724,
    -0.8040723101069576,
)
ERFC_BEYOND = 30.0
"""Where `erfc` is 0 in f64, too; further out the formula would subtract infinities."""


def erfc(x: SSAValue) -> SSAValue:
    """`1 - erf(x)`, and the tail without that difference, of which few digits would be left.

    From 1/2 on it is `t * exp(p(5 t / 2 - 1) - x * x)` with `t = 2 / (2 + x)`, where `p` interpolates
    `log(erfc(x) / t) + x * x` at the Chebyshev points: 10 terms are enough for f32, 24 for f64. The square is taken
    apart, as a rounding of it would be as many times larger in the result: `h` has few digits, so `h * h` is exact.
    Within 6 units in the last place of f32, and 8 of f64.

    Source: the form is that of W. Fraser and J. F. Hart, "On the computation of rational approximations to continuous
        functions" (1962); coefficients computed with 60 digits.
    """
    half, two = scalar(x, 0.5), scalar(x, 2.0)
    z = result(b.MinimumOp(result(b.MaximumOp(x, half)), scalar(x, ERFC_BEYOND)))
    share = result(b.DivideOp(two, result(b.AddOp(two, z))))
    point = result(b.SubtractOp(result(b.MultiplyOp(share, scalar(x, 2.5))), scalar(x, 1.0)))
    is_wide = tensor(x).element_type == f64
    exponent = _polynomial(point, ERFC_TAIL_OF_F64 if is_wide else ERFC_TAIL)
    steps = result(e.FloorOp(result(b.MultiplyOp(z, scalar(x, 64.0)))))
    h = result(b.MultiplyOp(steps, scalar(x, 1 / 64)))
    rest = result(b.MultiplyOp(result(b.SubtractOp(z, h)), result(b.AddOp(z, h))))
    first = result(e.ExpOp(result(e.NegativeOp(result(b.MultiplyOp(h, h))))))
    second = result(e.ExpOp(result(b.SubtractOp(exponent, rest))))
    tail = result(b.MultiplyOp(result(b.MultiplyOp(share, second)), first))
    near = result(b.SubtractOp(scalar(x, 1.0), result(e.ErfOp(x))))
    return result(b.WhereOp(result(c.LessOp(x, half)), near, tail))


_ERF_INV_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_ERF_INV_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def erf_inv(x: SSAValue) -> SSAValue:
    """The number whose `erf` is `x`, within 8 units in the last place.

    Source: M. Giles, "Approximating the erfinv function" (2010), the single-precision polynomials; for f64 Halley's
        method goes on from there, with `erfc` of the distance, as `1 - |x|` is exact from 1/2 on.
    """
    one = scalar(x, 1.0)
    # log((1 - x) (1 + x)) and not log(1 - x * x): next to 1 the square has too few digits of what is left.
    below = result(b.MultiplyOp(result(b.SubtractOp(one, x)), result(b.AddOp(one, x))))
    w = result(e.NegativeOp(result(e.LogOp(below))))
    central = _polynomial(result(b.SubtractOp(w, scalar(x, 2.5))), _ERF_INV_CENTRAL)
    tail = _polynomial(result(b.SubtractOp(result(e.SqrtOp(w)), scalar(x, 3.0))), _ERF_INV_TAIL)
    value = result(b.MultiplyOp(result(b.WhereOp(result(c.LessOp(w, scalar(x, 5.0))), central, tail)), x))
    if tensor(x).element_type == f64:
        for _ in range(_HALLEY_STEPS):
            value = _nearer_erf_inv(x, value)
    is_end = result(c.EqualOp(result(e.AbsOp(x)), one))
    return result(b.WhereOp(is_end, result(b.MultiplyOp(x, scalar(x, math.inf))), value))


_HALLEY_STEPS = 4
"""Each makes three times as many digits right; the polynomials have 5 to 7."""


def _nearer_erf_inv(x: SSAValue, y: SSAValue) -> SSAValue:
    """One step of Halley's method for `erf(y) - x`, of numbers without sign."""
    size, goal = result(e.AbsOp(y)), result(e.AbsOp(x))
    one = scalar(x, 1.0)
    near = result(b.SubtractOp(result(e.ErfOp(size)), goal))
    far = result(b.SubtractOp(result(b.SubtractOp(one, goal)), erfc(size)))
    off = result(b.WhereOp(result(c.LessOp(goal, scalar(x, 0.5))), near, far))
    slope = result(e.ExpOp(result(e.NegativeOp(result(b.MultiplyOp(size, size))))))
    newton = result(b.DivideOp(result(b.MultiplyOp(off, scalar(x, math.sqrt(math.pi) / 2))), slope))
    halley = result(b.DivideOp(newton, result(b.AddOp(one, result(b.MultiplyOp(size, newton))))))
    return result(b.MultiplyOp(result(b.SubtractOp(size, halley)), result(e.SignOp(x))))


def _polynomial(x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Horner's scheme, the coefficient of the highest power first."""
    value = scalar(x, coefficients[0])
    for each in coefficients[1:]:
        value = result(b.AddOp(result(b.MultiplyOp(value, x)), scalar(x, each)))
    return value


LANCZOS = (
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)


def lgamma(x: SSAValue) -> SSAValue:
    """Logarithm of the absolute gamma function, by reflection for numbers below 1/2.

    Source: C. Lanczos, "A precision approximation of the gamma function" (1964), with g = 7 and 9 terms.
    """
    half, one = scalar(x, 0.5), scalar(x, 1.0)
    is_small = result(c.LessOp(x, half))
    z = result(b.WhereOp(is_small, result(e.NegativeOp(x)), result(b.SubtractOp(x, one))))
    series = scalar(x, 0.99999999999980993227684700473478)
    for index, coefficient in enumerate(LANCZOS, 1):
        term = result(b.DivideOp(scalar(x, coefficient), result(b.AddOp(z, scalar(x, index)))))
        series = result(b.AddOp(series, term))
    t7 = result(b.AddOp(z, scalar(x, 7.5)))
    log_t = result(e.LogOp(t7))
    grown = result(b.SubtractOp(result(b.AddOp(z, half)), result(b.DivideOp(t7, log_t))))
    power = result(b.MultiplyOp(grown, log_t))
    log_root = scalar(x, 0.5 * math.log(2 * math.pi))
    large = result(b.AddOp(result(b.AddOp(power, log_root)), result(e.LogOp(series))))
    size = result(e.AbsOp(x))
    fraction = result(b.SubtractOp(size, result(e.FloorOp(size))))
    near = result(b.MinimumOp(fraction, result(b.SubtractOp(one, fraction))))
    sine = result(e.LogOp(result(t.SinOp(result(b.MultiplyOp(near, scalar(x, math.pi)))))))
    reflected = result(b.SubtractOp(result(b.SubtractOp(scalar(x, math.log(math.pi)), sine)), large))
    infinite = result(e.IsinfOp(x))
    value = result(b.WhereOp(is_small, reflected, large))
    return result(b.WhereOp(infinite, size, value))


SPECIAL_FUNCTIONS: Mapping[str, Rule] = {
    "stablehlo.atan2": of_floats(atan2),
    "stablehlo.cbrt": of_floats(_cbrt),
    "stablehlo.exponential_minus_one": of_floats(exponential_minus_one),
    "stablehlo.log_plus_one": of_floats(log_plus_one),
    "chlo.erf_inv": of_floats(erf_inv),
    "chlo.erfc": of_floats(erfc),
    "chlo.lgamma": of_floats(lgamma),
}
"""Rules by the name of the op."""
