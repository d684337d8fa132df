"""Linear models and support vectors of ONNX-ML.

Source: onnxruntime, core/providers/cpu/ml/linearclassifier.cc, linearregressor.cc and svmregressor.cc.
"""

from collections.abc import Sequence

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp, PowerOp, SubtractOp
from fuse_dialect.dialect.ops.elementwise import ExpOp
from fuse_dialect.dialect.ops.matmul import DenseOp
from fuse_dialect.dialect.ops.reduction import SumOp
from fuse_dialect.dialect.ops.trigonometry import TanhOp
from fuse_dialect.frontends.onnx.classic.scores import best_label, chosen_label, labels_of, transformed, two_columns
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import expand_dims
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()


def feature_rows(node: OnnxNode) -> Value:
    """The operand as rows of features, f32.

    Raises:
        FuseError: It has another rank than 1 or 2.
    """
    x = cast_to(node, node.operand(0), np.dtype(np.float32))
    if node.rank(x) == 1:
        x = expand_dims(node, x, [0])
    if node.rank(x) != 2:
        raise FuseError(f"expects rows of features, got {node.type_of(x)}")
    return x


def _linear(node: OnnxNode, count: int) -> Value:
    """Products with the coefficients of each target, plus the intercepts, [N, count]."""
    x = feature_rows(node)
    features = node.static_shape(x, 1)[0]
    coefficients = np.array(node.reals("coefficients"), np.float32)
    if coefficients.size != count * features:
        raise FuseError(f"expects {count} times {features} coefficients, got {coefficients.size}")
    result = node.emit(DenseOp, x, Constant(coefficients.reshape(count, features)))
    intercepts = np.array(node.reals("intercepts", []), np.float32)
    if not intercepts.size:
        return result
    if intercepts.size not in (1, count):
        raise FuseError(f"expects {count} intercepts, got {intercepts.size}")
    return node.emit(AddOp, result, Constant(intercepts))


@OPERATORS.operator("LinearRegressor")
def import_linear_regressor(node: OnnxNode) -> Value:
    """Products with coefficients, [N, targets]."""
    return transformed(node, _linear(node, node.integer("targets", 1)))


@OPERATORS.operator("LinearClassifier")
def import_linear_classifier(node: OnnxNode) -> Sequence[Value]:
    """The label of the greatest product, [N], and products or probabilities, [N, classes]."""
    labels = labels_of(node, "classlabels_ints", "classlabels_strings")
    features = node.static_shape(feature_rows(node), 1)[0]
    count = max(1, len(node.reals("coefficients")) // max(1, features))
    scores = _linear(node, count)
    if count == 1 and len(labels) == 2:
        label = chosen_label(node, scores, 0.0, (int(labels[0]), int(labels[1])))
        return (label, two_columns(node, scores, is_probability=True))
    if count != len(labels):
        raise FuseError(f"expects coefficients for {len(labels)} classes, got {count}")
    return (best_label(node, scores, labels), transformed(node, scores))


@OPERATORS.operator("SVMRegressor")
def import_svm_regressor(node: OnnxNode) -> Value:
    """The kernel's values for all support vectors times their coefficients, plus rho, [N, 1]."""
    count, coefficients = node.integer("n_supports", 0), np.array(node.reals("coefficients"), np.float32)
    if node.integer("one_class", 0):
        raise UnsupportedFormError("'one_class' is not supported")
    x, rho = feature_rows(node), np.array(node.reals("rho", [0.0])[:1], np.float32)
    features = node.static_shape(x, 1)[0]
    if count:
        vectors = np.array(node.reals("support_vectors"), np.float32)
        if vectors.size != count * features or coefficients.size != count:
            raise FuseError(f"expects {count} support vectors of {features} numbers, got {vectors.size} numbers")
        values = _kernel(node, x, Constant(vectors.reshape(count, features)))
    elif coefficients.size == features:
        values = x
    else:
        raise FuseError(f"expects {features} coefficients, got {coefficients.size}")
    result = node.emit(DenseOp, values, Constant(coefficients[None]))
    return transformed(node, node.emit(AddOp, result, Constant(rho)))


def _kernel(node: OnnxNode, x: Value, vectors: Constant) -> Value:
    """The kernel of each row and each support vector, [N, vectors]."""
    gamma, shift, degree = (*node.reals("kernel_params", []), 0.0, 0.0, 0.0)[:3]
    name = node.string("kernel_type", "LINEAR")
    if name == "RBF":
        difference = node.emit(SubtractOp, expand_dims(node, x, [1]), vectors)
        square = node.emit(SumOp, node.emit(MultiplyOp, difference, difference), axes=[2])
        return node.emit(ExpOp, node.emit(MultiplyOp, square, node.scalar(-gamma, square)))
    product = node.emit(DenseOp, x, vectors)
    if name == "LINEAR":
        return product
    moved = node.emit(MultiplyOp, product, node.scalar(gamma, product))
    moved = node.emit(AddOp, moved, node.scalar(shift, product))
    if name == "POLY":
        return node.emit(PowerOp, moved, node.scalar(degree, moved))
    if name == "SIGMOID":
        return node.emit(TanhOp, moved)
    raise UnsupportedFormError(f"the kernel '{name}' is not supported")
