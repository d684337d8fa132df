"""Elementwise ops: one element of the result from one of each operand."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ComplexType, i1
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.dialect.ops.activation import SigmoidOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    cast_to,
    dtype,
    result,
    scalar,
    static_shape,
    tensor,
)
from fuse_dialect.frontends.stablehlo.rules.bits import BITS, bitcast, signed_of, unsigned_of
from fuse_dialect.frontends.stablehlo.rules.building import Rule, known_number, word
from fuse_dialect.frontends.stablehlo.rules.gamma_functions import GAMMA_FUNCTIONS
from fuse_dialect.frontends.stablehlo.rules.orders import order_key
from fuse_dialect.frontends.stablehlo.rules.special_functions import SPECIAL_FUNCTIONS


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


def _add(op: Operation) -> Sequence[SSAValue]:
    is_boolean = tensor(op.operands[0]).element_type == i1
    return [result((c.LogicalOrOp if is_boolean else b.AddOp)(*op.operands))]


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
    is_total = word(op, "compare_type") == "TOTALORDER"
    operands = [order_key(each) for each in op.operands] if is_total else op.operands
    return [result(_DIRECTIONS[word(op, "comparison_direction")](*operands))]


def _select(op: Operation) -> Sequence[SSAValue]:
    return [result(b.WhereOp(*op.operands))]


def _shift(make: Callable[[SSAValue, SSAValue], SSAValue], *, is_arithmetic: bool = False) -> Rule:
    """A shift that is 0, or all sign, for distances beyond the width; `fuse` shifts are undefined there.

    Where it is arithmetic, the highest bit is a sign in integers without one, too.
    """

    def rule(op: Operation) -> Sequence[SSAValue]:
        x, distance = op.operands
        if is_arithmetic:
            x, distance = (bitcast(each, signed_of(each)) for each in (x, distance))
        width = 8 * dtype(x).itemsize
        known = known_number(distance)
        if known is not None and 0 <= int(known) < width:
            return [bitcast(make(x, distance), tensor(op.results[0]))]
        is_in_range = result(c.LessOp(distance, scalar(distance, width)))
        if dtype(distance).kind == "i":
            is_in_range = result(c.LogicalAndOp(is_in_range, result(c.GreaterEqualOp(distance, scalar(distance, 0)))))
        safe = result(b.WhereOp(is_in_range, distance, scalar(distance, 0)))
        beyond = result(c.RightShiftOp(x, scalar(x, width - 1))) if is_arithmetic else scalar(x, 0)
        return [bitcast(result(b.WhereOp(is_in_range, make(x, safe), beyond)), tensor(op.results[0]))]

    return rule


def _shift_right_logical(x: SSAValue, distance: SSAValue) -> SSAValue:
    if dtype(x).kind == "u":
        return result(c.RightShiftOp(x, distance))
    unsigned = unsigned_of(x)
    shifted = result(c.RightShiftOp(bitcast(x, unsigned), bitcast(distance, unsigned)))
    return bitcast(shifted, tensor(x))


def _convert(op: Operation) -> Sequence[SSAValue]:
    return [cast_to(op.operands[0], tensor(op.results[0]).element_type)]


def _real(op: Operation) -> Sequence[SSAValue]:
    """A real number is its own real part."""
    return [_of_real_numbers(op)]


def _imag(op: Operation) -> Sequence[SSAValue]:
    x = _of_real_numbers(op)
    return [broadcast(scalar(x, 0), static_shape(x))]


def _of_real_numbers(op: Operation) -> SSAValue:
    if isinstance(tensor(op.operands[0]).element_type, ComplexType):
        raise NoFuseFormError("complex numbers")
    return op.operands[0]


def _square(op: Operation) -> Sequence[SSAValue]:
    (x,) = op.operands
    return [result(b.MultiplyOp(x, x))]


def _remainder(op: Operation) -> Sequence[SSAValue]:
    return [result(b.ModOp(*op.operands, fmod=True))]


def _is_infinite(*, negative: bool, positive: bool) -> Rule:
    return lambda op: [result(e.IsinfOp(*op.operands, detect_negative=negative, detect_positive=positive))]


ELEMENTWISE: Mapping[str, Rule] = {
    **BITS,
    **SPECIAL_FUNCTIONS,
    **GAMMA_FUNCTIONS,
    "stablehlo.abs": _of(e.AbsOp),
    "stablehlo.add": _add,
    "stablehlo.and": _logical(c.LogicalAndOp, c.BitwiseAndOp),
    "stablehlo.ceil": _of(e.CeilOp),
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.convert": _convert,
    "stablehlo.cosine": _of(t.CosOp),
    "stablehlo.divide": _of(b.DivideOp),
    "stablehlo.exponential": _of(e.ExpOp),
    "stablehlo.floor": _of(e.FloorOp),
    "stablehlo.is_finite": _is_finite,
    "stablehlo.log": _of(e.LogOp),
    "stablehlo.logistic": _of(SigmoidOp),
    "stablehlo.maximum": _maximum,
    "stablehlo.minimum": _minimum,
    "stablehlo.multiply": _multiply,
    "stablehlo.negate": _of(e.NegativeOp),
    "stablehlo.not": _not,
    "stablehlo.or": _logical(c.LogicalOrOp, c.BitwiseOrOp),
    "stablehlo.power": _of(b.PowerOp),
    "stablehlo.imag": _imag,
    "stablehlo.real": _real,
    "stablehlo.remainder": _remainder,
    "stablehlo.round_nearest_afz": _round_away,
    "stablehlo.round_nearest_even": _of(e.RoundOp),
    "stablehlo.rsqrt": _of(e.RsqrtOp),
    "stablehlo.select": _select,
    "stablehlo.shift_left": _shift(lambda x, distance: result(c.LeftShiftOp(x, distance))),
    "stablehlo.shift_right_arithmetic": _shift(
        lambda x, distance: result(c.RightShiftOp(x, distance)), is_arithmetic=True
    ),
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
    "chlo.is_inf": _is_infinite(negative=True, positive=True),
    "chlo.is_neg_inf": _is_infinite(negative=True, positive=False),
    "chlo.is_pos_inf": _is_infinite(negative=False, positive=True),
    "chlo.sinh": _of(t.SinhOp),
    "chlo.square": _square,
    "chlo.tan": _of(t.TanOp),
}
"""Rules by the name of the op."""
