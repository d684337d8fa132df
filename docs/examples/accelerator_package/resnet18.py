"""ResNet-18 in 8 bits with random weights, as text: what a quantizer and `fake-quantization-to-integer` would give."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd

WIDTHS = (16, 32, 64, 128)
"""Channels of the four stages; a quarter of the published ones, and images of 64 x 64."""


class _Text:
    """Lines of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.random = np.random.default_rng(0)
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def constant(self, array: "np.ndarray", element: str) -> tuple[str, str]:
        name, shape = self.name(), "x".join(map(str, array.shape))
        type = f"tensor<{shape}x{element}>"
        data = np.ascontiguousarray(array).tobytes().hex().upper()
        self.lines.append(f'{name} = arith.constant dense<"0x{data}"> : {type}')
        return name, type

    def layer(
        self, x: str, shape: tuple[int, int, int], filters: int, kernel: int, stride: int, low: int
    ) -> tuple[str, tuple[int, int, int]]:
        """A convolution, a bias, and the conversion to bytes; a relu is a lower bound of the zero point."""
        channels, height, width = shape
        w, w_type = self.constant(
            self.random.integers(-127, 128, (filters, channels, kernel, kernel)).astype(np.int8), "i8"
        )
        b, b_type = self.constant(self.random.integers(-500, 500, filters).astype(np.int32), "i32")
        factors = np.full(filters, 1 / (40 * np.sqrt(channels * kernel * kernel)), np.float32)
        s, s_type = self.constant(factors * self.random.uniform(0.8, 1.2, filters).astype(np.float32), "f32")
        pad = kernel // 2
        rows, columns = (height + 2 * pad - kernel) // stride + 1, (width + 2 * pad - kernel) // stride + 1
        sums = f"tensor<1x{filters}x{rows}x{columns}xi32>"
        bytes_ = f"tensor<1x{filters}x{rows}x{columns}xi8>"
        conv, biased, result = self.name(), self.name(), self.name()
        x_type = f"tensor<1x{channels}x{height}x{width}xi8>"
        self.lines += [
            f"{conv} = fuse.conv2d {x}, {w}, strides = [{stride}, {stride}], padding = [{pad}, {pad}, {pad}, {pad}], "
            f'out_dtype = "i32" : ({x_type}, {w_type}) -> {sums}',
            f"{biased} = fuse.bias_add {conv}, {b} : ({sums}, {b_type}) -> {sums}",
            f"{result} = fuse.requantize {biased}, {s}, low = {low} : ({sums}, {s_type}) -> {bytes_}",
        ]
        return result, (filters, rows, columns)


def resnet18() -> ModuleOp:
    """The module."""
    text = _Text()
    x, shape = text.layer("%image", (3, 64, 64), WIDTHS[0], 7, 2, 0)
    pooled, (channels, height, width) = text.name(), shape
    before, after = f"tensor<1x{channels}x{height}x{width}xi8>", f"tensor<1x{channels}x{height // 2}x{width // 2}xi8>"
    text.lines.append(f"{pooled} = fuse.max_pool2d {x}, pool_size = [2, 2], strides = [2, 2] : ({before}) -> {after}")
    x, shape = pooled, (channels, height // 2, width // 2)
    for stage, filters in enumerate(WIDTHS):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y, inner = text.layer(x, shape, filters, 3, stride, 0)
            y, inner = text.layer(y, inner, filters, 3, 1, -128)
            if stride > 1:
                x, shape = text.layer(x, shape, filters, 1, stride, -128)
            added, type = text.name(), "tensor<1x" + "x".join(map(str, inner)) + "xi8>"
            scales = "lhs_scale = 0.05, rhs_scale = 0.06, scale = 0.07"
            text.lines.append(f"{added} = fuse.requantize_sum {x}, {y}, {scales}, low = 0 : {type}")
            x, shape = added, inner
    channels, height, width = shape
    w, w_type = text.constant(text.random.standard_normal((10, channels)).astype(np.float32), "f32")
    last = f"tensor<1x{channels}x{height}x{width}x"
    text.lines += [
        f"%real = fuse.cast {x} : ({last}i8>) -> {last}f32>",
        f"%mean = fuse.mean %real, axes = [2, 3] : ({last}f32>) -> tensor<1x{channels}xf32>",
        f"%scores = fuse.dense %mean, {w} : (tensor<1x{channels}xf32>, {w_type}) -> tensor<1x10xf32>",
        "func.return %scores : tensor<1x10xf32>",
    ]
    body = "\n".join(f"  {line}" for line in text.lines)
    return fd.parse(f"func.func @main(%image: tensor<1x3x64x64xi8>) -> tensor<1x10xf32> {{\n{body}\n}}\n")
