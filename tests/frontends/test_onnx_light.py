"""The nine light models inside the onnx wheel, against the outputs recorded there."""

import onnx
import pytest
from checking.rounding import assert_near, roundings_of
from light_models import LIGHT_MODELS, LightResults, light_model
from onnx import numpy_helper

_MODELS = sorted(path.stem for path in LIGHT_MODELS.glob("light_*.onnx"))


def test_the_wheel_has_nine_light_models():
    assert len(_MODELS) == 9


@pytest.mark.slow
@pytest.mark.parametrize("name", _MODELS)
def test_light_model_gives_the_recorded_output(name: str, light_results: LightResults):
    module = light_model(name)
    module.verify()
    result = light_results.read(name)
    recorded = onnx.load_tensor(str(LIGHT_MODELS / f"{name}_output_0.pb"))
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
def test_light_model_has_the_ops_that_relay_would_have(name: str, ops: dict[str, int]):
    (function,) = light_model(name).ops
    names = [op.name.removeprefix("fuse.") for op in function.body.block.ops]
    assert {op: names.count(op) for op in ops} == ops
