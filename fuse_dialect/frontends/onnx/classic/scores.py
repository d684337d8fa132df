"""What classifiers and regressors of ONNX-ML make of their scores: probabilities and labels.

Source: onnxruntime, core/providers/cpu/ml/ml_common.h.
"""

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import SigmoidOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MaximumOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import GreaterOp, LessOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import AbsOp, ExpOp, LogOp, NegativeOp, SqrtOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.dialect.ops.normalization import SoftmaxOp
from fuse_dialect.dialect.ops.reduction import ArgmaxOp, MaxOp, SumOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.layout import squeeze
from fuse_dialect.frontends.onnx.tensors import Array
from fuse_dialect.frontends.onnx.values import Constant, Value

_SMALL = 1e-7
"""What SOFTMAX_ZERO takes for zero."""


def transformed(node: OnnxNode, scores: Value) -> Value:
    """Scores [N, targets] after the node's `post_transform`."""
    return after(node, scores, node.string("post_transform", "NONE"))


def after(node: OnnxNode, scores: Value, name: str) -> Value:
    """Scores [N, targets] after a transformation; one score alone is only changed by PROBIT, as onnxruntime has it.

    Raises:
        UnsupportedFormError: It is unknown.
    """
    is_alone = node.static_shape(scores, 1)[0] == 1 and name in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
    match "NONE" if is_alone else name:
        case "NONE":
            return scores
        case "LOGISTIC":
            return node.emit(SigmoidOp, scores)
        case "SOFTMAX":
            return node.emit(SoftmaxOp, scores, axis=-1)
        case "SOFTMAX_ZERO":
            return _softmax_of_others(node, scores)
        case "PROBIT":
            return _probit(node, scores)
        case other:
            raise UnsupportedFormError(f"the 'post_transform' {other} is not supported")


def _probit(node: OnnxNode, scores: Value) -> Value:
    """The numbers below which a normal variable is with these probabilities; nan for what is no probability.

    Source: onnxruntime, `ComputeProbit`, which takes S. Winitzki's approximation of the inverse error function:
    `sqrt(sqrt(v * v - w) - v)` with `v = 2 / (pi * a) + log(1 - x * x) / 2`, `w = log(1 - x * x) / a`, `a = 0.147`.
    """

    def number(value: float) -> Value:
        return node.scalar(value, scores)

    one = number(1)
    x = node.emit(SubtractOp, node.emit(MultiplyOp, scores, number(2)), one)
    log = node.emit(LogOp, node.emit(MultiplyOp, node.emit(SubtractOp, one, x), node.emit(AddOp, one, x)))
    v = node.emit(AddOp, node.emit(MultiplyOp, log, number(0.5)), number(2 / (3.14159 * 0.147)))
    square = node.emit(SubtractOp, node.emit(MultiplyOp, v, v), node.emit(MultiplyOp, log, number(1 / 0.147)))
    size = node.emit(SqrtOp, node.emit(SubtractOp, node.emit(SqrtOp, square), v))
    is_negative = node.emit(LessOp, x, number(0))
    signed = node.emit(WhereOp, is_negative, node.emit(NegativeOp, size), size)
    return node.emit(MultiplyOp, signed, number(1.41421356))


def _softmax_of_others(node: OnnxNode, scores: Value) -> Value:
    """Softmax over the scores that are not 0; those stay."""
    greatest = node.emit(MaxOp, scores, axes=[1], keepdims=True)
    powers = node.emit(ExpOp, node.emit(SubtractOp, scores, greatest))
    counts = node.emit(GreaterOp, node.emit(AbsOp, scores), node.scalar(_SMALL, scores))
    kept = node.emit(WhereOp, counts, powers, node.scalar(0, scores))
    total = node.emit(SumOp, kept, axes=[1], keepdims=True)
    total = node.emit(MaximumOp, total, node.scalar(float(np.finfo(np.float32).tiny), total))
    return node.emit(DivideOp, kept, total)


def labels_of(node: OnnxNode, numbers: str, strings: str) -> Array:
    """The integers that name the classes.

    Raises:
        UnsupportedFormError: They are strings, and the model uses the labels.
    """
    if node.has(strings) and node.strings(strings):
        if node.is_used(0):
            raise UnsupportedFormError(
                "labels that are strings are not supported: convert a classifier whose classes are numbers, or use its "
                "probabilities alone"
            )
        return np.arange(len(node.strings(strings)))
    labels = node.integers(numbers, [])
    if not labels:
        raise FuseError(f"expects attribute '{numbers}' or '{strings}'")
    return np.array(labels, np.int64)


def best_label(node: OnnxNode, scores: Value, labels: Array) -> Value:
    """The label of the greatest score, the first of several: [N], i64."""
    places = node.emit(ArgmaxOp, scores, axes=[1], keepdims=False)
    if np.array_equal(labels, np.arange(len(labels))):
        return places
    return node.emit(TakeOp, Constant(labels.astype(np.int64)), places, axis=0)


def chosen_label(node: OnnxNode, score: Value, bound: float, labels: tuple[int, int]) -> Value:
    """The second label where a score [N, 1] is greater than a bound, else the first: [N], i64."""
    is_second = node.emit(GreaterOp, squeeze(node, score, [1]), node.scalar(bound, score))
    one, other = (Constant(np.array(label, np.int64)) for label in labels)
    return node.emit(WhereOp, is_second, other, one)


def two_columns(node: OnnxNode, score: Value, *, is_probability: bool) -> Value:
    """Scores of both classes, [N, 2], from that of the second one, [N, 1].

    Args:
        node: The node, whose `post_transform` may be LOGISTIC.
        score: Of the second class.
        is_probability: Whether the first class has what is left of 1, else the negative score; with LOGISTIC that is
            the same.

    Raises:
        UnsupportedFormError: It is PROBIT, of which onnxruntime writes one column alone.
    """
    if node.string("post_transform", "NONE") == "PROBIT":
        raise UnsupportedFormError("the 'post_transform' PROBIT of two classes with one score is not supported")
    if node.string("post_transform", "NONE") == "LOGISTIC":
        return node.emit(SigmoidOp, node.emit(ConcatenateOp, node.emit(NegativeOp, score), score, axis=1))
    first = node.emit(SubtractOp, node.scalar(1, score), score) if is_probability else node.emit(NegativeOp, score)
    return node.emit(ConcatenateOp, first, score, axis=1)
