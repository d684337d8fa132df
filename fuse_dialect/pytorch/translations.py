"""Operators whose ONNX by PyTorch gives something else for some numbers, written with ONNX operators that do not.

1. Quotients of real numbers are not rounded before their floor is taken: 1 // 0.1 is 9.
2. Zeros count with their signs, and infinities and nan as in PyTorch.
3. Integers stay integers: PyTorch divides them as f32.
4. Exponentials do not overflow where their logarithm is taken, and logarithms of what is near 1 lose nothing.
5. Floats of 16 bits are computed in f32 and rounded once.

The exporter calls a function with its operands as values of ONNX, or as numbers of Python, and records what it does.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import signature
from typing import Any

from fuse_dialect.frontends.stablehlo.rules.special_functions import ERFC_BEYOND, ERFC_TAIL, ERFC_TAIL_OF_F64

_FLOAT, _DOUBLE, _HALVES, _INTEGERS = 1, 11, frozenset((10, 16)), frozenset((2, 3, 4, 5, 6, 7, 12, 13))
"""Numbers of ONNX for f32, f64, floats of 16 bits and integers."""


def translations(torch: Any) -> Mapping[Any, Callable[..., Any]]:
    """Functions by operator of ATen, as `torch.onnx.export` takes them in `custom_translation_table`."""
    aten = torch.ops.aten
    rows: Mapping[Any, Callable[..., Any]] = {
        aten.atan2.default: _Steps.atan2,
        aten.copysign.Scalar: _Steps.copysign,
        aten.copysign.Tensor: _Steps.copysign,
        aten.div.Scalar_mode: _Steps.divide,
        aten.div.Tensor_mode: _Steps.divide,
        aten.erfc.default: _Steps.erfc,
        aten.expm1.default: _Steps.expm1,
        aten.floor_divide.default: _Steps.floor_divide,
        aten.fmax.default: _Steps.fmax,
        aten.fmin.default: _Steps.fmin,
        aten.heaviside.default: _Steps.heaviside,
        aten.hypot.default: _Steps.hypot,
        aten.log1p.default: _Steps.log1p,
        aten.log_sigmoid.default: _Steps.log_sigmoid,
        aten.logaddexp.default: _Steps.logaddexp,
        aten.logaddexp2.default: _Steps.logaddexp2,
        aten.remainder.Scalar: _Steps.remainder,
        aten.remainder.Tensor: _Steps.remainder,
        aten.sgn.default: _Steps.sign,
        aten.sign.default: _Steps.sign,
        aten.signbit.default: _Steps.signbit,
        aten.special_erfcx.default: _Steps.erfcx,
        aten.special_log_ndtr.default: _Steps.log_ndtr,
        aten.special_xlog1py.default: _Steps.xlog1py,
        aten.xlogy.Tensor: _Steps.xlogy,
    }
    return {operator: _function(steps) for operator, steps in rows.items()}


def _function(steps: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the operands alone, in which the exporter keeps what it reads of its signature."""

    def call(*operands: Any, **options: Any) -> Any:
        return steps(_Steps(import_module("onnxscript").opset18, operands), *operands, **options)

    found = signature(steps)
    call.__signature__ = found.replace(parameters=list(found.parameters.values())[1:])  # pyright: ignore[reportFunctionMemberAccess]
    return call


def _kind(value: Any) -> int | None:
    """ONNX's number of a value's element type; `None` for a number of Python."""
    kind = getattr(value, "dtype", None)
    return None if kind is None else int(kind)


