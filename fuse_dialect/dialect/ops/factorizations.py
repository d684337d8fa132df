"""Factors of the matrices in the last two axes: Cholesky, LU, QR, eigenvalues, singular values.

A matrix that a routine fails on gives nans, as in JAX; `numpy.linalg` raises an error for its whole batch. Where one
has infinities and nans, routines may notice or not: results are undefined.
"""

from abc import ABC
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, tensor_operand, tensor_result
from fuse_dialect.dialect.matrices import iterated, lu_factors, reflected, with_nans
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import require_rank_at_least, require_wide_float, unify, unify_shapes
from fuse_dialect.dialect.types import DYNAMIC, element_count, require_same_element, with_element, with_shape
from fuse_dialect.pattern_kind import PatternKind


class MatrixOp(FuseOp, ABC):
    """An op on each matrix of a batch."""

    FLOPS_OF_CUBE: ClassVar[tuple[int, int]]
    """Arithmetic operations of a matrix, as a fraction of M * N * min(M, N)."""

    input = tensor_operand()

    def matrices(self) -> tuple[tuple[int, ...], int, int]:
        """The sizes of the batch, and the rows and columns of a matrix.

        Raises:
            VerifyException: The elements are not f32 or f64, or there are no two axes.
        """
        require_wide_float(self.input.type)
        *batch, rows, columns = require_rank_at_least(self.input.type, 2, "input")
        return tuple(batch), rows, columns

    def square(self) -> tuple[tuple[int, ...], int]:
        """The sizes of the batch, and the rows of a square matrix.

        Raises:
            VerifyException: As `matrices`, or the last two axes differ.
        """
        batch, rows, columns = self.matrices()
        return batch, unify(rows, columns, "the last two axes")

    def flops(self) -> int | None:
        """Some multiple of a cube for each matrix."""
        count, (rows, columns) = element_count(self.input.type), self.input.type.get_shape()[-2:]
        times, divisor = self.FLOPS_OF_CUBE
        return None if count is None else count * min(rows, columns) * times // divisor


def _fewer(rows: int, columns: int) -> int:
    """The smaller one of two sizes; `?` where that is not known."""
    return DYNAMIC if DYNAMIC in (rows, columns) else min(rows, columns)


@irdl_op_definition
class CholeskyOp(MatrixOp):
    """The triangular `l` with `l l'` the symmetric, positive definite matrix, or `u` with `u' u`; zeros beside it.

    Only the triangle that is asked for is read. A matrix that is not positive definite gives nans.

    Shapes: [..., M, M], unchanged.
    Types: f32 or f64.
    Kind: opaque.
    Cost: 1 / 3 * M^3 operations a matrix, rounded down.
    Source: `numpy.linalg.cholesky`, StableHLO `cholesky`, LAPACK potrf.
    """

    name = "fuse.cholesky"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (1, 3)

    result = tensor_result()

    upper = flag()
    """Whether the upper triangle is read and given."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        batch, rows = self.square()
        return (with_shape(self.input.type, (*batch, rows, rows)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.cholesky`, of the transpose for an upper triangle."""
        is_upper = bool(self.upper.value.data)
        x = np.swapaxes(operands[0], -1, -2) if is_upper else operands[0]
        (factor,) = with_nans(np.linalg.cholesky, x)
        return ((np.swapaxes(factor, -1, -2) if is_upper else factor).astype(x.dtype),)


