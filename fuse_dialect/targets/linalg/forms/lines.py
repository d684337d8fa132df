"""Lines of elements: running sums, orders, Fourier transforms. A line of n elements takes n * n steps."""

import math
from collections.abc import Sequence

from xdsl.dialects import math as functions
from xdsl.dialects.builtin import AnyFloat, f64, i64
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.dialect.ops.dynamic import DynTopkOp
from fuse_dialect.dialect.ops.sequences import DftOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    combined,
    constant,
    generated,
    narrowed,
    wide_type,
)


def _replaced(places: Sequence[Number], axis: int, place: Number) -> list[Number]:
    return [*places[:axis], place, *places[axis + 1 :]]


def comes_before(one: Number, other: Number) -> Number:
    """Whether a number comes before another one in ascending order: nan is the last."""
    less = one < other
    return less | (one.equals(one) & other.differs(other)) if one.is_float else less


def ranks(x: Table, axis: int, *, is_ascend: bool) -> Table:
    """For each element how many of its line come before it; of equal ones those with the lower index."""
    sizes = x.sizes()

    def body(at: Sequence[Number], along: Sequence[Number]) -> Number:
        own, other = x.at(*at), x.at(*_replaced(at, axis, along[0]))
        first, last = (other, own) if is_ascend else (own, other)
        is_before = comes_before(first, last)
        is_equal = ~is_before & ~comes_before(last, first)
        counts = is_before | (is_equal & (along[0] < at[axis]))
        return choose(counts, constant(1, i64), constant(0, i64))

    return combined(sizes, [sizes[axis]], i64, Combiner.ADD, body)


def order(x: Table, axis: int, count: Size, *, is_ascend: bool) -> Table:
    """The indices of the first `count` elements of each sorted line."""
    rank, sizes = ranks(x, axis, is_ascend=is_ascend), x.sizes()

    def body(at: Sequence[Number], along: Sequence[Number]) -> Number:
        hit = rank.at(*_replaced(at, axis, along[0])).equals(at[axis].to(i64))
        return choose(hit, along[0].to(i64), constant(0, i64))

    return combined([*sizes[:axis], count, *sizes[axis + 1 :]], [sizes[axis]], i64, Combiner.ADD, body)


def _taken(x: Table, places: Table, axis: int) -> Table:
    """The elements at indices along an axis."""
    return generated(places.sizes(), x.element, lambda at: x.at(*_replaced(at, axis, places.at(*at).index())))


def write_topk(op: DynTopkOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The first elements and their indices."""
    x = operands[0]
    axis = normalize_axis(op.axis.value.data, len(x.static_shape))
    count = operands[1].at().index()
    places = order(x, axis, count, is_ascend=bool(op.is_ascend.value.data))
    return [_taken(x, places, axis).value, places.value]


def write_dft(op: DftOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The sum of each line times the roots of unity, by the definition of the transform."""
    (x,) = operands
    axis = normalize_axis(op.axis.value.data, len(x.static_shape))
    parts, sizes, element = x.static_shape[-1], x.sizes(), wide_type(x.element)
    inverse, onesided = bool(op.inverse.value.data), bool(op.onesided.value.data)
    is_half = onesided and inverse
    length = as_index(sizes[axis])
    if op.length is not None:
        length = as_index(op.length.value.data)
    elif is_half:
        length = (length - 1) * 2
    used = length / as_index(2) + 1 if is_half else length
    used = used.least(as_index(sizes[axis]))
    shape: list[Size] = [*sizes[:-1], 1 if is_half else 2]
    shape[axis] = length / as_index(2) + 1 if onesided and not inverse else length
    sign = 1.0 if inverse else -1.0

    def body(at: Sequence[Number], along: Sequence[Number]) -> Number:
        (place,) = along
        turn = _share((at[axis] * place) % length, length, element) * (sign * 2 * math.pi)
        cosine, sine = Number(functions.CosOp(turn.value).result), Number(functions.SinOp(turn.value).result)
        line = _replaced(at, axis, place)[:-1]
        real = x.at(*line, as_index(0)).widened()
        imaginary = x.at(*line, as_index(1)).widened() if parts == 2 else constant(0, element)
        value = choose(at[-1].equals(0), real * cosine - imaginary * sine, real * sine + imaginary * cosine)
        if not is_half:
            return value
        # All but the first, and the one in the middle, stand for two.
        is_alone = place.equals(0) | (place * 2).equals(length)
        return choose(is_alone, value, value * 2)

    total = combined(shape, [used], element, Combiner.ADD, body)
    scale = length if inverse else as_index(1)

    def scaled(at: Sequence[Number]) -> Number:
        return narrowed(total.at(*at) / scale.to(i64).to(element), x.element)

    return [generated(shape, x.element, scaled).value]


def _share(place: Number, length: Number, element: Attribute) -> Number:
    """A place by the length, as a float: of each rounded once."""
    wide = element if isinstance(element, AnyFloat) else f64
    return place.to(wide) / length.to(wide)
