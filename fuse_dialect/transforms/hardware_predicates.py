"""What the predicates of a hardware template ask of an op."""

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from fuse_dialect.analysis.build_graph import is_constant
from fuse_dialect.dialect.types import element_count, is_tensor
from fuse_dialect.hardware.template import Predicate


def is_known(value: SSAValue) -> bool:
    """Whether the value is a constant, or a constant that an op of one operand has changed, as a reshape does."""
    while isinstance(value, OpResult):
        if is_constant(value.op):
            return True
        if len(value.op.operands) != 1:
            return False
        value = value.op.operands[0]
    return False


def _is_broadcast(op: Operation, value: SSAValue) -> bool:
    result = op.results[0].type
    return is_tensor(value.type) and is_tensor(result) and value.type.get_shape() != result.get_shape()


def _has_bias(op: Operation) -> bool:
    return any(is_known(value) or _is_broadcast(op, value) for value in op.operands)


def _has_scalar(op: Operation) -> bool:
    return any(is_known(value) and element_count(value.type) == 1 for value in op.operands)


def _takes_nearest(op: Operation) -> bool:
    method = op.get_attr_or_prop("method")
    return isinstance(method, StringAttr) and method.data == "nearest"


def _is_ungrouped(op: Operation) -> bool:
    groups = op.get_attr_or_prop("groups")
    return isinstance(groups, IntegerAttr) and groups.value.data == 1


def _is_clipped_at_zero(op: Operation) -> bool:
    low = op.get_attr_or_prop("min")
    return isinstance(low, FloatAttr) and low.value.data == 0


PREDICATES: Mapping[str, Callable[[Operation], bool]] = {
    Predicate.ALWAYS: lambda op: True,
    Predicate.BIAS: _has_bias,
    Predicate.RESIDUAL: lambda op: not _has_bias(op),
    Predicate.SCALAR: _has_scalar,
    Predicate.NEAREST: _takes_nearest,
    Predicate.UNGROUPED: _is_ungrouped,
    Predicate.MIN_ZERO: _is_clipped_at_zero,
}
"""A function for each predicate."""
