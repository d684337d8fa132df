"""Models of ONNX-ML: trees that are none are errors with a place, and walks end where they should."""

import numpy as np
import onnx
import pytest
from onnx import helper

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model

_FEATURES = 3


def _model(name, domain="ai.onnx.ml", rows=None, operands=1, outputs=("y",), **attributes):
    inputs = [f"x{index}" for index in range(operands)]
    node = helper.make_node(name, inputs, list(outputs), "n1", domain=domain, **attributes)
    infos = [helper.make_tensor_value_info(key, onnx.TensorProto.FLOAT, [rows, _FEATURES]) for key in inputs]
    results = [helper.make_tensor_value_info(key, 0, None) for key in outputs if key]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=imports, ir_version=9)


def _trees(**changes):
    """One tree: x1 <= 0.5 ? (x0 < 0 ? 1 : 2) : 4, with changes to its attributes."""
    attributes = {
        "nodes_treeids": [0] * 5,
        "nodes_nodeids": [0, 1, 2, 3, 4],
        "nodes_featureids": [1, 0, 0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 2, 0, 0, 0],
        "nodes_falsenodeids": [4, 3, 0, 0, 0],
        "target_treeids": [0] * 3,
        "target_nodeids": [2, 3, 4],
        "target_ids": [0] * 3,
        "target_weights": [1.0, 2.0, 4.0],
        "n_targets": 1,
    }
    return _model("TreeEnsembleRegressor", **{**attributes, **changes})


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_a_tree_decides_for_each_of_any_number_of_rows(backend):
    program = fd.compile(import_model(_trees()), backend=backend)
    x = np.array([[-1, 0.5, 0], [0, 0.25, 0], [-1, 0.75, 0], [np.nan, 0, 0], [0, np.nan, 0]], np.float32)
    for rows in (0, 1, 5):
        result = program(x[:rows])
        assert np.asarray(result).reshape(-1).tolist() == [1.0, 2.0, 4.0, 2.0, 4.0][:rows]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes_truenodeids": [1, 0, 0, 0, 0]}, "node 0 of tree 0, which is reached twice"),
        ({"nodes_falsenodeids": [1, 3, 0, 0, 0]}, "node 1 of tree 0, which is reached twice"),
        ({"nodes_falsenodeids": [9, 3, 0, 0, 0]}, "the child of node 0 of tree 0 if false is missing"),
        ({"nodes_featureids": [1, 7, 0, 0, 0]}, "node 1 of tree 0 asks for feature 7, of 3"),
        ({"nodes_featureids": [-1, 0, 0, 0, 0]}, "asks for feature -1"),
        ({"target_nodeids": [2, 3, 8]}, "has a weight for node 8 of tree 0, which is missing"),
        ({"target_ids": [0, 0, 5]}, "has a weight for target 5, of 1"),
        ({"nodes_nodeids": [0, 1, 2, 3, 3]}, "a node of a tree twice"),
        ({"nodes_values": [0.5]}, "lists of equal length"),
        ({"nodes_modes": ["BRANCH_MEMBER"] * 5}, "'BRANCH_MEMBER'"),
        ({"n_targets": 0}, "'n_targets' between 1"),
        ({"n_targets": 1 << 40}, "'n_targets' between 1"),
        ({"post_transform": "CAUCHIT"}, "CAUCHIT"),
    ],
)
def test_trees_that_are_none_are_an_error_with_their_place(changes, words):
    with pytest.raises(FuseError, match=words) as caught:
        import_model(_trees(**changes), file_name="m.onnx")
    assert str(caught.value).startswith("m.onnx: error: 'TreeEnsembleRegressor' node 'n1'")


def test_labels_that_are_strings_are_refused_where_they_are_used_alone():
    attributes = {"coefficients": [1.0] * 6, "intercepts": [0.0, 1.0], "classlabels_strings": ["no", "yes"]}
    with pytest.raises(FuseError, match="labels that are strings"):
        import_model(_model("LinearClassifier", outputs=("label", "scores"), **attributes))
    module = import_model(_model("LinearClassifier", outputs=("", "scores"), **attributes))
    (scores,) = fd.run(module, np.ones((2, 3), np.float32))
    assert scores.tolist() == [[3.0, 4.0]] * 2


@pytest.mark.parametrize(
    ("name", "attributes", "words"),
    [
        ("LinearRegressor", {"coefficients": [1.0, 2.0]}, "3 coefficients"),
        ("Scaler", {"offset": [1.0, 2.0]}, "'offset'"),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "strings"),
        ("LabelEncoder", {"keys_floats": [1.0], "values_int64s": [1, 2]}, "as many values as keys"),
        ("SVMClassifier", {"classlabels_ints": [0, 1]}, "SVMClassifier"),
        ("FeatureVectorizer", {"inputdimensions": [1, 2]}, "'inputdimensions'"),
    ],
)
def test_attributes_that_do_not_fit_are_an_error(name, attributes, words):
    with pytest.raises(FuseError, match=words):
        import_model(_model(name, **attributes))


def test_a_list_of_dictionaries_is_a_tensor_with_a_column_for_each_key():
    model = _model("ZipMap", rows=2, classlabels_int64s=[4, 5, 6])
    number = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(onnx.TensorProto.INT64, number))
    model.graph.output[0].type.CopyFrom(kind)
    module = import_model(model)
    assert model.graph.output[0].HasField("type")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(fd.run(module, x)[0], x)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_one_score_alone_stays_as_it_is(transform):
    # onnxruntime transforms several scores, and of one alone only what PROBIT asks for.
    x = np.array([[-1, 0.5, 0], [0, 0.25, 0], [-1, 0.75, 0]], np.float32)
    (result,) = fd.run(import_model(_trees(post_transform=transform)), x)
    assert result.reshape(-1).tolist() == [1.0, 2.0, 4.0]


def test_probit_is_the_normal_quantile_and_nan_for_what_is_no_probability():
    weights = {"target_weights": [0.025, 0.975, 1.5]}
    x = np.array([[-1, 0.5, 0], [0, 0.25, 0], [-1, 0.75, 0]], np.float32)
    (result,) = fd.run(import_model(_trees(post_transform="PROBIT", **weights)), x)
    np.testing.assert_allclose(result.reshape(-1), [-1.96, 1.96, np.nan], atol=5e-3)


def test_probit_of_two_classes_with_one_score_is_refused():
    attributes = {"coefficients": [1.0, 2.0, 3.0], "intercepts": [0.0], "classlabels_ints": [0, 1]}
    with pytest.raises(FuseError, match="PROBIT of two classes"):
        import_model(_model("LinearClassifier", outputs=("y", "z"), post_transform="PROBIT", **attributes))
