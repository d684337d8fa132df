"""Models of strangers: no file is read but the model's own, and what a model expands to is bounded."""

import os
import subprocess
import sys

import numpy as np
import onnx
import onnx.inliner
import pytest
from fuzzing.hostile_inputs import chain_of_functions, doubling_functions, long_vector, many_ranges, split_into
from onnx import TensorProto, helper, numpy_helper

from fuse_dialect.budget import Limits
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.external_data import external_tensors
from fuse_dialect.frontends.onnx.inlining import inline_functions
from fuse_dialect.frontends.onnx.reader import import_model, load_onnx_module, read_onnx_module
from fuse_dialect.interpreters.numpy import run_module

_FLOAT = TensorProto.FLOAT


def _external(location: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=_FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def _value(name):
    return helper.make_tensor_value_info(name, _FLOAT, [4])


def _model(nodes, functions=(), **graph):
    graph = helper.make_graph(nodes, "g", [_value("x")], [_value("y")], **graph)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def _function(name, inputs, outputs, nodes, attributes=(), defaults=()):
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, opsets, attributes, defaults)


_COPY = [helper.make_node("Identity", ["x"], ["y"])]


def _in_initializer(tensor):
    return _model(_COPY, initializer=[tensor])


def _in_attribute(tensor):
    return _model([helper.make_node("Constant", [], ["c"], value=tensor), *_COPY])


def _in_subgraph(tensor):
    branch = helper.make_graph([helper.make_node("Constant", [], ["b"], value=tensor)], "b", [], [_value("b")])
    condition = numpy_helper.from_array(np.array(True), "c")
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return _model([node], initializer=[condition])


def _in_function_body(tensor):
    function = _function("f", ["x"], ["y"], [helper.make_node("Constant", [], ["c"], value=tensor), *_COPY])
    return _model([helper.make_node("f", ["x"], ["y"], domain="own")], [function])


def _in_function_default(tensor):
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.add(name="value", ref_attr_name="v", type=onnx.AttributeProto.TENSOR)
    add = helper.make_node("Add", ["x", "c"], ["y"])
    function = _function("f", ["x"], ["y"], [constant, add], defaults=[helper.make_attribute("v", tensor)])
    return _model([helper.make_node("f", ["x"], ["y"], domain="own")], [function])


def _in_sparse_initializer(tensor):
    indices = numpy_helper.from_array(np.arange(4), "i")
    return _model(_COPY, sparse_initializer=[helper.make_sparse_tensor(tensor, indices, [8])])


def _in_sparse_indices(tensor):
    values = numpy_helper.from_array(np.zeros(4, np.float32), "v")
    sparse = helper.make_sparse_tensor(values, tensor, [8])
    return _model([helper.make_node("Constant", [], ["c"], sparse_value=sparse), *_COPY])


def _in_list_of_tensors(tensor):
    node = helper.make_node("Identity", ["x"], ["y"])
    node.attribute.add(name="a", type=onnx.AttributeProto.TENSORS, tensors=[tensor])
    return _model([node])


def _in_training_info(tensor):
    model = _in_initializer(numpy_helper.from_array(np.zeros(1, np.float32), "z"))
    model.training_info.add().algorithm.initializer.append(tensor)
    return model


_PLACES = [
    _in_initializer,
    _in_attribute,
    _in_subgraph,
    _in_function_body,
    _in_function_default,
    _in_sparse_initializer,
    _in_sparse_indices,
    _in_list_of_tensors,
    _in_training_info,
]


@pytest.fixture
def folder(tmp_path):
    """A folder for a model, with a file that is none of its business beside it, and ways that lead there."""
    (tmp_path / "secret.bin").write_bytes(bytes(range(16)))
    inside = tmp_path / "model"
    inside.mkdir()
    (inside / "data.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    (inside / "folder").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe")
    return inside


_LOCATIONS = [
    "{outside}/secret.bin",
    "../secret.bin",
    "folder/secret.bin",
    "link.bin",
    "pipe",
    ".",
    "/dev/zero",
    "/etc/passwd",
    "C:\\secret.bin",
    "\\\\host\\share",
    "a\\..\\..\\secret.bin",
    "",
]


def _load(folder, model):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return load_onnx_module(path)


@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("location", _LOCATIONS)
def test_no_file_but_the_models_own_is_read(folder, place, location):
    tensor = _external(location.format(outside=folder.parent))
    with pytest.raises(FuseError) as caught:
        _load(folder, place(tensor))
    assert "tensor 'w' lies in" in caught.value.message


