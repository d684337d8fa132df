"""Functions of each element."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import activation as a
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, is_boolean, is_value, made
from fuse_dialect.frontends.fuse_values import NoFuseFormError, broadcast, dtype, scalar
from fuse_dialect.frontends.stablehlo.rules.gamma_functions import digamma
from fuse_dialect.frontends.stablehlo.rules.special_functions import erf_inv, erfc, lgamma

_FLOAT_FUNCTIONS: Mapping[str, type[FuseOp]] = {
    "exp": e.ExpOp,
    "log": e.LogOp,
    "log2": e.Log2Op,
    "sqrt": e.SqrtOp,
    "rsqrt": e.RsqrtOp,
    "reciprocal": e.ReciprocalOp,
    "erf": e.ErfOp,
    "sin": t.SinOp,
    "cos": t.CosOp,
    "tan": t.TanOp,
    "asin": t.AsinOp,
    "acos": t.AcosOp,
    "atan": t.AtanOp,
    "sinh": t.SinhOp,
    "cosh": t.CoshOp,
    "tanh": t.TanhOp,
    "asinh": t.AsinhOp,
    "acosh": t.AcoshOp,
    "atanh": t.AtanhOp,
    "sigmoid": a.SigmoidOp,
    "silu": a.SiluOp,
    "hardswish": a.HardSwishOp,
    "hardsigmoid": a.HardSigmoidOp,
}
"""Integers are taken as floating point, as PyTorch does."""
_LONG_FUNCTIONS: Mapping[str, Callable[[SSAValue], SSAValue]] = {
    "digamma": digamma,
    "erfc": erfc,
    "erfinv": erf_inv,
    "lgamma": lgamma,
}
"""Functions of many steps, each of which would round floats of 16 bits."""
_ROUNDING: Mapping[str, type[FuseOp]] = {"ceil": e.CeilOp, "floor": e.FloorOp, "round": e.RoundOp}
"""Integers stay as they are."""
_COMPARISONS: Mapping[str, type[FuseOp]] = {
    "eq": c.EqualOp,
    "ne": c.NotEqualOp,
    "lt": c.LessOp,
    "le": c.LessEqualOp,
    "gt": c.GreaterOp,
    "ge": c.GreaterEqualOp,
}
_LOGICAL: Mapping[str, type[FuseOp]] = {"and": c.LogicalAndOp, "or": c.LogicalOrOp, "xor": c.LogicalXorOp}
_BITWISE: Mapping[str, type[FuseOp]] = {"and": c.BitwiseAndOp, "or": c.BitwiseOrOp, "xor": c.BitwiseXorOp}


def _enter(name: str, op: type[FuseOp]) -> None:
    @RULES.of(f"aten.{name}.default")
    def function(want: Want, self: SSAValue) -> SSAValue:
        return made(op(as_type(self, want.dtype)))


def _enter_long(name: str, steps: Callable[[SSAValue], SSAValue]) -> None:
    @RULES.of(f"aten.{name}.default")
    def function(want: Want, self: SSAValue) -> SSAValue:
        return steps(as_type(self, np.dtype(np.float32) if want.dtype.itemsize == 2 else want.dtype))


def _enter_rounding(name: str, op: type[FuseOp]) -> None:
    @RULES.of(f"aten.{name}.default")
    def function(want: Want, self: SSAValue) -> SSAValue:
        return self if want.dtype.kind in "biu" else made(op(self))


def _enter_comparison(name: str, op: type[FuseOp]) -> None:
    @RULES.of(f"aten.{name}.Tensor", f"aten.{name}.Scalar")
    def function(want: Want, self: SSAValue, other: Any) -> SSAValue:
        kind = _common(self, other)
        return made(op(as_type(self, kind), as_type(other, kind)))


def _enter_logical(name: str) -> None:
    @RULES.of(f"aten.logical_{name}.default")
    def logical(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
        return made(_LOGICAL[name](_truth(self), _truth(other)))

    @RULES.of(f"aten.bitwise_{name}.Tensor", f"aten.bitwise_{name}.Scalar")
    def bitwise(want: Want, self: SSAValue, other: Any) -> SSAValue:
        table = _LOGICAL if want.dtype.kind == "b" else _BITWISE
        return made(table[name](as_type(self, want.dtype), as_type(other, want.dtype)))


for _name, _op in _FLOAT_FUNCTIONS.items():
    _enter(_name, _op)
for _name, _steps in _LONG_FUNCTIONS.items():
    _enter_long(_name, _steps)
for _name, _op in _ROUNDING.items():
    _enter_rounding(_name, _op)
for _name, _op in _COMPARISONS.items():
    _enter_comparison(_name, _op)
for _name in _LOGICAL:
    _enter_logical(_name)


def _common(first: Any, second: Any) -> "np.dtype[Any]":
    """The type in which two values are compared: that of PyTorch's promotion, in which numbers do not widen tensors."""
    kinds = [dtype(value) for value in (first, second) if is_value(value)]
    if len(kinds) == 2:
        if kinds[0] == kinds[1]:
            return kinds[0]
        floats = [kind for kind in kinds if kind.kind not in "biu"]
        if len(floats) == 1:
            return floats[0]
        return np.promote_types(*kinds)
    number = second if is_value(first) else first
    if isinstance(number, float) and kinds[0].kind in "biu":
        return np.dtype(np.float32)
    return np.dtype(np.int64) if kinds[0].kind == "b" and not isinstance(number, bool) else kinds[0]


