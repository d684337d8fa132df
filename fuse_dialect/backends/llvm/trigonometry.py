"""Sine, cosine, tangent and their inverses, as code on vectors.

f32 only; f64 calls the C library lane by lane. Greatest errors are in `loops.functions`. Arguments
beyond 1e5 take a slow path through the C library, for the vectors that hold one.

Source: S. L. Moshier, Cephes (sinf, tanf, asinf, atanf); the reduction by three parts of pi/2: W. J. Cody and W. Waite,
Software Manual for the Elementary Functions (1980).
"""

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.floats import Floats
from fuse_dialect.backends.llvm.vector_math import Function

_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
"""(sin(r) - r) / r**3 for |r| <= pi/4."""
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
"""(cos(r) - 1 + r**2/2) / r**4 for |r| <= pi/4."""
_TAN = (
    9.38540185543e-3,
    3.11992232697e-3,
    2.44301354525e-2,
    5.34112807005e-2,
    1.33387994085e-1,
    3.33331568548e-1,
)
"""(tan(r) - r) / r**3 for |r| <= pi/4."""
_ASIN = (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)
"""(asin(r) - r) / r**3 for |r| <= 1/2."""
_ATAN = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
"""(atan(r) - r) / r**3 for |r| <= tan(pi/8)."""
_HALF_PI = (1.57079601287841796875, 3.1391647326017846353e-7, 5.390302529957764765e-15)
"""Parts of pi/2; the products of the first with small integers are exact when fused with the subtraction."""
_LARGEST = 1e5
"""Up to here the three parts are exact enough."""


def sin(m: Floats, x: Value) -> Value:
    """The sine of x in radians."""
    return _periodic(m, x, "sin", _sin)


def cos(m: Floats, x: Value) -> Value:
    """The cosine of x in radians."""
    return _periodic(m, x, "cos", _cos)


def tan(m: Floats, x: Value) -> Value:
    """The tangent of x in radians."""
    return _periodic(m, x, "tan", _tan)


def _periodic(m: Floats, x: Value, name: str, fast: Function) -> Value:
    if m.type.bits == 64:
        return m.each(name, x)
    is_large = m.any(m.is_("ogt", m.abs(x), _LARGEST))
    (result,) = m.f.either(is_large, lambda: [m.each(name, x)], lambda: [fast(m, x)])
    return result


def _quadrant(m: Floats, x: Value) -> tuple[Value, Value]:
    """`r` and integer `n` with x = r + n pi/2 and |r| <= pi/4."""
    n = m.nearest(m.mul(x, 0.63661977236758134))
    r = x
    for part in _HALF_PI:
        r = m.fma(n, -part, r)
    return r, m.to_integer(n)


def _sin(m: Floats, x: Value) -> Value:
    r, n = _quadrant(m, x)
    result = _sine_or_cosine(m, r, n)
    return m.choose(m.is_("oeq", x, 0.0), x, result)


def _cos(m: Floats, x: Value) -> Value:
    r, n = _quadrant(m, x)
    return _sine_or_cosine(m, r, m.f.binary("add", n, m.whole(1)))


def _sine_or_cosine(m: Floats, r: Value, n: Value) -> Value:
    """sin(r + n pi/2): the sine of r for even n, else the cosine; negative in the third and fourth quadrant."""
    square = m.mul(r, r)
    sine = m.mad(m.mul(m.polynomial(square, _SIN), square), r, r)
    cosine = m.mad(m.mul(m.polynomial(square, _COS), square), square, m.mad(square, -0.5, 1.0))
    # A quarter turn makes a cosine of a sine; every second one also turns the sign.
    is_odd = m.f.compare("ne", m.f.binary("and", n, m.whole(1)), m.whole(0))
    chosen = m.choose(is_odd, cosine, sine)
    sign = m.f.binary("shl", m.f.binary("and", n, m.whole(2)), m.whole(30))
    return m.from_bits(m.f.binary("xor", m.bits(chosen), sign))


def _tan(m: Floats, x: Value) -> Value:
    r, n = _quadrant(m, x)
    square = m.mul(r, r)
    tangent = m.mad(m.mul(m.polynomial(square, _TAN), square), r, r)
    is_odd = m.f.compare("ne", m.f.binary("and", n, m.whole(1)), m.whole(0))
    return m.choose(m.is_("oeq", x, 0.0), x, m.choose(is_odd, m.div(-1.0, tangent), tangent))


def asin(m: Floats, x: Value) -> Value:
    """The inverse sine; nan beyond 1."""
    if m.type.bits == 64:
        return m.each("asin", x)
    a = m.abs(x)
    is_far = m.is_("ogt", a, 0.5)
    result = _asin_reduced(m, a, is_far)
    return m.signed(m.choose(is_far, m.sub(1.57079632679489662, m.add(result, result)), result), x)


def acos(m: Floats, x: Value) -> Value:
    """The inverse cosine; nan beyond 1."""
    if m.type.bits == 64:
        return m.each("acos", x)
    a = m.abs(x)
    is_far = m.is_("ogt", a, 0.5)
    result = _asin_reduced(m, a, is_far)
    twice = m.add(result, result)
    far = m.choose(m.is_("olt", x, 0.0), m.sub(3.14159265358979324, twice), twice)
    # pi/2 in two parts: near 0 the low part decides the last place.
    near = m.sub(1.57079637050628662, m.add(m.signed(result, x), 4.37113900018624283e-8))
    return m.choose(is_far, far, near)


def _asin_reduced(m: Floats, a: Value, is_far: Value) -> Value:
    """asin(a) for a <= 1/2, and asin(sqrt((1 - a)/2)) where `is_far`."""
    # Near 1 the inverse sine is steep; asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2)) moves it to where it is not.
    half = m.mul(m.sub(1.0, a), 0.5)
    z = m.choose(is_far, half, m.mul(a, a))
    r = m.choose(is_far, m.sqrt(half), a)
    return m.mad(m.mul(m.polynomial(z, _ASIN), z), r, r)


def atan(m: Floats, x: Value) -> Value:
    """The inverse tangent."""
    if m.type.bits == 64:
        return m.each("atan", x)
    a = m.abs(x)
    is_far = m.is_("ogt", a, 2.414213562373095)
    is_middle = m.is_("ogt", a, 0.4142135623730950)
    middle = m.div(m.sub(a, 1.0), m.add(a, 1.0))
    r = m.choose(is_far, m.div(-1.0, a), m.choose(is_middle, middle, a))
    offset = m.choose(is_far, 1.57079632679489662, m.choose(is_middle, 0.785398163397448310, 0.0))
    z = m.mul(r, r)
    return m.signed(m.add(m.mad(m.mul(m.polynomial(z, _ATAN), z), r, r), offset), x)
