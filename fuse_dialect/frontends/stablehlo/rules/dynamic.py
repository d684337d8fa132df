"""Ops whose shape is an operand: what JAX prints for symbolic sizes."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.dynamic import (
    DynBroadcastToOp,
    DynFullOp,
    DynPadOp,
    DynReshapeOp,
    DynStridedSliceOp,
)
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.shape_rules import remainder_says
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    counting,
    integers,
    of,
    reshape,
    result,
    scalar,
    shape,
    tensor,
    transpose,
)
from fuse_dialect.frontends.stablehlo.attributes import ConvDimensionNumbersAttr
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, number
from fuse_dialect.frontends.stablehlo.rules.contractions import convolve
from fuse_dialect.frontends.stablehlo.rules.shapes import pad
from fuse_dialect.frontends.stablehlo.rules.sizes import as_scalar, counting_up_to, insert_axes, item, size_of


def _get_dimension_size(op: Operation) -> Sequence[SSAValue]:
    (x,), axis, target = op.operands, number(op, "dimension"), tensor(op.results[0])
    if (known := shape(x)[axis]) != DYNAMIC:
        return [scalar(op.results[0], known)]
    return [as_scalar(size_of((x, axis)), target.element_type)]


def _dynamic_broadcast_in_dim(op: Operation) -> Sequence[SSAValue]:
    x, sizes = op.operands
    target, axes = tensor(op.results[0]), ints(op, "broadcast_dimensions")
    if not shape(x):
        if DYNAMIC not in target.get_shape():
            return [broadcast(x, target.get_shape())]
        return [result(DynFullOp(x, sizes, result_types=[target]))]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    missing = [place - min(axes) for place in range(min(axes), target.get_num_dims()) if place not in axes]
    x = insert_axes(transpose(x, order), missing)
    return [broadcast_to(x, sizes, target.get_shape())]


def broadcast_to(x: SSAValue, sizes: SSAValue, target: Sequence[int]) -> SSAValue:
    """The tensor in a shape that a list of integers says."""
    if DYNAMIC not in target:
        return broadcast(x, target)
    return result(DynBroadcastToOp(x, sizes, result_types=[of(x, target)]))


def without_expansions(op: Operation) -> list[SSAValue]:
    """The operands of an elementwise op, those that are repeated to an open size as they were before.

    StableHLO wants operands of one shape, so that any other operand has it, and `fuse` ops broadcast to that.
    """
    before = [
        value.op.operands[0]
        if isinstance(value, OpResult) and isinstance(value.op, DynBroadcastToOp | DynFullOp)
        else value
        for value in op.operands
    ]
    target = shape(op.results[0])
    is_shaped = any(new is old and shape(new) == target for new, old in zip(before, op.operands, strict=True))
    return before if is_shaped else list(op.operands)


def _dynamic_reshape(op: Operation) -> Sequence[SSAValue]:
    x, sizes = op.operands
    target = tensor(op.results[0])
    if remainder_says(target.get_shape()):
        return [result(ReshapeOp(x, result_types=[target]))]
    return [result(DynReshapeOp(x, sizes, allowzero=True, result_types=[target]))]


def _dynamic_iota(op: Operation) -> Sequence[SSAValue]:
    (sizes,), target, axis = op.operands, tensor(op.results[0]), number(op, "iota_dimension")
    shape_, element_type = list(target.get_shape()), target.element_type
    known = shape_[axis]
    line = counting(known, element_type) if known != DYNAMIC else counting_up_to(item(sizes, axis), element_type)
    if len(shape_) == 1:
        return [line]
    behind = range(1, len(shape_) - axis)
    return [broadcast_to(insert_axes(line, behind), sizes, shape_)]


def _real_dynamic_slice(op: Operation) -> Sequence[SSAValue]:
    return [result(DynStridedSliceOp(*op.operands, result_types=[op.results[0].type]))]


def _dynamic_pad(op: Operation) -> Sequence[SSAValue]:
    x, value, low, high, interior = op.operands
    between = constant_of(interior)
    if between is None:
        raise NoFuseFormError("as many elements between its own as the program computes")
    none = [0] * len(shape(x))
    x = pad(x, value, none, none, [int(each) for each in between])
    return [result(DynPadOp(x, value, low, high, result_types=[op.results[0].type]))]


def _dynamic_conv(op: Operation) -> Sequence[SSAValue]:
    """A convolution of an image that gets its gaps, and is padded, first: the widths are operands."""
    x, w, widths = op.operands
    numbers = op.properties["dimension_numbers"]
    assert isinstance(numbers, ConvDimensionNumbersAttr), "the class of the op says so"
    axes = numbers.data[0]
    rank = len(axes) - 2
    flat = reshape(widths, [2 * rank])
    none = integers([0], flat)
    sides = [
        result(ConcatenateOp(*(item(flat, 2 * int(axis) + side) if axis.isdigit() else none for axis in axes), axis=0))
        for side in (0, 1)
    ]
    dilation, zeros = ints(op, "lhs_dilation", [1] * rank), [0] * len(axes)
    x = pad(x, scalar(x, 0), zeros, zeros, [dilation[int(axis)] - 1 if axis.isdigit() else 0 for axis in axes])
    sizes = [DYNAMIC if axis.isdigit() else size for axis, size in zip(axes, shape(x), strict=True)]
    padded = result(DynPadOp(x, scalar(x, 0), *sides, result_types=[of(x, sizes)]))
    return [_with_sizes(convolve(op, padded, w, [(0, 0)] * rank, [1] * rank), op.results[0])]


def _with_sizes(x: SSAValue, like: SSAValue) -> SSAValue:
    """The tensor with the sizes that another type knows of it."""
    known = shape(like)
    return x if known == shape(x) or not remainder_says(known) else result(ReshapeOp(x, result_types=[of(x, known)]))


DYNAMIC_SHAPES: Mapping[str, Rule] = {
    "stablehlo.dynamic_broadcast_in_dim": _dynamic_broadcast_in_dim,
    "stablehlo.dynamic_conv": _dynamic_conv,
    "stablehlo.dynamic_iota": _dynamic_iota,
    "stablehlo.dynamic_pad": _dynamic_pad,
    "stablehlo.dynamic_reshape": _dynamic_reshape,
    "stablehlo.get_dimension_size": _get_dimension_size,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
}
"""Rules by the name of the op."""
