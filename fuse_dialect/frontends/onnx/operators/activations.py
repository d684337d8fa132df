"""ONNX operators on single elements: mathematical functions and activations."""

import numpy as np

from fuse_dialect.dialect.ops.activation import (
    ClipOp,
    EluOp,
    GeluOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    SiluOp,
    SoftplusOp,
)
from fuse_dialect.dialect.ops.broadcast import (
    AddOp,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    PreluOp,
    SubtractOp,
    WhereOp,
)
from fuse_dialect.dialect.ops.comparison import GreaterOp, LessOp
from fuse_dialect.dialect.ops.elementwise import (
    AbsOp,
    CeilOp,
    ErfOp,
    ExpOp,
    FloorOp,
    IsinfOp,
    IsnanOp,
    LogicalNotOp,
    LogOp,
    NegativeOp,
    ReciprocalOp,
    RoundOp,
    SignOp,
    SqrtOp,
)
from fuse_dialect.dialect.ops.trigonometry import (
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    AtanhOp,
    AtanOp,
    CoshOp,
    CosOp,
    SinhOp,
    SinOp,
    TanhOp,
    TanOp,
)
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()

OPERATORS.simple(
    [
        ("Abs", AbsOp),
        ("Acos", AcosOp),
        ("Acosh", AcoshOp),
        ("Asin", AsinOp),
        ("Asinh", AsinhOp),
        ("Atan", AtanOp),
        ("Atanh", AtanhOp),
        ("Ceil", CeilOp),
        ("Cos", CosOp),
        ("Cosh", CoshOp),
        ("Erf", ErfOp),
        ("Exp", ExpOp),
        ("Floor", FloorOp),
        ("HardSwish", HardSwishOp),
        ("IsNaN", IsnanOp),
        ("Log", LogOp),
        ("Neg", NegativeOp),
        ("Not", LogicalNotOp),
        ("Reciprocal", ReciprocalOp),
        ("Relu", ReluOp),
        ("Round", RoundOp),
        ("Sigmoid", SigmoidOp),
        ("Sign", SignOp),
        ("Sin", SinOp),
        ("Sinh", SinhOp),
        ("Softplus", SoftplusOp),
        ("Sqrt", SqrtOp),
        ("Tan", TanOp),
        ("Tanh", TanhOp),
    ]
)

_SELU_ALPHA = 1.67326319217681884765625
_SELU_GAMMA = 1.05070102214813232421875


@OPERATORS.operator("Elu")
def import_elu(node: OnnxNode) -> Value:
    """`elu`."""
    return node.emit(EluOp, node.operand(0), alpha=node.real("alpha", 1.0))


@OPERATORS.operator("Selu")
def import_selu(node: OnnxNode) -> Value:
    """Gamma * elu(x), whose negative side is alpha * (exp(x) - 1)."""
    (x,) = node.all_operands()
    bent = node.emit(EluOp, x, alpha=node.real("alpha", _SELU_ALPHA))
    return node.emit(MultiplyOp, bent, node.scalar(node.real("gamma", _SELU_GAMMA), x))


@OPERATORS.operator("Celu")
def import_celu(node: OnnxNode) -> Value:
    """Alpha * elu(x / alpha)."""
    (x,) = node.all_operands()
    alpha = node.real("alpha", 1.0)
    if alpha == 1.0:
        return node.emit(EluOp, x)
    scale = node.scalar(alpha, x)
    bent = node.emit(EluOp, node.emit(DivideOp, x, scale))
    return node.emit(MultiplyOp, bent, scale)


@OPERATORS.operator("LeakyRelu")
def import_leaky_relu(node: OnnxNode) -> Value:
    """`leaky_relu`."""
    return node.emit(LeakyReluOp, node.operand(0), alpha=node.real("alpha", 0.01))


