"""Images read at places that are data: against plain loops."""

from itertools import product

import numpy as np
import pytest

from fuse_dialect.dialect.ops.sampling import DeformableConv2dOp, GridSampleOp, RoiAlignOp


def pixel(image, index, padding, *, aligned):
    """The pixel of an image [*spatial] at whole coordinates."""
    if padding == "zeros" and any(not 0 <= i < size for i, size in zip(index, image.shape, strict=True)):
        return 0.0
    places = []
    for i, size in zip(index, image.shape, strict=True):
        if padding == "reflection":
            while not 0 <= i < size:
                low, high = (0, 2 * (size - 1)) if aligned else (-1, 2 * size - 1)
                i = low - i if i < 0 else high - i
        places.append(min(max(i, 0), size - 1))
    return image[tuple(places)]


def cubic(t, a=-0.75):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def value(image, place, mode, padding, *, aligned):
    """The value of an image at coordinates."""
    if mode == "nearest":
        return pixel(image, [int(np.rint(at)) for at in place], padding, aligned=aligned)
    reach, kernel = (1, lambda t: max(0.0, 1 - abs(t))) if mode == "linear" else (2, cubic)
    taps = [range(int(np.floor(at)) - reach + 1, int(np.floor(at)) + reach + 1) for at in place]
    total = 0.0
    for index in product(*taps):
        weight = np.prod([kernel(at - i) for at, i in zip(place, index, strict=True)])
        total += weight * pixel(image, list(index), padding, aligned=aligned)
    return total


@pytest.mark.parametrize("shape", [(1, 2, 5), (2, 2, 3, 4), (1, 1, 3, 2, 4)], ids=["line", "image", "volume"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("aligned", [False, True])
def test_grid_sample_is_its_definition(apply, random, shape, mode, padding, aligned):
    spatial = shape[2:]
    x = random.normal(size=shape)
    grid = random.uniform(-1.2, 1.2, (shape[0], *[2] * len(spatial), len(spatial)))
    got = apply(GridSampleOp, x, grid, mode=mode, padding_mode=padding, align_corners=aligned)
    for index in np.ndindex(*got.shape):
        n, c, *out = index
        point = grid[(n, *out)][::-1]
        sizes = np.array(spatial)
        place = (point + 1) / 2 * (sizes - 1) if aligned else ((point + 1) * sizes - 1) / 2
        if padding == "border" and mode != "cubic":
            low, high = (0, sizes - 1) if aligned else (-0.5, sizes - 0.5)
            place = np.where((place < low) | (place > high), np.clip(place, 0, sizes - 1), place)
        expected = value(x[n, c], place, mode, padding, aligned=aligned)
        assert abs(got[index] - expected) < 1e-9, index


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_reflection_agrees_with_onnx(apply, onnx_reference, random, mode, aligned):
    x = random.normal(size=(1, 2, 3, 4)).astype(np.float32)
    grid = random.uniform(-2.9, 2.9, (1, 4, 5, 2)).astype(np.float32)
    options = {"mode": mode, "padding_mode": "reflection", "align_corners": aligned}
    expected = onnx_reference("GridSample", x, grid, **options)
    got = apply(GridSampleOp, x, grid, mode=mode, padding_mode="reflection", align_corners=bool(aligned))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align_agrees_with_onnx(apply, onnx_reference, random, mode, ratio, aligned):
    x = random.normal(size=(2, 3, 6, 7)).astype(np.float32)
    corners = np.sort(random.uniform(-1, 9, (5, 2, 2)), axis=1).reshape(5, 4).astype(np.float32)
    samples = random.integers(0, 2, 5)
    expected = onnx_reference(
        "RoiAlign",
        x,
        corners,
        samples,
        mode=mode,
        output_height=2,
        output_width=3,
        sampling_ratio=ratio,
        spatial_scale=0.75,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )
    options = {"mode": mode, "pooled_size": [2, 3], "sampling_ratio": ratio, "spatial_scale": 0.75, "aligned": aligned}
    np.testing.assert_allclose(apply(RoiAlignOp, x, corners, samples, **options), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("parts", [1, 2])
def test_deformable_convolution_is_its_definition(apply, random, groups, parts):
    x, w = random.normal(size=(1, 4, 5, 4)), random.normal(size=(6, 4 // groups, 2, 3))
    strides, padding, dilation = [2, 1], [1, 0, 1, 2], [1, 2]
    counts = (5 + 2 - 2) // 2 + 1, (4 + 2 - 5) // 1 + 1
    offset = random.normal(size=(1, parts * 2 * 6, *counts))
    mask = random.uniform(size=(1, parts * 6, *counts))
    got = apply(
        DeformableConv2dOp,
        x,
        offset,
        mask,
        w,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        deformable_groups=parts,
    )
    for o, i, j in np.ndindex(6, *counts):
        total = 0.0
        for c, kh, kw in np.ndindex(4 // groups, 2, 3):
            channel = (o // (6 // groups)) * (4 // groups) + c
            tap = (channel // (4 // parts)) * 6 + kh * 3 + kw
            shift = offset[0, 2 * tap : 2 * tap + 2, i, j]
            place = np.array([i * 2 - 1 + kh, j + kw * 2]) + shift
            sampled = value(x[0, channel], place, "linear", "zeros", aligned=True)
            total += w[o, c, kh, kw] * mask[0, tap, i, j] * sampled
        assert abs(got[0, o, i, j] - total) < 1e-9


def test_costs_count_pixels_around_places(build):
    op = build(GridSampleOp, "1x2x4x4xf32", "1x3x5x2xf32")
    assert op.flops() == 3 * 4 * 2 * 15
    assert build(RoiAlignOp, "1x2x4x4xf32", "?x4xf32", "?xi64", pooled_size=[2, 2]).flops() is None


def test_a_deformable_convolution_of_no_images_gives_none(apply):
    shapes = (0, 2, 3, 3), (0, 8, 2, 2), (0, 4, 2, 2), (3, 2, 2, 2)
    assert apply(DeformableConv2dOp, *(np.zeros(shape, np.float32) for shape in shapes)).shape == (0, 3, 2, 2)
