"""Trips as code generators get them: as data, as JSON, as another dialect, and run by somebody else."""

import base64
import json
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from trip_networks import NETWORKS
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import tensor_type
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.trips_json import TripsJsonTarget

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
TINY = str(EXAMPLES / "tiny_npu.mlir")


@pytest.fixture
def fused() -> ModuleOp:
    return fd.fuse_ops_hw(fd.read(EXAMPLES / "residual_block.mlir"), template=TINY)


def image() -> Array:
    return np.random.default_rng(0).standard_normal((1, 4, 8, 8)).astype(np.float32)


def test_a_trip_is_data(fused: ModuleOp) -> None:
    first, second, third = fd.trips_of(fused)
    assert (first.name, first.template) == ("fused_conv2d_bias_add_relu", "tiny_npu")
    assert [(step.unit, step.op) for step in first.steps] == [
        ("mac", "fuse.conv2d"),
        ("bias", "fuse.bias_add"),
        ("act", "fuse.relu"),
    ]
    assert [value.name for value in first.inputs] == ["x"]
    assert first.steps[0].operands == ["x", "w"]
    assert first.steps[0].attributes["strides"] == [1, 1]
    assert first.steps[0].attributes["data_layout"] == "NCHW"
    assert first.outputs == [first.steps[-1].results[0].name]
    assert first.steps[0].results[0].type == "tensor<1x4x8x8xf32>"
    assert {name: array.shape for name, array in second.weights.items()} == {"w": (4, 4, 1, 1), "b": (4,)}
    assert len(third.inputs) == 2


def test_the_callback_is_called_once_for_trips_of_equal_structure() -> None:
    text = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %a = fuse.relu %x : tensor<4xf32>
      %b = fuse.relu %y : tensor<4xf32>
      func.return %a, %b : tensor<4xf32>, tensor<4xf32>
    }"""
    made = fd.for_each_trip(fd.fuse_ops_hw(fd.parse(text)), lambda trip: len(trip.steps))
    assert made == {"fused_relu": 1}


def test_values_of_one_name_get_different_ones() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = arith.constant dense<1.0> : tensor<4xf32>
      %0 = fuse.add %x, %c : tensor<4xf32>
      %1 = fuse.relu %0 : tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }"""
    (trip,) = fd.trips_of(fd.fuse_ops_hw(fd.parse(text)))
    names = [value.name for value in (*trip.inputs, *trip.constants)]
    names += [value.name for step in trip.steps for value in step.results]
    assert len(set(names)) == len(names) == 4


def test_json_has_trips_and_the_order_of_calls(fused: ModuleOp) -> None:
    output = StringIO()
    TripsJsonTarget(constants=True).emit(context(), fused, output)
    found = json.loads(output.getvalue())
    assert found["format"] == "fuse-trips/1"
    (main,) = found["functions"]
    assert [next(iter(call.values())) for call in main["calls"]] == [
        "fused_conv2d_bias_add_relu",
        "fused_conv2d_bias_add",
        "fused_add_relu_max_pool2d",
        "fuse.softmax",
    ]
    assert [next(iter(call)) for call in main["calls"]] == ["trip", "trip", "trip", "host"]
    assert main["calls"][1]["operands"] == [main["calls"][0]["results"][0]["name"]]
    assert main["calls"][3]["reason"] == "no-unit: no unit runs this operator"
    assert main["outputs"] == [main["calls"][3]["results"][0]["name"]]
    (trip, *_) = found["trips"]
    data = base64.b64decode(trip["constants"][0]["data"])
    np.testing.assert_array_equal(np.frombuffer(data, "<f4"), np.full(16, 0.5, np.float32))
    # Everything that a step reads has been named before it.
    for each in found["trips"]:
        known = {value["name"] for value in (*each["inputs"], *each["constants"])}
        for step in each["steps"]:
            assert known.issuperset(step["operands"])
            known.update(value["name"] for value in step["results"])
        assert known.issuperset(each["outputs"])


