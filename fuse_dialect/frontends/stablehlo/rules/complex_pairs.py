"""Complex numbers as pairs of real ones, between `stablehlo.complex` and the ops that take the parts.

1. What an op makes of numbers that `stablehlo.complex` ops are, is a `stablehlo.complex` op of what it makes of their
   parts. One that nobody needs is erased, so that no complex number is left of a computation that begins and ends
   with real ones.
2. A Fourier transform of one axis is a product with its matrix.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import trigonometry as t
from fuse_dialect.dialect.ops.matmul import MatmulOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.frontends.fuse_values import NoFuseFormError, dtype, reshape, result, shape, static_shape, tensor
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, word

MOST_POINTS = 1024
"""Numbers on the axis of a Fourier transform: its matrix has as many rows."""


def is_pair(value: SSAValue) -> bool:
    """Whether a value is given by its parts."""
    return isinstance(value, OpResult) and value.op.name == "stablehlo.complex"


def is_complex(value: SSAValue) -> bool:
    """Whether the elements are complex numbers."""
    return is_tensor(value.type) and isinstance(value.type.element_type, ComplexType)


def _parts(value: SSAValue) -> tuple[SSAValue, SSAValue]:
    if not isinstance(value, OpResult) or not is_pair(value):
        raise NoFuseFormError("complex numbers")
    real, imaginary = value.op.operands
    return real, imaginary


def _pair(real: SSAValue, imaginary: SSAValue) -> SSAValue:
    type = TensorType(ComplexType(tensor(real).element_type), shape(real))  # pyright: ignore[reportArgumentType]
    return BY_NAME["stablehlo.complex"].create(operands=[real, imaginary], result_types=[type]).results[0]


def _product(x: SSAValue, y: SSAValue) -> SSAValue:
    return result(b.MultiplyOp(x, y))


def _on_parts(cls: type[FuseOp]) -> Rule:
    """An op that does to each part what it does to real numbers."""

    def rule(op: Operation) -> Sequence[SSAValue]:
        reals, imaginaries = zip(*map(_parts, op.operands), strict=True)
        return [_pair(result(cls(*reals)), result(cls(*imaginaries)))]

    return rule


def _multiply(op: Operation) -> Sequence[SSAValue]:
    (a, b_), (c, d) = map(_parts, op.operands)
    real = result(b.SubtractOp(_product(a, c), _product(b_, d)))
    return [_pair(real, result(b.AddOp(_product(a, d), _product(b_, c))))]


def _exponential(op: Operation) -> Sequence[SSAValue]:
    real, imaginary = _parts(op.operands[0])
    size = result(e.ExpOp(real))
    return [_pair(_product(size, result(t.CosOp(imaginary))), _product(size, result(t.SinOp(imaginary))))]


def _sine(op: Operation) -> Sequence[SSAValue]:
    """`sin(x + iy) = sin(x) cosh(y) + i cos(x) sinh(y)`."""
    x, y = _parts(op.operands[0])
    real = _product(result(t.SinOp(x)), result(t.CoshOp(y)))
    return [_pair(real, _product(result(t.CosOp(x)), result(t.SinhOp(y))))]


def _cosine(op: Operation) -> Sequence[SSAValue]:
    """`cos(x + iy) = cos(x) cosh(y) - i sin(x) sinh(y)`."""
    x, y = _parts(op.operands[0])
    real = _product(result(t.CosOp(x)), result(t.CoshOp(y)))
    return [_pair(real, result(e.NegativeOp(_product(result(t.SinOp(x)), result(t.SinhOp(y))))))]


def _conjugate(op: Operation) -> Sequence[SSAValue]:
    real, imaginary = _parts(op.operands[0])
    return [_pair(real, result(e.NegativeOp(imaginary)))]


def _part(index: int) -> Rule:
    return lambda op: [_parts(op.operands[0])[index]]


PAIRS: Mapping[str, Rule] = {
    "stablehlo.add": _on_parts(b.AddOp),
    "stablehlo.cosine": _cosine,
    "stablehlo.exponential": _exponential,
    "stablehlo.imag": _part(1),
    "stablehlo.multiply": _multiply,
    "stablehlo.negate": _on_parts(e.NegativeOp),
    "stablehlo.real": _part(0),
    "stablehlo.sine": _sine,
    "stablehlo.subtract": _on_parts(b.SubtractOp),
    "chlo.conj": _conjugate,
}
"""Rules of ops on pairs, by the name of the op."""


def _angles(rows: int, columns: int, points: int) -> Array:
    """The angle of each row's point in each column's wave; products are reduced before they lose bits."""
    return (np.outer(np.arange(rows), np.arange(columns)) % points) * (2 * np.pi / points)


def _fft(op: Operation) -> Sequence[SSAValue]:
    (x,), kind, lengths = op.operands, word(op, "fft_type"), ints(op, "fft_length")
    if len(lengths) != 1 or not 0 < lengths[0] <= MOST_POINTS:
        raise NoFuseFormError("a transform of several axes, or of a long one")
    (points,) = lengths
    half = points // 2 + 1
    match kind:
        case "RFFT":
            angles = _angles(points, half, points)
            return [_pair(_times(x, np.cos(angles)), _times(x, -np.sin(angles)))]
        case "IRFFT":
            real, imaginary = _parts(x)
            # A wave and its mirror image come together, but for the constant one and the fastest one.
            twice = np.where((np.arange(half) * 2) % points == 0, 1.0, 2.0)[:, None] / points
            angles = _angles(half, points, points)
            values = (_times(real, twice * np.cos(angles)), _times(imaginary, twice * np.sin(angles)))
            return [result(b.SubtractOp(*values))]
        case _:
            real, imaginary = _parts(x)
            angles = _angles(points, points, points)
            is_inverse = kind == "IFFT"
            cosine = np.cos(angles) / (points if is_inverse else 1)
            sine = np.sin(angles) / (points if is_inverse else 1) * (-1 if is_inverse else 1)
            first = result(b.AddOp(_times(real, cosine), _times(imaginary, sine)))
            return [_pair(first, result(b.SubtractOp(_times(imaginary, cosine), _times(real, sine))))]


def _times(x: SSAValue, matrix: Array) -> SSAValue:
    """The products of the lines on the last axis with a matrix."""
    *outer, size = static_shape(x)
    if size != len(matrix):
        raise NoFuseFormError("a line of another length than the transform")
    lines = reshape(x, [int(np.prod(outer)), size])
    made = MatmulOp(lines, constant(matrix.astype(dtype(x))).result)
    return reshape(result(made), [*outer, matrix.shape[1]])


FOURIER: Mapping[str, Rule] = {"stablehlo.fft": _fft}
"""Rules by the name of the op."""
