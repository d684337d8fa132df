"""Pooling: the rule for the number of windows, meaning against loops over every window, cost."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.pooling import (
    AdaptiveAvgPool2dOp,
    AvgPool2dOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    MaxPool2dIndicesOp,
    MaxPool2dOp,
)
from fuse_dialect.lowering.loop_program import lower_op


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.uint8])
def test_the_greatest_of_nothing_is_the_least_value(apply, dtype):
    least = -np.inf if np.dtype(dtype).kind not in "iu" else np.iinfo(dtype).min
    result = apply(GlobalMaxPool2dOp, np.zeros((1, 2, 0, 3), dtype))
    np.testing.assert_array_equal(result, np.full((1, 2, 1, 1), least, dtype))


def onnx_size(size, window, stride, dilation, low, high, ceil_mode):
    """Number of windows as the ONNX operators MaxPool and AveragePool (opset 22) give it."""
    exact = (size + low + high - dilation * (window - 1) - 1) / stride + 1
    count = math.ceil(exact) if ceil_mode else math.floor(exact)
    return count - 1 if ceil_mode and (count - 1) * stride >= size + low else count


def loop_pooling(x, reduce, pool_size, strides, padding, dilation, ceil_mode):
    """`reduce(elements inside, positions inside or in the padding)` for every window of [N, C, H, W]."""
    low, high = padding[:2], padding[2:]
    sizes = [
        onnx_size(x.shape[2 + a], pool_size[a], strides[a], dilation[a], low[a], high[a], ceil_mode) for a in (0, 1)
    ]
    y = np.zeros((*x.shape[:2], *sizes))
    for n, c, *at in np.ndindex(*y.shape):
        inside, padded = [], 0
        for tap in np.ndindex(*pool_size):
            place = [at[a] * strides[a] + tap[a] * dilation[a] - low[a] for a in (0, 1)]
            padded += all(-low[a] <= place[a] < x.shape[2 + a] + high[a] for a in (0, 1))
            if all(0 <= place[a] < x.shape[2 + a] for a in (0, 1)):
                inside.append(x[(n, c, *place)])
        y[(n, c, *at)] = reduce(inside, padded)
    return y


WINDOWS = [
    {"pool_size": pool, "strides": strides, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    for pool, strides, padding, dilation, ceil_mode in itertools.product(
        [[2, 2], [3, 2]], [[1, 1], [2, 3]], [[0, 0, 0, 0], [1, 0, 1, 1]], [[1, 1], [2, 1]], [False, True]
    )
]

WINDOWS += [
    {"pool_size": [40, 9], "strides": [40, 9], "padding": [0, 1, 0, 0], "dilation": [1, 1], "ceil_mode": True},
    {"pool_size": [5, 3], "strides": [8, 2], "padding": [0, 0, 1, 0], "dilation": [2, 3], "ceil_mode": True},
]
"""Windows that are longer than the image: one that overhangs by less than a stride counts in ceil mode."""


@pytest.mark.parametrize("properties", WINDOWS)
def test_max_pool2d_is_its_definition(apply, random, properties):
    x = random.standard_normal((1, 2, 7, 8))
    expected = loop_pooling(x, lambda inside, padded: max(inside), **properties)
    np.testing.assert_array_equal(apply(MaxPool2dOp, x, **properties), expected)


@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize("properties", WINDOWS)
def test_avg_pool2d_is_its_definition(apply, random, properties, count_include_pad):
    x = random.standard_normal((1, 2, 7, 8))
    expected = loop_pooling(
        x, lambda inside, padded: sum(inside) / (padded if count_include_pad else len(inside)), **properties
    )
    np.testing.assert_allclose(apply(AvgPool2dOp, x, count_include_pad=count_include_pad, **properties), expected)


@pytest.mark.parametrize("op_class", [MaxPool2dOp, AvgPool2dOp])
def test_nhwc_is_the_transposed_nchw(apply, random, op_class):
    x = random.standard_normal((1, 3, 6, 7)).astype(np.float32)
    properties = {"pool_size": [3, 2], "strides": [2, 1], "padding": [1, 0, 1, 1]}
    got = apply(op_class, x.transpose(0, 2, 3, 1), layout="NHWC", **properties)
    np.testing.assert_array_equal(got.transpose(0, 3, 1, 2), apply(op_class, x, **properties))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling_agrees_with_onnx(apply, onnx_reference, random, op):
    x = random.standard_normal((1, 3, 8, 8)).astype(np.float32)
    expected = onnx_reference(op, x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    op_class = MaxPool2dOp if op == "MaxPool" else AvgPool2dOp
    got = apply(op_class, x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_max_pool2d_of_integers_never_takes_the_padding(apply, dtype):
    x = np.full((1, 1, 2, 2), np.iinfo(dtype).min, dtype)
    x[0, 0, 1, 1] = 3
    assert apply(MaxPool2dOp, x, pool_size=[2, 2], padding=[1, 1, 0, 0]).tolist() == [
        [[[np.iinfo(dtype).min] * 2, [np.iinfo(dtype).min, 3]]]
    ]


def test_max_pool2d_passes_nan_on(apply):
    x = np.array([[[[1.0, np.nan], [3.0, 4.0]]]])
    assert np.isnan(apply(MaxPool2dOp, x, pool_size=[2, 2])).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_averages_of_short_floats_are_summed_in_f32(apply, dtype):
    x = np.full((1, 1, 64, 64), 256, dtype)
    assert apply(GlobalAvgPool2dOp, x).item() == 256
    assert apply(AvgPool2dOp, x, pool_size=[64, 64]).item() == 256
    assert apply(AdaptiveAvgPool2dOp, x, output_size=[1, 1]).item() == 256


@pytest.mark.parametrize(("layout", "axes"), [("NCHW", (2, 3)), ("NHWC", (1, 2))])
def test_global_pooling_keeps_axes_of_size_one(apply, random, layout, axes):
    x = random.standard_normal((2, 3, 4, 5))
    np.testing.assert_array_equal(apply(GlobalMaxPool2dOp, x, layout=layout), x.max(axis=axes, keepdims=True))
    np.testing.assert_allclose(apply(GlobalAvgPool2dOp, x, layout=layout), x.mean(axis=axes, keepdims=True))


def test_adaptive_avg_pool2d_sums_a_window_before_it_divides(apply):
    x = np.array([[0, 0], [1, 1]], np.float32)[None, None] * np.finfo(np.float32).max
    with np.errstate(over="ignore"):
        assert apply(AdaptiveAvgPool2dOp, x, output_size=[1, 1]).item() == np.inf


@pytest.mark.parametrize("output_size", [[1, 1], [2, 3], [3, 4], [5, 7]])
def test_adaptive_avg_pool2d_is_its_definition(apply, random, output_size):
    x = random.standard_normal((2, 3, 5, 7))
    expected = np.zeros((2, 3, *output_size))
    for i, j in np.ndindex(*output_size):
        rows = slice(math.floor(i * 5 / output_size[0]), math.ceil((i + 1) * 5 / output_size[0]))
        columns = slice(math.floor(j * 7 / output_size[1]), math.ceil((j + 1) * 7 / output_size[1]))
        expected[:, :, i, j] = x[:, :, rows, columns].mean(axis=(2, 3))
    np.testing.assert_allclose(apply(AdaptiveAvgPool2dOp, x, output_size=output_size), expected)
    got = apply(AdaptiveAvgPool2dOp, x.transpose(0, 2, 3, 1), output_size=output_size, layout="NHWC")
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), expected)


def test_costs_of_adaptive_pools_count_the_elements_of_each_window(build):
    for size, count in itertools.product(range(1, 13), range(1, 17)):
        windows = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
        op = build(AdaptiveAvgPool2dOp, f"1x1x{size}x1xf32", output_size=[count, 1])
        assert op.flops() == sum(end - first for first, end in windows)


def test_loops_of_adaptive_pools_are_as_long_as_the_longest_window(build):
    for size, count in itertools.product(range(1, 13), range(1, 17)):
        longest = max(-(-(i + 1) * size // count) - i * size // count for i in range(count))
        program = lower_op(build(AdaptiveAvgPool2dOp, f"1x1x{size}x1xf32", output_size=[count, 1]))
        assert [axis.size for axis in program.stages[0].axes] == [1, 1, count, 1, longest, 1]


def test_an_adaptive_pool_of_more_windows_than_memory_has_room_for_has_loops(build):
    op = build(AdaptiveAvgPool2dOp, "1x1x4x4xf32", output_size=[10**15, 1])
    assert [axis.size for axis in lower_op(op).stages[0].axes] == [1, 1, 10**15, 1, 1, 4]
    assert op.flops() == 4 * 10**15


def test_ceil_mode_drops_a_window_that_starts_behind_the_operand(infer):
    properties = {"pool_size": [1, 1], "strides": [2, 2], "ceil_mode": True}
    assert infer(MaxPool2dOp, "1x1x2x2xf32", **properties) == "1x1x1x1xf32"
    assert infer(MaxPool2dOp, "1x1x4x4xf32", pool_size=[3, 3], strides=[2, 2], ceil_mode=True) == "1x1x2x2xf32"
    assert infer(MaxPool2dOp, "1x1x4x4xf32", pool_size=[3, 3], strides=[2, 2]) == "1x1x1x1xf32"


def test_a_window_longer_than_the_image_reads_no_more_than_the_image(apply):
    x = np.arange(4.0).reshape(1, 4, 1, 1)
    size = [10**9, 10**9]
    got = apply(AvgPool2dOp, x, pool_size=size, strides=size, ceil_mode=True)
    np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize("op_class", [MaxPool2dOp, AvgPool2dOp, MaxPool2dIndicesOp])
@pytest.mark.parametrize("batch", [0, 2])
def test_windows_over_padding_behind_an_axis_of_no_elements_see_nothing(apply, op_class, batch):
    x = np.zeros((batch, 1, 3, 0), np.float32)
    got = apply(op_class, x, pool_size=[2, 2], padding=[0, 0, 0, 3])
    nothing = {MaxPool2dOp: -np.inf, AvgPool2dOp: 0, MaxPool2dIndicesOp: -1}[op_class]
    np.testing.assert_array_equal(got, np.full((batch, 1, 2, 2), nothing, got.dtype))


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(MaxPool2dOp, "?x3x?x8xf32", pool_size=[2, 2], strides=[2, 2]) == "?x3x?x4xf32"
    assert infer(GlobalAvgPool2dOp, "?x?x?x?xf32") == "?x?x1x1xf32"
    assert infer(AdaptiveAvgPool2dOp, "?x3x?x?xf32", output_size=[7, 7]) == "?x3x7x7xf32"


@pytest.mark.parametrize(
    ("op_class", "type", "properties", "message"),
    [
        (MaxPool2dOp, "1x1x4xf32", {"pool_size": [2, 2]}, "expects 'input' of rank 4, got rank 3 (1x1x4)"),
        (MaxPool2dOp, "1x1x4x4xi1", {"pool_size": [2, 2]}, "expects numbers, got i1"),
        (MaxPool2dOp, "1x1x4x4xf32", {"pool_size": [2]}, "expects 2 numbers in pool_size, got 1 ([2])"),
        (MaxPool2dOp, "1x1x4x4xf32", {"pool_size": [0, 2]}, "expects pool_size of at least 1, got [0, 2]"),
        (MaxPool2dOp, "1x1x4x4xf32", {"pool_size": [5, 2]}, "a window of 5 on 4 elements with padding"),
        (MaxPool2dOp, "1x1x4x4xf32", {"pool_size": [2, 2], "layout": "NCW"}, "expects layout to be 'NCHW' or 'NHWC'"),
        (AvgPool2dOp, "1x1x4x4xi32", {"pool_size": [2, 2]}, "expects floating-point elements, got i32"),
        (AdaptiveAvgPool2dOp, "1x1x4x4xf32", {"output_size": [0, 1]}, "expects output_size of at least 1"),
    ],
)
def test_pooling_rejects(rejects, op_class, type, properties, message):
    assert message in rejects(op_class, type, **properties)


def test_cost_counts_the_window_for_each_element(build):
    assert cost_of(build(MaxPool2dOp, "1x2x8x8xf32", pool_size=[3, 2])) == Cost(2 * 6 * 7 * 6, 4 * (128 + 2 * 6 * 7))
    assert build(AvgPool2dOp, "1x2x8x8xf32", pool_size=[2, 2], strides=[2, 2]).flops() == 2 * 16 * 4
    assert build(GlobalMaxPool2dOp, "1x2x8x8xf32").flops() == 128
    assert build(AdaptiveAvgPool2dOp, "1x2x5x5xf32", output_size=[2, 1]).flops() == 2 * 6 * 5
    assert cost_of(build(MaxPool2dOp, "?x2x8x8xf32", pool_size=[3, 2])) is None
