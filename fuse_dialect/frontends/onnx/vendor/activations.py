"""Activations of com.microsoft, some with a bias that is added before."""

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import (
    ClipOp,
    GeluOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    SiluOp,
)
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp
from fuse_dialect.dialect.ops.concatenation import SplitOp
from fuse_dialect.dialect.ops.trigonometry import TanhOp
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()


def with_bias(node: OnnxNode, x: Value, index: int) -> Value:
    """The value, plus an operand that may be left out."""
    bias = node.optional(index)
    return x if bias is None else node.emit(AddOp, x, bias)


@OPERATORS.operator("Gelu", "BiasGelu")
def import_gelu(node: OnnxNode) -> Value:
    """`gelu` by erf, of the sum with a bias."""
    return node.emit(GeluOp, with_bias(node, node.operand(0), 1), approximate="none")


@OPERATORS.operator("FastGelu")
def import_fast_gelu(node: OnnxNode) -> Value:
    """`gelu` by tanh, of the sum with a bias."""
    return node.emit(GeluOp, with_bias(node, node.operand(0), 1), approximate="tanh")


@OPERATORS.operator("QuickGelu")
def import_quick_gelu(node: OnnxNode) -> Value:
    """X * sigmoid(alpha * x)."""
    x, alpha = node.operand(0), node.real("alpha", 1.702)
    if alpha == 1.0:
        return node.emit(SiluOp, x)
    gate = node.emit(SigmoidOp, node.emit(MultiplyOp, x, node.scalar(alpha, x)))
    return node.emit(MultiplyOp, x, gate)


@OPERATORS.operator("BiasSplitGelu")
def import_bias_split_gelu(node: OnnxNode) -> Value:
    """The left half of the channels of x + bias, times `gelu` of the right half."""
    x = node.emit(AddOp, node.operand(0), node.operand(1))
    channels = node.static_shape(x, -1)[0]
    if channels % 2:
        raise FuseError(f"expects an even number of channels, got {channels}")
    left, right = node.emit_all(SplitOp, x, axis=-1, sizes=[channels // 2] * 2)
    return node.emit(MultiplyOp, left, node.emit(GeluOp, right, approximate="none"))


@OPERATORS.operator("BiasAdd")
def import_bias_add(node: OnnxNode) -> Value:
    """X + bias + skip."""
    return node.emit(AddOp, node.emit(AddOp, node.operand(0), node.operand(1)), node.operand(2))


def activated(node: OnnxNode, x: Value) -> Value:
    """The value after the activation that a fused operator names in its attributes.

    Raises:
        UnsupportedFormError: It names another one.
    """
    name = node.string("activation", "")
    match name:
        case "":
            return x
        case "Relu":
            return node.emit(ReluOp, x)
        case "Tanh":
            return node.emit(TanhOp, x)
        case "Sigmoid":
            return node.emit(SigmoidOp, x)
        case "LeakyRelu":
            return node.emit(LeakyReluOp, x, alpha=_parameter(node, 0, 0.01))
        case "Clip":
            return node.emit(ClipOp, x, min=_parameter(node, 0, None), max=_parameter(node, 1, None))
        case "HardSigmoid":
            return node.emit(HardSigmoidOp, x, alpha=_parameter(node, 0, 0.2), beta=_parameter(node, 1, 0.5))
        case "HardSwish":
            return node.emit(HardSwishOp, x)
        case _:
            raise UnsupportedFormError(f"the activation '{name}' is not supported")


_NAMED = {
    "LeakyRelu": ("activation_alpha",),
    "HardSigmoid": ("activation_alpha", "activation_beta"),
    "Clip": (),
}
"""Attributes of FusedGemm, where FusedConv has the list `activation_params`."""


def _parameter(node: OnnxNode, index: int, default: float | None) -> float:
    if node.has("activation_params"):
        given = node.reals("activation_params")
        if index >= len(given):
            raise FuseError(f"expects attribute 'activation_params' to hold {index + 1} numbers, got {len(given)}")
        return given[index]
    names = _NAMED[node.string("activation")]
    if index < len(names):
        return node.real(names[index], default)
    raise FuseError("expects attribute 'activation_params'")
