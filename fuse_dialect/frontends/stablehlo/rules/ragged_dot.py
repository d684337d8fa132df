"""`chlo.ragged_dot`: products of groups of rows with a matrix for each group."""

import re
from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops.sequences import CumsumOp
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    counting,
    of,
    reshape,
    result,
    scalar,
    shape,
    static_shape,
    tensor,
)
from fuse_dialect.frontends.stablehlo.attributes import Raw
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.frontends.stablehlo.rules.building import Rule, of_passing
from fuse_dialect.frontends.stablehlo.rules.contractions import product
from fuse_dialect.frontends.stablehlo.rules.shapes import slice_of
from fuse_dialect.frontends.stablehlo.rules.sizes import drop_axis, insert_axes

MOST_GROUPS = 64
"""Groups, each of which multiplies all rows."""


def _ragged_dot(op: Operation) -> Sequence[SSAValue]:
    """Each row is taken from the product with its group's matrix; rows behind the last group are zeros.

    Source: `RaggedDotOp`, first mode, in stablehlo/dialect/ChloOps.td.
    """
    lhs, rhs, group_sizes = op.operands
    numbers = _numbers(op)
    (row_axis,), groups_axes = numbers["lhs_ragged_dimensions"], numbers["rhs_group_dimensions"]
    batch, sums = numbers["lhs_batching_dimensions"], numbers["lhs_contracting_dimensions"]
    if len(groups_axes) != 1 or row_axis in (*batch, *sums) or len(shape(group_sizes)) != 1:
        raise NoFuseFormError("groups of batches or of summands")
    (group_axis,), (groups,) = groups_axes, static_shape(group_sizes)
    if groups > MOST_GROUPS:
        raise NoFuseFormError("many groups")
    right_batch, right_sums = (
        [axis - (axis > group_axis) for axis in numbers[f"rhs_{name}_dimensions"]]
        for name in ("batching", "contracting")
    )
    sizes, rows = static_shape(op.results[0]), static_shape(lhs)[row_axis]
    free = [axis for axis in range(len(shape(lhs))) if axis not in (*batch, *sums)]
    behind = len(sizes) - 1 - (len(batch) + free.index(row_axis))
    ends = result(CumsumOp(group_sizes, axis=0))
    row = counting(rows, tensor(ends).element_type)
    total = broadcast(scalar(op.results[0], 0), sizes)
    # From the last group to the first: a row is in the first group that ends behind it.
    for group in range(groups - 1, -1, -1):
        matrix = _slice(rhs, group_axis, group)
        made = BY_NAME["stablehlo.dot_general"].create(operands=[lhs, matrix], result_types=[of(op.results[0], sizes)])
        (value,) = of_passing(made, lambda each: [product(each, batch, right_batch, sums, right_sums)])
        is_before_end = result(c.LessOp(row, reshape(slice_of(ends, [group], [group + 1], [1]), [])))
        total = result(b.WhereOp(insert_axes(is_before_end, range(1, 1 + behind)), value, total))
    return [total]


def _numbers(op: Operation) -> Mapping[str, list[int]]:
    """The lists of the attribute, by name."""
    attribute = op.properties["ragged_dot_dimension_numbers"]
    text = attribute.data if isinstance(attribute, Raw) else ""
    found = re.findall(r"(\w+)\s*=\s*\[([\d,\s]*)\]", text)
    lists = {name: [int(each) for each in numbers.split(",") if each.strip()] for name, numbers in found}
    sides = [f"{side}_{name}_dimensions" for side in ("lhs", "rhs") for name in ("batching", "contracting")]
    lists = {name: lists.get(name, []) for name in (*sides, "lhs_ragged_dimensions", "rhs_group_dimensions")}
    if len(lists["lhs_ragged_dimensions"]) != 1:
        raise NoFuseFormError("dimension numbers that are not known")
    return lists


def _slice(x: SSAValue, axis: int, place: int) -> SSAValue:
    """The slice at a place of an axis, without the axis."""
    sizes = static_shape(x)
    begin = [place if each == axis else 0 for each in range(len(sizes))]
    end = [place + 1 if each == axis else size for each, size in enumerate(sizes)]
    return drop_axis(slice_of(x, begin, end, [1] * len(sizes)), axis)


RAGGED_DOT: Mapping[str, Rule] = {"chlo.ragged_dot": _ragged_dot}
"""Rules by the name of the op."""
