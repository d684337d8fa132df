"""Shapes as values: `shape_of`, and ops whose sizes are computed while the program runs.

Linalg reports no error: sizes that do not fit are undefined behaviour there, where the interpreter says what is wrong.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import math, tensor
from xdsl.dialects.builtin import TensorType, f64, i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.dynamic import (
    DynArangeOp,
    DynBroadcastToOp,
    DynFullOp,
    DynOneHotOp,
    DynPadOp,
    DynReshapeOp,
    DynStridedSliceOp,
    DynTileOp,
    ShapeOfOp,
)
from fuse_dialect.dialect.types import DYNAMIC, is_unsigned, normalize_axes, normalize_axis, tensor_type
from fuse_dialect.targets.linalg.arrays import signless_type
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    element_count,
    generated,
    row_major,
    unfolded,
)


def known_or(op: FuseOp, computed: Sequence[Size]) -> list[Size]:
    """The sizes of the op's result that its type says, and the computed ones elsewhere."""
    known = tensor_type(op.results[0]).get_shape()
    return [own if size == DYNAMIC else size for size, own in zip(known, computed, strict=True)]


def numbers_in(table: Table) -> list[Number]:
    """The elements of a list, as indices."""
    return [table.at(place).index() for place in range(table.static_shape[0])]


