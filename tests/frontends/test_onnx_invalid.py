"""Models that are damaged, hostile or beyond the dialect: always a diagnosed error that names the place."""

import os
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model, load_onnx_module
from fuse_dialect.interpreters.numpy import run_module

_FLOAT = TensorProto.FLOAT


def _value(name, shape, type=_FLOAT):
    return helper.make_tensor_value_info(name, type, shape)


def _model(nodes, inputs=(), outputs=(), initializers=(), opset=17, functions=(), extra_opsets=()):
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(initializers))
    opsets = [helper.make_opsetid("", opset), *extra_opsets]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def _error(model, **options) -> FuseError:
    with pytest.raises(FuseError) as caught:
        import_model(model, **options)
    return caught.value


def _refusal(read) -> FuseError | None:
    """The diagnosed error, or `None` for a model that is imported and verifies."""
    try:
        read().verify()
    except FuseError as error:
        return error
    return None


def _claimed(name, shape, data=b"", type=_FLOAT):
    """A tensor whose shape promises more than its data holds."""
    tensor = TensorProto(name=name, data_type=type, dims=shape)
    if data:
        tensor.raw_data = data
    return tensor


def _external(name, shape, location, **entries):
    tensor = TensorProto(name=name, data_type=_FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def _adds(tensor):
    """A model that adds an initializer to its input."""
    shape = list(tensor.dims)
    return _model(
        [helper.make_node("Add", ["x", tensor.name], ["y"])], [_value("x", shape)], [_value("y", shape)], [tensor]
    )


def _small_model() -> bytes:
    weight = numpy_helper.from_array(np.arange(36, dtype=np.float32).reshape(4, 1, 3, 3), "w")
    shape = numpy_helper.from_array(np.array([0, -1], np.int64), "shape")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("MaxPool", ["r"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "shape"], ["y"], name="flat"),
    ]
    model = _model(nodes, [_value("x", [1, 1, 8, 8])], [_value("y", [1, 64])], [weight, shape])
    return model.SerializeToString()


_SMALL = _small_model()


