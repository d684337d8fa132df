"""Cascades: which trips run as one, stripe by stripe, and how large the buffers between them are."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from trip_networks import mobilenet_v2
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.hardware_templates import hardware_op, read_template
from fuse_dialect.dialect.ops.hardware import HardwareOp
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.hardware.hardware_report import estimate_of, report_lines, report_object
from fuse_dialect.hardware.trips_json import TripsJsonTarget
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.template import HardwareRegion, HardwareTemplate, HardwareUnit, links, mapped

IMAGE = "tensor<1x2x16x8xf32>"
ROW = 2 * 8 * 4
"""Bytes of a row of it."""
NPU = HardwareTemplate(
    "npu",
    "in",
    (HardwareUnit("in", "in"), HardwareUnit("all", "all", cascades=True), HardwareUnit("sums", "sums")),
    links(("in", "all"), ("in", "sums")),
    (*mapped("all", ["fuse.conv2d", "fuse.max_pool2d", "fuse.relu", "fuse.mean"]), *mapped("sums", ["fuse.add"])),
)
"""Each trip is one operator."""


def fused(body: str, result: str = IMAGE, template: HardwareTemplate = NPU) -> ModuleOp:
    module = fd.parse(f"""func.func @main(%x: {IMAGE}, %z: {IMAGE}) -> {result} {{
      %w = arith.constant dense<1.0> : tensor<2x2x3x3xf32>
      {body}
    }}""")
    module.body.block.add_op(hardware_op(template))
    FuseOpsHwPass("npu", dedup=False).apply(Context(), module)
    return module


def cascades(module: ModuleOp) -> list[tuple[int, int, int]]:
    """For each cascade its trips, and bytes of its buffers and of what they spare."""
    found = estimate_of(module, context()).cascades
    return [(len(each.calls), each.buffers, each.spared) for each in found]


CONV = f"fuse.conv2d %a, %w, padding = [1, 1, 1, 1] : ({IMAGE}, tensor<2x2x3x3xf32>) -> {IMAGE}"


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        # A row is read at once, and one comes in the meantime.
        (f"%a = fuse.relu %x : {IMAGE}\n%y = fuse.relu %a : {IMAGE}\nreturn %y : {IMAGE}", IMAGE,
         [(2, 2 * ROW, 16 * ROW)]),
        # Three rows and one.
        (f"%a = fuse.relu %x : {IMAGE}\n%y = {CONV}\nreturn %y : {IMAGE}", IMAGE, [(2, 4 * ROW, 16 * ROW)]),
        # Before a pool of two rows the convolution gives two rows at a time: four rows are read for them, and two come.
        (f"%a = fuse.relu %x : {IMAGE}\n%c = {CONV}\n"
         f"%y = fuse.max_pool2d %c, pool_size = [2, 2], strides = [2, 2] : ({IMAGE}) -> tensor<1x2x8x4xf32>\n"
         "return %y : tensor<1x2x8x4xf32>", "tensor<1x2x8x4xf32>", [(3, (2 + 2) * ROW + (4 + 2) * ROW, 32 * ROW)]),
        # The value is read twice, is returned, or goes to a unit that cascades nothing.
        (f"%a = fuse.relu %x : {IMAGE}\n%b = {CONV}\n%y = fuse.add %a, %b : {IMAGE}\nreturn %y : {IMAGE}", IMAGE, []),
        (f"%a = fuse.relu %x : {IMAGE}\n%b = fuse.add %a, %z : {IMAGE}\nreturn %b : {IMAGE}", IMAGE, []),
        # All rows are read.
        (f"%a = fuse.relu %x : {IMAGE}\n%y = fuse.mean %a, axes = [2, 3], keepdims = true : ({IMAGE}) -> "
         "tensor<1x2x1x1xf32>\nreturn %y : tensor<1x2x1x1xf32>", "tensor<1x2x1x1xf32>", []),
    ],
)  # fmt: skip
def test_which_trips_are_a_cascade(body: str, result: str, expected: list[tuple[int, int, int]]) -> None:
    assert cascades(fused(body, result)) == expected


def test_units_say_whether_they_cascade_and_regions_bound_buffers() -> None:
    body = f"%a = fuse.relu %x : {IMAGE}\n%b = fuse.relu %a : {IMAGE}\n%y = fuse.relu %b : {IMAGE}\nreturn %y : {IMAGE}"
    assert cascades(fused(body)) == [(3, 4 * ROW, 32 * ROW)]
    silent = replace(NPU, units=tuple(replace(unit, cascades=False) for unit in NPU.units))
    assert cascades(fused(body, template=silent)) == []
    dram = HardwareRegion("dram", ("inputs", "weights", "outputs"))
    for room, expected in ((4 * ROW, [3]), (3 * ROW, [2]), (ROW, list[int]())):
        small = replace(NPU, regions=(HardwareRegion("sram", ("between",), room), dram))
        assert [trips for trips, _, _ in cascades(fused(body, template=small))] == expected


def test_what_else_is_read_is_there_before_the_cascade() -> None:
    """The sum waits for two chains: it is in no cascade with the one that began before the other was there."""
    units = tuple(replace(unit, cascades=True) for unit in NPU.units)
    body = f"""%a = fuse.relu %x : {IMAGE}
      %b = fuse.relu %a : {IMAGE}
      %c = fuse.relu %z : {IMAGE}
      %y = fuse.add %b, %c : {IMAGE}
      return %y : {IMAGE}"""
    found = estimate_of(fused(body, template=replace(NPU, units=units)), context())
    assert [len(each.calls) for each in found.cascades] == [2]
    assert found.scheduled == 3


def test_mobilenet_takes_28_units_of_scheduling() -> None:
    """Of 64 passes those between two residual sums are a cascade."""
    module = mobilenet_v2(224)
    FuseOpsHwPass("ethos-u").apply(Context(), module)
    found = estimate_of(module, context())
    assert len(found.works) == 64
    assert found.scheduled == 28
    assert sorted(len(each.calls) for each in found.cascades) == [3] * 14 + [4, 6]


def test_report_and_json_say_cascades() -> None:
    module = fused(f"%a = fuse.relu %x : {IMAGE}\n%y = fuse.relu %a : {IMAGE}\nreturn %y : {IMAGE}")
    found = estimate_of(module, context())
    names = [work.name for work in found.works]
    said = "1 units of scheduling: 2 trips run in 1 cascades, with buffers of 128 bytes at most"
    assert f"Cascades: {said}, which spare 1024 bytes of memory." in report_lines(found)
    assert report_object(found)["cascades"] == [{"trips": names, "buffers": 128, "spared": 1024}]
    output = StringIO()
    TripsJsonTarget().emit(context(), module, output)
    calls = json.loads(output.getvalue())["functions"][0]["calls"]
    assert [call["cascade"] for call in calls if "trip" in call] == [0, 0]


def test_the_flag_survives_text() -> None:
    for template in (NPU, SHIPPED_TEMPLATES["ethos-u"]):
        (op,) = fd.parse(str(ModuleOp([hardware_op(template)]))).ops
        assert isinstance(op, HardwareOp)
        assert read_template(op)[0].units == template.units
