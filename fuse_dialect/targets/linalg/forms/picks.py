"""Reads and writes at places that are data.

Linalg reports no error: an index out of range, which is one for `gather`, is brought to the nearest end.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.dialect.ops.pooling import MaxPool2dIndicesOp
from fuse_dialect.dialect.ops.sequences import ReverseSequenceOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis
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
    neutral,
    place_of,
    row_major,
    unfolded,
    wide_type,
)


def write_gather(op: GatherOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The element at the index on one axis and the own place on the others."""
    x, indices = operands
    axis = normalize_axis(op.axis.value.data, len(x.static_shape))
    size = x.size(axis)

    def body(at: Sequence[Number]) -> Number:
        return x.at(*at[:axis], place_of(indices.at(*at), size), *at[axis + 1 :])

    return [generated(indices.sizes(), x.element, body).value]


def write_gather_nd(op: GatherNdOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The element at the indices in the last axis, behind the axes that both share."""
    x, indices = operands
    batch, depth = op.batch_dims.value.data, indices.static_shape[-1]
    sizes, outer = x.sizes(), indices.sizes()[:-1]

    def body(at: Sequence[Number]) -> Number:
        own, rest = at[: len(outer)], at[len(outer) :]
        places = [place_of(indices.at(*own, number), sizes[batch + number]) for number in range(depth)]
        return x.at(*own[:batch], *places, *rest)

    return [generated([*outer, *sizes[batch + depth :]], x.element, body).value]


def write_reverse_sequence(op: ReverseSequenceOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The element at the mirrored place, as far as the sequence goes."""
    x, lengths = operands
    rank = len(x.static_shape)
    line, batch = (normalize_axis(axis.value.data, rank) for axis in (op.seq_axis, op.batch_axis))
    sizes = x.sizes()

    def body(at: Sequence[Number]) -> Number:
        end = lengths.at(at[batch]).index().least(as_index(sizes[line]))
        place = choose(at[line] < end, end - 1 - at[line], at[line])
        return x.at(*at[:line], place, *at[line + 1 :])

    return [generated(sizes, x.element, body).value]


_COMBINERS = {
    "add": Combiner.ADD,
    "mul": Combiner.MULTIPLY,
    "min": Combiner.MINIMUM,
    "max": Combiner.MAXIMUM,
}


def write_scatter_nd(op: ScatterNdOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """For each element all updates are looked through for those that name its place."""
    x, indices, updates = operands
    depth, outer, sizes = indices.static_shape[-1], indices.sizes()[:-1], x.sizes()
    # A place alone is one update, too: linalg wants a loop to combine along.
    loops: list[Size] = outer or [1]
    mode = op.mode.data
    element = i64 if mode == "update" else wide_type(x.element)

    def places(found: Sequence[Number]) -> Sequence[Number]:
        return found if outer else []

    def names(at: Sequence[Number], found: Sequence[Number]) -> Number:
        hit = constant(1, as_index(0).equals(0).type)
        for number in range(depth):
            wanted = indices.at(*places(found), number).index()
            counted = choose(wanted < 0, wanted + as_index(sizes[number]), wanted)
            hit = hit & counted.equals(at[number])
        return hit

    if mode == "update":

        def last(at: Sequence[Number], found: Sequence[Number]) -> Number:
            return choose(names(at, found), row_major(found, loops).to(i64), constant(-1, i64))

        winner = combined(sizes, loops, element, Combiner.MAXIMUM, last)

        def written(at: Sequence[Number]) -> Number:
            number = winner.at(*at)
            update = unfolded(number.greatest(0).index(), loops)
            return choose(number < 0, x.at(*at), updates.at(*places(update), *at[depth:]))

        return [generated(sizes, x.element, written).value]

    combiner = _COMBINERS[mode]

    def update_or_nothing(at: Sequence[Number], found: Sequence[Number]) -> Number:
        value = updates.at(*places(found), *at[depth:]).widened()
        return choose(names(at, found), value, neutral(combiner, element, unsigned=x.unsigned))

    total = combined(sizes, loops, element, combiner, update_or_nothing, unsigned=x.unsigned)

    def both(at: Sequence[Number], which: Sequence[Number]) -> Number:
        return choose(which[0].equals(0), x.at(*at).widened(), total.at(*at))

    whole = combined(sizes, [2], element, combiner, both, unsigned=x.unsigned)
    return [generated(sizes, x.element, lambda at: narrowed(whole.at(*at), x.element)).value]


def write_max_pool2d_indices(op: MaxPool2dIndicesOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The greatest number of a window, then the first place in the window that holds it."""
    (x,), layout, windows = operands, op.layout.data, op.windows
    sizes, order = x.sizes(), [op.layout.data.index(letter) for letter in "NCHW"]
    counts = _pooled_sizes(op, x)
    element = wide_type(x.element)

    def place(at: Sequence[Number], taps: Sequence[Number]) -> tuple[list[Number], Number]:
        """Where a tap of a window reads, brought into the image, and whether it was there."""
        places, inside = [at[axis] for axis in range(4)], constant(1, as_index(0).equals(0).type)
        for number, letter in enumerate("HW"):
            axis = layout.index(letter)
            wanted = at[axis] * windows.strides[number] + taps[number] * windows.dilation[number]
            wanted = wanted - windows.low[number]
            end = as_index(sizes[axis])
            inside = inside & ~(wanted < 0) & (wanted < end)
            places[axis] = wanted.greatest(0).least(end - 1)
        return places, inside

    def value(at: Sequence[Number], taps: Sequence[Number]) -> Number:
        places, inside = place(at, taps)
        lowest = neutral(Combiner.MAXIMUM, element, unsigned=x.unsigned)
        here = x.at(*places).widened()
        return choose(inside & here.equals(here), here, lowest)

    greatest = combined(counts, list(windows.extent), element, Combiner.MAXIMUM, value, unsigned=x.unsigned)
    images = [sizes[axis] for axis in order]

    def found(at: Sequence[Number], taps: Sequence[Number]) -> Number:
        places, inside = place(at, taps)
        holds = inside & x.at(*places).widened().equals(greatest.at(*at))
        number = row_major([places[axis] for axis in order], images).to(i64)
        return choose(holds, number, neutral(Combiner.MINIMUM, i64))

    def first(at: Sequence[Number], taps: Sequence[Number]) -> Number:
        places, inside = place(at, taps)
        number = row_major([places[axis] for axis in order], images).to(i64)
        return choose(inside, number, neutral(Combiner.MINIMUM, i64))

    best = combined(counts, list(windows.extent), i64, Combiner.MINIMUM, found)
    begin = combined(counts, list(windows.extent), i64, Combiner.MINIMUM, first)

    def result(at: Sequence[Number]) -> Number:
        # A window whose first element is nan has that as its greatest: nothing is greater.
        own = begin.at(*at)
        places = unfolded(own.index(), images)
        here = x.at(*(places[order.index(axis)] for axis in range(4)))
        return choose(here.differs(here), own, best.at(*at))

    return [generated(counts, i64, result).value]


def _pooled_sizes(op: MaxPool2dIndicesOp, x: Table) -> list[Size]:
    """Sizes of the result.

    Raises:
        LoopFormError: Those of the image are not known.
    """
    known = op.result.type.get_shape()
    if any(known[op.layout.data.index(letter)] == DYNAMIC for letter in "HW"):
        raise LoopFormError("needs static sizes")
    return [x.size(axis) if size == DYNAMIC else size for axis, size in enumerate(known)]
