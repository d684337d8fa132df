"""Vendor operators compute what onnxruntime has computed; what cannot be read is an error with its place."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.classic import CLASSIC_OPERATORS
from fuse_dialect.frontends.onnx.operators import ONNX_OPERATORS
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.frontends.onnx.vendor import MICROSOFT_OPERATORS

_TOOLS = str(Path(__file__).parents[2] / "tools")
_DATA = Path(__file__).parents[1] / "data" / "vendor"
_FILES = sorted(_DATA.glob("*.npz"))
_ALIKE = {
    "DequantizeLinear", "QuantizeLinear", "LayerNormalization", "NhwcFusedConv", "NhwcConv", "FusedMatMulActivation",
    "BiasSplitGelu", "BiasAdd", "GroupNorm", "SkipGroupNorm", "NhwcMaxPool", "QLinearReduceMean", "ZipMap",
}  # fmt: skip
"""Operators that share their code with others, or that onnxruntime has kernels of on accelerators alone."""


@pytest.fixture(autouse=True)
def _tools(monkeypatch):
    monkeypatch.syspath_prepend(_TOOLS)


def _cases(path):
    with np.load(path) as data:
        for number in range(sum(key.endswith(".model") for key in data.files)):
            inputs = [data[key] for key in data.files if key.startswith(f"{number}.input.")]
            results = [data[key] for key in data.files if key.startswith(f"{number}.result.")]
            model = onnx.ModelProto.FromString(data[f"{number}.model"].tobytes())
            yield model, inputs, results, data[f"{number}.bounds"].tolist()


@pytest.mark.parametrize("path", _FILES, ids=[path.stem for path in _FILES])
def test_an_operator_computes_what_onnxruntime_has_recorded(path):
    from vendor_cases.comparing import as_list, compared

    for model, inputs, expected, bounds in _cases(path):
        results = fd.run(import_model(model), *inputs)
        assert compared(as_list(results), expected, *bounds) is None


@pytest.mark.parametrize("name", ["Attention", "SkipLayerNormalization", "GroupQueryAttention"])
def test_machine_code_computes_what_onnxruntime_has_recorded(name):
    from vendor_cases.comparing import as_list, compared

    model, inputs, expected, bounds = next(_cases(_DATA / f"{name}.npz"))
    results = fd.compile(import_model(model))(*inputs)
    assert compared(as_list(results), expected, *bounds) is None


@pytest.mark.parametrize("block", [8, 16])
def test_weights_in_blocks_of_channels_are_those_of_the_usual_order(block, monkeypatch):
    from fuse_dialect.frontends.onnx.vendor import blocked

    monkeypatch.setattr(blocked, "host_features", lambda: "+avx512f" if block == 16 else "+avx2")
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 20, 5, 5)).astype(np.float32)
    padded = -(-20 // block) * block
    weight = random.standard_normal((block, padded, 3, 3)).astype(np.float32)
    stored = weight.reshape(1, block, padded // block, block, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    domain = "com.microsoft.nchwc"
    nodes = [
        helper.make_node("ReorderInput", ["x"], ["a"], domain=domain),
        helper.make_node("Conv", ["a", "w"], ["b"], domain=domain, pads=[1] * 4, activation="Relu"),
        helper.make_node("ReorderOutput", ["b"], ["y"], domain=domain, channels=5),
    ]
    tensor = onnx.numpy_helper.from_array(np.ascontiguousarray(stored).reshape(weight.shape), "w")
    infos = [helper.make_tensor_value_info("x", _F32, x.shape)]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", _F32, None)], [tensor])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    (result,) = fd.run(import_model(helper.make_model(graph, opset_imports=imports, ir_version=9)), x)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = np.zeros((1, 5, 5, 5))
    for row, column in np.ndindex(5, 5):
        window = wide[0, :, row : row + 3, column : column + 3].astype(np.float64)
        expected[0, :, row, column] = np.maximum(0, np.einsum("ocij,cij->o", weight[:5, :20], window))
    assert np.abs(result - expected).max() < 1e-4


def test_every_vendor_operator_has_recorded_answers():
    assert {*MICROSOFT_OPERATORS, *CLASSIC_OPERATORS} - _ALIKE == {path.stem for path in _FILES}


def _model(name, inputs, domain="com.microsoft", opset=17, **attributes):
    node = helper.make_node(name, [key if value else "" for key, value in inputs.items()], ["y"], "n1", domain=domain)
    for key, value in attributes.items():
        node.attribute.append(helper.make_attribute(key, value))
    infos = [helper.make_tensor_value_info(key, *value) for key, value in inputs.items() if value]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", infos, [output])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


_F32 = onnx.TensorProto.FLOAT


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (_model("Attention", {"x": (_F32, [1, 2, 8]), "w": (_F32, [8, 24])}, num_heads=3), "3 heads"),
        (_model("BiasSplitGelu", {"x": (_F32, [1, 2, 7]), "b": (_F32, [7])}), "even number of channels"),
        (
            _model("MatMulNBits", {"x": (_F32, [1, 64]), "w": (_F32, [1]), "s": (_F32, [1])}, K=64, N=1, block_size=32),
            "as a constant",
        ),
        (_model("MatMulNBits", {"x": (_F32, [1, 64]), "w": (_F32, [1])}, K=64, N=1, block_size=24), "power of 2"),
        (_model("FusedGemm", {"x": (_F32, [1, 4]), "w": (_F32, [4, 4])}, activation="Softsign"), "'Softsign'"),
        (
            _model(
                "RotaryEmbedding", {"x": (_F32, [1, 2, 2, 8]), "p": (7, [1]), "c": (_F32, [4, 8]), "s": (_F32, [4, 8])}
            ),
            "heads of size 8",
        ),
    ],
)
def test_an_operator_that_does_not_fit_its_operands_is_an_error_with_its_place(model, words):
    with pytest.raises(FuseError, match=words) as caught:
        import_model(model, file_name="m.onnx")
    assert "node 'n1' (domain 'com.microsoft'" in str(caught.value)


def test_an_unknown_vendor_operator_is_named_with_its_domain_and_advice():
    with pytest.raises(FuseError, match="'GreedySearch'") as caught:
        import_model(_model("GreedySearch", {"x": (_F32, [2])}))
    assert "domain 'com.microsoft'" in caught.value.notes[0]
    assert caught.value.hint is not None
    assert "optimiz" in caught.value.hint


def test_vendor_operators_in_the_domain_of_onnx_are_read_unless_onnx_has_the_name():
    import_model(_model("BiasGelu", {"x": (_F32, [2]), "b": (_F32, [2])}, domain=""))
    assert "Attention" not in ONNX_OPERATORS
    with pytest.raises(FuseError, match="Attention"):
        import_model(_model("Attention", {"x": (_F32, [1, 2, 8]), "w": (_F32, [8, 24])}, domain="", num_heads=2))