@irdl_op_definition
class LuOp(MatrixOp):
    """A lower triangular matrix with a diagonal of ones and an upper one, whose product is the matrix with rows moved.

    Results are both triangles in one matrix, for each step the row that its row was swapped with, and for each row the
    number of the row that came to lie there. Of elements of one size in a column any may be chosen.

    Shapes: [..., M, N]; results [..., M, N], [..., min(M, N)] and [..., M].
    Types: f32 or f64; the others are i32, from 0 on.
    Kind: opaque.
    Cost: 2 / 3 of M * N * min(M, N) operations a matrix, rounded down.
    Source: LAPACK getrf, `scipy.linalg.lu_factor`.
    """

    name = "fuse.lu"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (2, 3)

    factors = tensor_result()
    pivots = tensor_result()
    permutation = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type, and a number for each step and row."""
        batch, rows, columns = self.matrices()
        of_integers = with_element(self.input.type, i32)
        return (
            self.input.type,
            with_shape(of_integers, (*batch, _fewer(rows, columns))),
            with_shape(of_integers, (*batch, rows)),
        )

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Elimination with partial pivoting."""
        factors, pivots, order = lu_factors(operands[0])
        return (factors.astype(operands[0].dtype), pivots, order)


@irdl_op_definition
class HouseholderQrOp(MatrixOp):
    """A QR decomposition as LAPACK leaves it: R on and above the diagonal, and below it the reflections of Q.

    `fuse.householder_product` makes Q of them.

    Shapes: [..., M, N]; results [..., M, N] and [..., min(M, N)].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 2 * M * N * min(M, N) operations a matrix.
    Source: `numpy.linalg.qr` with mode "raw", LAPACK geqrf.
    """

    name = "fuse.householder_qr"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (2, 1)

    factors = tensor_result()
    scales = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type, and a number for each reflection."""
        batch, rows, columns = self.matrices()
        return (self.input.type, with_shape(self.input.type, (*batch, _fewer(rows, columns))))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.qr`."""
        (x,) = operands
        if not x.size:
            return (x, np.zeros((*x.shape[:-2], min(x.shape[-2:])), x.dtype))
        transposed, scales = np.linalg.qr(x.astype(np.float64), mode="raw")
        return (np.swapaxes(transposed, -1, -2).astype(x.dtype), np.asarray(scales).astype(x.dtype))


