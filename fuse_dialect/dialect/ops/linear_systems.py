"""Systems of linear equations with the matrices in the last two axes, and inverses.

A singular matrix gives nans, or the infinities of a division by zero; `numpy.linalg` raises an error for its whole
batch.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, tensor_operand, tensor_result
from fuse_dialect.dialect.matrices import substituted, with_nans
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.factorizations import MatrixOp
from fuse_dialect.dialect.shape_rules import require_rank_at_least, require_wide_float, unify, unify_shapes
from fuse_dialect.dialect.types import DYNAMIC, element_count, require_same_element, with_shape
from fuse_dialect.pattern_kind import PatternKind


class SystemOp(FuseOp):
    """A system of equations: a square matrix, and right-hand sides as columns of another matrix."""

    a = tensor_operand()
    b = tensor_operand()
    result = tensor_result()

    def system_type(self, axis: int) -> Sequence[Attribute]:
        """The type of the solution, whose size on `axis` is that of the matrix.

        Raises:
            VerifyException: The elements are not f32 or f64, the matrix is not square, or the sizes do not fit.
        """
        require_wide_float(self.a.type)
        require_same_element([self.a.type, self.b.type])
        *batch, rows, columns = require_rank_at_least(self.a.type, 2, "a")
        own = list(require_rank_at_least(self.b.type, 2, "b"))
        size = unify(rows, columns, "the last two axes of 'a'")
        own[axis] = unify(size, own[axis], f"the matrix and axis {axis} of 'b'")
        return (with_shape(self.b.type, (*unify_shapes(batch, own[:-2]), *own[-2:])),)


@irdl_op_definition
class SolveOp(SystemOp):
    """The `x` with `a x = b`; nans for a singular matrix.

    Shapes: a [..., M, M], b [..., M, N]; result [..., M, N].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 2 / 3 * M^3 + 2 * M^2 * N operations a matrix, rounded down.
    Source: `numpy.linalg.solve`, LAPACK gesv.
    """

    name = "fuse.solve"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    def infer_types(self) -> Sequence[Attribute]:
        """The type of the right-hand sides."""
        return self.system_type(-2)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.solve`."""
        (x,) = with_nans(np.linalg.solve, *operands)
        return (x.astype(operands[0].dtype),)

    def flops(self) -> int | None:
        """An elimination and two substitutions."""
        count, sides = element_count(self.a.type), element_count(self.b.type)
        size = self.a.type.get_shape()[-1]
        return None if count is None or sides is None else count * size * 2 // 3 + 2 * sides * size


@irdl_op_definition
class TriangularSolveOp(SystemOp):
    """The `x` with `a x = b`, or `x a = b`, for a triangular matrix or its transpose.

    The other triangle is not read. A zero on the diagonal divides: infinities and nans follow.

    Shapes: a [..., M, M], b [..., M, N], or [..., N, M] with `left = false`; result as `b`.
    Types: f32 or f64.
    Kind: opaque.
    Cost: M operations an element of the result.
    Source: StableHLO `triangular_solve`, `scipy.linalg.solve_triangular`, BLAS trsm.
    """

    name = "fuse.triangular_solve"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    left = flag(default=True)
    """Whether the matrix stands left of `x`."""
    lower = flag(default=True)
    """Whether the lower triangle is read, before a transposition."""
    transpose = flag()
    """Whether the transpose of the triangle is meant."""
    unit_diagonal = flag()
    """Whether the diagonal is taken to be of ones, and not read."""

    def infer_types(self) -> Sequence[Attribute]:
        """The type of the right-hand sides."""
        return self.system_type(-2 if self.left.value.data else -1)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Substitution, of the transposed system where `x` stands left."""
        (a, b), is_left = operands, bool(self.left.value.data)
        is_lower = bool(self.lower.value.data)
        if bool(self.transpose.value.data) == is_left:
            a, is_lower = np.swapaxes(a, -1, -2), not is_lower
        right = b if is_left else np.swapaxes(b, -1, -2)
        x = substituted(a, right, is_lower=is_lower, has_unit_diagonal=bool(self.unit_diagonal.value.data))
        return ((x if is_left else np.swapaxes(x, -1, -2)).astype(b.dtype),)

    def flops(self) -> int | None:
        """A product and a sum for each known element of a column, half of them on average."""
        count, size = element_count(self.result.type), self.a.type.get_shape()[-1]
        return None if count is None or size == DYNAMIC else count * size


@irdl_op_definition
class InverseOp(MatrixOp):
    """The inverse of a matrix; nans for a singular one.

    Shapes: [..., M, M], unchanged.
    Types: f32 or f64.
    Kind: opaque.
    Cost: 2 * M^3 operations a matrix.
    Source: `numpy.linalg.inv`, LAPACK getri.
    """

    name = "fuse.inverse"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (2, 1)

    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        batch, rows = self.square()
        return (with_shape(self.input.type, (*batch, rows, rows)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.inv`."""
        (x,) = with_nans(np.linalg.inv, *operands)
        return (x.astype(operands[0].dtype),)
