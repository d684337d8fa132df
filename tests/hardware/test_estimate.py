"""What a fused module costs, against sums by hand and against the statistics of the pass."""

import json
from io import StringIO
from pathlib import Path

import pytest
from trip_networks import NETWORKS
from xdsl.utils.exceptions import PassFailedException

import fuse_dialect as fd
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.hardware.hardware_report import HardwareReportTarget, estimate_of
from fuse_dialect.remarks.statistics import statistics_of
from fuse_dialect.templates.objective import Objective
from fuse_dialect.templates.plan import cost_of_plan

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
TINY = str(EXAMPLES / "tiny_npu.mlir")


def test_calls_have_the_bytes_and_operations_of_their_parts() -> None:
    fused = fd.fuse_ops_hw(fd.read(EXAMPLES / "residual_block.mlir"), template=TINY)
    found = estimate_of(fused, context(), TINY)
    image, weights = 4 * 4 * 8 * 8, 4 * (16 + 4)
    assert [work.bytes for work in found.works] == [
        2 * image + weights,
        2 * image + weights,
        2 * image + image // 4,
        image // 2,
    ]
    assert [work.constants for work in found.works] == [weights, weights, 0, 0]
    # A product of 4 x 4 channels at 64 places, a bias, and an activation.
    assert found.works[0].operations == 2 * 16 * 64 + 256 + 256
    assert [work.engine for work in found.works] == ["tiny_npu"] * 3 + ["host"]
    # The image stays until the sum has read it.
    assert [work.resident for work in found.works] == [2 * image, 3 * image, 2 * image + image // 4, image // 2]
    assert (found.to_device, found.to_host, found.peak) == (image, image // 4, 3 * image)
    assert found.cycles is None


def test_report_and_statistics_agree() -> None:
    for template in ("opu", "systolic"):
        module = NETWORKS["resnet18"]()
        fd.fuse_ops_hw(module, template=template)
        found = estimate_of(module, context())
        statistics = statistics_of("fuse-ops-hw", module, (), ())
        (works,) = found.engines.values()
        assert sum(work.bytes for work in works) == statistics.bytes_after
        assert len(works) == statistics.groups


def test_cycles_are_those_of_the_busiest_unit_or_of_memory() -> None:
    module = fd.read(EXAMPLES / "residual_block.mlir")
    fd.fuse_ops_hw(module, template="systolic")
    found = estimate_of(module, context())
    # 2128 bytes at 48 a cycle; the array takes less than one for 2048 operations, the vector unit 8 for 2048 bytes.
    assert found.works[0].cycles == 2128 / 48
    assert found.cycles == sum(work.cycles or 0 for work in found.works)


def test_the_objective_counts_what_the_report_says() -> None:
    from fuse_dialect.hardware.block_graph import build_hardware_graph
    from fuse_dialect.templates.plan import plan_hardware
    from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES

    for name in ("resnet18", "mobilenet_v2"):
        module = NETWORKS[name]()
        template = SHIPPED_TEMPLATES["systolic"]
        graph = build_hardware_graph(module.body.block.first_op.body.block, template).graph
        plan = plan_hardware(graph, template, Objective.CYCLES)
        _, cycles, _ = cost_of_plan(graph, template, plan, Objective.CYCLES)
        fd.fuse_ops_hw(module, template="systolic", objective="cycles")
        assert estimate_of(module, context()).cycles == pytest.approx(cycles)


def test_the_report_is_json_too() -> None:
    fused = fd.fuse_ops_hw(fd.read(EXAMPLES / "residual_block.mlir"), template="systolic")
    output = StringIO()
    HardwareReportTarget(as_json=True).emit(context(), fused, output)
    found = json.loads(output.getvalue())
    assert found["engines"]["systolic"]["calls"] == 2
    assert found["engines"]["host"]["cycles"] is None
    assert found["crossings"] == {"to-device": 1024, "to-host": 256}
    assert found["cycles"] == pytest.approx(sum(call["cycles"] for call in found["calls"] if call["cycles"]))


def test_a_function_that_is_not_there_is_an_error() -> None:
    with pytest.raises(PassFailedException, match="no function '@other'"):
        HardwareReportTarget(entry="other").emit(context(), fd.read(EXAMPLES / "residual_block.mlir"), StringIO())


def test_cycles_of_a_template_without_rates_are_an_error() -> None:
    with pytest.raises(fd.FuseError, match="hardware template 'opu' has no cycles: unit 'concat' has no rate"):
        fd.fuse_ops_hw(fd.read(EXAMPLES / "residual_block.mlir"), template="opu", objective="cycles")
    with pytest.raises(fd.FuseError, match="option 'objective' expects trips, bytes, cycles, got 'speed'"):
        fd.fuse_ops_hw(fd.read(EXAMPLES / "residual_block.mlir"), template="opu", objective="speed")


def test_the_place_of_a_template_without_rates_is_said() -> None:
    """The file, or the op in the module."""
    template = str(EXAMPLES / "tiny_npu.mlir")
    module = fd.read(EXAMPLES / "residual_block.mlir")
    with pytest.raises(fd.FuseError, match="has no cycles: unit 'mac' has no rate") as raised:
        fd.fuse_ops_hw(module, template=template, objective="cycles")
    assert raised.value.location is not None
    assert raised.value.location.file == template
    text = (EXAMPLES / "tiny_npu.mlir").read_text() + "func.func @main() { return }"
    with pytest.raises(fd.FuseError, match="op has no cycles: unit 'mac' has no rate"):
        fd.fuse_ops_hw(fd.parse(text), template="tiny_npu", objective="cycles")
