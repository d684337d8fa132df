"""Sliding windows along the spatial axes: what convolution and pooling have in common.

A window covers `extent` elements of an axis, `dilation` apart, and moves by `stride` over the axis with `low` and
`high` elements of padding. All arrays here have their spatial axes last.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import MOST_TAPS, MOST_VALUE_BYTES, spelled
from fuse_dialect.counts import Size
from fuse_dialect.dialect.fields import Integers
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.shape_rules import integer_list
from fuse_dialect.dialect.types import DYNAMIC, Shape
from fuse_dialect.loops.indices import Guard, Index


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one op. Every tuple has one number for each spatial axis."""

    extent: Shape
    """Elements that a window covers; `?` for a kernel of dynamic size."""
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    """Padding before the first element."""
    high: tuple[int, ...]
    """Padding after the last element."""
    ceil_mode: bool = False
    """Whether a last window may reach beyond the padding."""

    @classmethod
    def of(
        cls, extent: Shape, strides: Integers, padding: Integers, dilation: Integers, *, ceil_mode: bool = False
    ) -> "Windows":
        """The windows that an op's properties describe.

        Args:
            extent: Size of a window.
            strides: Property of that name.
            padding: Property of that name: before each axis, then after each axis.
            dilation: Property of that name.
            ceil_mode: Property of that name.

        Raises:
            VerifyException: A list has not one number an axis (padding: two), or a number is out of range.
        """
        rank = len(extent)
        if any(dim < 1 for dim in extent if dim != DYNAMIC):
            raise VerifyException(f"expects windows of at least one element, got {list(extent)}")
        pads = integer_list(padding, 2 * rank, "padding", least=0)
        return cls(
            extent,
            integer_list(strides, rank, "strides", least=1),
            integer_list(dilation, rank, "dilation", least=1),
            pads[:rank],
            pads[rank:],
            ceil_mode,
        )

    def reach(self, axis: int) -> int:
        """Elements from the first to the last that a window covers, both included."""
        extent = self.extent[axis]
        return DYNAMIC if extent == DYNAMIC else (extent - 1) * self.dilation[axis] + 1

    def counts(self, sizes: Sequence[int]) -> Shape:
        """Number of windows along each axis, for spatial axes of `sizes`.

        In ceil mode a last window that does not fit counts too, if it starts inside the axis or the padding before it.

        Raises:
            VerifyException: A window is longer than an axis with its padding.
        Source: ONNX MaxPool and AveragePool, opset 22; ONNX Conv.
        """
        return tuple(self._count(axis, size) for axis, size in enumerate(sizes))

    def _count(self, axis: int, size: int) -> int:
        reach, stride = self.reach(axis), self.strides[axis]
        if DYNAMIC in (size, reach):
            return DYNAMIC
        padded = size + self.low[axis] + self.high[axis]
        count = (-((reach - padded) // stride) if self.ceil_mode else (padded - reach) // stride) + 1
        if self.ceil_mode and (count - 1) * stride >= size + self.low[axis]:
            count -= 1
        # In ceil mode one window may be longer than the axis, if it overhangs by less than a stride.
        if count < 1:
            raise VerifyException(
                f"expects windows that fit, got a window of {reach} on {padded} elements with padding "
                f"(spatial axis {axis})"
            )
        return count

    def clipped(self, sizes: Sequence[Size]) -> "Windows":
        """The windows without what lies behind the axes for all of them: models pool 320 places of an axis of 1.

        What is left out reads padding alone, and something stays, on an axis of no elements too. The number of windows
        is that of `self`.
        """
        extent = tuple(
            min(own, max(size + low - 1, 0) // step + 1) if isinstance(size, int) else own
            for own, size, low, step in zip(self.extent, sizes, self.low, self.dilation, strict=True)
        )
        return replace(self, extent=extent)

    def pad(self, x: Array, value: object, counts: Shape) -> Array:
        """`x` with `value` around it, so that every one of `counts` windows lies inside.

        Raises:
            VerifyException: It takes more memory, or windows have more places, than a run should try.
        """
        rank = len(self.extent)
        sizes = x.shape[-rank:]
        widths = [(0, 0)] * (x.ndim - rank)
        for axis in range(rank):
            needed = (counts[axis] - 1) * self.strides[axis] + self.reach(axis)
            widths.append((self.low[axis], max(0, needed - sizes[axis] - self.low[axis])))
        if not any(low or high for low, high in widths):
            return x
        shape = [low + size + high for (low, high), size in zip(widths, x.shape, strict=True)]
        count = math.prod(shape) * x.dtype.itemsize
        if count > MOST_VALUE_BYTES or math.prod(self.extent) > MOST_TAPS:
            raise VerifyException(
                f"expects windows of at most {MOST_TAPS} places, on at most {MOST_VALUE_BYTES} bytes with the padding, "
                f"got windows of {'x'.join(map(str, self.extent))} on {spelled(count)} bytes"
            )
        padded = np.full(shape, value, x.dtype)
        padded[tuple(slice(low, low + size) for (low, _), size in zip(widths, x.shape, strict=True))] = x
        return padded

    def view(self, padded: Array, counts: Shape) -> Array:
        """The elements of every window: leading axes, then one axis for each of `counts`, then one of each extent."""
        rank = len(self.extent)
        reach = tuple(self.reach(axis) for axis in range(rank))
        windows = sliding_window_view(padded, reach, axis=tuple(range(-rank, 0)))
        starts = tuple(slice(0, (n - 1) * stride + 1, stride) for n, stride in zip(counts, self.strides, strict=True))
        steps = tuple(slice(None, None, step) for step in self.dilation)
        return windows[(..., *starts, *steps)]

    def taps(self, padded: Array, counts: Shape) -> Iterator[Array]:
        """For each place in the window, the elements that all windows have there."""
        for offset in np.ndindex(*self.extent):
            yield padded[(..., *self.tap_slices(offset, counts))]

    def tap_slices(self, offset: Sequence[int], counts: Shape) -> tuple[slice, ...]:
        """Indices, along each spatial axis of the padded array, of the element at `offset` in every window."""
        return tuple(
            slice(at * step, at * step + (count - 1) * stride + 1, stride)
            for at, step, stride, count in zip(offset, self.dilation, self.strides, counts, strict=True)
        )

    def places(
        self, at: Sequence[Index], taps: Sequence[Index], sizes: Sequence[Size]
    ) -> tuple[list[Index], list[Guard]]:
        """Indices on spatial axes of `sizes` of the element that windows `at` meet at `taps`, and when there is one."""
        indices = [
            window * stride + tap * step - low
            for window, tap, stride, step, low in zip(at, taps, self.strides, self.dilation, self.low, strict=True)
        ]
        # Windows that fit an axis without padding lie inside, whatever its size.
        may_be_outside = [self.ceil_mode or low + high > 0 for low, high in zip(self.low, self.high, strict=True)]
        guards = [Guard(index, size) for index, size in zip(indices, sizes, strict=True)]
        return indices, [guard for guard, is_needed in zip(guards, may_be_outside, strict=True) if is_needed]

    def covered(self, sizes: Sequence[int], *, include_padding: bool) -> Array:
        """How many elements each window covers: of the axis alone, or also of its padding.

        Returns:
            Integers, one axis for each spatial axis of `sizes`. What lies beyond the padding never counts.
        """
        result = np.ones((), np.int64)
        for axis, (size, count) in enumerate(zip(sizes, self.counts(sizes), strict=True)):
            start = np.arange(count) * self.strides[axis] - self.low[axis]
            first = -self.low[axis] if include_padding else 0
            last = size + self.high[axis] if include_padding else size
            taps = [-((start - bound) // self.dilation[axis]) for bound in (first, last)]  # in front of each bound
            below, above = (np.clip(each, 0, self.extent[axis]) for each in taps)
            result = result[..., None] * (above - below)
        return result
