"""The ONNX model of the docs is what its script writes."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_model_of_the_docs_is_what_the_script_writes():
    onnx = pytest.importorskip("onnx")
    spec = spec_from_file_location("make_example_model", ROOT / "tools" / "make_example_model.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    model = script.tiny_cnn()
    onnx.checker.check_model(model, full_check=True)
    assert onnx.load(ROOT / "docs" / "examples" / "tiny_cnn.onnx") == model
