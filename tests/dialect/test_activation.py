"""Activation functions: ONNX's meaning, edges, properties, cost."""

import math

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.activation import (
    ClipOp,
    EluOp,
    GeluOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    SiluOp,
    SoftplusOp,
)

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("op_class", "onnx_name", "properties"),
    [
        (ReluOp, "Relu", {}),
        (SigmoidOp, "Sigmoid", {}),
        (SoftplusOp, "Softplus", {}),
        (LeakyReluOp, "LeakyRelu", {}),
        (LeakyReluOp, "LeakyRelu", {"alpha": 0.3}),
        (EluOp, "Elu", {}),
        (EluOp, "Elu", {"alpha": 2.0}),
        (HardSigmoidOp, "HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
        (HardSwishOp, "HardSwish", {}),
    ],
)
def test_activation_is_that_of_onnx(apply, random, onnx_reference, op_class, onnx_name, properties):
    x = (random.normal(size=(3, 4)) * 3).astype(np.float32)
    np.testing.assert_allclose(
        apply(op_class, x, **properties), onnx_reference(onnx_name, x, **properties), rtol=2e-6, atol=2e-7
    )


def test_gelu_weighs_by_the_normal_distribution(apply, random):
    x = random.normal(size=100) * 3
    expected = [value * 0.5 * math.erfc(-value / math.sqrt(2)) for value in x]
    np.testing.assert_allclose(apply(GeluOp, x), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(apply(GeluOp, x, approximate="tanh"), expected, atol=5e-4)


def test_silu_is_the_element_times_its_sigmoid(apply, random):
    x = random.normal(size=100)
    np.testing.assert_allclose(apply(SiluOp, x), x * apply(SigmoidOp, x), rtol=1e-15)


@pytest.mark.parametrize(
    ("op_class", "x", "expected"),
    [
        (ReluOp, [NAN, -INF, INF], [NAN, 0, INF]),
        (SigmoidOp, [-1000, 1000, NAN], [0, 1, NAN]),
        (SoftplusOp, [-1000, 1000, INF, NAN], [0, 1000, INF, NAN]),
        (SiluOp, [-1000, 1000, NAN], [0, 1000, NAN]),
        (GeluOp, [-1000, 1000, NAN], [0, 1000, NAN]),
        (EluOp, [-INF, INF, NAN, 0], [-1, INF, NAN, 0]),
        (LeakyReluOp, [-INF, INF, NAN], [-INF, INF, NAN]),
        (HardSigmoidOp, [-INF, INF, NAN, 0], [0, 1, NAN, 0.5]),
        (HardSwishOp, [-1000, 1000, NAN, 0], [0, 1000, NAN, 0]),
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ml_dtypes.bfloat16])
def test_activation_does_not_overflow_on_the_way(apply, op_class, x, expected, dtype):
    result = apply(op_class, np.array(x, dtype))
    np.testing.assert_array_equal(result.astype(float), np.array(expected, dtype).astype(float))


def test_half_precision_rounds_once(apply, random):
    x = random.normal(size=1000).astype(np.float16)
    exact = apply(GeluOp, x.astype(np.float32))
    np.testing.assert_array_equal(apply(GeluOp, x), exact.astype(np.float16))


@pytest.mark.parametrize(
    ("dtype", "bounds", "x", "expected"),
    [
        (np.float32, {"min": 0, "max": 6}, [-1, 3, 7, NAN], [0, 3, 6, NAN]),
        (np.float32, {"min": 2}, [-INF, 3], [2, 3]),
        (np.float32, {"max": 2}, [INF, -3], [2, -3]),
        (np.float32, {}, [INF, -3], [INF, -3]),
        (np.float32, {"min": 5, "max": 1}, [0, 3, 9], [1, 1, 1]),
        (np.float16, {"min": -1e9, "max": 1e9}, [-65504, 65504], [-65504, 65504]),
        (np.int8, {"min": -1.5, "max": 2.5}, [-5, -1, 2, 5], [-1, -1, 2, 2]),
        (np.int8, {"min": -300, "max": 300}, [-128, 127], [-128, 127]),
        (np.int8, {"min": 300}, [-128, 127], [127, 127]),
        (np.uint8, {"min": -1, "max": 200}, [0, 255], [0, 200]),
        (np.int64, {"min": -INF, "max": INF}, [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        (np.uint64, {"max": 1e30}, [2**64 - 1], [2**64 - 1]),
    ],
)
def test_clip_moves_into_the_range(apply, dtype, bounds, x, expected):
    np.testing.assert_array_equal(apply(ClipOp, np.array(x, dtype), **bounds), np.array(expected, dtype))


def test_relu_takes_integers(apply):
    np.testing.assert_array_equal(apply(ReluOp, np.array([-3, 0, 3], np.int8)), np.array([0, 0, 3], np.int8))


@pytest.mark.parametrize(
    ("op_class", "type", "properties", "message"),
    [
        (GeluOp, "2xf32", {"approximate": "fast"}, "expects approximate to be 'none' or 'tanh', got 'fast'"),
        (ClipOp, "2xf32", {"min": NAN}, "expects bounds that are numbers, got nan"),
        (ReluOp, "2xi1", {}, "expects numbers, got i1"),
        (SigmoidOp, "2xi32", {}, "expects floating-point elements, got i32"),
    ],
)
def test_wrong_use_is_rejected(rejects, op_class, type, properties, message):
    assert rejects(op_class, type, **properties) == message


def test_cost_depends_on_the_form(build):
    assert cost_of(build(GeluOp, "10xf32")) == Cost(flops=50, bytes=80)
    assert cost_of(build(GeluOp, "10xf32", approximate="tanh")) == Cost(flops=90, bytes=80)
    assert cost_of(build(GeluOp, "?xf32", approximate="tanh")) is None
    assert cost_of(build(ClipOp, "10xi8", min=0)) == Cost(flops=20, bytes=20)