def write_shape_of(op: ShapeOfOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The sizes, one after the other."""
    (x,) = operands
    sizes = [as_index(size).to(i64).value for size in x.sizes()]
    type = TensorType(i64, [len(sizes)])
    if not sizes:
        return [tensor.EmptyOp([], type).tensor]
    return [tensor.FromElementsOp(*sizes, result_type=type).result]


def write_broadcast(op: DynBroadcastToOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The only element of an axis of size 1, else the own one."""
    x, shape = operands
    own, wanted = x.sizes(), numbers_in(shape)
    while len(wanted) < len(own):
        wanted.insert(0, as_index(1))
    front = len(wanted) - len(own)
    sizes: list[Size] = [
        *wanted[:front],
        *(
            choose(as_index(size).equals(1), other, as_index(size))
            for size, other in zip(own, wanted[front:], strict=True)
        ),
    ]

    def body(at: Sequence[Number]) -> Number:
        places = [
            choose(as_index(size).equals(1), as_index(0), place) for size, place in zip(own, at[front:], strict=True)
        ]
        return x.at(*places)

    return [generated(known_or(op, sizes), x.element, body).value]


def reshaped(x: Table, sizes: Sequence[Size]) -> Table:
    """The elements in the same order."""
    own = x.sizes()
    return generated(sizes, x.element, lambda at: x.at(*unfolded(row_major(at, sizes), own)))


def write_dyn_reshape(op: DynReshapeOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The elements in the same order under sizes of which -1 is what remains, and 0 the operand's."""
    x, shape = operands
    own, wanted = x.sizes(), numbers_in(shape)
    if not op.allowzero.value.data:
        wanted = [
            choose(size.equals(0), as_index(own[axis]), size) if axis < len(own) else size
            for axis, size in enumerate(wanted)
        ]
    count, known = as_index(element_count(own)), as_index(1)
    for size in wanted:
        known = known * choose(size < 0, as_index(1), size)
    rest = count / known.greatest(1)
    return [reshaped(x, known_or(op, [choose(size < 0, rest, size) for size in wanted])).value]


def write_reshape(op: FuseOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """A reshape to a type with `?`: the last one is what remains, one before it keeps the operand's size."""
    x = operands[0]
    own, sizes = x.sizes(), list[Size](tensor_type(op.results[0]).get_shape())
    unknown = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size == DYNAMIC]
    for axis in unknown[:-1]:
        sizes[axis] = own[axis]
    if unknown:
        known = as_index(element_count([size for axis, size in enumerate(sizes) if axis != unknown[-1]]))
        sizes[unknown[-1]] = as_index(element_count(own)) / known.greatest(1)
    return [reshaped(x, sizes).value]


def write_full(op: DynFullOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The number, everywhere."""
    fill, shape = operands
    return [generated(known_or(op, numbers_in(shape)), fill.element, lambda at: fill.at()).value]


def write_strided_slice(op: DynStridedSliceOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """From the first index on, in strides, where the numbers are brought into range as Python does."""
    x, *lists = operands
    begins, ends, strides = map(numbers_in, lists)
    numbers = range(len(begins)) if op.axes is None else op.axes.get_values()
    return [sliced(op, x, normalize_axes(numbers, len(x.static_shape)), begins, ends, strides).value]


def sliced(
    op: FuseOp,
    x: Table,
    axes: Sequence[int],
    begins: Sequence[Number],
    ends: Sequence[Number],
    strides: Sequence[Number],
) -> Table:
    """A slice along some axes: what `op` gives."""
    own = x.sizes()
    first, steps, sizes = [as_index(0)] * len(own), [as_index(1)] * len(own), list(own)
    for axis, begin, end, stride in zip(axes, begins, ends, strides, strict=True):
        size, is_back = as_index(own[axis]), stride < 0
        start, stop = (bounded(number, size, is_back) for number in (begin, end))
        length = choose(is_back, start - stop, stop - start)
        step = choose(is_back, as_index(0) - stride, stride)
        first[axis], steps[axis] = start, stride
        sizes[axis] = (length.greatest(0) + step - 1) / step
    sizes = known_or(op, sizes)

    def body(at: Sequence[Number]) -> Number:
        return x.at(*(start + place * step for start, place, step in zip(first, at, steps, strict=True)))

    return generated(sizes, x.element, body)


def bounded(number: Number, size: Number, is_back: Number) -> Number:
    """A bound of a slice as `slice.indices` brings it into range."""
    counted = choose(number < 0, number + size, number)
    least = choose(is_back, as_index(-1), as_index(0))
    return counted.greatest(least).least(choose(is_back, size - 1, size))


def write_tile(op: DynTileOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The element at the place modulo the size."""
    x, reps = operands
    own, counts = x.sizes(), numbers_in(reps)
    counts = [as_index(1)] * (len(own) - len(counts)) + counts
    front = len(counts) - len(own)
    sizes: list[Size] = [
        *counts[:front],
        *(as_index(size) * count for size, count in zip(own, counts[front:], strict=True)),
    ]

    def body(at: Sequence[Number]) -> Number:
        return x.at(*(place % as_index(size) for place, size in zip(at[front:], own, strict=True)))

    return [generated(known_or(op, sizes), x.element, body).value]


def write_pad(op: DynPadOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The operand's element, found by the mode, or the value."""
    x, value, low, high = operands
    return [padded(op, x, value, numbers_in(low), numbers_in(high), op.mode.data).value]


def padded(op: FuseOp, x: Table, value: Table, lows: Sequence[Number], highs: Sequence[Number], mode: str) -> Table:
    """The operand with elements around it: what `op` gives."""
    own = x.sizes()
    starts = [(as_index(0) - number).greatest(0) for number in lows]
    kept = [as_index(size) - start + number.least(0) for size, start, number in zip(own, starts, highs, strict=True)]
    sizes: list[Size] = [
        as_index(size) + before + behind for size, before, behind in zip(own, lows, highs, strict=True)
    ]

    def body(at: Sequence[Number]) -> Number:
        inner = [place - number.greatest(0) for place, number in zip(at, lows, strict=True)]
        inside = as_index(0).equals(0)
        places: list[Number] = []
        for place, count, start in zip(inner, kept, starts, strict=True):
            inside = inside & ~(place < 0) & (place < count)
            places.append(_REPEATED[mode](place, count).greatest(0).least(count - 1).greatest(0) + start)
        here = x.at(*places)
        return choose(inside, here, value.at()) if mode == "constant" else here

    return generated(known_or(op, sizes), x.element, body)


def _modulo(place: Number, count: Number) -> Number:
    """The remainder that is not negative."""
    rest = place % count
    return choose(rest < 0, rest + count, rest)


def _reflected(place: Number, count: Number) -> Number:
    period = ((count - 1) * 2).greatest(1)
    around = _modulo(place, period)
    return around.least(period - around)


_REPEATED: dict[str, Callable[[Number, Number], Number]] = {
    "constant": lambda place, _: place,
    "edge": lambda place, _: place,
    "reflect": _reflected,
    "wrap": lambda place, count: _modulo(place, count.greatest(1)),
}
"""Which element modes repeat, at a place that may be outside."""


def write_arange(op: DynArangeOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """A multiple of the step, from the start on."""
    type = tensor_type(op.result)
    target, unsigned = signless_type(type.element_type), is_unsigned(type)

    def numbers() -> tuple[Number, Number, Number]:
        start, stop, step = (table.at().to(f64) for table in operands)
        return start, stop, step

    def count(_: Sequence[Number]) -> Number:
        start, stop, step = numbers()
        return Number(math.CeilOp(((stop - start) / step).value).result).greatest(0).to(i64)

    # In a tensor: compilers that run sizes on a host of their own may have no f64 there.
    size = generated([], i64, count).at().index()

    def body(at: Sequence[Number]) -> Number:
        start, _, step = numbers()
        number = start + at[0].to(f64) * step
        return Number(scalars.convert(number.value, target, unsigned_source=False, unsigned_target=unsigned))

    return [generated(known_or(op, [size]), target, body).value]


def write_one_hot(op: DynOneHotOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The index compared with the place on the new axis."""
    indices, on, off, depth = operands
    own, count = indices.sizes(), depth.at().index()
    axis = normalize_axis(op.axis.value.data, len(own) + 1)

    def body(at: Sequence[Number]) -> Number:
        wanted = indices.at(*at[:axis], *at[axis + 1 :]).index()
        place = choose(wanted < 0, wanted + count, wanted)
        return choose(place.equals(at[axis]), on.at(), off.at())

    return [generated(known_or(op, [*own[:axis], count, *own[axis:]]), on.element, body).value]
