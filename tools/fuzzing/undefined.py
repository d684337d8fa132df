"""Where the meaning of an op leaves open what comes out; programs stay clear of it.

Each rule here quotes the docstring of its op. What is not listed is defined, and every way of running must agree.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fuse_dialect.dialect.fuse import ops_of
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops import factorizations, linear_systems
from fuse_dialect.dialect.ops.blockwise import BlockwiseDenseOp
from fuse_dialect.dialect.ops.broadcast import DivideOp, FloorDivideOp, ModOp, PowerOp
from fuse_dialect.dialect.ops.comparison import LeftShiftOp, RightShiftOp
from fuse_dialect.dialect.ops.conversion import BitcastOp, CastOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.dialect.types import element_dtype, tensor_type
from fuse_dialect.interpreters.values import Value

Rule = Callable[[FuseOp, Sequence[Array]], bool]


def _integer_division(op: FuseOp, operands: Sequence[Array]) -> bool:
    """`dividing an integer by zero is undefined`."""
    divisor = operands[1]
    return divisor.dtype.kind not in "iu" or bool((divisor != 0).all())


def _shift(op: FuseOp, operands: Sequence[Array]) -> bool:
    """`undefined for a negative number of places or the width and more`."""
    places = operands[1]
    return bool(((places >= 0) & (places < 8 * places.dtype.itemsize)).all())


def _cast(op: FuseOp, operands: Sequence[Array]) -> bool:
    """`What a float outside the range of an integer type becomes is undefined`."""
    target = element_dtype(tensor_type(op.results[0]).element_type)
    if target.kind not in "iu" or operands[0].dtype.kind in "biu":
        return True
    wide = np.trunc(operands[0].astype(np.float64))
    limits = np.iinfo(np.dtype(target.name))
    # Above the greatest i64 lies 2**63, which the comparison in f64 must leave out.
    return bool((np.isfinite(wide) & (wide >= float(limits.min)) & (wide < float(limits.max) + 1)).all())


def _bitcast(op: FuseOp, operands: Sequence[Array]) -> bool:
    """`true being a byte of 1`: other bytes are no truth values."""
    if element_dtype(tensor_type(op.results[0]).element_type).kind != "b":
        return True
    return bool((operands[0].view(np.uint8) <= 1).all())


def _take(op: FuseOp, operands: Sequence[Array]) -> bool:
    """`fast` promises that no index is out of range."""
    assert isinstance(op, TakeOp), "the row says so"
    if op.mode.data != "fast":
        return True
    data, indices = operands
    size = data.size if op.axis is None else data.shape[op.axis.value.data]
    return bool(((indices.astype(np.float64) >= -size) & (indices.astype(np.float64) < size)).all())


def _power(op: FuseOp, operands: Sequence[Array]) -> bool:
    """A negative power of integer zero is a division by zero."""
    base, exponent = operands
    if base.dtype.kind not in "iu":
        return True
    with np.errstate(all="ignore"):
        bad = (base == 0) & (exponent < 0) if exponent.dtype.kind != "u" else np.zeros(())
    return not bool(np.asarray(bad).any()) and (exponent.dtype.kind in "iu" or bool(np.isfinite(exponent).all()))


def _blockwise(op: FuseOp, operands: Sequence[Array]) -> bool:
    """`Where a scale or a zero point is not finite, or a product with one over- or underflows` nothing is said."""
    x, _, scale, zero = (np.abs(operand.astype(np.float64)) for operand in operands)
    is_ordinary = bool((scale < 1e15).all() and ((scale > 1e-15) | (scale == 0)).all() and (zero < 1e15).all())
    return is_ordinary and bool(((x < 1e6) | ~np.isfinite(x)).all())


def _matrix(op: FuseOp, operands: Sequence[Array]) -> bool:
    """What infinities and nans in a matrix give is nans where a routine notices, and anything where it does not."""
    return all(bool(np.isfinite(x.astype(np.float64)).all()) for x in operands if x.dtype.kind not in "biu")


RULES: Mapping[type[FuseOp], Rule] = {
    DivideOp: _integer_division,
    FloorDivideOp: _integer_division,
    ModOp: _integer_division,
    PowerOp: _power,
    LeftShiftOp: _shift,
    RightShiftOp: _shift,
    CastOp: _cast,
    BitcastOp: _bitcast,
    TakeOp: _take,
    BlockwiseDenseOp: _blockwise,
    **dict.fromkeys((*ops_of(factorizations), *ops_of(linear_systems)), _matrix),
}


def is_defined(op: FuseOp, operands: Sequence[Value]) -> bool:
    """Whether the op says what it gives on these operands."""
    rule = RULES.get(type(op))
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    return rule is None or rule(op, arrays)
