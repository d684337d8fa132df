"""Memories of a template: what lives where is counted, bounded, said."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

import fuse_dialect as fd
from fuse_dialect.dialect.hardware_templates import hardware_op, read_template
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE, HardwareOp
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.hardware.hardware_dot import HardwareDotTarget
from fuse_dialect.hardware.hardware_report import estimate_of, report_lines
from fuse_dialect.hardware.trip_bytes import held_by
from fuse_dialect.hardware.trips_json import TripsJsonTarget
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.templates.engines import joined
from fuse_dialect.templates.regions import Held, bytes_of_regions, exceeded, limits_bytes
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareRegion,
    HardwareTemplate,
    HardwareUnit,
    TemplateError,
    mapped,
)

REGIONS = (
    HardwareRegion("buffer", ("inputs", "outputs"), 1_000, sentence="Feature maps must fit into the buffer"),
    HardwareRegion("accumulator", ("between",), 256, streams=True),
    HardwareRegion("flash", ("weights",)),
)


def npu(regions: tuple[HardwareRegion, ...]) -> HardwareTemplate:
    rows = mapped("all", ["fuse.conv2d", "fuse.relu", "fuse.bias_add", "fuse.add"])
    return HardwareTemplate("npu", "all", (HardwareUnit("all", "all", 8),), (), rows, regions=regions)


def program(rows: int, regions: tuple[HardwareRegion, ...] = REGIONS) -> ModuleOp:
    """A convolution, a bias and an activation on an image of 32 bytes a row."""
    image = f"tensor<1x2x{rows}x4xf32>"
    module = fd.parse(f"""func.func @main(%x: {image}) -> {image} {{
      %w = arith.constant dense<1.0> : tensor<2x2x3x3xf32>
      %b = arith.constant dense<2.0> : tensor<2xf32>
      %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : ({image}, tensor<2x2x3x3xf32>)
      %d = fuse.bias_add %c, %b, axis = 1 : ({image}, tensor<2xf32>)
      %y = fuse.relu %d : {image}
      return %y : {image}
    }}""")
    module.body.block.add_op(hardware_op(npu(regions)))
    return module


def trips_of(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.ops if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes]


def test_regions_survive_text() -> None:
    for name in ("gemmini", "nvdla", "systolic"):
        assert SHIPPED_TEMPLATES[name].regions
    for template in (npu(REGIONS), *SHIPPED_TEMPLATES.values()):
        (op,) = fd.parse(str(ModuleOp([hardware_op(template)]))).ops
        assert isinstance(op, HardwareOp)
        assert read_template(op)[0].regions == template.regions


def test_bytes_go_to_the_first_region_that_has_room() -> None:
    near = HardwareRegion("near", ("inputs", "weights", "between"), 100)
    far = HardwareRegion("far", ("inputs", "outputs", "weights", "between"), 200)
    template = npu((near, far))
    assert bytes_of_regions(template, Held(60, 50, 10, 40)) == {"near": 100, "far": 60}
    assert exceeded(template, Held(60, 50, 10, 40)) is None
    excess = exceeded(template, Held(60, 150, 60, 10))
    assert excess is not None
    assert excess.said("the trip") == ("the trip would hold 210 bytes in 'far', the limit is 200")


def test_which_templates_bound_bytes_that_tiles_may_keep() -> None:
    stream, endless = REGIONS[1:]
    everything = ("inputs", "weights", "outputs", "between")
    assert not limits_bytes(npu(()))
    assert not limits_bytes(npu((replace(stream, holds=everything), endless)))
    assert limits_bytes(npu((replace(REGIONS[0], holds=everything), endless)))
    for name in ("trip_bytes", "feature_bytes", "buffer_bytes"):
        assert limits_bytes(replace(npu(()), limits=HardwareLimits(**{name: 1})))
    assert not limits_bytes(replace(npu(()), limits=HardwareLimits(constant_bytes=1)))


def test_a_trip_beyond_a_region_says_its_sentence() -> None:
    module = program(20)
    FuseOpsHwPass("npu").apply(Context(), module)
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    reasons = [op.attributes.get(REASON_ATTRIBUTE) for op in main.body.block.ops]
    (reason, *_) = [each.data for each in reasons if isinstance(each, StringAttr)]
    assert reason == (
        "hardware-limit: Feature maps must fit into the buffer "
        "(the trip would hold 1280 bytes in 'buffer', the limit is 1000)"
    )


def test_tiles_fit_into_regions() -> None:
    module = program(40)
    image = np.random.default_rng(1).integers(-3, 4, (1, 2, 40, 4)).astype(np.float32)
    (expected,) = run_module(module, [image])
    FuseOpsHwPass("npu", tile_trips=True).apply(Context(), module)
    module.verify()
    trips = trips_of(module)
    assert trips
    assert all("_tile_" in trip.sym_name.data for trip in trips)
    assert all(bytes_of_regions(npu(REGIONS), held_by(trip, npu(REGIONS)))["buffer"] <= 1_000 for trip in trips)
    (result,) = run_module(module, [image])
    np.testing.assert_array_equal(result, expected)
    (work,) = estimate_of(module, context()).works
    assert 900 < work.regions["buffer"] <= 1_000


def test_report_json_and_picture_say_bytes_of_regions() -> None:
    module = program(10)
    FuseOpsHwPass("npu").apply(Context(), module)
    held = {"buffer": 640, "accumulator": 640, "flash": 152}
    (work,) = estimate_of(module, context()).works
    assert work.regions == held
    assert f"Region buffer of npu: 640 bytes at most, in {work.name}." in report_lines(estimate_of(module, context()))
    output = StringIO()
    TripsJsonTarget().emit(context(), module, output)
    assert json.loads(output.getvalue())["trips"][0]["regions"] == held
    output = StringIO()
    HardwareDotTarget().emit(context(), module, output)
    assert "640 bytes in buffer\\n640 bytes in accumulator\\n152 bytes in flash" in output.getvalue()


def test_constants_that_are_arguments_are_weights() -> None:
    module = program(10)
    FuseOpsHwPass("npu", constants_inside=False).apply(Context(), module)
    (work,) = estimate_of(module, context()).works
    assert work.regions == {"buffer": 640, "accumulator": 640, "flash": 152}


def test_engines_keep_regions_of_their_own() -> None:
    other = replace(npu((HardwareRegion("all", ("inputs", "weights", "outputs", "between"), 10),)), name="other")
    template = joined([npu(REGIONS), other])
    assert [region.name for region in template.regions][-1] == "other/all"
    assert exceeded(template, Held(inputs=8)) is None
    excess = exceeded(template, Held(inputs=11))
    assert excess is not None
    assert excess.most == 10


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ((*REGIONS, REGIONS[0]), "expects names of regions to differ, got 'buffer' twice"),
        (REGIONS[:2], "expects a region that holds weights, got none"),
        ((replace(REGIONS[0], holds=("input",)), *REGIONS[1:]),
         "expects region 'buffer' to hold some of inputs, weights, outputs, between, got 'input'"),
        ((replace(REGIONS[0], holds=()), *REGIONS[1:]),
         "expects region 'buffer' to hold some of inputs, weights, outputs, between, got nothing"),
        ((replace(REGIONS[0], bytes=-1), *REGIONS[1:]), "expects region 'buffer' of 0 bytes or more, got -1"),
        ((replace(REGIONS[1], bytes=0), REGIONS[0], REGIONS[2]),
         "expects the bytes of region 'accumulator', which streams"),
    ],
)  # fmt: skip
def test_regions_that_make_no_sense_are_errors(regions: tuple[HardwareRegion, ...], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        npu(regions).validate()
    with pytest.raises(VerifyException, match=message):
        ModuleOp([hardware_op(npu(regions))]).verify()
