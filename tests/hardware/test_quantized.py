"""Networks in 8 bits: conversions are one op each, and trips give the same integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quantized import quantized
from trip_networks import NETWORKS
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType, ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import SubtractOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.hardware import REASON_ATTRIBUTE
from fuse_dialect.dialect.ops.quantization import RequantizeOp, RequantizeSumOp
from fuse_dialect.dialect.types import tensor_type
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.transforms.fake_quantization_to_integer import FakeQuantizationToIntegerPass

FORM = FakeQuantizationToIntegerPass(requantize=True)


def image(module: ModuleOp) -> Array:
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    shape = tensor_type(main.body.block.args[0]).get_shape()
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def in_bytes(name: str) -> tuple[ModuleOp, Array]:
    module = NETWORKS[name]()
    x = image(module)
    made = quantized(module, x)
    FORM.apply(Context(), made)
    made.verify()
    return made, x


def test_every_layer_of_resnet18_ends_in_one_conversion() -> None:
    module, x = in_bytes("resnet18")
    ops = [op for op in module.walk() if isinstance(op, FuseOp)]
    assert sum(isinstance(op, RequantizeOp) for op in ops) == 21
    sums = [op for op in ops if isinstance(op, RequantizeSumOp)]
    assert len(sums) == 8
    # A relu behind a sum is a bound: integers without sign begin at the zero point, 0 here.
    assert all(op.out_dtype.data == "ui8" for op in sums)
    (result,) = run_module(module, [x])
    (expected,) = run_module(quantized(NETWORKS["resnet18"](), x), [x])
    # One step of the last quantization at most: scales are combined.
    assert np.abs(result - expected).max() <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_trips_of_8_bits_give_the_same_bits_and_hosts_say_why(name: str) -> None:
    module, x = in_bytes(name)
    expected = run_module(module, [x])
    for template in SHIPPED_TEMPLATES:
        fused = module.clone()
        fd.fuse_ops_hw(fused, template=template)
        main = fused.body.block.first_op
        assert isinstance(main, func.FuncOp)
        host = [op for op in main.body.block.ops if isinstance(op, FuseOp)]
        assert all(REASON_ATTRIBUTE in op.attributes for op in host)
        for result, wanted in zip(run_module(fused, [x]), expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


def test_machine_code_of_conversions_gives_the_same_integers() -> None:
    pytest.importorskip("llvmlite")
    text = """func.func @main(%x: tensor<5x7xi32>, %s: tensor<7xf32>, %y: tensor<5x7xi8>)
        -> (tensor<5x7xui8>, tensor<5x7xi8>) {
      %a = fuse.requantize %x, %s, zero = 9, low = 9, out_dtype = "ui8" : (tensor<5x7xi32>, tensor<7xf32>)
      %b = fuse.requantize_sum %a, %y, lhs_scale = 0.3, lhs_zero = 9, rhs_scale = 0.7, scale = 0.9, zero = -4
        : (tensor<5x7xui8>, tensor<5x7xi8>)
      return %a, %b : tensor<5x7xui8>, tensor<5x7xi8>
    }"""
    random = np.random.default_rng(0)
    x = random.integers(-4000, 4000, (5, 7)).astype(np.int32)
    scales = random.uniform(0.001, 0.1, 7).astype(np.float32)
    y = random.integers(-128, 128, (5, 7)).astype(np.int8)
    module = fd.parse(text)
    for result, wanted in zip(fd.compile(module)(x, scales, y), fd.run(module, x, scales, y), strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(("template", "trips"), [("ethos-u-int8", 28), ("gemmini", 28), ("systolic", 19)])
def test_no_trip_of_resnet18_in_8_bits_ends_in_real_numbers_or_sums(template: str, trips: int) -> None:
    module, _ = in_bytes("resnet18")
    fd.fuse_ops_hw(module, template=template)
    # The mean of an image is one of real numbers.
    words = ("conv2d", "requantize_sum")
    found = [
        trip
        for trip in fd.trips_of(module)
        if any(word in step.op for step in trip.steps for word in words) and "mean" not in trip.name
    ]
    assert len(found) == trips
    for trip in found:
        (kept,) = trip.function.body.block.last_op.operands
        element = tensor_type(kept).element_type
        assert isinstance(element, IntegerType)
        assert element.width.data == 8


FORMULA = """
func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3xTYPE> {{
  %s = arith.constant dense<{scale}> : tensor<{shape}f32>
  %t = arith.constant dense<{divisor}> : tensor<f32>
  %z = arith.constant dense<{zero}.0> : tensor<f32>
  %0 = fuse.cast %x : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %1 = fuse.multiply %0, %s : (tensor<2x3xf32>, tensor<{shape}f32>)
  {bound}
  %3 = fuse.divide %2, %t : (tensor<2x3xf32>, tensor<f32>)
  %4 = fuse.round %3 : tensor<2x3xf32>
  %5 = fuse.add %4, %z : (tensor<2x3xf32>, tensor<f32>)
  %6 = fuse.clip %5, min = LOW, max = HIGH : tensor<2x3xf32>
  %7 = fuse.cast %6 : (tensor<2x3xf32>) -> tensor<2x3xTYPE>
  return %7 : tensor<2x3xTYPE>
}}"""


@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-900, 900), min_size=6, max_size=6),
    shape=st.sampled_from(["", "1x3x", "1x1x"]),
    scale=st.sampled_from([0.5, 0.25, 2.0**-20]),
    divisor=st.sampled_from([0.5, 2.0, 1.0]),
    zero=st.integers(0, 100),
    bound=st.sampled_from(
        [
            "%2 = fuse.relu %1 : tensor<2x3xf32>",
            "%2 = fuse.clip %1, min = 0.0, max = 6.0 : tensor<2x3xf32>",
            "%2 = fuse.clip %1, min = -2.0, max = 1.0 : tensor<2x3xf32>",
            "%2 = fuse.clip %1, max = -2.0 : tensor<2x3xf32>",
        ]
    ),
    is_unsigned=st.booleans(),
)
def test_one_conversion_means_what_its_formula_does(
    x: list[int], shape: str, scale: float, divisor: float, zero: int, bound: str, is_unsigned: bool
) -> None:
    """Scales are powers of two, so that combining them rounds nothing."""
    text = FORMULA.format(scale=scale, shape=shape, divisor=divisor, zero=zero, bound=bound)
    low, high, name = ("0.0", "255.0", "ui8") if is_unsigned else ("-128.0", "127.0", "i8")
    module = fd.parse(text.replace("LOW", low).replace("HIGH", high).replace("TYPE", name))
    array = np.array(x, np.int32).reshape(2, 3)
    (expected,) = fd.run(module, array)
    FORM.apply(Context(), module)
    made = [type(op) for op in module.walk() if isinstance(op, FuseOp)]
    assert made[0] is RequantizeOp
    # Integers with a sign are given it behind the conversion.
    assert made[1:] == ([] if is_unsigned else [CastOp, SubtractOp, CastOp])
    (result,) = fd.run(module, array)
    np.testing.assert_array_equal(result, expected)


def test_a_value_that_others_read_keeps_its_formula() -> None:
    text = FORMULA.format(scale=0.5, shape="", divisor=1.0, zero=0, bound="%2 = fuse.relu %1 : tensor<2x3xf32>")
    text = text.replace("LOW", "-128.0").replace("HIGH", "127.0").replace("TYPE", "i8")
    text = text.replace("-> tensor<2x3xi8> {", "-> (tensor<2x3xi8>, tensor<2x3xf32>) {", 1)
    text = text.replace("return %7 : tensor<2x3xi8>", "return %7, %4 : tensor<2x3xi8>, tensor<2x3xf32>")
    module = fd.parse(text)
    FORM.apply(Context(), module)
    assert not [op for op in module.walk() if isinstance(op, RequantizeOp)]
