"""`drop-padded-taps`: a convolution loses the taps that lie in padding wherever its window stands, or in some windows.

With a dilation as large as the image, as in DeepLab, all taps but those in the middle meet zeros alone. What is left is
a convolution with a smaller kernel, cut from the constant, and with less padding. Of others the outer taps meet the
image in some windows at its borders: with a dilation a little smaller, or 3x3 taps over an image of 4x4. Each becomes a
convolution of its windows alone, and is added where they stand. The products are the same but for those with zeros.

1. Zero times infinity is nan, so the kernel is a constant of finite numbers; padding is zero.
2. Sizes are known, and a tap of each axis meets the image.
3. Left alone: ops whose `fuse.pattern_kind` says how they fuse.
4. A tap is cut off where it meets the image in fewer windows of its axis than another one does, at most `FEW` times as
   many. It is worth some more kernels where at most `MOST_LEFT` of all products are left, and each tap saves
   `LEAST_SAVED` of them for each element that is added, and `LEAST_IN_ALL`. Sums are then rounded in parts: so it is in
   f32, f64 and integers alone, and with one group. Taps side by side over `FOR_TILES` windows or more stay, as tiles of
   results take fewer products than are saved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant, constant_of, without_repeats
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.broadcast import AddOp
from fuse_dialect.dialect.ops.convolution import ConvOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, with_shape
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.unfinished import walk_unfinished

_Each = TypeVar("_Each")

FEW = 0.9
"""In how many windows a tap that is cut off may meet the image, for each one of the tap that meets it most (4)."""
MOST_LEFT = 0.75
"""The share of products that may be left where taps are cut off (4)."""
FOR_TILES = 8
"""Windows of an axis from which on taps side by side are left to tiles of results, which take fewer products (4)."""
LEAST_SAVED = 8
"""Products saved by a tap that is cut off, for each element of the result, which is written and read once more (4)."""
LEAST_IN_ALL = 1 << 19
"""Products saved by a tap that is cut off: what the calls of some more kernels take (4)."""


@dataclass(frozen=True)
class DropPaddedTapsPass(ModulePass):
    """Leave out the taps of convolutions that meet padding alone, or compute them where they meet the image."""

    name = "drop-padded-taps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change those of all functions of the module; linear in the number of ops, axes and taps."""
        for inner in [each for each in walk_unfinished(op) if isinstance(each, ConvOp)]:
            if PATTERN_KIND_ATTRIBUTE not in inner.attributes and not inner.pad_value.value.data:
                _drop(inner)


