"""The workloads: each is one ONNX model with fixed random weights, and a bar that ours has to reach.

`WORKLOADS` is the table. All data is f32. Whoever cannot read ONNX runs what `translate` makes of the same model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from onnx import helper, numpy_helper, shape_inference
from onnx.onnx_ml_pb2 import ModelProto, NodeProto, ValueInfoProto

from .network import Network
from .networks import bert_layer, mobilenet_block, mobilenet_v2, resnet, resnet_block


class Limit(StrEnum):
    """What of the machine a bar is a share of."""

    STREAM = "STREAM scale"
    FMA = "sgemm peak"


@dataclass(frozen=True, slots=True)
class Bar:
    """What ours has to reach on a workload."""

    peers: tuple[str, ...]
    """Engines; the fastest of them counts."""
    ratio: float
    """Greatest allowed time of ours over that peer's."""
    unfused: float | None = None
    """Greatest allowed time over that of ours without fusion."""
    limit: Limit | None = None
    share: float = 0.0
    """Least share of `limit`."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A model to run."""

    name: str
    what: str
    build: Callable[[], ModelProto]
    bar: Bar

    def inputs(self, model: ModelProto) -> dict[str, NDArray[np.float32]]:
        """Normally distributed inputs, always the same."""
        random = np.random.default_rng(len(self.name))
        return {value.name: random.standard_normal(_shape(value), np.float32) for value in model.graph.input}


@dataclass(frozen=True, slots=True)
class Cost:
    """The least that any engine has to do."""

    bytes: int
    """Inputs and weights read once, outputs written once."""
    flops: int
    """Additions and multiplications of convolutions and matrix products."""


def cost_of(model: ModelProto) -> Cost:
    """Memory traffic and arithmetic that no engine can avoid, from the shapes of the model."""
    graph = shape_inference.infer_shapes(model).graph
    shapes = {value.name: _shape(value) for value in (*graph.input, *graph.value_info, *graph.output)}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    names = [value.name for value in (*graph.input, *graph.output)] + [tensor.name for tensor in graph.initializer]
    flops = 0
    for node in graph.node:
        if node.op_type == "Conv":
            flops += 2 * int(np.prod(shapes[node.output[0]])) * int(np.prod(shapes[node.input[1]][1:]))
        elif node.op_type == "MatMul":
            flops += 2 * int(np.prod(shapes[node.output[0]])) * shapes[node.input[0]][-1]
    return Cost(4 * sum(int(np.prod(shapes[name])) for name in names), flops)


def _shape(value: ValueInfoProto) -> tuple[int, ...]:
    return tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)


def weights_of(model: ModelProto) -> dict[str, NDArray[np.generic]]:
    """The initializers by name."""
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def attributes_of(node: NodeProto) -> dict[str, object]:
    """The attributes of a node as Python values, text as `str`."""
    values = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


_ELEMENTS = 1 << 24
_SIDE = 4096


def _chain() -> ModelProto:
    net = Network("chain16m", {"x": (_ELEMENTS,)})
    doubled = net.node("Mul", [net.node("Div", ["x", net.scalar(3.0)]), net.scalar(2.0)])
    return net.model(net.node("Relu", [doubled]), (_ELEMENTS,))


def _tenops() -> ModelProto:
    net = Network("tenops", {"x": (_SIDE, _SIDE)})
    y = net.node("Add", ["x", net.normal(1, _SIDE)])
    y = net.node("Mul", [y, net.normal(_SIDE, 1)])
    y = net.node("Relu", [y])
    y = net.node("Sub", [y, net.normal(1, _SIDE)])
    y = net.node("Mul", [y, net.scalar(0.5)])
    y = net.node("Abs", [y])
    y = net.node("Add", [y, net.normal(_SIDE, 1)])
    y = net.node("Mul", [y, net.normal(1, _SIDE)])
    y = net.node("Max", [y, "x"])
    return net.model(net.node("Add", [y, net.scalar(1.0)]), (_SIDE, _SIDE))


