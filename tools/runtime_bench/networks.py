"""Networks by script: the layers of the published architectures, batch 1, with random weights.

ResNet: He et al., Deep residual learning, CVPR 2016 (stride in the 3x3 convolution, as torchvision has it).
MobileNetV2: Sandler et al., CVPR 2018. BERT: Devlin et al., NAACL 2019.
"""

from onnx.onnx_ml_pb2 import ModelProto

from .network import Network

CLASSES = 1000
_BRANCH_GAIN = 0.5
"""Scale of a branch beside a skip connection: without it, activations double with every block."""


def _basic_block(net: Network, x: str, inner: int, outer: int, stride: int) -> str:
    """Two 3x3 convolutions and a skip connection."""
    y = net.node("Relu", [net.batch_norm(net.conv(x, inner, outer, 3, stride=stride), outer)])
    y = net.batch_norm(net.conv(y, outer, outer, 3), outer, _BRANCH_GAIN)
    return net.node("Relu", [net.node("Add", [y, _skip(net, x, inner, outer, stride)])])


def _bottleneck(net: Network, x: str, inner: int, outer: int, stride: int) -> str:
    """1x1, 3x3 and 1x1 convolutions and a skip connection."""
    middle = outer // 4
    y = net.node("Relu", [net.batch_norm(net.conv(x, inner, middle, 1), middle)])
    y = net.node("Relu", [net.batch_norm(net.conv(y, middle, middle, 3, stride=stride), middle)])
    y = net.batch_norm(net.conv(y, middle, outer, 1), outer, _BRANCH_GAIN)
    return net.node("Relu", [net.node("Add", [y, _skip(net, x, inner, outer, stride)])])


def _skip(net: Network, x: str, inner: int, outer: int, stride: int) -> str:
    if inner == outer and stride == 1:
        return x
    return net.batch_norm(net.conv(x, inner, outer, 1, stride=stride), outer)


def resnet(depth: int) -> ModelProto:
    """ResNet-18 or ResNet-50 on an image of 224x224."""
    blocks, block, widths = {
        18: ((2, 2, 2, 2), _basic_block, (64, 128, 256, 512)),
        50: ((3, 4, 6, 3), _bottleneck, (256, 512, 1024, 2048)),
    }[depth]
    net = Network(f"resnet{depth}", {"image": (1, 3, 224, 224)}, seed=depth)
    x = net.node("Relu", [net.batch_norm(net.conv("image", 3, 64, 7, stride=2), 64)])
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1], "ceil_mode": 0}
    x = net.node("MaxPool", [x], **pool)
    inner = 64
    for stage, (count, outer) in enumerate(zip(blocks, widths, strict=True)):
        for index in range(count):
            x = block(net, x, inner, outer, 2 if stage and not index else 1)
            inner = outer
    return _classifier(net, x, inner)


def _classifier(net: Network, x: str, channels: int) -> ModelProto:
    flat = net.node("Flatten", [net.node("GlobalAveragePool", [x])], axis=1)
    return net.model(net.linear(flat, channels, CLASSES), (1, CLASSES))


def resnet_block() -> ModelProto:
    """The basic block of ResNet-18's first stage."""
    net = Network("resnet_block", {"x": (1, 64, 56, 56)})
    return net.model(_basic_block(net, "x", 64, 64, 1), (1, 64, 56, 56))


def _inverted_residual(net: Network, x: str, inner: int, outer: int, stride: int, expansion: int) -> str:
    """Widen by a 1x1 convolution, filter every channel, narrow again."""
    wide, y = inner * expansion, x
    if expansion != 1:
        y = net.relu6(net.batch_norm(net.conv(y, inner, wide, 1), wide))
    y = net.relu6(net.batch_norm(net.conv(y, wide, wide, 3, stride=stride, group=wide), wide))
    skips = inner == outer and stride == 1
    y = net.batch_norm(net.conv(y, wide, outer, 1), outer, _BRANCH_GAIN if skips else 1.0)
    return net.node("Add", [y, x]) if skips else y


def mobilenet_block() -> ModelProto:
    """A block of MobileNetV2's second stage."""
    net = Network("mobilenet_block", {"x": (1, 24, 56, 56)})
    return net.model(_inverted_residual(net, "x", 24, 24, 1, 6), (1, 24, 56, 56))


def mobilenet_v2() -> ModelProto:
    """MobileNetV2 of width 1 on an image of 224x224."""
    net = Network("mobilenetv2", {"image": (1, 3, 224, 224)}, seed=2)
    x, inner = net.relu6(net.batch_norm(net.conv("image", 3, 32, 3, stride=2), 32)), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, outer, count, stride in stages:
        for index in range(count):
            x = _inverted_residual(net, x, inner, outer, 1 if index else stride, expansion)
            inner = outer
    x = net.relu6(net.batch_norm(net.conv(x, inner, 1280, 1), 1280))
    return _classifier(net, x, 1280)


def bert_layer(tokens: int = 128, hidden: int = 768, heads: int = 12, inner: int = 3072) -> ModelProto:
    """One encoder layer of BERT-base, without a mask, attention written out."""
    net = Network("bert_layer", {"x": (1, tokens, hidden)}, seed=3)
    size = hidden // heads
    apart, together = net.shape(1, tokens, heads, size), net.shape(1, tokens, hidden)

    def split(order: list[int]) -> str:
        return net.node("Transpose", [net.node("Reshape", [net.linear("x", hidden, hidden), apart])], perm=order)

    query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = net.node("Mul", [net.node("MatMul", [query, key]), net.scalar(size**-0.5)])
    mixed = net.node("MatMul", [net.node("Softmax", [scores], axis=-1), value])
    mixed = net.node("Reshape", [net.node("Transpose", [mixed], perm=[0, 2, 1, 3]), together])
    x = net.layer_norm(net.node("Add", [net.linear(mixed, hidden, hidden), "x"]), hidden)
    wide = net.node("Gelu", [net.linear(x, hidden, inner)], approximate="none")
    return net.model(net.layer_norm(net.node("Add", [net.linear(wide, inner, hidden), x]), hidden), (1, tokens, hidden))
