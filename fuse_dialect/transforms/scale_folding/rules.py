"""Which ops take a scale into their weight, and which let it pass: one row an op family.

Source: TVM, the forward and backward rules of src/relay/transforms/fold_scale_axis.cc (v0.18). Pools and matrix
products are rows that TVM does not have.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.activation import LeakyReluOp, ReluOp
from fuse_dialect.dialect.ops.broadcast import PreluOp
from fuse_dialect.dialect.ops.convolution import Conv2dTransposeOp, ConvOp, WindowedProductOp
from fuse_dialect.dialect.ops.matmul import DenseOp, TransposableProductOp
from fuse_dialect.dialect.ops.pooling import (
    AdaptiveAvgPool2dOp,
    AvgPool2dOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    MaxPool2dOp,
    SpatialOp,
)
from fuse_dialect.transforms.scale_folding.scale import Scale, is_scalable, rank_of

Factors = Callable[[Scale], Array]
"""The factors of a weight for a scale of the data or the result, in a shape that broadcasts against the weight."""


@dataclass(frozen=True, slots=True)
class Product:
    """An op that is linear in a constant weight, and how its weight takes a scale."""

    op: FuseOp
    data: int
    """Which operand the data is."""
    weight: int
    """Which operand the weight is."""
    input_axis: int
    """The axis of the data along which a scale may run."""
    output_axis: int
    """The axis of the result along which a scale may run."""
    input_factors: Factors
    output_factors: Factors
    input_elements: int
    """Of the factors for a scale of the data that is a vector."""
    output_elements: int
    """Of the factors for a scale of the result that is a vector."""


def product_of(op: Operation, is_weight: Callable[[SSAValue], bool]) -> Product | None:
    """How the op takes scales into its weight, or `None` when it takes none.

    Args:
        op: Any op.
        is_weight: Whether a value is a constant, or computed from constants.
    """
    if not isinstance(op, FuseOp) or not op.results or not is_scalable(op.results[0]):
        return None
    row = next((PRODUCTS[cls] for cls in type(op).__mro__ if cls in PRODUCTS), None)
    return None if row is None else row(op, is_weight)


def is_constant(value: SSAValue) -> bool:
    """Whether a constant defines the value; its elements need not be known."""
    return isinstance(value.owner, arith.ConstantOp)


def _along(axis: int, rank: int) -> Factors:
    """Factors along one axis of a weight."""
    return lambda scale: scale.factors if scale.axis is None else Scale(axis, scale.factors).aligned(rank)


def _in_groups(axis: int, other: int, rank: int, groups: int, size: int) -> Factors:
    """Factors along the axis of a weight that counts the channels of one group.

    The channels of group g stand, all of them, at each position that the group has on the axis `other` of `size`.
    """

    def factors(scale: Scale) -> Array:
        if scale.axis is None:
            return scale.factors
        if groups == 1:
            return Scale(axis, scale.factors).aligned(rank)
        of_position = np.repeat(scale.factors.reshape(groups, -1), size // groups, axis=0)
        ordered = of_position if other < axis else of_position.T
        shape = [1] * rank
        shape[axis], shape[other] = of_position.shape[1], size
        return ordered.reshape(shape)

    return factors


def _windowed(op: FuseOp, is_weight: Callable[[SSAValue], bool]) -> Product | None:
    """A convolution counts its result's channels on one axis of the kernel and a group's inputs on another.

    A transposed one counts its inputs, and a group's channels of the result.
    """
    assert isinstance(op, WindowedProductOp)
    if not is_weight(op.weight):
        return None
    kernel, groups, rank = op.kernel_layout.data, op.groups.value.data, rank_of(op.weight)
    channels = op.data_layout.data.index("C")
    whole, part = ("I", "O") if isinstance(op, Conv2dTransposeOp) else ("O", "I")
    along_whole = _along(kernel.index(whole), rank)
    shape = op.weight.type.get_shape()
    size, inner = shape[kernel.index(whole)], shape[kernel.index(part)]
    along_part = _in_groups(kernel.index(part), kernel.index(whole), rank, groups, size)
    elements = inner if groups == 1 else inner * size
    if whole == "I":
        return Product(op, 0, 1, channels, channels, along_whole, along_part, size, elements)
    return Product(op, 0, 1, channels, channels, along_part, along_whole, elements, size)


def _dense(op: FuseOp, is_weight: Callable[[SSAValue], bool]) -> Product | None:
    """`weight` has a row for each element of the result's last axis, a column for each of the input's."""
    assert isinstance(op, DenseOp)
    if not is_weight(op.weight):
        return None
    outputs, inputs = op.weight.type.get_shape()
    axes = rank_of(op.input) - 1, rank_of(op.result) - 1
    return Product(op, 0, 1, *axes, _along(1, 2), _along(0, 2), inputs, outputs)


def _matmul(op: FuseOp, is_weight: Callable[[SSAValue], bool]) -> Product | None:
    """Either operand may be the weight; its inner axis meets that of the data, the other one is one of the result."""
    assert isinstance(op, TransposableProductOp)
    left, right, result = rank_of(op.lhs), rank_of(op.rhs), rank_of(op.result)
    rows, inner_left = (left - 1, left - 2) if op.transpose_a.value.data else (left - 2, left - 1)
    inner_right, columns = (right - 1, right - 2) if op.transpose_b.value.data else (right - 2, right - 1)
    if is_weight(op.rhs):
        shape = op.rhs.type.get_shape()
        factors = _along(inner_right, right), _along(columns, right)
        return Product(op, 0, 1, inner_left, result - 1, *factors, shape[inner_right], shape[columns])
    if is_weight(op.lhs):
        shape = op.lhs.type.get_shape()
        factors = _along(inner_left, left), _along(rows, left)
        return Product(op, 1, 0, inner_right, result - 2, *factors, shape[inner_left], shape[rows])
    return None


PRODUCTS: Mapping[type, Callable[[FuseOp, Callable[[SSAValue], bool]], Product | None]] = {
    ConvOp: _windowed,
    Conv2dTransposeOp: _windowed,
    DenseOp: _dense,
    TransposableProductOp: _matmul,
}
"""Ops with weights, by op class or a base of it."""


@dataclass(frozen=True, slots=True)
class Passing:
    """An op f of one operand, and maybe parameters, with f(s * x) = s * f(x)."""

    only_positive: bool
    """Whether that holds for positive s alone."""
    channels_alone: bool = False
    """Whether s must not change along the spatial axes."""

    def admits(self, op: FuseOp, axis: int) -> bool:
        """Whether a scale along `axis` may pass."""
        if not self.channels_alone:
            return True
        assert isinstance(op, SpatialOp)
        return op.layout.data.index("C") == axis


PASSINGS: Mapping[type, Passing] = {
    ReluOp: Passing(only_positive=True),
    LeakyReluOp: Passing(only_positive=True),
    PreluOp: Passing(only_positive=True),
    MaxPool2dOp: Passing(only_positive=True, channels_alone=True),
    GlobalMaxPool2dOp: Passing(only_positive=True, channels_alone=True),
    AvgPool2dOp: Passing(only_positive=False, channels_alone=True),
    GlobalAvgPool2dOp: Passing(only_positive=False, channels_alone=True),
    AdaptiveAvgPool2dOp: Passing(only_positive=False, channels_alone=True),
}
"""Ops that let scales pass; the data is their first operand."""
