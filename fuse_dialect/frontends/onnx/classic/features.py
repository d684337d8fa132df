"""Scalers, encoders and what else ONNX-ML does to features.

Source: onnxruntime, core/providers/cpu/ml.
"""

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp, GreaterOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import AbsOp, IsnanOp, SqrtOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.reduction import AnyOp, MaxOp, SumOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import expand_dims, reshape_to_sizes
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import Array
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()

_F32 = np.dtype(np.float32)
_MOST_KEYS = 4096
"""Of a LabelEncoder: every element is compared with each."""


def _floats(node: OnnxNode, index: int = 0) -> Value:
    return cast_to(node, node.operand(index), _F32)


def _vector(node: OnnxNode, name: str, default: float, x: Value) -> Constant:
    """One number for each feature, or one for all."""
    numbers = np.array(node.reals(name, [default]), np.float32)
    if numbers.size != 1 and (node.rank(x) == 0 or numbers.size != node.static_shape(x, -1)[0]):
        raise FuseError(f"expects attribute '{name}' to hold 1 or as many numbers as there are features")
    return Constant(numbers.reshape(()) if numbers.size == 1 else numbers)


@OPERATORS.operator("Scaler")
def import_scaler(node: OnnxNode) -> Value:
    """(x - offset) * scale."""
    x = _floats(node)
    moved = node.emit(SubtractOp, x, _vector(node, "offset", 0.0, x))
    return node.emit(MultiplyOp, moved, _vector(node, "scale", 1.0, x))


@OPERATORS.operator("Binarizer")
def import_binarizer(node: OnnxNode) -> Value:
    """1 where x > threshold, else 0."""
    x = node.operand(0)
    return cast_to(node, node.emit(GreaterOp, x, node.scalar(node.real("threshold", 0.0), x)), node.dtype(x))


@OPERATORS.operator("Normalizer")
def import_normalizer(node: OnnxNode) -> Value:
    """Rows over their greatest element, their sum of magnitudes, or the root of their sum of squares; 0 stays."""
    x = _floats(node)
    axes, name = [node.rank(x) - 1], node.string("norm", "MAX")
    match name:
        case "MAX":
            norm = node.emit(MaxOp, x, axes=axes, keepdims=True)
        case "L1":
            norm = node.emit(SumOp, node.emit(AbsOp, x), axes=axes, keepdims=True)
        case "L2":
            norm = node.emit(SqrtOp, node.emit(SumOp, node.emit(MultiplyOp, x, x), axes=axes, keepdims=True))
        case _:
            raise FuseError(f"expects 'norm' to be MAX, L1 or L2, got '{name}'")
    is_zero = node.emit(EqualOp, norm, node.scalar(0, x))
    return node.emit(DivideOp, x, node.emit(WhereOp, is_zero, node.scalar(1, x), norm))


@OPERATORS.operator("Imputer")
def import_imputer(node: OnnxNode) -> Value:
    """Other numbers in the place of nan, or of the number that is to be replaced."""
    x = node.operand(0)
    if node.dtype(x).kind == "f":
        given, replaced = node.reals("imputed_value_floats", []), node.real("replaced_value_float", 0.0)
    else:
        given, replaced = node.integers("imputed_value_int64s", []), node.integer("replaced_value_int64", 0)
    if not given or (len(given) != 1 and len(given) != node.static_shape(x, -1)[0]):
        raise FuseError(f"expects 1 imputed value or as many as there are features, got {len(given)}")
    values = np.array(given).astype(node.dtype(x))
    is_missing = node.emit(IsnanOp, x) if replaced != replaced else node.emit(EqualOp, x, node.scalar(replaced, x))
    return node.emit(WhereOp, is_missing, Constant(values.reshape(()) if values.size == 1 else values), x)


@OPERATORS.operator("OneHotEncoder")
def import_one_hot_encoder(node: OnnxNode) -> Value:
    """1 in the place of the category, f32, on a new last axis; zeros for what is no category.

    With `zeros` of 0 onnxruntime ends with an error there.
    """
    if node.has("cats_strings") and node.strings("cats_strings"):
        raise UnsupportedFormError("categories that are strings are not supported: encode them as numbers before")
    x = node.operand(0)
    categories = np.array(node.integers("cats_int64s"), np.int64).astype(node.dtype(x))
    wide = expand_dims(node, x, [node.rank(x)])
    return cast_to(node, node.emit(EqualOp, wide, Constant(categories)), _F32)


