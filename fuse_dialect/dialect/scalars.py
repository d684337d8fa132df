"""Scalar code: the `arith` and `math` ops that scalar bodies are built from.

Every function creates its ops in the block of the current `building`. `add`, `multiply` and their like take floats and
integers alike; where the sign of integers matters, `unsigned` tells, because `arith` integers are signless.
"""

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, f32, i1
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division of floats, with the sign of the dividend, as `fmod`; xDSL's `arith` lacks it."""

    name = "arith.remf"


_BinaryOp: TypeAlias = Callable[[SSAValue, SSAValue], Operation]

_PREDICATES: dict[str, tuple[str, str, str]] = {
    "equal": ("oeq", "eq", "eq"),
    "not_equal": ("une", "ne", "ne"),
    "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"),
    "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
}
"""Predicates of `arith.cmpf`, and of `arith.cmpi` for signed and unsigned integers; nan only differs from all."""


def predicate_of(op: Operation) -> str | None:
    """The predicate of a comparison as MLIR writes it, `olt`; `None` for other ops."""
    match op:
        case arith.CmpfOp():
            return arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
        case arith.CmpiOp():
            return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        case _:
            return None


def signless(element_type: Attribute) -> Attribute:
    """The element type as `arith` wants it: `ui8` becomes `i8`."""
    return element_type if isinstance(element_type, AnyFloat) else IntegerType(_integer(element_type).width.data)


def _integer(element_type: Attribute) -> IntegerType:
    match element_type:
        case IntegerType():
            return element_type
        case _:
            raise TypeError(f"no scalar code for elements of type {element_type}")


def constant(value: float, like: Attribute) -> SSAValue:
    """A number of the (float or signless integer) type `like`; what the type cannot hold becomes infinite."""
    if isinstance(like, AnyFloat):
        try:
            return arith.ConstantOp(FloatAttr(value, like)).result
        except OverflowError:
            return arith.ConstantOp(FloatAttr(float("inf") if value > 0 else float("-inf"), like)).result
    return arith.ConstantOp(IntegerAttr(int(value), _integer(like))).result


