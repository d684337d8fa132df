"""Sizes of results that follow from no one size of an operand, as values; the elements are the ops' own loops."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import convolution, indexing, layout, pooling
from fuse_dialect.dialect.ops.dynamic import DynResize2dOp
from fuse_dialect.dialect.picked_places import bounded
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.targets.linalg.forms.shapes import cut_length, number_in, whole

SizeRule: TypeAlias = Callable[[Any, Nest, int], SSAValue | Size]
"""Gives the size of an op's only result along an axis, in a nest without axes that reads its operands."""


def _count(nest: Nest, windows: Windows, axis: int, size: Size) -> SSAValue:
    """Number of windows along an axis, as `Windows.counts` says."""
    around, stride = windows.low[axis] + windows.high[axis], windows.strides[axis]
    spare = around - windows.reach(axis) + (stride - 1 if windows.ceil_mode else 0)
    count = scalars.add(scalars.divide(nest.count(size, plus=spare), whole(stride)), whole(1))
    if not windows.ceil_mode:
        return count
    last = scalars.subtract(count, whole(1))
    fits = scalars.compare("less", scalars.multiply(last, whole(stride)), nest.count(size, plus=windows.low[axis]))
    return scalars.select(fits, count, last)


def _kernel(nest: Nest, axes: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the kernel that are known along some axes, `?` elsewhere."""
    shape = nest.shape(1)
    return tuple(size if isinstance(size, int) else DYNAMIC for size in (shape[axis] for axis in axes))


def _convolution(op: convolution.ConvOp, nest: Nest, axis: int) -> SSAValue | Size:
    batch, _, *spatial = op.data_axes
    if axis == op.data_axes[1]:
        return nest.shape(1)[op.kernel_axes[0]]
    if axis == batch:
        return nest.shape(0)[batch]
    number, windows = spatial.index(axis), op.windows(_kernel(nest, op.kernel_axes[2:]))
    return _count(nest, windows, number, nest.shape(0)[axis])


def _convolution_transpose(op: convolution.ConvTransposeOp, nest: Nest, axis: int) -> SSAValue | Size:
    batch, channels, *spatial = op.data_axes
    if axis == batch:
        return nest.shape(0)[batch]
    if axis == channels:
        return scalars.multiply(nest.count(nest.shape(1)[op.kernel_axes[1]]), whole(op.groups.value.data))
    number, windows = spatial.index(axis), op.windows(_kernel(nest, op.kernel_axes[2:]))
    around = op.output_padding.get_values()[number] - windows.low[number] - windows.high[number]
    steps = scalars.multiply(nest.count(nest.shape(0)[axis], plus=-1), whole(windows.strides[number]))
    return scalars.add(steps, whole(windows.reach(number) + around))


def _pool(op: pooling.WindowPoolOp, nest: Nest, axis: int) -> SSAValue | Size:
    size, letter = nest.shape(0)[axis], op.layout.data[axis]
    return _count(nest, op.windows, "HW".index(letter), size) if letter in "HW" else size


def _resize(op: DynResize2dOp, nest: Nest, axis: int) -> SSAValue | Size:
    letter = op.layout.data[axis]
    return number_in(nest, 1, "HW".index(letter)) if letter in "HW" else nest.shape(0)[axis]


def _depth_to_space(op: layout.DepthToSpaceOp, nest: Nest, axis: int) -> SSAValue | Size:
    size, block = nest.shape(0)[axis], op.block_size.value.data
    match op.layout.data[axis]:
        case "N":
            return size
        case "C":
            return nest.static(size)[0] // (block * block)
        case _:
            return scalars.multiply(nest.count(size), whole(block))


def _pad(op: indexing.PadOp, nest: Nest, axis: int) -> SSAValue:
    return nest.count(nest.shape(0)[axis], plus=sum(op.widths[axis]))


def _strided_slice(op: indexing.StridedSliceOp, nest: Nest, axis: int) -> SSAValue | Size:
    cut, size = op.slices[axis], nest.shape(0)[axis]
    if cut == slice(None):
        return size
    start, stop = (bounded(whole(end), nest.count(size), is_back=cut.step < 0) for end in (cut.start, cut.stop))
    return cut_length(start, stop, whole(cut.step))


SIZES: Mapping[type[FuseOp], SizeRule] = {
    convolution.Conv1dOp: _convolution,
    convolution.Conv2dOp: _convolution,
    convolution.Conv3dOp: _convolution,
    convolution.Conv2dTransposeOp: _convolution_transpose,
    convolution.Conv3dTransposeOp: _convolution_transpose,
    pooling.MaxPool2dOp: _pool,
    pooling.AvgPool2dOp: _pool,
    DynResize2dOp: _resize,
    layout.DepthToSpaceOp: _depth_to_space,
    indexing.PadOp: _pad,
    indexing.StridedSliceOp: _strided_slice,
}
"""For ops that have a loop program, and results of such sizes."""
