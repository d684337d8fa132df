"""Operators that ONNX defines by others are expanded, wherever they stand."""

import numpy as np
import onnx
import pytest
from checking.rounding import assert_near, assert_sums, roundings_of
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from fuse_dialect.budget import Limits
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.expansion import expand_operators
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.numpy import run_module

FLOAT = TensorProto.FLOAT


def value(name, shape, type=FLOAT):
    return helper.make_tensor_value_info(name, type, shape)


def model(nodes, inputs, outputs, opset=24):
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def attention(**attributes):
    """Attention with a mask left out and a past given."""
    names = ["q", "k", "v", "", "past_k", "past_v"]
    node = helper.make_node("Attention", names, ["y", "new_k", "new_v"], **attributes)
    inputs = [value(name, [1, 2, 3, 4]) for name in names if name]
    return model([node], inputs, [value("y", None), value("new_k", None), value("new_v", None)])


def agree(proto):
    random = np.random.default_rng(0)
    feeds = {
        entry.name: random.normal(size=[dim.dim_value for dim in entry.type.tensor_type.shape.dim]).astype(np.float32)
        for entry in proto.graph.input
    }
    module = import_model(proto)
    module.verify()
    got = run_module(module, list(feeds.values()))
    for one, other in zip(got, ReferenceEvaluator(proto).run(None, feeds), strict=True):
        assert_near(one, other, roundings_of(module))


@pytest.mark.parametrize("attributes", [{}, {"is_causal": 1}, {"scale": 0.5}])
def test_operands_in_between_may_be_left_out(attributes):
    agree(attention(**attributes))


def test_attributes_that_are_left_out_have_the_default_of_the_operator():
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    agree(model([node], [value("x", [2, 3, 4, 5])], [value("y", None)], opset=13))
    size = helper.make_node("Constant", [], ["n"], value_int=8)
    window = helper.make_node("HannWindow", ["n"], ["y"])
    agree(model([size, window], [], [value("y", None)], opset=17))


def test_definitions_are_expanded_in_subgraphs():
    def branch(name, op):
        return helper.make_graph([helper.make_node(op, ["x", "x"], [name])], name, [], [value(name, [])])

    labels = helper.make_node("Cast", ["classes"], ["labels"], to=TensorProto.INT64)
    then = helper.make_graph(
        [helper.make_node("SoftmaxCrossEntropyLoss", ["x", "labels"], ["a"])], "then", [], [value("a", [])]
    )
    otherwise = helper.make_graph(
        [helper.make_node("ReduceSum", ["x"], ["b"], keepdims=0)], "else", [], [value("b", [])]
    )
    choice = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)
    inputs = [value("x", [3, 4]), value("classes", [3]), value("c", [], TensorProto.BOOL)]
    module = import_model(model([labels, choice], inputs, [value("y", [])], opset=17))
    module.verify()
    x, classes = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32), np.array([0, 3, 1], np.float32)
    loss, total = (run_module(module, [x, classes, np.array(choice)])[0] for choice in (True, False))
    shares = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(loss, -np.log(shares[np.arange(3), classes.astype(int)]).mean(), rtol=1e-5)
    assert_sums(total, np.array(x.sum(dtype=np.float64)), x.size, np.abs(x).sum(dtype=np.float64))


def test_definitions_take_from_the_budget():
    with pytest.raises(FuseError, match=r"'Attention' node .* expands to"):
        import_model(attention(), limits=Limits(ops=20))


def test_operators_that_are_known_stay_as_they_are():
    proto = attention()
    same = expand_operators(proto, lambda domain, name: True, Limits().budget())
    assert same is proto


def test_a_node_with_too_few_operands_is_diagnosed():
    node = helper.make_node("Attention", ["q"], ["y"])
    with pytest.raises(FuseError, match="'Attention' node 'y': expects 3 to 7 operands, got 1"):
        import_model(model([node], [value("q", [2, 2])], [value("y", None)]))


def test_newer_definitions_are_not_used_for_older_models():
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"])
    inputs = [value(name, [1, 2, 3, 4]) for name in "qkv"]
    with pytest.raises(FuseError, match="not supported: 'Attention'"):
        import_model(model([node], inputs, [value("y", None)], opset=17))
    assert onnx.defs.get_schema("Attention").since_version > 17
