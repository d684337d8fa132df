"""Networks with the node names that exporters of PyTorch give: the path of the module, and the operator."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class _Writer:
    """A graph that grows by nodes, each named after its module."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def op(self, path: str, kind: str, *inputs: str, **attributes: object) -> str:
        """A node; returns its value."""
        name = f"/{path}/{kind}" if path else f"/{kind}"
        again = sum(node.name.startswith(name) for node in self.nodes[-40:])
        name += f"_{again}" if again else ""
        self.nodes.append(helper.make_node(kind, list(inputs), [f"{name}_output_0"], name, **attributes))
        return f"{name}_output_0"

    def weight(self, name: str, *shape: int) -> str:
        """A parameter."""
        return self.constant(name, np.full(shape, 0.125, np.float32))

    def constant(self, name: str, array: np.ndarray) -> str:
        """A constant."""
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def model(self, name: str, input: tuple[int, ...], output: str, shape: tuple[int, ...]) -> onnx.ModelProto:
        """The network from one input to one output."""
        types = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("input", types, input)],
            [helper.make_tensor_value_info(output, types, shape)],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def bert(layers: int = 12, length: int = 16, width: int = 32, heads: int = 4) -> onnx.ModelProto:
    """An encoder of equal layers, as PyTorch exports BERT: the embedding is its input."""
    writer, size = _Writer(), width // heads

    def linear(path: str, value: str, wide: int, out: int) -> str:
        product = writer.op(path, "MatMul", value, writer.weight(f"{path}.weight", wide, out))
        return writer.op(path, "Add", writer.weight(f"{path}.bias", out), product)

    def norm(path: str, value: str) -> str:
        scale, shift = writer.weight(f"{path}.weight", width), writer.weight(f"{path}.bias", width)
        return writer.op(path, "LayerNormalization", value, scale, shift)

    split = writer.constant("split", np.array([1, length, heads, size], np.int64))
    joined = writer.constant("joined", np.array([1, length, width], np.int64))
    scale = writer.constant("scale", np.float32(size**-0.5))
    two, one, half = (
        writer.constant(name, np.float32(value)) for name, value in (("two", 2**0.5), ("one", 1), ("half", 0.5))
    )
    value = norm("bert/embeddings/LayerNorm", "input")
    for layer in range(layers):
        path = f"bert/encoder/layer.{layer}"
        own = f"{path}/attention/self"
        parts: list[str] = []
        for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            product = linear(f"{own}/{name}", value, width, width)
            parts.append(writer.op(own, "Transpose", writer.op(own, "Reshape", product, split), perm=order))
        scores = writer.op(own, "Mul", writer.op(own, "MatMul", parts[0], parts[1]), scale)
        mixed = writer.op(own, "MatMul", writer.op(own, "Softmax", scores, axis=-1), parts[2])
        mixed = writer.op(own, "Reshape", writer.op(own, "Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        out = linear(f"{path}/attention/output/dense", mixed, width, width)
        out = writer.op(f"{path}/attention/output", "Add", out, value)
        value = norm(f"{path}/attention/output/LayerNorm", out)
        wide = linear(f"{path}/intermediate/dense", value, width, 4 * width)
        act = f"{path}/intermediate/intermediate_act_fn"
        error = writer.op(act, "Add", writer.op(act, "Erf", writer.op(act, "Div", wide, two)), one)
        wide = writer.op(act, "Mul", writer.op(act, "Mul", wide, error), half)
        out = linear(f"{path}/output/dense", wide, 4 * width, width)
        value = norm(f"{path}/output/LayerNorm", writer.op(f"{path}/output", "Add", out, value))
    first = writer.op("bert/pooler", "Gather", value, writer.constant("zero", np.int64(0)), axis=1)
    pooled = writer.op("bert/pooler/activation", "Tanh", linear("bert/pooler/dense", first, width, width))
    return writer.model("main_graph", (1, length, width), pooled, (1, width))


def mobilenet(blocks: int = 102, side: int = 16, width: int = 8) -> onnx.ModelProto:
    """Inverted residual blocks in four stages, ten ops each: 102 are some 1,024 ops."""
    writer = _Writer()

    def conv(path: str, value: str, wide: int, out: int, kernel: int, **attributes: object) -> str:
        groups = wide if kernel == 3 and wide == out and "group" not in attributes else 1
        shape = (out, wide // groups, kernel, kernel)
        found = writer.op(
            f"{path}.0",
            "Conv",
            value,
            writer.weight(f"{path}.0.weight", *shape),
            pads=[kernel // 2] * 4,
            kernel_shape=[kernel, kernel],
            **({"group": groups} | attributes),
        )
        parameters = [writer.weight(f"{path}.1.{name}", out) for name in ("weight", "bias", "mean", "var")]
        return writer.op(f"{path}.1", "BatchNormalization", found, *parameters)

    def six(path: str, value: str) -> str:
        low, high = (f"{path}.{name}" for name in ("low", "high"))
        return writer.op(path, "Clip", value, writer.constant(low, np.float32(0)), writer.constant(high, np.float32(6)))

    value = six(
        "features/features.0/features.0.2", conv("features/features.0/features.0", "input", 3, width, 3, group=1)
    )
    stage = -(-blocks // 4)
    for block in range(blocks):
        path = f"features/features.{block + 1}/conv"
        is_first = block % stage == 0 and block
        out = 2 * width if is_first else width
        strides = {"strides": [2, 2]} if is_first else {}
        inner = six(f"{path}/conv.0/conv.0.2", conv(f"{path}/conv.0/conv.0", value, width, 4 * width, 1))
        inner = six(f"{path}/conv.1/conv.1.2", conv(f"{path}/conv.1/conv.1", inner, 4 * width, 4 * width, 3, **strides))
        inner = conv(f"{path}/conv.2", inner, 4 * width, out, 1)
        value = inner if out != width else writer.op(f"features/features.{block + 1}", "Add", value, inner)
        width, side = out, side // 2 if is_first else side
    value = writer.op("", "Flatten", writer.op("", "GlobalAveragePool", value))
    path = "classifier/classifier.1"
    parameters = writer.weight(f"{path}.weight", 10, width), writer.weight(f"{path}.bias", 10)
    result = writer.op(path, "Gemm", value, *parameters, transB=1)
    return writer.model("main_graph", (1, 3, side * 8, side * 8), result, (1, 10))
