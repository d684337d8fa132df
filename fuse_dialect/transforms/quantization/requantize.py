"""Conversions between quantized numbers as one op each: `fuse.requantize` and `fuse.requantize_sum`.

What reads sums of integers and gives integers of 8 bits is, by its formula,

    cast(clip(round(f(cast(x) * scale)) + zero))

where `f` is any of: a quotient by a scale, a relu, a clip. All scales become one, and a relu or clip becomes bounds of
the integers: rounding is monotone, so `round(max(x, low)) = max(round(x), round(low))`. The sum of two quantized
numbers that is quantized again becomes one op in the same way; it reads the integers, so that no real number is stored.

The combined scale is a quotient of scales, rounded to f32: where a number lies halfway, the result may differ by one
step, as elsewhere in this pass. Nothing else may read the values in between.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, f32, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.activation import ClipOp, ReluOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, WhereOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.elementwise import IsnanOp, RoundOp
from fuse_dialect.dialect.ops.quantization import RequantizeOp, RequantizeSumOp
from fuse_dialect.dialect.types import is_unsigned, tensor_type
from fuse_dialect.transforms.quantization.patterns import Reals, elements_of, is_byte, reals_of, single
from fuse_dialect.transforms.unfinished import walk_unfinished

_MOST_STEPS = 6
_LEAST, _MOST = 1e-20, 1e10
"""Scales between which no product or sum of 32 bits overflows in f32, and no quotient vanishes."""


@dataclass(frozen=True, slots=True)
class _Quantized:
    """The end of a conversion: integers of 8 bits made of an f32 in units of their scale."""

    source: SSAValue
    """What is rounded."""
    cast: CastOp
    zero: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class _Scaled:
    """An f32 on its way: its origin, what divides it, and its bounds in units of the result."""

    source: SSAValue
    divisor: np.float32
    low: float
    high: float


def form_requantizations(module: ModuleOp) -> int:
    """Put one op in the place of each conversion between quantized numbers.

    Returns:
        How many there are now.
    """
    casts = [op for op in walk_unfinished(module) if isinstance(op, CastOp) and is_byte(op.result)]
    return sum(_rewrite(cast) for cast in casts)


def _rewrite(cast: CastOp) -> bool:
    if PATTERN_KIND_ATTRIBUTE in cast.attributes:
        return False
    end = _quantized(cast)
    if end is None:
        return False
    scaled = _scaled(end.source)
    if scaled is None:
        return False
    new = _requantize(end, scaled) or _requantize_sum(end, scaled)
    if new is None:
        return False
    new.results[0].name_hint = cast.result.name_hint
    new.location = cast.location
    Rewriter.insert_op(new, InsertPoint.before(cast))
    cast.result.replace_all_uses_with(new.results[0])
    return True


def _quantized(cast: CastOp) -> _Quantized | None:
    value = cast.input
    if tensor_type(value).element_type != f32:
        return None
    least, most = (0, 255) if is_unsigned(cast.result.type) else (-128, 127)
    bounded = _without_number_for_nan(value)
    if bounded is None and not value.has_one_use():
        return None
    value = value if bounded is None else bounded
    clip = value.owner
    if not isinstance(clip, ClipOp) or clip.min is None or clip.max is None:
        return None
    low, high = clip.min.value.data, clip.max.value.data
    if not (low == int(low) and high == int(high) and least <= low <= high <= most):
        return None
    value, zero = clip.input, 0.0
    if isinstance(value.owner, AddOp) and value.has_one_use():
        number = single(value.owner.operands[1])
        if number is None or number != int(number) or not least <= number <= most:
            return None
        value, zero = value.owner.operands[0], number
    if not isinstance(value.owner, RoundOp) or not value.has_one_use():
        return None
    return _Quantized(value.owner.operands[0], cast, int(zero), int(low), int(high))


def _without_number_for_nan(value: SSAValue) -> SSAValue | None:
    """The number for which another one stands where it is nan; integers times sound scales never are."""
    where = value.owner
    if not isinstance(where, WhereOp) or not value.has_one_use():
        return None
    test, bounded = where.condition.owner, where.rhs
    is_test = isinstance(test, IsnanOp) and test.operands[0] is bounded and test.result.has_one_use()
    return bounded if is_test and {use.operation for use in bounded.uses} == {test, where} else None


def _scaled(value: SSAValue) -> _Scaled | None:
    """Follow quotients and bounds back to what makes the number; bounds are divided as the number is."""
    divisor, low, high = np.float32(1), -np.inf, np.inf
    for _ in range(_MOST_STEPS):
        owner = value.owner
        if not value.has_one_use():
            return None
        match owner:
            case DivideOp():
                number = single(owner.operands[1])
                if number is None or not _LEAST < number < _MOST:
                    return None
                divisor = np.float32(divisor * np.float32(number))
            case ReluOp():
                low, high = _bounded(low, high, 0.0, np.inf, divisor)
            case ClipOp():
                least = -np.inf if owner.min is None else owner.min.value.data
                most = np.inf if owner.max is None else owner.max.value.data
                low, high = _bounded(low, high, least, most, divisor)
            case _:
                return _Scaled(value, divisor, low, high)
        value = owner.operands[0]
    return None


def _bounded(low: float, high: float, least: float, most: float, divisor: np.float32) -> tuple[float, float]:
    """What is left of bounds when the number was bounded before: `min(max(x, least), most)` comes first."""
    with np.errstate(all="ignore"):
        least, most = float(np.float32(least) / divisor), float(np.float32(most) / divisor)
    return min(max(least, low), high), max(min(most, high), low)


def _bounds(end: _Quantized, scaled: _Scaled) -> tuple[int | None, int | None]:
    """The integers between which a result lies, where its type alone does not say so."""
    low, high = end.low, end.high
    if np.isfinite(scaled.low):
        low = int(min(max(np.rint(scaled.low) + end.zero, low), high))
    if np.isfinite(scaled.high):
        high = int(max(min(np.rint(scaled.high) + end.zero, high), low))
    least, most = (0, 255) if is_unsigned(end.cast.result.type) else (-128, 127)
    return low if low > least else None, high if high < most else None


def _requantize(end: _Quantized, scaled: _Scaled) -> FuseOp | None:
    """The op for sums of integers times a scale."""
    multiply = scaled.source.owner
    if not isinstance(multiply, MultiplyOp) or not scaled.source.has_one_use():
        return None
    cast, scale = multiply.operands
    if not isinstance(cast.owner, CastOp) or tensor_type(cast).element_type != f32 or cast.type != scaled.source.type:
        return None
    sums, zero = cast.owner.input, 0
    if tensor_type(sums).element_type != i32 and not is_byte(sums):
        return None
    numbers = elements_of(scale)
    if numbers is None or numbers.dtype != np.float32:
        return None
    combined = _one_for_each_channel((numbers / scaled.divisor).astype(np.float32), tensor_type(sums).get_num_dims())
    if combined is None or not ((np.abs(combined[0]) < _MOST) & (numbers < _MOST)).all():
        return None
    scales, axis = combined
    made = constant(scales)
    Rewriter.insert_op(made, InsertPoint.before(end.cast))
    low, high = _bounds(end, scaled)
    return RequantizeOp(
        sums,
        made,
        axis=axis,
        input_zero=zero,
        zero=end.zero,
        low=low,
        high=high,
        out_dtype=_dtype(end),
        result_types=[end.cast.result.type],
    )


def _one_for_each_channel(scales: Array, rank: int) -> tuple[Array, int] | None:
    """Scales that broadcast as a number or a vector along one axis."""
    if scales.size == 1:
        return scales.reshape(()), 1
    shape = (1,) * (rank - scales.ndim) + scales.shape
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    return (scales.reshape(-1), axes[0]) if len(axes) == 1 else None


def _requantize_sum(end: _Quantized, scaled: _Scaled) -> FuseOp | None:
    """The op for the sum of two quantized numbers."""
    add = scaled.source.owner
    if not isinstance(add, AddOp) or not scaled.source.has_one_use():
        return None
    pair = [_part(operand) for operand in add.operands]
    if None in pair:
        return None
    (one, one_scale, one_zero), (other, other_scale, other_zero) = (each for each in pair if each is not None)
    if tensor_type(one).get_shape() != tensor_type(other).get_shape():
        return None
    low, high = _bounds(end, scaled)
    return RequantizeSumOp(
        one,
        other,
        lhs_scale=one_scale,
        lhs_zero=one_zero,
        rhs_scale=other_scale,
        rhs_zero=other_zero,
        scale=float(scaled.divisor),
        zero=end.zero,
        low=low,
        high=high,
        out_dtype=_dtype(end),
        result_types=[end.cast.result.type],
    )


def _part(value: SSAValue) -> tuple[SSAValue, float, int] | None:
    """The integers of an operand of a sum, with scale and zero point; other readers of the real number keep theirs."""
    reals: Reals | None = reals_of(value)
    if reals is None:
        return None
    scale, zero = single(reals.scale), single(reals.integers.zero)
    if scale is None or zero is None or not abs(scale) < _MOST:
        return None
    return reals.integers.q, float(scale), int(zero)


def _dtype(end: _Quantized) -> str:
    element = tensor_type(end.cast.result).element_type
    assert isinstance(element, IntegerType), "the result is integers of 8 bits"
    return "ui8" if is_unsigned(end.cast.result.type) else "i8"
