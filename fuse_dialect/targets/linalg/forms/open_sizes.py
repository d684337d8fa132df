"""Ops whose loop programs want sizes that are known, on tensors whose sizes are not."""

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, i1, i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.convolution import ConvOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.pooling import AvgPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.arrays import static_shape
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    combined,
    constant,
    element_count,
    empty,
    generated,
    in_type,
    narrowed,
    neutral,
    place_of,
    unfolded,
    wide_type,
)
from fuse_dialect.targets.linalg.forms.shapes import known_or, padded, sliced


def _count(windows: Windows, axis: int, size: Size) -> Size:
    """Number of windows along an axis."""
    if isinstance(size, int):
        sizes = [windows.reach(own) for own in range(len(windows.extent))]
        sizes[axis] = size
        return windows.counts(sizes)[axis]
    around, stride = windows.low[axis] + windows.high[axis], windows.strides[axis]
    spare = size + around - windows.reach(axis)
    if not windows.ceil_mode:
        return spare / as_index(stride) + 1
    count = (spare + (stride - 1)) / as_index(stride) + 1
    return choose((count - 1) * stride < size + windows.low[axis], count, count - 1)


def _met(
    windows: Windows, at: Sequence[Number], taps: Sequence[Number], sizes: Sequence[Size]
) -> tuple[list[Number], Number]:
    """Where windows meet an image at some taps, brought into it, and whether that was needed for none."""
    places: list[Number] = []
    inside = constant(1, i1)
    for axis, (window, tap, size) in enumerate(zip(at, taps, sizes, strict=True)):
        place = window * windows.strides[axis] + tap * windows.dilation[axis] - windows.low[axis]
        end = as_index(size)
        inside = inside & ~(place < 0) & (place < end)
        places.append(place.greatest(0).least(end - 1))
    return places, inside