def add(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs + rhs`; integers wrap around."""
    return _binary(arith.AddfOp, arith.AddiOp, lhs, rhs)


def subtract(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs - rhs`; integers wrap around."""
    return _binary(arith.SubfOp, arith.SubiOp, lhs, rhs)


def multiply(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs * rhs`; integers wrap around."""
    return _binary(arith.MulfOp, arith.MuliOp, lhs, rhs)


def divide(lhs: SSAValue, rhs: SSAValue, *, unsigned: bool = False) -> SSAValue:
    """`lhs / rhs`; integers truncate toward zero."""
    return _binary(arith.DivfOp, arith.DivUIOp if unsigned else arith.DivSIOp, lhs, rhs)


def maximum(lhs: SSAValue, rhs: SSAValue, *, unsigned: bool = False) -> SSAValue:
    """The greater number; nan when one is nan, and 0 is greater than -0."""
    return _binary(arith.MaximumfOp, arith.MaxUIOp if unsigned else arith.MaxSIOp, lhs, rhs)


def minimum(lhs: SSAValue, rhs: SSAValue, *, unsigned: bool = False) -> SSAValue:
    """The smaller number; nan when one is nan, and -0 is smaller than 0."""
    return _binary(arith.MinimumfOp, arith.MinUIOp if unsigned else arith.MinSIOp, lhs, rhs)


def power(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs` to the power of `rhs`; negative powers of integers truncate toward zero."""
    return _binary(math.PowFOp, math.IPowIOp, lhs, rhs)


def integer_power(base: SSAValue, exponent: SSAValue, *, unsigned_base: bool, unsigned_exponent: bool) -> SSAValue:
    """`math.ipowi` in the wider of the two types: what wraps around in it, wraps around in the base's too."""
    own, width = base.type, _integer(exponent.type).width.data
    common = IntegerType(max(_integer(own).width.data, width))
    base = convert(base, common, unsigned_source=unsigned_base, unsigned_target=unsigned_base)
    if unsigned_exponent and width == common.width.data:
        # `math.ipowi` takes the exponent for signed: half of it fits, as an exponent of the square.
        odd = select(is_odd(exponent), base, constant(1, common))
        half = arith.ShRUIOp(exponent, constant(1, common)).result
        result = multiply(power(multiply(base, base), half), odd)
    else:
        wide = convert(exponent, common, unsigned_source=unsigned_exponent, unsigned_target=False)
        result = power(base, wide)
        if unsigned_base and not unsigned_exponent:
            # Of unsigned numbers 1 alone has an inverse; the greatest is no -1.
            is_one = compare("equal", base, constant(1, common))
            below = convert(is_one, common, unsigned_source=True, unsigned_target=True)
            result = select(is_negative(wide), below, result)
    return convert(result, own, unsigned_source=unsigned_base, unsigned_target=unsigned_base)


def is_odd(x: SSAValue) -> SSAValue:
    """Whether an integer is odd, as i1."""
    one = constant(1, x.type)
    return compare("equal", arith.AndIOp(x, one).result, one)


def _binary(floating: _BinaryOp, integer: _BinaryOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    build = floating if isinstance(lhs.type, AnyFloat) else integer
    return build(lhs, rhs).results[0]


def compare(predicate: str, lhs: SSAValue, rhs: SSAValue, *, unsigned: bool = False) -> SSAValue:
    """The i1 `lhs predicate rhs`; `predicate` is `equal`, `not_equal`, `less`, `less_equal`, `greater` or ..."""
    floating, signed, without_sign = _PREDICATES[predicate]
    if isinstance(lhs.type, AnyFloat):
        return arith.CmpfOp(lhs, rhs, floating).result
    return arith.CmpiOp(lhs, rhs, without_sign if unsigned else signed).result


def is_negative(x: SSAValue) -> SSAValue:
    """The i1 `x < 0`; false for nan."""
    return compare("less", x, constant(0, x.type))


def select(condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs` where the condition holds, else `rhs`."""
    return arith.SelectOp(condition, lhs, rhs).result


def apply(function: type[FloatingPointLikeUnaryMathOperation], x: SSAValue) -> SSAValue:
    """A function of the `math` dialect."""
    return function(x).result


def sigmoid(x: SSAValue) -> SSAValue:
    """`1 / (1 + exp(-x))`."""
    one = constant(1, x.type)
    return divide(one, add(one, apply(math.ExpOp, arith.NegfOp(x).result)))


def widened(x: SSAValue) -> SSAValue:
    """The number in the type in which formulas are computed: f16 and bf16 become f32, all others stay."""
    is_half = isinstance(x.type, AnyFloat) and x.type.bitwidth == 16
    return arith.ExtFOp(x, f32).result if is_half else x


def rounded(x: SSAValue, like: SSAValue) -> SSAValue:
    """The float in the type of `like`, which is not wider."""
    return x if x.type == like.type else arith.TruncFOp(x, like.type).result


def order_key(x: SSAValue, *, unsigned: bool, is_ascend: bool) -> SSAValue:
    """A signed integer that is less where the number comes first in order: the two zeros are equal, nan is greatest.

    f16 and bf16 have keys of 32 bits, other numbers of as many as they have.
    """
    x = widened(x)
    if isinstance(x.type, AnyFloat):
        key = _float_key(x, x.type)
    else:
        width = _integer(x.type).width.data
        key = arith.XOrIOp(x, constant(-1 << width - 1, x.type)).result if unsigned else x
    return key if is_ascend else arith.XOrIOp(key, constant(-1, key.type)).result


def _float_key(x: SSAValue, type: AnyFloat) -> SSAValue:
    zero, bits = constant(0, type), IntegerType(type.bitwidth)
    number = arith.BitcastOp(select(compare("equal", x, zero), zero, x), bits).result
    greatest = constant((1 << type.bitwidth - 1) - 1, bits)
    # Of negative numbers the bits below the sign grow with the distance from zero: they are turned round.
    below = arith.XOrIOp(number, greatest).result
    key = select(is_negative(number), below, number)
    return select(arith.CmpfOp(x, x, "uno").result, greatest, key)


def convert(x: SSAValue, target: Attribute, *, unsigned_source: bool, unsigned_target: bool) -> SSAValue:
    """The number in another (float or signless integer) type, as a C cast: floats truncate toward zero.

    What is out of range becomes the nearest number of an integer type, nan becomes 0.
    Anything but zero becomes true, nan included; true becomes one.
    """
    source = x.type
    if source == target:
        return x
    if target == i1:
        return compare("not_equal", x, constant(0, source))
    if isinstance(source, AnyFloat):
        if isinstance(target, AnyFloat):
            return _reformatted(x, source, target)
        return (arith.FPToUIOp if unsigned_target else arith.FPToSIOp)(x, _integer(target)).result
    without_sign = unsigned_source or source == i1
    if isinstance(target, AnyFloat):
        return (arith.UIToFPOp if without_sign else arith.SIToFPOp)(x, target).result
    if _integer(source).width.data > _integer(target).width.data:
        return arith.TruncIOp(x, _integer(target)).result
    return (arith.ExtUIOp if without_sign else arith.ExtSIOp)(x, _integer(target)).result


def _reformatted(x: SSAValue, source: AnyFloat, target: AnyFloat) -> SSAValue:
    if source.bitwidth < target.bitwidth:
        return arith.ExtFOp(x, target).result
    if source.bitwidth > target.bitwidth:
        return arith.TruncFOp(x, target).result
    return arith.TruncFOp(arith.ExtFOp(x, f32).result, target).result  # f16 and bf16: neither holds the other