def _is_loaded_or_diagnosed(path: Path, data: bytes) -> bool:
    """Whether the file is read, or refused with its name; anything else, a warning too, raises."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = _refusal(lambda: load_onnx_module(path))
    if error is None:
        return True
    is_located = error.location is not None and error.location.file == str(path)
    return is_located and "Traceback" not in error.diagnostic.format()


_FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@_FUZZ
@given(length=st.integers(0, len(_SMALL)))
def test_truncated_file_is_diagnosed(tmp_path, length):
    assert _is_loaded_or_diagnosed(tmp_path / "cut.onnx", _SMALL[:length])


@_FUZZ
@given(data=st.binary(max_size=200))
def test_random_bytes_are_diagnosed(tmp_path, data):
    assert _is_loaded_or_diagnosed(tmp_path / "random.onnx", data)


@_FUZZ
@given(changes=st.lists(st.tuples(st.integers(0, len(_SMALL) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_are_diagnosed_or_harmless(tmp_path, changes):
    data = bytearray(_SMALL)
    for position, byte in changes:
        data[position] = byte
    assert _is_loaded_or_diagnosed(tmp_path / "changed.onnx", bytes(data))


def test_missing_file_and_folder_are_diagnosed(tmp_path):
    with pytest.raises(FuseError, match="cannot read the file: no such file"):
        load_onnx_module(tmp_path / "absent.onnx")
    with pytest.raises(FuseError, match="cannot read the file: is a directory"):
        load_onnx_module(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0"], ids=["none", "few"])
def test_claimed_size_that_the_data_does_not_have_is_refused(data):
    error = _error(_adds(_claimed("w", [1_000_000_000], data)))
    assert "tensor 'w' holds" in error.message
    assert "needs 4000000000" in error.message


@pytest.mark.parametrize(
    ("shape", "named"),
    [([-1], "'x' has a negative size"), ([1 << 62, 1 << 62], "than any machine"), ([1 << 40], "'w'")],
)
def test_impossible_shapes_are_refused(shape, named):
    assert named in _error(_adds(_claimed("w", shape, b"\0\0\0\0"))).message


def test_splat_of_a_billion_elements_takes_no_memory():
    shape = numpy_helper.from_array(np.array([1_000_000_000], np.int64), "n")
    nodes = [
        helper.make_node("ConstantOfShape", ["n"], ["c"]),
        helper.make_node("Neg", ["c"], ["d"]),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    module = import_model(_model(nodes, [_value("x", [1])], [_value("y", [1_000_000_000])], [shape]))
    module.verify()
    assert len(str(module)) < 2000


_ONE = numpy_helper.from_array(np.ones(1, np.float32), "one")


def _sizes(*sizes):
    return numpy_helper.from_array(np.array(sizes, np.int64), "n")


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("Expand", [_ONE, _sizes(1 << 30, 1 << 30)]),
        ("Tile", [_ONE, _sizes(1 << 40)]),
        ("ConstantOfShape", [_sizes(1 << 31, 1 << 31)]),
        ("Range", [numpy_helper.from_array(np.float64(v), k) for k, v in (("a", 0), ("b", 1e15), ("c", 1))]),
    ],
)
def test_constants_that_would_fill_the_memory_are_not_computed(op, operands):
    node = helper.make_node(op, [tensor.name for tensor in operands], ["y"])
    model = _model([node], [], [_value("y", None)], operands)
    error = _refusal(lambda: import_model(model))
    assert error is None or f"'{op}' node" in error.message


def test_wrong_ranks_and_types_name_node_domain_and_opset():
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="first_conv")
    model = _model([node], [_value("x", [1, 3]), _value("w", [4, 3, 3, 3])], [_value("y", None)])
    assert "'Conv' node 'first_conv' (domain 'ai.onnx', opset 17): " in _error(model, file_name="m.onnx").message
    node = helper.make_node("Add", ["x", "i"], ["y"], name="mixed")
    model = _model([node], [_value("x", [2]), _value("i", [2], TensorProto.INT64)], [_value("y", None)])
    assert "'Add' node 'mixed'" in _error(model).message


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (helper.make_node("Relu", ["nowhere"], ["y"]), "'nowhere', which nothing defines"),
        (helper.make_node("Add", ["x"], ["y"]), "'Add' node"),
        (helper.make_node("Relu", [], ["y"]), "'Relu' node"),
        (helper.make_node("Transpose", ["x"], ["y"], perm=[0, 5]), "'Transpose' node"),
        (helper.make_node("Softmax", ["x"], ["y"], axis="one"), "attribute 'axis' of type INT"),
        (helper.make_node("Reshape", ["x", "x"], ["y"]), "short list of integers"),
        (helper.make_node("Flatten", ["x"], ["y"], axis=9), "'Flatten' node"),
        (helper.make_node("LeakyRelu", ["x"], ["y", "z"]), "'LeakyRelu' node"),
    ],
    ids=lambda value: value.op_type if hasattr(value, "op_type") else "",
)
def test_invalid_node_is_diagnosed(node, words):
    outputs = [_value(name, None) for name in node.output]
    assert words in _error(_model([node], [_value("x", [2, 3])], outputs)).message


def test_cycle_is_diagnosed():
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    assert "cycle" in _error(_model(nodes, [_value("x", [2])], [_value("b", [2])])).message


def test_nodes_out_of_order_are_sorted():
    nodes = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["x"], ["a"])]
    module = import_model(_model(nodes, [_value("x", [2])], [_value("b", [2])]))
    assert [op.name for op in module.walk()][2:4] == ["fuse.negative", "fuse.relu"]


@pytest.mark.parametrize("kind", ["input", "initializer", "result"])
def test_duplicate_names_are_diagnosed(kind):
    tensor = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = _model([node], [_value("x", [2])], [_value("y", [2])], [tensor])
    repeated = {"input": model.graph.input, "initializer": model.graph.initializer, "result": model.graph.node}[kind]
    repeated.append(repeated[0])
    assert f"twice, the second time as {kind}" in _error(model).message


@pytest.mark.parametrize("place", ["an initializer", "a constant", "a constant in a branch"])
def test_sparse_tensors_are_refused_by_name(place):
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [3.0])
    indices = helper.make_tensor("places", TensorProto.INT64, [1], [1])
    sparse = helper.make_sparse_tensor(values, indices, [4])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])]
    add = helper.make_node("Add", ["x", "w"], ["y"])
    constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse)
    if place == "an initializer":
        graph = helper.make_graph([add], "g", inputs, outputs, sparse_initializer=[sparse])
    elif place == "a constant":
        graph = helper.make_graph([constant, add], "g", inputs, outputs)
    else:
        branch = helper.make_graph([constant, add], "b", [], outputs)
        node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
        condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
        graph = helper.make_graph([node], "g", [*inputs, condition], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    named = "the initializer 'w'" if place == "an initializer" else "the attribute 'sparse_value' of 'Constant'"
    assert _error(model).message == f"{named} is sparse; only dense tensors are read"


def test_inputs_that_are_no_dense_tensors_of_numbers_are_refused():
    sequence = helper.make_tensor_sequence_value_info("x", _FLOAT, [2])
    node = helper.make_node("Identity", ["x"], ["y"])
    assert "not a dense tensor" in _error(_model([node], [sequence], [_value("y", None)])).message
    text = _value("x", [2], TensorProto.STRING)
    assert "STRING" in _error(_model([node], [text], [_value("y", None)])).message
    assert "no shape" in _error(_model([node], [_value("x", None)], [_value("y", None)])).message


@pytest.mark.parametrize("opset", [1, 6, 10_000])
def test_opsets_beyond_the_supported_ones_are_refused(opset):
    model = _model([helper.make_node("Relu", ["x"], ["y"])], [_value("x", [2])], [_value("y", [2])], opset=opset)
    assert f"opset {opset}" in _error(model).message


def _with_unsupported_operators():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="relu"),
        helper.make_node("RandomNormalLike", ["a"], ["b"], name="noise_1"),
        helper.make_node("RandomNormalLike", ["x"], ["c"], name="noise_2"),
        helper.make_node("Foo", ["b", "", "c"], ["d"], name="foo", domain="my.domain", alpha=1.5, sizes=[1, 2]),
    ]
    outputs = [_value("b", [4, 4]), _value("d", [3])]
    return _model(nodes, [_value("x", [4, 4])], outputs, extra_opsets=[helper.make_opsetid("my.domain", 3)])


def test_all_unsupported_operators_are_named_at_once():
    error = _error(_with_unsupported_operators())
    assert error.message == "the model uses operators that are not supported: 'RandomNormalLike', 'Foo'"
    assert error.notes == (
        "'RandomNormalLike' (domain 'ai.onnx', opset 17): 2 nodes, first 'noise_1'",
        "'Foo' (domain 'my.domain', opset 3): 1 node, first 'foo'",
    )


def test_unsupported_operators_are_imported_as_opaque_ops_when_allowed():
    module = import_model(_with_unsupported_operators(), allow_unsupported=True)
    module.verify()
    text = str(module)
    assert '"onnx.RandomNormalLike"(' in text
    assert '"onnx.my.domain.Foo"(' in text
    assert "alpha = 1.500000e+00 : f32" in text
    assert "-> tensor<3xf32>" in text


def _with_a_custom_operator(*value_info: onnx.ValueInfoProto) -> onnx.ModelProto:
    """`Relu(Foo(x))`, where nothing but `value_info` says what `Foo` gives."""
    nodes = [
        helper.make_node("Foo", ["x"], ["y", "unread"], domain="my.domain", name="foo"),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    opsets = [helper.make_opsetid("my.domain", 1)]
    model = _model(nodes, [_value("x", [2])], [_value("z", None)], extra_opsets=opsets)
    model.graph.value_info.extend(value_info)
    return model


def test_unsupported_operator_without_a_known_result_type_says_what_to_add():
    error = _error(_with_a_custom_operator(), allow_unsupported=True)
    assert error.message == "the model does not say the types of 1 result of operators that are not supported"
    assert error.notes == ("result 'y' of 'Foo' node 'foo'",)
    assert error.hint is not None
    # What the hint says is Python, and helps.
    statement = error.hint.partition("model.graph.value_info.append(")[2].partition("), with")[0]
    module = import_model(_with_a_custom_operator(eval(statement, {"onnx": onnx})), allow_unsupported=True)
    module.verify()
    assert '"onnx.my.domain.Foo"(%x) : (tensor<2xf32>) -> (tensor<?x3xf32>, none)' in str(module)
    assert "fuse.relu" in str(module)


@pytest.mark.parametrize("name", ['Foo"() : () -> (), "x', "Foo\nfile: error: fake", "a\\b"])
def test_operator_whose_name_cannot_be_printed_is_refused(name: str):
    node = helper.make_node(name, ["x"], ["y"], domain="my.domain")
    model = _model([node], [_value("x", [2])], [_value("y", [2])], extra_opsets=[helper.make_opsetid("my.domain", 1)])
    error = _error(model, allow_unsupported=True)
    assert "its name cannot be printed" in error.message
    assert error.diagnostic.format().isprintable()


def _conditional(condition, inputs):
    then = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [_value("t", [2])])
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["e"])], "else", [], [_value("e", [2])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    return _model([node], [_value("x", [2]), *inputs], [_value("y", [2])], condition)


def test_conditional_is_imported_when_its_condition_is_known():
    for condition, op in ((True, "fuse.negative"), (False, "fuse.abs")):
        module = import_model(_conditional([numpy_helper.from_array(np.array(condition), "c")], []))
        assert op in [op.name for op in module.walk()]


def test_conditional_on_an_input_becomes_a_choice_when_it_runs():
    module = import_model(_conditional([], [_value("c", [], TensorProto.BOOL)]))
    module.verify()
    assert "fuse.if" in [op.name for op in module.walk()]


def test_functions_of_the_model_are_inlined():
    body = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["c"])]
    function = helper.make_function("my.domain", "Both", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    node = helper.make_node("Both", ["x"], ["y"], domain="my.domain")
    opsets = [helper.make_opsetid("my.domain", 1)]
    model = _model([node], [_value("x", [2])], [_value("y", [2])], functions=[function], extra_opsets=opsets)
    assert [op.name for op in import_model(model).walk()][2:4] == ["fuse.relu", "fuse.negative"]


def test_function_that_calls_itself_is_diagnosed():
    body = [helper.make_node("Loops", ["a"], ["b"], domain="my.domain")]
    opsets = [helper.make_opsetid("my.domain", 1)]
    function = helper.make_function("my.domain", "Loops", ["a"], ["b"], body, opsets)
    node = helper.make_node("Loops", ["x"], ["y"], domain="my.domain")
    model = _model([node], [_value("x", [2])], [_value("y", [2])], functions=[function], extra_opsets=opsets)
    assert "'Loops' calls itself" in _error(model).message


@pytest.fixture
def model_folder(tmp_path):
    """A folder with data, beside a file that belongs to nobody's model."""
    folder = tmp_path / "model"
    folder.mkdir()
    np.arange(4, dtype=np.float32).tofile(folder / "data.bin")
    np.full(4, 42, np.float32).tofile(tmp_path / "secret.bin")
    os.symlink(tmp_path / "secret.bin", folder / "link.bin")
    os.mkfifo(folder / "pipe.bin")
    return folder


