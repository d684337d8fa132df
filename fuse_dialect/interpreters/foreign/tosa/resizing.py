"""TOSA: images of another size."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings
from fuse_dialect.interpreters.foreign.tosa.attributes import given_integers, is_integer, keyword, widened


def _resize(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """`[N, H, W, C]` at places that scale, offset and border say; i8 and i16 in fractions of the scale's numerators."""
    image = operands[0]
    scale, offset, border = (
        given_integers(op, operands, place, name) for place, name in ((1, "scale"), (2, "offset"), (3, "border"))
    )
    if min(scale) < 1 or len(scale) != 4:
        raise ValueError(f"expects four scales of at least 1, got {scale}")
    axes = [
        _places(image.shape[axis + 1], scale[2 * axis], scale[2 * axis + 1], offset[axis], border[axis])
        for axis in range(2)
    ]
    shape = [image.shape[0], len(axes[0][0]), len(axes[1][0]), image.shape[3]]
    around.check_room(op, shape, image.dtype)
    wide = widened(image)
    (top, bottom, down), (left, right, across) = axes
    if keyword(op, "mode") == "NEAREST_NEIGHBOR":
        rows, columns = (
            np.where(2 * fraction >= unit, high, low)
            for (low, high, fraction), unit in zip(axes, (scale[0], scale[2]), strict=True)
        )
        return (wide[:, rows][:, :, columns],)
    down, across = down[None, :, None, None], across[None, None, :, None]
    high, wide_unit = scale[0], scale[2]
    if not is_integer(image):
        down, across = (down / high).astype(wide.dtype), (across / wide_unit).astype(wide.dtype)
        high = wide_unit = 1
    upper = wide[:, top][:, :, left] * (wide_unit - across) + wide[:, top][:, :, right] * across
    lower = wide[:, bottom][:, :, left] * (wide_unit - across) + wide[:, bottom][:, :, right] * across
    return (upper * (high - down) + lower * down,)


def _places(size: int, unit: int, step: int, offset: int, border: int) -> tuple[Array, Array, Array]:
    """For each pixel of the result the pixels around its place, and how far it is from the first, in units."""
    pixels = ((size - 1) * unit - offset + border) // step + 1
    place = np.arange(max(pixels, 0)) * step + offset
    first = place // unit
    return np.maximum(first, 0), np.minimum(first + 1, size - 1), place - first * unit


ROWS: Rows = {"resize": _resize}
"""Meanings by the op's name without its dialect."""
