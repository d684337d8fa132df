"""Powers of floats that come out right where a compiler computes `math.powf` as the exponential of a logarithm.

IREE 3.13 does, unless the exponent is a small constant: of a negative base, of 0 to the power 0 and of 1 to the power
infinity it makes nan. So `math.powf` gets the magnitude of the base, and the cases of C (F.10.4.4) are selected.
"""

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars

_INFINITY = float("inf")


def power(base: SSAValue, exponent: SSAValue) -> SSAValue:
    """The base to the power of the exponent, both f32 or both f64; ops are created at the open builder."""
    known = _constant(exponent)
    magnitude = math.AbsFOp(base).result
    result = math.PowFOp(magnitude, exponent).result
    if known is None:
        return _of_any(base, exponent, magnitude, result)
    if not known:
        return scalars.constant(1, base.type)
    if known % 2 == 1:
        return math.CopySignOp(result, base).result
    return result if known % 2 == 0 else _without_real(base, result, [])


def _constant(value: SSAValue) -> float | None:
    """The number that a value is, if it is a finite constant."""
    match value.owner:
        case arith.ConstantOp(value=FloatAttr(value=number)) if abs(number.data) < _INFINITY:
            return number.data
        case _:
            return None


def _of_any(base: SSAValue, exponent: SSAValue, magnitude: SSAValue, result: SSAValue) -> SSAValue:
    one, zero = scalars.constant(1, base.type), scalars.constant(0, base.type)
    infinite = scalars.constant(_INFINITY, base.type)
    # 1 to any power, nan included, and anything to the power 0; -1 to the power of an infinity.
    is_one = _either(scalars.compare("equal", exponent, zero), scalars.compare("equal", base, one))
    endless = scalars.compare("equal", math.AbsFOp(exponent).result, infinite)
    is_one = _either(is_one, _both(endless, scalars.compare("equal", magnitude, one)))
    result = scalars.select(is_one, one, result)
    whole = math.FloorOp(exponent).result
    half = scalars.multiply(exponent, scalars.constant(0.5, base.type))
    is_odd = _both(scalars.compare("equal", whole, exponent), _differs(math.FloorOp(half).result, half))
    result = scalars.select(is_odd, math.CopySignOp(result, base).result, result)
    return _without_real(base, result, [_differs(whole, exponent)])


def _without_real(base: SSAValue, result: SSAValue, conditions: Sequence[SSAValue]) -> SSAValue:
    """The result, or nan where the base is negative and finite and the conditions hold, too: there is no real power."""
    lost = _both(scalars.is_negative(base), _differs(base, scalars.constant(-_INFINITY, base.type)))
    for condition in conditions:
        lost = _both(lost, condition)
    return scalars.select(lost, scalars.constant(float("nan"), base.type), result)


def _differs(one: SSAValue, other: SSAValue) -> SSAValue:
    """Whether two numbers differ, neither of which is nan."""
    return arith.CmpfOp(one, other, "one").result


def _both(one: SSAValue, other: SSAValue) -> SSAValue:
    return arith.AndIOp(one, other).result


def _either(one: SSAValue, other: SSAValue) -> SSAValue:
    return arith.OrIOp(one, other).result


def is_power(name: str, values: Sequence[SSAValue]) -> bool:
    """Whether a scalar function is the power of floats that `power` computes."""
    return name == math.PowFOp.name and all(isinstance(value.type, AnyFloat) for value in values)
