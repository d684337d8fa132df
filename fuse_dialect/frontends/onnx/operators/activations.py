"""ONNX operators on single elements: mathematical functions and activations."""

import numpy as np

from fuse_dialect.dialect.ops import activation, broadcast, comparison, elementwise, trigonometry
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()
_LARGEST = float(np.finfo(np.float32).max)

OPERATORS.simple(
    [
        ("Abs", elementwise.AbsOp),
        ("Acos", trigonometry.AcosOp),
        ("Acosh", trigonometry.AcoshOp),
        ("Asin", trigonometry.AsinOp),
        ("Asinh", trigonometry.AsinhOp),
        ("Atan", trigonometry.AtanOp),
        ("Atanh", trigonometry.AtanhOp),
        ("Ceil", elementwise.CeilOp),
        ("Cos", trigonometry.CosOp),
        ("Cosh", trigonometry.CoshOp),
        ("Erf", elementwise.ErfOp),
        ("Exp", elementwise.ExpOp),
        ("Floor", elementwise.FloorOp),
        ("HardSwish", activation.HardSwishOp),
        ("IsNaN", elementwise.IsnanOp),
        ("Log", elementwise.LogOp),
        ("Neg", elementwise.NegativeOp),
        ("Not", elementwise.LogicalNotOp),
        ("Reciprocal", elementwise.ReciprocalOp),
        ("Relu", activation.ReluOp),
        ("Round", elementwise.RoundOp),
        ("Sigmoid", activation.SigmoidOp),
        ("Sign", elementwise.SignOp),
        ("Sin", trigonometry.SinOp),
        ("Sinh", trigonometry.SinhOp),
        ("Softplus", activation.SoftplusOp),
        ("Sqrt", elementwise.SqrtOp),
        ("Tan", trigonometry.TanOp),
        ("Tanh", trigonometry.TanhOp),
    ]
)

_SELU_ALPHA = 1.67326319217681884765625
_SELU_GAMMA = 1.05070102214813232421875


@OPERATORS.operator("Elu")
def import_elu(node: OnnxNode) -> Value:
    """`elu`."""
    return node.emit(activation.EluOp, node.operand(0), alpha=node.real("alpha", 1.0))


@OPERATORS.operator("Selu")
def import_selu(node: OnnxNode) -> Value:
    """Gamma * elu(x), whose negative side is alpha * (exp(x) - 1)."""
    (x,) = node.all_operands()
    bent = node.emit(activation.EluOp, x, alpha=node.real("alpha", _SELU_ALPHA))
    return node.emit(broadcast.MultiplyOp, bent, node.scalar(node.real("gamma", _SELU_GAMMA), x))


@OPERATORS.operator("Celu")
def import_celu(node: OnnxNode) -> Value:
    """Alpha * elu(x / alpha); a negative alpha bends negative elements, too, where that quotient is positive."""
    (x,) = node.all_operands()
    alpha = node.real("alpha", 1.0)
    if alpha == 1.0:
        return node.emit(activation.EluOp, x)
    scale = node.scalar(alpha, x)
    quotient = node.emit(broadcast.DivideOp, x, scale)
    if alpha > 0:
        return node.emit(broadcast.MultiplyOp, node.emit(activation.EluOp, quotient), scale)
    grown = node.emit(broadcast.SubtractOp, node.emit(elementwise.ExpOp, quotient), node.scalar(1.0, x))
    negative = node.emit(broadcast.MinimumOp, node.emit(broadcast.MultiplyOp, grown, scale), node.scalar(0.0, x))
    return node.emit(broadcast.AddOp, node.emit(activation.ReluOp, x), negative)


@OPERATORS.operator("LeakyRelu")
def import_leaky_relu(node: OnnxNode) -> Value:
    """`leaky_relu`."""
    return node.emit(activation.LeakyReluOp, node.operand(0), alpha=node.real("alpha", 0.01))


@OPERATORS.operator("PRelu")
def import_prelu(node: OnnxNode) -> Value:
    """`prelu` when the slope varies along one axis; else a choice between x and slope * x."""
    x, slope = node.operand(0), node.operand(1)
    shape, slopes = node.shape(x), node.shape(slope)
    axis = len(shape) - len(slopes)
    if isinstance(slope, Constant) and axis >= 0 and slopes and slopes[0] == slope.array.size == shape[axis]:
        return node.emit(broadcast.PreluOp, x, Constant(slope.array.reshape(-1), slope.name), axis=axis)
    negative = node.emit(comparison.LessOp, x, node.scalar(0, x))
    return node.emit(broadcast.WhereOp, negative, node.emit(broadcast.MultiplyOp, x, slope), x)


