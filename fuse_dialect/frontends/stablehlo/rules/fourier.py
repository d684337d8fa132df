"""Fourier transforms: a product with the matrix of a short one, and `fuse.fft`, `rfft` and `irfft` for others.

A short transform of one axis has so few points that the product is over before a library has been called, and it fuses
with what is around it.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import NegativeOp
from fuse_dialect.dialect.ops.fourier import FftOp, IrfftOp, RfftOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, MatmulOp
from fuse_dialect.frontends.fuse_values import NoFuseFormError, dtype, reshape, result, shape, static_shape
from fuse_dialect.frontends.stablehlo.rules.arithmetic import difference, total
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, word
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import Parts, is_zero, pair, parts, product
from fuse_dialect.frontends.stablehlo.split_complex import is_complex_type

MOST_POINTS = 64
"""Numbers on the axis of a transform that is a product: its matrix has as many rows."""
MOST_IN_TWO = 512
"""The same of one that is two products, of the factors of the number."""
LEAST_FOLDED = 16
"""Points from which on adding those that mirror each other costs less than it saves."""


def _angles(rows: int, columns: int, points: int) -> Array:
    """The angle of each row's point in each column's wave; products are reduced before they lose bits."""
    return (np.outer(np.arange(rows), np.arange(columns)) % points) * (2 * np.pi / points)


def _fft(op: Operation) -> Sequence[SSAValue]:
    (x,), kind, lengths = op.operands, word(op, "fft_type"), ints(op, "fft_length")
    real = op.results[0] if kind == "IRFFT" else x
    if not lengths or min(lengths) < 1 or len(lengths) > len(shape(x)) or shape(real)[-len(lengths) :] != lengths:
        raise NoFuseFormError("a transform of other sizes than its operand or result has")
    is_short = lengths[-1] <= MOST_POINTS or _split(lengths[-1]) is not None
    if is_short and max(lengths[:-1], default=1) <= MOST_POINTS:
        return _axis_by_axis(x, kind, lengths)
    axes = list(range(-len(lengths), 0))
    match kind:
        case "RFFT":
            return [pair(*RfftOp(x, axes=axes).results)]
        case "IRFFT":
            return [result(IrfftOp(*parts(x), axes=axes, length=lengths[-1]))]
        case _:
            return [pair(*FftOp(*parts(x), axes=axes, inverse=kind == "IFFT").results)]


def _axis_by_axis(x: SSAValue, kind: str, lengths: Sequence[int]) -> Sequence[SSAValue]:
    """One axis after the other: where a half is asked for, or given, the last one is shorter to the others."""

    def others(values: Parts) -> Parts:
        for axis, points in enumerate(lengths[:-1], len(shape(values[0])) - len(lengths)):
            values = _along(values, axis, points, is_inverse=kind in ("IFFT", "IRFFT"))
        return values

    if kind == "RFFT":
        values = _last_axis(x, kind, lengths[-1])
        return [pair(*others(parts(values[0])))] if len(lengths) > 1 else values
    return _last_axis(pair(*others(parts(x))), kind, lengths[-1])


def _last_axis(x: SSAValue, kind: str, points: int) -> Sequence[SSAValue]:
    split = _split(points)
    return _as_product(x, kind, points) if points <= MOST_POINTS or split is None else _as_two_products(x, kind, split)


def _along(values: Parts, axis: int, points: int, *, is_inverse: bool) -> Parts:
    """The transform of any axis, by matrices on its left."""
    sizes = static_shape(values[0])
    view = [math.prod(sizes[:axis]), points, math.prod(sizes[axis + 1 :])]
    given = [reshape(part, view) for part in values[: 1 if is_zero(values[1]) else 2]]
    angles, scale = _angles(points, points, points), 1 / points if is_inverse else 1.0
    transform = _by_halves if points >= LEAST_FOLDED else _by_one_matrix
    real, imaginary = transform(given, angles if is_inverse else -angles, scale)
    return reshape(real, sizes), reshape(imaginary, sizes)


def _by_one_matrix(given: Sequence[SSAValue], angles: Array, scale: float) -> Parts:
    points = len(angles)
    matrix = _real_form(angles)[:, : points * len(given)] * scale
    both = result(BatchMatmulOp(_constant(matrix, given[0]), _beside(given, 1)))
    return _cut(both, 1, 0, points), _cut(both, 1, points, 2 * points)


def _by_halves(given: Sequence[SSAValue], angles: Array, scale: float) -> Parts:
    """The transform of axis 1, a quarter of the arithmetic of one matrix.

    Cosines are the same at `k` and at `points - k`, sines change their sign: so products with half of the points, which
    are folded, give half of the waves, and these the others.
    """
    points, columns = len(angles), static_shape(given[0])[2]
    pairs, alone = (points - 1) // 2, points // 2 + 1  # points with another one, and those with or without
    even, odd = zip(*(_folded(part, pairs) for part in given), strict=True)

    def waves(matrix: Array, parts: Sequence[SSAValue]) -> list[SSAValue]:
        made = result(BatchMatmulOp(_constant(matrix * scale, given[0]), _beside(parts, 2)))
        return [_cut(made, 2, begin, begin + columns) for begin in range(0, columns * len(parts), columns)]

    by_cosines = waves(np.cos(angles[:alone, :alone]), even)
    by_sines = waves(np.sin(angles[1 : pairs + 1, 1 : pairs + 1]), odd)
    if len(given) == 1:
        return _unfolded(by_cosines[0], None, points), _unfolded(None, by_sines[0], points)
    real = _unfolded(by_cosines[0], by_sines[1], points, sign=-1)
    return real, _unfolded(by_cosines[1], by_sines[0], points)


def _folded(x: SSAValue, pairs: int) -> tuple[SSAValue, SSAValue]:
    """Sums and differences of the points of axis 1 that mirror each other; sums begin with the first point alone."""
    points = static_shape(x)[1]
    front = _cut(x, 1, 1, pairs + 1)
    back = _reversed(_cut(x, 1, points - pairs, points))
    middle = [_cut(x, 1, points // 2, points // 2 + 1)] if points % 2 == 0 else []
    return _beside([_cut(x, 1, 0, 1), total(front, back), *middle], 1), difference(front, back)


def _unfolded(even: SSAValue | None, odd: SSAValue | None, points: int, sign: int = 1) -> SSAValue:
    """All waves, of those that are the same at both ends, and those that change their sign, times one for all."""
    pairs, middle = (points - 1) // 2, points % 2 == 0
    if even is None:
        assert odd is not None, "there are waves"
        lead, _, columns = static_shape(odd)
        nothing = _constant(np.zeros((lead, 1, columns)), odd)
        return _beside([nothing, odd, *[nothing] * middle, _reversed(result(NegativeOp(odd)))], 1)
    inner = _cut(even, 1, 1, pairs + 1)
    ends = (inner, inner) if odd is None else (total(inner, odd), difference(inner, odd))
    alone = [_cut(even, 1, points // 2, points // 2 + 1)] * middle
    return _beside([_cut(even, 1, 0, 1), ends[sign < 0], *alone, _reversed(ends[sign > 0])], 1)


def _reversed(x: SSAValue) -> SSAValue:
    return result(ReverseOp(x, axes=[1]))


def _as_product(x: SSAValue, kind: str, points: int) -> Sequence[SSAValue]:
    half = points // 2 + 1
    match kind:
        case "RFFT":
            angles = _angles(points, half, points)
            return [pair(_times(x, np.cos(angles)), _times(x, -np.sin(angles)))]
        case "IRFFT":
            real, imaginary = parts(x)
            # A wave and its mirror image come together, but for the constant one and the fastest one.
            twice = np.where((np.arange(half) * 2) % points == 0, 1.0, 2.0)[:, None] / points
            angles = _angles(half, points, points)
            return [difference(_times(real, twice * np.cos(angles)), _times(imaginary, twice * np.sin(angles)))]
        case _:
            angles, scale = _angles(points, points, points), 1 / points if kind == "IFFT" else 1
            sine = np.sin(angles) * (-scale if kind == "IFFT" else scale)
            return [pair(*_rotated(parts(x), np.cos(angles) * scale, sine))]


def _split(points: int) -> tuple[int, int] | None:
    """Two short factors of a number of points; `None` if it has none, or the library is quicker."""
    if points > MOST_IN_TWO:
        return None
    first = next(each for each in range(math.isqrt(points), 0, -1) if points % each == 0)
    return (first, points // first) if points // first <= MOST_POINTS else None


def _as_two_products(x: SSAValue, kind: str, split: tuple[int, int]) -> Sequence[SSAValue]:
    """The transform of `j = m j1 + j2` points at `k = k1 + n k2` by those of n and of m points.

    Source: J. W. Cooley and J. W. Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965).
    """
    n, m = split
    points, half, is_inverse = n * m, n * m // 2 + 1, kind in ("IFFT", "IRFFT")
    numbers = [x] if kind == "RFFT" else list(parts(x))
    if kind == "IRFFT":
        numbers = [_mirrored(part, points, sign) for part, sign in zip(numbers, (1, -1), strict=True)]
    if len(numbers) == 2 and is_zero(numbers[1]):
        numbers = numbers[:1]
    *outer, _ = static_shape(numbers[0])
    lines = math.prod(outer)
    sign = 1 if is_inverse else -1
    turn = sign * _angles(n, m, points)
    rows = [reshape(part, [lines, n, m]) for part in numbers]
    columns = _real_form(sign * _angles(n, n, n))[:, : n * len(rows)]
    both = result(BatchMatmulOp(_constant(columns, x), _beside(rows, 1)))
    real, imaginary = (_cut(both, 1, begin, begin + n) for begin in (0, n))
    turned = product((real, imaginary), (_constant(np.cos(turn), x), _constant(np.sin(turn), x)))
    kept = m // 2 + 1 if kind == "RFFT" else m
    matrix = _real_form(sign * _angles(kept, m, m)) / (points if is_inverse else 1)
    matrix = matrix[: kept if kind == "IRFFT" else None]
    # A product for each part: what nobody reads is not computed.
    waves = _beside(list(turned), 2)
    values = [
        reshape(result(BatchMatmulOp(_constant(rows, x), waves, transpose_b=True)), [lines, kept * n])
        for rows in np.split(matrix, len(matrix) // kept)
    ]
    if kind == "RFFT":
        values = [_cut(part, 1, 0, half) for part in values]
    shown = [reshape(part, [*outer, shape(part)[-1]]) for part in values]
    return shown if kind == "IRFFT" else [pair(*shown)]


def _real_form(angles: Array) -> Array:
    """What does to real parts above imaginary ones what a matrix of complex numbers of size 1 does."""
    cosine, sine = np.cos(angles), np.sin(angles)
    return np.block([[cosine, -sine], [sine, cosine]])


def _constant(matrix: Array, like: SSAValue) -> SSAValue:
    type = like if not is_complex_type(like.type) else parts(like)[0]
    return constant(np.ascontiguousarray(matrix).astype(dtype(type))).result


def _beside(values: Sequence[SSAValue], axis: int) -> SSAValue:
    return result(ConcatenateOp(*values, axis=axis)) if len(values) > 1 else values[0]


def _cut(x: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
    sizes = static_shape(x)
    if (begin, end) == (0, sizes[axis]):
        return x
    return result(StridedSliceOp(x, begin=[begin], end=[end], axes=[axis], strides=[1]))


def _mirrored(part: SSAValue, points: int, sign: int) -> SSAValue:
    """All points of a transform of real numbers, of the first half; real parts are even, and imaginary ones odd."""
    axis = len(shape(part)) - 1
    rest = result(ReverseOp(_cut(part, axis, 1, points - points // 2), axes=[axis]))
    return _beside([part, rest if sign > 0 else result(NegativeOp(rest))], axis)


def _rotated(x: Parts, cosine: Array, sine: Array) -> Parts:
    real, imaginary = x
    if is_zero(imaginary):
        return _times(real, cosine), _times(real, -sine)
    first = total(_times(real, cosine), _times(imaginary, sine))
    return first, difference(_times(imaginary, cosine), _times(real, sine))


def _times(x: SSAValue, matrix: Array) -> SSAValue:
    """The products of the lines on the last axis with a matrix."""
    *outer, size = static_shape(x)
    if size != len(matrix):
        raise NoFuseFormError("a line of another length than the transform")
    lines = reshape(x, [math.prod(outer), size])
    made = MatmulOp(lines, constant(matrix.astype(dtype(x))).result)
    return reshape(result(made), [*outer, matrix.shape[1]])


FOURIER: Mapping[str, Rule] = {"stablehlo.fft": _fft}
"""Rules by the name of the op."""
