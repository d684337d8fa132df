"""ONNX operators whose number of results depends on values."""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.dialect.ops.selection import NonMaxSuppressionOp, UniqueOp
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.layout import reshape
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()


@OPERATORS.operator("Unique")
def import_unique(node: OnnxNode) -> Sequence[Value]:
    """`unique`."""
    axis = node.integer("axis") if node.has("axis") else None
    return node.emit_all(UniqueOp, node.operand(0), axis=axis, sorted=node.flag("sorted", True))


@OPERATORS.operator("NonMaxSuppression")
def import_non_max_suppression(node: OnnxNode) -> Value:
    """`non_max_suppression`; without a limit nothing is kept, and without a threshold of scores every score counts."""
    boxes, scores = node.operand(0), node.operand(1)
    defaults = (np.array(0, np.int64), np.array(0), np.array(-np.inf))
    numbers: list[Value] = []
    for index, default in enumerate(defaults, start=2):
        given = node.optional(index)
        if given is None:
            given = Constant(default if index == 2 else default.astype(node.dtype(boxes)))
        numbers.append(reshape(node, given, []))
    return node.emit(NonMaxSuppressionOp, boxes, scores, *numbers, center_point_box=node.flag("center_point_box"))
