"""The activation functions that ONNX names in attributes of LSTM, GRU and RNN."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.activation import EluOp, HardSigmoidOp, LeakyReluOp, ReluOp, SigmoidOp, SoftplusOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, WhereOp
from fuse_dialect.dialect.ops.comparison import GreaterOp
from fuse_dialect.dialect.ops.elementwise import AbsOp
from fuse_dialect.dialect.ops.trigonometry import TanhOp
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.values import Value

Activation: TypeAlias = Callable[[OnnxNode, Value], Value]


def _affine(node: OnnxNode, x: Value, alpha: float, beta: float) -> Value:
    return node.emit(AddOp, node.emit(MultiplyOp, x, node.scalar(alpha, x)), node.scalar(beta, x))


def _scaled_tanh(node: OnnxNode, x: Value, alpha: float, beta: float) -> Value:
    inner = node.emit(TanhOp, node.emit(MultiplyOp, x, node.scalar(beta, x)))
    return node.emit(MultiplyOp, inner, node.scalar(alpha, x))


def _thresholded_relu(node: OnnxNode, x: Value, alpha: float, beta: float) -> Value:
    return node.emit(WhereOp, node.emit(GreaterOp, x, node.scalar(alpha, x)), x, node.scalar(0, x))


def _softsign(node: OnnxNode, x: Value, alpha: float, beta: float) -> Value:
    return node.emit(DivideOp, x, node.emit(AddOp, node.emit(AbsOp, x), node.scalar(1, x)))


_FUNCTIONS: dict[str, tuple[tuple[float | None, float | None], Callable[[OnnxNode, Value, float, float], Value]]] = {
    "relu": ((None, None), lambda node, x, alpha, beta: node.emit(ReluOp, x)),
    "tanh": ((None, None), lambda node, x, alpha, beta: node.emit(TanhOp, x)),
    "sigmoid": ((None, None), lambda node, x, alpha, beta: node.emit(SigmoidOp, x)),
    "softsign": ((None, None), _softsign),
    "softplus": ((None, None), lambda node, x, alpha, beta: node.emit(SoftplusOp, x)),
    "affine": ((1.0, 0.0), _affine),
    "leakyrelu": ((0.01, None), lambda node, x, alpha, beta: node.emit(LeakyReluOp, x, alpha=alpha)),
    "thresholdedrelu": ((1.0, None), _thresholded_relu),
    "scaledtanh": ((1.0, 1.0), _scaled_tanh),
    "hardsigmoid": ((0.2, 0.5), lambda node, x, alpha, beta: node.emit(HardSigmoidOp, x, alpha=alpha, beta=beta)),
    "elu": ((1.0, None), lambda node, x, alpha, beta: node.emit(EluOp, x, alpha=alpha)),
}
"""By lower-case name: defaults of alpha and beta, `None` for those that the function has not, and the function."""


def activations_of(node: OnnxNode, directions: int, defaults: Sequence[str]) -> list[tuple[Activation, ...]]:
    """The functions of each direction; those that take an alpha or a beta take the next one that the node gives.

    Raises:
        FuseError: There are more or fewer than the operator needs, or one is not known.
    """
    names = node.strings("activations", list(defaults) * directions)
    if len(names) != directions * len(defaults):
        raise FuseError(f"expects {directions * len(defaults)} activations, got {len(names)}")
    alphas, betas = (iter(node.reals(name, [])) for name in ("activation_alpha", "activation_beta"))
    functions: list[Activation] = []
    for name in names:
        if name.lower() not in _FUNCTIONS:
            raise FuseError(f"expects a known activation, got '{name}'")
        (alpha, beta), function = _FUNCTIONS[name.lower()]
        alpha = alpha if alpha is None else next(alphas, alpha)
        beta = beta if beta is None else next(betas, beta)
        functions.append(_bound(function, alpha or 0.0, beta or 0.0))
    size = len(defaults)
    return [tuple(functions[start : start + size]) for start in range(0, len(functions), size)]


def _bound(function: Callable[[OnnxNode, Value, float, float], Value], alpha: float, beta: float) -> Activation:
    return lambda node, x: function(node, x, alpha, beta)
