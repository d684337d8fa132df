"""Recorded Relay networks as `fuse` ops: the same operators on the same shapes, built with the op classes.

`relay_records` writes a recorded program with ops that nobody knows, to test fusion alone. Here each Relay operator
becomes the op of ours with the same meaning, so that passes which look at ops (`simplify-inference`) and the
interpreter can take part.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    concatenation,
    convolution,
    elementwise,
    layout,
    matmul,
    normalization,
    opaque,
    pooling,
    reduction,
    replication,
    resizing,
    trigonometry,
)
from fuse_dialect.dialect.types import DYNAMIC, element_type_of, tensor

Node: TypeAlias = dict[str, Any]
Case: TypeAlias = dict[str, Any]
Build: TypeAlias = Callable[[Node, Sequence[SSAValue]], FuseOp]

BATCH_NORM_PARAMETERS = slice(1, 5)
"""Operands of `nn.batch_norm` that a trained network knows: gamma, beta, mean, variance."""


def _plain(op: type[FuseOp], *names: str, **renamed: str) -> Build:
    """The op with the Relay attributes of the same names, and of other names where `ours=theirs` says so."""

    def build(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
        attrs = node.get("attrs", {})
        properties: dict[str, Any] = {name: attrs[name] for name in names} | {
            ours: attrs[name] for ours, name in renamed.items()
        }
        return op(*operands, **properties)

    return build


def _reduction(op: type[FuseOp]) -> Build:
    def build(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
        attrs = node["attrs"]
        return op(operands[0], axes=attrs["axis"], keepdims=bool(attrs["keepdims"]))

    return build


def _pool(op: type[FuseOp], *flags: str) -> Build:
    def build(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
        attrs = node["attrs"]
        properties: dict[str, Any] = {name: attrs[name] for name in ("pool_size", "strides", "padding", "dilation")}
        properties |= {name: bool(attrs[name]) for name in ("ceil_mode", *flags)}
        return op(operands[0], **properties, layout=attrs["layout"])

    return build


def _batch_norm(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
    attrs = node["attrs"]
    return normalization.BatchNormOp(*operands, axis=attrs["axis"], epsilon=attrs["epsilon"])


def _batch_matmul(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
    attrs = node["attrs"]
    transposed: dict[str, Any] = {name: bool(attrs[name]) for name in ("transpose_a", "transpose_b")}
    return matmul.BatchMatmulOp(*operands, **transposed)


def _reshape(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
    return layout.ReshapeOp(operands[0], result_types=[type_of(node)])


def _upsampling(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
    assert (node["attrs"]["layout"], node["attrs"]["method"]) == ("NCHW", "nearest_neighbor")
    return resizing.Resize2dOp(operands[0], size=node["shape"][2:], method="nearest")


def _split(node: Node, operands: Sequence[SSAValue]) -> FuseOp:
    axis = node["attrs"]["axis"]
    return concatenation.SplitOp(operands[0], axis=axis, sizes=[field["shape"][axis] for field in node["tuple"]])


_CONV = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout")

OPERATORS: dict[str, Build] = {
    "add": _plain(broadcast.AddOp),
    "concatenate": _plain(concatenation.ConcatenateOp, "axis"),
    "divide": _plain(broadcast.DivideOp),
    "erf": _plain(elementwise.ErfOp),
    "exp": _plain(elementwise.ExpOp),
    "expand_dims": _plain(replication.ExpandDimsOp, "axis", "num_newaxis"),
    "max": _reduction(reduction.MaxOp),
    "mean": _reduction(reduction.MeanOp),
    "multiply": _plain(broadcast.MultiplyOp),
    "negative": _plain(elementwise.NegativeOp),
    "nn.avg_pool2d": _pool(pooling.AvgPool2dOp, "count_include_pad"),
    "nn.batch_flatten": _plain(layout.BatchFlattenOp),
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.bias_add": _plain(broadcast.BiasAddOp, "axis"),
    "nn.conv2d": _plain(convolution.Conv2dOp, *_CONV),
    "nn.conv2d_transpose": _plain(convolution.Conv2dTransposeOp, *_CONV, "output_padding"),
    "nn.dense": _plain(matmul.DenseOp),
    "nn.dropout": _plain(opaque.DropoutOp, "rate"),
    "nn.global_avg_pool2d": _plain(pooling.GlobalAvgPool2dOp, "layout"),
    "nn.leaky_relu": _plain(activation.LeakyReluOp, "alpha"),
    "nn.max_pool2d": _pool(pooling.MaxPool2dOp),
    "nn.relu": _plain(activation.ReluOp),
    "nn.softmax": _plain(normalization.SoftmaxOp, "axis"),
    "nn.upsampling": _upsampling,
    "reshape": _reshape,
    "rsqrt": _plain(elementwise.RsqrtOp),
    "sigmoid": _plain(activation.SigmoidOp),
    "split": _split,
    "sqrt": _plain(elementwise.SqrtOp),
    "squeeze": _plain(layout.SqueezeOp, axes="axis"),
    "subtract": _plain(broadcast.SubtractOp),
    "sum": _reduction(reduction.SumOp),
    "tanh": _plain(trigonometry.TanhOp),
    "transpose": _plain(layout.TransposeOp, permutation="axes"),
    "variance": _reduction(reduction.VarianceOp),
}
"""How to build each Relay operator with ours."""


def type_of(node: Node) -> Attribute:
    """The tensor type of a node with one result."""
    shape = [DYNAMIC if dim == "?" else dim for dim in node["shape"]]
    return tensor(shape, element_type_of(np.dtype(node["dtype"])))


def unknown_operators(case: Case) -> set[str]:
    """What keeps a case from being built: Relay operators without a row in the table, and kinds of nodes."""
    names = {
        node.get("op", node["kind"])
        for node in case["graph"]["nodes"]
        if node["kind"] not in ("input", "const", "tuple", "tuple_get")
    }
    return names - OPERATORS.keys()


class Network:
    """A network under construction, node by node.

    Args:
        case: The recorded case, with operators of the table only.
        constant_parameters: Whether the parameters of batch norms are constants (made up from their position), as in
            a trained network; otherwise they are arguments, as in the record.
    """

    def __init__(self, case: Case, *, constant_parameters: bool = False):
        self._nodes: Sequence[Node] = case["graph"]["nodes"]
        self._ops: list[Operation] = []
        self._values: dict[int, Sequence[SSAValue]] = {}
        self._constant_parameters = constant_parameters
        parameters = self._known_parameters() if constant_parameters else set[int]()
        arguments = [number for number in case["graph"]["params"] if number not in parameters]
        outputs: Sequence[int] = case["graph"]["outputs"]
        self._function = FuncOp("main", ([type_of(self._nodes[i]) for i in arguments], []))
        for number, argument in zip(arguments, self._function.body.block.args, strict=True):
            self._values[number] = [argument]
        for number in sorted(parameters):
            self._values[number] = [self._add(constant(_parameter(self._nodes[number]))).results[0]]
        for node in self._nodes:
            if node["id"] not in self._values:
                self._values[node["id"]] = self._build(node)
        returned = [value for number in outputs for value in self._values[number]]
        self._function.body.block.add_ops([*self._ops, ReturnOp(*returned)])
        self._function.update_function_type()
        self.module = ModuleOp([self._function])

    def _known_parameters(self) -> set[int]:
        norms = (node for node in self._nodes if node.get("op") == "nn.batch_norm")
        return {number for node in norms for number in node["inputs"][BATCH_NORM_PARAMETERS]}

    def _add(self, op: Operation) -> Operation:
        self._ops.append(op)
        return op

    def _build(self, node: Node) -> Sequence[SSAValue]:
        """The values of a node: the fields, for a tuple or an operator with several results."""
        operands = [value for number in node["inputs"] for value in self._values[number]]
        match node["kind"]:
            case "const" if "value" in node:
                return [self._add(constant(np.array(node["value"], node["dtype"]))).results[0]]
            case "const":
                return [self._add(_weight(node)).results[0]]
            case "tuple":
                return operands
            case "tuple_get":
                return [self._values[node["inputs"][0]][node["index"]]]
            case _:
                if node["op"] == "nn.batch_norm" and not node["attrs"]["scale"]:
                    operands[1] = self._add(
                        constant(np.ones(self._nodes[node["inputs"][1]]["shape"], np.float32))
                    ).results[0]
                return self._add(OPERATORS[node["op"]](node, operands)).results


def _weight(node: Node) -> Operation:
    """A constant that the record leaves out, because it is large: here every element is the same."""
    type = type_of(node)
    assert isinstance(type, TensorType)
    return ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [0.125]))


def _parameter(node: Node) -> npt.NDArray[Any]:
    """Made-up values around 1, all positive, so that they can be variances."""
    generator = np.random.default_rng(node["id"])
    return np.asarray(generator.uniform(0.5, 1.5, node["shape"]), node["dtype"])