def _save(folder, model):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_in_the_folder_is_read(model_folder):
    module = load_onnx_module(_save(model_folder, _adds(_external("w", [4], "data.bin"))))
    (result,) = run_module(module, [np.ones(4, np.float32)])
    np.testing.assert_array_equal(result, [1, 2, 3, 4])


def test_external_data_is_read_for_a_path_without_folder(model_folder, monkeypatch):
    _save(model_folder, _adds(_external("w", [2], "data.bin", offset=8, length=8)))
    monkeypatch.chdir(model_folder)
    (result,) = run_module(load_onnx_module("model.onnx"), [np.zeros(2, np.float32)])
    np.testing.assert_array_equal(result, [2, 3])


_ESCAPES = [
    "../secret.bin",
    "{folder}/../secret.bin",
    "/etc/hostname",
    "link.bin",
    "..\\secret.bin",
    "C:\\x",
    "pipe.bin",
    "absent.bin",
    "",
    ".",
]


@pytest.mark.parametrize("location", _ESCAPES)
def test_external_data_outside_of_the_folder_is_refused(model_folder, location):
    tensor = _external("w", [4], location.format(folder=model_folder))
    with pytest.raises(FuseError, match="tensor 'w' lies in") as caught:
        load_onnx_module(_save(model_folder, _adds(tensor)))
    assert "in the model's folder" in caught.value.hint


