"""Integer functions without undefined behaviour: what the NumPy interpreter gives, for every operand.

Division by zero gives 0, the least number divided by -1 wraps around, a shift by the width or more shifts everything
out, as does one by a negative number.
"""

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value, constant


def divide(f: Function, lhs: Value, rhs: Value, *, unsigned: bool) -> Value:
    """The quotient, truncated toward zero."""
    if unsigned:
        return _unless_zero(f, rhs, f.binary("udiv", lhs, _not_zero(f, rhs)))
    return _unless_zero(f, rhs, _signed(f, "sdiv", lhs, rhs, f.binary("sub", constant(lhs.type, 0), lhs)))


def remainder(f: Function, lhs: Value, rhs: Value, *, unsigned: bool) -> Value:
    """What the truncated quotient leaves; it has the sign of `lhs`."""
    if unsigned:
        return _unless_zero(f, rhs, f.binary("urem", lhs, _not_zero(f, rhs)))
    return _unless_zero(f, rhs, _signed(f, "srem", lhs, rhs, constant(lhs.type, 0)))


def floor_divide(f: Function, lhs: Value, rhs: Value) -> Value:
    """The quotient, rounded toward minus infinity."""
    zero = constant(lhs.type, 0)
    quotient = divide(f, lhs, rhs, unsigned=False)
    rest = remainder(f, lhs, rhs, unsigned=False)
    differ = f.compare("slt", f.binary("xor", lhs, rhs), zero)
    # Truncation lies above the floor just where a rest is left and the signs differ.
    is_above = f.binary("and", f.compare("ne", rest, zero), differ)
    return f.select(is_above, f.binary("sub", quotient, constant(lhs.type, 1)), quotient)


def shift(f: Function, operation: str, lhs: Value, rhs: Value) -> Value:
    """`shl`, `lshr` or `ashr`."""
    width = constant(lhs.type, lhs.type.bits)
    inside = f.compare("ult", rhs, width)
    # All bits become the sign: as much as a shift by one less than the width does.
    if operation == "ashr":
        return f.binary("ashr", lhs, f.select(inside, rhs, constant(lhs.type, lhs.type.bits - 1)))
    shifted = f.binary(operation, lhs, f.select(inside, rhs, constant(lhs.type, 0)))
    return f.select(inside, shifted, constant(lhs.type, 0))


def power(f: Function, base: Value, exponent: Value) -> Value:
    """The power, which wraps around; a negative exponent truncates toward zero, so that only 1 and -1 remain.

    Square and multiply; the loop runs as often as the greatest exponent of all lanes has bits.
    """
    type = base.type
    zero, one = constant(type, 0), constant(type, 1)
    # A negative exponent would run through all its bits; it counts as 0 here and is judged at the end.
    left = f.intrinsic("smax", type, [exponent, zero])
    bits = f.i64(type.bits - 1)
    with f.loop(f.i64(0), bits, carried=[one, base, left], hints=["unroll.disable"]) as loop:
        result, square, rest = loop.carried
        is_odd = f.compare("ne", f.binary("and", rest, one), zero)
        result = f.select(is_odd, f.binary("mul", result, square), result)
        loop.following = [result, f.binary("mul", square, square), f.binary("lshr", rest, one)]
    result = loop.carried[0]
    is_odd = f.compare("ne", f.binary("and", exponent, one), zero)
    minus_one = constant(type, -1)
    sign = f.select(f.binary("and", is_odd, f.compare("eq", base, minus_one)), minus_one, one)
    # Of 1 / base**n only those of 1 and -1 are integers; all others truncate to 0, and so does that of 0.
    is_unit = f.binary("or", f.compare("eq", base, one), f.compare("eq", base, minus_one))
    return f.select(f.compare("slt", exponent, zero), f.select(is_unit, sign, zero), result)


def _signed(f: Function, operation: str, lhs: Value, rhs: Value, by_minus_one: Value) -> Value:
    """Division by -1 traps for the least number, so it is done otherwise."""
    minus_one = constant(rhs.type, -1)
    is_minus_one = f.compare("eq", rhs, minus_one)
    # The division runs in all lanes, so its operand must be harmless also where its result is not chosen.
    safe = f.select(is_minus_one, constant(rhs.type, 1), _not_zero(f, rhs))
    return f.select(is_minus_one, by_minus_one, f.binary(operation, lhs, safe))


def _not_zero(f: Function, divisor: Value) -> Value:
    return f.select(f.compare("eq", divisor, constant(divisor.type, 0)), constant(divisor.type, 1), divisor)


def _unless_zero(f: Function, divisor: Value, result: Value) -> Value:
    zero = constant(result.type, 0)
    return f.select(f.compare("eq", divisor, constant(divisor.type, 0)), zero, result)
