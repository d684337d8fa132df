"""Products and convolutions: axes are turned until a `fuse` op takes them."""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.convolution import Conv1dOp, Conv2dOp, Conv3dOp
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, MatmulOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    cast_to,
    reshape,
    result,
    scalar,
    shape,
    static_shape,
    tensor,
    transpose,
)
from fuse_dialect.frontends.stablehlo.attributes import ConvDimensionNumbersAttr, DotDimensionNumbersAttr
from fuse_dialect.frontends.stablehlo.clauses import ints_of
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, number, padding
from fuse_dialect.frontends.stablehlo.rules.shapes import pad
from fuse_dialect.frontends.stablehlo.rules.sizes import Axis, merge_axes, split_axes


def _dot_general(op: Operation) -> Sequence[SSAValue]:
    axes = op.properties["dot_dimension_numbers"]
    assert isinstance(axes, DotDimensionNumbersAttr), "the class of the op says so"
    lists = [axes.list_named(name) for name in axes.FIELDS]
    return [product(op, lists[0], lists[1], lists[2], lists[3])]


def _dot(op: Operation) -> Sequence[SSAValue]:
    return [product(op, (), (), (len(shape(op.operands[0])) - 1,), (0,))]


def product(
    op: Operation, lhs_batch: Sequence[int], rhs_batch: Sequence[int], lhs_sum: Sequence[int], rhs_sum: Sequence[int]
) -> SSAValue:
    """The product of two tensors: batch axes first, then those of the left and those of the right side."""
    element_type = tensor(op.results[0]).element_type
    # The result may be wider than the operands: then so are the products. Of truth values, true ones are counted.
    is_boolean = element_type == i1
    lhs, rhs = (cast_to(value, i32 if is_boolean else element_type) for value in op.operands)
    rows = [axis for axis in range(len(shape(lhs))) if axis not in (*lhs_batch, *lhs_sum)]
    columns = [axis for axis in range(len(shape(rhs))) if axis not in (*rhs_batch, *rhs_sum)]
    batch, height, width = ([[each] for each in _axes(lhs, lhs_batch)], [_axes(lhs, rows)], [_axes(rhs, columns)])
    # Rows on several open axes stay apart: all but the last are batches, which one matrix on the right meets.
    if stays_apart := len(rows) > 1 and not batch and DYNAMIC in shape(lhs):
        height = [[each] for each in height[0]]
    left = transpose(lhs, [*lhs_batch, *rows, *lhs_sum])
    left = merge_axes(left, [*batch, *height, _axes(lhs, lhs_sum)])
    # The right side is turned only if it is not in one of the two orders already.
    is_turned = [*rhs_batch, *columns, *rhs_sum] == sorted([*rhs_batch, *columns, *rhs_sum]) and bool(columns)
    matrix = [*width, _axes(rhs, rhs_sum)] if is_turned else [_axes(rhs, rhs_sum), *width]
    order = [*rhs_batch, *columns, *rhs_sum] if is_turned else [*rhs_batch, *rhs_sum, *columns]
    right = merge_axes(transpose(rhs, order), [*([each] for each in _axes(rhs, rhs_batch)), *matrix])
    made = (BatchMatmulOp if batch or stays_apart else MatmulOp)(left, right, transpose_b=is_turned)
    found = split_axes(result(made), [*batch, *height, *width])
    return cast_to(found, i1) if is_boolean else found


def _axes(value: SSAValue, places: Sequence[int]) -> list[Axis]:
    return [(value, place) for place in places]


_CONVOLUTIONS: Mapping[int, tuple[type[FuseOp], str]] = {1: (Conv1dOp, "W"), 2: (Conv2dOp, "HW"), 3: (Conv3dOp, "DHW")}


def _convolution(op: Operation) -> Sequence[SSAValue]:
    x, w = op.operands
    around = padding(op, len(shape(x)) - 2)
    return [convolve(op, x, w, around, ints(op, "lhs_dilation", [1] * len(around)))]


def convolve(op: Operation, x: SSAValue, w: SSAValue, around: list[tuple[int, int]], base: Sequence[int]) -> SSAValue:
    """What a convolution with the op's properties makes of an image.

    Args:
        op: The convolution.
        x: The image.
        w: The kernel.
        around: What is added before and behind each spatial axis.
        base: How far apart its elements are moved on each of them.
    """
    numbers = op.properties["dimension_numbers"]
    assert isinstance(numbers, ConvDimensionNumbersAttr), "the class of the op says so"
    x_axes, w_axes, y_axes = numbers.data
    rank = len(x_axes) - 2
    if rank not in _CONVOLUTIONS:
        raise NoFuseFormError(f"{rank} spatial axes")
    batch_groups = number(op, "batch_group_count", 1)
    ones = [1] * rank
    element_type = tensor(op.results[0]).element_type
    x, w = (cast_to(value, element_type) for value in (x, w))
    spatial = [str(axis) for axis in range(rank)]
    reversal = op.properties.get("window_reversal")
    if reversal is not None:
        turned = [w_axes.index(str(axis)) for axis, flag in enumerate(ints_of(reversal)) if flag]
        w = result(ReverseOp(w, axes=turned)) if turned else w
    cls, letters = _CONVOLUTIONS[rank]
    channels_last = (
        batch_groups == 1
        and rank == 2
        and list(x_axes) == ["b", *spatial, "f"]
        and list(w_axes) == [*spatial, "i", "o"]
    )
    x_order = ["b", *spatial, "f"] if channels_last else ["b", "f", *spatial]
    if not channels_last:
        x = transpose(x, [x_axes.index(name) for name in x_order])
        w = transpose(w, [w_axes.index(name) for name in ("o", "i", *spatial)])
        x = _batch_groups_as_channels(x, batch_groups)
    if any(each > 1 for each in base) or any(width < 0 for pair in around for width in pair):
        # `fuse` convolutions add zeros on the outside alone; the others are put in first.
        widths = [[0] * (rank + 2) for _ in range(3)]
        for axis, (low, high) in enumerate(around):
            place = x_order.index(str(axis))
            widths[0][place], widths[1][place], widths[2][place] = low, high, base[axis] - 1
        x, around = pad(x, scalar(x, 0), *widths), [(0, 0)] * rank
    made = cls(
        x,
        w,
        strides=list(ints(op, "window_strides", ones)),
        padding=[*(low for low, _ in around), *(high for _, high in around)],
        dilation=list(ints(op, "rhs_dilation", ones)),
        groups=number(op, "feature_group_count", 1) * batch_groups,
        data_layout=f"N{letters}C" if channels_last else f"NC{letters}",
        kernel_layout=f"{letters}IO" if channels_last else f"OI{letters}",
    )
    return transpose(result(made), [x_order.index(name) for name in y_axes])


def _batch_groups_as_channels(x: SSAValue, groups: int) -> SSAValue:
    """An image `b f ...` whose groups of the batch are groups of channels: `g*b f ...` as `b g*f ...`."""
    if groups == 1:
        return x
    batch, channels, *spatial = static_shape(x)
    if batch % groups:
        raise NoFuseFormError(f"{groups} groups of a batch of {batch}")
    parted = reshape(x, [groups, batch // groups, channels, *spatial])
    turned = transpose(parted, [1, 0, *range(2, len(shape(parted)))])
    return reshape(turned, [batch // groups, groups * channels, *spatial])


CONTRACTIONS: Mapping[str, Rule] = {
    "stablehlo.convolution": _convolution,
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
}
"""Rules by the name of the op."""