def test_external_data_outside_of_the_folder_is_refused_in_attributes_and_functions(model_folder):
    constant = helper.make_node("Constant", [], ["c"], value=_external("w", [4], "../secret.bin"))
    model = _model([constant], [], [_value("c", [4])])
    with pytest.raises(FuseError, match="outside the model's folder"):
        load_onnx_module(_save(model_folder, model))
    function = helper.make_function("my.domain", "F", [], ["c"], [constant], [helper.make_opsetid("", 17)])
    node = helper.make_node("F", [], ["y"], domain="my.domain")
    opsets = [helper.make_opsetid("my.domain", 1)]
    model = _model([node], [], [_value("y", [4])], functions=[function], extra_opsets=opsets)
    with pytest.raises(FuseError, match="outside the model's folder"):
        load_onnx_module(_save(model_folder, model))


@pytest.mark.parametrize(
    ("entry", "number"),
    [("offset", 12), ("offset", -4), ("length", 4), ("length", 1 << 40), ("offset", "x")],
)
def test_external_data_that_the_file_does_not_have_is_refused(model_folder, entry, number):
    with pytest.raises(FuseError):
        load_onnx_module(_save(model_folder, _adds(_external("w", [4], "data.bin", **{entry: number}))))


def test_external_data_of_a_model_in_memory_is_refused():
    assert "not read from a file" in _error(_adds(_external("w", [4], "data.bin"))).message