def write_convolution(op: ConvOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Products over the input channels of the group and the places in the window."""
    x, weight = operands
    batch, _, *sizes = (x.size(axis) for axis in op.data_axes)
    outputs, inputs, *extent = (weight.size(axis) for axis in op.kernel_axes)
    windows = op.windows(tuple(weight.static_shape[axis] for axis in op.kernel_axes[2:]))
    counts = [_count(windows, axis, size) for axis, size in enumerate(sizes)]
    shape = known_or(op, list(op.in_layout([batch, outputs, *counts])))
    share = as_index(outputs) / as_index(op.groups.value.data)
    element = wide_type(op.sum_element()) if op.out_dtype.data else wide_type(x.element)
    around = constant(op.pad_value.value.data, element)

    def factor_of(table: Table, places: Sequence[Number]) -> Number:
        read = table.at(*places)
        return read.to(element) if op.out_dtype.data else read.widened()

    def body(at: Sequence[Number], along: Sequence[Number]) -> Number:
        (sample, output, *window), (channel, *taps) = [at[axis] for axis in op.data_axes], along
        places, inside = _met(windows, window, taps, sizes)
        read = [sample, (output / share) * as_index(inputs) + channel, *places]
        factor = factor_of(weight, op.kernel_in_layout([output, channel, *taps]))
        return choose(inside, factor_of(x, op.in_layout(read)), around) * factor

    total = combined(shape, [inputs, *extent], element, Combiner.ADD, body)
    return [total.value if op.out_dtype.data else in_type(total, x).value]


def _pooled(op: MaxPool2dOp | AvgPool2dOp, x: Table, combiner: Combiner) -> tuple[Table, list[Size], list[int]]:
    """What windows combine to, height and width of the image, and their axes."""
    windows, axes = op.windows, [op.layout.data.index(letter) for letter in "HW"]
    shape, sizes = x.sizes(), [x.size(axis) for axis in axes]
    for number, axis in enumerate(axes):
        shape[axis] = _count(windows, number, sizes[number])
    element = wide_type(x.element)

    def body(at: Sequence[Number], taps: Sequence[Number]) -> Number:
        places, inside = _met(windows, [at[axis] for axis in axes], taps, sizes)
        read = list(at)
        for axis, place in zip(axes, places, strict=True):
            read[axis] = place
        return choose(inside, x.at(*read).widened(), neutral(combiner, element, unsigned=x.unsigned))

    total = combined(known_or(op, shape), list(windows.extent), element, combiner, body, unsigned=x.unsigned)
    return total, sizes, axes


def write_max_pool2d(op: MaxPool2dOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The greatest element of each window."""
    (x,) = operands
    return [in_type(_pooled(op, x, Combiner.MAXIMUM)[0], x).value]


def write_avg_pool2d(op: AvgPool2dOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The sum of each window, divided by the number of elements that count."""
    (x,), windows, is_padded = operands, op.windows, bool(op.count_include_pad.value.data)
    total, sizes, axes = _pooled(op, x, Combiner.ADD)

    def body(at: Sequence[Number]) -> Number:
        counted = as_index(1)
        for number, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
            start = at[axis] * windows.strides[number] - windows.low[number]
            first = as_index(-windows.low[number] if is_padded else 0)
            last = as_index(size) + (windows.high[number] if is_padded else 0)
            step, extent = windows.dilation[number], windows.extent[number]
            below = [
                ((bound - start + (step - 1)).greatest(0) / as_index(step)).least(extent) for bound in (first, last)
            ]
            counted = counted * (below[1] - below[0])
        divisor = counted.greatest(1).to(i64).to(total.element)
        return narrowed(total.at(*at) / divisor, x.element)

    return [generated(total.sizes(), x.element, body).value]


def write_strided_slice(op: StridedSliceOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """From the first index on, in strides, as far as the size goes."""
    (x,) = operands
    slices = {axis: own for axis, own in enumerate(op.slices) if own != slice(None)}
    lists = [
        [as_index(int(number)) for number in numbers]
        for numbers in zip(*((own.start, own.stop, own.step) for own in slices.values()), strict=True)
    ] or [[], [], []]
    return [sliced(op, x, list(slices), *lists).value]


def write_concatenate(op: ConcatenateOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Each operand put behind those before it."""
    axis = normalize_axis(op.axis.value.data, len(operands[0].static_shape))
    ends: list[Size] = [0]
    for table in operands:
        ends.append(as_index(ends[-1]) + as_index(table.size(axis)))
    sizes = operands[0].sizes()
    whole = empty(known_or(op, [*sizes[:axis], ends[-1], *sizes[axis + 1 :]]), operands[0].element)
    for table, start in zip(operands, ends, strict=False):
        rank = len(table.static_shape)
        own = [size if isinstance(size, int) else "" for size in table.sizes()]
        whole = tensor.InsertSliceOp.get(
            source=table.value,
            dest=whole,
            static_offsets=[DYNAMIC_INDEX if place == axis else 0 for place in range(rank)],
            static_sizes=static_shape(own),
            static_strides=[1] * rank,
            offsets=[as_index(start).value],
            sizes=[size.value for size in table.sizes() if isinstance(size, Number)],
            result_type=whole.type,
        ).result
    return [whole]


def write_pad(op: PadOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The operand's element, found by the mode, or the value."""
    x, value = operands
    lows, highs = ([as_index(number) for number in own] for own in zip(*op.widths, strict=True))
    return [padded(op, x, value, lows, highs, op.mode.data).value]


def write_take(op: TakeOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The element at the index, brought into range."""
    x, indices = operands
    sizes, places = x.sizes(), indices.sizes()
    is_flat = op.axis is None
    axis = 0 if op.axis is None else normalize_axis(op.axis.value.data, len(sizes))
    size = element_count(sizes) if is_flat else sizes[axis]
    shape = places if is_flat else [*sizes[:axis], *places, *sizes[axis + 1 :]]

    def body(at: Sequence[Number]) -> Number:
        wanted = indices.at(*at[axis : axis + len(places)]).index()
        if op.mode.data == "wrap":
            rest = wanted % as_index(size)
            place = choose(rest < 0, rest + as_index(size), rest)
        else:
            place = place_of(wanted, size)
        if is_flat:
            return x.at(*unfolded(place, sizes))
        return x.at(*at[:axis], place, *at[axis + len(places) :])

    return [generated(known_or(op, shape), x.element, body).value]
