"""The ONNX models of the docs are what their script writes."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["tiny_cnn.onnx", "optimized_layer.onnx", "forest.onnx"])
def test_model_of_the_docs_is_what_the_script_writes(name):
    onnx = pytest.importorskip("onnx")
    spec = spec_from_file_location("make_example_model", ROOT / "tools" / "make_example_model.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    model = script.MODELS[name]()
    if name == "tiny_cnn.onnx":  # the checker knows ONNX's own operators
        onnx.checker.check_model(model, full_check=True)
    assert onnx.load(ROOT / "docs" / "examples" / name) == model