def _drop(op: ConvOp) -> None:
    (_, _, *sizes), (_, _, *extent) = op.canonical_shapes()
    shape = op.result.type.get_shape()
    known = (*sizes, *extent, *(shape[axis] for axis in op.data_axes[2:]))
    if DYNAMIC in known or 0 in known:
        return
    windows = op.windows(tuple(extent))
    whole = _Part(op, op.input, tuple(slice(0, taps) for taps in extent), windows.low, windows.high)
    if not whole.left:
        return
    smallest = whole.smallest
    is_cut = smallest.left <= MOST_LEFT and smallest.few is not None
    if smallest is whole and not is_cut:
        return
    kernel = constant_of(op.weight)
    if kernel is None:
        return
    # A kernel that repeats one number is not written out: a small file may say that it has millions.
    numbers = without_repeats(kernel)
    if kernel.dtype.kind not in "iu" and not np.isfinite(numbers.astype(np.float64)).all():
        return
    parts = _Parts(op, kernel)
    parts.finish(parts.computed(smallest) if is_cut else parts.convolution(smallest))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some taps of a convolution over a part of its input."""

    op: ConvOp
    value: SSAValue
    taps: tuple[slice, ...]
    """The taps of each axis."""
    low: tuple[int, ...]
    high: tuple[int, ...]
    """Zeros before and behind the elements of each axis."""

    def size(self, axis: int) -> int:
        """Elements of the input on a spatial axis."""
        return cast(Tensor, self.value.type).get_shape()[self.op.data_axes[axis + 2]]

    def count(self, axis: int) -> int:
        """Windows on a spatial axis."""
        reach = (len(self.numbers(axis)) - 1) * self.distance(axis) + 1
        return (self.size(axis) + self.low[axis] + self.high[axis] - reach) // self.stride(axis) + 1

    def distance(self, axis: int) -> int:
        """Elements from one tap to the next."""
        return self.op.dilation.get_values()[axis]

    def stride(self, axis: int) -> int:
        """Elements from one window to the next."""
        return self.op.strides.get_values()[axis]

    def numbers(self, axis: int) -> range:
        """The taps of an axis, counted from the first one of the part."""
        return range(self.taps[axis].stop - self.taps[axis].start)

    def place(self, axis: int, tap: int) -> int:
        """The element that a tap meets in the first window; less than 0 in the padding before the first one."""
        return tap * self.distance(axis) - self.low[axis]

    def met(self, axis: int, tap: int) -> range:
        """The windows in which a tap meets the image."""
        place, stride = self.place(axis, tap), self.stride(axis)
        return range(max(0, -(place // stride)), min(self.count(axis), (self.size(axis) - 1 - place) // stride + 1))

    def with_taps(self, axis: int, first: int, last: int) -> "_Part | None":
        """The part with neighbouring taps of an axis alone; `None` if these leave out elements of the image."""
        low = self.low[axis] - first * self.distance(axis)
        high = self.high[axis] - (self.numbers(axis)[-1] - last) * self.distance(axis)
        return None if min(low, high) < 0 else self._cut(axis, first, last, self.value, low, high)

    def alone(self, axis: int, tap: int, value: SSAValue) -> "_Part":
        """One tap of an axis over the elements that it meets."""
        return self._cut(axis, tap, tap, value, 0, 0)

    def _cut(self, axis: int, first: int, last: int, value: SSAValue, low: int, high: int) -> "_Part":
        start = self.taps[axis].start
        return _Part(
            self.op,
            value,
            _with(self.taps, axis, slice(start + first, start + last + 1)),
            _with(self.low, axis, low),
            _with(self.high, axis, high),
        )

    @property
    def smallest(self) -> "_Part":
        """The part without the outer taps of all axes that meet padding alone (2)."""
        for axis in range(len(self.taps)):
            met = [tap for tap in self.numbers(axis) if self.met(axis, tap)]
            if met and len(self.numbers(axis)) > met[-1] - met[0] + 1:
                part = self.with_taps(axis, met[0], met[-1])
                if part is not None:
                    return part.smallest
        return self

    @property
    def left(self) -> float:
        """The share of products that meet the image (4)."""
        met = [[len(self.met(axis, tap)) for tap in self.numbers(axis)] for axis in range(len(self.taps))]
        return prod(sum(each) / (len(each) * self.count(axis)) for axis, each in enumerate(met))

    @property
    def few(self) -> tuple[int, list[int], "_Part"] | None:
        """An axis, its taps that are cut off, and the part with the others; `None` where there are none (4)."""
        for axis in range(len(self.taps)):
            numbers = self.numbers(axis)
            most = max(len(self.met(axis, tap)) for tap in numbers)
            few = [tap for tap in numbers if len(self.met(axis, tap)) <= FEW * most and self._is_cut(axis, tap)]
            left = [tap for tap in numbers if tap not in few]
            if few and left and left[-1] - left[0] == len(left) - 1:
                part = self.with_taps(axis, left[0], left[-1])
                if part is not None:
                    return axis, few, part
        return None

    def _is_cut(self, axis: int, tap: int) -> bool:
        op, met, count = self.op, len(self.met(axis, tap)), self.count(axis)
        _, (outputs, inputs, *_) = op.canonical_shapes()
        batch = op.input.type.get_shape()[op.data_axes[0]]
        dtype = element_dtype(op.result.type.element_type)
        if self.distance(axis) == 1 and count >= FOR_TILES:
            return False
        if not met or DYNAMIC in (batch, inputs, outputs) or op.groups.value.data != 1:
            return False
        others = prod(len(self.numbers(each)) for each in range(len(self.taps)) if each != axis)
        saved = inputs * others * (count - met) / count
        elements = batch * outputs * prod(self.count(each) for each in range(len(self.taps)))
        is_wide = dtype.kind in "iu" or dtype.str[1:] in ("f4", "f8")
        return is_wide and saved >= LEAST_SAVED and saved * elements >= LEAST_IN_ALL


class _Parts(Expansion):
    """The convolutions and sums that take the place of one convolution."""

    def __init__(self, op: ConvOp, kernel: Array):
        super().__init__(op)
        self.op, self.taps = op, kernel

    def computed(self, part: _Part) -> SSAValue:
        """The sums of a part."""
        part = part.smallest
        cut = part.few
        if cut is None:
            return self.convolution(part)
        axis, few, others = cut
        borders = [self.border(part, axis, tap) for tap in few]
        added = borders[0]
        for border in borders[1:]:
            added = self.add(AddOp(added, border))
        return self.add(AddOp(self.computed(others), added))

    def border(self, part: _Part, axis: int, tap: int) -> SSAValue:
        """The products of one tap in the windows where it meets the image, between zeros."""
        met, place, at = part.met(axis, tap), part.place(axis, tap), part.op.data_axes[axis + 2]
        begin, end = (place + window * part.stride(axis) for window in (met[0], met[-1]))
        slice = self.add(StridedSliceOp(part.value, begin=[begin], end=[end + 1], axes=[at]))
        value = self.computed(part.alone(axis, tap, slice))
        type, widths = cast(Tensor, value.type), [0] * len(part.op.data_axes)
        zero = self.add(constant(np.zeros((), element_dtype(type.element_type))))
        low, high = _with(widths, at, met[0]), _with(widths, at, part.count(axis) - met[-1] - 1)
        return self.add(PadOp(value, zero, low=list(low), high=list(high)))

    def convolution(self, part: _Part) -> SSAValue:
        """A convolution of the taps of a part."""
        op, old = self.op, self.op.result.type
        cut = [slice(None)] * self.taps.ndim
        for axis, taps in zip(op.kernel_axes[2:], part.taps, strict=True):
            cut[axis] = taps
        shape = list(old.get_shape())
        for axis in range(len(part.taps)):
            shape[op.data_axes[axis + 2]] = part.count(axis)
        kernel = constant(self.taps[tuple(cut)])
        return self.add(
            type(op).create(
                operands=[part.value, self.add(kernel)],
                result_types=[with_shape(old, shape)],
                properties=op.properties | {"padding": DenseArrayBase.from_list(i64, [*part.low, *part.high])},
            )
        )


def _with(values: Sequence[_Each], place: int, value: _Each) -> tuple[_Each, ...]:
    """The values with another one at a place."""
    return (*values[:place], value, *values[place + 1 :])
