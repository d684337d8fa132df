"""Kernels of whole networks, built from `fuse` ops, against the numbers that TVM v0.18.0 gave for the same networks."""

from typing import Any

import pytest
from recorded_graphs import recorded
from relay_networks import Network, unknown_operators
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

RAW, SIMPLIFIED, OPTIMIZED = "raw (InferType only)", "SimplifyInference", "build_prefix_O3_no_alter"
"""Stages of the records: the network as written, after the pass, after TVM's passes of optimization level 3."""

KERNELS = {
    "mlp": (5, 5),
    "resnet18": (45, 31),
    "resnet50": (109, 71),
    "mobilenet": (58, 31),
    "squeezenet_1_1": (40, 40),
    "dcgan": (9, 6),
    "dqn": (6, 6),
    "vgg16_bn": (36, 23),
    "inception_v3": (216, 122),
    "se_block": (6, 5),
    "yolo_head": (7, 5),
    "softmax_manual": (4, 4),
    "dyn_batch_mlp": (3, 3),
}
"""Kernels at the stages SimplifyInference and build_prefix_O3_no_alter, spelled out so that no record can drift."""

THROUGH_ONNX = ("mlp", "resnet18", "resnet50", "mobilenet", "squeezenet_1_1", "vgg16_bn", "inception_v3")
"""Networks whose operators all have a counterpart in `relay_onnx`."""

NOT_BUILT = {"lstm_1"}
"""Networks with functional control flow (let, calls of closures), which the dialect cannot say."""


def cases() -> dict[tuple[str, str], dict[str, Any]]:
    return {(case["name"], case["stage"]): case for name in ("zoo", "handmade") for case in recorded(name)}


def recorded_kernels(name: str, stage: str) -> int:
    (run,) = (run for run in cases()[name, stage]["runs"] if run["opt_level"] == 1)
    return sum(function["primitive"] for function in run["functions"])


def kernels(module: ModuleOp, *, fold_constants: bool = True) -> int:
    """Calls of primitives after both passes; every op of these networks ends up in one."""
    SimplifyInferencePass(fold_constants=fold_constants).apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    module.verify()
    return sum(isinstance(op, func.CallOp) for op in module.walk())


def test_all_networks_of_the_zoo_are_counted() -> None:
    zoo = {case["name"] for case in recorded("zoo")}
    assert zoo == (KERNELS.keys() | NOT_BUILT) & zoo
    assert not any(unknown_operators(cases()[name, RAW]) for name in KERNELS)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_parameters_as_arguments_give_the_kernels_after_simplify_inference(name: str) -> None:
    expected, _ = KERNELS[name]
    assert recorded_kernels(name, SIMPLIFIED) == expected
    assert kernels(Network(cases()[name, RAW]).module) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_constant_parameters_unfolded_give_the_kernels_after_simplify_inference(name: str) -> None:
    network = Network(cases()[name, RAW], constant_parameters=True)
    assert kernels(network.module, fold_constants=False) == KERNELS[name][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_constant_parameters_folded_give_the_kernels_of_optimization_level_3(name: str) -> None:
    _, expected = KERNELS[name]
    assert recorded_kernels(name, OPTIMIZED) == expected
    assert kernels(Network(cases()[name, RAW], constant_parameters=True).module) == expected


@pytest.mark.parametrize(("name", "expected"), [("bert_encoder_1", 24), ("layernorm_manual", 3), ("lstm_split", 15)])
def test_networks_recorded_after_the_pass_fuse_alike(name: str, expected: int) -> None:
    assert recorded_kernels(name, SIMPLIFIED) == expected
    assert kernels(Network(cases()[name, SIMPLIFIED]).module) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", THROUGH_ONNX)
def test_networks_through_onnx_give_the_kernels_after_simplify_inference(name: str) -> None:
    pytest.importorskip("onnx")
    from relay_onnx import onnx_model

    from fuse_dialect.frontends.onnx.reader import import_model

    assert kernels(import_model(onnx_model(cases()[name, RAW]))) == KERNELS[name][0]
