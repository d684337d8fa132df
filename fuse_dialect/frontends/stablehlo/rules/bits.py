"""Ops that look at the bits of numbers."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops.conversion import BitcastOp
from fuse_dialect.dialect.ops.reduction import SumOp
from fuse_dialect.dialect.types import element_dtype
from fuse_dialect.frontends.fuse_values import NoFuseFormError, cast_to, dtype, result, scalar, shape, tensor
from fuse_dialect.frontends.stablehlo.rules.building import Rule, number
from fuse_dialect.frontends.stablehlo.rules.sizes import insert_axes


def unsigned_of(x: SSAValue) -> TensorType[Attribute]:
    """The type of unsigned integers of the same width and sizes."""
    return TensorType(IntegerType(8 * dtype(x).itemsize, Signedness.UNSIGNED), shape(x))


def bitcast(x: SSAValue, type_: TensorType[Attribute]) -> SSAValue:
    """The same bits as another type of the same width."""
    return x if x.type == type_ else result(BitcastOp(x, result_types=[type_]))


def _bitcast_convert(op: Operation) -> Sequence[SSAValue]:
    """The same bits as another type; where widths differ, on an axis behind the others, the lowest bits first."""
    (x,), target = op.operands, tensor(op.results[0])
    before, after = _width(tensor(x).element_type), _width(target.element_type)
    if before == after:
        return [bitcast(x, target)]
    wide = _unsigned(max(before, after))
    parts, narrow = max(before, after) // min(before, after), min(before, after)
    places = constant((np.arange(parts) * narrow).astype(element_dtype(wide))).result
    if before > after:
        bits = insert_axes(bitcast(x, TensorType(wide, shape(x))), [len(shape(x))])
        found = _and(result(c.RightShiftOp(bits, places)), (1 << narrow) - 1)
        part = cast_to(found, i1 if narrow == 1 else _unsigned(narrow))
        return [bitcast(part, TensorType(target.element_type, shape(part)))]
    part = x if narrow == 1 else bitcast(x, TensorType(_unsigned(narrow), shape(x)))
    bits = result(c.LeftShiftOp(cast_to(part, wide), places))
    return [bitcast(result(SumOp(bits, axes=[len(shape(x)) - 1])), target)]


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


def _width(element: Attribute) -> int:
    """Bits of an element of one bit or of whole bytes."""
    if not isinstance(element, FixedBitwidthType) or (element.bitwidth != 1 and element.bitwidth % 8):
        raise NoFuseFormError(f"bits of {element}")
    return element.bitwidth


def signed_of(x: SSAValue) -> TensorType[Attribute]:
    """The type of signed integers of the same width and sizes."""
    return TensorType(IntegerType(8 * dtype(x).itemsize), shape(x))


def _and(x: SSAValue, mask: int) -> SSAValue:
    return result(c.BitwiseAndOp(x, scalar(x, mask)))


def _right(x: SSAValue, distance: int) -> SSAValue:
    return result(c.RightShiftOp(x, scalar(x, distance)))


def _popcnt(op: Operation) -> Sequence[SSAValue]:
    """Sums of neighbouring bits, then of pairs, and so on: every field holds the number of bits that it had.

    Source: H. S. Warren, Hacker's Delight (2002), section 5-1.
    """
    (x,) = op.operands
    return [bitcast(_ones(bitcast(x, unsigned_of(x))), tensor(x))]


def _ones(bits: SSAValue) -> SSAValue:
    """How many bits of unsigned integers are set."""
    width, step = 8 * dtype(bits).itemsize, 1
    while step < width:
        low = sum(((1 << step) - 1) << start for start in range(0, width, 2 * step))
        bits = result(b.AddOp(_and(bits, low), _and(_right(bits, step), low)))
        step *= 2
    return bits


def _count_leading_zeros(op: Operation) -> Sequence[SSAValue]:
    """All bits but those from the first that is set on: it is copied to all below it."""
    (x,) = op.operands
    bits, width = bitcast(x, unsigned_of(x)), 8 * dtype(x).itemsize
    step = 1
    while step < width:
        bits = result(c.BitwiseOrOp(bits, _right(bits, step)))
        step *= 2
    return [bitcast(result(b.SubtractOp(scalar(bits, width), _ones(bits))), tensor(x))]


def _multiply_high(op: Operation) -> Sequence[SSAValue]:
    """The upper half of a product of twice the width."""
    x, y = op.operands
    kind, width = dtype(x).kind, 8 * dtype(x).itemsize
    if width < 64:
        wide = IntegerType(2 * width, Signedness.UNSIGNED if kind == "u" else Signedness.SIGNLESS)
        product = result(b.MultiplyOp(cast_to(x, wide), cast_to(y, wide)))
        return [cast_to(_right(product, width), tensor(x).element_type)]
    high = _unsigned_high(*(bitcast(each, unsigned_of(each)) for each in (x, y)))
    if kind == "u":
        return [high]
    # A negative number is 2^64 less than its bits say: the upper half is as much less as the other factor.
    signed, zero = bitcast(high, tensor(x)), scalar(x, 0)
    for one, other in ((x, y), (y, x)):
        signed = result(b.SubtractOp(signed, result(b.WhereOp(result(c.LessOp(one, zero)), other, zero))))
    return [signed]


def _unsigned_high(x: SSAValue, y: SSAValue) -> SSAValue:
    """The upper 64 bits of a product of unsigned numbers, from products of their halves.

    Source: H. S. Warren, Hacker's Delight (2002), section 8-2.
    """
    low = (1 << 32) - 1
    x_low, x_high, y_low, y_high = _and(x, low), _right(x, 32), _and(y, low), _right(y, 32)
    lowest = result(b.MultiplyOp(x_low, y_low))
    middle = result(b.AddOp(result(b.MultiplyOp(x_high, y_low)), _right(lowest, 32)))
    other = result(b.AddOp(result(b.MultiplyOp(x_low, y_high)), _and(middle, low)))
    high = result(b.AddOp(result(b.MultiplyOp(x_high, y_high)), _right(middle, 32)))
    return result(b.AddOp(high, _right(other, 32)))


def _next_after(op: Operation) -> Sequence[SSAValue]:
    """The float beside `x` on the way to `y`: the bits of one sign are in the order of magnitudes.

    Source: nextafter of C99, 7.12.11.3.
    """
    x, y = op.operands
    x_bits, y_bits = (bitcast(each, signed_of(each)) for each in (x, y))
    sign, zero, one = -1 << (8 * dtype(x).itemsize - 1), scalar(x_bits, 0), scalar(x_bits, 1)
    x_size, y_size = (_and(each, ~sign) for each in (x_bits, y_bits))
    signs_differ = result(c.LessOp(result(c.BitwiseXorOp(x_bits, y_bits)), zero))
    shrinks = result(c.LogicalOrOp(signs_differ, result(c.GreaterOp(x_size, y_size))))
    stepped = result(b.AddOp(x_bits, result(b.WhereOp(shrinks, scalar(x_bits, -1), one))))
    from_zero = result(c.BitwiseOrOp(_and(y_bits, sign), one))
    bits = result(b.WhereOp(result(c.EqualOp(x_size, zero)), from_zero, stepped))
    near = result(b.WhereOp(result(c.EqualOp(x, y)), y, bitcast(bits, tensor(x))))
    # A sum with nan is nan.
    unordered = result(c.LogicalOrOp(result(e.IsnanOp(x)), result(e.IsnanOp(y))))
    return [result(b.WhereOp(unordered, result(b.AddOp(x, y)), near))]


_FORMATS: Mapping[type[Attribute], tuple[int, int]] = {
    BFloat16Type: (8, 7),
    Float16Type: (5, 10),
    Float32Type: (8, 23),
    Float64Type: (11, 52),
}
"""Bits of the exponent and of the mantissa."""


def _reduce_precision(op: Operation) -> Sequence[SSAValue]:
    """The nearest number of a format, ties to even; what is too small for it is zero, what is too large is infinite.

    Source: `reduce_precision` in docs/spec.md of openxla/stablehlo, and its interpreter for denormal numbers.
    """
    (x,) = op.operands
    exponent, mantissa = number(op, "exponent_bits"), number(op, "mantissa_bits")
    own_exponent, own_mantissa = _FORMATS[type(tensor(x).element_type)]
    if mantissa >= own_mantissa and exponent >= own_exponent:
        return [x]
    if (exponent, mantissa) == (8, 7) and isinstance(tensor(x).element_type, Float32Type):
        return [cast_to(cast_to(x, BFloat16Type()), tensor(x).element_type)]
    bits = bitcast(x, unsigned_of(x))
    if mantissa < own_mantissa:
        last = 1 << own_mantissa - mantissa
        is_odd = _right(_and(bits, last), own_mantissa - mantissa)
        bits = result(b.AddOp(result(b.AddOp(bits, scalar(bits, (last >> 1) - 1))), is_odd))
        bits = _and(bits, (1 << 8 * dtype(x).itemsize) - last)
    if exponent < own_exponent:
        bits = _bounded(bits, own_exponent, own_mantissa, exponent)
    unordered = x if mantissa else scalar(x, float("inf"))
    return [result(b.WhereOp(result(e.IsnanOp(x)), unordered, bitcast(bits, tensor(x))))]


def _bounded(bits: SSAValue, own_exponent: int, own_mantissa: int, exponent: int) -> SSAValue:
    """Zero or infinity for numbers whose exponent is none of so many bits."""
    infinite = ((1 << own_exponent) - 1) << own_mantissa
    sign = 1 << own_exponent + own_mantissa
    bias, reduced = (1 << own_exponent - 1) - 1, (1 << exponent - 1) - 1
    field = _and(bits, infinite)
    too_large = result(c.GreaterOp(field, scalar(bits, bias + reduced << own_mantissa)))
    too_small = result(c.LessEqualOp(field, scalar(bits, bias - reduced << own_mantissa)))
    zero = _and(bits, sign)
    infinity = result(c.BitwiseOrOp(zero, scalar(bits, infinite)))
    return result(b.WhereOp(too_small, zero, result(b.WhereOp(too_large, infinity, bits))))


BITS: Mapping[str, Rule] = {
    "stablehlo.bitcast_convert": _bitcast_convert,
    "stablehlo.count_leading_zeros": _count_leading_zeros,
    "stablehlo.popcnt": _popcnt,
    "stablehlo.reduce_precision": _reduce_precision,
    "chlo.mulhi": _multiply_high,
    "chlo.next_after": _next_after,
}
"""Rules by the name of the op."""
