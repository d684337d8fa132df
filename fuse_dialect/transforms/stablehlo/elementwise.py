"""Elementwise ops: one element of the result from one of each operand."""

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerType, Signedness, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.dialect.ops.activation import SigmoidOp
from fuse_dialect.dialect.ops.conversion import BitcastOp, CastOp
from fuse_dialect.transforms.stablehlo.building import (
    NoFuseFormError,
    Rule,
    cast_to,
    dtype,
    known_number,
    number,
    result,
    scalar,
    shape,
    tensor,
    word,
)


def _of(cls: type[FuseOp]) -> Rule:
    """The rule of an op that has a `fuse` op of its own."""
    return lambda op: [result(cls(*op.operands))]


def _logical(of_booleans: type[FuseOp], of_integers: type[FuseOp]) -> Rule:
    return lambda op: [
        result((of_booleans if tensor(op.operands[0]).element_type == i1 else of_integers)(*op.operands))
    ]


def _multiply(op: Operation) -> Sequence[SSAValue]:
    is_boolean = tensor(op.operands[0]).element_type == i1
    return [result((c.LogicalAndOp if is_boolean else b.MultiplyOp)(*op.operands))]


def _maximum(op: Operation) -> Sequence[SSAValue]:
    is_boolean = tensor(op.operands[0]).element_type == i1
    return [result((c.LogicalOrOp if is_boolean else b.MaximumOp)(*op.operands))]


def _minimum(op: Operation) -> Sequence[SSAValue]:
    is_boolean = tensor(op.operands[0]).element_type == i1
    return [result((c.LogicalAndOp if is_boolean else b.MinimumOp)(*op.operands))]


