"""Values of images between their pixels, and beyond their borders, at places that are data.

Arrays are [N, C, *spatial]; places are one array [N, *out] of coordinates for each spatial axis, in pixels.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from fuse_dialect.dialect.op import Array

PADDING_MODES = ("zeros", "border", "reflection")
"""What lies beyond the borders: zeros, the outermost pixel, or the image mirrored."""
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
    taps = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]
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
