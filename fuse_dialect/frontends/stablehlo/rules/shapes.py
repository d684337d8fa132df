"""Ops that move elements and compute none."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    counting,
    reshape,
    result,
    shape,
    static_shape,
    tensor,
    transpose,
)
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, number


def _broadcast_in_dim(op: Operation) -> Sequence[SSAValue]:
    x = op.operands[0]
    target = static_shape(op.results[0])
    axes = ints(op, "broadcast_dimensions")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    sizes = static_shape(x)
    x = transpose(x, order)
    aligned = [1] * len(target)
    for axis in order:
        aligned[axes[axis]] = sizes[axis]
    if not sizes:
        return [broadcast(x, target)]
    return [broadcast(reshape(x, aligned[min(axes) :]), target)]


def _broadcast(op: Operation) -> Sequence[SSAValue]:
    return [broadcast(op.operands[0], static_shape(op.results[0]))]


def _reshape(op: Operation) -> Sequence[SSAValue]:
    return [reshape(op.operands[0], static_shape(op.results[0]))]


def _transpose(op: Operation) -> Sequence[SSAValue]:
    return [transpose(op.operands[0], ints(op, "permutation"))]


def _reverse(op: Operation) -> Sequence[SSAValue]:
    axes = ints(op, "dimensions")
    return [result(ReverseOp(op.operands[0], axes=list(axes))) if axes else op.operands[0]]


def slice_of(x: SSAValue, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]) -> SSAValue:
    """A part of a tensor; the axes that stay whole are not mentioned."""
    sizes = shape(x)
    cut = [axis for axis, size in enumerate(sizes) if (begin[axis], end[axis], strides[axis]) != (0, size, 1)]
    if not cut:
        return x
    return result(
        StridedSliceOp(
            x,
            begin=[begin[axis] for axis in cut],
            end=[end[axis] for axis in cut],
            strides=[strides[axis] for axis in cut],
            axes=cut,
        )
    )


def _slice(op: Operation) -> Sequence[SSAValue]:
    begin, end, strides = (ints(op, name) for name in ("start_indices", "limit_indices", "strides"))
    return [slice_of(op.operands[0], begin, end, strides)]


def pad(x: SSAValue, value: SSAValue, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> SSAValue:
    """A tensor with elements before, behind and between its own."""
    sizes = shape(x)
    low, high = list(low), list(high)
    if any(interior):
        if any(gap and size == DYNAMIC for gap, size in zip(interior, sizes, strict=True)):
            raise NoFuseFormError("gaps on an axis of open size")
        # Every element gets its gap on an axis of its own; the gap behind the last one is cropped again.
        parted = [part for size in sizes for part in (size, 1)]
        gaps = [part for gap in interior for part in (0, gap)]
        x = reshape(x, parted)
        x = result(PadOp(x, value, low=[0] * len(gaps), high=gaps))
        x = reshape(x, [size * (gap + 1) if gap else size for size, gap in zip(sizes, interior, strict=True)])
        high = [width - (gap if size else 0) for width, gap, size in zip(high, interior, sizes, strict=True)]
    return result(PadOp(x, value, low=low, high=high)) if any(low) or any(high) else x


def _pad(op: Operation) -> Sequence[SSAValue]:
    x, value = op.operands
    widths = (ints(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    return [pad(x, value, *widths)]


def _concatenate(op: Operation) -> Sequence[SSAValue]:
    return [result(ConcatenateOp(*op.operands, axis=number(op, "dimension")))]


def _iota(op: Operation) -> Sequence[SSAValue]:
    target, axis = tensor(op.results[0]), number(op, "iota_dimension")
    sizes = list(target.get_shape())
    line = counting(sizes[axis], target.element_type)
    return [broadcast(reshape(line, [sizes[axis], *[1] * (len(sizes) - axis - 1)]), sizes)]


SHAPES: Mapping[str, Rule] = {
    "stablehlo.broadcast": _broadcast,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.iota": _iota,
    "stablehlo.pad": _pad,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _transpose,
}
"""Rules by the name of the op."""
