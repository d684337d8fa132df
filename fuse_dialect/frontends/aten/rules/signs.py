"""Functions that tell the signs of zeros, or leave out what is no number."""

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, made
from fuse_dialect.frontends.fuse_values import dtype, scalar
from fuse_dialect.frontends.stablehlo.rules.special_functions import atan2, is_negative


def _wide(want: Want, *values: SSAValue) -> list[SSAValue]:
    """The operands in the type of the result, and in f32 where each step would round to 16 bits."""
    kind = np.dtype(np.float32) if want.dtype.itemsize == 2 else want.dtype
    return [as_type(value, kind) for value in values]


@RULES.of("aten.atan2.default")
def angle(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
    """The angle of a point."""
    return atan2(*_wide(want, self, other))


@RULES.of("aten.hypot.default")
def hypot(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
    """The greater one times a root of at most 2, so that no square overflows; an infinity has no nan beside it."""
    x, y = (made(e.AbsOp(each)) for each in _wide(want, self, other))
    great, small = made(b.MaximumOp(x, y)), made(b.MinimumOp(x, y))
    zero, one = scalar(x, 0), scalar(x, 1)
    ratio = made(b.DivideOp(small, made(b.WhereOp(made(c.EqualOp(great, zero)), one, great))))
    length = made(b.MultiplyOp(great, made(e.SqrtOp(made(b.AddOp(made(b.MultiplyOp(ratio, ratio)), one))))))
    is_infinite = made(c.LogicalOrOp(made(e.IsinfOp(x)), made(e.IsinfOp(y))))
    return made(b.WhereOp(is_infinite, scalar(x, np.inf), length))


@RULES.of("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(want: Want, self: SSAValue, other: SSAValue | float) -> SSAValue:
    """The size of one number with the sign of another one."""
    size = made(e.AbsOp(as_type(self, want.dtype)))
    return made(b.WhereOp(is_negative(as_type(other, want.dtype)), made(e.NegativeOp(size)), size))


@RULES.of("aten.signbit.default")
def signbit(want: Want, self: SSAValue) -> SSAValue:
    """Whether the sign is set, that of a zero, too."""
    if dtype(self).kind in "biu":
        return made(c.LessOp(self, scalar(self, 0)))
    return is_negative(self)


@RULES.of("aten.fmax.default")
def greater_number(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
    """`maximum`, and the other one in the place of a nan."""
    return _number_of(want, b.MaximumOp, self, other)


@RULES.of("aten.fmin.default")
def smaller_number(want: Want, self: SSAValue, other: SSAValue) -> SSAValue:
    """`minimum`, and the other one in the place of a nan."""
    return _number_of(want, b.MinimumOp, self, other)


def _number_of(want: Want, op: type[b.MaximumOp | b.MinimumOp], self: SSAValue, other: SSAValue) -> SSAValue:
    x, y = as_type(self, want.dtype), as_type(other, want.dtype)
    either = made(op(x, y))
    if want.dtype.kind in "biu":
        return either
    number = made(b.WhereOp(made(e.IsnanOp(y)), x, either))
    return made(b.WhereOp(made(e.IsnanOp(x)), y, number))
