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
from fuse_dialect.dialect.ops.fourier import FftOp, IrfftOp, RfftOp
from fuse_dialect.dialect.ops.matmul import MatmulOp
from fuse_dialect.frontends.fuse_values import NoFuseFormError, dtype, reshape, result, shape, static_shape
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, word
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import Parts, difference, is_zero, pair, parts, total

MOST_POINTS = 64
"""Numbers on the axis of a transform that is a product: its matrix has as many rows."""


def _angles(rows: int, columns: int, points: int) -> Array:
    """The angle of each row's point in each column's wave; products are reduced before they lose bits."""
    return (np.outer(np.arange(rows), np.arange(columns)) % points) * (2 * np.pi / points)


def _fft(op: Operation) -> Sequence[SSAValue]:
    (x,), kind, lengths = op.operands, word(op, "fft_type"), ints(op, "fft_length")
    real = op.results[0] if kind == "IRFFT" else x
    if not lengths or min(lengths) < 1 or len(lengths) > len(shape(x)) or shape(real)[-len(lengths) :] != lengths:
        raise NoFuseFormError("a transform of other sizes than its operand or result has")
    if len(lengths) == 1 and lengths[0] <= MOST_POINTS:
        return _as_product(x, kind, lengths[0])
    axes = list(range(-len(lengths), 0))
    match kind:
        case "RFFT":
            return [pair(*RfftOp(x, axes=axes).results)]
        case "IRFFT":
            return [result(IrfftOp(*parts(x), axes=axes, length=lengths[-1]))]
        case _:
            return [pair(*FftOp(*parts(x), axes=axes, inverse=kind == "IFFT").results)]


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
