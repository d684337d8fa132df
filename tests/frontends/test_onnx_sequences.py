"""Sequences of known length are unrolled; positions outside and sequences as results are errors with their place."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model

_F32, _I64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
_X = np.arange(12, dtype=np.float32).reshape(6, 2)


def _module(*nodes, type=_F32, shape=(6, 2), **numbers):
    made = [helper.make_node(op, ins.split(), [out], name=out, **attributes) for op, ins, out, attributes in nodes]
    tensors = [numpy_helper.from_array(np.array(value, np.int64), key) for key, value in numbers.items()]
    output = helper.make_tensor_value_info(nodes[-1][2], type, None)
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", _F32, shape)], [output], tensors)
    return import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))


_SPLIT = ("SplitToSequence", "x n", "s", {"axis": 0})


@pytest.mark.parametrize(
    ("nodes", "numbers", "expected"),
    [
        ([_SPLIT, ("SequenceAt", "s i", "y", {})], {"n": 4, "i": -1}, _X[4:]),
        ([_SPLIT, ("ConcatFromSequence", "s", "y", {"axis": 1})], {"n": [3, 3]}, np.concatenate([_X[:3], _X[3:]], 1)),
        ([_SPLIT, ("SequenceLength", "s", "y", {})], {"n": 4}, np.array(2)),
        ([_SPLIT, ("Identity", "s", "t", {}), ("SequenceLength", "t", "y", {})], {"n": 2}, np.array(3)),
        (
            [
                ("SequenceConstruct", "x x", "s", {}),
                ("Neg", "x", "m", {}),
                ("SequenceInsert", "s m i", "t", {}),
                ("SequenceErase", "t", "u", {}),
                ("ConcatFromSequence", "u", "y", {"axis": 0, "new_axis": 1}),
            ],
            {"i": 0},
            np.stack([-_X, _X]),
        ),
        (
            [
                ("SplitToSequence", "x", "s", {"axis": 1, "keepdims": 0}),
                ("SequenceEmpty", "", "e", {}),
                ("SequenceAt", "s i", "a", {}),
                ("SequenceInsert", "e a", "f", {}),
                ("SequenceAt", "f j", "y", {}),
            ],
            {"i": 1, "j": 0},
            _X[:, 1],
        ),
    ],
)
def test_a_sequence_is_unrolled(nodes, numbers, expected):
    module = _module(*nodes, type=_I64 if expected.dtype == np.int64 else _F32, **numbers)
    (result,) = fd.run(module, _X)
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected)


@pytest.mark.parametrize(
    ("nodes", "numbers", "words"),
    [
        (
            [_SPLIT, ("SequenceAt", "s i", "y", {})],
            {"n": 4, "i": 2},
            "'SequenceAt' node 'y'.*position 2 of a sequence of 2",
        ),
        ([_SPLIT, ("SequenceAt", "s i", "y", {})], {"n": 4, "i": -3}, "position -3"),
        ([_SPLIT, ("SequenceLength", "s", "y", {})], {"n": [3, 4]}, r"splits 6 elements into parts of \[3, 4\]"),
        ([_SPLIT, ("SequenceLength", "s", "y", {})], {"n": 0}, "parts of 0"),
        ([_SPLIT, ("Neg", "s", "y", {})], {"n": 3}, "uses the sequence 's' as a tensor"),
        ([_SPLIT], {"n": 3}, "uses the sequence 's' as a tensor"),
        ([("SequenceAt", "x i", "y", {})], {"i": 0}, "expects a sequence as operand 0"),
        ([("SequenceEmpty", "", "e", {}), ("ConcatFromSequence", "e", "y", {"axis": 0})], {}, "empty sequence"),
        ([("SequenceEmpty", "", "e", {}), ("SequenceErase", "e", "f", {})], {}, "empty sequence"),
    ],
)
def test_what_is_outside_of_a_sequence_is_an_error(nodes, numbers, words):
    with pytest.raises(FuseError, match=words):
        _module(*nodes, **numbers)


def test_an_axis_of_open_size_is_not_split():
    with pytest.raises(FuseError, match="whose size is not known"):
        _module(("SplitToSequence", "x", "s", {"axis": 0}), ("SequenceLength", "s", "y", {}), shape=("n", 2))