@irdl_op_definition
class HouseholderProductOp(FuseOp):
    """Q of the reflections that `fuse.householder_qr` gives: as many columns as the factors have.

    Shapes: factors [..., M, N] with M >= N, scales [..., K] with N >= K; result [..., M, N].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 4 * M * N * K operations a matrix.
    Source: LAPACK orgqr, PyTorch `linalg.householder_product`.
    """

    name = "fuse.householder_product"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    factors = tensor_operand()
    scales = tensor_operand()
    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The factors' type."""
        require_wide_float(self.factors.type)
        require_same_element([self.factors.type, self.scales.type])
        *batch, rows, columns = require_rank_at_least(self.factors.type, 2, "factors")
        *own, count = require_rank_at_least(self.scales.type, 1, "scales")
        unify_shapes(batch, own)
        sizes = [size for size in (rows, columns, count) if size != DYNAMIC]
        if sizes != sorted(sizes, reverse=True):
            raise VerifyException(
                f"expects no more scales than columns and no more columns than rows, got {count}, {columns} and {rows}"
            )
        return (self.factors.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The reflections of an identity, from the last one on."""
        return (reflected(*operands).astype(operands[0].dtype),)

    def flops(self) -> int | None:
        """Two products with each reflection."""
        count, steps = element_count(self.factors.type), self.scales.type.get_shape()[-1]
        return None if count is None or steps == DYNAMIC else count * 4 * steps


@irdl_op_definition
class EighOp(MatrixOp):
    """Eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as columns, of either sign.

    Only one triangle is read.

    A matrix with a number that is not finite, where it is read, gives nans.

    Shapes: [..., M, M]; results [..., M] and [..., M, M].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 9 * M^3 operations a matrix.
    Source: `numpy.linalg.eigh`, LAPACK syevd.
    """

    name = "fuse.eigh"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (9, 1)

    values = tensor_result()
    vectors = tensor_result()

    lower = flag(default=True)
    """Whether the lower triangle is read, and not the upper one."""

    def infer_types(self) -> Sequence[Attribute]:
        """A value for each row, and a matrix."""
        batch, rows = self.square()
        return (with_shape(self.input.type, (*batch, rows)), with_shape(self.input.type, (*batch, rows, rows)))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.eigh`."""
        triangle, read = ("L", np.tril) if self.lower.value.data else ("U", np.triu)
        values, vectors = iterated(partial(np.linalg.eigh, UPLO=triangle), operands[0], read)
        return (values.astype(operands[0].dtype), vectors.astype(operands[0].dtype))


@irdl_op_definition
class EigvalshOp(MatrixOp):
    """Eigenvalues of a symmetric matrix in ascending order. Only one triangle is read.

    A matrix with a number that is not finite, where it is read, gives nans.

    Shapes: [..., M, M] to [..., M].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 4 / 3 * M^3 operations a matrix, rounded down.
    Source: `numpy.linalg.eigvalsh`, LAPACK syevd.
    """

    name = "fuse.eigvalsh"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (4, 3)

    result = tensor_result()

    lower = flag(default=True)
    """Whether the lower triangle is read, and not the upper one."""

    def infer_types(self) -> Sequence[Attribute]:
        """A value for each row."""
        batch, rows = self.square()
        return (with_shape(self.input.type, (*batch, rows)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.eigvalsh`."""
        triangle, read = ("L", np.tril) if self.lower.value.data else ("U", np.triu)
        (values,) = iterated(partial(np.linalg.eigvalsh, UPLO=triangle), operands[0], read)
        return (values.astype(operands[0].dtype),)


@irdl_op_definition
class SvdOp(MatrixOp):
    """The singular value decomposition `u s vh`, greatest values first; pairs of vectors have either sign.

    A matrix with a number that is not finite gives nans.

    Shapes: [..., M, N]; with K = min(M, N) results [..., M, K], [..., K] and [..., K, N], or [..., M, M] and
        [..., N, N] with `full_matrices`.
    Types: f32 or f64.
    Kind: opaque.
    Cost: 14 * M * N * min(M, N) operations a matrix.
    Source: `numpy.linalg.svd`, LAPACK gesdd.
    """

    name = "fuse.svd"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (14, 1)

    u = tensor_result()
    s = tensor_result()
    vh = tensor_result()

    full_matrices = flag()
    """Whether `u` and `vh` are square."""

    def infer_types(self) -> Sequence[Attribute]:
        """The sizes of the three factors."""
        batch, rows, columns = self.matrices()
        fewer = _fewer(rows, columns)
        outer = (rows, columns) if self.full_matrices.value.data else (fewer, fewer)
        shapes = ((*batch, rows, outer[0]), (*batch, fewer), (*batch, outer[1], columns))
        return tuple(with_shape(self.input.type, each) for each in shapes)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.svd`."""
        is_full = bool(self.full_matrices.value.data)
        results = iterated(partial(np.linalg.svd, full_matrices=is_full), operands[0])
        return tuple(each.astype(operands[0].dtype) for each in results)


@irdl_op_definition
class SvdvalsOp(MatrixOp):
    """The singular values of a matrix, greatest first.

    A matrix with a number that is not finite gives nans.

    Shapes: [..., M, N] to [..., min(M, N)].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 8 / 3 of M * N * min(M, N) operations a matrix, rounded down.
    Source: `numpy.linalg.svdvals`, LAPACK gesdd.
    """

    name = "fuse.svdvals"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_OF_CUBE: ClassVar[tuple[int, int]] = (8, 3)

    result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """A value for each row or column, whichever are fewer."""
        batch, rows, columns = self.matrices()
        return (with_shape(self.input.type, (*batch, _fewer(rows, columns))),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.linalg.svd` without vectors."""
        (values,) = iterated(partial(np.linalg.svd, compute_uv=False), operands[0])
        return (values.astype(operands[0].dtype),)
