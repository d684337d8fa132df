"""Ops that pick elements: shape rule, meaning against NumPy slices, loops and ONNX's reference, cost."""

import itertools

import numpy as np
import pytest
from op_cost import Cost, cost_of
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp, PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.resizing import Resize2dOp

GREATEST, LEAST = 2**63 - 1, -(2**63)


def counted(*shape):
    """The numbers 0, 1, ... under a shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_of_a_single_number_is_that_number(apply, mode):
    x = np.array(3, np.float32)
    result = apply(PadOp, x, np.array(0, np.float32), low=[], high=[], mode=mode)
    assert result.shape == ()
    assert result == x


@pytest.mark.parametrize("begin", [0, 2, -3, -100, 100, GREATEST])
@pytest.mark.parametrize("end", [0, 4, -1, -100, 100, GREATEST, LEAST])
@pytest.mark.parametrize("stride", [1, 2, -1, -3])
def test_strided_slice_agrees_with_onnx(apply, onnx_reference, begin, end, stride):
    x = counted(5, 2)
    expected = onnx_reference("Slice", x, *(np.array([number]) for number in (begin, end, 0, stride)))
    np.testing.assert_array_equal(apply(StridedSliceOp, x, begin=[begin], end=[end], strides=[stride]), expected)


def test_strided_slice_takes_the_first_axes_or_named_ones(apply):
    x = counted(4, 5, 6)
    np.testing.assert_array_equal(apply(StridedSliceOp, x, begin=[1, 2], end=[3, 4]), x[1:3, 2:4])
    got = apply(StridedSliceOp, x, begin=[1, -1], end=[3, LEAST], strides=[1, -2], axes=[-1, 0])
    np.testing.assert_array_equal(got, x[::-2, :, 1:3])
    np.testing.assert_array_equal(apply(StridedSliceOp, x, begin=[], end=[]), x)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
def test_take_picks_slices(apply, axis, mode):
    x = counted(3, 4, 5)
    indices = np.array([[0, -1], [2, -3]])
    properties = {} if axis is None else {"axis": axis}
    np.testing.assert_array_equal(apply(TakeOp, x, indices, mode=mode, **properties), np.take(x, indices, axis))


def test_take_clips_or_wraps_indices_out_of_range(apply):
    x, indices = counted(4), np.array([-9, -5, 4, 9])
    np.testing.assert_array_equal(apply(TakeOp, x, indices, axis=0), [0, 0, 3, 3])
    np.testing.assert_array_equal(apply(TakeOp, x, indices, axis=0, mode="wrap"), [3, 3, 0, 1])


def test_take_accepts_narrow_and_scalar_indices(apply):
    np.testing.assert_array_equal(apply(TakeOp, counted(300, 2), np.array(200, np.uint8), axis=0), [400, 401])
    np.testing.assert_array_equal(apply(TakeOp, counted(300), np.array([-1], np.int8), axis=0), [299])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_agrees_with_onnx(apply, onnx_reference, random, axis):
    x, indices = counted(3, 4, 5), random.integers(-3, 3, (3, 4, 5))
    expected = onnx_reference("GatherElements", x, indices, axis=axis)
    np.testing.assert_array_equal(apply(GatherOp, x, indices, axis=axis), expected)


def test_gather_takes_fewer_positions_off_the_axis(apply):
    x = counted(3, 4)
    np.testing.assert_array_equal(apply(GatherOp, x, np.array([[2, -1]]), axis=0), [[8, 9]])


@pytest.mark.parametrize(
    ("shape", "indices_shape", "batch_dims"),
    [((3, 4, 3), (2, 1), 0), ((3, 3, 3), (2, 3), 0), ((3, 4, 3), (5, 2, 2), 0), ((2, 3, 3), (2, 1), 1),
     ((2, 3, 3), (2, 4, 2), 1), ((2, 3, 4, 3), (2, 3, 1), 2), ((2, 3, 4), (2, 5, 2, 1), 1)],
)  # fmt: skip
def test_gather_nd_agrees_with_onnx(apply, onnx_reference, random, shape, indices_shape, batch_dims):
    x, indices = counted(*shape), random.integers(-3, 3, indices_shape)
    expected = onnx_reference("GatherND", x, indices, batch_dims=batch_dims)
    np.testing.assert_array_equal(apply(GatherNdOp, x, indices, batch_dims=batch_dims), expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize(("low", "high"), [([0, 0], [0, 0]), ([1, 2], [2, 0]), ([2, 0], [1, 3])])
def test_pad_agrees_with_onnx(apply, onnx_reference, mode, low, high):
    x, value = counted(3, 4), np.array(7, np.float32)
    expected = onnx_reference("Pad", x, np.array(low + high), value, mode=mode)
    np.testing.assert_array_equal(apply(PadOp, x, value, low=low, high=high, mode=mode), expected)


def test_pad_crops_where_a_width_is_negative(apply):
    x, value = counted(3, 4), np.array(7, np.float32)
    np.testing.assert_array_equal(apply(PadOp, x, value, low=[-1, 0], high=[0, -2]), x[1:, :2])
    got = apply(PadOp, x, value, low=[1, -1], high=[-2, 1], mode="edge")
    np.testing.assert_array_equal(got, [[1, 2, 3, 3], [1, 2, 3, 3]])
    np.testing.assert_array_equal(apply(PadOp, x, value, low=[-3, 0], high=[0, 0]), np.zeros((0, 4)))


def test_pad_with_infinity_and_booleans(apply):
    got = apply(PadOp, counted(1), np.array(-np.inf, np.float32), low=[1], high=[0])
    np.testing.assert_array_equal(got, [-np.inf, 0])
    np.testing.assert_array_equal(apply(PadOp, np.array([False]), np.array(True), low=[0], high=[1]), [False, True])


COORDINATES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
SIZES = [[7, 9], [2, 3], [1, 1], [4, 5]]


@pytest.mark.parametrize("mode", COORDINATES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("nearest_mode", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize2d_nearest_agrees_with_onnx(apply, onnx_reference, mode, size, nearest_mode):
    x = counted(1, 2, 4, 5)
    expected = onnx_reference(
        "Resize", x, None, None, np.array([1, 2, *size]), mode="nearest", coordinate_transformation_mode=mode,
        nearest_mode=nearest_mode,
    )  # fmt: skip
    properties = {"coordinate_transformation_mode": mode, "nearest_mode": nearest_mode}
    np.testing.assert_array_equal(apply(Resize2dOp, x, size=size, **properties), expected)


@pytest.mark.parametrize("mode", COORDINATES)
@pytest.mark.parametrize("size", SIZES)
def test_resize2d_linear_agrees_with_onnx(apply, onnx_reference, random, mode, size):
    x = random.standard_normal((1, 2, 4, 5)).astype(np.float32)
    sizes = np.array([1, 2, *size])
    expected = onnx_reference("Resize", x, None, None, sizes, mode="linear", coordinate_transformation_mode=mode)
    got = apply(Resize2dOp, x, size=size, method="linear", coordinate_transformation_mode=mode)
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize("method", ["nearest", "linear"])
@pytest.mark.parametrize("mode", COORDINATES)
@pytest.mark.parametrize("scales", [[0.6, 0.6], [1.7, 2.3], [0.25, 2.0]])
def test_resize2d_uses_given_scales_as_onnx_does(apply, onnx_reference, random, method, mode, scales):
    x = random.standard_normal((1, 1, 4, 5))
    all_scales = np.array([1, 1, *scales])
    properties = {"coordinate_transformation_mode": mode}
    expected = onnx_reference("Resize", x, None, all_scales, mode=method, **properties)
    got = apply(Resize2dOp, x, size=expected.shape[2:], scales=scales, method=method, **properties)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_resize2d_nhwc_is_the_transposed_nchw(apply, method):
    x = counted(1, 2, 4, 5)
    got = apply(Resize2dOp, x.transpose(0, 2, 3, 1), size=[6, 3], layout="NHWC", method=method)
    np.testing.assert_array_equal(got.transpose(0, 3, 1, 2), apply(Resize2dOp, x, size=[6, 3], method=method))


def test_dynamic_sizes_stay_dynamic(infer):
    assert infer(StridedSliceOp, "?x4xf32", begin=[1, 1], end=[3, 3]) == "?x2xf32"
    assert infer(StridedSliceOp, "?x4xf32", begin=[1], end=[3], axes=[1]) == "?x2xf32"
    assert infer(TakeOp, "?x4x5xf32", "2x?xi64", axis=1) == "?x2x?x5xf32"
    assert infer(TakeOp, "?x4xf32", "i32") == "f32"
    assert infer(GatherOp, "?x4xf32", "2x?xi64") == "2x?xf32"
    assert infer(GatherNdOp, "?x4x5xf32", "?x3x1xi64", batch_dims=1) == "?x3x5xf32"
    assert infer(PadOp, "?x4xf32", "f32", low=[1, 1], high=[1, 1]) == "?x6xf32"
    assert infer(Resize2dOp, "?x3x?x?xf32", size=[8, 8]) == "?x3x8x8xf32"


@pytest.mark.parametrize(
    ("op_class", "types", "properties", "message"),
    [
        (StridedSliceOp, ("4xf32",), {"begin": [0], "end": [1, 2]}, "expects 1 number in end, got 2 ([1, 2])"),
        (StridedSliceOp, ("4xf32",), {"begin": [0], "end": [1], "strides": [0]}, "strides other than 0, got [0]"),
        (StridedSliceOp, ("4xf32",), {"begin": [0, 0], "end": [1, 1]}, "expects at most 1 numbers in begin, got 2"),
        (StridedSliceOp, ("4x4xf32",), {"begin": [0, 1], "end": [1, 2], "axes": [0, -2]}, "axis 0 is named twice"),
        (StridedSliceOp, ("4xf32",), {"begin": [0], "end": [1], "axes": [1]}, "axes in [-1, 1) for rank 1, got 1"),
        (TakeOp, ("4xf32", "2xf32"), {}, "expects integers in 'indices', got f32"),
        (TakeOp, ("4xf32", "2xi64"), {"mode": "raise"}, "expects mode to be 'clip' or 'wrap' or 'fast', got 'raise'"),
        (TakeOp, ("4xf32", "2xi64"), {"axis": 1}, "axes in [-1, 1) for rank 1, got 1"),
        (GatherOp, ("4x4xf32", "2xi64"), {}, "expects 'indices' of rank 2, got rank 1 (2)"),
        (GatherOp, ("4x4xf32", "9x5xi64"), {}, "got 9x5 and 4x4 (dimension 1: 5 vs 4)"),
        (GatherNdOp, ("4x4xf32", "2x3xi64"), {}, "expects a last axis of 'indices' in [1, 2], got 3"),
        (GatherNdOp, ("4x4xf32", "2x?xi64"), {}, "expects a last axis of 'indices' in [1, 2], got ?"),
        (GatherNdOp, ("4x4xf32", "2x1xi64"), {"batch_dims": 2}, "expects batch_dims in [0, 2), got 2"),
        (GatherNdOp, ("4x4xf32", "2x1xi64"), {"batch_dims": 1}, "got 4 and 2 (dimension 0: 4 vs 2)"),
        (GatherNdOp, ("4x4xf32", "i64"), {}, "expects 'indices' of rank 1 or more, got rank 0 (scalar)"),
        (PadOp, ("4xf32", "1xf32"), {"low": [0], "high": [0]}, "expects 'value' of rank 0, got rank 1 (1)"),
        (PadOp, ("4xf32", "f64"), {"low": [0], "high": [0]}, "expects operands of one element type, got f32 and f64"),
        (PadOp, ("4xf32", "f32"), {"low": [0, 0], "high": [0]}, "expects 1 number in low, got 2 ([0, 0])"),
        (PadOp, ("4xf32", "f32"), {"low": [-3], "high": [-2]}, "that fit 4 elements on axis 0, got -3 and -2"),
        (PadOp, ("0xf32", "f32"), {"low": [1], "high": [0], "mode": "edge"}, "expects widths that fit 0 elements"),
        (PadOp, ("4xf32", "f32"), {"low": [0], "high": [0], "mode": "mirror"}, "or 'wrap', got 'mirror'"),
        (Resize2dOp, ("1x1x4x4xi32",), {"size": [2, 2], "method": "linear"}, "floating-point elements, got i32"),
        (Resize2dOp, ("1x1x4x4xf32",), {"size": [2, 2], "method": "area"}, "got 'area'"),
        (Resize2dOp, ("1x1x4x4xf32",), {"size": [0, 2]}, "expects size of at least 1, got [0, 2]"),
        (Resize2dOp, ("1x1x0x4xf32",), {"size": [2, 2]}, "expects pixels to sample, got 1x1x0x4"),
        (Resize2dOp, ("1x1x4x4xf32",), {"size": [2, 2], "scales": [0.5]}, "expects 2 positive numbers in scales"),
        (Resize2dOp, ("1x1x4x4xf32",), {"size": [2, 2], "scales": [0.5, -1.0]}, "got [0.5, -1.0]"),
        (Resize2dOp, ("1x1x4xf32",), {"size": [2, 2]}, "expects 'input' of rank 4, got rank 3 (1x1x4)"),
    ],
)  # fmt: skip
def test_picks_reject(rejects, op_class, types, properties, message):
    assert message in rejects(op_class, *types, **properties)


@pytest.mark.parametrize("op_class", [GatherOp, GatherNdOp])
@pytest.mark.parametrize("index", [3, -4])
def test_gather_refuses_indices_out_of_range(build, op_class, index):
    op = build(op_class, "3xf32", "1xi64")
    with pytest.raises(IndexError):
        op.evaluate(counted(3), np.array([index]))


def test_what_picks_elements_reads_what_it_picks(build):
    assert cost_of(build(StridedSliceOp, "8xf32", begin=[2], end=[4])) == Cost(0, 8 + 8)
    assert cost_of(build(TakeOp, "30522x768xf32", "2x64xi64", axis=0)) == Cost(0, 4 * 2 * 64 * 768 * 2 + 8 * 2 * 64)
    assert cost_of(build(TakeOp, "2x4xf32", "9xi64", axis=0)) == Cost(0, 4 * 8 + 4 * 36 + 8 * 9)


def test_cost_counts_interpolations_alone(build):
    assert build(Resize2dOp, "1x1x4x4xf32", size=[8, 8]).flops() == 0
    assert build(Resize2dOp, "1x1x4x4xf32", size=[8, 8], method="linear").flops() == 64 * 9
    assert build(TakeOp, "?x4xf32", "2xi64", axis=0).flops() == 0
    assert build(TakeOp, "?x4xf32", "?xi64", axis=0).flops() is None


def test_no_slice_leaves_an_operand_with_every_combination_of_open_sides(apply):
    x = counted(4)
    for begin, end in itertools.product([0, LEAST], [4, GREATEST]):
        np.testing.assert_array_equal(apply(StridedSliceOp, x, begin=[begin], end=[end]), x)


def test_no_pixels_are_sampled_of_an_axis_without_any(build):
    op = build(Resize2dOp, "1x2x2x?xf32", size=[5, 2], coordinate_transformation_mode="asymmetric")
    with pytest.raises(VerifyException, match="expects pixels"):
        op.evaluate(np.zeros((1, 2, 2, 0), np.float32))