def _tanhsig() -> ModelProto:
    net = Network("tanhsig", {"x": (_SIDE, _SIDE)})
    scaled = net.node("Mul", ["x", net.normal(1, _SIDE)])
    left = net.node("Tanh", [net.node("Add", [scaled, net.normal(1, _SIDE)])])
    return net.model(net.node("Mul", [left, net.node("Sigmoid", ["x"])]), (_SIDE, _SIDE))


def _softmax() -> ModelProto:
    net = Network("softmax", {"x": (_SIDE, 1024)})
    return net.model(net.node("Softmax", ["x"], axis=-1), (_SIDE, 1024))


def _layer_norm() -> ModelProto:
    net = Network("layer_norm", {"x": (_SIDE, 1024)})
    return net.model(net.layer_norm("x", 1024), (_SIDE, 1024))


def _matmul_gelu() -> ModelProto:
    net = Network("matmul_gelu", {"x": (1024, 1024)})
    return net.model(net.node("Gelu", [net.linear("x", 1024, 1024)], approximate="none"), (1024, 1024))


def _conv_relu() -> ModelProto:
    net = Network("conv_relu", {"x": (1, 3, 224, 224)})
    return net.model(net.node("Relu", [net.conv("x", 3, 64, 3, bias=True)]), (1, 64, 224, 224))


def _tiny() -> ModelProto:
    net = Network("tiny", {"x": (10,)})
    y = "x"
    for operator in ("Add", "Relu", "Mul", "Tanh", "Sub", "Abs", "Add", "Sigmoid", "Mul", "Relu"):
        binary = operator in ("Add", "Mul", "Sub")
        y = net.node(operator, [y, net.normal(10)] if binary else [y])
    return net.model(y, (10,))


_MAPS = Bar(("jax", "torch-compile", "iree"), 1.0, unfused=0.5)
_ROWS = Bar(("jax", "torch-compile", "onnxruntime"), 1.0)
_BLOCKS = Bar(("onnxruntime",), 1.0)
_NETWORKS = Bar(("onnxruntime", "openvino"), 1.0)

WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "chain16m",
        "(x / 3) * 2, relu on 16M elements",
        _chain,
        Bar(_MAPS.peers, 1.0, 0.5, Limit.STREAM, 0.8),
    ),
    Workload("tenops", "10 ops with rows and columns broadcast, 4096x4096", _tenops, _MAPS),
    Workload("tanhsig", "tanh(x * s + b) * sigmoid(x), 4096x4096", _tanhsig, _MAPS),
    Workload("softmax", "softmax of 4096 rows of 1024", _softmax, _ROWS),
    Workload("layer_norm", "layer norm of 4096 rows of 1024", _layer_norm, _ROWS),
    Workload(
        "matmul_gelu",
        "1024x1024 times constant 1024x1024, bias, gelu (erf)",
        _matmul_gelu,
        Bar(("onnxruntime", "openvino", "jax"), 1.05, None, Limit.FMA, 0.85),
    ),
    Workload("conv_relu", "conv 3x3, 3 to 64 channels, 224x224, bias, relu", _conv_relu, _BLOCKS),
    Workload("resnet_block", "basic block of ResNet, 64x56x56", resnet_block, _BLOCKS),
    Workload("mobilenet_block", "inverted residual of MobileNetV2, 24 to 144 to 24, 56x56", mobilenet_block, _BLOCKS),
    Workload("resnet18", "ResNet-18, 224x224", lambda: resnet(18), _NETWORKS),
    Workload("resnet50", "ResNet-50, 224x224", lambda: resnet(50), _NETWORKS),
    Workload("mobilenetv2", "MobileNetV2, 224x224", mobilenet_v2, _NETWORKS),
    Workload("bert_layer", "BERT-base encoder layer, 128 tokens", bert_layer, _NETWORKS),
    Workload("tiny", "10 ops on 10 elements: the overhead of a call", _tiny, Bar(("onnxruntime",), 1.0)),
)
"""All workloads, with the bars that the native backend is held to."""


def workload_named(name: str) -> Workload:
    """The workload of a name.

    Raises:
        ValueError: There is none.
    """
    for workload in WORKLOADS:
        if workload.name == name:
            return workload
    raise ValueError(f"no workload '{name}'")
