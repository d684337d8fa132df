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


def in_range(wanted: SSAValue, size: int, *, wraps: bool = False) -> SSAValue:
    """An index counted from the front, and clipped or wrapped around: code never reads beyond an operand."""
    if not size:
        raise LoopFormError("takes from nothing")
    zero, count = scalars.constant(0, i64), scalars.constant(size, i64)
    place = scalars.select(scalars.is_negative(wanted), scalars.add(wanted, count), wanted)
    if wraps:
        rest = scalars.apply(arith.RemSIOp, place, count)
        return scalars.select(scalars.is_negative(rest), scalars.add(rest, count), rest)
    return scalars.minimum(scalars.maximum(place, zero), scalars.constant(size - 1, i64))


def position_in(nest: Nest, at: Sequence[Index], sizes: Sequence[int]) -> SSAValue:
    """The numbers in the last axis of the indices as one place in an array of these sizes, in row-major order."""
    place = scalars.constant(0, i64)
    for axis, size in enumerate(sizes):
        step = in_range(index_at(nest, [*at, number(axis)]), size)
        place = scalars.add(scalars.multiply(place, scalars.constant(size, i64)), step) if axis else step
    return place


def is_outside(wanted: SSAValue, size: int) -> SSAValue:
    """Whether an index names no element, counted from either end."""
    is_below = scalars.compare("less", wanted, scalars.constant(-size, i64))
    is_above = scalars.compare("greater_equal", wanted, scalars.constant(size, i64))
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
        is_outside(index_at(nest, [*at, number(axis)]), size) for axis, size in enumerate(nest.static(*sizes[:count]))
    ]
    return nest.total(Combiner.OR, reduce(_either, outside))


def _either(one: SSAValue, other: SSAValue) -> SSAValue:
    return scalars.apply(arith.OrIOp, one, other)
