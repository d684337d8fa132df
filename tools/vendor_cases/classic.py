"""Cases of operators of ai.onnx.ml: trees, linear models, scalers, encoders."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from vendor_cases.case import Array, Case, Makers, Random, pick, reals

CASES = Makers()
_ML = "ai.onnx.ml"
_F32, _I64 = TensorProto.FLOAT, TensorProto.INT64
_FEATURES = 5


_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _count(random: Random) -> int:
    return pick(random, 0, 1, 3, 4, 17)


def _rows(random: Random) -> Array:
    """Rows some of whose numbers are those of thresholds, nan or infinite; at times f64."""
    x = np.round(reals(random, pick(random, 0, 1, 3, 17, 40), _FEATURES), 1)
    if random.random() < 0.2:
        return np.asarray(x.astype(np.float64))
    if random.random() < 0.5:
        x[random.random(x.shape) < 0.1] = np.nan
        x[random.random(x.shape) < 0.05] = np.inf
        x[random.random(x.shape) < 0.05] = -np.inf
    return x


def _tolerance(attributes: Mapping[str, Any]) -> float:
    """The root of what has cancelled is off by the root of a rounding."""
    return 3e-3 if attributes.get("post_transform") == "PROBIT" else 1e-5


def random_trees(
    random: Random, kind: str, targets: int, modes: tuple[str, ...], *, positive: bool = False
) -> dict[str, Any]:
    """Attributes of a few trees of random shapes, whose nodes have numbers in no order."""
    nodes: dict[str, list[Any]] = {
        name: []
        for name in (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
            "missing_value_tracks_true",
        )
    }
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    missing = pick(random, (0,), (1,), (0, 1))
    for tree in range(pick(random, 1, 3, 8)):
        depth, pending, following = pick(random, 0, 2, 4, 14), [(0, 0)], 1
        while pending:
            number, level = pending.pop()
            is_leaf = level >= depth or (level > 0 and random.random() < (0.35 if depth > 4 else 0.1))
            nodes["treeids"].append(tree)
            nodes["nodeids"].append(number)
            nodes["featureids"].append(0 if is_leaf else int(random.integers(_FEATURES)))
            nodes["values"].append(0.0 if is_leaf else float(np.round(random.normal(), 1)))
            nodes["modes"].append("LEAF" if is_leaf else pick(random, *modes))
            nodes["missing_value_tracks_true"].append(0 if is_leaf else pick(random, *missing))
            children = (0, 0) if is_leaf else (following, following + 1)
            nodes["truenodeids"].append(children[0])
            nodes["falsenodeids"].append(children[1])
            if not is_leaf:
                following += 2
                pending += [(child, level + 1) for child in children]
                continue
            for target in range(targets):
                weight = float(reals(random))
                leaves["treeids"].append(tree)
                leaves["nodeids"].append(number)
                leaves["ids"].append(target)
                leaves["weights"].append(abs(weight) if positive else weight)
    attributes = {f"nodes_{name}": values for name, values in nodes.items()}
    return {**attributes, **{f"{kind}_{name}": values for name, values in leaves.items()}}


_COMPARISONS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def _modes(random: Random) -> tuple[str, ...]:
    return pick(random, ("BRANCH_LEQ",), ("BRANCH_LT",), ("BRANCH_GTE",), _COMPARISONS)


@CASES.of("TreeEnsembleRegressor")
def tree_regressor(random: Random, name: str) -> Case:
    targets = pick(random, 1, 1, 3, 17)
    attributes = random_trees(random, "target", targets, _modes(random))
    attributes |= {"n_targets": targets, "aggregate_function": pick(random, "SUM", "AVERAGE", "MIN", "MAX")}
    if random.random() < 0.3:
        attributes["base_values"] = [float(each) for each in reals(random, targets)]
    attributes["post_transform"] = pick(random, *_TRANSFORMS)
    return Case(name, [_rows(random)], attributes, domain=_ML, tolerance=_tolerance(attributes))


@CASES.of("TreeEnsembleClassifier")
def tree_classifier(random: Random, name: str) -> Case:
    classes = pick(random, 2, 2, 3, 9)
    single = classes == 2 and random.random() < 0.6
    positive = random.random() < 0.5
    attributes = random_trees(random, "class", 1 if single else classes, _modes(random), positive=positive)
    if single:
        attributes["class_ids"] = [pick(random, 0, 1)] * len(attributes["class_ids"])
    # Of two classes with weights for both, onnxruntime gives 0 and 1, whatever the labels are.
    first = 0 if classes == 2 and not single else pick(random, 0, 3)
    attributes["classlabels_int64s"] = [first + index for index in range(classes)]
    # Of one score for two classes, onnxruntime leaves one of the two columns of PROBIT as it was.
    attributes["post_transform"] = pick(random, *(_TRANSFORMS[:4] if single else _TRANSFORMS))
    if random.random() < 0.3 and not single:
        attributes["base_values"] = [float(each) for each in reals(random, classes)]
    tolerance = _tolerance(attributes)
    return Case(name, [_rows(random)], attributes, domain=_ML, outputs=(_I64, _F32), tolerance=tolerance)


@CASES.of("TreeEnsemble")
def tree_ensemble(random: Random, name: str) -> Case:
    nodes: list[tuple[int, float, int, int, int, int, int]] = []
    leaves: list[float] = []

    def grow(level: int) -> tuple[int, int]:
        """Number of a new node and 0, or of a new leaf and 1."""
        if level == 0 or random.random() < 0.2:
            leaves.append(float(reals(random)))
            return len(leaves) - 1, 1
        place = len(nodes)
        nodes.append((0, 0.0, 0, 0, 0, 0, 0))
        yes, no = grow(level - 1), grow(level - 1)
        feature, mode = int(random.integers(_FEATURES)), int(random.integers(6))
        nodes[place] = (feature, float(np.round(random.normal(), 1)), mode, *yes, *no)
        return place, 0

    roots = list[int]()
    while len(roots) < 3:
        place, is_leaf = grow(3)
        if not is_leaf:
            roots.append(place)
    features, splits, modes, yes, yes_leaf, no, no_leaf = (list(column) for column in zip(*nodes, strict=True))
    attributes: dict[str, Any] = {
        "tree_roots": roots, "n_targets": 1, "nodes_featureids": features, "nodes_truenodeids": yes,
        "nodes_falsenodeids": no, "nodes_trueleafs": yes_leaf, "nodes_falseleafs": no_leaf,
        "nodes_splits": numpy_helper.from_array(np.array(splits, np.float32), "splits"),
        "nodes_modes": numpy_helper.from_array(np.array(modes, np.uint8), "modes"),
        "leaf_targetids": [0] * len(leaves), "aggregate_function": pick(random, 0, 1, 2, 3),
        "leaf_weights": numpy_helper.from_array(np.array(leaves, np.float32), "weights"),
    }  # fmt: skip
    return Case(name, [_rows(random)], attributes, domain=_ML, version=5)


@CASES.of("LinearRegressor")
def linear_regressor(random: Random, name: str) -> Case:
    targets = pick(random, 1, 3)
    attributes: dict[str, Any] = {"coefficients": reals(random, targets * _FEATURES).tolist(), "targets": targets}
    if random.random() < 0.7:
        attributes["intercepts"] = reals(random, targets).tolist()
    attributes["post_transform"] = pick(random, *_TRANSFORMS)
    x = reals(random, _count(random), _FEATURES)
    return Case(name, [x], attributes, domain=_ML, tolerance=_tolerance(attributes))


@CASES.of("LinearClassifier")
def linear_classifier(random: Random, name: str) -> Case:
    classes = pick(random, 2, 2, 3)
    count = 1 if classes == 2 and random.random() < 0.5 else classes
    attributes = {
        "coefficients": reals(random, count * _FEATURES).tolist(), "intercepts": reals(random, count).tolist(),
        "classlabels_ints": pick(random, list(range(classes)), [7, 3, 5][:classes]),
        "post_transform": pick(random, *(_TRANSFORMS[:4] if count == 1 else _TRANSFORMS)),
        "multi_class": pick(random, 0, 1),
    }  # fmt: skip
    x, tolerance = reals(random, _count(random), _FEATURES), _tolerance(attributes)
    return Case(name, [x], attributes, domain=_ML, outputs=(_I64, _F32), tolerance=tolerance)


@CASES.of("SVMRegressor")
def svm_regressor(random: Random, name: str) -> Case:
    count, kernel = pick(random, 1, 6, 17), pick(random, "LINEAR", "POLY", "RBF", "SIGMOID")
    attributes = {
        "kernel_type": kernel, "kernel_params": [0.3, 0.5, 3.0], "n_supports": count,
        "support_vectors": reals(random, count * _FEATURES).tolist(), "coefficients": reals(random, count).tolist(),
        "rho": [0.25],
    }  # fmt: skip
    return Case(name, [reals(random, _count(random), _FEATURES)], attributes, domain=_ML, tolerance=2e-5)


@CASES.of("Scaler", "Normalizer", "Binarizer", "Imputer")
def feature(random: Random, name: str) -> Case:
    x = np.round(reals(random, _count(random), _FEATURES), 1)
    attributes: dict[str, Any]
    match name:
        case "Scaler":
            width = pick(random, 1, _FEATURES)
            attributes = {"offset": reals(random, width).tolist(), "scale": reals(random, width).tolist()}
        case "Normalizer":
            x[:1] = 0
            attributes = {"norm": pick(random, "MAX", "L1", "L2")}
        case "Binarizer":
            attributes = {"threshold": 0.3}
        case _:
            x[random.random(x.shape) < 0.3] = pick(random, np.nan, 0.5)
            replaced = float("nan") if np.isnan(x).any() else 0.5
            values = reals(random, pick(random, 1, _FEATURES)).tolist()
            attributes = {"imputed_value_floats": values, "replaced_value_float": replaced}
    return Case(name, [x], attributes, domain=_ML)


@CASES.of("OneHotEncoder", "LabelEncoder")
def encoder(random: Random, name: str) -> Case:
    x = random.integers(0, 6, (_count(random), 4))
    keys = [int(each) for each in random.permutation(6)[: pick(random, 3, 6)]]
    if name == "OneHotEncoder":
        return Case(name, [x], {"cats_int64s": keys, "zeros": 1}, domain=_ML)
    if random.random() < 0.5:
        values = {"values_floats": reals(random, len(keys)).tolist(), "default_float": 0.5}
        return Case(name, [x], {"keys_int64s": keys, **values}, domain=_ML)
    values = {"values_int64s": [int(each) for each in random.integers(0, 99, len(keys))], "default_int64": 7}
    floats = [float(each) for each in keys]
    attributes = {"keys_floats": [*floats[1:], float("nan")], **values}
    y = x.astype(np.float32)
    y[:1, 0] = np.nan
    return Case(name, [y], attributes, domain=_ML, outputs=(_I64,))


@CASES.of("FeatureVectorizer")
def vectorizer(random: Random, name: str) -> Case:
    widths = [2, 3, 1]
    rows = pick(random, 1, 4, 17)  # of none onnxruntime divides by their number
    operands: list[Array] = [reals(random, rows, width) for width in widths]
    return Case(name, [*operands], {"inputdimensions": widths}, domain=_ML)


@CASES.of("ArrayFeatureExtractor")
def extractor(random: Random, name: str) -> Case:
    x = reals(random, *pick(random, (_count(random), 6), (6,)))
    count: int = pick(random, 1, 3)
    places = random.integers(0, 6, count)
    return Case(name, [x, places], {}, frozenset({1}), domain=_ML)
