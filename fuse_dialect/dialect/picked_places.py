"""Indices that are data, as scalar code: which element they name, and whether there is one.

They are operand 1 of an op where nothing else is said, and count from the end where they are negative.
"""

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.loops import LoopFormError, Nest
from fuse_dialect.dialect.types import is_unsigned
from fuse_dialect.loops.indices import Index, number
from fuse_dialect.loops.program import Combiner


def index_at(nest: Nest, at: Sequence[Index], operand: int = 1) -> SSAValue:
    """An element of the indices, as i64."""
    index = nest.read(operand, at)
    return scalars.convert(index, i64, unsigned_source=is_unsigned(nest.type_of(operand)), unsigned_target=False)


def in_range(nest: Nest, wanted: SSAValue, *sizes: Size, wraps: bool = False) -> SSAValue:
    """An index counted from the front, and clipped or wrapped around: code never reads beyond an operand.

    Args:
        nest: Where the code runs.
        wanted: The index.
        sizes: Of the axes that are counted together.
        wraps: Whether it wraps around.
    """
    if 0 in sizes:
        raise LoopFormError("takes from nothing")
    zero, count = scalars.constant(0, i64), nest.count(*sizes)
    place = scalars.select(scalars.is_negative(wanted), scalars.add(wanted, count), wanted)
    if wraps:
        rest = scalars.apply(arith.RemSIOp, place, count)
        return scalars.select(scalars.is_negative(rest), scalars.add(rest, count), rest)
    return scalars.minimum(scalars.maximum(place, zero), nest.count(*sizes, plus=-1))


def position_in(nest: Nest, at: Sequence[Index], sizes: Sequence[Size]) -> SSAValue:
    """The numbers in the last axis of the indices as one place in an array of these sizes, in row-major order."""
    place = scalars.constant(0, i64)
    for axis, size in enumerate(sizes):
        step = in_range(nest, index_at(nest, [*at, number(axis)]), size)
        place = scalars.add(scalars.multiply(place, nest.count(size)), step) if axis else step
    return place


def unfolded(nest: Nest, place: SSAValue, sizes: Sequence[Size]) -> list[SSAValue]:
    """The indices of the element of an array of these sizes that has a place in row-major order."""
    places: list[SSAValue] = []
    for size in reversed(sizes):
        places.insert(0, scalars.apply(arith.RemSIOp, place, nest.count(size)))
        place = scalars.apply(arith.DivSIOp, place, nest.count(size))
    return places


def place_in_order(nest: Nest, axis: int, *, is_ascend: bool) -> SSAValue:
    """For the element of `nest.at` the place of the one that comes there when the line of operand 0 is sorted."""
    point = nest.reduced(*nest.counted(nest.shape(0)[axis]))
    element = nest.read(0, [*nest.at[:axis], point, *nest.at[axis + 1 :]])
    key = scalars.order_key(element, unsigned=is_unsigned(nest.type_of(0)), is_ascend=is_ascend)
    return nest.place_in_order(axis, key)


def is_outside(nest: Nest, wanted: SSAValue, size: Size) -> SSAValue:
    """Whether an index names no element of an axis, counted from either end."""
    if isinstance(size, int):
        least = scalars.constant(-size, i64)
    else:
        least = scalars.subtract(scalars.constant(0, i64), nest.count(size))
    is_below = scalars.compare("less", wanted, least)
    is_above = scalars.compare("greater_equal", wanted, nest.count(size))
    return scalars.apply(arith.OrIOp, is_below, is_above)


def any_outside(nest: Nest, at: Sequence[Index], sizes: Sequence[Size], depth: Size) -> SSAValue:
    """Whether a number of a position, in the last axis of the indices, is out of range.

    Args:
        nest: Its reduced axes are those of `at`.
        at: Indices of a position.
        sizes: Of what is indexed; the first `depth` count.
        depth: Numbers of a position.
    """
    (count,) = nest.static(depth)
    outside: list[SSAValue] = [
        is_outside(nest, index_at(nest, [*at, number(axis)]), size) for axis, size in enumerate(sizes[:count])
    ]
    return nest.total(Combiner.OR, reduce(_either, outside))


def _either(one: SSAValue, other: SSAValue) -> SSAValue:
    return scalars.apply(arith.OrIOp, one, other)


def bounded(number: SSAValue, size: SSAValue, *, is_back: bool) -> SSAValue:
    """A bound of a slice along an axis of a size, as `slice.indices` brings it into range; both are i64."""
    counted = scalars.select(scalars.is_negative(number), scalars.add(number, size), number)
    least = scalars.constant(-1 if is_back else 0, i64)
    most = scalars.subtract(size, scalars.constant(1, i64)) if is_back else size
    return scalars.minimum(scalars.maximum(counted, least), most)


def repeated(place: SSAValue, count: SSAValue, mode: str) -> SSAValue:
    """The element of an axis that padding repeats at a place, which may be outside; `edge`, `reflect` or `wrap`."""
    zero, one = scalars.constant(0, i64), scalars.constant(1, i64)
    last = scalars.subtract(count, one)
    if mode != "edge":
        turn = scalars.multiply(last, scalars.constant(2, i64)) if mode == "reflect" else count
        turn = scalars.maximum(turn, one)
        rest = scalars.apply(arith.RemSIOp, place, turn)
        place = scalars.select(scalars.is_negative(rest), scalars.add(rest, turn), rest)
        if mode == "reflect":
            place = scalars.minimum(place, scalars.subtract(turn, place))
    return scalars.maximum(scalars.minimum(scalars.maximum(place, zero), last), zero)