@pytest.mark.parametrize(
    ("node", "inputs", "message"),
    [
        (
            helper.make_node("Einsum", ["x", "x"], ["y"], name="sum", equation="ij,jk->il"),
            [_value("x", [2, 2])],
            "'Einsum' node 'sum' (domain 'ai.onnx', opset 20): expects labels of the operands in the result, got 'l'",
        ),
        (
            helper.make_node("GridSample", ["x", "g"], ["y"], name="warp", mode="lanczos"),
            [_value("x", [1, 1, 2, 2]), _value("g", [1, 2, 2, 2])],
            "expects mode to be 'nearest' or 'linear' or 'cubic', got 'lanczos'",
        ),
        (
            helper.make_node("DFT", ["x"], ["y"], onesided=1),
            [_value("x", [2, 8, 2])],
            "expects 1 on the last axis of a onesided input, got 2",
        ),
        (
            helper.make_node("QuantizeLinear", ["x", "s"], ["y"], block_size=-2, axis=0),
            [_value("x", [4]), _value("s", [2])],
            "expects scales of rank 1 for blocks",
        ),
        (
            helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=7),
            [_value("x", [3, 1, 2]), _value("w", [1, 20, 2]), _value("r", [1, 20, 5])],
            "expects R of 7 columns",
        ),
    ],
    ids=["einsum", "grid", "dft", "blocks", "lstm"],
)
def test_operators_that_mean_nothing_are_refused_with_the_reason(node, inputs, message):
    assert message in _error(_model([node], inputs, [_value("y", None)], opset=20)).message