@OPERATORS.operator("HardSigmoid")
def import_hard_sigmoid(node: OnnxNode) -> Value:
    """`hard_sigmoid`."""
    (x,) = node.all_operands()
    return node.emit(activation.HardSigmoidOp, x, alpha=node.real("alpha", 0.2), beta=node.real("beta", 0.5))


@OPERATORS.operator("Gelu")
def import_gelu(node: OnnxNode) -> Value:
    """`gelu`."""
    return node.emit(activation.GeluOp, node.operand(0), approximate=node.string("approximate", "none"))


@OPERATORS.operator("Swish")
def import_swish(node: OnnxNode) -> Value:
    """X * sigmoid(alpha * x); `silu` when alpha is 1."""
    (x,) = node.all_operands()
    alpha = node.real("alpha", 1.0)
    if alpha == 1.0:
        return node.emit(activation.SiluOp, x)
    gate = node.emit(activation.SigmoidOp, node.emit(broadcast.MultiplyOp, x, node.scalar(alpha, x)))
    return node.emit(broadcast.MultiplyOp, x, gate)


@OPERATORS.operator("Mish")
def import_mish(node: OnnxNode) -> Value:
    """X * tanh(softplus(x))."""
    (x,) = node.all_operands()
    gate = node.emit(trigonometry.TanhOp, node.emit(activation.SoftplusOp, x))
    return node.emit(broadcast.MultiplyOp, x, gate)


@OPERATORS.operator("Softsign")
def import_softsign(node: OnnxNode) -> Value:
    """X / (1 + |x|)."""
    (x,) = node.all_operands()
    below = node.emit(broadcast.AddOp, node.emit(elementwise.AbsOp, x), node.scalar(1, x))
    return node.emit(broadcast.DivideOp, x, below)


@OPERATORS.operator("ThresholdedRelu")
def import_thresholded_relu(node: OnnxNode) -> Value:
    """X where x > alpha, else 0."""
    (x,) = node.all_operands()
    passes = node.emit(comparison.GreaterOp, x, node.scalar(node.real("alpha", 1.0), x))
    return node.emit(broadcast.WhereOp, passes, x, node.scalar(0, x))


@OPERATORS.operator("Shrink")
def import_shrink(node: OnnxNode) -> Value:
    """X + bias below -lambd, x - bias above lambd, else 0."""
    (x,) = node.all_operands()
    bias, bound = node.scalar(node.real("bias", 0.0), x), node.real("lambd", 0.5)
    above = node.emit(comparison.GreaterOp, x, node.scalar(bound, x))
    below = node.emit(comparison.LessOp, x, node.scalar(-bound, x))
    inner = node.emit(broadcast.WhereOp, above, node.emit(broadcast.SubtractOp, x, bias), node.scalar(0, x))
    return node.emit(broadcast.WhereOp, below, node.emit(broadcast.AddOp, x, bias), inner)


@OPERATORS.operator("IsInf")
def import_isinf(node: OnnxNode) -> Value:
    """`isinf`."""
    return node.emit(
        elementwise.IsinfOp,
        node.operand(0),
        detect_negative=node.flag("detect_negative", True),
        detect_positive=node.flag("detect_positive", True),
    )


@OPERATORS.operator("Clip")
def import_clip(node: OnnxNode) -> Value:
    """`clip` for bounds that are constants, else `maximum` and `minimum`."""
    x = node.operand(0)
    if node.opset < 11:
        # A bound that is left out is the greatest finite f32: infinities are cut, too.
        ends = {} if node.dtype(x).itemsize < 4 else {"min": -_LARGEST, "max": _LARGEST}
        bounds = ends | {key: node.real(key) for key in ("min", "max") if node.has(key)}
        return node.emit(activation.ClipOp, x, type=None, **bounds) if bounds else x
    low, high = node.optional(1), node.optional(2)
    if low is None and high is None:
        return x
    if _is_exact(low) and _is_exact(high):
        return node.emit(activation.ClipOp, x, min=_number(low), max=_number(high))
    for op, bound in ((broadcast.MaximumOp, low), (broadcast.MinimumOp, high)):
        if bound is not None:
            x = node.emit(op, x, bound)
    return x


def _is_exact(bound: Value | None) -> bool:
    """Whether a bound of Clip is left out, or known and the same as a 64-bit float."""
    if bound is None:
        return True
    return isinstance(bound, Constant) and bound.array.size == 1 and float(bound.array.item()) == bound.array.item()


def _number(bound: Value | None) -> float | None:
    if not isinstance(bound, Constant):
        return None
    return float(str(bound.array.reshape(-1)[0])) if bound.array.dtype == np.float32 else float(bound.array.item())
