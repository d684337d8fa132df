"""Ensembles of trees of ONNX-ML: all trees take a step at once, for every row of the input.

1. The *place* of a tree is a row of the table of `tree_table`, [N, trees]. A step reads the table there, then the
   feature that it names, and compares: as elementwise ops, which become one kernel of gathers for all steps.
2. Threshold, child and feature are one number of 64 bits where they fit: one gather in the place of three.
3. Deep trees take their steps in a loop, so that a kernel stays small.
4. What is nan is replaced by an infinity where all nodes send it the same way, else a bit of the node says which.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, WhereOp
from fuse_dialect.dialect.ops.comparison import (
    BitwiseAndOp,
    GreaterOp,
    LogicalAndOp,
    LogicalOrOp,
    NotEqualOp,
    RightShiftOp,
)
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.conversion import BitcastOp
from fuse_dialect.dialect.ops.elementwise import IsinfOp, IsnanOp, NegativeOp
from fuse_dialect.dialect.ops.indexing import GatherOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.reduction import MaxOp, MeanOp, MinOp, SumOp
from fuse_dialect.dialect.types import with_element
from fuse_dialect.frontends.onnx.classic.scores import (
    after,
    best_label,
    chosen_label,
    labels_of,
    transformed,
    two_columns,
)
from fuse_dialect.frontends.onnx.classic.tree_nodes import (
    Ensemble,
    ensemble_by_targets,
    ensemble_of_classes,
    ensemble_of_leaves,
)
from fuse_dialect.frontends.onnx.classic.tree_table import TreeTable, leaf_weights, tree_table
from fuse_dialect.frontends.onnx.loops import emit_loop
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import expand_dims
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()

_UNROLLED = 12
"""Steps that are ops one after the other; more are a loop."""
_F32 = np.dtype(np.float32)
_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)


@OPERATORS.operator("TreeEnsembleRegressor")
def import_tree_regressor(node: OnnxNode) -> Value:
    """The sum, mean, least or greatest weight of the leaves that a row reaches, [N, targets]."""
    return transformed(node, _scores(node, ensemble_by_targets(node)))


@OPERATORS.operator("TreeEnsemble")
def import_tree_ensemble(node: OnnxNode) -> Value:
    """The same, with trees and words as lists of numbers."""
    scores = _scores(node, ensemble_of_leaves(node), node.dtype(node.operand(0)))
    words = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    number = node.integer("post_transform", 0)
    if not 0 <= number < len(words):
        raise FuseError(f"expects 'post_transform' between 0 and 4, got {number}")
    return after(node, scores, words[number])


@OPERATORS.operator("TreeEnsembleClassifier")
def import_tree_classifier(node: OnnxNode) -> Sequence[Value]:
    """The label with the greatest sum of weights, [N], and the sums or probabilities, [N, classes].

    Of two classes, what onnxruntime computes:

    1. If all weights are for one class, the label is the second one where the sum is greater than a half, or than 0 if
       there are negative weights. If they are for class 0, that sum is nevertheless the second class's, and the first
       class has what is left of 1, or the negative sum.
    2. If there are weights for both, the label is the second one where its sum is greater than 0. With base values for
       both, that sum is the first class's plus the second base value, and the first class has the negative.

    Differs from onnxruntime, which gives 0 and 1 in case 2, whatever the labels are.
    """
    labels = labels_of(node, "classlabels_int64s", "classlabels_strings")
    ensemble = ensemble_of_classes(node, len(labels))
    scores = _scores(node, ensemble)
    if len(labels) != 2:
        return (best_label(node, scores, labels), transformed(node, scores))
    names = (int(labels[0]), int(labels[1]))
    bound = 0.5 if ensemble.is_positive and ensemble.is_of_one_class else 0.0
    if ensemble.targets == 1:
        label = chosen_label(node, scores, bound, names)
        return (label, two_columns(node, scores, is_probability=ensemble.is_positive))
    if ensemble.base is not None and not ensemble.is_of_one_class:
        first = node.emit(StridedSliceOp, scores, begin=[0], end=[1], strides=[1], axes=[1])
        score = node.emit(AddOp, first, Constant((ensemble.base[1:] - ensemble.base[:1]).astype(np.float32)))
        scores = node.emit(ConcatenateOp, node.emit(NegativeOp, score), score, axis=1)
    else:
        score = node.emit(StridedSliceOp, scores, begin=[1], end=[2], strides=[1], axes=[1])
    return (chosen_label(node, score, bound, names), transformed(node, scores))


def _scores(node: OnnxNode, ensemble: Ensemble, dtype: "np.dtype[np.generic]" = _F32) -> Value:
    """The weights of all trees together, [N, targets], of a type."""
    x = node.operand(0)
    if node.rank(x) == 1:
        x = expand_dims(node, x, [0])
    if node.rank(x) != 2:
        raise FuseError(f"expects rows of features, got {node.type_of(x)}")
    x = x if node.dtype(x) == np.float64 else cast_to(node, x, np.dtype(np.float32))
    table = tree_table(ensemble.nodes, ensemble.roots, node.static_shape(x, 1)[0], node.dtype(x))
    places = _walk(node, _without_nan(node, x, table), table)
    fills = {"MIN": np.inf, "MAX": -np.inf}
    count = max(len(table.nodes), len(ensemble.nodes))
    node.builder.budget.spend("the weights of leaves", bytes=count * ensemble.targets * dtype.itemsize)
    weights = leaf_weights(table, ensemble.nodes, ensemble.targets, dtype, fills.get(ensemble.aggregate, 0.0))
    if ensemble.targets == 1:
        reached = node.emit(TakeOp, Constant(weights[:, 0]), places, axis=0, mode="fast")
    else:
        reached = node.emit(TakeOp, Constant(weights), places, axis=0, mode="fast")
    result = _together(node, reached, ensemble)
    if ensemble.targets == 1:
        result = expand_dims(node, result, [1])
    if ensemble.base is not None:
        result = node.emit(AddOp, result, Constant(ensemble.base.astype(dtype)))
    return result


def _together(node: OnnxNode, reached: Value, ensemble: Ensemble) -> Value:
    """Weights [N, trees, ...] as one for all trees."""
    match ensemble.aggregate:
        case "SUM":
            return node.emit(SumOp, reached, axes=[1])
        case "AVERAGE":
            return node.emit(MeanOp, reached, axes=[1])
        case "MIN" | "MAX" as name:
            result = node.emit(MinOp if name == "MIN" else MaxOp, reached, axes=[1])
            return node.emit(WhereOp, node.emit(IsinfOp, result), node.scalar(0, result), result)
        case other:
            raise FuseError(f"expects 'aggregate_function' to be SUM, AVERAGE, MIN or MAX, got '{other}'")


def _goes_right_alone(table: TreeTable) -> bool:
    """Whether nan goes to the right in all nodes, all of whose thresholds are finite."""
    inner = table.children != np.arange(len(table.children))
    return bool(table.nan_right[inner].all()) and bool(np.isfinite(table.thresholds[inner]).all())


def _without_nan(node: OnnxNode, x: Value, table: TreeTable) -> Value:
    """The input with an infinity in the place of nan (4)."""
    if not table.nan_right.any() or not _goes_right_alone(table):
        return x
    return node.emit(WhereOp, node.emit(IsnanOp, x), node.scalar(np.inf, x), x)


@dataclass(frozen=True, slots=True)
class _Steps:
    """What a step reads, as constants."""

    packed: Constant | None
    """Threshold, child, feature and the bit for nan (2), u64."""
    bits: int
    """Of the features and the bit in what is packed."""
    thresholds: Constant
    children: Constant
    features: Constant
    asks_nan: bool
    """Whether a bit says where nan goes."""


def _steps(table: TreeTable) -> _Steps:
    asks_nan = bool(table.nan_right.any()) and not _goes_right_alone(table)
    marked = (table.features << np.uint32(1)) | table.nan_right if asks_nan else table.features
    bits = max(1, int(marked.max(initial=0)).bit_length())
    packed = None
    if table.thresholds.dtype == np.float32 and bits + len(table.children).bit_length() <= 32:
        low = (table.children.astype(_U32) << np.uint32(bits)) | marked.astype(_U32)
        high = table.thresholds.view(np.uint32).astype(_U64) << np.uint64(32)
        packed = Constant(high | low.astype(_U64))
    thresholds, children, features = map(Constant, (table.thresholds, table.children, marked.astype(_U32)))
    return _Steps(packed, bits, thresholds, children, features, asks_nan)


def _walk(node: OnnxNode, x: Value, table: TreeTable) -> Value:
    """The leaves that all rows reach in all trees, [N, trees], u32."""
    steps = _steps(table)
    roots = Constant(table.roots)
    if not table.depth:
        return _for_each_row(node, x, roots)
    places = _first_step(node, x, steps, roots)
    if table.depth <= _UNROLLED:
        for _ in range(1, table.depth):
            places = _step(node, x, steps, places)
        return places
    x = node.builder.materialize(x)

    def body(
        inner: OnnxNode, number: Value, states: Sequence[Value], rows: Sequence[Value]
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        return [_step(inner, x, steps, states[0])], []

    return emit_loop(node, states=[places], rows=[], body=body, count=table.depth - 1)[0]


def _for_each_row(node: OnnxNode, x: Value, roots: Value) -> Value:
    """The roots, for as many rows as the input has."""
    zeros = node.emit(TakeOp, x, Constant(np.zeros(1, np.int64)), axis=1, mode="fast")
    none = cast_to(node, node.emit(LogicalAndOp, node.emit(IsnanOp, zeros), Constant(np.array(False))), _U32)
    return node.emit(AddOp, none, expand_dims(node, roots, [0]))


def _first_step(node: OnnxNode, x: Value, steps: _Steps, roots: Constant) -> Value:
    """A step from the roots, whose rows of the table are known."""
    rows = roots.array.astype(np.int64)
    features = steps.features.array[rows]
    picked = features >> np.uint32(1) if steps.asks_nan else features
    asked = node.emit(TakeOp, x, Constant(picked.astype(np.int64)), axis=1, mode="fast")
    right = node.emit(GreaterOp, asked, Constant(steps.thresholds.array[rows]))
    if steps.asks_nan:
        marks = Constant((features & np.uint32(1)).astype(np.bool_))
        right = node.emit(LogicalOrOp, right, node.emit(LogicalAndOp, node.emit(IsnanOp, asked), marks))
    return node.emit(AddOp, cast_to(node, right, _U32), Constant(steps.children.array[rows]))


def _step(node: OnnxNode, x: Value, steps: _Steps, places: Value) -> Value:
    """Where all trees go from their places (1)."""
    if steps.packed is not None:
        row = node.emit(TakeOp, steps.packed, places, axis=0, mode="fast")
        low = cast_to(node, row, _U32)
        high = cast_to(node, node.emit(RightShiftOp, row, node.scalar(32, row)), _U32)
        thresholds = node.emit(BitcastOp, high, type=with_element(node.type_of(high), f32))
        marked = node.emit(BitwiseAndOp, low, node.scalar((1 << steps.bits) - 1, low))
        children = node.emit(RightShiftOp, low, node.scalar(steps.bits, low))
    else:
        thresholds, children, marked = (
            node.emit(TakeOp, table, places, axis=0, mode="fast")
            for table in (steps.thresholds, steps.children, steps.features)
        )
    features = node.emit(RightShiftOp, marked, node.scalar(1, marked)) if steps.asks_nan else marked
    asked = node.emit(GatherOp, x, features, axis=1, mode="fast")
    right = node.emit(GreaterOp, asked, thresholds)
    if steps.asks_nan:
        mark = node.emit(BitwiseAndOp, marked, node.scalar(1, marked))
        goes = node.emit(NotEqualOp, mark, node.scalar(0, mark))
        right = node.emit(LogicalOrOp, right, node.emit(LogicalAndOp, node.emit(IsnanOp, asked), goes))
    return node.emit(AddOp, children, cast_to(node, right, _U32))
