"""Factors of matrices as NumPy has them, and the two eliminations that it lacks; what linear algebra means.

1. Computation is in f64 and results are rounded once, as `numpy.linalg` does it for f32. A triangular system is solved
   in its element type, as SciPy and BLAS do it: an element that overflows is infinite in all that follow from it.
2. A matrix that a routine fails on, as it is singular, not definite, or holds nans, gives nans; others of its batch do
   not.
3. A batch is the leading axes. Matrices without elements are fine.
4. A routine that iterates until it has converged never gets a number that is not finite: some of them would never end.
   Such a matrix gives nans in all results.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuse_dialect.loops.special_functions import Array

_PANEL = 32
"""Columns that are eliminated one by one before the rest of the matrix follows as a product."""


def with_nans(function: Callable[..., Any], *operands: Array) -> tuple[Array, ...]:
    """A function of `numpy.linalg`, with nans for matrices that it fails on.

    Args:
        function: Of batches of matrices, with one result or several; it raises `LinAlgError` for one that it cannot do.
        operands: Batches of one length.

    Returns:
        The results in f64.
    """
    wide = [operand.astype(np.float64) for operand in operands]
    with np.errstate(all="ignore"):
        try:
            return _results(function, wide)
        except np.linalg.LinAlgError:
            return _one_by_one(function, wide)


def iterated(
    function: Callable[..., Any], matrices: Array, read: Callable[[Array], Array] = np.asarray
) -> tuple[Array, ...]:
    """As `with_nans`, of a function that iterates: a matrix with a number that is not finite gives nans (4).

    LAPACK's gesdd does not end on some matrices that hold a nan.

    Args:
        function: Of a batch of matrices.
        matrices: [..., M, N].
        read: The matrices, with zeros for what the function does not read.

    Returns:
        The results in f64.
    """
    is_finite: Array = np.asarray(np.isfinite(read(matrices)).all(axis=(-2, -1)))
    results = with_nans(function, np.where(is_finite[..., None, None], matrices, 0))
    for result in results:
        result[~is_finite] = np.nan
    return results


def _results(function: Callable[..., Any], operands: Sequence[Array]) -> tuple[Array, ...]:
    found: tuple[Array, ...] | Array = function(*operands)
    return found if isinstance(found, tuple) else (np.asarray(found),)


def _one_by_one(function: Callable[..., Any], operands: Sequence[Array]) -> tuple[Array, ...]:
    batch = operands[0].shape[:-2]
    # An identity is no trouble to any routine: it tells the sizes of results.
    easy = [np.eye(*operand.shape[-2:]) for operand in operands]
    results = [np.full((*batch, *each.shape), np.nan) for each in _results(function, easy)]
    for place in np.ndindex(*batch):
        try:
            found = _results(function, [operand[place] for operand in operands])
        except np.linalg.LinAlgError:
            continue
        for result, own in zip(results, found, strict=True):
            result[place] = own
    return tuple(results)


def lu_factors(x: Array) -> tuple[Array, Array, Array]:
    """`l` below the diagonal of ones and `u` on and above it, with `l u` the rows of `x` in another order.

    In each column the greatest element moves to the diagonal; a column of zeros is left as it is.

    Returns:
        The factors [..., M, N] in f64; for each of min(M, N) columns the row that its row was swapped with; the number
        of the row of `x` that stands in each of the M rows.

    Complexity: O(batch M N min(M, N)).
    Source: LAPACK getrf; G. H. Golub and C. F. Van Loan, Matrix Computations, section 3.4.
    """
    *batch, rows, columns = x.shape
    a = x.astype(np.float64).reshape(math.prod(batch), rows, columns)
    count, most = len(a), min(rows, columns)
    pivots = np.zeros((count, most), np.int32)
    order = np.tile(np.arange(rows, dtype=np.int32), (count, 1))
    every = np.arange(count)
    with np.errstate(all="ignore"):
        for first in range(0, most, _PANEL):
            last = min(first + _PANEL, most)
            for column in range(first, last):
                place = column + np.argmax(np.abs(a[:, column:, column]), axis=1)
                pivots[:, column] = place
                for each in (a, order):
                    each[every, place], each[:, column] = each[:, column].copy(), each[every, place]
                diagonal = a[:, column, column, None]
                a[:, column + 1 :, column] /= np.where(diagonal == 0, 1, diagonal)
                ahead = slice(column + 1, last)
                a[:, column + 1 :, ahead] -= a[:, column + 1 :, column, None] * a[:, column, None, ahead]
            if last < columns:
                a[:, first:last, last:] = substituted(
                    a[:, first:last, first:last], a[:, first:last, last:], is_lower=True, has_unit_diagonal=True
                )
                a[:, last:, last:] -= a[:, last:, first:last] @ a[:, first:last, last:]
    return a.reshape(x.shape), pivots.reshape(*batch, most), order.reshape(*batch, rows)


def substituted(a: Array, b: Array, *, is_lower: bool, has_unit_diagonal: bool) -> Array:
    """The solution of `a x = b` where `a` is triangular: a row at a time, each from those that are known.

    The other triangle of `a` is never read, and its diagonal only if it is not of ones. A zero there divides.

    Args:
        a: [..., M, M].
        b: [..., M, N].
        is_lower: Which triangle it is.
        has_unit_diagonal: Whether the diagonal is taken to be of ones.

    Returns:
        [..., M, N], computed in the type of `b`.

    Complexity: O(batch M M N).
    Source: LAPACK trsm; G. H. Golub and C. F. Van Loan, Matrix Computations, section 3.1.
    """
    x = b.copy()
    rows = x.shape[-2]
    with np.errstate(all="ignore"):
        for row in range(rows) if is_lower else reversed(range(rows)):
            known = slice(0, row) if is_lower else slice(row + 1, rows)
            x[..., row : row + 1, :] -= a[..., row : row + 1, known] @ x[..., known, :]
            if not has_unit_diagonal:
                x[..., row, :] /= a[..., row, row, None]
    return x


def reflected(factors: Array, scales: Array) -> Array:
    """The first N columns of the product of reflections `1 - scale v v'`.

    Args:
        factors: [..., M, N]: below the diagonal of column k the elements of `v` of reflection k behind its leading 1.
        scales: [..., K], at most N of them.

    Complexity: O(batch M N K).
    Source: LAPACK orgqr; G. H. Golub and C. F. Van Loan, Matrix Computations, section 5.1.
    """
    rows, columns = factors.shape[-2:]
    product = np.broadcast_to(np.eye(rows, columns), factors.shape).copy()
    with np.errstate(all="ignore"):
        for place in reversed(range(scales.shape[-1])):
            v = factors[..., place:, place, None].astype(np.float64)
            v[..., 0, :] = 1
            below = product[..., place:, :]
            below -= scales[..., place, None, None] * (v @ (np.swapaxes(v, -1, -2) @ below))
    return product
