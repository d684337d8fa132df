"""Softmax, norms and one-hot: shape rule, meaning, cost."""

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.normalization import (
    BatchNormOp,
    GroupNormOp,
    InstanceNormOp,
    LayerNormOp,
    LogSoftmaxOp,
    OneHotOp,
    SoftmaxOp,
)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_agrees_with_onnx(apply, onnx_reference, random, axis):
    x = random.standard_normal((2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(apply(SoftmaxOp, x, axis=axis), onnx_reference("Softmax", x, axis=axis), rtol=1e-5)
    expected = onnx_reference("LogSoftmax", x, axis=axis)
    np.testing.assert_allclose(apply(LogSoftmaxOp, x, axis=axis), expected, rtol=1e-5, atol=1e-6)


def test_softmax_of_large_numbers_does_not_overflow(apply):
    x = np.array([1e30, 1e30, -1e30], np.float32)
    np.testing.assert_array_equal(apply(SoftmaxOp, x), np.array([0.5, 0.5, 0], np.float32))
    np.testing.assert_allclose(apply(LogSoftmaxOp, x), [-np.log(2), -np.log(2), -2e30], rtol=1e-6)


def test_softmax_of_empty_lines_is_empty(apply):
    assert apply(SoftmaxOp, np.zeros((2, 0), np.float32)).shape == (2, 0)
    assert apply(LogSoftmaxOp, np.zeros((0, 2), np.float32)).shape == (0, 2)


@pytest.mark.parametrize("op_class", [LayerNormOp, InstanceNormOp, GroupNormOp])
@pytest.mark.filterwarnings("error")
def test_norms_of_nothing_are_silent(apply, op_class):
    options = {"num_groups": 1} if op_class is GroupNormOp else {}
    x, vector = np.zeros((2, 1, 0), np.float32), np.ones(0 if op_class is LayerNormOp else 1, np.float32)
    assert apply(op_class, x, vector, vector, **options).shape == x.shape


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_short_floats_are_summed_in_f32(apply, dtype):
    np.testing.assert_array_equal(apply(SoftmaxOp, np.zeros(4096, dtype)), np.full(4096, 2.0**-12, dtype))
    x, ones, zeros = np.full((1, 1, 4096), 100, dtype), np.ones(1, dtype), np.zeros(1, dtype)
    np.testing.assert_array_equal(apply(InstanceNormOp, x, ones, zeros), np.zeros_like(x))


@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm_is_its_formula(apply, random, axis):
    x = random.standard_normal((2, 3, 4, 3))
    gamma, beta, mean = random.standard_normal((3, 3))
    variance = random.random(3)
    shape = (1, 3, 1, 1) if axis == 1 else (3,)
    g, b, m, v = (vector.reshape(shape) for vector in (gamma, beta, mean, variance))
    expected = (x - m) / np.sqrt(v + 0.01) * g + b
    np.testing.assert_allclose(apply(BatchNormOp, x, gamma, beta, mean, variance, axis=axis, epsilon=0.01), expected)


def test_batch_norm_agrees_with_onnx(apply, onnx_reference, random):
    x = random.standard_normal((2, 3, 4, 5)).astype(np.float32)
    gamma, beta, mean = random.standard_normal((3, 3)).astype(np.float32)
    variance = random.random(3).astype(np.float32)
    expected = onnx_reference("BatchNormalization", x, gamma, beta, mean, variance)
    np.testing.assert_allclose(apply(BatchNormOp, x, gamma, beta, mean, variance), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_layer_norm_normalizes_one_axis(apply, random, axis):
    x = random.standard_normal((3, 4, 5))
    gamma, beta = random.standard_normal((2, x.shape[axis]))
    shape = [-1 if i == axis % 3 else 1 for i in range(3)]
    expected = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-3)
    expected = expected * gamma.reshape(shape) + beta.reshape(shape)
    np.testing.assert_allclose(apply(LayerNormOp, x, gamma, beta, axis=axis, epsilon=1e-3), expected)


def test_layer_norm_agrees_with_onnx(apply, onnx_reference, random):
    x = random.standard_normal((2, 3, 8)).astype(np.float32)
    gamma, beta = random.standard_normal((2, 8)).astype(np.float32)
    expected = onnx_reference("LayerNormalization", x, gamma, beta)
    np.testing.assert_allclose(apply(LayerNormOp, x, gamma, beta), expected, rtol=1e-4, atol=1e-5)


def test_instance_norm_agrees_with_onnx(apply, onnx_reference, random):
    x = random.standard_normal((2, 3, 4, 5)).astype(np.float32)
    gamma, beta = random.standard_normal((2, 3)).astype(np.float32)
    expected = onnx_reference("InstanceNormalization", x, gamma, beta)
    np.testing.assert_allclose(apply(InstanceNormOp, x, gamma, beta), expected, rtol=1e-4, atol=1e-5)
    last = apply(InstanceNormOp, x.transpose(0, 2, 3, 1), gamma, beta, axis=-1)
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), expected, rtol=1e-4, atol=1e-5)


