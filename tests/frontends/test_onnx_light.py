"""The nine light models inside the onnx wheel, against the outputs recorded there."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from checking.rounding import assert_near, roundings_of
from onnx import numpy_helper

from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.interpreters.numpy import run_module

_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
_MODELS = sorted(path.stem for path in _FOLDER.glob("light_*.onnx"))


def _ramp(module) -> np.ndarray:
    """The input that onnx's runner feeds to the light models: rising from 0 to 1."""
    (function,) = module.ops
    (type,) = function.function_type.inputs.data
    shape = type.get_shape()
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def test_the_wheel_has_nine_light_models():
    assert len(_MODELS) == 9


@pytest.mark.slow
@pytest.mark.parametrize("name", _MODELS)
def test_light_model_gives_the_recorded_output(name):
    module = load_onnx_module(_FOLDER / f"{name}.onnx")
    module.verify()
    (result,) = run_module(module, [_ramp(module)])
    recorded = onnx.load_tensor(str(_FOLDER / f"{name}_output_0.pb"))
    expected = numpy_helper.to_array(recorded)
    assert result.shape == expected.shape
    assert_near(result, expected, roundings_of(module))


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        ("light_squeezenet", {"conv2d": 26, "bias_add": 26, "relu": 26, "max_pool2d": 3, "concatenate": 8}),
        ("light_resnet50", {"conv2d": 53, "batch_norm": 53, "relu": 49, "add": 16, "dense": 1, "softmax": 1}),
    ],
)
def test_light_model_has_the_ops_that_relay_would_have(name, ops):
    (function,) = load_onnx_module(_FOLDER / f"{name}.onnx").ops
    names = [op.name.removeprefix("fuse.") for op in function.body.block.ops]
    assert {op: names.count(op) for op in ops} == ops
