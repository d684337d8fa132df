"""Convolutions: shape rule, meaning against loops over every index, cost."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from op_cost import Cost, cost_of

from fuse_dialect.dialect.ops.convolution import Conv1dOp, Conv2dOp, Conv2dTransposeOp, Conv3dOp, Conv3dTransposeOp


def loop_convolution(x, w, strides, padding, dilation, groups):
    """Convolution of [N, C, ...] by [O, C / groups, ...] as its definition says, one product after the other."""
    rank = x.ndim - 2
    low, high = padding[:rank], padding[rank:]
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high, strict=True)])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    sizes = [(size - r) // s + 1 for size, r, s in zip(x.shape[2:], reach, strides, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *sizes), np.float64)
    inner, outer = w.shape[1], w.shape[0] // groups
    for place in np.ndindex(*y.shape):
        n, o, *at = place
        for c, *tap in np.ndindex(*w.shape[1:]):
            index = [a * s + t * d for a, s, t, d in zip(at, strides, tap, dilation, strict=True)]
            y[place] += x[(n, o // outer * inner + c, *index)] * w[(o, c, *tap)]
    return y


def loop_transposed(x, w, strides, padding, output_padding, dilation, groups):
    """Each input element adds a scaled kernel to a canvas, which is then cropped."""
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    full = [(s - 1) * st + r + o for s, st, r, o in zip(x.shape[2:], strides, reach, output_padding, strict=True)]
    canvas = np.zeros((x.shape[0], w.shape[1] * groups, *full))
    inner = x.shape[1] // groups
    for n, c, h, v in np.ndindex(*x.shape):
        for o, i, j in np.ndindex(*w.shape[1:]):
            place = h * strides[0] + i * dilation[0], v * strides[1] + j * dilation[1]
            canvas[(n, c // inner * w.shape[1] + o, *place)] += x[n, c, h, v] * w[c, o, i, j]
    top, left, bottom, right = padding
    return canvas[:, :, top : full[0] - bottom, left : full[1] - right]


@pytest.mark.parametrize("strides", [[1, 1], [2, 1], [2, 3]])
@pytest.mark.parametrize("padding", [[0, 0, 0, 0], [1, 0, 2, 1]])
@pytest.mark.parametrize("dilation", [[1, 1], [2, 1]])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_conv2d_is_its_definition(apply, random, strides, padding, dilation, groups):
    x = random.standard_normal((1, 4, 6, 5)).astype(np.float32)
    w = random.standard_normal((8, 4 // groups, 3, 2)).astype(np.float32)
    properties = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    np.testing.assert_allclose(apply(Conv2dOp, x, w, **properties), loop_convolution(x, w, **properties), atol=1e-5)


@pytest.mark.parametrize("kernel_layout", ["OIHW", "HWIO"])
def test_conv2d_nhwc_is_the_transposed_nchw(apply, random, kernel_layout):
    x = random.standard_normal((1, 4, 5, 6)).astype(np.float32)
    w = random.standard_normal((6, 2, 3, 3)).astype(np.float32)
    expected = apply(Conv2dOp, x, w, groups=2, strides=[1, 2], padding=[1, 1, 1, 1])
    kernel = w if kernel_layout == "OIHW" else w.transpose(2, 3, 1, 0)
    properties = {"groups": 2, "strides": [1, 2], "padding": [1, 1, 1, 1], "kernel_layout": kernel_layout}
    got = apply(Conv2dOp, x.transpose(0, 2, 3, 1), kernel, data_layout="NHWC", **properties)
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), expected, atol=1e-6)


def test_conv1d_is_its_definition(apply, random):
    x, w = random.standard_normal((2, 4, 11)), random.standard_normal((6, 2, 3))
    properties = {"strides": [2], "padding": [2, 1], "dilation": [3], "groups": 2}
    np.testing.assert_allclose(apply(Conv1dOp, x, w, **properties), loop_convolution(x, w, **properties))
    channels_last = apply(
        Conv1dOp, x.transpose(0, 2, 1), w.transpose(2, 1, 0), data_layout="NWC", kernel_layout="WIO", **properties
    )
    np.testing.assert_allclose(channels_last.transpose(0, 2, 1), loop_convolution(x, w, **properties))


def test_conv3d_is_its_definition(apply, random):
    x, w = random.standard_normal((1, 2, 5, 4, 6)), random.standard_normal((4, 1, 2, 3, 2))
    properties = {"strides": [1, 2, 1], "padding": [1, 0, 2, 0, 1, 1], "dilation": [2, 1, 1], "groups": 2}
    np.testing.assert_allclose(apply(Conv3dOp, x, w, **properties), loop_convolution(x, w, **properties))


def test_conv_agrees_with_onnx(apply, onnx_reference, random):
    x = random.standard_normal((1, 3, 8, 8)).astype(np.float32)
    w = random.standard_normal((4, 3, 3, 3)).astype(np.float32)
    expected = onnx_reference("Conv", x, w, pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3])
    np.testing.assert_allclose(apply(Conv2dOp, x, w, padding=[1, 1, 1, 1], strides=[2, 2]), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_conv2d_of_short_floats_sums_in_f32(apply, dtype):
    x, w = np.ones((1, 4096, 1, 1), dtype), np.ones((1, 4096, 1, 1), dtype)
    assert apply(Conv2dOp, x, w).item() == 4096


def test_conv2d_of_integers_wraps(apply):
    x, w = np.full((1, 2, 1, 1), 100, np.int8), np.ones((1, 2, 1, 1), np.int8)
    assert apply(Conv2dOp, x, w).item() == 200 - 256


def test_conv2d_of_an_empty_batch_is_empty(apply):
    assert apply(Conv2dOp, np.zeros((0, 2, 4, 4), np.float32), np.zeros((3, 2, 3, 3), np.float32)).shape == (0, 3, 2, 2)
    x = np.zeros((0, 2, 4, 4), np.float32)
    assert apply(Conv2dTransposeOp, x, np.zeros((2, 3, 3, 3), np.float32)).shape == (0, 3, 6, 6)
    assert apply(Conv3dTransposeOp, x[..., None], np.zeros((2, 3, 3, 3, 1), np.float32)).shape == (0, 3, 6, 6, 1)


@pytest.mark.parametrize("outputs", [0, 3])
def test_convolutions_without_channels_give_zeros(apply, outputs):
    x = np.ones((1, 0, 4, 4), np.float32)
    for op, w, size in ((Conv2dOp, (outputs, 0, 3, 3), 2), (Conv2dTransposeOp, (0, outputs, 3, 3), 6)):
        np.testing.assert_array_equal(apply(op, x, np.ones(w, np.float32)), np.zeros((1, outputs, size, size)))


@pytest.mark.parametrize(
    ("strides", "padding", "output_padding", "dilation", "groups"),
    list(itertools.product([[1, 1], [2, 3]], [[0, 0, 0, 0], [1, 0, 1, 2]], [[0, 0], [1, 0]], [[1, 1], [2, 1]], [1, 2])),
)
def test_conv2d_transpose_is_its_definition(apply, random, strides, padding, output_padding, dilation, groups):
    x, w = random.standard_normal((2, 4, 3, 4)), random.standard_normal((4, 3, 3, 2))
    properties = {
        "strides": strides,
        "padding": padding,
        "output_padding": output_padding,
        "dilation": dilation,
        "groups": groups,
    }
    np.testing.assert_allclose(apply(Conv2dTransposeOp, x, w, **properties), loop_transposed(x, w, **properties))


def test_conv2d_transpose_nhwc_is_the_transposed_nchw(apply, random):
    x, w = random.standard_normal((1, 4, 3, 4)), random.standard_normal((4, 3, 3, 2))
    expected = apply(Conv2dTransposeOp, x, w, strides=[2, 2])
    got = apply(Conv2dTransposeOp, x.transpose(0, 2, 3, 1), w, strides=[2, 2], data_layout="NHWC")
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2), expected)


def test_conv2d_transpose_agrees_with_onnx(apply, onnx_reference, random):
    x = random.standard_normal((1, 1, 3, 3)).astype(np.float32)
    w = random.standard_normal((1, 2, 3, 3)).astype(np.float32)
    expected = onnx_reference("ConvTranspose", x, w, strides=[3, 2], pads=[1, 2, 1, 2])
    np.testing.assert_allclose(
        apply(Conv2dTransposeOp, x, w, strides=[3, 2], padding=[1, 2, 1, 2]), expected, atol=1e-6
    )


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(Conv2dOp, "?x3x?x8xf32", "4x3x3x3xf32") == "?x4x?x6xf32"
    assert infer(Conv2dOp, "1x?x8x8xf32", "?x3x3x3xf32", groups=2) == "1x?x6x6xf32"
    assert infer(Conv2dOp, "1x3x8x8xf32", "4x3x?x3xf32") == "1x4x?x6xf32"
    assert infer(Conv2dTransposeOp, "?x4x?x4xf32", "4x2x3x3xf32", groups=2) == "?x4x?x6xf32"


@pytest.mark.parametrize(
    ("types", "properties", "message"),
    [
        (("1x3x8x8xf32", "4x2x3x3xf32"), {}, "input channels of a group and of 'weight', got 3 and 2"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"groups": 2}, "expects input channels divisible by 2, got 3"),
        (("1x4x8x8xf32", "3x2x3x3xf32"), {"groups": 2}, "expects output channels divisible by 2, got 3"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"groups": 0}, "expects groups of at least 1, got 0"),
        (("1x3x8xf32", "4x3x3x3xf32"), {}, "expects 'input' of rank 4, got rank 3 (1x3x8)"),
        (("1x3x8x8xf32", "4x3x3x3xf16"), {}, "expects operands of one element type, got f32 and f16"),
        (("1x3x8x8xi1", "4x3x3x3xi1"), {}, "expects numbers, got i1"),
        (("1x3x2x8xf32", "4x3x3x3xf32"), {}, "a window of 3 on 2 elements with padding (spatial axis 0)"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"strides": [1]}, "expects 2 numbers in strides, got 1 ([1])"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"strides": [0, 1]}, "expects strides of at least 1, got [0, 1]"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"padding": [1, 1]}, "expects 4 numbers in padding, got 2 ([1, 1])"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"padding": [0, 0, 0, -1]}, "expects padding of at least 0"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"data_layout": "NCWH"}, "expects data_layout to be 'NCHW' or 'NHWC'"),
        (("1x3x8x8xf32", "4x3x3x3xf32"), {"kernel_layout": "IOHW"}, "expects kernel_layout to be 'OIHW' or 'HWIO'"),
        (("1x3x8x8xf32", "4x3x0x3xf32"), {}, "expects windows of at least one element, got [0, 3]"),
    ],
)
def test_conv2d_rejects(rejects, types, properties, message):
    assert message in rejects(Conv2dOp, *types, **properties)


def test_conv2d_transpose_rejects_padding_beyond_the_result(rejects):
    message = rejects(Conv2dTransposeOp, "1x1x1x1xf32", "1x1x2x2xf32", padding=[2, 0, 1, 0])
    assert message == "expects padding of at most 2 in all, got 3 (spatial axis 0)"


def test_cost_counts_two_for_each_product(build):
    conv = build(Conv2dOp, "1x4x8x8xf32", "6x2x3x3xf32", groups=2)
    assert cost_of(conv) == Cost(2 * 6 * 6 * 6 * 2 * 3 * 3, 4 * (4 * 64 + 6 * 2 * 9 + 6 * 36))
    assert build(Conv1dOp, "1x4x8xf32", "6x4x3xf32").flops() == 2 * 6 * 6 * 4 * 3
    assert build(Conv3dOp, "1x1x4x4x4xf32", "1x1x2x2x2xf32").flops() == 2 * 27 * 8
    assert build(Conv2dTransposeOp, "1x4x3x3xf32", "4x3x2x2xf32", groups=2).flops() == 2 * 4 * 9 * 3 * 4
    assert cost_of(build(Conv2dOp, "?x4x8x8xf32", "6x2x3x3xf32", groups=2)) is None


def test_resnet50_stem_costs_what_is_published(build):
    stem = build(Conv2dOp, "1x3x224x224xf32", "64x3x7x7xf32", strides=[2, 2], padding=[3, 3, 3, 3])
    assert stem.flops() == 2 * 118_013_952