@pytest.mark.parametrize("place", [_in_initializer, _in_attribute, _in_subgraph, _in_function_body])
def test_data_in_the_folder_is_read(folder, place):
    (result,) = run_module(_load(folder, place(_external("data.bin"))), [np.full(4, 7, np.float32)])
    assert result.tolist() == ([0, 1, 2, 3] if place is _in_subgraph else [7, 7, 7, 7])


def test_default_of_a_function_is_read_from_the_folder(folder):
    (result,) = run_module(_load(folder, _in_function_default(_external("data.bin"))), [np.zeros(4, np.float32)])
    assert result.tolist() == [0, 1, 2, 3]


def test_all_kinds_of_messages_that_hold_tensors_are_walked():
    """If a version of ONNX has more places for tensors, this says so; the walk knows them already."""
    found = {
        (message.name, field.name)
        for message in onnx.TensorProto.DESCRIPTOR.file.message_types_by_name.values()
        for field in message.fields
        if field.message_type is not None and field.message_type.name == "TensorProto"
    }
    assert len(found) >= 5
    for name, field_name in found:
        message = getattr(onnx, name)()
        field = getattr(message, field_name)
        (field.add() if hasattr(field, "add") else field).CopyFrom(_external("x"))
        assert [tensor.name for tensor in external_tensors(message)] == ["w"]


def test_many_tensors_that_name_the_same_bytes_are_bounded(folder):
    (folder / "data.bin").write_bytes(bytes(1 << 20))
    tensors = []
    for number in range(200):
        tensor = TensorProto(name=f"w{number}", data_type=_FLOAT, dims=[1 << 18], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="data.bin")
        tensors.append(tensor)
    with pytest.raises(FuseError, match="max_bytes= raises the limit"):
        _load(folder, _model(_COPY, initializer=tensors))


def _error(data: bytes, **options) -> FuseError:
    with pytest.raises(FuseError) as caught:
        read_onnx_module(data, "model.onnx", **options)
    return caught.value


def test_split_into_more_parts_than_it_has_results_is_refused():
    assert "'Split' node 'y'" in _error(split_into(10**9)).message


def test_functions_that_double_are_refused_before_they_are_copied():
    error = _error(doubling_functions(30))
    assert error.message.startswith("'f0' node 'y' expands to 3221225470 ops")
    assert error.hint == "max_ops= raises the limit"


def test_functions_without_nodes_that_double_are_refused():
    empty = [_function("f40", [], [], [])]
    calls = [
        _function(f"f{i}", [], [], [helper.make_node(f"f{i + 1}", [], [], domain="own") for _ in range(2)])
        for i in range(40)
    ]
    model = _model([helper.make_node("f0", [], [], domain="own"), *_COPY], [*calls, *empty])
    assert "expands to" in _error(model.SerializeToString()).message


def test_limit_of_ops_is_that_of_the_caller():
    data = doubling_functions(4)
    assert sum(op.name == "fuse.relu" for op in read_onnx_module(data, "m").walk()) == 16
    assert "expands to" in _error(data, limits=Limits(ops=40)).message


def test_functions_with_great_attributes_are_bounded_by_bytes():
    weight = numpy_helper.from_array(np.random.default_rng(0).random(1 << 18).astype(np.float32), "w")
    body = [helper.make_node("Constant", [], ["c"], value=weight), helper.make_node("ReduceSum", ["c"], ["s"])]
    function = _function("f", ["x"], ["y"], [*body, helper.make_node("Add", ["x", "s"], ["y"])])
    nodes = [helper.make_node("f", [f"v{i}"], [f"v{i + 1}"], domain="own") for i in range(200)]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    assert _error(_model(nodes, [function]).SerializeToString()).hint == "max_bytes= raises the limit"


def test_chain_of_functions_is_followed_to_its_end():
    module = read_onnx_module(chain_of_functions(3 * sys.getrecursionlimit()), "m")
    assert sum(op.name == "fuse.relu" for op in module.walk()) == 1


def test_ranges_are_bounded_and_right_below_the_limit():
    (result,) = run_module(read_onnx_module(many_ranges(3), "m"), [np.zeros(50_000, np.int64)])
    assert np.array_equal(result, 3 * (np.arange(50_000) + 1))
    assert _error(many_ranges(400)).hint == "max_bytes= raises the limit"


_MODELS = {
    "unused input": (["x", "u"], [helper.make_node("Relu", ["x"], ["y"])], ["x"]),
    "shared name": (["x"], [helper.make_node("Relu", ["x"], ["m"]), helper.make_node("Neg", ["m"], ["y"])], ["x"]),
}


