"""ONNX operators that reduce axes."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.elementwise import AbsOp, ExpOp, IsinfOp, LogOp, SqrtOp
from fuse_dialect.dialect.ops.reduction import AllOp, AnyOp, ArgmaxOp, ArgminOp, MaxOp, MeanOp, MinOp, ProdOp, SumOp
from fuse_dialect.dialect.types import normalize_axes
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()

_REAL = np.dtype(np.float64)
_AXES_AS_OPERAND = 18
"""Opset since which every reduction takes its axes as an operand; ReduceSum does since 13."""


def reduced_axes(node: OnnxNode) -> list[int] | None:
    """The axes to reduce, counted from the front; `None` for a node that changes nothing but the elements."""
    since = 13 if node.node.op_type == "ReduceSum" else _AXES_AS_OPERAND
    axes = node.axes(1, since=since)
    rank = node.rank(node.operand(0))
    if not axes:
        return None if node.flag("noop_with_empty_axes") else list(range(rank))
    return list(normalize_axes(axes, rank))


def _reduce(node: OnnxNode, op: type[FuseOp], x: Value) -> Value:
    if (axes := reduced_axes(node)) is None:
        return x
    return node.emit(op, x, axes=axes, keepdims=node.flag("keepdims", True))


@OPERATORS.operator("ReduceSum")
def import_sum(node: OnnxNode) -> Value:
    """`sum`."""
    return _reduce(node, SumOp, node.operand(0))


@OPERATORS.operator("ReduceMean")
def import_mean(node: OnnxNode) -> Value:
    """`mean`."""
    return _reduce(node, MeanOp, node.operand(0))


@OPERATORS.operator("ReduceProd")
def import_prod(node: OnnxNode) -> Value:
    """`prod`."""
    return _reduce(node, ProdOp, node.operand(0))


@OPERATORS.operator("ReduceMax")
def import_max(node: OnnxNode) -> Value:
    """`max`; `any` for booleans."""
    return _extremum(node, MaxOp, AnyOp)


@OPERATORS.operator("ReduceMin")
def import_min(node: OnnxNode) -> Value:
    """`min`; `all` for booleans."""
    return _extremum(node, MinOp, AllOp)


def _extremum(node: OnnxNode, op: type[FuseOp], boolean: type[FuseOp]) -> Value:
    """An extremum; the ops' meaning of no elements is ONNX's."""
    x = node.operand(0)
    return _reduce(node, boolean if node.dtype(x) == np.bool_ else op, x)


@OPERATORS.operator("ReduceL1")
def import_l1(node: OnnxNode) -> Value:
    """The sum of absolute values."""
    return _reduce(node, SumOp, node.emit(AbsOp, node.operand(0)))


@OPERATORS.operator("ReduceL2")
def import_l2(node: OnnxNode) -> Value:
    """The square root of the sum of squares."""
    x = node.operand(0)
    return _of_reals(node, SqrtOp, _reduce(node, SumOp, node.emit(MultiplyOp, x, x)))


@OPERATORS.operator("ReduceSumSquare")
def import_sum_square(node: OnnxNode) -> Value:
    """The sum of squares."""
    x = node.operand(0)
    return _reduce(node, SumOp, node.emit(MultiplyOp, x, x))


@OPERATORS.operator("ReduceLogSum")
def import_log_sum(node: OnnxNode) -> Value:
    """The logarithm of the sum."""
    return _of_reals(node, LogOp, _reduce(node, SumOp, node.operand(0)))


def _of_reals(node: OnnxNode, op: type[FuseOp], x: Value) -> Value:
    """What a function of real numbers gives; of integers in 64 bits, and without what stands behind the point."""
    dtype = node.dtype(x)
    return node.emit(op, x) if dtype.kind not in "iu" else cast_to(node, node.emit(op, cast_to(node, x, _REAL)), dtype)


@OPERATORS.operator("ReduceLogSumExp")
def import_log_sum_exp(node: OnnxNode) -> Value:
    """The logarithm of the sum of exponentials, the maximum taken out first so that none overflows.

    An infinite maximum stays in: the difference of two infinities is no number, but the sum of the exponentials is.
    """
    x, dtype = node.operand(0), node.dtype(node.operand(0))
    if dtype.kind in "iu":
        return cast_to(node, _log_sum_exp(node, cast_to(node, x, _REAL)), dtype)
    return _log_sum_exp(node, x)


def _log_sum_exp(node: OnnxNode, x: Value) -> Value:
    axes = reduced_axes(node)
    if axes is None or 0 in node.shape(x):
        return node.emit(LogOp, _reduce(node, SumOp, node.emit(ExpOp, x)))
    top = _finite_maximum(node, x, axes, keepdims=True)
    total = _reduce(node, SumOp, node.emit(ExpOp, node.emit(SubtractOp, x, top)))
    if not node.flag("keepdims", True):
        top = _finite_maximum(node, x, axes, keepdims=False)
    return node.emit(AddOp, node.emit(LogOp, total), top)


def _finite_maximum(node: OnnxNode, x: Value, axes: Sequence[int], *, keepdims: bool) -> Value:
    """The maximum along the axes, 0 where it is infinite."""
    top = node.emit(MaxOp, x, axes=[*axes], keepdims=keepdims)
    return node.emit(WhereOp, node.emit(IsinfOp, top), node.scalar(0, x), top)


@OPERATORS.operator("ArgMax", "ArgMin")
def import_arg(node: OnnxNode) -> Value:
    """`argmax` or `argmin`."""
    return node.emit(
        ArgmaxOp if node.node.op_type == "ArgMax" else ArgminOp,
        node.operand(0),
        axes=[node.integer("axis", 0)],
        keepdims=node.flag("keepdims", True),
        select_last_index=node.flag("select_last_index"),
    )
