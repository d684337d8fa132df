"""Pools and resizing of images."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import pooling as p
from fuse_dialect.dialect.ops.elementwise import IsnanOp
from fuse_dialect.dialect.ops.indexing import GatherOp, TakeOp
from fuse_dialect.dialect.ops.opaque import ScatterNdOp
from fuse_dialect.dialect.ops.reduction import ArgmaxOp, MaxOp
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.dialect.ops.sampling import GridSampleOp
from fuse_dialect.frontends.aten.graph import Array
from fuse_dialect.frontends.aten.rules.table import RULES, Want, made
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    counting,
    dtype,
    integers,
    reshape,
    scalar,
    shape,
)


def _window(kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]) -> Any:
    def pair(numbers: Sequence[int]) -> list[int]:
        return list(numbers) * (2 if len(numbers) == 1 else 1)

    size = pair(kernel)
    return {
        "pool_size": size,
        "strides": pair(stride) if stride else size,
        "padding": pair(padding) * 2,
        "dilation": pair(dilation),
    }


def _images(value: SSAValue) -> SSAValue:
    """A batch of images; PyTorch takes one without its axis of the batch."""
    sizes = shape(value)
    return value if len(sizes) == 4 else reshape(value, [1, *sizes])


@RULES.of("aten.max_pool2d_with_indices.default", "aten._low_memory_max_pool_with_offsets.default")
def max_pool(
    want: Want,
    self: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> list[SSAValue]:
    """`max_pool2d`, and places in the plane of each channel."""
    x = _images(self)
    window = _window(kernel_size, stride, padding, dilation)
    values = made(p.MaxPool2dOp(x, ceil_mode=ceil_mode, **window))
    places = made(p.MaxPool2dIndicesOp(x, ceil_mode=ceil_mode, **window))
    plane = scalar(places, shape(x)[2] * shape(x)[3])
    return [reshape(values, want.shape), reshape(made(b.ModOp(places, plane)), want.shape)]


@RULES.of("aten.adaptive_max_pool2d.default")
def adaptive_max_pool(want: Want, self: SSAValue, output_size: Sequence[int]) -> list[SSAValue]:
    """`max_pool2d` with windows side by side; else the greatest of what is gathered for each window."""
    sizes, wanted = shape(self)[-2:], want.shape[-2:]
    if any(size % count for size, count in zip(sizes, wanted, strict=True)):
        return _greatest_of_each(want, _images(self))
    return max_pool(want, self, [size // count for size, count in zip(sizes, wanted, strict=True)])


def _greatest_of_each(want: Want, x: SSAValue) -> list[SSAValue]:
    """The greatest elements of windows that differ in size or overlap, and their places; short ones repeat the last."""
    height, width = shape(x)[2:]
    rows, columns = (_adaptive_windows(*each) for each in zip((height, width), want.shape[-2:], strict=True))
    places = rows[:, None, :, None] * width + columns[None, :, None, :]
    count = rows.shape[1] * columns.shape[1]
    flat = reshape(x, [*shape(x)[:2], height * width])
    parts = made(TakeOp(flat, integers(places.reshape(*want.shape[-2:], count)), axis=2))
    is_nan = made(IsnanOp(parts)) if dtype(x).kind not in "biu" else None
    key = parts if is_nan is None else made(b.WhereOp(is_nan, scalar(parts, math.inf), parts))
    first = made(ArgmaxOp(key, axes=[4], keepdims=True))
    table = broadcast(integers(places.reshape(*want.shape[-2:], count)), shape(parts))
    found = made(GatherOp(table, first, axis=4))
    return [reshape(made(MaxOp(parts, axes=[4])), want.shape), reshape(found, want.shape)]


def _adaptive_windows(size: int, count: int) -> Array:
    """For each window along an axis the places in it."""
    begins = [place * size // count for place in range(count)]
    ends = [-((place + 1) * -size // count) for place in range(count)]
    longest = max(end - begin for begin, end in zip(begins, ends, strict=True))
    return np.minimum(np.array(begins)[:, None] + np.arange(longest), np.array(ends)[:, None] - 1)


@RULES.of("aten.max_pool2d_with_indices_backward.default")
def max_pool_backward(
    want: Want,
    grad_output: SSAValue,
    self: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: SSAValue,
) -> SSAValue:
    """Gradients added where the greatest elements stand."""
    height, width = want.shape[-2:]
    planes = 1
    for size in want.shape[:-2]:
        planes *= size
    count = shape(grad_output)[-2] * shape(grad_output)[-1]
    firsts = made(b.MultiplyOp(reshape(counting(planes, i64), [planes, 1]), scalar(indices, height * width)))
    places = made(b.AddOp(reshape(indices, [planes, count]), firsts))
    flat = broadcast(scalar(grad_output, 0), [planes * height * width])
    updates = reshape(grad_output, [planes * count])
    return reshape(made(ScatterNdOp(flat, reshape(places, [planes * count, 1]), updates, mode="add")), want.shape)


@RULES.of("aten.avg_pool2d.default")
def average_pool(
    want: Want,
    self: SSAValue,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> SSAValue:
    """`avg_pool2d`."""
    window = _window(kernel_size, stride, padding, (1,))
    if divisor_override is None:
        pool = p.AvgPool2dOp(_images(self), ceil_mode=ceil_mode, count_include_pad=count_include_pad, **window)
        return reshape(made(pool), want.shape)
    if ceil_mode:
        raise NoFuseFormError("a divisor of windows that reach over the end")
    mean = reshape(made(p.AvgPool2dOp(_images(self), count_include_pad=True, **window)), want.shape)
    return made(b.MultiplyOp(mean, scalar(mean, math.prod(window["pool_size"]) / divisor_override)))


@RULES.of("aten._adaptive_avg_pool2d.default")
def adaptive_average_pool(want: Want, self: SSAValue, output_size: Sequence[int]) -> SSAValue:
    """`adaptive_avg_pool2d`."""
    return reshape(made(p.AdaptiveAvgPool2dOp(_images(self), output_size=list(output_size))), want.shape)


def _resized(
    want: Want, value: SSAValue, method: str, mode: str, nearest: str, factors: Any, **others: Any
) -> SSAValue:
    scales: dict[str, Any] = {} if not factors or None in factors else {"scales": [float(each) for each in factors]}
    return made(
        Resize2dOp(
            value,
            size=list(want.shape[2:]),
            method=method,
            coordinate_transformation_mode=mode,
            nearest_mode=nearest,
            **scales,
            **others,
        )
    )


@RULES.of("aten.upsample_nearest2d.vec")
def nearest_list(want: Want, input: SSAValue, output_size: Any, scale_factors: Any = None) -> SSAValue:
    """`resize2d` to the nearest element below."""
    return _resized(want, input, "nearest", "asymmetric", "floor", scale_factors)


@RULES.of("aten.upsample_nearest2d.default")
def nearest(
    want: Want, self: SSAValue, output_size: Any, scales_h: float | None = None, scales_w: float | None = None
) -> SSAValue:
    """`resize2d` to the nearest element below."""
    return _resized(want, self, "nearest", "asymmetric", "floor", [scales_h, scales_w])


@RULES.of("aten.upsample_bilinear2d.vec")
def bilinear_list(
    want: Want, input: SSAValue, output_size: Any, align_corners: bool, scale_factors: Any = None
) -> SSAValue:
    """`resize2d` between the nearest elements."""
    mode = "align_corners" if align_corners else "half_pixel"
    # With aligned corners sizes alone decide, whatever the factors are.
    return _resized(want, input, "linear", mode, "round_prefer_floor", None if align_corners else scale_factors)


def _enter_smooth(target: str, method: str, **others: Any) -> None:
    @RULES.of(f"aten.{target}.default")
    def smooth(
        want: Want,
        input: SSAValue,
        output_size: Any,
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> SSAValue:
        mode = "align_corners" if align_corners else "half_pixel"
        factors = None if align_corners else [scales_h, scales_w]
        return _resized(want, input, method, mode, "round_prefer_floor", factors, **others)


_enter_smooth("upsample_bilinear2d", "linear")
_enter_smooth("_upsample_bilinear2d_aa", "linear", antialias=True, exclude_outside=True)
_enter_smooth("_upsample_bicubic2d_aa", "cubic", antialias=True, exclude_outside=True, cubic_alpha=-0.5)
_MODES = ("linear", "nearest", "cubic")
_PADDINGS = ("zeros", "border", "reflection")


@RULES.of("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(
    want: Want, input: SSAValue, grid: SSAValue, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> SSAValue:
    """`grid_sample`."""
    mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return made(GridSampleOp(input, grid, mode=mode, padding_mode=padding, align_corners=align_corners))
