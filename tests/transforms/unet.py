"""A U-Net: a way down with pools, a way up with transposed convolutions, and a concatenation at every height.

Source: Ronneberger, Fischer and Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation", MICCAI 2015,
doi:10.1007/978-3-319-24574-4_28; padded convolutions, so that skips need no cropping.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.activation import ReluOp
from fuse_dialect.dialect.ops.broadcast import BiasAddOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp, Conv2dTransposeOp
from fuse_dialect.dialect.ops.pooling import MaxPool2dOp
from fuse_dialect.dialect.types import is_tensor, tensor


class _Builder:
    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def add(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def weight(self, *shape: int) -> SSAValue:
        return self.add(constant(np.full(shape, 0.01, np.float32)))

    def convolution(self, x: SSAValue, channels: int, size: int = 3) -> SSAValue:
        assert is_tensor(x.type)
        weight = self.weight(channels, x.type.get_shape()[1], size, size)
        y = self.add(Conv2dOp(x, weight, padding=[size // 2] * 4))
        return self.add(BiasAddOp(y, self.weight(channels)))

    def double(self, x: SSAValue, channels: int) -> SSAValue:
        for _ in range(2):
            x = self.add(ReluOp(self.convolution(x, channels)))
        return x

    def up(self, x: SSAValue, channels: int) -> SSAValue:
        weight = self.weight(2 * channels, channels, 2, 2)
        y = self.add(Conv2dTransposeOp(x, weight, strides=[2, 2]))
        return self.add(BiasAddOp(y, self.weight(channels)))


def unet(heights: Sequence[int] = (64, 128, 256, 512, 1024), size: int = 128, classes: int = 2) -> ModuleOp:
    """The network on one RGB image.

    Args:
        heights: Channels at each height, from the top to the bottom.
        size: Rows and columns of the image; a multiple of 2 to the number of heights less one.
        classes: Channels of the result.
    """
    builder = _Builder()
    function = FuncOp("main", ([tensor([1, 3, size, size], f32)], []))
    x: SSAValue = function.body.block.args[0]
    skips: list[SSAValue] = []
    for channels in heights[:-1]:
        skips.append(builder.double(x, channels))
        x = builder.add(MaxPool2dOp(skips[-1], pool_size=[2, 2], strides=[2, 2]))
    x = builder.double(x, heights[-1])
    for channels in reversed(heights[:-1]):
        x = builder.add(ConcatenateOp(skips.pop(), builder.up(x, channels), axis=1))
        x = builder.double(x, channels)
    result = builder.convolution(x, classes, 1)
    function.body.block.add_ops([*builder.ops, ReturnOp(result)])
    function.update_function_type()
    return ModuleOp([function])
