"""TOSA: products of matrices, convolutions, transforms. Integers are multiplied less their zero points, in 64 bits."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, integers_of, is_set
from fuse_dialect.interpreters.foreign.tosa.attributes import widened, zero_point
from fuse_dialect.interpreters.foreign.tosa.windows import padded, pixels_of, taps


def _pair(op: Operation, operands: Sequence[Array], points: int, names: tuple[str, str]) -> tuple[Array, Array]:
    """The first two operands, wide, less their zero points, which begin at a place among the operands."""
    lhs, rhs = widened(operands[0]), widened(operands[1])
    own, other = zero_point(op, operands, points, names[0]), zero_point(op, operands, points + 1, names[1])
    # Zero points of floats are 0, and the sign of a zero stays.
    return (lhs - int(own), rhs - int(other)) if lhs.dtype.kind == "i" else (lhs, rhs)


def _matmul(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    lhs, rhs = _pair(op, operands, 2, ("a_zp", "b_zp"))
    return (lhs @ rhs,)


def _matmul_t(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    lhs, rhs = _pair(op, operands, 2, ("a_zp", "b_zp"))
    return (lhs @ rhs.swapaxes(-1, -2),)


def _fully_connected(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    lhs, rhs = _pair(op, operands, 3, ("input_zp", "weight_zp"))
    return (lhs @ rhs.T + widened(operands[2]),)


def _out(
    image: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], pad: Sequence[int]
) -> list[int]:
    sizes = zip(image.shape[1:-1], kernel, stride, dilation, pad[::2], pad[1::2], strict=True)
    out = [pixels_of(*each) for each in sizes]
    if min(out) < 1:
        raise ValueError(f"expects a kernel of at most the padded image, got {list(kernel)}")
    return out


def _convolution(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`[N, spatial axes..., C]` by `[F, spatial axes..., C]`."""
    image, weight = _pair(op, operands, 3, ("input_zp", "weight_zp"))
    stride, dilation, pad = (integers_of(op, name) for name in ("stride", "dilation", "pad"))
    kernel = weight.shape[1:-1]
    out = _out(image, kernel, stride, dilation, pad)
    total = np.zeros([image.shape[0], *out, weight.shape[0]], image.dtype)
    for tap, read in taps(padded(op, image, pad, 0, around), kernel, stride, dilation, out):
        total += read @ weight[(slice(None), *tap)].T
    return (total + widened(operands[2]),)


def _depthwise(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`[N, H, W, C]` by `[H, W, C, M]`: M filters for each channel."""
    image, weight = _pair(op, operands, 3, ("input_zp", "weight_zp"))
    stride, dilation, pad = (integers_of(op, name) for name in ("stride", "dilation", "pad"))
    kernel = weight.shape[:2]
    out = _out(image, kernel, stride, dilation, pad)
    channels, filters = weight.shape[2:]
    total = np.zeros([image.shape[0], *out, channels, filters], image.dtype)
    for tap, read in taps(padded(op, image, pad, 0, around), kernel, stride, dilation, out):
        total += read[..., None] * weight[tap]
    return (total.reshape([image.shape[0], *out, channels * filters]) + widened(operands[2]),)


def _transposed(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`[N, H, W, C]` by `[F, H, W, C]`: each pixel adds a kernel to the result, `stride` apart."""
    image, weight = _pair(op, operands, 3, ("input_zp", "weight_zp"))
    (down, right), pad = integers_of(op, "stride"), integers_of(op, "out_pad")
    batch, height, width, _ = image.shape
    filters, rows, columns, _ = weight.shape
    whole = [batch, (height - 1) * down + rows, (width - 1) * right + columns, filters]
    around.check_room(op, whole, image.dtype)
    total = np.zeros(whole, image.dtype)
    for row, column in product(range(rows), range(columns)):
        place = total[:, row : row + (height - 1) * down + 1 : down, column : column + (width - 1) * right + 1 : right]
        place += image @ weight[:, row, column].T
    top, bottom, left, at_right = pad
    result = _cut(_cut(total, 1, top, bottom), 2, left, at_right)
    return (result + widened(operands[2]),)


def _cut(array: Array, axis: int, low: int, high: int) -> Array:
    """The array with zeros at its ends, or with less of it where a width is negative."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (max(low, 0), max(high, 0))
    size = array.shape[axis]
    kept = [slice(None)] * array.ndim
    kept[axis] = slice(max(-low, 0), size - max(-high, 0))
    return np.pad(array[tuple(kept)], widths)


def _fft(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    given = operands[0].astype(np.float64) + 1j * operands[1].astype(np.float64)
    # The inverse of TOSA is not divided by the number of elements.
    result = np.fft.ifft2(given, norm="forward") if is_set(op, "inverse") else np.fft.fft2(given)
    return result.real, result.imag


def _rfft(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    result = np.fft.rfft2(operands[0].astype(np.float64))
    return result.real, result.imag


ROWS: Rows = {
    "conv2d": _convolution,
    "conv3d": _convolution,
    "depthwise_conv2d": _depthwise,
    "fft2d": _fft,
    "fully_connected": _fully_connected,
    "matmul": _matmul,
    "matmul_t": _matmul_t,
    "rfft2d": _rfft,
    "transpose_conv2d": _transposed,
}
"""Meanings by the op's name without its dialect."""
