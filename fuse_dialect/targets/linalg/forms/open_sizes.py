"""Sizes of results that follow from no one size of an operand, as values; and concatenations of such."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import convolution, indexing, pooling
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.targets.linalg.arrays import static_shape
from fuse_dialect.targets.linalg.elements import Number, Size, Table, as_index, choose, empty
from fuse_dialect.targets.linalg.forms.shapes import bounded, known_or

SizeRule: TypeAlias = Callable[[Any, Sequence[Table]], Sequence[Size]]
"""Gives the sizes of an op's only result, from its operands."""


def _count(windows: Windows, axis: int, size: Size) -> Size:
    """Number of windows along an axis, as `Windows.counts` says."""
    around, stride = windows.low[axis] + windows.high[axis], windows.strides[axis]
    spare = as_index(size) + around - windows.reach(axis)
    if not windows.ceil_mode:
        return spare / as_index(stride) + 1
    count = (spare + (stride - 1)) / as_index(stride) + 1
    return choose((count - 1) * stride < as_index(size) + windows.low[axis], count, count - 1)


def _convolution(op: convolution.ConvOp, operands: Sequence[Table]) -> Sequence[Size]:
    x, weight = operands
    batch, _, *sizes = (x.size(axis) for axis in op.data_axes)
    windows = op.windows(tuple(weight.static_shape[axis] for axis in op.kernel_axes[2:]))
    counts = [_count(windows, axis, size) for axis, size in enumerate(sizes)]
    return op.in_layout([batch, weight.size(op.kernel_axes[0]), *counts])


def _convolution_transpose(op: convolution.ConvTransposeOp, operands: Sequence[Table]) -> Sequence[Size]:
    x, weight = operands
    batch, _, *sizes = (x.size(axis) for axis in op.data_axes)
    windows = op.windows(tuple(weight.static_shape[axis] for axis in op.kernel_axes[2:]))
    extra = op.output_padding.get_values()
    around = [windows.reach(axis) + extra[axis] - windows.low[axis] - windows.high[axis] for axis in range(len(sizes))]
    grown = [(as_index(size) - 1) * windows.strides[axis] + around[axis] for axis, size in enumerate(sizes)]
    outputs = as_index(weight.size(op.kernel_axes[1])) * op.groups.value.data
    return op.in_layout([batch, outputs, *grown])


def _pool(op: pooling.WindowPoolOp, operands: Sequence[Table]) -> Sequence[Size]:
    shape, axes = operands[0].sizes(), [op.layout.data.index(letter) for letter in "HW"]
    counts = [_count(op.windows, number, shape[axis]) for number, axis in enumerate(axes)]
    return [counts[axes.index(axis)] if axis in axes else size for axis, size in enumerate(shape)]


def _pad(op: indexing.PadOp, operands: Sequence[Table]) -> Sequence[Size]:
    return [as_index(size) + low + high for size, (low, high) in zip(operands[0].sizes(), op.widths, strict=True)]


def _strided_slice(op: indexing.StridedSliceOp, operands: Sequence[Table]) -> Sequence[Size]:
    sizes = operands[0].sizes()
    for axis, cut in enumerate(op.slices):
        if cut != slice(None):
            size, is_back = as_index(sizes[axis]), as_index(0).equals(int(cut.step > 0))
            first, last = (bounded(as_index(end), size, is_back) for end in (cut.start, cut.stop))
            length = first - last if cut.step < 0 else last - first
            sizes[axis] = (length.greatest(0) + (abs(cut.step) - 1)) / as_index(abs(cut.step))
    return sizes


SIZES: Mapping[type[FuseOp], SizeRule] = {
    convolution.Conv1dOp: _convolution,
    convolution.Conv2dOp: _convolution,
    convolution.Conv3dOp: _convolution,
    convolution.Conv2dTransposeOp: _convolution_transpose,
    convolution.Conv3dTransposeOp: _convolution_transpose,
    pooling.MaxPool2dOp: _pool,
    pooling.AvgPool2dOp: _pool,
    indexing.PadOp: _pad,
    indexing.StridedSliceOp: _strided_slice,
}
"""For ops that have a loop program, and results of such sizes."""


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
