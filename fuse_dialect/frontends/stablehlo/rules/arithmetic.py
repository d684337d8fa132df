"""Arithmetic on values, for rules that are formulas."""

from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.frontends.fuse_values import result


def total(x: SSAValue, y: SSAValue) -> SSAValue:
    """`x + y`."""
    return result(b.AddOp(x, y))


def difference(x: SSAValue, y: SSAValue) -> SSAValue:
    """`x - y`."""
    return result(b.SubtractOp(x, y))


def times(x: SSAValue, y: SSAValue) -> SSAValue:
    """`x * y`."""
    return result(b.MultiplyOp(x, y))


def over(x: SSAValue, y: SSAValue) -> SSAValue:
    """`x / y`."""
    return result(b.DivideOp(x, y))


def where(condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
    """`yes` where the condition holds, else `no`."""
    return result(b.WhereOp(condition, yes, no))


def less(x: SSAValue, y: SSAValue) -> SSAValue:
    """Whether `x < y`."""
    return result(c.LessOp(x, y))
