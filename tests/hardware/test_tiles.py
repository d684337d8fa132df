"""Trips that are cut into tiles of rows mean what they meant, and each tile fits."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trip_networks import NETWORKS
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.ir import SSAValue

import fuse_dialect as fd
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.hardware_templates import hardware_op
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.activation import ReluOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, MultiplyOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp, Conv2dTransposeOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, TILE_ATTRIBUTE
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.pooling import AvgPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.ops.regions import LoopOp
from fuse_dialect.dialect.types import byte_count, tensor, tensor_type
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.hardware.hardware_report import estimate_of
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.template import HardwareLimits, HardwareTemplate, HardwareUnit, mapped, virtual

ALL = (
    *("conv2d", "relu", "add", "bias_add", "multiply", "max_pool2d", "avg_pool2d", "concatenate"),
    *("conv2d_transpose", "transpose", "strided_slice", "resize2d"),
)
"""One unit runs all of these, so that limits alone cut trips."""


def npu(limits: HardwareLimits) -> HardwareTemplate:
    rows = mapped("all", [f"fuse.{word}" for word in ALL])
    return HardwareTemplate("npu", "all", (HardwareUnit("all", "all", 64),), (), rows, virtual("fuse.reshape"), limits)


@st.composite
def chains(draw: Callable[..., Any]) -> tuple[ModuleOp, list[Array]]:
    """Convolutions, pools and what goes with them, in one of both layouts, on whole numbers: sums are exact."""
    is_nhwc = draw(st.booleans())
    letters = "NHWC" if is_nhwc else "NCHW"
    rows, columns, channels = draw(st.integers(5, 24)), draw(st.integers(5, 8)), draw(st.integers(1, 2))

    def shape(height: int, width: int) -> list[int]:
        sizes = dict(zip("NCHW", (draw(st.integers(1, 2)), channels, height, width), strict=True))
        return [sizes[letter] for letter in letters]

    types = [tensor(shape(rows, columns), f32)] * 2
    function = func.FuncOp("main", (types, []))
    block = function.body.block
    random = np.random.default_rng(draw(st.integers(0, 99)))

    def add(op: FuseOp) -> FuseOp:
        block.add_op(op)
        return op

    def weight(*sizes: int) -> SSAValue:
        op = constant(random.integers(-2, 3, sizes).astype(np.float32))
        block.add_op(op)
        return op.results[0]

    value = block.args[0]
    for _ in range(draw(st.integers(1, 5))):
        sizes = dict(zip(letters, tensor_type(value).get_shape(), strict=True))
        kernel = draw(st.integers(1, min(3, sizes["H"], sizes["W"])))
        pads = [draw(st.integers(0, kernel - 1)) for _ in range(4)]
        strides = [draw(st.integers(1, 3)), draw(st.integers(1, 2))]
        options: dict[str, Any]
        match draw(st.sampled_from((0, 0, 0, *range(1, 12)))):
            case 0:
                dilation = [draw(st.integers(1, 2)) if sizes["H"] > 4 and sizes["W"] > 4 else 1] * 2
                w = weight(channels, channels, kernel, kernel)
                options = {"data_layout": letters, "kernel_layout": "OIHW"}
                op = Conv2dOp(value, w, strides=strides, padding=pads, dilation=dilation, **options)
            case 1:
                op = ReluOp(value)
            case 2:
                op = AddOp(value, block.args[1] if value.type == types[1] else weight(1))
            case 3:
                op = BiasAddOp(value, weight(channels), axis=letters.index("C"))
            case 4:
                op = MultiplyOp(value, value)
            case 5:
                options = {"strides": strides, "padding": pads, "layout": letters, "ceil_mode": draw(st.booleans())}
                op = MaxPool2dOp(value, pool_size=[kernel] * 2, **options)
            case 6:
                options = {"strides": strides, "padding": pads, "layout": letters, "ceil_mode": draw(st.booleans())}
                options["count_include_pad"] = draw(st.booleans())
                op = AvgPool2dOp(value, pool_size=[kernel] * 2, **options)
            case 7:
                w = weight(channels, channels, kernel, kernel)
                options = {"dilation": [draw(st.integers(1, 2)), 1], "data_layout": letters}
                options["output_padding"] = [draw(st.integers(0, strides[0] - 1)), 0]
                pads = [min(pads[0], kernel - 1), 0, min(pads[2], kernel - 1), 0]
                op = Conv2dTransposeOp(value, w, strides=strides, padding=pads, **options)
            case 8:
                first, second = (letters.index(letter) for letter in draw(st.sampled_from(("NW", "CW", "NC"))))
                order = list(range(4))
                order[first], order[second] = second, first
                value = add(TransposeOp(value, permutation=order)).results[0]
                op = TransposeOp(value, permutation=order)
            case 9:
                own = [sizes[letter] for letter in letters]
                other = [own[0], own[1], own[3], own[2]] if is_nhwc else [1, own[0] * own[1], own[2], own[3]]
                value = add(ReshapeOp(value, result_types=[tensor(other, f32)])).results[0]
                value = add(ReluOp(value)).results[0]
                op = ReshapeOp(value, result_types=[tensor(own, f32)])
            case 10:
                place = letters.index("W")
                op = StridedSliceOp(value, begin=[0], end=[max(4, sizes["W"] - 1)], axes=[place])
            case _:
                op = AddOp(value, weight(*shape(1, 1)))
        value = add(op).results[0]
        if isinstance(op, AvgPool2dOp):
            break  # sums of quotients are not exact
    if value.type == types[1] and draw(st.booleans()):
        value = add(ConcatenateOp(value, block.args[1], axis=letters.index("C"))).results[0]
    block.add_op(func.ReturnOp(value))
    function.function_type = FunctionType.from_lists(types, [value.type])
    inputs = [random.integers(-3, 4, tuple(type.get_shape())).astype(np.float32) for type in types]
    return ModuleOp([function]), inputs


def held(function: func.FuncOp) -> tuple[int, int]:
    """Bytes of feature maps of a trip, and of its largest value between units."""
    block = function.body.block
    held = [op for op in block.ops if op.results and not is_constant(op) and not isinstance(op, ReshapeOp)]
    results = [byte_count(op.results[0].type) or 0 for op in held]
    return sum(byte_count(value.type) or 0 for value in block.args) + sum(results), max(results[:-1], default=0)


def trips_of(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.ops if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes]


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(chains(), st.integers(1, 12), st.booleans())
def test_tiles_fit_and_mean_what_the_trip_meant(
    chain: tuple[ModuleOp, list[Array]], most: int, is_buffer: bool
) -> None:
    module, inputs = chain
    expected = run_module(module, inputs)
    limits = HardwareLimits(buffer_bytes=64 * most) if is_buffer else HardwareLimits(feature_bytes=128 * most)
    uncut, fused = module.clone(), module.clone()
    for each in (uncut, fused):
        each.body.block.add_op(hardware_op(npu(limits)))
    FuseOpsHwPass("npu").apply(Context(), uncut)
    FuseOpsHwPass("npu", tile_trips=True).apply(Context(), fused)
    fused.verify()
    (result,), (wanted,) = run_module(fused, inputs), expected
    np.testing.assert_array_equal(result, wanted)
    for trip in trips_of(fused):
        features, between = held(trip)
        assert not limits.feature_bytes or features <= limits.feature_bytes
        assert not limits.buffer_bytes or between <= limits.buffer_bytes
    assert len(hosted(fused)) <= len(hosted(uncut))


def hosted(module: ModuleOp) -> list[FuseOp]:
    """Operators that stay on the host, those around tiles apart, and views."""
    main = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    ops = (op for op in main.body.block.ops if isinstance(op, FuseOp) and not isinstance(op, ReshapeOp))
    return [op for op in ops if TILE_ATTRIBUTE not in op.attributes]


@pytest.mark.slow
def test_a_network_in_tiles_of_a_few_kilobytes() -> None:
    module = NETWORKS["unet"]()
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    image = (
        np.random.default_rng(1).standard_normal(tensor_type(main.body.block.args[0]).get_shape()).astype(np.float32)
    )
    (expected,) = run_module(module, [image])
    template = replace(SHIPPED_TEMPLATES["systolic"], name="small", limits=HardwareLimits(feature_bytes=6_000))
    module.body.block.add_op(hardware_op(template))
    FuseOpsHwPass("small", tile_trips=True).apply(Context(), module)
    module.verify()
    assert any(isinstance(op, LoopOp) for op in module.walk())
    assert all(held(trip)[0] <= 6_000 for trip in trips_of(module))
    (result,) = run_module(module, [image])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    # What reads and writes more is said.
    (tiled, *_) = [work for work in estimate_of(module, context()).works if work.tiles > 1]
    assert tiled.bytes > tiled.whole


def test_calls_of_one_trip_are_told_apart() -> None:
    chain = """
      %a = fuse.relu %x : tensor<1x2x8x4xf32>
      %b = fuse.relu %a : tensor<1x2x8x4xf32>
      return %b : tensor<1x2x8x4xf32>"""
    text = f"func.func @main(%x: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {{{chain}\n}}"
    module = fd.parse(text)
    one = replace(npu(HardwareLimits(feature_bytes=128)), units=(HardwareUnit("all", "all"),))
    module.body.block.add_op(hardware_op(one))
    FuseOpsHwPass("npu", tile_trips=True).apply(Context(), module)
    found = estimate_of(module, context())
    assert [(work.name, work.tiles, work.bytes, work.whole) for work in found.works] == [
        ("fused_relu", 4, 512, 512),
        ("fused_relu, call 2", 4, 512, 512),
    ]
    assert [work.resident for work in found.works] == [512, 512]
    assert (found.to_device, found.to_host) == (256, 256)


def test_trips_are_not_cut_into_too_many_tiles() -> None:
    """A file says any size; the program does not grow with it."""
    shape = "tensor<1x1x1000000000x1xf32>"
    text = f"func.func @main(%x: {shape}) -> {shape} {{\n %a = fuse.relu %x : {shape}\n return %a : {shape}\n}}"
    for limit, tiles in ((10_000_000, 800), (1_000, 0)):
        module = fd.parse(text)
        module.body.block.add_op(hardware_op(npu(HardwareLimits(feature_bytes=limit))))
        FuseOpsHwPass("npu", tile_trips=True).apply(Context(), module)
        (work,) = estimate_of(module, context()).works if tiles else (None,)
        assert work is None or work.tiles == tiles
        assert tiles or "a tile of 976563 rows would hold 7812504 bytes of feature maps" in str(module)


def test_constants_that_are_arguments_are_no_feature_maps() -> None:
    module = NETWORKS["super_resolution"]()
    module.body.block.add_op(hardware_op(npu(HardwareLimits(feature_bytes=4_000))))
    FuseOpsHwPass("npu", tile_trips=True, constants_inside=False).apply(Context(), module)
    module.verify()
    assert any(isinstance(op, LoopOp) for op in module.walk())


IMAGE = "tensor<1x2x12x8xf32>"


def one_op(text: str, result: str) -> ModuleOp:
    """A program of one op between two activations, with a template that has room for a few rows."""
    kernel = "arith.constant dense<2.0> : tensor<2x2x3x2xf32>"
    module = fd.parse(f"""func.func @main(%x: {IMAGE}) -> {result} {{
      %k = {kernel}
      %a = fuse.relu %x : {IMAGE}
      %b = {text} -> {result}
      %y = fuse.relu %b : {result}
      return %y : {result}
    }}""")
    module.body.block.add_op(hardware_op(npu(HardwareLimits(feature_bytes=1_200))))
    return module


@pytest.mark.parametrize(
    ("op", "result"),
    [
        (f"fuse.conv2d_transpose %a, %k, strides = [2, 1], padding = [1, 0, 1, 0], output_padding = [1, 0] : "
         f"({IMAGE}, tensor<2x2x3x2xf32>)", "tensor<1x2x24x9xf32>"),
        (f"fuse.conv2d_transpose %a, %k : ({IMAGE}, tensor<2x2x3x2xf32>)", "tensor<1x2x14x9xf32>"),
        # Rows between those that the kernel reaches are zero.
        (f"fuse.conv2d_transpose %a, %k, strides = [5, 1], output_padding = [4, 0] : ({IMAGE}, tensor<2x2x3x2xf32>)",
         "tensor<1x2x62x9xf32>"),
        (f"fuse.max_pool2d %a, pool_size = [4, 2], strides = [3, 2], ceil_mode = true : ({IMAGE})",
         "tensor<1x2x4x4xf32>"),
        (f"fuse.avg_pool2d %a, pool_size = [4, 2], strides = [3, 2], ceil_mode = true, padding = [1, 0, 0, 0] : "
         f"({IMAGE})", "tensor<1x2x4x4xf32>"),
        (f"fuse.strided_slice %a, begin = [1], end = [2], axes = [1] : ({IMAGE})", "tensor<1x1x12x8xf32>"),
        (f"fuse.transpose %a, permutation = [0, 3, 2, 1] : ({IMAGE})", "tensor<1x8x12x2xf32>"),
        (f"fuse.reshape %a : ({IMAGE})", "tensor<2x1x12x8xf32>"),
    ],
)  # fmt: skip
def test_one_op_in_tiles(op: str, result: str) -> None:
    module = one_op(op, result)
    image = np.random.default_rng(1).integers(-3, 4, (1, 2, 12, 8)).astype(np.float32)
    (expected,) = run_module(module, [image])
    FuseOpsHwPass("npu", tile_trips=True).apply(Context(), module)
    module.verify()
    trips = trips_of(module)
    assert trips
    assert all("_tile_" in trip.sym_name.data and held(trip)[0] <= 1_200 for trip in trips)
    assert any(op.split()[0] in str(trip) for trip in trips)
    (found,) = run_module(module, [image])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("op", "result", "why"),
    [
        ('fuse.resize2d %a, size = [24, 8], method = "nearest"', "tensor<1x2x24x8xf32>",
         "it reads more than some rows"),
        ("fuse.transpose %a, permutation = [0, 2, 1, 3]", "tensor<1x12x2x8xf32>", "it moves rows"),
        ("fuse.strided_slice %a, begin = [1], end = [12], axes = [2]", "tensor<1x2x11x8xf32>", "it moves rows"),
        ("fuse.reshape %a", "tensor<1x2x8x12xf32>", "it moves rows"),
        ("fuse.avg_pool2d %a, pool_size = [5, 1], strides = [5, 1], ceil_mode = true, count_include_pad = true",
         "tensor<1x2x3x8xf32>", "it counts padding, and its last window reaches beyond it"),
        ("fuse.concatenate %a, %a, axis = 2", "tensor<1x2x24x8xf32>", "it puts rows together"),
    ],
)  # fmt: skip
def test_what_cannot_be_cut_says_why(op: str, result: str, why: str) -> None:
    types = f"({', '.join([IMAGE] * op.count('%a'))})"
    module = one_op(f"{op} : {types}", result)
    FuseOpsHwPass("npu", tile_trips=True).apply(Context(), module)
    module.verify()
    reasons = "\n".join(re.findall('fuse.hardware_reason = "([^"]*)"', str(module)))
    assert re.search(rf"the limit is 1200, and %b cannot be cut into tiles of rows: {why}", reasons)
