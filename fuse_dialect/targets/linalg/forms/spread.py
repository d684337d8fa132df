"""Windows that add to an image: transposed convolutions on open sizes, blocks put back."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops.convolution import ConvTransposeOp
from fuse_dialect.dialect.ops.linear_algebra import Col2imOp
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    combined,
    constant,
    in_type,
    row_major,
    wide_type,
)
from fuse_dialect.targets.linalg.forms.shapes import known_or


def _giving(
    windows: Windows, at: Sequence[Number], taps: Sequence[Number], counts: Sequence[Size]
) -> tuple[list[Number], Number]:
    """The windows that meet a place of an image at some taps, brought into range, and whether there are such."""
    found: list[Number] = []
    exists = constant(1, i1)
    for axis, (place, tap, count) in enumerate(zip(at, taps, counts, strict=True)):
        offset = place - tap * windows.dilation[axis] + windows.low[axis]
        window = offset / as_index(windows.strides[axis])
        exists = exists & ~(offset < 0) & (offset % windows.strides[axis]).equals(0) & (window < as_index(count))
        found.append(window.greatest(0).least(as_index(count) - 1))
    return found, exists


def write_convolution_transpose(op: ConvTransposeOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Products over the input channels of the group and the places whose windows meet the element."""
    x, weight = operands
    batch, channels, *sizes = (x.size(axis) for axis in op.data_axes)
    _, outputs, *extent = (weight.size(axis) for axis in op.kernel_axes)
    windows = op.windows(tuple(weight.static_shape[axis] for axis in op.kernel_axes[2:]))
    groups, extra = op.groups.value.data, op.output_padding.get_values()
    grown = [
        (as_index(size) - 1) * windows.strides[axis]
        + (windows.reach(axis) + extra[axis] - windows.low[axis] - windows.high[axis])
        for axis, size in enumerate(sizes)
    ]
    own: list[Size] = [batch, as_index(outputs) * groups, *grown]
    shape = known_or(op, list(op.in_layout(own)))
    inputs = as_index(channels) / as_index(groups)
    element = wide_type(x.element)

    def body(at: Sequence[Number], along: Sequence[Number]) -> Number:
        (sample, output, *place), (inner, *taps) = [at[axis] for axis in op.data_axes], along
        found, exists = _giving(windows, place, taps, sizes)
        channel = (output / as_index(outputs)) * inputs + inner
        read, factors = [sample, channel, *found], [channel, output % as_index(outputs), *taps]
        product = x.at(*op.in_layout(read)).widened() * weight.at(*op.kernel_in_layout(factors)).widened()
        return choose(exists, product, constant(0, element))

    total = combined(shape, [inputs, *extent], element, Combiner.ADD, body)
    return [in_type(total, x).value]


def write_col2im(op: Col2imOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The sum of what the blocks have at each place of the image."""
    (x,), windows, image = operands, op.windows(), list(op.image_shape.get_values())
    counts, taps_in_all = list(windows.counts(image)), 1
    for size in windows.extent:
        taps_in_all *= size
    batch, columns, _ = x.sizes()
    channels = as_index(columns) / as_index(taps_in_all) if isinstance(columns, Number) else columns // taps_in_all
    element = wide_type(x.element)

    def body(at: Sequence[Number], taps: Sequence[Number]) -> Number:
        sample, channel, *place = at
        found, exists = _giving(windows, place, taps, counts)
        column = channel * taps_in_all + row_major(taps, windows.extent)
        value = x.at(sample, column, row_major(found, counts)).widened()
        return choose(exists, value, constant(0, element))

    total = combined([batch, channels, *image], list(windows.extent), element, Combiner.ADD, body)
    return [in_type(total, x).value]