@pytest.mark.parametrize("case", _MODELS)
def test_inlining_agrees_with_the_library(case):
    inputs, body, given = _MODELS[case]
    function = _function("f", inputs, ["y"], body)
    nodes = [
        helper.make_node("f", given, ["m"], domain="own", name="first"),
        helper.make_node("f", ["m"], ["y"], domain="own", name="second"),
    ]
    model = _model(nodes, [function])
    ours = import_model(inline_functions(model, Limits().budget()))
    theirs = import_model(onnx.inliner.inline_local_functions(model))
    values = np.linspace(-2, 2, 4, dtype=np.float32)
    assert np.array_equal(run_module(ours, [values]), run_module(theirs, [values]))
    assert len(model.functions) == 1


def test_function_may_have_its_nodes_in_any_order():
    body = [helper.make_node("Neg", ["m"], ["y"]), helper.make_node("Exp", ["x"], ["m"])]
    nodes = [helper.make_node("f", ["x"], ["m"], domain="own"), helper.make_node("f", ["m"], ["y"], domain="own")]
    (result,) = run_module(import_model(_model(nodes, [_function("f", ["x"], ["y"], body)])), [np.zeros(4, np.float32)])
    assert np.allclose(result, -np.exp(-1))


def test_result_that_is_an_input_of_the_function_keeps_the_name_of_the_call():
    function = _function("f", ["x"], ["x"], [])
    (result,) = run_module(
        import_model(_model([helper.make_node("f", ["x"], ["y"], domain="own")], [function])),
        [np.arange(4, dtype=np.float32)],
    )
    assert result.tolist() == [0, 1, 2, 3]


def test_value_that_a_function_does_not_define_is_not_the_callers():
    function = _function("f", ["x"], ["y"], [helper.make_node("Add", ["x", "hidden"], ["y"])])
    nodes = [helper.make_node("Neg", ["x"], ["hidden"]), helper.make_node("f", ["x"], ["y"], domain="own")]
    assert "which nothing defines" in _error(_model(nodes, [function]).SerializeToString()).message


def test_branches_in_functions_keep_their_values_apart():
    """Both branches call their value `b`, the caller too, and each reads one of the function."""

    def branch(op):
        return helper.make_graph([helper.make_node(op, ["m"], ["b"])], op, [], [_value("b")])

    body = [
        helper.make_node("Relu", ["x"], ["m"]),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(False))),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Exp")),
    ]
    nodes = [helper.make_node("Neg", ["x"], ["b"]), helper.make_node("f", ["b"], ["y"], domain="own")]
    (result,) = run_module(
        import_model(_model(nodes, [_function("f", ["x"], ["y"], body)])), [np.array([-1, 0, 1, 2], np.float32)]
    )
    assert np.allclose(result, np.exp([1, 0, 0, 0]))


def test_attribute_of_the_call_comes_before_the_default():
    body = [helper.make_node("LeakyRelu", ["x"], ["y"])]
    body[0].attribute.add(name="alpha", ref_attr_name="a", type=onnx.AttributeProto.FLOAT)
    function = _function("f", ["x"], ["y"], body, defaults=[helper.make_attribute("a", 0.5)])
    for given, expected in (({}, -0.5), ({"a": 0.25}, -0.25)):
        model = _model([helper.make_node("f", ["x"], ["y"], domain="own", **given)], [function])
        (result,) = run_module(import_model(model), [np.full(4, -1, np.float32)])
        assert result.tolist() == [expected] * 4


def _node_model(node, shape=(2, 3), *, opset=18, **initializers):
    tensors = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in initializers.items()]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", _FLOAT, shape)],
        [helper.make_tensor_value_info("y", _FLOAT, None)],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


_LARGEST = 2**63 - 1
_ILL_FORMED = [
    (_node_model(helper.make_node("Shrink", ["x", "x"], ["y"])), "expects 1 operand, got 2"),
    (_node_model(helper.make_node("Celu", [], ["y"])), "expects 1 operand, got 0"),
    (_node_model(helper.make_node("Trilu", ["x"], ["y"]), (3,)), "rank 2 or more, got rank 1"),
    (
        _node_model(helper.make_node("GroupNormalization", ["x", "x", "x"], ["y"], num_groups=1), (3,)),
        "rank 2 or more, got rank 1",
    ),
    (_node_model(helper.make_node("Upsample", ["x"], ["y"], scales=[1.0]), opset=7), "expects 2 positive scales"),
    (_node_model(helper.make_node("Upsample", ["x", "s"], ["y"]), opset=9, s=[1, np.nan]), "expects 2 positive scales"),
    (_node_model(helper.make_node("Resize", ["x", "s"], ["y"]), opset=10, s=[1, np.inf]), "expects 2 positive scales"),
    (_node_model(helper.make_node("Resize", ["x", "", "s"], ["y"]), s=[1, np.nan]), "expects a scale or a size"),
    (_node_model(helper.make_node("Relu", ["x"], ["y"]), (_LARGEST, _LARGEST)), "than any machine can address"),
    (_node_model(helper.make_node("Relu", ["x"], ["y"]), (_LARGEST,)), "than any machine can address"),
]