def _truth(value: SSAValue) -> SSAValue:
    """Whether each element is not zero."""
    return value if is_boolean(value) else as_type(value, np.dtype(np.bool_))


@RULES.of("aten.abs.default")
def absolute(want: Want, self: SSAValue) -> SSAValue:
    """`abs`."""
    return self if dtype(self).kind in "bu" else made(e.AbsOp(self))


@RULES.of("aten.neg.default")
def negative(want: Want, self: SSAValue) -> SSAValue:
    """`negative`."""
    return made(e.NegativeOp(self))


@RULES.of("aten.sign.default", "aten.sgn.default")
def sign(want: Want, self: SSAValue) -> SSAValue:
    """`sign`; PyTorch makes 0 of -0 and of nan."""
    if is_boolean(self):
        return self
    zero = scalar(self, 0)
    signs = made(b.WhereOp(made(c.LessOp(self, zero)), scalar(self, -1) if _signed(self) else zero, zero))
    return made(b.WhereOp(made(c.GreaterOp(self, zero)), scalar(self, 1), signs))


def _signed(value: SSAValue) -> bool:
    return dtype(value).kind != "u"


@RULES.of("aten.trunc.default", "aten.fix.default")
def truncate(want: Want, self: SSAValue) -> SSAValue:
    """Towards zero."""
    if want.dtype.kind in "biu":
        return self
    below = made(c.LessOp(self, scalar(self, 0)))
    return made(b.WhereOp(below, made(e.CeilOp(self)), made(e.FloorOp(self))))


@RULES.of("aten.log10.default")
def log10(want: Want, self: SSAValue) -> SSAValue:
    """By the binary logarithm."""
    x = as_type(self, want.dtype)
    return made(b.MultiplyOp(made(e.Log2Op(x)), scalar(x, math.log10(2))))


@RULES.of("aten.log1p.default")
def log1p(want: Want, self: SSAValue) -> SSAValue:
    """`log(u) * x / (u - 1)` with u = 1 + x, x where u is 1, and `log(u)` where it is infinite (W. Kahan)."""
    x = as_type(self, want.dtype)
    one = scalar(x, 1)
    u = made(b.AddOp(x, one))
    logarithm = made(e.LogOp(u))
    scaled = made(b.MultiplyOp(logarithm, made(b.DivideOp(x, made(b.SubtractOp(u, one))))))
    exact = made(c.LogicalOrOp(made(c.EqualOp(u, one)), made(e.IsinfOp(u))))
    plain = made(b.WhereOp(made(e.IsinfOp(u)), logarithm, x))
    return made(b.WhereOp(exact, plain, scaled))


