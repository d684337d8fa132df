"""An ONNX model under construction, with random weights that are always the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.onnx_ml_pb2 import ModelProto, NodeProto
from onnx.onnx_ml_pb2 import TensorProto as Tensor

OPSET = 20
"""The first that has Gelu."""
IR_VERSION = 10


class Network:
    """Nodes and weights so far; every method adds some and returns the name of the last output.

    Every attribute is written out, so that whoever reads the model needs no table of defaults.
    """

    def __init__(self, name: str, inputs: dict[str, Sequence[int]], seed: int = 0):
        self._name = name
        self._inputs = inputs
        self._random = np.random.default_rng(seed)
        self._nodes: list[NodeProto] = []
        self._weights: list[Tensor] = []

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """An operator with one output."""
        output = f"{operator.lower()}{len(self._nodes)}"
        node = helper.make_node(operator, list(inputs), [output], output)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)
        return output

    def constant(self, values: NDArray[Any]) -> str:
        """An initializer."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def scalar(self, value: float) -> str:
        """An f32 constant of rank 0."""
        return self.constant(np.array(value, np.float32))

    def shape(self, *sizes: int) -> str:
        """An i64 constant of rank 1, as Reshape wants it."""
        return self.constant(np.array(sizes, np.int64))

    def normal(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> str:
        """A weight with normally distributed elements."""
        return self.constant((self._random.standard_normal(shape) * scale + mean).astype(np.float32))

    def uniform(self, *shape: int, low: float, high: float) -> str:
        """A weight with evenly distributed elements."""
        return self.constant(self._random.uniform(low, high, shape).astype(np.float32))

    def linear(self, x: str, inner: int, outer: int) -> str:
        """`x @ w + b` with weights that keep the variance."""
        product = self.node("MatMul", [x, self.normal(inner, outer, scale=inner**-0.5)])
        return self.node("Add", [product, self.normal(outer, scale=0.1)])

    def layer_norm(self, x: str, size: int) -> str:
        """Normalise the last dimension, then scale and shift it."""
        scale, shift = self.normal(size, scale=0.1, mean=1.0), self.normal(size, scale=0.1)
        return self.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=1e-5)

    def conv(
        self, x: str, inner: int, outer: int, size: int, *, stride: int = 1, group: int = 1, bias: bool = False
    ) -> str:
        """A square convolution that keeps the size at stride 1, with He's weights."""
        fan_in = inner // group * size * size
        operands = [x, self.normal(outer, inner // group, size, size, scale=(2 / fan_in) ** 0.5)]
        if bias:
            operands.append(self.normal(outer, scale=0.1))
        return self.node(
            "Conv",
            operands,
            kernel_shape=[size, size],
            strides=[stride, stride],
            pads=[size // 2] * 4,
            dilations=[1, 1],
            group=group,
        )

    def batch_norm(self, x: str, channels: int, gain: float = 1.0) -> str:
        """A batch norm of inference with statistics as of a trained network; `gain` is the mean of its scale."""
        scale, shift = self.normal(channels, scale=0.1 * gain, mean=gain), self.normal(channels, scale=0.1)
        mean, variance = self.normal(channels, scale=0.1), self.uniform(channels, low=0.75, high=1.25)
        return self.node("BatchNormalization", [x, scale, shift, mean, variance], epsilon=1e-5)

    def relu6(self, x: str) -> str:
        """Clip to 0..6."""
        return self.node("Clip", [x, self.scalar(0.0), self.scalar(6.0)])

    def model(self, output: str, shape: Sequence[int]) -> ModelProto:
        """The model that gives `output`."""
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(size)) for name, size in self._inputs.items()],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, list(shape))],
            self._weights,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, producer_name="fuse_dialect", ir_version=IR_VERSION, opset_imports=opsets)
