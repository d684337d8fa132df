"""Values of images between their pixels, and beyond their borders, at places that are data.

Arrays are [N, C, *spatial]; places are one array [N, *out] of coordinates for each spatial axis, in pixels. The same as
scalar code, for one place: functions whose names end in `code`.
"""

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.op import Array

PADDING_MODES = ("zeros", "border", "reflection")
"""What lies beyond the borders: zeros, the outermost pixel, or the image mirrored."""
TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
"""Distances of the pixels that count from the one before a place, by mode."""
_CUBIC_ALPHA = -0.75


def pixels_of(grid: Array, size: int, *, align_corners: bool) -> Array:
    """Pixel coordinates of numbers in [-1, 1]: from centre to centre of the outermost pixels, or over their edges."""
    half = grid.dtype.type(0.5)
    return (grid + 1) * half * (size - 1) if align_corners else ((grid + 1) * size - 1) * half


def stays_outside(mode: str, padding: str) -> bool:
    """Whether a place beyond the borders stays there, and only the pixels around it are brought back.

    The cubic curve through copies of the outermost pixel is not constant at once: it swings out until two pixels behind
    it, and a place that is brought back to the border would lose that. Source: onnxruntime 1.32, GridSample.
    """
    return mode == "cubic" and padding == "border"


def inside(places: Array, size: int, padding: str, *, align_corners: bool) -> Array:
    """Places beyond the borders brought back, as `padding` says; those of `zeros` stay."""
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    if padding == "border":
        beyond = (places < low) | (places > high)
        return np.where(beyond, np.clip(places, 0, size - 1), places)
    return _reflected(places, low, high) if padding == "reflection" else places


def _reflected(places: Array, low: float, high: float) -> Array:
    """Places mirrored at the borders until they lie between them."""
    span = high - low
    if not span:
        return np.full_like(places, low)
    way = np.abs(places - low) % (2 * span)
    mirrored = low + np.where(way > span, 2 * span - way, way)
    return np.where((places < low) | (places > high), mirrored, places).astype(places.dtype)


def sample(x: Array, places: Sequence[Array], mode: str, padding: str, *, align_corners: bool) -> Array:
    """Values [N, C, *out] of an image at places that are brought inside already, unless they stay outside.

    Args:
        x: The image.
        places: Coordinates along each spatial axis.
        mode: `nearest` for whole numbers, `linear` or `cubic`.
        padding: One of `PADDING_MODES`.
        align_corners: Where the borders are for `reflection`: the centres of the outermost pixels, or their edges.
    """
    taps = TAPS[mode]
    first = [np.floor(place) for place in places]
    shares = [_shares(place - floor, mode) for place, floor in zip(places, first, strict=True)]
    pixels = np.moveaxis(x, 1, -1)
    sample_index = np.arange(len(x)).reshape(-1, *[1] * (places[0].ndim - 1))
    result = np.zeros((*places[0].shape, x.shape[1]), x.dtype)
    for offsets in product(range(len(taps)), repeat=len(places)):
        index: list[Array] = []
        weight, known = np.ones((), x.dtype), np.ones((), np.bool_)
        for axis, offset in enumerate(offsets):
            at, size = first[axis] + taps[offset], x.shape[2 + axis]
            known = known & ((at >= 0) & (at < size) if padding == "zeros" else np.isfinite(at))
            at = inside(at, size, padding, align_corners=align_corners)
            index.append(np.clip(np.nan_to_num(at), 0, size - 1).astype(np.int64))
            weight = weight * shares[axis][offset]
        value = pixels[(sample_index, *index)]
        result += np.where(known[..., None], value * np.asarray(weight)[..., None], 0)
    return np.moveaxis(result, -1, 1)


def _shares(t: Array, mode: str) -> Sequence[Array]:
    """The weight of each tap, `t` behind the pixel before the place."""
    if mode == "nearest":
        return (np.ones_like(t),)
    if mode == "linear":
        return (1 - t, t)
    a, u = _CUBIC_ALPHA, 1 - t
    return (_far(t + 1, a), _near(t, a), _near(u, a), _far(u + 1, a))


def _near(t: Array, a: float) -> Array:
    return ((a + 2) * t - (a + 3)) * t * t + 1


def _far(t: Array, a: float) -> Array:
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


Extent: TypeAlias = int | SSAValue
"""A size in code: a number, or one of the type of coordinates."""


def _number(value: float, like: SSAValue) -> SSAValue:
    return scalars.constant(value, like.type)