@RULES.of("aten.expm1.default")
def expm1(want: Want, self: SSAValue) -> SSAValue:
    """`2 sinh(x / 2) exp(x / 2)`, whose factors lose nothing near zero."""
    x = as_type(self, want.dtype)
    half = made(b.MultiplyOp(x, scalar(x, 0.5)))
    near = made(b.MultiplyOp(made(b.MultiplyOp(made(t.SinhOp(half)), made(e.ExpOp(half)))), scalar(x, 2)))
    far = made(b.SubtractOp(made(e.ExpOp(x)), scalar(x, 1)))
    return made(b.WhereOp(made(c.LessOp(made(e.AbsOp(x)), scalar(x, 1))), near, far))


@RULES.of("aten.isnan.default")
def isnan(want: Want, self: SSAValue) -> SSAValue:
    """`isnan`."""
    return made(c.NotEqualOp(self, self)) if dtype(self).kind in "biu" else made(e.IsnanOp(self))


@RULES.of("aten.isinf.default")
def isinf(want: Want, self: SSAValue) -> SSAValue:
    """`isinf`."""
    return made(c.NotEqualOp(self, self)) if dtype(self).kind in "biu" else made(e.IsinfOp(self))


@RULES.of("aten.logical_not.default")
def logical_not(want: Want, self: SSAValue) -> SSAValue:
    """`logical_not`."""
    return made(e.LogicalNotOp(_truth(self)))


@RULES.of("aten.bitwise_not.default")
def bitwise_not(want: Want, self: SSAValue) -> SSAValue:
    """All bits turned."""
    if is_boolean(self):
        return made(e.LogicalNotOp(self))
    ones = as_type(-1 if _signed(self) else np.iinfo(str(dtype(self))).max, dtype(self))
    return made(c.BitwiseXorOp(self, ones))


