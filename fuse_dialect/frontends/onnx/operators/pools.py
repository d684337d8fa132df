"""ONNX pooling.

The dialect pools two axes. Windows are separable - a maximum or mean over a box is one over its sides in turn - so
one axis becomes two with a unit axis, and three axes are pooled two at first and then the third.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuse_dialect.analysis.sizes import multiply
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, ModOp, MultiplyOp, PowerOp, SubtractOp
from fuse_dialect.dialect.ops.elementwise import AbsOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.pooling import (
    AvgPool2dOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    MaxPool2dIndicesOp,
    MaxPool2dOp,
)
from fuse_dialect.dialect.ops.reduction import MaxOp, MeanOp, SumOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.convolutions import padding, spatial_list
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape_to_sizes, squeeze
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()


@dataclass(frozen=True, slots=True)
class _Windows:
    """How windows move over the spatial axes."""

    size: list[int]
    strides: list[int]
    pads: list[int]
    """Before all axes, then after them."""
    dilation: list[int]

    def part(self, start: int, stop: int) -> "_Windows":
        """The windows over some of the axes."""
        count = len(self.size)
        pads = [*self.pads[start:stop], *self.pads[count + start : count + stop]]
        return _Windows(self.size[start:stop], self.strides[start:stop], pads, self.dilation[start:stop])

    def before_unit(self) -> "_Windows":
        """The windows over one axis and a unit axis before it."""
        return _Windows([1, *self.size], [1, *self.strides], [0, self.pads[0], 0, self.pads[1]], [1, *self.dilation])

    def along_depth(self) -> "_Windows":
        """The windows over the first of the axes and a unit axis behind it."""
        depth = self.part(0, 1)
        before, behind = depth.pads
        return _Windows([*depth.size, 1], [*depth.strides, 1], [before, 0, behind, 0], [*depth.dilation, 1])


def _windows(node: OnnxNode) -> tuple[Value, _Windows]:
    """What is pooled, without what no window sees in front, and the windows over it."""
    x = node.operand(0)
    size = node.integers("kernel_shape")
    if node.rank(x) != len(size) + 2:
        raise UnsupportedFormError(f"windows of {size} over {node.type_of(x)} are not supported")
    strides = spatial_list(node, "strides", 1, len(size))
    dilation = spatial_list(node, "dilations", 1, len(size))
    pads = padding(node, x, size, strides, dilation, may_crop=True)
    if min(pads, default=0) < 0 and node.string("auto_pad", "NOTSET") != "NOTSET":
        axes = list(range(2, node.rank(x)))
        begin = [max(0, -low) for low in pads[: len(size)]]
        end = [extent - max(0, -high) for extent, high in zip(node.static_shape(x, 2), pads[len(size) :], strict=True)]
        x = node.emit(StridedSliceOp, x, begin=begin, end=end, axes=axes)
        pads = [max(0, pad) for pad in pads]
    return x, _Windows(size, strides, pads, dilation)


def _pool(node: OnnxNode, op: type[FuseOp], x: Value, windows: _Windows, *, ceil_mode: bool, **flags: bool) -> Value:
    """Pool all spatial axes."""
    spatial = len(windows.size)
    if spatial == 1:
        wide = _pool(node, op, expand_dims(node, x, [2]), windows.before_unit(), ceil_mode=ceil_mode, **flags)
        return squeeze(node, wide, [2])
    if spatial == 2:
        return node.emit(
            op,
            x,
            pool_size=windows.size,
            strides=windows.strides,
            padding=windows.pads,
            dilation=windows.dilation,
            ceil_mode=ceil_mode,
            type=None,
            **flags,
        )
    if spatial != 3:
        raise UnsupportedFormError(f"pooling over {spatial} axes is not supported")
    n, c, d, h, w = node.sizes(x)
    images = reshape_to_sizes(node, x, [n, multiply(c, d), h, w])
    planes = _pool(node, op, images, windows.part(1, 3), ceil_mode=ceil_mode, **flags)
    h, w = node.sizes(planes)[2:]
    columns = reshape_to_sizes(node, planes, [multiply(n, c), 1, d, multiply(h, w)])
    pooled = _pool(node, op, columns, windows.along_depth(), ceil_mode=ceil_mode, **flags)
    return reshape_to_sizes(node, pooled, [n, c, node.sizes(pooled)[2], h, w])


@OPERATORS.operator("MaxPool")
def import_max_pool(node: OnnxNode) -> Sequence[Value]:
    """`max_pool2d`, and `max_pool2d_indices` if the places are used."""
    (x, windows), ceil_mode = _windows(node), node.flag("ceil_mode")
    result = _pool(node, MaxPool2dOp, x, windows, ceil_mode=ceil_mode)
    if not node.is_used(1):
        return (result,)
    if x is not node.operand(0):
        raise UnsupportedFormError(
            "the result 'Indices' with strides longer than windows and 'auto_pad' is not supported"
        )
    by_columns = bool(node.integer("storage_order", 0))
    if len(windows.size) < 3:
        places = _pool(node, MaxPool2dIndicesOp, x, windows, ceil_mode=ceil_mode)
    elif by_columns:
        raise UnsupportedFormError("the result 'Indices' over three axes with 'storage_order' is not supported")
    else:
        places = _places_in_depth(node, x, windows, ceil_mode=ceil_mode)
    return (result, _by_columns(node, x, places) if by_columns else places)


def _places_in_depth(node: OnnxNode, x: Value, windows: _Windows, *, ceil_mode: bool) -> Value:
    """Places of maxima over three axes: those in the planes, at the places of the maxima of these along the depth."""
    n, c, d, h, w = node.sizes(x)
    images = reshape_to_sizes(node, x, [n, multiply(c, d), h, w])
    planes, places = (
        _pool(node, op, images, windows.part(1, 3), ceil_mode=ceil_mode) for op in (MaxPool2dOp, MaxPool2dIndicesOp)
    )
    h, w = node.sizes(planes)[2:]
    columns = reshape_to_sizes(node, planes, [multiply(n, c), 1, d, multiply(h, w)])
    within = _pool(node, MaxPool2dIndicesOp, columns, windows.along_depth(), ceil_mode=ceil_mode)
    found = node.emit(TakeOp, reshape_to_sizes(node, places, [-1]), within, axis=0)
    return reshape_to_sizes(node, found, [n, c, node.sizes(found)[2], h, w])


def _by_columns(node: OnnxNode, x: Value, places: Value) -> Value:
    """Places in images whose elements are counted along the columns first."""
    height, width = (*node.static_shape(x)[2:], 1)[:2]
    size = Constant(np.array(height * width))
    inside = node.emit(ModOp, places, size)
    row = node.emit(DivideOp, inside, Constant(np.array(width)))
    column = node.emit(ModOp, inside, Constant(np.array(width)))
    turned = node.emit(AddOp, node.emit(MultiplyOp, column, Constant(np.array(height))), row)
    return node.emit(AddOp, node.emit(SubtractOp, places, inside), turned)


@OPERATORS.operator("AveragePool")
def import_average_pool(node: OnnxNode) -> Value:
    """`avg_pool2d`."""
    x, windows = _windows(node)
    return _pool(
        node,
        AvgPool2dOp,
        x,
        windows,
        ceil_mode=node.flag("ceil_mode"),
        count_include_pad=node.flag("count_include_pad"),
    )


@OPERATORS.operator("LpPool")
def import_lp_pool(node: OnnxNode) -> Value:
    """The p-th root of the mean of |x|^p, times the number of elements of a window."""
    (x, windows), p = _windows(node), node.integer("p", 2)
    if node.flag("ceil_mode"):
        windows = _to_the_end(node.static_shape(x, 2), windows)
    powers = node.emit(PowerOp, node.emit(AbsOp, x), node.scalar(p, x))
    mean = _pool(node, AvgPool2dOp, powers, windows, ceil_mode=False, count_include_pad=True)
    total = node.emit(MultiplyOp, mean, node.scalar(math.prod(windows.size), x))
    return node.emit(PowerOp, total, node.scalar(1 / p, x))


def _to_the_end(extents: Sequence[int], windows: _Windows) -> _Windows:
    """The windows with zeros behind each axis, as many as `ceil_mode` wants; none begins in padding."""
    pads, count = list(windows.pads), len(windows.size)
    for axis, (extent, size, stride, dilation) in enumerate(
        zip(extents, windows.size, windows.strides, windows.dilation, strict=True)
    ):
        reach = dilation * (size - 1) + 1
        last = -(-(extent + pads[axis] + pads[count + axis] - reach) // stride) * stride
        if last >= extent + pads[axis]:
            last -= stride
        pads[count + axis] = max(pads[count + axis], last + reach - extent - pads[axis])
    return replace(windows, pads=pads)


@OPERATORS.operator("GlobalAveragePool")
def import_global_average_pool(node: OnnxNode) -> Value:
    """`global_avg_pool2d`, or a mean for other ranks."""
    return _global_pool(node, GlobalAvgPool2dOp, MeanOp)


@OPERATORS.operator("GlobalMaxPool")
def import_global_max_pool(node: OnnxNode) -> Value:
    """`global_max_pool2d`, or a maximum for other ranks."""
    return _global_pool(node, GlobalMaxPool2dOp, MaxOp)


@OPERATORS.operator("GlobalLpPool")
def import_global_lp_pool(node: OnnxNode) -> Value:
    """The p-th root of the sum of |x|^p over the spatial axes."""
    x, p = node.operand(0), node.integer("p", 2)
    powers = node.emit(PowerOp, node.emit(AbsOp, x), node.scalar(p, x))
    total = node.emit(SumOp, powers, axes=list(range(2, node.rank(x))), keepdims=True)
    return node.emit(PowerOp, total, node.scalar(1 / p, x))


def _global_pool(node: OnnxNode, pool: type[FuseOp], reduction: type[FuseOp]) -> Value:
    x = node.operand(0)
    if node.rank(x) == 4:
        return node.emit(pool, x)
    axes: Sequence[int] = range(2, node.rank(x))
    return node.emit(reduction, x, axes=list(axes), keepdims=True)
