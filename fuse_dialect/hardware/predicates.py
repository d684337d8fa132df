"""What the predicates of a hardware template ask of an op.

`NEAREST`, `UNGROUPED`, `DEPTHWISE` and `MIN_ZERO` look at attributes as the ops of the `fuse` dialect name them.
"""

from collections.abc import Callable, Collection, Mapping
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.types import element_count, is_tensor
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.templates.template import Predicate

Known = Collection[SSAValue]
"""Values that are constants."""


def is_broadcast(op: Operation, value: SSAValue) -> bool:
    """Whether a broadcasting op has to widen the operand to the shape of its result."""
    result = op.results[0].type
    if value.type is result or not is_tensor(value.type) or not is_tensor(result):
        return False
    return value.type.get_shape() != result.get_shape() and kind_of(op) is PatternKind.BROADCAST


def _has_bias(op: Operation, known: Known) -> bool:
    return any(value in known or is_broadcast(op, value) for value in op.operands)


def _has_scalar(op: Operation, known: Known) -> bool:
    return any(value in known and element_count(value.type) == 1 for value in op.operands)


def _takes_nearest(op: Operation, known: Known) -> bool:
    method = op.get_attr_or_prop("method")
    return isinstance(method, StringAttr) and method.data == "nearest"


def _groups(op: Operation) -> int:
    groups = op.get_attr_or_prop("groups")
    return groups.value.data if isinstance(groups, IntegerAttr) else 0


def _is_depthwise(op: Operation, known: Known) -> bool:
    type, layout = op.operands[0].type, op.get_attr_or_prop("data_layout")
    if not is_tensor(type) or not isinstance(layout, StringAttr) or "C" not in layout.data:
        return False
    return _groups(op) == type.get_shape()[layout.data.index("C")]


def _is_clipped_at_zero(op: Operation, known: Known) -> bool:
    low = op.get_attr_or_prop("min")
    return isinstance(low, FloatAttr) and low.value.data == 0


def _is_over_space(op: Operation, known: Known) -> bool:
    type = op.operands[0].type
    axes = op.get_attr_or_prop("axis") or op.get_attr_or_prop("axes")
    if not is_tensor(type) or type.get_num_dims() != 4 or not isinstance(axes, DenseArrayBase):
        return False
    places = sorted(int(axis) % 4 for axis in cast("DenseArrayBase[IntegerType]", axes).get_values())
    return places in ([2, 3], [1, 2])


PREDICATES: Mapping[str, Callable[[Operation, Known], bool]] = {
    Predicate.ALWAYS: lambda op, known: True,
    Predicate.BIAS: _has_bias,
    Predicate.RESIDUAL: lambda op, known: not _has_bias(op, known),
    Predicate.SCALAR: _has_scalar,
    Predicate.NEAREST: _takes_nearest,
    Predicate.UNGROUPED: lambda op, known: _groups(op) == 1,
    Predicate.DEPTHWISE: _is_depthwise,
    Predicate.MIN_ZERO: _is_clipped_at_zero,
    Predicate.OVER_SPACE: _is_over_space,
}
"""A function for each predicate; the second argument is the constants."""

SENTENCES: Mapping[str, str] = {
    Predicate.ALWAYS: "",
    Predicate.BIAS: "no operand is a constant or broadcast",
    Predicate.RESIDUAL: "an operand is a constant or broadcast",
    Predicate.SCALAR: "no operand is a constant of one element",
    Predicate.NEAREST: "the interpolation does not take the nearest element",
    Predicate.UNGROUPED: "the convolution has several groups",
    Predicate.DEPTHWISE: "the convolution has not one group for each channel",
    Predicate.MIN_ZERO: "the lower bound is not zero",
    Predicate.OVER_SPACE: "the reduction is not over the axes of an image",
}
"""Why a mapping with a predicate does not hold."""