@pytest.mark.parametrize(("model", "message"), _ILL_FORMED)
def test_ill_formed_node_is_diagnosed(model, message):
    error = _error(model.SerializeToString())
    assert message in error.message
    assert "is not valid (" not in error.message


_FATAL = """
import sys
from onnx import TensorProto, helper
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.expansion import _inferred_types
from fuse_dialect.frontends.onnx.reader import import_model

leaf = helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0])
mode = helper.make_tensor("t", TensorProto.UINT8, [1], [0])
tree = {"leaf_targetids": [0], "leaf_weights": leaf, "nodes_falseleafs": [1], "nodes_falsenodeids": [0]}
tree |= {"nodes_featureids": [0], "nodes_modes": mode, "nodes_splits": leaf, "nodes_trueleafs": [1]}
cases = [
    ("", "EyeLike", {"dtype": 11}, "u", ["y"]),
    ("", "RegexFullMatch", {"pattern": "x"}, "u", ["y"]),
    ("", "Split", {"axis": 0, "num_outputs": 1}, "x", ["y", "z"]),
    ("ai.onnx.ml", "DictVectorizer", {"string_vocabulary": ["x"]}, "u", ["y"]),
    ("ai.onnx.ml", "LabelEncoder", {"keys_strings": ["x"], "values_int64s": [1]}, "u", ["y"]),
    ("ai.onnx.ml", "TreeEnsemble", {**tree, "nodes_truenodeids": [0], "tree_roots": [0]}, "u", ["y"]),
]
for domain, name, attributes, read, results in cases:
    nodes = [
        helper.make_node("Unknown", ["x"], ["u"], domain="own"),
        helper.make_node(name, [read], results, domain=domain, **attributes),
    ]
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("own", 1), helper.make_opsetid("ai.onnx.ml", 5)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, ["n", 2])],
    )
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    assert _inferred_types(model)["x"]
    assert [node.domain for node in model.graph.node] == ["own", domain] and len(model.opset_import) == 3
    try:
        print(name, "fuse_dialect.hidden" in str(import_model(model, allow_unsupported=True)))
    except FuseError as error:
        print(name, "internal error" in str(error))
"""


def test_operators_on_which_the_library_ends_the_process_are_read_or_refused():
    run = subprocess.run([sys.executable, "-c", _FATAL], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    names = ["EyeLike", "RegexFullMatch", "Split", "DictVectorizer", "LabelEncoder", "TreeEnsemble"]
    assert run.stdout.splitlines() == [f"{name} False" for name in names]


_LONG_VECTOR = """
import resource
import sys

import onnx

from fuse_dialect.frontends.onnx.expansion import _inferred_types
from fuse_dialect.frontends.onnx.reader import import_model

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
model = onnx.load_model_from_string(sys.stdin.buffer.read())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
# A process begins with the peak of the one that started it.
_inferred_types(model)
print(import_model(model, allow_unsupported=True))
print("more", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10, "MB")
"""


@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.FLOAT])
def test_what_inference_makes_of_a_long_vector_is_bounded(dtype):
    """The library's propagation of elements writes out a list of 10^8 unknown sizes for each node."""
    model = long_vector(10**8, dtype)
    run = subprocess.run([sys.executable, "-c", _LONG_VECTOR], input=model, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr
    assert b"fuse.multiply %y, %y : tensor<100000000x" in run.stdout, run.stdout
    assert int(run.stdout.split()[-2]) < 200, run.stdout


_SEQUENCE_MAP = """
import onnx
from fuse_dialect.frontends.onnx.reader import import_model

model = onnx.parser.parse_model('''
  <ir_version: 8, opset_import: ["": 17]>
  g (seq(float[N]) own, float[M] x1) => (seq(float[N]) y0, seq(float[M]) y1) {
    y0, y1 = SequenceMap <body = b (float[N] in0, float[M] in1) => (float[N] out0, float[M] out1) {
      out0 = Identity(in0)
      out1 = Identity(in1)
    }> (x0, x1)
  }''')
import_model(model, allow_unsupported=True)
"""


def test_definition_on_which_the_library_ends_the_process_is_not_asked_for():
    run = subprocess.run([sys.executable, "-c", _SEQUENCE_MAP], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "FuseError" in run.stderr
