"""Scalar code: the functions of `arith` and `math` that scalar bodies are built from.

While a `ScalarCode` records, every function records instructions of a loop program there; otherwise it creates ops, in
the block of the current `building`. `add`, `multiply` and their like take floats and integers alike; where the sign of
integers matters, `unsigned` tells, because `arith` integers are signless. What has no function of its own is said with
`apply` or `cast` and the class of an op.
"""

from collections.abc import Callable
from typing import TypeAlias
from typing import cast as as_type

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition

from fuse_dialect.dialect.scalar_code import recorder, rounded_to


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division of floats, with the sign of the dividend, as `fmod`; xDSL's `arith` lacks it."""

    name = "arith.remf"


Function: TypeAlias = type[Operation]
"""An op of `arith` or `math` with one result, whose operands are all that it needs to be told."""

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
    code = recorder()
    if code is not None:
        return code.constant(value, like)
    if isinstance(like, AnyFloat):
        return arith.ConstantOp(FloatAttr(rounded_to(value, like), like)).result
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
        half = apply(arith.ShRUIOp, exponent, constant(1, common))
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
    return compare("equal", apply(arith.AndIOp, x, one), one)


def _binary(floating: Function, integer: Function, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return apply(floating if isinstance(lhs.type, AnyFloat) else integer, lhs, rhs)


def compare(predicate: str, lhs: SSAValue, rhs: SSAValue, *, unsigned: bool = False) -> SSAValue:
    """The i1 `lhs predicate rhs`; `predicate` is `equal`, `not_equal`, `less`, `less_equal`, `greater` or ..."""
    floating, signed, without_sign = _PREDICATES[predicate]
    if isinstance(lhs.type, AnyFloat):
        return _compared(arith.CmpfOp, lhs, rhs, floating)
    return _compared(arith.CmpiOp, lhs, rhs, without_sign if unsigned else signed)


def _compared(function: type[arith.CmpfOp] | type[arith.CmpiOp], lhs: SSAValue, rhs: SSAValue, name: str) -> SSAValue:
    code = recorder()
    if code is not None:
        return code.apply(function.name, (lhs, rhs), i1, name)
    return function(lhs, rhs, name).result


def is_negative(x: SSAValue) -> SSAValue:
    """The i1 `x < 0`; false for nan."""
    return compare("less", x, constant(0, x.type))


def select(condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs` where the condition holds, else `rhs`."""
    code = recorder()
    if code is not None:
        return code.apply(arith.SelectOp.name, (condition, lhs, rhs), lhs.type)
    return arith.SelectOp(condition, lhs, rhs).result


def apply(function: Function, *operands: SSAValue) -> SSAValue:
    """A function whose value has the type of its first operand."""
    code = recorder()
    if code is not None:
        return code.apply(function.name, operands, operands[0].type)
    return as_type(Callable[..., Operation], function)(*operands).results[0]


def cast(function: Function, x: SSAValue, target: Attribute) -> SSAValue:
    """A function that gives a number in another type, or its bits as one."""
    code = recorder()
    if code is not None:
        return code.apply(function.name, (x,), target)
    return as_type(Callable[..., Operation], function)(x, target).results[0]


def sigmoid(x: SSAValue) -> SSAValue:
    """`1 / (1 + exp(-x))`."""
    one = constant(1, x.type)
    return divide(one, add(one, apply(math.ExpOp, apply(arith.NegfOp, x))))


def widened(x: SSAValue) -> SSAValue:
    """The number in the type in which formulas are computed: f16 and bf16 become f32, all others stay."""
    is_half = isinstance(x.type, AnyFloat) and x.type.bitwidth == 16
    return cast(arith.ExtFOp, x, f32) if is_half else x


def rounded(x: SSAValue, like: SSAValue) -> SSAValue:
    """The float in the type of `like`, which is not wider."""
    return x if x.type == like.type else cast(arith.TruncFOp, x, like.type)


def order_key(x: SSAValue, *, unsigned: bool, is_ascend: bool) -> SSAValue:
    """A signed integer that is less where the number comes first in order: the two zeros are equal, nan is greatest.

    f16 and bf16 have keys of 32 bits, other numbers of as many as they have.
    """
    x = widened(x)
    if isinstance(x.type, AnyFloat):
        key = _float_key(x, x.type)
    else:
        width = _integer(x.type).width.data
        key = apply(arith.XOrIOp, x, constant(-1 << width - 1, x.type)) if unsigned else x
    return key if is_ascend else apply(arith.XOrIOp, key, constant(-1, key.type))


def _float_key(x: SSAValue, type: AnyFloat) -> SSAValue:
    zero, bits = constant(0, type), IntegerType(type.bitwidth)
    number = cast(arith.BitcastOp, select(compare("equal", x, zero), zero, x), bits)
    greatest = constant((1 << type.bitwidth - 1) - 1, bits)
    # Of negative numbers the bits below the sign grow with the distance from zero: they are turned round.
    below = apply(arith.XOrIOp, number, greatest)
    key = select(is_negative(number), below, number)
    return select(_compared(arith.CmpfOp, x, x, "uno"), greatest, key)


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
        return cast(arith.FPToUIOp if unsigned_target else arith.FPToSIOp, x, _integer(target))
    without_sign = unsigned_source or source == i1
    if isinstance(target, AnyFloat):
        return cast(arith.UIToFPOp if without_sign else arith.SIToFPOp, x, target)
    if _integer(source).width.data > _integer(target).width.data:
        return cast(arith.TruncIOp, x, _integer(target))
    return cast(arith.ExtUIOp if without_sign else arith.ExtSIOp, x, _integer(target))


def _reformatted(x: SSAValue, source: AnyFloat, target: AnyFloat) -> SSAValue:
    if source.bitwidth < target.bitwidth:
        return cast(arith.ExtFOp, x, target)
    if source.bitwidth > target.bitwidth:
        return cast(arith.TruncFOp, x, target)
    return cast(arith.TruncFOp, cast(arith.ExtFOp, x, f32), target)  # f16 and bf16: neither holds the other
