"""`convert-layout`: the same numbers from other layouts, and transposes at the borders alone."""

from typing import Any

import numpy as np
import pytest
from checking.rounding import assert_near, roundings_of
from fuzzing.comparing import assert_agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from light_models import LightResults, main_of, ramp_for, simplified_model
from random_images import image_programs
from recorded_graphs import recorded
from relay_networks import Network
from test_fold_scale_axis import fold, names, trained
from unet import unet
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp

import fuse_dialect
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import PreluOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.dialect.types import is_tensor, tensor
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.layouts.rules import LAYOUT_PROPERTIES, layout_of
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass


def convert(module: ModuleOp, layout: Any = "NHWC") -> None:
    module.verify()
    ConvertLayoutPass(layout).apply(Context(), module)
    module.verify()


def layouts(module: ModuleOp) -> list[str]:
    found = [layout_of(op) for op in module.walk() if isinstance(op, FuseOp)]
    return [layout for layout in found if layout is not None]


def images_for(module: ModuleOp) -> list[np.ndarray]:
    """Positive numbers, because some of the arguments are variances."""
    random = np.random.default_rng(0)
    types = main_of(module).function_type.inputs
    return [random.uniform(0.1, 1, type.get_shape()).astype(np.float32) for type in types if is_tensor(type)]


@given(image_programs(), st.sampled_from(["NHWC", "NCHW"]))
@settings(max_examples=200)
def test_random_programs_keep_their_meaning(program: tuple[ModuleOp, list[Any]], layout: str) -> None:
    module, inputs = program
    written = module.clone()
    convert(module, layout)
    assert all(own.endswith("C") == (layout == "NHWC") for own in layouts(module))
    assert_agrees(written, inputs, run_module(module, inputs))
    text = str(module)
    convert(module, layout)
    assert str(module) == text


def test_an_op_that_has_the_layout_keeps_it() -> None:
    """Its data is at hand with the channels last; to follow that would undo rule 1."""
    module = fuse_dialect.parse("""
    func.func @main(%x: tensor<1x4x3x5xf32>, %v: tensor<5x4x1x1xf32>, %w: tensor<3x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
      %a = fuse.conv2d_transpose %x, %v, data_layout = "NHWC"
          : (tensor<1x4x3x5xf32>, tensor<5x4x1x1xf32>) -> tensor<1x4x3x4xf32>
      %b = fuse.transpose %a, permutation = [0, 2, 3, 1] : (tensor<1x4x3x4xf32>) -> tensor<1x3x4x4xf32>
      %c = fuse.conv2d_transpose %b, %w : (tensor<1x3x4x4xf32>, tensor<3x4x1x1xf32>) -> tensor<1x4x4x4xf32>
      func.return %c : tensor<1x4x4x4xf32>
    }""")
    inputs = images_for(module)
    written = module.clone()
    convert(module, "NCHW")
    assert layouts(module) == ["NCHW", "NCHW"]
    assert_agrees(written, inputs, run_module(module, inputs))


def test_a_vector_of_one_element_moves_with_its_axis() -> None:
    """It broadcasts along any axis by its size, but the op names one, which must have that size."""
    image = tensor([2, 1, 3, 5], f32)
    function = FuncOp("main", ([image], [image]))
    weight, slope = (constant(np.full(shape, 0.5, np.float32)) for shape in ((1, 1, 1, 1), (1,)))
    convolved = Conv2dOp(function.body.block.args[0], weight)
    activated = PreluOp(convolved, slope, axis=1)
    function.body.block.add_ops([weight, slope, convolved, activated, ReturnOp(activated.result)])
    module = ModuleOp([function])
    inputs = images_for(module)
    before = run_module(module, inputs)
    convert(module)
    np.testing.assert_array_equal(run_module(module, inputs), before)