@OPERATORS.operator("PRelu")
def import_prelu(node: OnnxNode) -> Value:
    """`prelu` when the slope varies along one axis; else a choice between x and slope * x."""
    x, slope = node.operand(0), node.operand(1)
    shape, slopes = node.shape(x), node.shape(slope)
    axis = len(shape) - len(slopes)
    if isinstance(slope, Constant) and axis >= 0 and slopes and slopes[0] == slope.array.size == shape[axis]:
        return node.emit(PreluOp, x, Constant(slope.array.reshape(-1), slope.name), axis=axis)
    negative = node.emit(LessOp, x, node.scalar(0, x))
    return node.emit(WhereOp, negative, node.emit(MultiplyOp, x, slope), x)


@OPERATORS.operator("HardSigmoid")
def import_hard_sigmoid(node: OnnxNode) -> Value:
    """`hard_sigmoid`."""
    (x,) = node.all_operands()
    return node.emit(HardSigmoidOp, x, alpha=node.real("alpha", 0.2), beta=node.real("beta", 0.5))


@OPERATORS.operator("Gelu")
def import_gelu(node: OnnxNode) -> Value:
    """`gelu`."""
    return node.emit(GeluOp, node.operand(0), approximate=node.string("approximate", "none"))


@OPERATORS.operator("Swish")
def import_swish(node: OnnxNode) -> Value:
    """X * sigmoid(alpha * x); `silu` when alpha is 1."""
    (x,) = node.all_operands()
    alpha = node.real("alpha", 1.0)
    if alpha == 1.0:
        return node.emit(SiluOp, x)
    gate = node.emit(SigmoidOp, node.emit(MultiplyOp, x, node.scalar(alpha, x)))
    return node.emit(MultiplyOp, x, gate)


@OPERATORS.operator("Mish")
def import_mish(node: OnnxNode) -> Value:
    """X * tanh(softplus(x))."""
    (x,) = node.all_operands()
    gate = node.emit(TanhOp, node.emit(SoftplusOp, x))
    return node.emit(MultiplyOp, x, gate)


@OPERATORS.operator("Softsign")
def import_softsign(node: OnnxNode) -> Value:
    """X / (1 + |x|)."""
    (x,) = node.all_operands()
    below = node.emit(AddOp, node.emit(AbsOp, x), node.scalar(1, x))
    return node.emit(DivideOp, x, below)


@OPERATORS.operator("ThresholdedRelu")
def import_thresholded_relu(node: OnnxNode) -> Value:
    """X where x > alpha, else 0."""
    (x,) = node.all_operands()
    passes = node.emit(GreaterOp, x, node.scalar(node.real("alpha", 1.0), x))
    return node.emit(WhereOp, passes, x, node.scalar(0, x))


@OPERATORS.operator("Shrink")
def import_shrink(node: OnnxNode) -> Value:
    """X + bias below -lambd, x - bias above lambd, else 0."""
    (x,) = node.all_operands()
    bias, bound = node.scalar(node.real("bias", 0.0), x), node.real("lambd", 0.5)
    above = node.emit(GreaterOp, x, node.scalar(bound, x))
    below = node.emit(LessOp, x, node.scalar(-bound, x))
    inner = node.emit(WhereOp, above, node.emit(SubtractOp, x, bias), node.scalar(0, x))
    return node.emit(WhereOp, below, node.emit(AddOp, x, bias), inner)


@OPERATORS.operator("IsInf")
def import_isinf(node: OnnxNode) -> Value:
    """`isinf`."""
    return node.emit(
        IsinfOp,
        node.operand(0),
        detect_negative=node.flag("detect_negative", True),
        detect_positive=node.flag("detect_positive", True),
    )


@OPERATORS.operator("Clip")
def import_clip(node: OnnxNode) -> Value:
    """`clip` for bounds that are constants, else `maximum` and `minimum`."""
    x = node.operand(0)
    if node.opset < 11:
        bounds = {key: node.real(key) for key in ("min", "max") if node.has(key)}
        return node.emit(ClipOp, x, type=None, **bounds) if bounds else x
    low, high = node.optional(1), node.optional(2)
    if low is None and high is None:
        return x
    if _is_exact(low) and _is_exact(high):
        return node.emit(ClipOp, x, min=_number(low), max=_number(high))
    for op, bound in ((MaximumOp, low), (MinimumOp, high)):
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
