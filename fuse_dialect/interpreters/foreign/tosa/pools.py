"""TOSA: pools."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings
from fuse_dialect.interpreters.foreign.tosa.attributes import (
    clipped,
    given_integers,
    is_integer,
    keyword,
    widened,
    zero_point,
)
from fuse_dialect.interpreters.foreign.tosa.scaling import scaled
from fuse_dialect.interpreters.foreign.tosa.windows import padded, pixels_of, taps


def _window(
    op: Operation, image: Array, operands: Sequence[Array]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Kernel, stride, pad and the size of the result; those of a pool that is adaptive are operands."""
    kernel, stride, pad = (
        given_integers(op, operands, place, name) for place, name in enumerate(("kernel", "stride", "pad"))
    )
    out = [
        pixels_of(size, window, step, 1, low, high)
        for size, window, step, low, high in zip(image.shape[1:3], kernel, stride, pad[::2], pad[1::2], strict=True)
    ]
    if min(out) < 1:
        raise ValueError(f"expects a kernel of at most the padded image, got {kernel}")
    return kernel, stride, pad, out


def _max_pool(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    image = operands[0]
    wide = widened(image)
    kernel, stride, pad, out = _window(op, image, operands[1:])
    least = np.iinfo(np.int64).min if is_integer(image) else -np.inf
    image = padded(op, wide, pad, least, around)
    ignores = keyword(op, "nan_mode") == "IGNORE"
    combine = np.fmax if ignores else np.maximum
    return (reduce(combine, (read for _, read in taps(image, kernel, stride, [1, 1], out))),)


def _avg_pool(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The mean of the pixels in the window that are in the image; of integers by a multiplier and a shift."""
    image, rest = operands[0], operands[1:]
    points, sizes = (rest[:2], rest[2:]) if len(rest) != 3 else ((), rest)
    own = zero_point(op, points, 0, "input_zp")
    result_zero = zero_point(op, points, 1, "output_zp")
    kernel, stride, pad, out = _window(op, image, sizes)
    wide = widened(image) - (int(own) if is_integer(image) else 0)
    full = padded(op, wide, pad, 0, around)
    inside = padded(op, np.ones((1, *image.shape[1:3], 1), np.int64), pad, 0, around)
    total = sum(read for _, read in taps(full, kernel, stride, [1, 1], out))
    count = np.asarray(sum(read for _, read in taps(inside, kernel, stride, [1, 1], out)))
    if not is_integer(image):
        return (total / count.astype(wide.dtype),)
    multiplier, shift = _reciprocal(np.maximum(count, 1))
    result = scaled(np.asarray(total), multiplier, shift, double_round=False) + int(result_zero)
    return (clipped(result, image.dtype),)


def _reciprocal(count: Array) -> tuple[Array, Array]:
    """Multiplier and shift that divide by a number.

    Source: TOSA specification, `reciprocal_scale`.
    """
    bits = np.array([int(number - 1).bit_length() for number in count.reshape(-1)], np.int64).reshape(count.shape)
    return (np.left_shift(np.int64((1 << 30) + 1), bits)) // count, 30 + bits


ROWS: Rows = {
    "avg_pool2d": _avg_pool,
    "avg_pool2d_adaptive": _avg_pool,
    "max_pool2d": _max_pool,
    "max_pool2d_adaptive": _max_pool,
}
"""Meanings by the op's name without its dialect."""
