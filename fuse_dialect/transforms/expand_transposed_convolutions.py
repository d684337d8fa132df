"""`expand-transposed-convolutions`: a transposed convolution becomes convolutions whose results lie between each other.

With stride s, element q * s + r of the result before cropping is the sum over j of input[q - j] * kernel[r + s * j]:

1. The elements of one remainder r, a *phase*, are a convolution of stride 1 with every s-th tap, last tap first.
2. There are s phases for each axis. Where all have equally many taps and there is one group, they are one convolution
   with more output channels; otherwise one for each phase, side by side along the channels.
3. Phases are put between each other by `depth_to_space`, or by a reshape and a transpose, and padding is cropped.
4. With stride 1 there is one phase, the convolution with the kernel turned around, dilated or not.
5. One convolution for all phases computes elements at the borders that are cropped again. Where these are many, as in
   small images, each phase is a convolution of its own that computes what is in the result alone.
6. Where most taps would meet padding, as in an image of one element, the product below takes less. So it does where
   each phase would be a convolution with few output channels: these fill no vector.

The convolutions multiply the zeros of their padding with taps, and a zero times an infinity is nan. So a kernel is
constant and finite, or nothing is padded: results stay what they are, to the last nan. All others in f32, f64 and
integers, dilated with strides too or with strides greater than the kernel, are a matrix product, which gives for each
element of the input the block that it adds, and `col2im`, which adds them up. Left alone are f16 and bf16, whose blocks
would be rounded, and ops whose `fuse.pattern_kind` says how they fuse. Kernels are cut by ops, which `fold-constants`
computes.

7. What is padded and cropped at the end of an axis does not depend on its size. So an axis of open size is one of some
   large size, and slices count from the end. That is so where the op takes any size, none included, and where phases
   pass between each other without a shape that must be computed.

Source: Shi et al., Is the deconvolution layer the same as a convolutional layer? (arXiv:1609.07009).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as combinations
from math import prod
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant_of, without_repeats
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp, Conv2dTransposeOp, Conv3dOp, Conv3dTransposeOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import DepthToSpaceOp, ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.linear_algebra import Col2imOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp
from fuse_dialect.dialect.places_op import FAR
from fuse_dialect.dialect.shape_rules import product
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.unfinished import walk_unfinished

MOST_CROPPED = 1.1
"""How many elements one convolution for all phases may compute for each that is in the result (5)."""
FEW_CHANNELS = 8
"""Output channels for which a convolution of each phase is slow (6)."""
MOST_IN_PADDING = 1.5
"""How many products convolutions may take for each that the matrix product takes (6)."""

MANY = 1 << 16
"""Elements of an axis of open size, for what depends on it (7)."""

_Transposed = Conv2dTransposeOp | Conv3dTransposeOp


@dataclass(frozen=True)
class ExpandTransposedConvolutionsPass(ModulePass):
    """Replace transposed convolutions by convolutions of stride 1, for which kernels are fast."""

    name = "expand-transposed-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace those that have such a form; linear in the number of ops and phases."""
        for inner in [each for each in walk_unfinished(op) if isinstance(each, _Transposed)]:
            plan = _plan(inner)
            if plan is not None:
                _Expansion(inner, plan).replace()
            elif _has_blocks(inner):
                _Blocks(inner).replace()


@dataclass(frozen=True, slots=True)
class _Axis:
    """One spatial axis."""

    stride: int
    dilation: int
    remainders: tuple[int, ...]
    """The remainder r of each phase."""
    taps: tuple[int, ...]
    """Taps of each phase."""
    firsts: tuple[int, ...]
    """The first q of each phase that is computed."""
    count: int
    """How many q there are in each phase."""
    crop: int
    """Elements of the first q that are not in the result."""
    size: int
    """Elements of the result."""
    source: int
    """Elements of the input."""
    is_open: bool
    """Whether the size is not known, and `MANY` stands for it (7)."""
    reach: tuple[int, ...]
    """For each phase, the distance between its first and its last tap in the input."""

    def padding(self, phase: int) -> tuple[int, int]:
        """Zeros before and behind the input, for one phase; negative for elements that no tap meets."""
        return self.reach[phase] - self.firsts[phase], self.firsts[phase] + self.count - self.source

    def end(self, place: int, whole: int) -> int:
        """Where a slice of an axis of `whole` elements ends at a place, counted from its end if it is open (7)."""
        if not self.is_open:
            return place
        return place - whole if place < whole else FAR


