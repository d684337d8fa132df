"""Relatives of the gamma function, and a Bessel function, made of `fuse` ops; 16 bits are computed in f32.

Source: C. Lanczos, "A precision approximation of the gamma function" (1964); S. L. Moshier, Cephes Mathematical
Library, zeta.c, whose sum of Euler and Maclaurin the Hurwitz zeta function is. Coefficients of the Bessel function are
those of its interpolation at Chebyshev points.
"""

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.frontends.fuse_values import result, scalar
from fuse_dialect.frontends.stablehlo.rules.arithmetic import difference, less, over, times, total, where
from fuse_dialect.frontends.stablehlo.rules.building import Rule
from fuse_dialect.frontends.stablehlo.rules.special_functions import LANCZOS, lgamma, of_floats


def digamma(x: SSAValue) -> SSAValue:
    """The derivative of `lgamma`, by reflection below 1/2; nan at 0 and the negative integers, where it jumps."""
    half, one = scalar(x, 0.5), scalar(x, 1.0)
    is_small = less(x, half)
    z = where(is_small, result(e.NegativeOp(x)), difference(x, one))
    series, slope = scalar(x, 0.99999999999980993227684700473478), scalar(x, 0.0)
    for index, coefficient in enumerate(LANCZOS, 1):
        shifted = total(z, scalar(x, index))
        term = over(scalar(x, coefficient), shifted)
        series, slope = total(series, term), total(slope, over(term, shifted))
    t7 = total(z, scalar(x, 7.5))
    bend = total(over(slope, series), over(scalar(x, 7.0), t7))
    large = difference(result(e.LogOp(t7)), bend)
    # The tangent of what is left of a whole turn: of a large number it has no digits.
    offset = total(x, result(e.AbsOp(result(e.FloorOp(total(x, half))))))
    angle = times(offset, scalar(x, math.pi))
    reflected = difference(large, over(scalar(x, math.pi), result(t.TanOp(angle))))
    is_pole = result(c.LogicalAndOp(_at_most(x, 0.0), result(c.EqualOp(x, result(e.FloorOp(x))))))
    return where(is_pole, scalar(x, math.nan), where(is_small, reflected, large))


def _at_most(x: SSAValue, most: float) -> SSAValue:
    return result(c.LessEqualOp(x, scalar(x, most)))


_EULER_MACLAURIN = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1.8924375803183791606e9,
    7.47242496e10,
    -2.950130727918164224e12,
    1.1646782814350067249e14,
    -4.5979787224074726105e15,
    1.8152105401943546773e17,
    -7.1661652561756670113e18,
)
"""`(2 k)! / B[2 k]`."""
_TERMS = 9
"""Of the sum that are added up one by one."""


def _zeta(x: SSAValue, q: SSAValue) -> SSAValue:
    """The sum of `(q + k) ** -x`, by its first terms and what Euler and Maclaurin say of the others."""
    exponent = result(e.NegativeOp(x))
    place, power = q, result(b.PowerOp(q, exponent))
    found = power
    for _ in range(_TERMS):
        place = total(place, scalar(x, 1.0))
        power = result(b.PowerOp(place, exponent))
        found = total(found, power)
    found = total(found, over(times(power, place), difference(x, scalar(x, 1.0))))
    found = difference(found, times(scalar(x, 0.5), power))
    factor, derivative = scalar(x, 1.0), power
    for step, number in enumerate(_EULER_MACLAURIN):
        factor = times(factor, total(x, scalar(x, 2 * step)))
        derivative = over(derivative, place)
        found = total(found, times(times(factor, derivative), scalar(x, 1 / number)))
        factor = times(factor, total(x, scalar(x, 2 * step + 1)))
        derivative = over(derivative, place)
    is_integer = result(c.EqualOp(q, result(e.FloorOp(q))))
    is_even = result(c.EqualOp(x, times(scalar(x, 2.0), result(e.FloorOp(times(x, scalar(x, 0.5)))))))
    is_pole = result(c.LogicalAndOp(is_integer, is_even))
    below = where(is_pole, scalar(x, math.inf), scalar(x, math.nan))
    found = where(_at_most(q, 0.0), below, found)
    beyond = where(result(c.EqualOp(x, scalar(x, 1.0))), scalar(x, math.inf), scalar(x, math.nan))
    return where(result(c.GreaterOp(x, scalar(x, 1.0))), found, beyond)


