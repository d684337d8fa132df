"""Ten small networks in the words of the dialect, with constant weights and batch norms folded.

Layers are as many as the published ones have for ResNet-18 and MobileNetV2; all are narrow, and images are small.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    concatenation,
    convolution,
    indexing,
    layout,
    matmul,
    normalization,
    pooling,
    reduction,
    resizing,
    trigonometry,
)
from fuse_dialect.dialect.types import tensor_type


class Net:
    """A function that is being built."""

    def __init__(self, *shape: int):
        self.function = func.FuncOp("main", ([TensorType(f32, shape)], []))
        self.input: SSAValue = self.function.body.block.args[0]
        self.random = np.random.default_rng(0)

    def add(self, op: FuseOp | arith.ConstantOp) -> SSAValue:
        self.function.body.block.add_op(op)
        return op.results[0]

    def weight(self, *shape: int) -> SSAValue:
        scale = 1 / np.sqrt(max(1, np.prod(shape[1:])))
        return self.add(constant((self.random.standard_normal(shape) * scale).astype(np.float32)))

    def conv(self, x: SSAValue, channels: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> SSAValue:
        depth = channels_of(x) // groups
        w = self.weight(channels, depth, kernel, kernel)
        pad = kernel // 2
        op = convolution.Conv2dOp(x, w, strides=[stride] * 2, padding=[pad] * 4, groups=groups)
        return self.add(broadcast.BiasAddOp(self.add(op), self.weight(channels)))

    def dense(self, x: SSAValue, width: int) -> SSAValue:
        y = self.add(matmul.DenseOp(x, self.weight(width, tensor_type(x).get_shape()[-1])))
        return self.add(broadcast.BiasAddOp(y, self.weight(width), axis=-1))

    def relu(self, x: SSAValue) -> SSAValue:
        return self.add(activation.ReluOp(x))

    def relu6(self, x: SSAValue) -> SSAValue:
        return self.add(activation.ClipOp(x, min=0.0, max=6.0))

    def sum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.add(broadcast.AddOp(x, y))

    def mean(self, x: SSAValue) -> SSAValue:
        return self.add(reduction.MeanOp(x, axes=[2, 3]))

    def pool(self, x: SSAValue) -> SSAValue:
        return self.add(pooling.MaxPool2dOp(x, pool_size=[2, 2], strides=[2, 2]))

    def module(self, *results: SSAValue) -> ModuleOp:
        self.function.body.block.add_op(func.ReturnOp(*results))
        self.function.update_function_type()
        module = ModuleOp([self.function])
        module.verify()
        return module


def channels_of(x: SSAValue) -> int:
    return tensor_type(x).get_shape()[1]


def resnet18(*, squeezes: bool = False) -> ModuleOp:
    """18 layers of weights, with sums around pairs; `squeezes` puts a squeeze-and-excitation before each sum."""
    net = Net(1, 3, 32, 32)
    x = net.pool(net.relu(net.conv(net.input, 8, 7, 2)))
    for channels, stride in ((8, 1), (8, 1), (16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        y = net.conv(net.relu(net.conv(x, channels, 3, stride)), channels)
        if squeezes:
            y = squeeze(net, y, 4)
        if stride > 1:
            x = net.conv(x, channels, 1, stride)
        x = net.relu(net.sum(y, x))
    return net.module(net.dense(net.mean(x), 10))


def squeeze(net: Net, x: SSAValue, width: int) -> SSAValue:
    """Channels scaled by what two layers make of their means."""
    channels = channels_of(x)
    gates = net.add(activation.SigmoidOp(net.dense(net.relu(net.dense(net.mean(x), width)), channels)))
    shaped = net.add(layout.ReshapeOp(gates, result_types=[TensorType(f32, [1, channels, 1, 1])]))
    return net.add(broadcast.MultiplyOp(x, shaped))


def inverted_residuals(net: Net, x: SSAValue, rows: Sequence[tuple[int, int, int, int]], *, squeezes: bool) -> SSAValue:
    for factor, channels, count, first in rows:
        for number in range(count):
            stride, depth = (first if number == 0 else 1), channels_of(x)
            y = x if factor == 1 else net.relu6(net.conv(x, depth * factor, 1))
            y = net.relu6(net.conv(y, depth * factor, 3, stride, depth * factor))
            if squeezes:
                y = squeeze(net, y, 4)
            y = net.conv(y, channels, 1)
            x = net.sum(y, x) if stride == 1 and depth == channels else y
    return x


def mobilenet_v2(size: int = 32) -> ModuleOp:
    """The 52 convolutions of MobileNetV2, and its ten sums, on an image of so many rows and columns."""
    net = Net(1, 3, size, size)
    x = net.relu6(net.conv(net.input, 8, 3, 2))
    rows = [(1, 4, 1, 1), (6, 4, 2, 2), (6, 8, 3, 2), (6, 8, 4, 2), (6, 12, 3, 1), (6, 16, 3, 2), (6, 20, 1, 1)]
    x = net.relu6(net.conv(inverted_residuals(net, x, rows, squeezes=False), 32, 1))
    return net.module(net.dense(net.mean(x), 10))


def efficientnet() -> ModuleOp:
    net = Net(1, 3, 32, 32)
    x = net.add(activation.SiluOp(net.conv(net.input, 4, 3, 2)))
    x = inverted_residuals(net, x, [(1, 4, 1, 1), (6, 8, 2, 2), (6, 12, 2, 2)], squeezes=True)
    return net.module(net.dense(net.mean(x), 10))


def yolo() -> ModuleOp:
    """A backbone, and a head at two scales: the coarse one is repeated and laid beside the fine one."""
    net = Net(1, 3, 32, 32)
    levels: list[SSAValue] = []
    x = net.input
    for channels in (4, 8, 16, 32):
        x = net.add(activation.LeakyReluOp(net.conv(x, channels, 3, 2), alpha=0.1))
        x = net.add(activation.LeakyReluOp(net.conv(x, channels), alpha=0.1))
        levels.append(x)
    coarse = net.conv(levels[-1], 18, 1)
    shape = tensor_type(levels[-2]).get_shape()
    wide = net.add(resizing.Resize2dOp(net.conv(levels[-1], 8, 1), size=[shape[2], shape[3]], method="nearest"))
    joined = net.add(concatenation.ConcatenateOp(wide, levels[-2], axis=1))
    return net.module(coarse, net.conv(net.add(activation.LeakyReluOp(net.conv(joined, 16), alpha=0.1)), 18, 1))


def unet() -> ModuleOp:
    net = Net(1, 1, 16, 16)
    x, saved = net.input, list[SSAValue]()
    for channels in (4, 8):
        x = net.relu(net.conv(net.relu(net.conv(x, channels)), channels))
        saved.append(x)
        x = net.pool(x)
    x = net.relu(net.conv(x, 16))
    for kept in reversed(saved):
        shape = tensor_type(kept).get_shape()
        x = net.add(resizing.Resize2dOp(x, size=[shape[2], shape[3]], method="nearest"))
        x = net.add(concatenation.ConcatenateOp(kept, net.conv(x, shape[1]), axis=1))
        x = net.relu(net.conv(x, shape[1]))
    return net.module(net.conv(x, 1, 1))


def encoder() -> ModuleOp:
    """One layer of a transformer with two heads."""
    length, width = 8, 16
    net = Net(length, width)
    x = net.input
    heads: list[SSAValue] = []
    for _ in range(2):
        q, k, v = (net.dense(x, width // 2) for _ in range(3))
        scores = net.add(matmul.MatmulOp(q, k, transpose_b=True))
        scaled = net.add(broadcast.MultiplyOp(scores, net.add(constant(np.float32([[0.35]])))))
        heads.append(net.add(matmul.MatmulOp(net.add(normalization.SoftmaxOp(scaled, axis=-1)), v)))
    x = net.sum(net.dense(net.add(concatenation.ConcatenateOp(*heads, axis=1)), width), x)
    x = net.add(normalization.LayerNormOp(x, net.weight(width), net.weight(width)))
    y = net.dense(net.add(activation.GeluOp(net.dense(x, 32))), width)
    return net.module(net.add(normalization.LayerNormOp(net.sum(y, x), net.weight(width), net.weight(width))))


def lstm() -> ModuleOp:
    """Four steps of a cell, unrolled."""
    width = 8
    net = Net(4, width)
    h, c = net.weight(1, width), net.weight(1, width)
    for step in range(4):
        x = net.add(indexing.StridedSliceOp(net.input, begin=[step, 0], end=[step + 1, width], strides=[1, 1]))
        gates: list[SSAValue] = []
        for gate in range(4):
            total = net.sum(net.dense(x, width), net.dense(h, width))
            gates.append(net.add((trigonometry.TanhOp if gate == 3 else activation.SigmoidOp)(total)))
        keep, take, give, new = gates
        c = net.sum(net.add(broadcast.MultiplyOp(keep, c)), net.add(broadcast.MultiplyOp(take, new)))
        h = net.add(broadcast.MultiplyOp(give, net.add(trigonometry.TanhOp(c))))
    return net.module(h)


def super_resolution() -> ModuleOp:
    """Convolutions, and channels that become pixels."""
    net = Net(1, 1, 8, 8)
    x = net.relu(net.conv(net.relu(net.conv(net.input, 8, 5)), 8))
    x = net.conv(x, 4)
    x = net.add(layout.ReshapeOp(x, result_types=[TensorType(f32, [1, 1, 2, 2, 8, 8])]))
    x = net.add(layout.TransposeOp(x, permutation=[0, 1, 4, 2, 5, 3]))
    return net.module(net.add(layout.ReshapeOp(x, result_types=[TensorType(f32, [1, 1, 16, 16])])))


def pointnet() -> ModuleOp:
    """Layers of each point, the greatest over all points, and layers of that."""
    net = Net(1, 3, 32, 1)
    x = net.input
    for channels in (8, 16, 32):
        x = net.relu(net.conv(x, channels, 1))
    x = net.add(pooling.GlobalMaxPool2dOp(x))
    x = net.add(layout.BatchFlattenOp(x))
    return net.module(net.dense(net.relu(net.dense(x, 16)), 10))


NETWORKS: Mapping[str, Callable[[], ModuleOp]] = {
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
    "yolo": yolo,
    "unet": unet,
    "se_resnet": lambda: resnet18(squeezes=True),
    "efficientnet": efficientnet,
    "encoder": encoder,
    "lstm": lstm,
    "super_resolution": super_resolution,
    "pointnet": pointnet,
}
"""How to build each."""