TRANSPOSES = {
    "light_bvlc_alexnet": 2,
    "light_densenet121": 1,
    "light_inception_v1": 1,
    "light_inception_v2": 1,
    "light_resnet50": 1,
    "light_shufflenet": 17,
    "light_squeezenet": 1,
    "light_vgg19": 2,
    "light_zfnet512": 2,
}
"""One at the input; one more in front of a flattened image; ShuffleNet has 16 shuffles of channels."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSPOSES)
def test_light_models_have_transposes_at_the_borders_alone(name: str, light_results: LightResults) -> None:
    module = simplified_model(name)
    convert(module)
    assert names(module).count("transpose") == TRANSPOSES[name]
    if name != "light_vgg19":
        (after,) = run_module(module, [ramp_for(module)])
        assert_near(after, light_results.simplified(name), roundings_of(module))


def network(name: str) -> ModuleOp:
    """A recorded network, its weights arguments or made up."""
    if name == "unet":
        return unet(heights=(4, 8, 16, 32), size=32)
    if name in ("resnet18", "resnet50", "mobilenet"):
        return trained(name)
    cases = (case for file in ("zoo", "handmade") for case in recorded(file))
    (case,) = (case for case in cases if (case["name"], case["stage"]) == (name, "raw (InferType only)"))
    return Network(case).module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "transposes", "is_run"),
    [
        ("resnet18", 1, True),
        ("resnet50", 1, False),
        ("mobilenet", 1, True),
        ("unet", 2, True),  # at the input and, because the result is an image as well, at the end
        ("yolo_head", 3, True),  # two inputs, and the one that the program ends with
        ("inception_v3", 1, False),
        ("squeezenet_1_1", 1, False),
        ("vgg16_bn", 2, False),
        ("se_block", 2, True),
        ("dcgan", 2, True),
    ],
)
def test_networks_have_transposes_at_the_borders_alone(name: str, transposes: int, is_run: bool) -> None:
    module = network(name)
    SimplifyInferencePass().apply(Context(), module)
    fold(module)
    inputs = images_for(module) if is_run else []
    before = run_module(module, inputs) if is_run else []
    convert(module)
    assert set(layouts(module)) == {"NHWC"}
    assert names(module).count("transpose") == transposes
    for one, other in zip(run_module(module, inputs) if is_run else [], before, strict=True):
        assert_near(one, other, roundings_of(module))


@pytest.mark.parametrize(("name", "kernels"), [("resnet18", 31), ("resnet50", 71), ("mobilenet", 32), ("unet", 26)])
def test_networks_fuse_as_before(name: str, kernels: int) -> None:
    """A transpose at the input is one kernel more, or none where it fuses into what reads the image."""
    module = network(name)
    SimplifyInferencePass().apply(Context(), module)
    fold(module)
    convert(module)
    FuseOpsPass().apply(Context(), module)
    assert sum(isinstance(op, CallOp) for op in module.walk()) == kernels


def test_an_open_size_beside_a_zero_stays_what_it_is() -> None:
    """A reshape would compute it as what remains of no elements."""
    module = fuse_dialect.parse("""
      func.func @main(%x: tensor<?x4x2x2xf32>, %w: tensor<2x1x3x2xf32>) -> tensor<?x5x0x1xf32> {
        %y = fuse.conv2d_transpose %x, %w, padding = [0, 2, 1, 1], data_layout = "NHWC"
          : (tensor<?x4x2x2xf32>, tensor<2x1x3x2xf32>) -> tensor<?x5x0x1xf32>
        return %y : tensor<?x5x0x1xf32>
      }""")
    convert(module, "NCHW")
    assert layouts(module) == ["NCHW"]
    (result,) = run_module(module, [np.zeros((3, 4, 2, 2), np.float32), np.zeros((2, 1, 3, 2), np.float32)])
    assert result.shape == (3, 5, 0, 1)


def test_there_and_back_is_what_it_was() -> None:
    """But for the layouts of constants, which nobody sees."""
    module = unet(heights=(4, 8), size=8)
    before = names(module)
    convert(module, "NHWC")
    convert(module, "NCHW")
    assert names(module) == before


@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_an_op_with_a_layout_has_a_row(op_class: type[FuseOp]) -> None:
    properties = op_class.get_irdl_definition().properties
    has_layout = bool({"layout", "data_layout"} & properties.keys())
    assert has_layout == any(cls in LAYOUT_PROPERTIES for cls in op_class.__mro__)
