"""Write `docs/examples/tiny_cnn.onnx`, the small network that README and tutorial use.

A residual block with batch norms, a pool, a matrix product and a softmax; the weights are random, but always the same.

    python tools/make_example_model.py docs/examples/tiny_cnn.onnx
"""

import argparse
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.onnx_ml_pb2 import ModelProto, NodeProto
from onnx.onnx_ml_pb2 import TensorProto as Tensor

CHANNELS = 8
CLASSES = 10
SIZE = 16


class _Network:
    """Nodes and weights so far; every method adds one layer and returns the name of its output."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.weights: list[Tensor] = []

    def weight(self, name: str, *shape: int, low: float = -0.5, high: float = 0.5) -> str:
        """Uniform random numbers."""
        values = self.random.uniform(low, high, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, operator: str, inputs: list[str], name: str, **attributes: float | list[int]) -> str:
        """An operator with one output."""
        node = helper.make_node(operator, inputs, [name], name)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return name

    def conv_norm(self, x: str, name: str, in_channels: int) -> str:
        """A 3x3 convolution that keeps the size, and a batch norm."""
        kernel = self.weight(f"{name}_w", CHANNELS, in_channels, 3, 3)
        conv = self.node("Conv", [x, kernel], name, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        scale = self.weight(f"{name}_scale", CHANNELS, low=0.5, high=1.5)
        shift, mean = self.weight(f"{name}_shift", CHANNELS), self.weight(f"{name}_mean", CHANNELS)
        variance = self.weight(f"{name}_variance", CHANNELS, low=0.5, high=1.5)
        return self.node("BatchNormalization", [conv, scale, shift, mean, variance], f"{name}_norm", epsilon=1e-5)


def tiny_cnn(seed: int = 0) -> ModelProto:
    """The model."""
    network = _Network(seed)
    stem = network.node("Relu", [network.conv_norm("image", "stem", 3)], "stem_relu")
    inner = network.node("Relu", [network.conv_norm(stem, "inner", CHANNELS)], "inner_relu")
    total = network.node("Add", [network.conv_norm(inner, "outer", CHANNELS), stem], "residual")
    active = network.node("Relu", [total], "residual_relu")
    pooled = network.node("GlobalAveragePool", [active], "pool")
    flat = network.node("Flatten", [pooled], "flat", axis=1)
    matrix, bias = network.weight("classes_w", CLASSES, CHANNELS), network.weight("classes_b", CLASSES)
    logits = network.node("Gemm", [flat, matrix, bias], "logits", transB=1)
    network.node("Softmax", [logits], "probabilities", axis=1)
    graph = helper.make_graph(
        network.nodes,
        "tiny_cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, CLASSES])],
        network.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description="Write the example model.")
    parser.add_argument("path", type=Path, help="where to write it")
    parser.parse_args().path.write_bytes(tiny_cnn().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
