"""Reshapes as `tensor.collapse_shape` and `tensor.expand_shape`, which move nothing."""

import math
from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.types import is_tensor

Groups = list[tuple[list[int], list[int]]]
"""Runs of axes of the one shape and of the other that hold the same number of elements."""


def axis_groups(source: Sequence[int], target: Sequence[int]) -> Groups:
    """The shortest runs of axes with equal products, from the front; axes of size 1 at the end join the last run."""
    groups: Groups = []
    one, other = 0, 0
    while one < len(source) and other < len(target):
        left, right = [one], [other]
        products = [source[one], target[other]]
        while products[0] != products[1]:
            if products[0] < products[1]:
                left.append(left[-1] + 1)
                products[0] *= source[left[-1]]
            else:
                right.append(right[-1] + 1)
                products[1] *= target[right[-1]]
        groups.append((left, right))
        one, other = left[-1] + 1, right[-1] + 1
    if groups:
        groups[-1][0].extend(range(one, len(source)))
        groups[-1][1].extend(range(other, len(target)))
    return groups


def reshaped(value: SSAValue, target: Sequence[int]) -> SSAValue:
    """The tensor in another static shape of as many elements."""
    assert is_tensor(value.type), "reshapes are of tensors"
    element, source = value.type.element_type, value.type.get_shape()
    if 0 in target:
        # No elements: any tensor of the shape is the same, and axes of size 0 divide into no groups.
        return tensor.EmptyOp([], TensorType(element, target)).tensor
    if not source:
        # MLIR expands a tensor without axes, too, but xDSL 0.74 has its groups be those of the axes.
        element_value = tensor.ExtractOp(value, [], element).result
        return tensor.FromElementsOp.build(
            operands=[[element_value]], result_types=[TensorType(element, target)]
        ).result
    groups = axis_groups(source, target)
    middle = [math.prod(source[axis] for axis in left) for left, _ in groups]
    if len(middle) != len(source):
        attribute = _reassociation([left for left, _ in groups])
        value = tensor.CollapseShapeOp(
            operands=[value],
            result_types=[TensorType(element, middle)],
            properties={"reassociation": attribute},
        ).result
    if len(middle) != len(target):
        attribute = _reassociation([right for _, right in groups])
        value = tensor.ExpandShapeOp(value, [], attribute, list(target), TensorType(element, target)).result
    return value


def joined(value: SSAValue, axis: int) -> SSAValue:
    """The tensor with an axis and the next one as one axis; their sizes are known."""
    assert is_tensor(value.type), "reshapes are of tensors"
    shape = list(value.type.get_shape())
    groups = [[own] for own in range(len(shape))]
    groups[axis : axis + 2] = [[axis, axis + 1]]
    shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    return tensor.CollapseShapeOp(
        operands=[value],
        result_types=[TensorType(value.type.element_type, shape)],
        properties={"reassociation": _reassociation(groups)},
    ).result


def _reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in group]) for group in groups])