class _Steps:
    """What the operators are, for the operands of one call, which have one element type or are numbers."""

    def __init__(self, op: Any, operands: Sequence[Any]):
        """Write operators of this opset."""
        self.op = op
        self.like = next(operand for operand in operands if _kind(operand) is not None)
        own = _kind(self.like)
        assert own is not None, "it has one"
        self.is_narrow = own in _HALVES
        self.is_integer = own in _INTEGERS
        self.kind = _FLOAT if self.is_narrow else own
        """The element type of what is computed. The exporter knows types of operands alone."""

    def _wide(self, *values: Any) -> list[Any]:
        """The operands in f32 if they are narrower: condition 5."""
        return [self.op.Cast(value, to=_FLOAT) if _kind(value) in _HALVES else value for value in values]

    def _as(self, value: Any) -> Any:
        """The result in the element type of the operands."""
        return self.op.CastLike(value, self.like) if self.is_narrow else value

    def _constant(self, number: float) -> Any:
        """A number in the element type of what is computed."""
        ir = import_module("onnx_ir")
        return self.op.Constant(value=ir.tensor(number, dtype=ir.DataType(self.kind)))

    def _is_negative(self, x: Any) -> Any:
        """Whether the sign is set: that of a zero is the sign of its reciprocal."""
        op, zero = self.op, self._constant(0)
        return op.Or(op.Less(x, zero), op.Less(op.Reciprocal(x), zero))

    def atan2(self, self_: Any, other: Any) -> Any:
        """The angle of a point, by that of a line; an infinite point lies on a diagonal."""
        op = self.op
        y, x = self._wide(self_, other)
        zero, pi = self._constant(0), self._constant(math.pi)
        is_far = op.And(op.IsInf(x), op.IsInf(y))
        angle = op.Atan(op.Div(op.Where(is_far, op.Sign(y), y), op.Where(is_far, op.Sign(x), x)))
        angle = op.Where(op.And(op.Equal(x, zero), op.Equal(y, zero)), y, angle)
        half_turn = op.Where(self._is_negative(y), op.Neg(pi), pi)
        return self._as(op.Where(self._is_negative(x), op.Add(angle, half_turn), angle))

    def divide(self, self_: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
        """A quotient, rounded down, towards zero, or not at all."""
        op = self.op
        if rounding_mode == "floor":
            return self.floor_divide(self_, other)
        if rounding_mode is None or self.is_integer:
            return op.Div(self_, other)
        # Of 16 bits the quotient is rounded before, as PyTorch does.
        quotient = op.Div(self_, other)
        below = op.Less(quotient, op.CastLike(self._constant(0), quotient))
        return op.Where(below, op.Ceil(quotient), op.Floor(quotient))

    def floor_divide(self, self_: Any, other: Any) -> Any:
        """The quotient of what is left without the remainder, rounded, as it is a whole number but for rounding.

        Source: c10/util/generic_math.h, div_floor_floating and div_floor_integer.
        """
        op = self.op
        x, y = self._wide(self_, other)
        plain = op.Div(x, y)
        zero, one = self._constant(0), self._constant(1)
        if self.is_integer:
            rest = op.Sub(x, op.Mul(plain, y))
            return op.Where(self._is_across(rest, y, zero), op.Sub(plain, one), plain)
        rest = op.Mod(x, y, fmod=1)
        whole = op.Div(op.Sub(x, rest), y)
        whole = op.Where(self._is_across(rest, y, zero), op.Sub(whole, one), whole)
        low = op.Floor(whole)
        low = op.Where(op.Greater(op.Sub(whole, low), self._constant(0.5)), op.Add(low, one), low)
        low = op.Where(op.Equal(whole, zero), op.Mul(plain, zero), low)
        return self._as(op.Where(op.Equal(y, zero), plain, low))

    def _is_across(self, rest: Any, y: Any, zero: Any) -> Any:
        """Whether a remainder that is not zero has another sign than the divisor."""
        op = self.op
        return op.And(op.Not(op.Equal(rest, zero)), op.Xor(op.Less(rest, zero), op.Less(y, zero)))

    def remainder(self, self_: Any, other: Any) -> Any:
        """What is left, with the sign of the divisor."""
        op = self.op
        if self.is_integer:
            return op.Mod(self_, other)
        x, y = self._wide(self_, other)
        rest = op.Mod(x, y, fmod=1)
        rest = op.Where(self._is_across(rest, y, self._constant(0)), op.Add(rest, y), rest)
        return self._as(rest)

    def heaviside(self, self_: Any, values: Any) -> Any:
        """0 below zero and of nan, 1 above, and at zero what is given."""
        op = self.op
        x, at_zero = self._wide(self_, values)
        zero = self._constant(0)
        step = op.Cast(op.Greater(x, zero), to=self.kind)
        return self._as(op.Where(op.Equal(x, zero), at_zero, step))

    def signbit(self, self_: Any) -> Any:
        """Whether the sign is set."""
        if self.is_integer:
            return self.op.Less(self_, self._constant(0))
        return self._is_negative(*self._wide(self_))

    def xlogy(self, self_: Any, other: Any) -> Any:
        """`x * log(y)`, 0 where x is, and nan where y is."""
        return self._times(self_, other, self.op.Log)

    def xlog1py(self, self_: Any, other: Any) -> Any:
        """`x * log(1 + y)`, 0 where x is, and nan where y is."""
        return self._times(self_, other, self._log1p)

    def _times(self, self_: Any, other: Any, logarithm: Callable[[Any], Any]) -> Any:
        op = self.op
        x, y = self._wide(self_, other)
        zero = self._constant(0)
        value = op.Where(op.Equal(x, zero), zero, op.Mul(x, logarithm(y)))
        return self._as(op.Where(op.IsNaN(y), y, value))

    def sign(self, self_: Any) -> Any:
        """-1, 0 or 1; 0 of nan."""
        op, zero = self.op, self._constant(0)
        (x,) = self._wide(self_)
        above, below = op.Greater(x, zero), op.Less(x, zero)
        return self._as(op.Sub(op.Cast(above, to=self.kind), op.Cast(below, to=self.kind)))

    def copysign(self, self_: Any, other: Any) -> Any:
        """The size of one number with the sign of another one."""
        op = self.op
        x, y = self._wide(self_, other)
        size = op.Abs(x)
        if isinstance(other, int | float):
            return self._as(op.Neg(size) if math.copysign(1, other) < 0 else size)
        return self._as(op.Where(self._is_negative(y), op.Neg(size), size))

    def fmax(self, self_: Any, other: Any) -> Any:
        """The greater one, and the other one in the place of a nan."""
        return self._number_of(self.op.Max(self_, other), self_, other)

    def fmin(self, self_: Any, other: Any) -> Any:
        """The smaller one, and the other one in the place of a nan."""
        return self._number_of(self.op.Min(self_, other), self_, other)

    def _number_of(self, either: Any, x: Any, y: Any) -> Any:
        op = self.op
        if self.is_integer:
            return either
        return op.Where(op.IsNaN(x), y, op.Where(op.IsNaN(y), x, either))

    def hypot(self, self_: Any, other: Any) -> Any:
        """The greater one times a root of at most 2, so that no square overflows; an infinity has no nan beside it."""
        op = self.op
        x, y = (op.Abs(each) for each in self._wide(self_, other))
        zero, one = self._constant(0), self._constant(1)
        great, small = op.Max(x, y), op.Min(x, y)
        ratio = op.Div(small, op.Where(op.Equal(great, zero), one, great))
        length = op.Mul(great, op.Sqrt(op.Add(op.Mul(ratio, ratio), one)))
        is_far = op.Or(op.IsInf(x), op.IsInf(y))
        return self._as(op.Where(is_far, self._constant(math.inf), length))

    def log1p(self, self_: Any) -> Any:
        """`log(1 + x)`."""
        (x,) = self._wide(self_)
        return self._as(self._log1p(x))

    def _log1p(self, x: Any) -> Any:
        """`log(u) * x / (u - 1)` with u = 1 + x, whose rounding cancels out (W. Kahan); zeros keep their sign."""
        op = self.op
        one = self._constant(1)
        u = op.Add(one, x)
        logarithm = op.Log(u)
        scaled = op.Div(op.Mul(logarithm, x), op.Sub(u, one))
        is_plain = op.Or(op.Equal(u, x), op.IsInf(u))
        return op.Where(op.Equal(u, one), x, op.Where(is_plain, logarithm, scaled))

    def expm1(self, self_: Any) -> Any:
        """`exp(x) - 1`; near zero `(u - 1) * x / log(u)` with u = exp(x), whose rounding cancels out (W. Kahan)."""
        op = self.op
        (x,) = self._wide(self_)
        one, half = self._constant(1), self._constant(0.5)
        u = op.Exp(x)
        plain = op.Sub(u, one)
        scaled = op.Div(op.Mul(plain, x), op.Log(u))
        value = op.Where(op.Less(op.Abs(x), half), scaled, plain)
        return self._as(op.Where(op.Equal(u, one), x, value))

    def log_sigmoid(self, self_: Any) -> Any:
        """`min(x, 0) - log(1 + exp(-|x|))`."""
        op = self.op
        (x,) = self._wide(self_)
        below = op.Min(x, self._constant(0))
        return self._as(op.Sub(below, self._log1p(op.Exp(op.Neg(op.Abs(x))))))

    def erfc(self, self_: Any) -> Any:
        """`1 - erf(x)`; from 1/2 on by its tail, of which the difference would leave no digits."""
        (x,) = self._wide(self_)
        return self._as(self._erfc(x))

    def _erfc(self, x: Any) -> Any:
        op = self.op
        half, one = self._constant(0.5), self._constant(1)
        z = self._between(half, x, self._constant(ERFC_BEYOND))
        tail = op.Mul(self._tail(z), self._exp_of_square(z, -1))
        return op.Where(op.Less(x, half), op.Sub(one, op.Erf(x)), op.Where(op.IsNaN(x), x, tail))

    def erfcx(self, self_: Any) -> Any:
        """`exp(x * x) * erfc(x)`; from 1/2 on the tail without the exponential, which would overflow."""
        (x,) = self._wide(self_)
        return self._as(self._erfcx(x))

    def _erfcx(self, x: Any) -> Any:
        op = self.op
        half, one, far = self._constant(0.5), self._constant(1), self._constant(ERFC_BEYOND)
        low = self._between(self._constant(-ERFC_BEYOND), x, half)
        near = op.Mul(self._exp_of_square(low, 1), op.Sub(one, op.Erf(x)))
        tail = self._tail(self._between(half, x, far))
        # The tail's polynomial ends there. Source: the asymptotic expansion, DLMF 7.12.1.
        beyond = op.Where(op.Less(far, x), x, far)
        share = op.Div(half, op.Mul(beyond, beyond))
        series = one
        for factor in (9, 7, 5, 3, 1):
            series = op.Sub(one, op.Mul(op.Mul(share, self._constant(factor)), series))
        series = op.Div(op.Mul(series, self._constant(1 / math.sqrt(math.pi))), beyond)
        value = op.Where(op.Less(x, half), near, op.Where(op.Less(far, x), series, tail))
        return op.Where(op.IsNaN(x), x, value)

    def _between(self, least: Any, x: Any, most: Any) -> Any:
        """A number brought between two others; nan becomes the least.

        PyTorch makes one `Clip` of a minimum and a maximum, and gives the bounds of two such the same name.
        """
        op = self.op
        return op.Where(op.Less(least, x), op.Where(op.Less(x, most), x, most), least)

    def _tail(self, x: Any) -> Any:
        """`exp(x * x) * erfc(x)` from 1/2 on; see `erfc` of the special functions."""
        op, one, two = self.op, self._constant(1), self._constant(2)
        share = op.Div(two, op.Add(two, x))
        point = op.Sub(op.Mul(share, self._constant(2.5)), one)
        coefficients = ERFC_TAIL_OF_F64 if self.kind == _DOUBLE else ERFC_TAIL
        exponent = self._constant(coefficients[0])
        for each in coefficients[1:]:
            exponent = op.Add(op.Mul(exponent, point), self._constant(each))
        return op.Mul(share, op.Exp(exponent))

    def _exp_of_square(self, x: Any, sign: int) -> Any:
        """`exp(sign * x * x)`; the square is taken apart, as its rounding would be as many times larger."""
        op = self.op
        near = op.Div(op.Floor(op.Mul(x, self._constant(64))), self._constant(64))
        rest = op.Mul(op.Sub(x, near), op.Add(x, near))
        parts = [op.Mul(near, near), rest]
        return op.Mul(*(op.Exp(part if sign > 0 else op.Neg(part)) for part in parts))

    def log_ndtr(self, self_: Any) -> Any:
        """The logarithm of the distribution function of normal numbers; below -1 by the tail."""
        op = self.op
        (x,) = self._wide(self_)
        t = op.Mul(x, self._constant(math.sqrt(0.5)))
        half, is_low = self._constant(0.5), op.Less(x, self._constant(-1))
        low = op.Sub(op.Log(op.Mul(self._erfcx(op.Neg(op.Where(is_low, t, self._constant(-1)))), half)), op.Mul(t, t))
        high = self._log1p(op.Neg(op.Mul(self._erfc(op.Where(is_low, half, t)), half)))
        return self._as(op.Where(is_low, low, high))

    def logaddexp(self, self_: Any, other: Any) -> Any:
        """The greater one and `log(1 + exp(-d))` of the distance: condition 4."""
        return self._log_of_sum(self_, other, 1.0)

    def logaddexp2(self, self_: Any, other: Any) -> Any:
        """The same of powers of two."""
        return self._log_of_sum(self_, other, math.log(2))

    def _log_of_sum(self, self_: Any, other: Any, unit: float) -> Any:
        op = self.op
        x, y = self._wide(self_, other)
        scale = self._constant(unit)
        more = self._log1p(op.Exp(op.Neg(op.Mul(op.Abs(op.Sub(x, y)), scale))))
        # Two infinities of one sign have no distance.
        same = op.And(op.Equal(x, y), op.IsInf(x))
        return self._as(op.Where(same, x, op.Add(op.Max(x, y), op.Div(more, scale))))