def test_somebody_else_runs_the_trips(fused: ModuleOp) -> None:
    seen: list[str] = []

    def device(trip: fd.Trip, inputs: Sequence[Array]) -> list[Array]:
        seen.append(trip.name)
        values = dict(zip((value.name for value in trip.inputs), inputs, strict=True)) | trip.weights
        for step in trip.steps:
            arrays = [values[name] for name in step.operands]
            (values[step.results[0].name],) = step.source.evaluate(*arrays)
        return [values[name] for name in trip.outputs]

    x = image()
    (expected,) = fd.run(fused, x)
    (result,) = fd.run(fused, x, trips=device)
    np.testing.assert_array_equal(result, expected)
    assert seen == ["fused_conv2d_bias_add_relu", "fused_conv2d_bias_add", "fused_add_relu_max_pool2d"]
    (zero,) = fd.run(
        fused,
        x,
        trips=lambda trip, inputs: [
            np.zeros((1, 4, 4 if "pool" in trip.name else 8, 4 if "pool" in trip.name else 8), np.float32)
        ],
    )
    assert not np.array_equal(zero, expected)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], "expects 1 results of what was run for '@fused_conv2d_bias_add_relu', got 0"),
        ([np.zeros((1, 4, 8, 8), np.float64)], "result 0 of what was run for '@fused_conv2d_bias_add_relu'"),
        ([np.zeros((1, 4, 8, 7), np.float32)], "result 0 of what was run for '@fused_conv2d_bias_add_relu'"),
    ],
)
def test_what_somebody_else_gives_has_the_types_of_the_trip(
    fused: ModuleOp, results: list[Array], message: str
) -> None:
    with pytest.raises(fd.FuseError, match=re.escape(message)):
        fd.run(fused, image(), trips=lambda trip, inputs: results)


def test_one_table_makes_ops_of_another_dialect(fused: ModuleOp) -> None:
    table = {
        "fuse.conv2d": "npu.conv",
        "fuse.bias_add": "npu.bias",
        "fuse.add": "npu.sum",
        "fuse.relu": "npu.act",
        "fuse.max_pool2d": "npu.pool",
        ("bias", "fuse.bias_add"): "npu.wide_bias",
    }
    assert fd.lower_trips(fused, table) == 8
    fused.verify()
    text = str(fused)
    assert text.count('"npu.wide_bias"') == 2
    assert '"npu.bias"' not in text
    again = parse_mlir(text, ctx=context(allow_unregistered=True))
    assert [trip.steps[0].op for trip in fd.trips_of(again)] == ["npu.conv", "npu.conv", "npu.sum"]
    assert fd.trips_of(again)[0].steps[0].attributes["strides"] == [1, 1]


def test_weights_as_arguments_let_trips_run_natively_beside_a_host_fused_by_cost() -> None:
    module = NETWORKS["super_resolution"]()
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    shape = tensor_type(main.body.block.args[0]).get_shape()
    given = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (expected,) = fd.run(module, given)
    inside, outside = (
        fd.compile(fd.fuse_ops_hw(module.clone(), template="systolic", constants_inside=each), strategy="cost")
        for each in (True, False)
    )
    assert [kernel.family for kernel in outside.kernels if kernel.reason] == []
    assert any("constants are held by trips unless constants-inside=false" in each.reason for each in inside.kernels)
    for program in (inside, outside):
        np.testing.assert_allclose(program(given)[0], expected, rtol=1e-4, atol=1e-5)


def test_trips_become_ops_with_a_region_of_a_teams_dialect(fused: ModuleOp) -> None:
    table = {"fuse.conv2d": "npu.conv", "fuse.bias_add": "npu.bias", "fuse.add": "npu.sum", "fuse.relu": "npu.act"}
    table["fuse.max_pool2d"] = "npu.pool"
    with pytest.raises(OpError, match=r"a row for 'fuse.fused' and none for 'fuse.yield'"):
        fd.lower_trips(fused, {**table, "fuse.fused": "npu.trip"})
    assert fd.lower_trips(fused, {**table, "fuse.fused": "npu.trip", "fuse.yield": "npu.end"}) == 8
    fused.verify()
    again = parse_mlir(str(fused), ctx=context(allow_unregistered=True))
    found = [op for op in again.walk() if op_name(op) == "npu.trip"]
    assert [op.attributes["fuse.trip"] for op in found] == [
        StringAttr("fused_conv2d_bias_add_relu"),
        StringAttr("fused_conv2d_bias_add"),
        StringAttr("fused_add_relu_max_pool2d"),
    ]
    assert {op.attributes["fuse.hardware"] for op in found} == {StringAttr("tiny_npu")}
    assert [op_name(op) for op in found[2].regions[0].block.ops] == ["npu.sum", "npu.act", "npu.pool", "npu.end"]
    assert not fd.trips_of(again)


def test_a_step_without_a_row_is_an_error_and_nothing_is_changed(fused: ModuleOp) -> None:
    before = str(fused)
    with pytest.raises(OpError, match=r"'fuse.bias_add' op on unit 'bias' has no row in the table"):
        fd.lower_trips(fused, {"fuse.conv2d": "npu.conv"})
    assert str(fused) == before
