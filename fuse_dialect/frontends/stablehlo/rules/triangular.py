"""`triangular_solve`: a row of the solution at a time, each from those that are known.

    x[i] = (b[i] - a[i, known] x[known]) / a[i, i]      from the first row on, or from the last one if `a` is upper

The other triangle of `a` is never read, and the diagonal only if it is not said to be of ones.

Source: `triangular_solve` in docs/spec.md of openxla/stablehlo; forward substitution, G. H. Golub and C. F. Van Loan,
Matrix Computations, section 3.1.
"""

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops.broadcast import DivideOp, SubtractOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp
from fuse_dialect.frontends.fuse_values import NoFuseFormError, reshape, result, static_shape, transpose
from fuse_dialect.frontends.stablehlo.rules.building import Rule, number, word
from fuse_dialect.frontends.stablehlo.rules.shapes import slice_of

MOST_ROWS = 64
"""Of a matrix; each row becomes some ops."""
_SWAPPED = [0, 2, 1]


def _triangular_solve(op: Operation) -> Sequence[SSAValue]:
    """The solution of `op(a) x = b`, or of `x op(a) = b`, which is `op(a)' x' = b'`."""
    *batch, rows, _ = static_shape(op.operands[0])
    sizes = static_shape(op.operands[1])
    if rows > MOST_ROWS:
        raise NoFuseFormError(f"a matrix of more than {MOST_ROWS} rows")
    if 0 in sizes:
        return [op.operands[1]]
    is_left, transposition = bool(number(op, "left_side")), word(op, "transpose_a")
    if transposition == "TRANSPOSE_INVALID":
        raise NoFuseFormError("an invalid transposition")
    a, b = (reshape(each, [math.prod(batch), *static_shape(each)[len(batch) :]]) for each in op.operands)
    is_lower = bool(number(op, "lower"))
    # Elements are real: the adjoint is the transpose.
    if (transposition != "NO_TRANSPOSE") == is_left:
        a, is_lower = transpose(a, _SWAPPED), not is_lower
    solved = _solved(a, b if is_left else transpose(b, _SWAPPED), is_lower, bool(number(op, "unit_diagonal")))
    return [reshape(solved if is_left else transpose(solved, _SWAPPED), sizes)]


def _solved(a: SSAValue, b: SSAValue, is_lower: bool, is_unit: bool) -> SSAValue:
    """The solution of `a x = b` for each matrix of a batch."""
    count, rows, columns = static_shape(b)
    solved: SSAValue | None = None
    for row in range(rows) if is_lower else reversed(range(rows)):
        value = _part(b, [0, row, 0], [count, row + 1, columns])
        if solved is not None:
            known = (0, row) if is_lower else (row + 1, rows)
            factors = _part(a, [0, row, known[0]], [count, row + 1, known[1]])
            value = result(SubtractOp(value, result(BatchMatmulOp(factors, solved))))
        if not is_unit:
            value = result(DivideOp(value, _part(a, [0, row, row], [count, row + 1, row + 1])))
        parts = [value] if solved is None else [solved, value] if is_lower else [value, solved]
        solved = result(ConcatenateOp(*parts, axis=1)) if len(parts) > 1 else value
    assert solved is not None, "a matrix without rows has no elements"
    return solved


def _part(x: SSAValue, begin: Sequence[int], end: Sequence[int]) -> SSAValue:
    return slice_of(x, begin, end, [1] * len(begin))


TRIANGULAR: Mapping[str, Rule] = {"stablehlo.triangular_solve": _triangular_solve}
"""Rules by the name of the op."""
