"""Recorded Relay networks as ONNX models, so that the same network reaches the IR through the ONNX frontend.

Parameters are inputs of the graph, as in the records; an initializer would let `simplify-inference` fold them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

Node: TypeAlias = dict[str, Any]
Case: TypeAlias = dict[str, Any]


def _conv(attrs: Node) -> Node:
    assert (attrs["data_layout"], attrs["kernel_layout"]) == ("NCHW", "OIHW")
    return {
        "strides": attrs["strides"],
        "pads": attrs["padding"],
        "dilations": attrs["dilation"],
        "group": attrs["groups"],
        "kernel_shape": attrs["kernel_size"],
    }


def _pool(attrs: Node) -> Node:
    assert (attrs["layout"], attrs["dilation"]) == ("NCHW", [1, 1])
    pool = {"kernel_shape": attrs["pool_size"], "strides": attrs["strides"], "pads": attrs["padding"]}
    pool["ceil_mode"] = attrs["ceil_mode"]
    return pool | ({"count_include_pad": attrs["count_include_pad"]} if "count_include_pad" in attrs else {})


def _same(*names: str) -> Callable[[Node], Node]:
    return lambda attrs: {name: attrs[name] for name in names}


_OPERATORS: dict[str, tuple[str, Callable[[Node], Node]]] = {
    "add": ("Add", _same()),
    "concatenate": ("Concat", _same("axis")),
    "nn.avg_pool2d": ("AveragePool", _pool),
    "nn.batch_flatten": ("Flatten", _same()),
    "nn.batch_norm": ("BatchNormalization", _same("epsilon")),
    "nn.conv2d": ("Conv", _conv),
    "nn.dense": ("Gemm", lambda attrs: {"transB": 1}),
    "nn.dropout": ("Dropout", _same()),
    "nn.global_avg_pool2d": ("GlobalAveragePool", _same()),
    "nn.max_pool2d": ("MaxPool", _pool),
    "nn.relu": ("Relu", _same()),
    "nn.softmax": ("Softmax", _same("axis")),
}
"""ONNX operator and attributes of each Relay operator; a bias joins the convolution or product that it follows."""


class _Exporter:
    def __init__(self, case: Case):
        self._nodes: Sequence[Node] = case["graph"]["nodes"]
        self._names = {node["id"]: f"v{node['id']}" for node in self._nodes}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.nodes: dict[str, onnx.NodeProto] = {}

    def add(self, node: Node) -> None:
        name = self._names[node["id"]]
        inputs = [self._names[i] for i in node["inputs"]]
        match node.get("op", node["kind"]):
            case "input":
                self.inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, node["shape"]))
            case "tuple":
                pass
            case "tuple_get":
                self._names[node["id"]] = inputs[0]
            case "nn.bias_add":
                self.nodes[inputs[0]].input.append(inputs[1])
                self._names[node["id"]] = inputs[0]
            case operator:
                if operator == "concatenate":
                    inputs = [self._names[i] for i in self._nodes[node["inputs"][0]]["inputs"]]
                if operator == "nn.batch_norm" and not node["attrs"]["scale"]:
                    inputs[1] = f"{name}_ones"
                    ones = np.ones(self._nodes[node["inputs"][1]]["shape"], np.float32)
                    self.initializers.append(numpy_helper.from_array(ones, inputs[1]))
                kind, attributes = _OPERATORS[operator]
                self.nodes[name] = helper.make_node(kind, inputs, [name], **attributes(node["attrs"]))

    def output(self, number: int) -> onnx.ValueInfoProto:
        name = self._names[number]
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, self._nodes[number]["shape"])


def onnx_model(case: Case) -> onnx.ModelProto:
    """The ONNX model of a recorded network whose operators are in the table."""
    exporter = _Exporter(case)
    for node in case["graph"]["nodes"]:
        exporter.add(node)
    outputs = [exporter.output(number) for number in case["graph"]["outputs"]]
    graph = helper.make_graph(
        list(exporter.nodes.values()), case["name"], exporter.inputs, outputs, exporter.initializers
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