def _plan(op: _Transposed) -> tuple[_Axis, ...] | None:
    """What is known of the axes, or `None` to leave the op alone."""
    (batch, channels, *given), (inputs, outputs, *extent) = op.canonical_shapes()
    known = (channels, inputs, outputs, *extent)
    if PATTERN_KIND_ATTRIBUTE in op.attributes or DYNAMIC in known or 0 in (*known, *given):
        return None
    windows = op.windows(tuple(extent))
    if DYNAMIC in given and not _takes_any_size(op, windows, batch, given):
        return None
    sizes = [MANY if size == DYNAMIC else size for size in given]
    grown, strides = op.grown(windows, sizes), windows.strides
    if 0 in grown:
        return None
    wholes = [
        (low + size - 1) // stride - low // stride + 1
        for low, size, stride in zip(windows.low, grown, strides, strict=True)
    ]
    is_narrow = outputs < FEW_CHANNELS and op.groups.value.data == 1
    if is_narrow and any(taps % stride for taps, stride in zip(extent, strides, strict=True)) and _has_blocks(op):
        return None  # (6)
    # (5)
    is_even = all(size % stride == 0 for size, stride in zip(grown, strides, strict=True))
    is_exact = is_even and not is_narrow and prod(wholes) * prod(strides) >= MOST_CROPPED * prod(grown)
    axes: list[_Axis] = []
    for axis, (source, taps, size) in enumerate(zip(sizes, extent, grown, strict=True)):
        stride, dilation, low = strides[axis], windows.dilation[axis], windows.low[axis]
        if (dilation > 1 and any(each > 1 for each in strides)) or taps < stride:
            return None
        # Element q * s + r - low of the result is of the remainder r: the exact phases come in the order of the result.
        places = tuple(low + phase if is_exact else low // stride * stride + phase for phase in range(stride))
        remainders = tuple(place % stride for place in places)
        each = tuple(-(-(taps - remainder) // stride) for remainder in remainders)
        firsts = tuple(place // stride for place in places)
        count = size // stride if is_exact else wholes[axis]
        is_open = given[axis] == DYNAMIC
        # (7) Of no elements a convolution gives no result: one more is computed where there would be none.
        count += is_open and count == source
        reach = tuple((number - 1) * dilation for number in each)
        crop = 0 if is_exact else low % stride
        made = _Axis(stride, dilation, remainders, each, firsts, count, crop, size, source, is_open, reach)
        least = 0 if made.is_open else source - 1
        if any(sum(max(0, -pad) for pad in made.padding(phase)) > least for phase in range(stride)):
            return None  # a phase meets no element of the input
        axes.append(made)
    products = prod(axis.count * sum(axis.taps) for axis in axes)
    if products > MOST_IN_PADDING * prod(sizes) * prod(extent) and _has_blocks(op):
        return None  # (6)
    is_padded = any(pad > 0 for axis in axes for phase in range(axis.stride) for pad in axis.padding(phase))
    return None if is_padded and not _is_finite(op.weight) else tuple(axes)


def _takes_any_size(op: _Transposed, windows: Windows, batch: int, sizes: Sequence[int]) -> bool:
    """Whether an op with open spatial sizes is one that (7) is about."""
    try:
        op.grown(windows, [0 if size == DYNAMIC else size for size in sizes])
    except VerifyException:
        return False
    # A reshape keeps open sizes in front of the last one, which it computes; of no samples it cannot.
    *others, _ = [stride for size, stride in zip(sizes, windows.strides, strict=True) if size == DYNAMIC]
    is_computed = batch != DYNAMIC and all(stride == 1 for stride in others)
    return _is_square(windows.strides) or prod(windows.strides) == 1 or is_computed


def _is_square(strides: Sequence[int]) -> bool:
    """Whether `depth_to_space` puts phases between each other."""
    return len(strides) == 2 and strides[0] == strides[1]


def _has_blocks(op: _Transposed) -> bool:
    """Whether the op can be a matrix product and a `col2im`."""
    (_, channels, *sizes), (_, _, *extent) = op.canonical_shapes()
    shape = (*op.input.type.get_shape(), *op.weight.type.get_shape(), *op.result.type.get_shape())
    if PATTERN_KIND_ATTRIBUTE in op.attributes or DYNAMIC in shape or 0 in shape:
        return False
    dtype = element_dtype(op.result.type.element_type)
    if dtype.kind not in "iu" and dtype.str[1:] not in ("f4", "f8"):
        return False
    grown = [op.result.type.get_shape()[axis] for axis in op.data_axes][2:]
    return op.windows(tuple(extent)).counts(grown) == tuple(sizes) and channels > 0


class _Blocks(Expansion):
    """The product and the sum of blocks that take the place of one transposed convolution."""

    def __init__(self, op: _Transposed):
        super().__init__(op)
        self.op = op

    def replace(self) -> None:
        """Put the new ops in, and take the old one out."""
        old, groups = self.op, self.op.groups.value.data
        (batch, channels, *sizes), (_, outputs, *extent) = old.canonical_shapes()
        windows, axes = old.windows(tuple(extent)), old.data_axes
        is_canonical = axes == tuple(range(len(axes)))
        value = old.input if is_canonical else self.add(TransposeOp(old.input, permutation=list(axes)))
        value = self.reshaped(value, (batch, groups, channels // groups, prod(sizes)))
        kernel = self.reshaped(old.weight, (1, groups, channels // groups, outputs * prod(extent)))
        value = self.add(BatchMatmulOp(kernel, value, transpose_a=True))
        value = self.reshaped(value, (batch, groups * outputs * prod(extent), prod(sizes)))
        grown = [old.result.type.get_shape()[axis] for axis in axes][2:]
        value = self.add(
            Col2imOp(
                value,
                image_shape=grown,
                block_shape=list(extent),
                strides=list(windows.strides),
                padding=[*windows.low, *windows.high],
                dilation=list(windows.dilation),
            )
        )
        if not is_canonical:
            value = self.add(TransposeOp(value, permutation=list(old.in_layout(range(len(axes))))))
        self.finish(value)


def _is_finite(kernel: SSAValue) -> bool:
    """Whether a kernel is known to hold finite numbers alone."""
    if element_dtype(cast(Tensor, kernel.type).element_type).kind in "iu":
        return True
    array = constant_of(kernel)
    return array is not None and bool(np.isfinite(without_repeats(array)).all())


class _Expansion(Expansion):
    """The convolutions that take the place of one transposed convolution."""

    def __init__(self, op: _Transposed, axes: tuple[_Axis, ...]):
        super().__init__(op)
        self.op, self.axes = op, axes

    def replace(self) -> None:
        """Put the new ops in, and take the old one out."""
        old = self.op
        rank = len(self.axes) + 2
        is_canonical = old.data_axes == tuple(range(rank))
        value = old.input if is_canonical else self.add(TransposeOp(old.input, permutation=list(old.data_axes)))
        value = self.interleaved(self.phases(value))
        value = self.cropped(value)
        if not is_canonical:
            value = self.add(TransposeOp(value, permutation=list(old.in_layout(range(rank)))))
        self.finish(value)

    def phases(self, value: SSAValue) -> SSAValue:
        """All phases side by side along the channels, the last axis counting fastest."""
        phases = list(combinations(*(range(axis.stride) for axis in self.axes)))
        kernels = [self.kernel(phase) for phase in phases]
        is_even = all(len(set(axis.taps)) == len(set(axis.firsts)) == 1 for axis in self.axes)
        if is_even and self.op.groups.value.data == 1:
            whole = kernels[0] if len(kernels) == 1 else self.add(ConcatenateOp(*kernels, axis=0))
            return self.convolution(value, whole, phases[0])
        parts = [self.convolution(value, kernel, phase) for kernel, phase in zip(kernels, phases, strict=True)]
        return parts[0] if len(parts) == 1 else self.add(ConcatenateOp(*parts, axis=1))

    def kernel(self, phase: Sequence[int]) -> SSAValue:
        """The taps of a phase as the kernel of a convolution: [O, I / groups, ...], last tap first."""
        value, spatial = self.op.weight, range(2, len(self.axes) + 2)
        inputs, outputs, *extent = _shape(value)
        taps = [axis.taps[number] for axis, number in zip(self.axes, phase, strict=True)]
        if any(axis.stride > 1 for axis in self.axes):
            strides = [axis.stride for axis in self.axes]
            begin = [axis.remainders[number] for axis, number in zip(self.axes, phase, strict=True)]
            cut = StridedSliceOp(value, begin=begin, end=extent, strides=strides, axes=list(spatial))
            value = self.add(cut)
        turned = [axis for axis, number in zip(spatial, taps, strict=True) if number > 1]
        value = self.add(ReverseOp(value, axes=turned)) if turned else value
        groups = self.op.groups.value.data
        if groups == 1:
            return self.add(TransposeOp(value, permutation=[1, 0, *spatial]))
        value = self.reshaped(value, (groups, inputs // groups, outputs, *taps))
        value = self.add(TransposeOp(value, permutation=[0, 2, 1, *(axis + 1 for axis in spatial)]))
        return self.reshaped(value, (groups * outputs, inputs // groups, *taps))

    def convolution(self, value: SSAValue, kernel: SSAValue, phase: Sequence[int]) -> SSAValue:
        """A convolution with the padding of a phase."""
        pads = [axis.padding(number) for axis, number in zip(self.axes, phase, strict=True)]
        if any(low < 0 or high < 0 for low, high in pads):
            begin = [max(0, -low) for low, _ in pads]
            end = [
                axis.end(axis.source - max(0, -high), axis.source)
                for axis, (_, high) in zip(self.axes, pads, strict=True)
            ]
            value = self.add(StridedSliceOp(value, begin=begin, end=end, axes=list(range(2, len(pads) + 2))))
        padding = [max(0, low) for low, _ in pads] + [max(0, high) for _, high in pads]
        kind = Conv2dOp if len(self.axes) == 2 else Conv3dOp
        dilation = [axis.dilation for axis in self.axes]
        return self.add(kind(value, kernel, padding=padding, dilation=dilation, groups=self.op.groups.value.data))

    def interleaved(self, value: SSAValue) -> SSAValue:
        """Phases from the channels to their places between each other."""
        strides = [axis.stride for axis in self.axes]
        if prod(strides) == 1:
            return value
        if _is_square(strides):
            return self.add(DepthToSpaceOp(value, block_size=strides[0]))
        batch, channels, *counts = _shape(value)
        rank = len(strides)
        outputs = channels // prod(strides)
        # The channels to the end: along the last axis, phases then need not move at all.
        value = self.add(TransposeOp(value, permutation=[0, *range(2, rank + 2), 1]))
        value = self.reshaped(value, (batch, *counts, *strides, outputs))
        pairs = [axis for place in range(rank) for axis in (1 + place, 1 + rank + place)]
        if not all(stride == 1 for stride in strides[:-1]):
            value = self.add(TransposeOp(value, permutation=[0, *pairs, 2 * rank + 1]))
        grown = [product(pair) for pair in zip(counts, strides, strict=True)]
        value = self.reshaped(value, (batch, *grown, outputs))
        return self.add(TransposeOp(value, permutation=[0, rank + 1, *range(1, rank + 1)]))

    def cropped(self, value: SSAValue) -> SSAValue:
        """Without what the padding of the op cuts off."""
        if all(axis.crop == 0 and axis.size == axis.count * axis.stride for axis in self.axes):
            return value
        begin = [axis.crop for axis in self.axes]
        end = [axis.end(axis.crop + axis.size, axis.count * axis.stride) for axis in self.axes]
        return self.add(StridedSliceOp(value, begin=begin, end=end, axes=list(range(2, len(self.axes) + 2))))


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(cast(Tensor, value.type).get_shape())