@OPERATORS.operator("LabelEncoder")
def import_label_encoder(node: OnnxNode) -> Value:
    """The value of the key that an element equals, else the default; nan equals nan from version 4 on."""
    keys, values = (_list(node, word) for word in ("keys", "values"))
    x = node.operand(0)
    if keys.size != values.size or not 0 < keys.size <= _MOST_KEYS:
        raise FuseError(f"expects as many values as keys, at most {_MOST_KEYS}, got {keys.size} and {values.size}")
    # Of equal keys the last one counts.
    _, last = np.unique(keys[::-1], return_index=True)
    order = np.sort(keys.size - 1 - last)
    keys, values = keys[order].astype(node.dtype(x)), values[order]
    wide = expand_dims(node, x, [node.rank(x)])
    is_key = node.emit(EqualOp, wide, Constant(keys))
    axes = [node.rank(x)]
    zero = Constant(np.zeros((), values.dtype))
    found = node.emit(SumOp, node.emit(WhereOp, is_key, Constant(values), zero), axes=axes)
    default = _default(node, values.dtype)
    found = node.emit(WhereOp, node.emit(AnyOp, is_key, axes=axes), found, Constant(default))
    if node.opset >= 4 and keys.dtype.kind == "f" and np.isnan(keys).any():
        found = node.emit(WhereOp, node.emit(IsnanOp, x), Constant(values[np.isnan(keys)][-1:].reshape(())), found)
    return found


def _list(node: OnnxNode, word: str) -> Array:
    """Keys or values, which must be numbers."""
    if node.has(f"{word}_tensor"):
        return node.tensor_attribute(f"{word}_tensor").reshape(-1)
    if node.has(f"{word}_int64s"):
        return np.array(node.integers(f"{word}_int64s"), np.int64)
    if node.has(f"{word}_floats"):
        return np.array(node.reals(f"{word}_floats"), np.float32)
    raise UnsupportedFormError(f"{word} that are strings are not supported: encode them as numbers before")


def _default(node: OnnxNode, dtype: "np.dtype[np.generic]") -> Array:
    """What an element becomes that is no key."""
    if node.has("default_tensor"):
        return node.tensor_attribute("default_tensor").reshape(()).astype(dtype)
    if dtype.kind == "f":
        return np.array(node.real("default_float", 0.0) if node.has("default_float") else -0.0, dtype)
    return np.array(node.integer("default_int64", -1), dtype)


@OPERATORS.operator("FeatureVectorizer")
def import_feature_vectorizer(node: OnnxNode) -> Value:
    """Operands side by side, f32, each cut or filled up with zeros to its number of features."""
    wanted = node.integers("inputdimensions")
    if len(wanted) != node.operand_count:
        raise FuseError(f"expects attribute 'inputdimensions' to hold {node.operand_count} integers, got {len(wanted)}")
    parts = [_of_width(node, _floats(node, index), width) for index, width in enumerate(wanted)]
    return parts[0] if len(parts) == 1 else node.emit(ConcatenateOp, *parts, axis=1)


def _of_width(node: OnnxNode, x: Value, width: int) -> Value:
    x = expand_dims(node, x, [0]) if node.rank(x) == 1 else x
    if node.rank(x) != 2 or width < 0:
        raise FuseError(f"expects rows of features, got {node.type_of(x)}")
    own = node.static_shape(x, 1)[0]
    if own > width:
        return node.emit(StridedSliceOp, x, begin=[0], end=[width], strides=[1], axes=[1])
    if own < width:
        return node.emit(PadOp, x, node.scalar(0, x), low=[0, 0], high=[0, width - own])
    return x


@OPERATORS.operator("ArrayFeatureExtractor")
def import_array_feature_extractor(node: OnnxNode) -> Value:
    """`take` along the last axis; of a vector a matrix of one row."""
    x = node.operand(0)
    if node.rank(x) == 0:
        raise FuseError("expects a vector of features or more, got a number")
    places = reshape_to_sizes(node, node.operand(1), [-1]) if node.rank(node.operand(1)) != 1 else node.operand(1)
    if isinstance(places, Constant):
        size = node.static_shape(x, -1)[0]
        outside = [int(place) for place in places.array if not 0 <= place < size]
        if outside:
            raise FuseError(f"asks for feature {outside[0]}, of {size}")
    picked = node.emit(TakeOp, x, places, axis=node.rank(x) - 1)
    return expand_dims(node, picked, [0]) if node.rank(x) == 1 else picked


@OPERATORS.operator("ZipMap")
def import_zip_map(node: OnnxNode) -> Value:
    """The numbers of the dictionaries, a column for each key."""
    return node.operand(0)
