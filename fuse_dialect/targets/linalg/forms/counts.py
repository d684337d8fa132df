"""Ops whose number of results depends on values: it is counted first, then each result finds what it stands for."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.opaque import ArgwhereOp
from fuse_dialect.dialect.ops.selection import UniqueOp
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    combined,
    constant,
    element_count,
    generated,
    neutral,
    row_major,
    unfolded,
)
from fuse_dialect.targets.linalg.forms.lines import comes_before


def _one_if(condition: Number) -> Number:
    return choose(condition, constant(1, i64), constant(0, i64))


def write_argwhere(op: ArgwhereOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The indices of each element that is not zero."""
    return [places_of(operands[0]).value]


def places_of(x: Table) -> Table:
    """The indices of the elements that are not zero: row k is of the one that k others precede."""
    sizes, rank = x.sizes(), len(x.static_shape)
    loops: list[Size] = sizes or [1]

    def counts(at: Sequence[Number]) -> Number:
        return x.at(*at[:rank]).differs(0)

    def here(_: Sequence[Number], at: Sequence[Number]) -> Number:
        return _one_if(counts(at))

    total = combined([], loops, i64, Combiner.ADD, here)

    def precedes(at: Sequence[Number], other: Sequence[Number]) -> Number:
        return _one_if(counts(other) & (row_major(other, loops) < row_major(at, loops)))

    before = combined(loops, loops, i64, Combiner.ADD, precedes)

    def index(at: Sequence[Number], other: Sequence[Number]) -> Number:
        hit = counts(other) & before.at(*other).equals(at[0].to(i64))
        place = as_index(0)
        for axis in range(rank):
            place = choose(at[1].equals(axis), other[axis], place)
        return choose(hit, place.to(i64), constant(0, i64))

    return combined([total.at().index(), rank], loops, i64, Combiner.ADD, index)


def write_unique(op: UniqueOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The first places of elements, in the order of these elements or of these places.

    Raises:
        LoopFormError: Slices are compared, rather than elements.
    """
    (x,) = operands
    if op.axis is not None and len(x.static_shape) > 1:
        raise LoopFormError("has no loop form for these properties")
    sizes = x.sizes()
    count = element_count(sizes)

    def element(place: Number) -> Number:
        return x.at(*unfolded(place, sizes))

    def equal(one: Number, other: Number) -> Number:
        return ~comes_before(one, other) & ~comes_before(other, one)

    def own_place(at: Sequence[Number], other: Sequence[Number]) -> Number:
        hit = equal(element(at[0]), element(other[0]))
        return choose(hit, other[0].to(i64), neutral(Combiner.MINIMUM, i64))

    first = combined([count], [count], i64, Combiner.MINIMUM, own_place)

    def is_first(place: Number) -> Number:
        return first.at(place).equals(place.to(i64))

    def precedes(at: Sequence[Number], other: Sequence[Number]) -> Number:
        if op.sorted.value.data:
            return _one_if(is_first(other[0]) & comes_before(element(other[0]), element(at[0])))
        return _one_if(is_first(other[0]) & (first.at(other[0]) < first.at(at[0])))

    inverse = combined([count], [count], i64, Combiner.ADD, precedes)
    total = combined([], [count], i64, Combiner.ADD, lambda _, at: _one_if(is_first(at[0])))
    found = total.at().index()

    def place(at: Sequence[Number], other: Sequence[Number]) -> Number:
        hit = is_first(other[0]) & inverse.at(other[0]).equals(at[0].to(i64))
        return choose(hit, other[0].to(i64), constant(0, i64))

    indices = combined([found], [count], i64, Combiner.ADD, place)
    counts = combined(
        [found], [count], i64, Combiner.ADD, lambda at, other: _one_if(inverse.at(other[0]).equals(at[0].to(i64)))
    )
    values = generated([found], x.element, lambda at: element(indices.at(at[0]).index()))
    return [values.value, indices.value, inverse.value, counts.value]