def size_code(size: Extent, like: SSAValue, *, factor: int = 1, plus: float = 0) -> SSAValue:
    """A multiple of a size, and a number more."""
    if isinstance(size, int):
        return _number(size * factor + plus, like)
    scaled = size if factor == 1 else scalars.multiply(size, _number(factor, like))
    return scalars.add(scaled, _number(plus, like)) if plus else scaled


def pixel_code(grid: SSAValue, size: Extent, *, align_corners: bool) -> SSAValue:
    """`pixels_of` for one number."""
    one, half = _number(1, grid), _number(0.5, grid)
    moved = scalars.add(grid, one)
    if align_corners:
        return scalars.multiply(scalars.multiply(moved, half), size_code(size, grid, plus=-1))
    return scalars.multiply(scalars.subtract(scalars.multiply(moved, size_code(size, grid)), one), half)


def inside_code(place: SSAValue, size: Extent, padding: str, *, align_corners: bool) -> SSAValue:
    """`inside` for one place."""
    low, less = (0.0, -1.0) if align_corners else (-0.5, 0.0)  # what lies between them is the size and `less`
    if padding == "zeros":
        return place
    is_below = scalars.compare("less", place, _number(low, place))
    beyond = scalars.apply(
        arith.OrIOp, is_below, scalars.compare("greater", place, size_code(size, place, plus=low + less))
    )
    if padding == "border":
        return scalars.select(beyond, _clipped(place, size), place)
    if isinstance(size, int) and not size + less:
        return _number(low, place)
    around = scalars.apply(math_dialect.AbsFOp, scalars.subtract(place, _number(low, place)))
    way = scalars.apply(scalars.RemFOp, around, size_code(size, place, factor=2, plus=2 * less))
    is_back = scalars.compare("greater", way, size_code(size, place, plus=less))
    back = scalars.select(is_back, scalars.subtract(size_code(size, place, factor=2, plus=2 * less), way), way)
    mirrored = scalars.select(beyond, scalars.add(_number(low, place), back), place)
    if isinstance(size, int) or not align_corners:
        return mirrored
    # Between the centres of one pixel lies nothing to be mirrored in.
    is_one = scalars.compare("equal", size, _number(1, place))
    return scalars.select(is_one, _number(low, place), mirrored)


def _clipped(place: SSAValue, size: Extent) -> SSAValue:
    return scalars.minimum(scalars.maximum(place, _number(0, place)), size_code(size, place, plus=-1))


def tap_code(place: SSAValue, offset: int, size: Extent, padding: str, *, align_corners: bool) -> SSAValue:
    """The index of a pixel around a place that is brought inside already, as i32; -1 where it counts for nothing."""
    first = scalars.apply(math_dialect.FloorOp, place)
    at = scalars.add(first, _number(offset, place)) if offset else first
    if padding == "zeros":
        is_low = scalars.compare("greater_equal", at, _number(0, at))
        known = scalars.apply(arith.AndIOp, is_low, scalars.compare("less", at, size_code(size, at)))
    else:
        # What is subtracted from itself is 0, and nan where it is infinite or nan.
        known = scalars.compare("equal", scalars.subtract(at, at), _number(0, at))
    safe = scalars.select(known, at, _number(0, at))
    near = _clipped(inside_code(safe, size, padding, align_corners=align_corners), size)
    index = scalars.convert(near, i32, unsigned_source=False, unsigned_target=False)
    return scalars.select(known, index, scalars.constant(-1, i32))


def share_code(place: SSAValue, number: int, mode: str) -> SSAValue:
    """The weight of the tap with this number, of a place that is brought inside already."""
    t = scalars.subtract(place, scalars.apply(math_dialect.FloorOp, place))
    if mode == "nearest":
        return _number(1, place)
    rest = scalars.subtract(_number(1, place), t)
    if mode == "linear":
        return t if number else rest
    a = _CUBIC_ALPHA
    match number:
        case 0:
            return _far_code(scalars.add(t, _number(1, t)), a)
        case 1:
            return _near_code(t, a)
        case 2:
            return _near_code(rest, a)
        case _:
            return _far_code(scalars.add(rest, _number(1, t)), a)


def _near_code(t: SSAValue, a: float) -> SSAValue:
    inner = scalars.subtract(scalars.multiply(_number(a + 2, t), t), _number(a + 3, t))
    return scalars.add(scalars.multiply(scalars.multiply(inner, t), t), _number(1, t))


def _far_code(t: SSAValue, a: float) -> SSAValue:
    inner = scalars.subtract(scalars.multiply(_number(a, t), t), _number(5 * a, t))
    inner = scalars.add(scalars.multiply(inner, t), _number(8 * a, t))
    return scalars.subtract(scalars.multiply(inner, t), _number(4 * a, t))
