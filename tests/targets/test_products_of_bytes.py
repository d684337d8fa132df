"""Products with sums of 32 bits, written as ONNX and as linalg, give what NumPy gives."""

import numpy as np
import pytest

import fuse_dialect as fd

NCHW = "padding = [1, 0, 1, 2], strides = [2, 1]"
PROGRAMS = {
    "dense": (
        ((2, 5, 8), (3, 8)),
        'fuse.dense %x, %w, out_dtype = "i32" : (tensor<2x5x8xui8>, tensor<3x8xi8>) -> tensor<2x5x3xi32>',
    ),
    "matmul": (
        ((8, 5), (3, 8)),
        'fuse.matmul %x, %w, transpose_a = true, transpose_b = true, out_dtype = "i32"'
        " : (tensor<8x5xui8>, tensor<3x8xi8>) -> tensor<5x3xi32>",
    ),
    "batch_matmul": (
        ((2, 5, 8), (8, 3)),
        'fuse.batch_matmul %x, %w, out_dtype = "i32" : (tensor<2x5x8xui8>, tensor<8x3xi8>) -> tensor<2x5x3xi32>',
    ),
    "conv2d": (
        ((1, 4, 6, 5), (3, 4, 3, 2)),
        f'fuse.conv2d %x, %w, {NCHW}, pad_value = 200, out_dtype = "i32"'
        " : (tensor<1x4x6x5xui8>, tensor<3x4x3x2xi8>) -> tensor<1x3x3x6xi32>",
    ),
    "channels_last": (
        ((1, 6, 5, 4), (3, 3, 2, 4)),
        f'fuse.conv2d %x, %w, {NCHW}, data_layout = "NHWC", kernel_layout = "OHWI", pad_value = 9, out_dtype = "i32"'
        " : (tensor<1x6x5x4xui8>, tensor<3x3x2x4xi8>) -> tensor<1x3x6x3xi32>",
    ),
    "conv1d": (
        ((2, 4, 9), (6, 2, 3)),
        'fuse.conv1d %x, %w, padding = [2, 1], groups = 2, out_dtype = "i32"'
        " : (tensor<2x4x9xui8>, tensor<6x2x3xi8>) -> tensor<2x6x10xi32>",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_onnx_means_the_same(name: str, tmp_path) -> None:
    shapes, op = PROGRAMS[name]
    operands, result = op.split(" : ")[1].split(" -> ")
    types = operands.strip("()").split(", ")
    text = (
        f"func.func @main(%x: {types[0]}, %w: {types[1]}) -> {result} {{\n  %y = {op}\n  func.return %y : {result}\n}}"
    )
    random = np.random.default_rng(0)
    x = random.integers(0, 256, shapes[0]).astype(np.uint8)
    w = random.integers(-128, 128, shapes[1]).astype(np.int8)
    expected = fd.run(fd.parse(text), x, w)[0]
    fd.write(fd.parse(text), tmp_path / "model.onnx")
    got = fd.run(fd.read(tmp_path / "model.onnx"), x, w)[0]
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, expected)