def test_group_norm_is_its_definition(apply, random):
    x = random.standard_normal((2, 6, 3, 2))
    gamma, beta = random.standard_normal((2, 6))
    expected = np.empty_like(x)
    for n, group in np.ndindex(2, 3):
        part = x[n, 2 * group : 2 * group + 2]
        expected[n, 2 * group : 2 * group + 2] = (part - part.mean()) / np.sqrt(part.var() + 1e-5)
    expected = expected * gamma.reshape(6, 1, 1) + beta.reshape(6, 1, 1)
    np.testing.assert_allclose(apply(GroupNormOp, x, gamma, beta, num_groups=3), expected)
    last = apply(GroupNormOp, x.transpose(0, 2, 3, 1), gamma, beta, num_groups=3, axis=3)
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), expected)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_one_hot_agrees_with_onnx(apply, onnx_reference, random, axis):
    indices = random.integers(-5, 8, (2, 3))
    values = np.array([2, 5], np.float32)
    expected = onnx_reference("OneHot", indices, np.array(6), values, axis=axis)
    np.testing.assert_array_equal(apply(OneHotOp, indices, values[1], values[0], depth=6, axis=axis), expected)


def test_one_hot_accepts_unsigned_scalar_indices(apply):
    got = apply(OneHotOp, np.array(2, np.uint8), np.array(True), np.array(False), depth=3)
    np.testing.assert_array_equal(got, [False, False, True])


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(SoftmaxOp, "?x4xf32") == "?x4xf32"
    assert infer(BatchNormOp, "?x3x?xf32", "3xf32", "?xf32", "3xf32", "3xf32") == "?x3x?xf32"
    assert infer(LayerNormOp, "?x?xf32", "4xf32", "4xf32") == "?x?xf32"
    assert infer(GroupNormOp, "?x?x4xf32", "4xf32", "4xf32", num_groups=2) == "?x?x4xf32"
    assert infer(OneHotOp, "?x4xi64", "f32", "f32", depth=3, axis=1) == "?x3x4xf32"


@pytest.mark.parametrize(
    ("op_class", "types", "properties", "message"),
    [
        (SoftmaxOp, ("4xi32",), {}, "expects floating-point elements, got i32"),
        (SoftmaxOp, ("f32",), {}, "expects axes in [0, 0) for rank 0, got -1"),
        (LogSoftmaxOp, ("4xf32",), {"axis": 1}, "expects axes in [-1, 1) for rank 1, got 1"),
        (BatchNormOp, ("2x3xf32", "3xf32", "3xf32", "3xf32", "2xf32"), {}, "axis and 'variance', got 3 and 2"),
        (BatchNormOp, ("2x3xf32", "3xf32", "3xf32", "3xf64", "3xf32"), {}, "one element type, got f32 and f64"),
        (BatchNormOp, ("3xf32", "3xf32", "3xf32", "3xf32", "3xf32"), {}, "axes in [-1, 1) for rank 1, got 1"),
        (LayerNormOp, ("2x3xf32", "2xf32", "3xf32"), {}, "sizes of the normalized axis and 'gamma', got 3 and 2"),
        (LayerNormOp, ("2x3xf32", "3x1xf32", "3xf32"), {}, "expects 'gamma' of rank 1, got rank 2 (3x1)"),
        (InstanceNormOp, ("2x3xi8", "3xi8", "3xi8"), {}, "expects floating-point elements, got i8"),
        (GroupNormOp, ("2x3xf32", "3xf32", "3xf32"), {"num_groups": 2}, "expects channels divisible by 2, got 3"),
        (GroupNormOp, ("2x3xf32", "3xf32", "3xf32"), {"num_groups": 0}, "expects num_groups of at least 1, got 0"),
        (OneHotOp, ("2xf32", "f32", "f32"), {"depth": 2}, "expects integers in 'indices', got f32"),
        (OneHotOp, ("2xi64", "1xf32", "f32"), {"depth": 2}, "expects 'on_value' of rank 0, got rank 1 (1)"),
        (OneHotOp, ("2xi64", "f32", "i1"), {"depth": 2}, "expects operands of one element type, got f32 and i1"),
        (OneHotOp, ("2xi64", "f32", "f32"), {"depth": 0}, "expects depth of at least 1, got 0"),
        (OneHotOp, ("2xi64", "f32", "f32"), {"depth": 2, "axis": 2}, "expects axes in [-2, 2) for rank 2, got 2"),
    ],
)
def test_norms_reject(rejects, op_class, types, properties, message):
    assert message in rejects(op_class, *types, **properties)


def test_cost_is_a_number_of_operations_an_element(build):
    assert cost_of(build(SoftmaxOp, "2x4xf32")) == Cost(40, 64)
    assert cost_of(build(BatchNormOp, "2x3xf32", "3xf32", "3xf32", "3xf32", "3xf32")) == Cost(12, 4 * (6 + 12 + 6))
    assert build(LayerNormOp, "2x3xf32", "3xf32", "3xf32").flops() == 48
    assert build(OneHotOp, "2xi64", "f32", "f32", depth=5).flops() == 10
    assert cost_of(build(SoftmaxOp, "?x4xf32")) is None