def _not(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    if tensor(x).element_type == i1:
        return [result(e.LogicalNotOp(x))]
    return [
        result(
            c.BitwiseXorOp(x, scalar(x, -1) if dtype(x).kind == "i" else scalar(x, 2 ** (8 * dtype(x).itemsize) - 1))
        )
    ]


def _log_plus_one(op: Operation) -> Sequence[SSAValue]:
    """`log(1 + x)` without loss near 0: the rounding of `1 + x` cancels out.

    Source: W. Kahan, in HP-15C Advanced Functions Handbook (1982), appendix.
    """
    (x,) = op.operands
    one = scalar(x, 1.0)
    u = result(b.AddOp(x, one))
    log = result(e.LogOp(u))
    corrected = result(b.DivideOp(result(b.MultiplyOp(log, x)), result(b.SubtractOp(u, one))))
    is_plain = result(c.LogicalOrOp(result(c.EqualOp(u, x)), result(e.IsinfOp(u))))
    smooth = result(b.WhereOp(result(c.EqualOp(u, one)), x, corrected))
    return [result(b.WhereOp(is_plain, log, smooth))]


def _exponential_minus_one(op: Operation) -> Sequence[SSAValue]:
    """`exp(x) - 1` without loss near 0; see `_log_plus_one`."""
    (x,) = op.operands
    one = scalar(x, 1.0)
    u = result(e.ExpOp(x))
    less = result(b.SubtractOp(u, one))
    corrected = result(b.DivideOp(result(b.MultiplyOp(less, x)), result(e.LogOp(u))))
    small = result(c.LessOp(result(e.AbsOp(x)), scalar(x, 0.5)))
    return [result(b.WhereOp(result(c.EqualOp(u, one)), x, result(b.WhereOp(small, corrected, less))))]


def _cbrt(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    size = result(e.AbsOp(x))
    rough = result(b.PowerOp(size, scalar(x, 1 / 3)))
    # A third is no number of the type, which is many units of large ones. One step of Newton's, where there is a root.
    excess = result(b.SubtractOp(rough, result(b.DivideOp(size, result(b.MultiplyOp(rough, rough))))))
    closer = result(b.SubtractOp(rough, result(b.MultiplyOp(excess, scalar(x, 1 / 3)))))
    root = result(b.WhereOp(result(c.EqualOp(excess, excess)), closer, rough))
    return [result(b.WhereOp(result(c.LessOp(x, scalar(x, 0))), result(e.NegativeOp(root)), root))]


def _round_away(op: Operation) -> Sequence[SSAValue]:
    """Halves away from zero; adding 0.5 to the number just below it would already round up."""
    (x,) = op.operands
    size = result(e.AbsOp(x))
    below = result(e.FloorOp(size))
    is_half = result(c.GreaterEqualOp(result(b.SubtractOp(size, below)), scalar(x, 0.5)))
    rounded = result(b.AddOp(below, result(CastOp(is_half, result_types=[x.type]))))
    return [result(b.WhereOp(result(c.LessOp(x, scalar(x, 0))), result(e.NegativeOp(rounded)), rounded))]


def _is_finite(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    return [result(e.LogicalNotOp(result(c.LogicalOrOp(result(e.IsinfOp(x)), result(e.IsnanOp(x))))))]


def _atan2(op: Operation) -> Sequence[SSAValue]:
    """The angle of a point: zeros and infinities count with their signs, as IEEE 754 has it."""
    y, x = op.operands
    zero, pi = scalar(x, 0), scalar(x, math.pi)
    both_zero = result(c.LogicalAndOp(result(c.EqualOp(x, zero)), result(c.EqualOp(y, zero))))
    both_infinite = result(c.LogicalAndOp(result(e.IsinfOp(x)), result(e.IsinfOp(y))))
    near_y = result(b.WhereOp(both_infinite, result(e.SignOp(y)), y))
    near_x = result(b.WhereOp(both_infinite, result(e.SignOp(x)), x))
    angle = result(t.AtanOp(result(b.DivideOp(near_y, near_x))))
    angle = result(b.WhereOp(both_zero, y, angle))
    half_turn = result(b.WhereOp(_is_negative(y), result(e.NegativeOp(pi)), pi))
    return [result(b.WhereOp(_is_negative(x), result(b.AddOp(angle, half_turn)), angle))]


def _is_negative(x: SSAValue) -> SSAValue:
    """Whether the sign is set, also that of a zero: its reciprocal is an infinity of the same sign."""
    zero = scalar(x, 0)
    below = result(c.LessOp(x, zero))
    return result(c.LogicalOrOp(below, result(c.LessOp(result(e.ReciprocalOp(x)), zero))))


def _clamp(op: Operation) -> Sequence[SSAValue]:
    low, x, high = op.operands
    return [result(b.MinimumOp(result(b.MaximumOp(x, low)), high))]


_DIRECTIONS: Mapping[str, type[FuseOp]] = {
    "EQ": c.EqualOp,
    "NE": c.NotEqualOp,
    "LT": c.LessOp,
    "LE": c.LessEqualOp,
    "GT": c.GreaterOp,
    "GE": c.GreaterEqualOp,
}


def _compare(op: Operation) -> Sequence[SSAValue]:
    if word(op, "compare_type") == "TOTALORDER":
        raise NoFuseFormError("a total order of floats")
    return [result(_DIRECTIONS[word(op, "comparison_direction")](*op.operands))]


def _select(op: Operation) -> Sequence[SSAValue]:
    return [result(b.WhereOp(*op.operands))]


def _shift(make: Callable[[SSAValue, SSAValue], SSAValue]) -> Rule:
    """A shift that is 0, or all sign, for distances beyond the width; `fuse` shifts are undefined there."""

    def rule(op: Operation) -> Sequence[SSAValue]:
        x, distance = op.operands
        width = 8 * dtype(x).itemsize
        known = known_number(distance)
        if known is not None and 0 <= int(known) < width:
            return [make(x, distance)]
        is_in_range = result(c.LessOp(distance, scalar(distance, width)))
        if dtype(distance).kind == "i":
            is_in_range = result(c.LogicalAndOp(is_in_range, result(c.GreaterEqualOp(distance, scalar(distance, 0)))))
        safe = result(b.WhereOp(is_in_range, distance, scalar(distance, 0)))
        beyond = scalar(x, 0)
        if op.name == "stablehlo.shift_right_arithmetic" and dtype(x).kind == "i":
            beyond = result(c.RightShiftOp(x, scalar(x, width - 1)))
        return [result(b.WhereOp(is_in_range, make(x, safe), beyond))]

    return rule


def _shift_right_logical(x: SSAValue, distance: SSAValue) -> SSAValue:
    if dtype(x).kind == "u":
        return result(c.RightShiftOp(x, distance))
    unsigned = unsigned_of(x)
    shifted = result(c.RightShiftOp(bitcast(x, unsigned), bitcast(distance, unsigned)))
    return bitcast(shifted, tensor(x))


def unsigned_of(x: SSAValue) -> TensorType[Attribute]:
    """The type of unsigned integers of the same width and sizes."""
    return TensorType(IntegerType(8 * dtype(x).itemsize, Signedness.UNSIGNED), shape(x))


def bitcast(x: SSAValue, type_: TensorType[Attribute]) -> SSAValue:
    """The same bits as another type of the same width."""
    return x if x.type == type_ else result(BitcastOp(x, result_types=[type_]))


def _bitcast_convert(op: Operation) -> Sequence[SSAValue]:
    if shape(op.operands[0]) != shape(op.results[0]):
        raise NoFuseFormError("another width")
    return [bitcast(op.operands[0], tensor(op.results[0]))]


def _reduce_precision(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    form = number(op, "exponent_bits"), number(op, "mantissa_bits")
    narrow = {(8, 7): BFloat16Type(), (5, 10): Float16Type()}.get(form)
    own = tensor(x).element_type
    if form == (8, 23) and isinstance(own, Float32Type):
        return [x]
    if narrow is None or not isinstance(own, Float32Type):
        raise NoFuseFormError("a format that is no type")
    return [cast_to(cast_to(x, narrow), own)]


def _convert(op: Operation) -> Sequence[SSAValue]:
    return [cast_to(op.operands[0], tensor(op.results[0]).element_type)]


def _erfc(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    return [result(b.SubtractOp(scalar(x, 1.0), result(e.ErfOp(x))))]


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


def _erf_inv(op: Operation) -> Sequence[SSAValue]:
    """Source: M. Giles, "Approximating the erfinv function" (2010), the single-precision polynomials."""
    (x,) = op.operands
    if not isinstance(tensor(x).element_type, Float32Type):
        raise NoFuseFormError("elements other than f32")
    one = scalar(x, 1.0)
    square = result(b.MultiplyOp(x, x))
    w = result(e.NegativeOp(result(e.LogOp(result(b.SubtractOp(one, square))))))
    central = _polynomial(result(b.SubtractOp(w, scalar(x, 2.5))), _ERF_INV_CENTRAL)
    tail = _polynomial(result(b.SubtractOp(result(e.SqrtOp(w)), scalar(x, 3.0))), _ERF_INV_TAIL)
    value = result(b.MultiplyOp(result(b.WhereOp(result(c.LessOp(w, scalar(x, 5.0))), central, tail)), x))
    is_end = result(c.EqualOp(result(e.AbsOp(x)), one))
    return [result(b.WhereOp(is_end, result(b.MultiplyOp(x, scalar(x, math.inf))), value))]


def _polynomial(x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Horner's scheme, the coefficient of the highest power first."""
    value = scalar(x, coefficients[0])
    for each in coefficients[1:]:
        value = result(b.AddOp(result(b.MultiplyOp(value, x)), scalar(x, each)))
    return value


_LANCZOS = (
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)


def _lgamma(op: Operation) -> Sequence[SSAValue]:
    """Logarithm of the absolute gamma function, by reflection for numbers below 1/2.

    Source: C. Lanczos, "A precision approximation of the gamma function" (1964), with g = 7 and 9 terms.
    """
    (x,) = op.operands
    half, one = scalar(x, 0.5), scalar(x, 1.0)
    is_small = result(c.LessOp(x, half))
    z = result(b.WhereOp(is_small, result(e.NegativeOp(x)), result(b.SubtractOp(x, one))))
    series = scalar(x, 0.99999999999980993227684700473478)
    for index, coefficient in enumerate(_LANCZOS, 1):
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
    return [result(b.WhereOp(infinite, size, value))]


def _popcnt(op: Operation) -> Sequence[SSAValue]:
    """Sums of neighbouring bits, then of pairs, and so on: every field holds the number of bits that it had.

    Source: H. S. Warren, Hacker's Delight (2002), section 5-1.
    """
    (x,) = op.operands
    own, width = tensor(x), 8 * dtype(x).itemsize
    bits = bitcast(x, unsigned_of(x))
    step = 1
    while step < width:
        low = sum(((1 << step) - 1) << start for start in range(0, width, 2 * step))
        mask = scalar(bits, low)
        upper = result(c.RightShiftOp(bits, scalar(bits, step)))
        bits = result(b.AddOp(result(c.BitwiseAndOp(bits, mask)), result(c.BitwiseAndOp(upper, mask))))
        step *= 2
    return [bitcast(bits, own)]


def _square(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    return [result(b.MultiplyOp(x, x))]


def _remainder(op: Operation) -> Sequence[SSAValue]:
    return [result(b.ModOp(*op.operands, fmod=True))]


def _is_infinite(*, negative: bool, positive: bool) -> Rule:
    return lambda op: [result(e.IsinfOp(*op.operands, detect_negative=negative, detect_positive=positive))]


ELEMENTWISE: Mapping[str, Rule] = {
    "stablehlo.abs": _of(e.AbsOp),
    "stablehlo.add": _of(b.AddOp),
    "stablehlo.and": _logical(c.LogicalAndOp, c.BitwiseAndOp),
    "stablehlo.atan2": _atan2,
    "stablehlo.bitcast_convert": _bitcast_convert,
    "stablehlo.cbrt": _cbrt,
    "stablehlo.ceil": _of(e.CeilOp),
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.convert": _convert,
    "stablehlo.cosine": _of(t.CosOp),
    "stablehlo.divide": _of(b.DivideOp),
    "stablehlo.exponential": _of(e.ExpOp),
    "stablehlo.exponential_minus_one": _exponential_minus_one,
    "stablehlo.floor": _of(e.FloorOp),
    "stablehlo.is_finite": _is_finite,
    "stablehlo.log": _of(e.LogOp),
    "stablehlo.log_plus_one": _log_plus_one,
    "stablehlo.logistic": _of(SigmoidOp),
    "stablehlo.maximum": _maximum,
    "stablehlo.minimum": _minimum,
    "stablehlo.multiply": _multiply,
    "stablehlo.negate": _of(e.NegativeOp),
    "stablehlo.not": _not,
    "stablehlo.or": _logical(c.LogicalOrOp, c.BitwiseOrOp),
    "stablehlo.popcnt": _popcnt,
    "stablehlo.power": _of(b.PowerOp),
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.remainder": _remainder,
    "stablehlo.round_nearest_afz": _round_away,
    "stablehlo.round_nearest_even": _of(e.RoundOp),
    "stablehlo.rsqrt": _of(e.RsqrtOp),
    "stablehlo.select": _select,
    "stablehlo.shift_left": _shift(lambda x, distance: result(c.LeftShiftOp(x, distance))),
    "stablehlo.shift_right_arithmetic": _shift(lambda x, distance: result(c.RightShiftOp(x, distance))),
    "stablehlo.shift_right_logical": _shift(_shift_right_logical),
    "stablehlo.sign": _of(e.SignOp),
    "stablehlo.sine": _of(t.SinOp),
    "stablehlo.sqrt": _of(e.SqrtOp),
    "stablehlo.subtract": _of(b.SubtractOp),
    "stablehlo.tan": _of(t.TanOp),
    "stablehlo.tanh": _of(t.TanhOp),
    "stablehlo.xor": _logical(c.LogicalXorOp, c.BitwiseXorOp),
    "chlo.acos": _of(t.AcosOp),
    "chlo.acosh": _of(t.AcoshOp),
    "chlo.asin": _of(t.AsinOp),
    "chlo.asinh": _of(t.AsinhOp),
    "chlo.atan": _of(t.AtanOp),
    "chlo.atanh": _of(t.AtanhOp),
    "chlo.cosh": _of(t.CoshOp),
    "chlo.erf": _of(e.ErfOp),
    "chlo.erf_inv": _erf_inv,
    "chlo.erfc": _erfc,
    "chlo.is_inf": _is_infinite(negative=True, positive=True),
    "chlo.is_neg_inf": _is_infinite(negative=True, positive=False),
    "chlo.is_pos_inf": _is_infinite(negative=False, positive=True),
    "chlo.lgamma": _lgamma,
    "chlo.sinh": _of(t.SinhOp),
    "chlo.square": _square,
    "chlo.tan": _of(t.TanOp),
}
"""Rules by the name of the op."""
