"""What an imported model looks like: names, constants, and the ops that Relay's importer would make."""

import ml_dtypes
import numpy as np
import pytest
from checking.rounding import assert_product
from onnx import TensorProto, helper, numpy_helper

from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.numpy import run_module

_FLOAT = TensorProto.FLOAT


def _import(nodes, inputs, initializers=(), opset=17):
    """A module of these nodes; their last result is the model's."""
    values = [helper.make_tensor_value_info(name, type, shape) for name, shape, type in inputs]
    output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.UNDEFINED, None)
    tensors = [numpy_helper.from_array(array, name) for name, array in initializers]
    graph = helper.make_graph(nodes, "graph", values, [output], tensors)
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    module.verify()
    return module


def _ops(module) -> list[str]:
    names = [op.name.removeprefix("fuse.") for op in module.walk()]
    return [name for name in names if "." not in name]


def _constants(module) -> dict:
    return {op.result.name_hint: op for op in module.walk() if op.name == "arith.constant"}


def test_names_of_the_model_are_kept():
    node = helper.make_node("Relu", ["gpu_0/data_0"], ["out:0"])
    (function,) = _import([node], [("gpu_0/data_0", ["batch", 3], _FLOAT)]).ops
    assert function.sym_name.data == "main"
    assert [entry.data["onnx.name"].data for entry in function.arg_attrs] == ["gpu_0/data_0"]
    assert [entry.data["onnx.name"].data for entry in function.res_attrs] == ["out:0"]
    assert str(function.function_type) == "(tensor<?x3xf32>) -> tensor<?x3xf32>"


def test_input_that_is_an_output_of_no_shape_keeps_its_own():
    given = helper.make_tensor_value_info("x", _FLOAT, [2, "n"])
    graph = helper.make_graph([], "graph", [given], [helper.make_tensor_value_info("x", _FLOAT, None)])
    (function,) = import_model(helper.make_model(graph)).ops
    assert str(function.function_type) == "(tensor<2x?xf32>) -> tensor<2x?xf32>"


def test_ops_carry_the_name_of_their_node():
    module = _import([helper.make_node("Relu", ["x"], ["y"], name="layer1/relu")], [("x", [2], _FLOAT)])
    (relu,) = [op for op in module.walk() if op.name == "fuse.relu"]
    assert relu.location.desc.data == "layer1/relu"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(300, dtype=np.float32),
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.arange(6).astype(ml_dtypes.bfloat16),
        np.arange(-3, 3, dtype=np.int8),
        np.arange(250, 256, dtype=np.uint8),
        np.array([True, False, True]),
        np.array(7, np.int64),
        np.zeros((0, 3), np.float64),
        np.array([np.nan, np.inf, -np.inf], np.float32),
    ],
    ids=lambda array: f"{array.dtype}-{array.ndim}",
)
def test_initializers_keep_every_bit(array):
    module = _import([helper.make_node("Identity", ["w"], ["y"])], [], [("w", array)])
    (result,) = run_module(module, [])
    assert result.dtype == array.dtype
    assert result.tobytes() == array.tobytes()


def test_initializer_of_equal_elements_is_stored_as_one():
    module = _import([helper.make_node("Identity", ["w"], ["y"])], [], [("w", np.full((100, 100), 0.5, np.float32))])
    (constant,) = _constants(module).values()
    assert len(constant.value.data.data) == 4
    assert "dense<5.000000e-01> : tensor<100x100xf32>" in str(module)


def test_initializer_used_twice_is_one_constant():
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Mul", ["a", "w"], ["y"])]
    module = _import(nodes, [("x", [3], _FLOAT)], [("w", np.arange(3, dtype=np.float32))])
    assert list(_constants(module)) == ["w"]


def test_initializer_that_nothing_uses_is_left_out():
    module = _import([helper.make_node("Relu", ["x"], ["y"])], [("x", [3], _FLOAT)], [("w", np.zeros(3, np.float32))])
    assert _constants(module) == {}


def test_convolution_with_bias_is_conv_and_bias_add():
    weights = [("w", np.random.default_rng(0).random((4, 3, 3, 3), np.float32)), ("b", np.arange(4, dtype=np.float32))]
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[2, 2], auto_pad="SAME_UPPER")
    module = _import([node], [("x", [1, 3, 7, 7], _FLOAT)], weights)
    assert _ops(module) == ["conv2d", "bias_add"]


def test_gemm_uses_a_transposed_weight_as_it_is():
    weights = [("w", np.random.default_rng(0).random((5, 3), np.float32)), ("b", np.arange(5, dtype=np.float32))]
    module = _import([helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], [("x", [2, 3], _FLOAT)], weights)
    assert _ops(module) == ["dense", "bias_add"]
    assert "w" in _constants(module)


def test_gemm_transposes_a_constant_weight_at_import():
    weight = np.random.default_rng(0).random((3, 5), np.float32)
    node = helper.make_node("Gemm", ["x", "w"], ["y"], alpha=2.0)
    module = _import([node], [("x", [2, 3], _FLOAT)], [("w", weight)])
    assert _ops(module) == ["dense", "multiply"]
    x = np.ones((2, 3), np.float32)
    assert_product(run_module(module, [x])[0], 2 * x, weight)


def test_great_weight_is_multiplied_as_it_is_stored():
    weight = np.random.default_rng(0).random((512, 600), np.float32)
    module = _import([helper.make_node("Gemm", ["x", "w"], ["y"])], [("x", [2, 512], _FLOAT)], [("w", weight)])
    assert _ops(module) == ["matmul"]
    nodes = [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])]
    module = _import(nodes, [("x", [2, 600], _FLOAT)], [("w", weight)])
    assert _ops(module) == ["matmul"]
    (constant,) = [op for op in module.walk() if op.name == "arith.constant"]
    assert constant.value.get_shape() == (512, 600)
    x = np.random.default_rng(1).random((2, 600), np.float32)
    assert_product(run_module(module, [x])[0], x, weight.T)


def test_softmax_before_opset_13_covers_all_axes_from_its_own():
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    assert _ops(_import([node], [("x", [2, 3, 4], _FLOAT)], opset=11)) == ["reshape", "softmax", "reshape"]
    assert _ops(_import([node], [("x", [2, 3, 1, 1], _FLOAT)], opset=11)) == ["softmax"]
    assert _ops(_import([node], [("x", [2, 3, 4], _FLOAT)], opset=13)) == ["softmax"]


def test_shape_arithmetic_folds():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = [("zero", np.array(0)), ("axes", np.array([0])), ("rest", np.array([-1]))]
    module = _import(nodes, [("x", [2, 3, 4], _FLOAT)], constants)
    assert _ops(module) == ["reshape"]
    assert "-> tensor<2x12xf32>" in str(module)
    assert "-> tensor<?x12xf32>" in str(_import(nodes, [("x", ["n", 3, 4], _FLOAT)], constants))


def test_import_is_deterministic():
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Elu", ["a"], ["y"], alpha=0.1)]
    texts = {str(_import(nodes, [("x", [3], _FLOAT)], [("w", np.arange(3, dtype=np.float32))])) for _ in range(3)}
    assert len(texts) == 1
