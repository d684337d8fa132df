"""`compile-prefix`: whole networks keep their meaning, and what fusion and accelerators make of them gets better."""

from typing import Any

import numpy as np
import pytest
from checking.rounding import assert_near, roundings_of
from fuzzing.comparing import assert_agrees
from hypothesis import given, settings
from light_models import LightResults, light_model, main_of, ramp_for
from random_images import image_programs
from random_programs import SHAPE, random_programs
from test_fold_scale_axis import fold, names, trained
from test_fused_models import CALLS
from unet import unet
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.compile_prefix import CompilePrefixPass, compile_prefix
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass


def prepare(module: ModuleOp, layout: Any = "NHWC") -> None:
    module.verify()
    CompilePrefixPass(layout).apply(Context(), module)
    module.verify()


def kernels(module: ModuleOp) -> list[str]:
    """Names of the primitives that `main` calls, after fusion."""
    FuseOpsPass().apply(Context(), module)
    module.verify()
    return [op.callee.string_value() for op in main_of(module).body.block.ops if isinstance(op, CallOp)]


@given(image_programs())
@settings(max_examples=100)
def test_random_programs_on_images_keep_their_meaning(program: tuple[ModuleOp, list[Any]]) -> None:
    module, inputs = program
    written = module.clone()
    prepare(module)
    kernels(module)
    assert_agrees(written, inputs, run_module(module, inputs), reassociates=True)


@given(random_programs())
def test_random_programs_keep_their_meaning(module: ModuleOp) -> None:
    inputs = [np.random.default_rng(seed).uniform(-1, 1, SHAPE).astype(np.float32) for seed in range(2)]
    written = module.clone()
    prepare(module)
    assert_agrees(written, inputs, run_module(module, inputs), reassociates=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["light_densenet121", "light_inception_v2", "light_resnet50", "light_shufflenet"])
def test_light_models_keep_their_meaning(name: str, light_results: LightResults) -> None:
    module = light_model(name)
    roundings = roundings_of(module)
    prepare(module)
    called = kernels(module)
    (after,) = run_module(module, [ramp_for(module)])
    assert_near(after, light_results.read(name), roundings)
    # A transpose at the input, and in DenseNet one reshape more behind the global pool.
    assert len(called) <= CALLS[name] + 2


def test_blocks_of_resnet_are_one_kernel_for_each_convolution() -> None:
    module = light_model("light_resnet50")
    prepare(module)
    called = kernels(module)
    convolutions = [name for name in called if "conv2d" in name]
    assert len(convolutions) == 53
    plain = [name.rstrip("0123456789_") for name in convolutions]
    # Of the 16 blocks each begins with two convolutions and ends with a residual; four have one on the way around.
    assert plain.count("fused_conv2d_bias_add_relu") == 33
    assert plain.count("fused_conv2d_bias_add_add_relu") == 16
    assert plain.count("fused_conv2d_bias_add") == 4


@pytest.mark.parametrize("layout", ["NHWC", "keep"])
def test_layout_is_a_choice(layout: Any) -> None:
    module = unet(heights=(4, 8), size=8)
    prepare(module, layout)
    assert ("transpose" in names(module)) == (layout == "NHWC")
    names_of_all = [each.name for each in compile_prefix()]
    assert [each.name for each in compile_prefix("keep")] == [name for name in names_of_all if name != "convert-layout"]


def on_gemmini(module: ModuleOp) -> tuple[int, int]:
    """Trips through the array, and kernels that stay on the host."""
    FuseOpsHwPass("gemmini").apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    calls = [op for op in main_of(module).body.block.ops if isinstance(op, CallOp)]
    trips = sum(HARDWARE_ATTRIBUTE in functions[call.callee.string_value()].attributes for call in calls)
    return trips, len(calls) - trips


@pytest.mark.parametrize(
    ("name", "plain", "folded"),
    [("resnet18", (50, 20), (41, 2)), ("resnet50", (122, 52), (89, 2)), ("mobilenet", (56, 28), (29, 1))],
)
def test_folded_scales_leave_less_to_the_host_of_gemmini(
    name: str, plain: tuple[int, int], folded: tuple[int, int]
) -> None:
    """Its units scale by one number, not by one a channel: a batch norm that is left ends a trip and takes the host.

    What is folded gives the groups of the networks that TVM has folded, as in `docs/explanation/two-ways-to-fuse.md`.
    """
    unfolded, module = trained(name), trained(name)
    for each in (unfolded, module):
        SimplifyInferencePass().apply(Context(), each)
    fold(module)
    assert on_gemmini(unfolded) == plain
    assert on_gemmini(module) == folded
