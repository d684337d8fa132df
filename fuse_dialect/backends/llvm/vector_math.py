"""exp, log and what follows from them, as code on vectors: LLVM itself would call the C library lane by lane.

1. f32 and f64 are computed in their own precision. Right at nan, infinities, zeros, denormals and at the edges of
   overflow. Greatest errors of f32 are in `loops.functions`, of exp and log in f64 1.1 units; the other
   functions of f64 call the C library lane by lane: they are not used enough to deserve more.

2. Every function takes `Floats`, which knows type and machine, and one value of that type.

Sources: S. L. Moshier, Cephes (expf, logf, sinhf); K. C. Ng, fdlibm (log, expm1); N. Shibata, SLEEF; W. Kahan's log1p;
N. Juffa's form of erf. Coefficients without a source are minimax, by reweighted least squares.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.floats import Floats
from fuse_dialect.machines.machine import Unit

Function: TypeAlias = Callable[[Floats, Value], Value]

_LOG2_E = 1.4426950408889634
_LN_2 = 0.6931471805599453
_INVERSE_FACTORIALS = tuple(
    1.0 / factorial
    for factorial in (
        6227020800,
        479001600,
        39916800,
        3628800,
        362880,
        40320,
        5040,
        720,
        120,
        24,
        6,
        2,
    )
)
"""1/13! to 1/2!: on half an octave, the series of exp is exact to f64 after 13 terms."""
_EXP_F32 = (
    0.0013814539415761828,
    0.00836874544620514,
    0.04166838899254799,
    0.1666652113199234,
    0.4999999403953552,
)
"""(exp(r) - 1 - r) / r**2 for |r| <= ln(2)/2, within 3.1e-9 of exp(r): 1/20 of a unit. Minimax, by reweighted least
squares; Cephes has one more term."""
_LOG_F32 = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
"""Cephes logf: (log(1 + f) - f + f**2/2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2)."""
_LOG_F64 = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
"""fdlibm __ieee754_log: Lg7 to Lg1."""
_EXP2_ROUGH = (
    1.3275836098752002e-3,
    9.6755362079917577e-3,
    5.5507152398205624e-2,
    2.402211985155828e-1,
    6.9314696586169478e-1,
    1.0000000716152169,
)
"""2**f for |f| <= 1/2, within 7.5e-8."""
_TANH_IS_ONE = 10.0
"""Here the hyperbolic tangent is 1, whatever is rounded."""
_ERF_NEAR = (
    -5.990848254507372e-4,
    4.9931789659675067e-3,
    -2.6766615174846136e-2,
    1.1281816130194788e-1,
    -3.7612493681884734e-1,
    1.283791495542907e-1,
)
"""erf(x) / x - 1 in x**2 for |x| <= 0.921875, within 1.6e-8."""
_ERF_FAR = (
    3.0868950839553515e-4,
    -4.6379918322482605e-3,
    3.3022580801850575e-2,
    -1.5185973788601589e-1,
    -9.1714840212470552e-1,
    -1.6281018584060367,
)
"""log2(1 - erf(x)) / x from there to 4, so that erf is within 3e-9."""
_ERF_FROM = 0.921875
_ERF_IS_ONE = 4.0
"""From here on the error function rounds to 1."""
_SINH_F32 = (2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1)
"""Cephes sinhf: (sinh(x) - x) / x**3 for |x| <= 1."""


def exp(m: Floats, x: Value) -> Value:
    """E to the power of x."""
    # Beyond, results are 0 and infinite anyhow, and n stays in the range that `scaled` takes.
    low, high = (_EXP_IS_ZERO, 89.0) if m.type.bits == 32 else (-746.0, 710.0)
    series = (*(_EXP_F32 if m.type.bits == 32 else _INVERSE_FACTORIALS), 1.0, 1.0)
    return _zero_below(m, x, low, m.at_most(x, high), lambda bounded: _scaled_exp(m, bounded, series))


def _scaled_exp(m: Floats, x: Value, series: Sequence[float]) -> Value:
    n = m.whole_part(x, _LOG2_E)
    return m.scaled(m.polynomial(_reduced(m, x, n.number), series), n)


def _zero_below(m: Floats, x: Value, low: float, bounded: Value, function: Callable[[Value], Value]) -> Value:
    """0 where `x` is below a limit, else a function of what bounds it above.

    The function gets 0 there: where a product underflows, processors of Intel take ten times as long, and this is where
    masks are.
    """
    is_zero = m.is_("olt", x, low)
    return m.choose(is_zero, 0.0, function(m.choose(is_zero, 0.0, bounded)))


_EXP_IS_ZERO = -104.0
"""Below, exponentials of f32 round to 0."""
_LIFT = 64
"""Powers of two by which `lifted_exp` is greater."""


def falling_exp(m: Floats, x: Value) -> Value:
    """E to the power of what is 0 or less, or nan; of f32."""
    series = (*_EXP_F32, 1.0, 1.0)
    return _zero_below(m, x, _EXP_IS_ZERO, x, lambda bounded: _scaled_exp(m, bounded, series))


def lifted_exp(m: Floats, x: Value) -> Value:
    """The same times 2**64, for quotients of such numbers; anything for nan.

    None of them is denormal, so the exponent is added to the bits: two thirds of the instructions. Within 2 units for x
    from -20, and within 6 below, where ln(2) is not exact enough: such numbers are nothing beside that of 0.
    """
    return _zero_below(m, x, _EXP_IS_ZERO, x, lambda bounded: _lifted(m, bounded))


def _lifted(m: Floats, x: Value) -> Value:
    shift = 1.5 * 2.0**m.mantissa_bits + _LIFT
    large = m.mad(x, _LOG2_E, shift)
    n = m.sub(large, shift)
    # A product that is rounded before it is subtracted would not do.
    r = m.fma(n, m.value(-_LN_2), x) if Unit.FMA in m.machine.units else _reduced(m, x, n)
    exponent = m.f.binary("shl", m.bits(large), m.whole(m.mantissa_bits))
    return m.from_bits(m.f.binary("add", m.bits(m.polynomial(r, (*_EXP_F32, 1.0, 1.0))), exponent))


def _reduced(m: Floats, x: Value, n: Value) -> Value:
    """`x - n ln(2)`, with ln(2) in two parts of which the first times n is exact."""
    if m.type.bits == 32:
        return m.mad(n, 2.12194440e-4, m.mad(n, -0.693359375, x))
    return m.mad(n, -1.90821492927058770002e-10, m.mad(n, -6.93147180369123816490e-01, x))


def _expm1_reduced(m: Floats, r: Value) -> Value:
    """`exp(r) - 1` for |r| <= ln(2)/2."""
    series = m.polynomial(r, _EXP_F32 if m.type.bits == 32 else _INVERSE_FACTORIALS)
    return m.mad(series, m.mul(r, r), r)


def exp2(m: Floats, x: Value) -> Value:
    """2 to the power of x."""
    if m.type.bits == 64:
        return m.each("exp2", x)

    def scaled(bounded: Value) -> Value:
        n = m.whole_part(bounded, 1.0)
        return m.scaled(m.add(_expm1_reduced(m, m.mul(m.sub(bounded, n.number), _LN_2)), 1.0), n)

    return _zero_below(m, x, -151.0, m.at_most(x, 129.0), scaled)


def expm1(m: Floats, x: Value) -> Value:
    """`exp(x) - 1` without cancellation near 0."""
    if m.type.bits == 64:
        return m.each("expm1", x)
    clamped = m.at_least(m.at_most(x, 89.0), -18.0)
    n = m.nearest(m.mul(clamped, _LOG2_E))
    p = _expm1_reduced(m, _reduced(m, clamped, n))
    # 2**n is beyond f32 for the greatest x: half of it is used, and doubled at the end.
    half = m.power_of_two(m.to_integer(m.sub(n, 1.0)))
    big = m.mad(half, p, m.sub(half, 0.5))
    result = m.add(big, big)
    return m.choose(m.is_("oeq", n, 0.0), m.choose(m.is_("oeq", x, 0.0), x, p), result)


def sigmoid(m: Floats, x: Value) -> Value:
    """`1 / (1 + exp(-x))`."""
    return m.div(1.0, m.add(1.0, exp(m, m.neg(x))))


def log(m: Floats, x: Value) -> Value:
    """The natural logarithm."""
    f, e = _split(m, x)
    if m.type.bits == 32:
        square = m.mul(f, f)
        tail = m.mul(m.mul(m.polynomial(f, _LOG_F32), f), square)
        tail = m.mad(e, -2.12194440e-4, tail)
        tail = m.mad(square, -0.5, tail)
        result = m.mad(e, 0.693359375, m.add(f, tail))
    else:
        s = m.div(f, m.add(f, 2.0))
        z = m.mul(s, s)
        rest = m.mul(z, m.polynomial(z, _LOG_F64))
        half = m.mul(m.mul(f, f), 0.5)
        tail = m.mad(e, 1.90821492927058770002e-10, m.mul(s, m.add(half, rest)))
        result = m.sub(m.mul(e, 6.93147180369123816490e-01), m.sub(m.sub(half, tail), f))
    return _log_edges(m, x, result)


def log2(m: Floats, x: Value) -> Value:
    """The logarithm to base 2."""
    if m.type.bits == 64:
        return m.each("log2", x)
    f, e = _split(m, x)
    square = m.mul(f, f)
    tail = m.mad(m.mul(m.polynomial(f, _LOG_F32), f), square, m.mul(square, -0.5))
    # log2(e) = 1 + 0.4427: the ones are added last, as they are the greatest.
    low = m.mad(f, 0.44269504088896340736, m.mul(tail, 0.44269504088896340736))
    result = m.add(m.add(m.add(low, tail), f), e)
    return _log_edges(m, x, result)


def _split(m: Floats, x: Value) -> tuple[Value, Value]:
    """`f` and `e` with x = (1 + f) * 2**e and sqrt(1/2) <= 1 + f < sqrt(2), for x > 0."""
    tiny = m.is_("olt", x, 1.17549435e-38 if m.type.bits == 32 else 2.2250738585072014e-308)
    scale = float(2 ** (m.mantissa_bits + 2))
    bits = m.bits(m.choose(tiny, m.mul(x, scale), x))
    # The bits of sqrt(1/2) are subtracted, so that the exponent steps where the mantissa passes sqrt(2).
    root = 0x3F3504F3 if m.type.bits == 32 else 0x3FE6A09E667F3BCD
    above = m.f.binary("sub", bits, m.whole(root))
    exponent = m.f.binary("ashr", above, m.whole(m.mantissa_bits))
    fraction = m.f.binary("and", above, m.whole((1 << m.mantissa_bits) - 1))
    mantissa = m.from_bits(m.f.binary("add", fraction, m.whole(root)))
    e = m.to_float(exponent)
    return m.sub(mantissa, 1.0), m.choose(tiny, m.sub(e, float(m.mantissa_bits + 2)), e)


def _log_edges(m: Floats, x: Value, result: Value) -> Value:
    """Infinite at 0 and at infinity, nan below and at nan."""
    result = m.choose(m.is_("olt", x, float("inf")), result, x)
    result = m.choose(m.is_("oeq", x, 0.0), float("-inf"), result)
    return m.choose(m.is_("olt", x, 0.0), float("nan"), result)


def log1p(m: Floats, x: Value) -> Value:
    """`log(1 + x)` without cancellation near 0; the logarithm of u = 1 + x, corrected for what u lost."""
    if m.type.bits == 64:
        return m.each("log1p", x)
    # Where u has rounded x away its logarithm is corrected by the quotient of what was lost.
    u = m.add(x, 1.0)
    lost = m.sub(x, m.sub(u, 1.0))
    result = m.add(log(m, u), m.div(lost, u))
    # Where u is 1 there is nothing but what was lost; an infinite u has no correction, and 0 keeps its sign.
    result = m.choose(m.is_("olt", m.abs(x), 5.9604644775390625e-8), x, result)
    is_finite = m.is_("olt", m.abs(u), float("inf"))
    is_positive = m.is_("ogt", m.abs(u), 0.0)
    return m.choose(m.f.binary("and", is_finite, is_positive), result, log(m, u))


def tanh(m: Floats, x: Value) -> Value:
    """The hyperbolic tangent: e / (e + 2) for `e = exp(2 |x|) - 1`, which is exact near 0 and loses nothing near 1."""
    if m.type.bits == 64:
        return m.each("tanh", x)
    a = m.at_most(m.abs(x), _TANH_IS_ONE)
    shift = 1.5 * 2.0**m.mantissa_bits
    large = m.mad(a, 2 * _LOG2_E, shift)
    n = m.sub(large, shift)
    # ln(2) in one part is off by 2e-8 of an `e` for which n is 10: there it counts for nothing beside the 2.
    half = m.fma(n, -_LN_2 / 2, a) if Unit.FMA in m.machine.units else m.mul(_reduced(m, m.add(a, a), n), 0.5)
    # exp(2 h) - 1 as a series of h, whose coefficients are scaled by powers of two.
    scaled = [coefficient * 2.0 ** (6 - place) for place, coefficient in enumerate(_EXP_F32)]
    p = m.mad(m.polynomial(half, scaled), m.mul(half, half), m.add(half, half))
    # The last bits of the large number are the integer, of 26 at most: 2**n needs no care.
    one = m.whole(m.bias << m.mantissa_bits)
    power = m.from_bits(m.f.binary("add", m.f.binary("shl", m.bits(large), m.whole(m.mantissa_bits)), one))
    e = m.mad(power, p, m.sub(power, 1.0))
    return m.signed(m.div(e, m.add(e, 2.0)), x)


def erf(m: Floats, x: Value) -> Value:
    """The error function: a polynomial near 0, else `1 - 2**polynomial`."""
    if m.type.bits == 64:
        return m.each("erf", x)
    a = m.abs(x)
    near = m.mad(m.polynomial(m.mul(x, x), _ERF_NEAR), x, x)
    # What is subtracted from 1 is at most 0.2, so it need not be as exact as the result.
    t = m.at_most(a, _ERF_IS_ONE)
    far = m.signed(m.sub(1.0, _rough_exp2(m, m.mul(m.polynomial(t, _ERF_FAR), t))), x)
    return m.choose(m.is_("ogt", a, _ERF_FROM), far, near)


def _rough_exp2(m: Floats, x: Value) -> Value:
    """2 to the power of an f32 from -126 to 126, within 7.5e-8 and a rounding of the exponent; not for nan."""
    shift = 1.5 * 2.0**m.mantissa_bits
    large = m.add(x, shift)
    p = m.polynomial(m.sub(x, m.sub(large, shift)), _EXP2_ROUGH)
    # The last bits of the large number are the integer, which is added to the exponent.
    exponent = m.f.binary("shl", m.bits(large), m.whole(m.mantissa_bits))
    return m.from_bits(m.f.binary("add", m.bits(p), exponent))


def sinh(m: Floats, x: Value) -> Value:
    """The hyperbolic sine."""
    if m.type.bits == 64:
        return m.each("sinh", x)
    a = m.abs(x)
    square = m.mul(x, x)
    near = m.mad(m.mul(m.polynomial(square, _SINH_F32), square), x, x)
    big = _half_exp(m, a)
    far = m.signed(m.sub(big, m.div(0.25, big)), x)
    return m.choose(m.is_("olt", a, 1.0), near, far)


def cosh(m: Floats, x: Value) -> Value:
    """The hyperbolic cosine."""
    if m.type.bits == 64:
        return m.each("cosh", x)
    big = _half_exp(m, m.abs(x))
    return m.add(big, m.div(0.25, big))


def _half_exp(m: Floats, x: Value) -> Value:
    """`exp(x) / 2` of an f32 that is not negative, also where `exp(x)` is beyond the type."""
    clamped = m.at_most(x, 90.0)
    n = m.whole_part(clamped, _LOG2_E)
    series = [coefficient / 2 for coefficient in (*_EXP_F32, 1.0, 1.0)]
    return m.scaled(m.polynomial(_reduced(m, clamped, n.number), series), n)


def asinh(m: Floats, x: Value) -> Value:
    """The inverse of the hyperbolic sine."""
    if m.type.bits == 64:
        return m.each("asinh", x)
    a = m.abs(x)
    square = m.mul(a, a)
    near = log1p(m, m.add(a, m.div(square, m.add(1.0, m.sqrt(m.add(square, 1.0))))))
    far = m.add(log(m, a), _LN_2)
    return m.signed(m.choose(m.is_("olt", a, 1e9), near, far), x)


def acosh(m: Floats, x: Value) -> Value:
    """The inverse of the hyperbolic cosine; nan below 1."""
    if m.type.bits == 64:
        return m.each("acosh", x)
    t = m.sub(x, 1.0)
    near = log1p(m, m.add(t, m.sqrt(m.mad(t, t, m.add(t, t)))))
    far = m.add(log(m, x), _LN_2)
    inside = m.choose(m.is_("ogt", x, 1e9), far, near)
    return m.choose(m.is_("olt", x, 1.0), float("nan"), inside)


def atanh(m: Floats, x: Value) -> Value:
    """The inverse of the hyperbolic tangent; infinite at 1 and -1, nan beyond."""
    if m.type.bits == 64:
        return m.each("atanh", x)
    a = m.abs(x)
    return m.signed(m.mul(log1p(m, m.div(m.add(a, a), m.sub(1.0, a))), 0.5), x)


def rsqrt(m: Floats, x: Value) -> Value:
    """`1 / sqrt(x)`, two roundings."""
    return m.div(1.0, m.sqrt(x))


def pow(m: Floats, x: Value, y: Value) -> Value:
    """X to the power of y, as in C: a negative x with a y that is no integer gives nan.

    f32 is computed in f64, where `exp(y log(x))` loses nothing that matters.
    """
    if m.type.bits == 64:
        return m.each("pow", x, y)
    d = m.doubles()
    a = m.f.cast("fpext", m.abs(x), d.type)
    wide = exp(d, d.mul(m.f.cast("fpext", y, d.type), log(d, a)))
    result = m.f.cast("fptrunc", wide, m.type)
    is_whole = m.is_("oeq", m.nearest(y), y)
    half = m.mul(y, 0.5)
    is_odd = m.f.binary("and", is_whole, m.is_("une", m.nearest(half), half))
    result = m.choose(is_odd, m.signed(result, x), result)
    is_negative = m.f.binary("and", m.is_("olt", x, 0.0), m.is_("ogt", x, float("-inf")))
    outside = m.f.binary("and", is_negative, m.is_("une", m.nearest(y), y))
    result = m.choose(outside, float("nan"), result)
    # 1 to any power, any number to the power of 0, and -1 to an infinite power, are 1 even with nan.
    is_one = m.f.binary("or", m.is_("oeq", x, 1.0), m.is_("oeq", y, 0.0))
    ends = m.f.binary("and", m.is_("oeq", x, -1.0), m.is_("oeq", m.abs(y), float("inf")))
    return m.choose(m.f.binary("or", is_one, ends), 1.0, result)
