"""Reads and writes at places that are data.

Linalg reports no error: an index out of range, which is one for `gather`, is brought to the nearest end.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.pooling import MaxPool2dIndicesOp
from fuse_dialect.dialect.types import DYNAMIC
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
    neutral,
    row_major,
    unfolded,
    wide_type,
)


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
