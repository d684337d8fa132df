"""What is around `fuse-ops-hw` agrees with it: reports, statistics, defusing, exports, and files that are templates."""

import os
import re
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError, TemplateError
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.hardware.template_file import MOST_TEMPLATE_BYTES, read_template_file
from fuse_dialect.pictures.scene import scene_of
from fuse_dialect.remarks.hardware import explain_on_hardware
from fuse_dialect.remarks.statistics import statistics_of
from fuse_dialect.targets.convert_fuse_to_linalg import ConvertFuseToLinalgPass
from fuse_dialect.tools.fuse_opt import main
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
TINY = str(EXAMPLES / "tiny_npu.mlir")


def block() -> ModuleOp:
    return fd.read(EXAMPLES / "residual_block.mlir")


def on_hardware(template: str = TINY) -> ModuleOp:
    module = block()
    FuseOpsHwPass(template).apply(context(), module)
    return module


def reasons(module: ModuleOp) -> list[str]:
    return [str(op.attributes[REASON_ATTRIBUTE]) for op in module.walk() if REASON_ATTRIBUTE in op.attributes]


def test_a_scene_reads_the_template_of_a_file() -> None:
    scene = scene_of(block(), FuseOpsHwPass(TINY))
    assert scene["accelerator"]["name"] == "tiny_npu"
    assert [len(kernel["nodes"]) for kernel in scene["blocks"][0]["kernels"]] == [3, 2, 3]


def test_statistics_count_the_constants_that_trips_embed_as_the_report_does() -> None:
    scene = scene_of(block(), FuseOpsHwPass(TINY))
    statistics = statistics_of("fuse-ops-hw", on_hardware(), (), ())
    kernels = scene["blocks"][0]["kernels"]
    assert statistics.bytes_after == sum(kernel["after"] for kernel in kernels)
    assert statistics.bytes_before == sum(kernel["before"] for kernel in kernels)
    weights = 4 * (16 + 4)
    assert statistics.bytes_after > 2 * weights


