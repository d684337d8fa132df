"""A small BERT-like encoder, in the forms that PyTorch's exporters write."""

import math
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, VOCABULARY, POSITIONS = 16, 4, 32, 12


@dataclass
class GraphWriter:
    """Collects nodes and initializers; every method gives the name of what it adds."""

    opset: int
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    nodes: list = field(default_factory=list)
    initializers: list = field(default_factory=list)

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"/{op}_{len(self.nodes)}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"/{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=np.float32) -> str:
        tensor = numpy_helper.from_array(np.array(value, dtype))
        return self.node("Constant", value=tensor)

    def weight(self, *shape: int) -> str:
        name = f"weight.{len(self.initializers)}"
        values = self.random.normal(0, 0.3, shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def size(self, value: str, axis: int) -> str:
        picked = self.node("Gather", self.node("Shape", value), self.constant(axis, np.int64), axis=0)
        return self.unsqueeze(picked, [0])

    def unsqueeze(self, value: str, axes: list[int]) -> str:
        if self.opset < 13:
            return self.node("Unsqueeze", value, axes=axes)
        return self.node("Unsqueeze", value, self.constant(axes, np.int64))

    def mean(self, value: str) -> str:
        if self.opset < 18:
            return self.node("ReduceMean", value, axes=[-1], keepdims=1)
        return self.node("ReduceMean", value, self.constant([-1], np.int64), keepdims=1)

    def linear(self, value: str, features: int) -> str:
        """`nn.Linear` on three axes: MatMul with the transposed weight, then Add."""
        return self.node("Add", self.weight(features), self.node("MatMul", value, self.weight(HIDDEN, features)))

    def layer_norm(self, value: str) -> str:
        gamma, beta = self.weight(HIDDEN), self.weight(HIDDEN)
        if self.opset >= 17:
            return self.node("LayerNormalization", value, gamma, beta, axis=-1, epsilon=1e-12)
        centred = self.node("Sub", value, self.mean(value))
        variance = self.mean(self.node("Pow", centred, self.constant(2.0)))
        deviation = self.node("Sqrt", self.node("Add", variance, self.constant(1e-12)))
        return self.node("Add", self.node("Mul", self.node("Div", centred, deviation), gamma), beta)

    def gelu(self, value: str) -> str:
        if self.opset >= 20:
            return self.node("Gelu", value, approximate="tanh")
        error = self.node("Erf", self.node("Div", value, self.constant(math.sqrt(2.0))))
        scaled = self.node("Mul", value, self.node("Add", error, self.constant(1.0)))
        return self.node("Mul", scaled, self.constant(0.5))

    def split_heads(self, value: str, source: str) -> str:
        sizes = [self.size(source, 0), self.size(source, 1)]
        rest = [self.constant([HEADS], np.int64), self.constant([HIDDEN // HEADS], np.int64)]
        return self.node("Reshape", value, self.node("Concat", *sizes, *rest, axis=0))

    def attention(self, value: str, mask: str) -> str:
        query, key, content = (self.split_heads(self.linear(value, HIDDEN), value) for _ in range(3))
        query = self.node("Transpose", query, perm=[0, 2, 1, 3])
        key = self.node("Transpose", key, perm=[0, 2, 3, 1])
        content = self.node("Transpose", content, perm=[0, 2, 1, 3])
        scores = self.node("Div", self.node("MatMul", query, key), self.constant(math.sqrt(HIDDEN // HEADS)))
        weights = self.node("Softmax", self.node("Add", scores, mask), axis=3 if self.opset < 13 else -1)
        mixed = self.node("Transpose", self.node("MatMul", weights, content), perm=[0, 2, 1, 3])
        sizes = [self.size(mixed, 0), self.size(mixed, 1), self.constant([HIDDEN], np.int64)]
        return self.linear(self.node("Reshape", mixed, self.node("Concat", *sizes, axis=0)), HIDDEN)

    def extended_mask(self, mask: str) -> str:
        """(1 - mask) * lowest, expanded over the queries as `Tensor.expand` is exported."""
        wide = self.unsqueeze(mask, [1, 2])
        batch, length = self.size(mask, 0), self.size(mask, 1)
        shape = self.node("Concat", batch, self.constant([1], np.int64), length, length, axis=0)
        fill = numpy_helper.from_array(np.array([1], np.int64))
        ones = self.node("ConstantOfShape", self.constant([4], np.int64), value=fill)
        keep = self.node("Equal", shape, self.node("Mul", ones, self.constant(-1, np.int64)))
        expanded = self.node("Expand", wide, self.node("Where", keep, ones, shape))
        inverted = self.node("Sub", self.constant(1.0), self.node("Cast", expanded, to=TensorProto.FLOAT))
        masked = self.node("Cast", inverted, to=TensorProto.BOOL)
        return self.node("Where", masked, self.constant(-10000.0), inverted)

    def embeddings(self, tokens: str) -> str:
        words = self.node("Gather", self.weight(VOCABULARY, HIDDEN), tokens)
        bounds = self.constant([0], np.int64), self.size(tokens, 1), self.constant([1], np.int64)
        numbers = self.constant([list(range(POSITIONS))], np.int64)
        positions = self.node("Slice", numbers, *bounds)
        return self.layer_norm(self.node("Add", words, self.node("Gather", self.weight(POSITIONS, HIDDEN), positions)))


def encoder(opset: int, *, batch: int | str, length: int | str = 8, layers: int = 2) -> onnx.ModelProto:
    """The encoder's model.

    Args:
        opset: 11 and 14 write layer normalization and GELU by their formulas, 17 the former and 20 both as operators.
        batch: Number of sequences; a name for a dynamic dimension.
        length: Tokens of a sequence; likewise.
        layers: Number of layers.
    """
    writer = GraphWriter(opset)
    mask = writer.extended_mask("attention_mask")
    state = writer.embeddings("input_ids")
    for _ in range(layers):
        state = writer.layer_norm(writer.node("Add", writer.attention(state, mask), state))
        wide = writer.gelu(writer.linear(state, HIDDEN))
        state = writer.layer_norm(writer.node("Add", writer.linear(wide, HIDDEN), state))
    first = writer.node("Gather", state, writer.constant(0, np.int64), axis=1)
    weight, bias = writer.weight(HIDDEN, HIDDEN), writer.weight(HIDDEN)
    pooled = writer.node("Tanh", writer.node("Gemm", first, weight, bias, transB=1))
    graph = helper.make_graph(
        writer.nodes,
        "encoder",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, [batch, length]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [batch, length]),
        ],
        [
            helper.make_tensor_value_info(state, TensorProto.FLOAT, [batch, length, HIDDEN]),
            helper.make_tensor_value_info(pooled, TensorProto.FLOAT, [batch, HIDDEN]),
        ],
        writer.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def encoder_inputs(batch: int, length: int) -> dict[str, np.ndarray]:
    """Token numbers, and a mask that leaves out the end of one sequence."""
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (batch, length))
    mask = np.ones((batch, length), np.int64)
    mask[-1, length // 2 :] = 0
    return {"input_ids": tokens, "attention_mask": mask}