@RULES.of("aten.__lshift__.Tensor", "aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor")
def left_shift(want: Want, self: SSAValue, other: Any) -> SSAValue:
    """`left_shift`."""
    return made(c.LeftShiftOp(as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.__rshift__.Tensor", "aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor")
def right_shift(want: Want, self: SSAValue, other: Any) -> SSAValue:
    """`right_shift`, which keeps the sign."""
    return made(c.RightShiftOp(as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.relu.default")
def relu(want: Want, self: SSAValue) -> SSAValue:
    """`relu`."""
    return made(a.ReluOp(self))


@RULES.of("aten.gelu.default")
def gelu(want: Want, self: SSAValue, *, approximate: str = "none") -> SSAValue:
    """`gelu`."""
    return made(a.GeluOp(self, approximate=approximate))


@RULES.of("aten.leaky_relu.default")
def leaky_relu(want: Want, self: SSAValue, negative_slope: float = 0.01) -> SSAValue:
    """`leaky_relu`."""
    return made(a.LeakyReluOp(self, alpha=float(negative_slope)))


@RULES.of("aten.elu.default")
def elu(want: Want, self: SSAValue, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> SSAValue:
    """`elu`, scaled."""
    x = self if input_scale == 1 else made(b.MultiplyOp(self, scalar(self, input_scale)))
    if input_scale != 1:
        zero = scalar(self, 0)
        below = made(b.MultiplyOp(expm1(want, x), scalar(self, alpha)))
        value = made(b.WhereOp(made(c.GreaterOp(self, zero)), self, below))
    else:
        value = made(a.EluOp(x, alpha=float(alpha)))
    return value if scale == 1 else made(b.MultiplyOp(value, scalar(self, scale)))


@RULES.of("aten.softplus.default")
def softplus(want: Want, self: SSAValue, beta: float = 1, threshold: float = 20) -> SSAValue:
    """`softplus`; x itself where `beta * x` is above the threshold."""
    scaled = self if beta == 1 else made(b.MultiplyOp(self, scalar(self, beta)))
    value = made(a.SoftplusOp(scaled))
    if beta != 1:
        value = made(b.MultiplyOp(value, scalar(self, 1 / beta)))
    return made(b.WhereOp(made(c.GreaterOp(scaled, scalar(self, threshold))), self, value))


@RULES.of("aten.hardtanh.default")
def hardtanh(want: Want, self: SSAValue, min_val: float = -1, max_val: float = 1) -> SSAValue:
    """`clip`."""
    return clamp(want, self, min_val, max_val)


@RULES.of("aten.clamp.default")
def clamp(want: Want, self: SSAValue, min: float | None = None, max: float | None = None) -> SSAValue:
    """`clip`."""
    x = as_type(self, want.dtype)
    bounds: dict[str, Any] = {}
    if min is not None:
        bounds["min"] = float(min)
    if max is not None:
        bounds["max"] = float(max)
    return made(a.ClipOp(x, **bounds))


@RULES.of("aten.clamp.Tensor")
def clamp_tensor(want: Want, self: SSAValue, min: SSAValue | None = None, max: SSAValue | None = None) -> SSAValue:
    """Between two tensors."""
    x = as_type(self, want.dtype)
    if min is not None:
        x = made(b.MaximumOp(x, as_type(min, want.dtype)))
    return x if max is None else made(b.MinimumOp(x, as_type(max, want.dtype)))


@RULES.of("aten.threshold_backward.default")
def threshold_backward(want: Want, grad_output: SSAValue, self: SSAValue, threshold: float) -> SSAValue:
    """The gradient where the element is above the threshold."""
    kept = made(c.LessEqualOp(self, scalar(self, threshold)))
    return made(b.WhereOp(kept, scalar(grad_output, 0), grad_output))


@RULES.of("aten.add.Tensor", "aten.add.Scalar")
def add(want: Want, self: Any, other: Any, alpha: float = 1) -> SSAValue:
    """`self + alpha * other`."""
    if want.dtype.kind == "b":
        return made(c.LogicalOrOp(as_type(self, want.dtype), as_type(other, want.dtype)))
    return made(b.AddOp(as_type(self, want.dtype), _times(as_type(other, want.dtype), alpha)))


@RULES.of("aten.sub.Tensor", "aten.sub.Scalar")
def subtract(want: Want, self: Any, other: Any, alpha: float = 1) -> SSAValue:
    """`self - alpha * other`."""
    return made(b.SubtractOp(as_type(self, want.dtype), _times(as_type(other, want.dtype), alpha)))


@RULES.of("aten.rsub.Tensor", "aten.rsub.Scalar")
def reversed_subtract(want: Want, self: Any, other: Any, alpha: float = 1) -> SSAValue:
    """`other - alpha * self`."""
    return made(b.SubtractOp(as_type(other, want.dtype), _times(as_type(self, want.dtype), alpha)))


def _times(value: SSAValue, factor: float) -> SSAValue:
    return value if factor == 1 else made(b.MultiplyOp(value, scalar(value, factor)))


@RULES.of("aten.mul.Tensor", "aten.mul.Scalar")
def multiply(want: Want, self: Any, other: Any) -> SSAValue:
    """`multiply`."""
    op = c.LogicalAndOp if want.dtype.kind == "b" else b.MultiplyOp
    return made(op(as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def divide(want: Want, self: Any, other: Any) -> SSAValue:
    """`divide`."""
    return made(b.DivideOp(as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def divide_rounded(want: Want, self: Any, other: Any, *, rounding_mode: str | None) -> SSAValue:
    """Rounded down, towards zero, or not at all."""
    if rounding_mode == "floor":
        return floor_divide(want, self, other)
    left, right = as_type(self, want.dtype), as_type(other, want.dtype)
    if rounding_mode is None:
        return made(b.DivideOp(left, right))
    if want.dtype.kind in "biu":
        raise NoFuseFormError("integers divided towards zero")
    return truncate(want, made(b.DivideOp(left, right)))


@RULES.of("aten.floor_divide.default")
def floor_divide(want: Want, self: Any, other: Any) -> SSAValue:
    """`floor_divide` of integers; of floats what remains is taken away first, as in Python: 0.5 // 0.1 is 4.

    Narrow floats are rounded once, behind it.

    Source: c10/util/generic_math.h, div_floor_floating.
    """
    if want.dtype.kind in "biu":
        return made(b.FloorDivideOp(as_type(self, want.dtype), as_type(other, want.dtype)))
    kind = np.dtype(np.float32) if want.dtype.itemsize == 2 else want.dtype
    x, y = as_type(self, kind), as_type(other, kind)
    zero, one = scalar(x, 0), scalar(x, 1)
    rest, plain = made(b.ModOp(x, y, fmod=True)), made(b.DivideOp(x, y))
    whole = made(b.DivideOp(made(b.SubtractOp(x, rest)), y))
    whole = made(b.WhereOp(_is_across(rest, y), made(b.SubtractOp(whole, one)), whole))
    low = made(e.FloorOp(whole))
    is_near = made(c.GreaterOp(made(b.SubtractOp(whole, low)), scalar(x, 0.5)))
    low = made(b.WhereOp(is_near, made(b.AddOp(low, one)), low))
    signed_zero = made(b.MultiplyOp(plain, zero))
    low = made(b.WhereOp(made(c.EqualOp(whole, zero)), signed_zero, low))
    return made(b.WhereOp(made(c.EqualOp(y, zero)), plain, low))


@RULES.of("aten.remainder.Tensor", "aten.remainder.Scalar")
def remainder(want: Want, self: Any, other: Any) -> SSAValue:
    """With the sign of the divisor; a zero has that of the dividend, as in PyTorch, and not as in NumPy."""
    x, y = as_type(self, want.dtype), as_type(other, want.dtype)
    if want.dtype.kind in "biu":
        return made(b.ModOp(x, y))
    rest = made(b.ModOp(x, y, fmod=True))
    return made(b.WhereOp(_is_across(rest, y), made(b.AddOp(rest, y)), rest))


def _is_across(rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Whether a remainder that is not zero has another sign than the divisor."""
    zero = scalar(rest, 0)
    differs = made(c.NotEqualOp(made(c.LessOp(rest, zero)), made(c.LessOp(divisor, zero))))
    return made(c.LogicalAndOp(made(c.NotEqualOp(rest, zero)), differs))


@RULES.of("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(want: Want, self: Any, other: Any) -> SSAValue:
    """With the sign of the dividend."""
    return made(b.ModOp(as_type(self, want.dtype), as_type(other, want.dtype), fmod=True))


@RULES.of("aten.maximum.default")
def maximum(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
    """`maximum`."""
    op = c.LogicalOrOp if want.dtype.kind == "b" else b.MaximumOp
    return made(op(as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.minimum.default")
def minimum(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
    """`minimum`."""
    op = c.LogicalAndOp if want.dtype.kind == "b" else b.MinimumOp
    return made(op(as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def power(want: Want, self: Any, exponent: Any) -> SSAValue:
    """`power`; squares and roots as PyTorch computes them."""
    x = as_type(self, want.dtype)
    if want.dtype.kind not in "biu" or exponent == 2:
        if exponent == 2:
            return made(b.MultiplyOp(x, x))
        if exponent == 3:
            return made(b.MultiplyOp(made(b.MultiplyOp(x, x)), x))
        if exponent == 0.5:
            return made(e.SqrtOp(x))
        if exponent == -0.5:
            return made(e.RsqrtOp(x))
        if exponent == -1:
            return made(e.ReciprocalOp(x))
    return made(b.PowerOp(x, as_type(exponent, want.dtype)))


@RULES.of("aten.where.self")
def where(want: Want, condition: SSAValue, self: SSAValue, other: SSAValue) -> SSAValue:
    """`where`."""
    return made(b.WhereOp(_truth(condition), as_type(self, want.dtype), as_type(other, want.dtype)))


@RULES.of("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(want: Want, self: SSAValue, mask: SSAValue, value: Any) -> SSAValue:
    """`value` where the mask is true."""
    return made(b.WhereOp(mask, as_type(value, want.dtype), self))


@RULES.of(
    "aten._to_copy.default",
    "aten.clone.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.detach_copy.default",
    "aten.lift_fresh_copy.default",
    "aten.contiguous.default",
    "aten.copy.default",
    "prims.convert_element_type.default",
)
def copied(want: Want, self: SSAValue, *others: Any, **options: Any) -> SSAValue:
    """The same elements, in the type that is wanted; `copy` takes those of its second operand."""
    source = others[0] if others and is_value(others[0]) else self
    return broadcast(as_type(source, want.dtype), want.shape)
