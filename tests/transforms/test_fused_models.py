"""Fusion of the nine light models inside the onnx wheel, for the host and for accelerators: they give the outputs that
are recorded there, and run as before to the bit.
"""

import numpy as np
import onnx
import pytest
from checking.rounding import assert_near, roundings_of
from light_models import LIGHT_MODELS, LightResults, main_of, ramp_for, simplified_model
from onnx import numpy_helper
from xdsl.context import Context
from xdsl.dialects import func

from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES

CALLS = {
    "light_bvlc_alexnet": 15,
    "light_densenet121": 242,
    "light_inception_v1": 85,
    "light_inception_v2": 95,
    "light_resnet50": 58,
    "light_shufflenet": 76,
    "light_squeezenet": 39,
    "light_vgg19": 26,
    "light_zfnet512": 15,
}
"""Kernels that each model needs after `simplify-inference,fuse-ops`."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_light_model_runs_equal_before_and_after_fusion(name: str, light_results: LightResults) -> None:
    module = simplified_model(name)
    recorded = numpy_helper.to_array(onnx.load_tensor(str(LIGHT_MODELS / f"{name}_output_0.pb")))
    FuseOpsPass().apply(Context(), module)
    module.verify()
    (after,) = run_module(module, [ramp_for(module)])
    np.testing.assert_array_equal(after, light_results.simplified(name))
    assert_near(light_results.read(name), recorded, roundings_of(module))
    assert_near(after, recorded, roundings_of(module))
    calls = [op for op in main_of(module).body.block.ops if isinstance(op, func.CallOp)]
    assert len(calls) == CALLS[name]


@pytest.mark.slow
@pytest.mark.parametrize("template", [each for each in SHIPPED_TEMPLATES if each != "ethos-u-int8"])
@pytest.mark.parametrize("name", ["light_densenet121", "light_resnet50", "light_shufflenet", "light_squeezenet"])
def test_light_model_runs_equal_on_hardware(name: str, template: str, light_results: LightResults) -> None:
    module = simplified_model(name)
    FuseOpsHwPass(template).apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    module.verify()
    (after,) = run_module(module, [ramp_for(module)])
    np.testing.assert_array_equal(after, light_results.simplified(name))
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    assert sum(HARDWARE_ATTRIBUTE in function.attributes for function in functions) > 5
