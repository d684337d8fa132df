"""Write the models in `docs/examples`; the weights are random, but always the same.

    python tools/make_example_model.py docs/examples/tiny_cnn.onnx

`tiny_cnn.onnx`: a residual block with batch norms, a pool, a matrix product and a softmax, in README and tutorial.
`optimized_layer.onnx`: a layer of a transformer's second half, as onnxruntime's optimizer writes it.
`forest.onnx`: a scaler and a forest of three trees, as scikit-learn's pipelines are converted.
"""

import argparse
from collections.abc import Callable, Mapping
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

    def vendor(self, operator: str, inputs: list[str], name: str, **attributes: float) -> str:
        """An operator of onnxruntime's own."""
        self.node(operator, inputs, name, **attributes)
        self.nodes[-1].domain = "com.microsoft"
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


def optimized_layer(seed: int = 0) -> ModelProto:
    """A sum that is normalized, two products, and another such sum."""
    network, width, hidden = _Network(seed), 16, 64
    ones = [network.weight(name, width, low=0.5, high=1.5) for name in ("norm_gamma", "norm_beta")]
    network.vendor("SkipLayerNormalization", ["x", "attended", *ones], "normed", epsilon=1e-5)
    up = network.node("MatMul", ["normed", network.weight("up_w", width, hidden)], "up")
    network.vendor("BiasGelu", [up, network.weight("up_b", hidden)], "active")
    down = network.node("MatMul", ["active", network.weight("down_w", hidden, width)], "down")
    others = [network.weight(name, width, low=0.5, high=1.5) for name in ("out_gamma", "out_beta", "down_b")]
    network.vendor("SkipLayerNormalization", [down, "normed", *others], "y", epsilon=1e-5)
    kinds = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, width]) for name in ("x", "attended", "y")]
    graph = helper.make_graph(network.nodes, "optimized_layer", kinds[:2], kinds[2:], network.weights)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def forest(seed: int = 0) -> ModelProto:
    """Rows of four numbers, of which each tree asks two, and the sums of their leaves."""
    random = np.random.default_rng(seed)
    trees, nodes = 3, 7  # a root, two children, four leaves
    leaf = [place >= 3 for place in range(nodes)] * trees
    scaler = helper.make_node("Scaler", ["x"], ["scaled"], "scaler", domain="ai.onnx.ml")
    for name, low in (("offset", -1.0), ("scale", 0.5)):
        scaler.attribute.append(helper.make_attribute(name, random.uniform(low, 1.0, 4).round(3).tolist()))
    leaves = [(tree, place) for tree in range(trees) for place in range(3, nodes)]
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        ["scaled"],
        ["score"],
        "forest",
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[tree for tree in range(trees) for _ in range(nodes)],
        nodes_nodeids=list(range(nodes)) * trees,
        nodes_modes=["LEAF" if each else "BRANCH_LEQ" for each in leaf],
        nodes_featureids=[0 if each else int(random.integers(4)) for each in leaf],
        nodes_values=[0.0 if each else round(float(random.uniform(-0.5, 0.5)), 3) for each in leaf],
        nodes_truenodeids=[0 if each else 2 * (place % nodes) + 1 for place, each in enumerate(leaf)],
        nodes_falsenodeids=[0 if each else 2 * (place % nodes) + 2 for place, each in enumerate(leaf)],
        target_treeids=[tree for tree, _ in leaves],
        target_nodeids=[place for _, place in leaves],
        target_ids=[0] * len(leaves),
        target_weights=random.uniform(-1.0, 1.0, len(leaves)).round(3).tolist(),
    )
    graph = helper.make_graph(
        [scaler, ensemble],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
    )
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


MODELS: Mapping[str, Callable[[], ModelProto]] = {
    "tiny_cnn.onnx": tiny_cnn,
    "optimized_layer.onnx": optimized_layer,
    "forest.onnx": forest,
}
"""By the name of the file."""


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description="Write an example model.")
    parser.add_argument("path", type=Path, help=f"where to write it; its name says which: {', '.join(MODELS)}")
    path: Path = parser.parse_args().path
    if path.name not in MODELS:
        parser.error(f"no model is called '{path.name}'; there are {', '.join(MODELS)}")
    path.write_bytes(MODELS[path.name]().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
