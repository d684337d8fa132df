"""Linear algebra of real matrices.

Determinants give the factors that they have used to their gradients, which are PyTorch's and know of which matrix these
are: of the transpose where the matrix is contiguous, since LAPACK wants columns. `of_transpose` says it.

What PyTorch says of failure is `info`, which it raises an error for: here it is 1 for a matrix whose results are nans,
where PyTorch has the place at which LAPACK gave up.

Source: aten/src/ATen/native/native_functions.yaml and BatchLinearAlgebra.cpp of PyTorch 2.14.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block, SSAValue

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import factorizations as f
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.comparison import LessOp, NotEqualOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.linear_systems import InverseOp, SolveOp, TriangularSolveOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, MatmulOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.frontends.aten.rules.table import RULES, Want, made
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    cast_to,
    dtype,
    integers,
    reshape,
    scalar,
    shape,
    tensor,
    transpose,
)


def _turned(x: SSAValue) -> SSAValue:
    """The transposes of matrices."""
    rank = len(shape(x))
    return transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def _info(x: SSAValue) -> SSAValue:
    """Whether the first element of each matrix is a nan: then all are."""
    *batch, rows, columns = shape(x)
    if not rows or not columns:
        return broadcast(constant(np.zeros((), np.int32)).result, batch)
    rank = len(shape(x))
    first = made(StridedSliceOp(x, begin=[0, 0], end=[1, 1], axes=[rank - 2, rank - 1], strides=[1, 1]))
    return cast_to(reshape(made(e.IsnanOp(first)), batch), i32)


def _part(x: SSAValue, axis: int, count: int) -> SSAValue:
    """The beginning of an axis."""
    axis %= len(shape(x))
    if shape(x)[axis] == count:
        return x
    return made(StridedSliceOp(x, begin=[0], end=[count], axes=[axis], strides=[1]))


def _upper(x: SSAValue) -> SSAValue:
    """The upper triangle, and zeros."""
    kept = constant(np.triu(np.ones(shape(x)[-2:], np.bool_))).result
    return made(b.WhereOp(kept, x, scalar(x, 0)))


def _diagonal(x: SSAValue) -> SSAValue:
    rows = shape(x)[-1]
    kept = made(b.WhereOp(constant(np.eye(rows, dtype=np.bool_)).result, x, scalar(x, 0)))
    return made(r.SumOp(kept, axes=[len(shape(x)) - 1]))


def _from_one(pivots: SSAValue) -> SSAValue:
    """LAPACK counts from 1."""
    return made(b.AddOp(pivots, scalar(pivots, 1)))


def _sign(pivots: SSAValue, like: SSAValue) -> SSAValue:
    """-1 for an odd number of swaps."""
    places = integers(range(shape(pivots)[-1]), pivots)
    swaps = made(r.SumOp(cast_to(made(NotEqualOp(pivots, places)), i32), axes=[len(shape(pivots)) - 1]))
    odd = made(b.ModOp(swaps, scalar(swaps, 2)))
    signs = made(b.SubtractOp(scalar(swaps, 1), made(b.MultiplyOp(odd, scalar(odd, 2)))))
    return made(b.MultiplyOp(cast_to(signs, tensor(like).element_type), scalar(like, 1)))


def _kept_factors(a: SSAValue, *, of_transpose: bool) -> f.LuOp:
    """The LU decomposition that a gradient reads."""
    return f.LuOp(_turned(a) if of_transpose else a)


def _solved(a: SSAValue, right: SSAValue) -> SSAValue:
    """The solution, with batches that broadcast."""
    batch = np.broadcast_shapes(shape(a)[:-2], shape(right)[:-2])
    both = (broadcast(each, [*batch, *shape(each)[-2:]]) for each in (a, right))
    return made(SolveOp(*both))


@RULES.of("aten._linalg_solve_ex.default")
def solve(
    want: Want, self: SSAValue, other: SSAValue, *, left: bool = True, check_errors: bool = False
) -> Sequence[SSAValue]:
    """`linalg.solve`, and the LU decomposition that it has used; a vector, or several, are columns."""
    is_vector = len(shape(other)) == 1 or shape(other) == shape(self)[:-1]
    right = reshape(other, [*shape(other), 1]) if is_vector else other
    found = _solved(self, right) if left else _turned(_solved(_turned(self), _turned(right)))
    lu = f.LuOp(self)
    info = _info(found)
    return [reshape(found, want.shape), lu.factors, _from_one(lu.pivots), info]


@RULES.of("aten.linalg_inv_ex.default")
def inverse(want: Want, self: SSAValue, *, check_errors: bool = False) -> Sequence[SSAValue]:
    """`linalg.inv`."""
    found = made(InverseOp(self))
    return [found, _info(found)]


@RULES.of("aten._linalg_det.default")
def determinant(want: Want, self: SSAValue, *, of_transpose: bool = True) -> Sequence[SSAValue]:
    """`linalg.det`."""
    lu = _kept_factors(self, of_transpose=of_transpose)
    product = made(r.ProdOp(_diagonal(lu.factors), axes=[len(shape(self)) - 2]))
    return [made(b.MultiplyOp(product, _sign(lu.pivots, self))), lu.factors, _from_one(lu.pivots)]


@RULES.of("aten._linalg_slogdet.default")
def log_determinant(want: Want, self: SSAValue, *, of_transpose: bool = True) -> Sequence[SSAValue]:
    """`linalg.slogdet`."""
    lu = _kept_factors(self, of_transpose=of_transpose)
    diagonal, axes = _diagonal(lu.factors), [len(shape(self)) - 2]
    sign = made(b.MultiplyOp(made(r.ProdOp(made(e.SignOp(diagonal)), axes=axes)), _sign(lu.pivots, self)))
    logarithm = made(r.SumOp(made(e.LogOp(made(e.AbsOp(diagonal)))), axes=axes))
    return [sign, logarithm, lu.factors, _from_one(lu.pivots)]


@RULES.of("aten.linalg_lu_factor_ex.default")
def lu_factors(want: Want, self: SSAValue, *, pivot: bool = True, check_errors: bool = False) -> Sequence[SSAValue]:
    """`linalg.lu_factor`, which says of a zero on the diagonal where it is; here, whether there is one."""
    if not pivot:
        raise NoFuseFormError("a decomposition without pivots")
    lu = f.LuOp(self)
    return [lu.factors, _from_one(lu.pivots), broadcast(constant(np.zeros((), np.int32)).result, shape(self)[:-2])]


@RULES.of("aten.linalg_cholesky_ex.default")
def cholesky(want: Want, self: SSAValue, *, upper: bool = False, check_errors: bool = False) -> Sequence[SSAValue]:
    """`linalg.cholesky`."""
    factor = made(f.CholeskyOp(self, upper=upper))
    return [factor, _info(factor)]


@RULES.of("aten.cholesky_solve.default")
def cholesky_solve(want: Want, self: SSAValue, factor: SSAValue, upper: bool = False) -> SSAValue:
    """Two triangular systems."""
    first = made(TriangularSolveOp(factor, self, lower=not upper, transpose=upper))
    return made(TriangularSolveOp(factor, first, lower=not upper, transpose=not upper))


@RULES.of("aten.linalg_qr.default")
def qr(want: Want, self: SSAValue, mode: str = "reduced") -> Sequence[SSAValue]:
    """`linalg.qr`, without the complete Q."""
    if mode != "reduced":
        raise NoFuseFormError(f"the mode '{mode}'")
    fewer = min(shape(self)[-2:])
    made_of = f.HouseholderQrOp(self)
    product = made(f.HouseholderProductOp(_part(made_of.factors, -1, fewer), made_of.scales))
    return [product, _upper(_part(made_of.factors, -2, fewer))]


@RULES.of("aten._linalg_eigh.default")
def eigh(want: Want, self: SSAValue, UPLO: str = "L", compute_v: bool = True) -> Sequence[SSAValue]:  # noqa: N803
    """`linalg.eigh`, and `linalg.eigvalsh` without vectors."""
    if compute_v:
        return f.EighOp(self, lower=UPLO == "L").results
    return [made(f.EigvalshOp(self, lower=UPLO == "L")), constant(np.zeros(0, dtype(self))).result]


@RULES.of("aten._linalg_svd.default")
def svd(
    want: Want, self: SSAValue, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None
) -> Sequence[SSAValue]:
    """`linalg.svd`, and `linalg.svdvals` without vectors."""
    if compute_uv:
        return f.SvdOp(self, full_matrices=full_matrices).results
    none = constant(np.zeros(0, dtype(self))).result
    return [none, made(f.SvdvalsOp(self)), none]


@RULES.of("aten.linalg_solve_triangular.default")
def solve_triangular(
    want: Want, self: SSAValue, other: SSAValue, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> SSAValue:
    """`linalg.solve_triangular`."""
    batch = np.broadcast_shapes(shape(self)[:-2], shape(other)[:-2])
    both = (broadcast(each, [*batch, *shape(each)[-2:]]) for each in (self, other))
    return made(TriangularSolveOp(*both, left=left, lower=not upper, unit_diagonal=unitriangular))


@RULES.of("aten.linalg_householder_product.default")
def householder_product(want: Want, self: SSAValue, scales: SSAValue) -> SSAValue:
    """`linalg.householder_product`."""
    return made(f.HouseholderProductOp(self, scales))


@RULES.of("aten.cholesky_inverse.default")
def cholesky_inverse(want: Want, self: SSAValue, upper: bool = False) -> SSAValue:
    """The product of the inverse of a triangle and its transpose."""
    size = shape(self)[-1]
    identity = broadcast(constant(np.eye(size, dtype=dtype(self))).result, shape(self))
    half = made(TriangularSolveOp(self, identity, lower=not upper))
    product = MatmulOp if len(shape(self)) == 2 else BatchMatmulOp
    return made(product(half, half, transpose_a=not upper, transpose_b=upper))


_PADE: Mapping[int, tuple[float, Sequence[float]]] = {
    4: (3.925724783138660, (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1)),
    8: (
        5.371920351148152,
        (
            *(64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000),
            *(10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1),
        ),
    ),
}
"""By the bytes of an element: the greatest norm, and coefficients, of the approximation that is exact there."""
_MOST_SQUARES = 1100
"""Beyond, powers of 2 leave f64."""


@RULES.of("aten.linalg_matrix_exp.default")
def matrix_exponential(want: Want, self: SSAValue) -> SSAValue:
    """`linalg.matrix_exp`: of a matrix divided by a power of 2 by Pade, then squared as often as its norm asks for.

    Source: N. J. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005), table 2.3.
    """
    if want.dtype.kind != "f" or want.dtype.itemsize not in _PADE:
        raise NoFuseFormError(f"the exponential of a matrix of {want.dtype}")
    if not math.prod(want.shape):
        return self
    greatest, _ = _PADE[want.dtype.itemsize]
    rank = len(want.shape)
    columns = made(r.SumOp(made(e.AbsOp(self)), axes=[rank - 2], keepdims=True))
    norm = made(r.MaxOp(columns, axes=[rank - 1], keepdims=True))
    steps = made(e.CeilOp(made(e.Log2Op(made(b.MultiplyOp(norm, scalar(norm, 1 / greatest)))))))
    steps = made(ClipOp(steps, min=0.0, max=float(_MOST_SQUARES)))
    is_finite = made(LessOp(norm, scalar(norm, math.inf)))
    steps = made(b.WhereOp(is_finite, steps, scalar(steps, 0)))
    factor = made(b.PowerOp(scalar(steps, 2), made(e.NegativeOp(steps))))
    first = _approximated(made(b.MultiplyOp(self, factor)))
    limit = cast_to(reshape(made(r.MaxOp(steps, axes=list(range(rank)))), []), i64)
    count = cast_to(steps, i64)
    body = Block(arg_types=[limit.type, first.type])
    with building(body):
        number, power = body.args
        goes_on = made(LessOp(number, count))
        YieldOp(made(b.WhereOp(goes_on, _product(power, power), power)))
    return LoopOp(body, limit=limit, states=[first]).results[0]


def _product(one: SSAValue, other: SSAValue) -> SSAValue:
    return made((MatmulOp if len(shape(one)) == 2 else BatchMatmulOp)(one, other))


def _approximated(x: SSAValue) -> SSAValue:
    """The exponential of matrices of small norm, as a quotient of polynomials whose odd powers differ in sign."""
    coefficients = _PADE[dtype(x).itemsize][1]
    square = _product(x, x)
    fourth = _product(square, square)
    powers = [
        broadcast(constant(np.eye(shape(x)[-1], dtype=dtype(x))).result, shape(x)),
        *(square, fourth, _product(fourth, square)),
    ]

    def summed(numbers: Sequence[float], of: Sequence[SSAValue]) -> SSAValue:
        terms = [made(b.MultiplyOp(each, scalar(x, number))) for number, each in zip(numbers, of, strict=True)]
        value = terms[0]
        for term in terms[1:]:
            value = made(b.AddOp(value, term))
        return value

    halves = list[SSAValue]()
    for begin in (0, 1):
        numbers = coefficients[begin::2]
        value = summed(numbers[:4], powers)
        if len(numbers) > len(powers):
            value = made(b.AddOp(value, _product(powers[3], summed(numbers[4:], powers[1:]))))
        halves.append(value)
    even, odd = halves[0], _product(x, halves[1])
    return made(SolveOp(made(b.SubtractOp(even, odd)), made(b.AddOp(even, odd))))