def test_statistics_count_single_numbers_too() -> None:
    text = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %c = arith.constant dense<2.0> : tensor<1xf32>
      %y = fuse.multiply %x, %c : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
      func.return %y : tensor<8xf32>
    }"""
    scene = scene_of(fd.parse(text), FuseOpsHwPass("opu"))
    module = fd.parse(text)
    FuseOpsHwPass("opu").apply(context(), module)
    (kernel,) = scene["blocks"][0]["kernels"]
    assert statistics_of("fuse-ops-hw", module, (), ()).bytes_after == kernel["after"] == 4 + 32 + 32


def test_link_params_counts_the_weights_that_primitives_embed() -> None:
    def bytes_of(fuse_ops: FuseOpsPass) -> int:
        module = block()
        fuse_ops.apply(Context(), module)
        return statistics_of("fuse-ops", module, (), ()).bytes_after

    assert bytes_of(FuseOpsPass(link_params=True)) == bytes_of(FuseOpsPass())


def test_defusing_leaves_no_trip_and_no_reason() -> None:
    module = on_hardware()
    assert len(reasons(module)) == 3
    DefuseOpsPass().apply(Context(), module)
    assert not [op for op in module.walk() if isinstance(op, func.CallOp) or UNIT_ATTRIBUTE in op.attributes]
    assert not reasons(module)


def test_a_second_run_keeps_the_reasons_of_trips() -> None:
    module = on_hardware()
    before = reasons(module)
    FuseOpsHwPass("gemmini").apply(context(), module)
    assert reasons(module)[:2] == before[:2]
    assert "not-reachable" in before[0]


def test_the_call_of_a_host_primitive_says_why_it_is_on_the_host() -> None:
    module = on_hardware()
    FuseOpsPass().apply(Context(), module)
    calls = {op.callee.string_value(): op for op in module.walk() if isinstance(op, func.CallOp)}
    assert str(calls["fused_softmax"].attributes[REASON_ATTRIBUTE]) == '"no-unit: no unit runs this operator"'


def test_linalg_keeps_the_hardware_of_trips_and_the_unit_of_each_step() -> None:
    module = on_hardware()
    ConvertFuseToLinalgPass().apply(Context(), module)
    trips = [op for op in module.ops if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes]
    units = [
        [str(op.attributes[UNIT_ATTRIBUTE]) for op in each.walk() if UNIT_ATTRIBUTE in op.attributes] for each in trips
    ]
    assert units == [['"mac"', '"bias"', '"act"'], ['"mac"', '"bias"'], ['"sum"', '"act"', '"pool"']]


def test_linalg_of_the_host_alone_declares_trips() -> None:
    module = on_hardware()
    ConvertFuseToLinalgPass(declare_trips=True).apply(Context(), module)
    module.verify()
    trips = [op for op in module.ops if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes]
    assert len(trips) == 3
    assert all(trip.is_declaration for trip in trips)
    names = [op.callee.string_value() for op in module.walk() if isinstance(op, func.CallOp)]
    assert names == [trip.sym_name.data for trip in trips]
    assert not any(op.name.startswith("fuse.") for op in module.walk())


def test_onnx_has_a_domain_for_trips_and_the_unit_of_each_node() -> None:
    onnx_model = pytest.importorskip("fuse_dialect.targets.onnx.model").onnx_model
    model = onnx_model(on_hardware())
    trips = [function for function in model.functions if function.domain == "tiny_npu"]
    assert len(trips) == 3
    assert [node.domain for node in model.graph.node].count("tiny_npu") == 3
    assert {(entry.key, entry.value) for entry in trips[0].metadata_props} == {(HARDWARE_ATTRIBUTE, "tiny_npu")}
    units = [entry.value for node in trips[0].node for entry in node.metadata_props if entry.key == UNIT_ATTRIBUTE]
    assert list(dict.fromkeys(units)) == ["mac", "bias", "act"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names on POSIX alone")
def test_a_pipe_is_no_template(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.mlir")
    with pytest.raises(TemplateError, match=re.escape("cannot read the hardware template: not a regular file")):
        read_template_file(str(tmp_path / "t.mlir"), context())


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a device of Unix")
def test_a_link_to_a_device_is_no_template(tmp_path: Path) -> None:
    (tmp_path / "t.mlir").symlink_to("/dev/zero")
    with pytest.raises(TemplateError, match="not a regular file"):
        read_template_file(str(tmp_path / "t.mlir"), context())


def test_a_file_of_megabytes_is_no_template(tmp_path: Path) -> None:
    (tmp_path / "t.mlir").write_text("// none\n" * (MOST_TEMPLATE_BYTES // 8 + 1))
    with pytest.raises(TemplateError, match=f"more than {MOST_TEMPLATE_BYTES} bytes"):
        read_template_file(str(tmp_path / "t.mlir"), context())


def test_a_misspelt_op_of_a_known_dialect_is_reported(tmp_path: Path) -> None:
    rows = '  fuse.hardware_unit @u kind "k"\n  fuse.hardware_map "{}" to ["k"]\n'
    for name, close in (("tosa.conv2dd", "tosa.conv2d"), ("stablehlo.convolutoin", "stablehlo.convolution")):
        (tmp_path / "t.mlir").write_text("fuse.hardware @t source @u {\n" + rows.format(name) + "}\n")
        with pytest.raises(TemplateError, match=f"expects the name of an op, got '{name}'") as caught:
            read_template_file(str(tmp_path / "t.mlir"), context())
        assert caught.value.hint == f"did you mean '{close}'?"
        assert caught.value.location is not None
        assert caught.value.location.line == 3
    (tmp_path / "t.mlir").write_text("fuse.hardware @t source @u {\n" + rows.format("team.conv2d") + "}\n")
    assert read_template_file(str(tmp_path / "t.mlir"), context()).mappings[0].operator == "team.conv2d"


def test_a_template_that_maps_nothing_is_reported() -> None:
    text = 'fuse.hardware @t source @u {\n  fuse.hardware_unit @u kind "k"\n}\n'
    with pytest.raises((fd.FuseError, OpError), match="expects at least one operator that is mapped to a unit"):
        FuseOpsHwPass("t").apply(context(), fd.parse(text))


def test_stories_say_the_unit_the_trip_and_the_reason() -> None:
    fuse_ops_hw = FuseOpsHwPass(TINY)
    assert explain_on_hardware(block(), fuse_ops_hw, "%relu1", context()).splitlines() == [
        "%relu1 = 'fuse.relu' of @main",
        "unit: act",
        "trip 1 of 3: %conv1 on mac, %bias1 on bias, %relu1 on act",
    ]
    (_, why) = explain_on_hardware(block(), fuse_ops_hw, "prob", context()).splitlines()
    assert why == "'fuse.softmax' op stays on the host: no-unit: no unit runs this operator"
    with pytest.raises(fd.FuseError, match="no op gives '%nothing'"):
        explain_on_hardware(block(), fuse_ops_hw, "%nothing", context())


def test_pipelines_that_end_on_hardware_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "residual_block.mlir")
    assert main([path, "--compare-pipelines", "fuse-ops", "fuse-ops-hw{template=opu}"]) == 0
    out = capsys.readouterr().out
    assert "bytes-after    7072      4512" in out
    assert "  opu: fuse.conv2d on ipa, fuse.bias_add on add, fuse.relu on compare" in out