def _polygamma(n: SSAValue, x: SSAValue) -> SSAValue:
    """`(-1) ** (n + 1) n! zeta(n + 1, x)`, and `digamma` for 0; nan for what is no order."""
    after = total(n, scalar(n, 1.0))
    size = times(result(e.ExpOp(lgamma(after))), _zeta(after, x))
    half = times(n, scalar(n, 0.5))
    is_even = result(c.EqualOp(half, result(e.FloorOp(half))))
    value = where(is_even, result(e.NegativeOp(size)), size)
    value = where(result(c.EqualOp(n, scalar(n, 0.0))), digamma(x), value)
    is_order = result(
        c.LogicalAndOp(result(c.EqualOp(n, result(e.FloorOp(n)))), result(c.GreaterEqualOp(n, scalar(n, 0))))
    )
    return where(is_order, value, scalar(x, math.nan))


_BESSEL_NEAR = (
    0.2525871864436336,
    -0.176416518357834,
    0.10264365868984704,
    -0.05294598120809494,
    0.02472644903062647,
    -0.01056408489462616,
    0.004156422944312843,
    -0.0015135724506312343,
    0.0005122859561685345,
    -0.0001617608158258066,
    4.7815651075616694e-05,
    -1.3273163655935783e-05,
    3.470251308135275e-06,
    -8.568720265333951e-07,
    2.003294753499807e-07,
    -4.445059095525839e-08,
    9.381537421915276e-09,
    -1.8872498508404333e-09,
    3.6255860258460617e-10,
    -6.663457563504949e-11,
    1.1736314697863294e-11,
    -1.984251651876434e-12,
    3.2232272406673705e-13,
    -5.0523474293129316e-14,
    7.3524519805801e-15,
    -1.0505485370515544e-15,
)
"""Of `i1e(x) / x` up to 8, in `x / 4 - 1`."""
_BESSEL_FAR = (
    0.7785762350182801,
    -0.00976109749136142,
    -0.00011058893876265825,
    -3.882564808815881e-06,
    -2.5122362381710395e-07,
    -2.6314688372774953e-08,
    -3.835380419855983e-09,
    -5.589743778955381e-10,
    -1.8974983737041207e-11,
    3.2526070725680255e-11,
    1.4125900449357687e-11,
    2.0357271424131796e-12,
    -7.197163004457608e-13,
    -4.0845660187471824e-13,
    -2.1021726026582145e-14,
    4.315159340961827e-14,
    1.033825802743138e-14,
    -3.8524738954492935e-15,
    -2.2360585605341043e-15,
)
"""Of `i1e(x) * sqrt(x)` beyond, in `16 / x - 1`."""


def _chebyshev(x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Clenshaw's recurrence."""
    twice = total(x, x)
    one, two = scalar(x, 0.0), scalar(x, 0.0)
    for each in reversed(coefficients[1:]):
        one, two = difference(total(times(twice, one), scalar(x, each)), two), one
    return difference(total(times(x, one), scalar(x, coefficients[0] / 2)), two)


def _bessel_i1e(x: SSAValue) -> SSAValue:
    """The modified Bessel function of order 1, times `exp(-|x|)`."""
    size = result(e.AbsOp(x))
    near_x = result(b.MinimumOp(size, scalar(x, 8.0)))
    far_x = result(b.MaximumOp(size, scalar(x, 8.0)))
    near = times(near_x, _chebyshev(difference(times(near_x, scalar(x, 0.25)), scalar(x, 1.0)), _BESSEL_NEAR))
    place = difference(over(scalar(x, 16.0), far_x), scalar(x, 1.0))
    far = over(_chebyshev(place, _BESSEL_FAR), result(e.SqrtOp(far_x)))
    value = where(result(c.LessEqualOp(size, scalar(x, 8.0))), near, far)
    value = where(less(x, scalar(x, 0.0)), result(e.NegativeOp(value)), value)
    return where(result(e.IsnanOp(x)), x, value)


GAMMA_FUNCTIONS: Mapping[str, Rule] = {
    "chlo.bessel_i1e": of_floats(_bessel_i1e),
    "chlo.digamma": of_floats(digamma),
    "chlo.polygamma": of_floats(_polygamma),
    "chlo.zeta": of_floats(_zeta),
}
"""Rules by the name of the op."""
