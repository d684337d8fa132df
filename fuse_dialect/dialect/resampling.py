"""Where the samples of a resized image come from: coordinates of result pixels in the operand.

Source: ONNX Resize (opset 19), attributes `coordinate_transformation_mode` and `nearest_mode`.
"""

from math import gcd

import numpy as np
import numpy.typing as npt
from xdsl.dialects import math
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.reals import Real

COORDINATE_MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_crop_and_resize",
)
"""How a pixel of the result is mapped to the operand."""
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""How a coordinate between two pixels becomes one of them; the first two differ on halves alone."""


_STEPS = 64
"""Greatest denominator of steps that are looked for."""


def coordinates(size: int, count: int, scale: float, mode: str) -> npt.NDArray[np.float64]:
    """The coordinate in an axis of `size` pixels of each of `count` pixels of the result.

    Args:
        size: Pixels of the operand.
        count: Pixels of the result.
        scale: Pixels of the result for one of the operand; `count` may be `size * scale` rounded.
        mode: One of `COORDINATE_MODES`.
    """
    pixels = np.arange(count, dtype=np.float64)
    length = size * scale
    match mode:
        case "align_corners":
            return np.zeros(count) if length == 1 else pixels * (size - 1) / (length - 1)
        case "asymmetric":
            return pixels / scale
        case "pytorch_half_pixel" if length <= 1:
            return np.zeros(count)
        case "half_pixel_symmetric":
            # What is added keeps the centres together when `count` pixels are taken in place of `length`.
            return size / 2 * (1 - count / length) + (pixels + 0.5) / scale - 0.5
        case _:
            return (pixels + 0.5) / scale - 0.5


def cropped_coordinates(size: int, count: int, start: float, end: float) -> npt.NDArray[np.float64]:
    """The coordinates of `count` pixels that are spread over the part from `start` to `end` of `size` pixels.

    Args:
        size: Pixels of the operand.
        count: Pixels of the result.
        start: Where the part begins; 0 is the first pixel, 1 the last.
        end: Where it ends.
    """
    if count == 1:
        return np.array([(start + end) * (size - 1) / 2])
    return start * (size - 1) + np.arange(count) * (end - start) * (size - 1) / (count - 1)


def coordinate_code(pixel: SSAValue, size: Real, count: Real, scale: Real, mode: str) -> SSAValue:
    """`coordinates` for one `pixel` of `count`, as scalar code on f64."""
    at, length, zero = Real(pixel), size * scale, Real(0.0)
    match mode:
        case "align_corners":
            return length.choose("equal", 1, zero, lambda: at * (size - 1) / (length - 1)).code
        case "asymmetric":
            return (at / scale).code
        case _:
            pass

    def centred() -> Real:
        return (at + 0.5) / scale - 0.5

    match mode:
        case "pytorch_half_pixel":
            return length.choose("less_equal", 1, zero, centred).code
        case "half_pixel_symmetric":
            return (size / 2 * (Real(1.0) - count / length) + centred()).code
        case _:
            return centred().code


def cropped_code(pixel: SSAValue, size: Real, count: Real, start: float, end: float) -> SSAValue:
    """`cropped_coordinates` for one `pixel` of `count`, as scalar code on f64."""
    at, last = Real(pixel), size - 1
    spread = count.choose(
        "equal", 1, last * (start + end) / 2, lambda: last * start + at * (end - start) * last / (count - 1)
    )
    return spread.code


def nearest_places(places: npt.NDArray[np.float64], size: int, mode: str) -> npt.NDArray[np.int64]:
    """The pixels among `size` that are nearest to `places`; `mode` is one of `NEAREST_MODES`."""
    match mode:
        case "round_prefer_floor":
            index = np.ceil(places - 0.5)
        case "round_prefer_ceil":
            index = np.floor(places + 0.5)
        case "floor":
            index = np.floor(places)
        case _:
            index = np.ceil(places)
    return np.clip(index, 0, size - 1).astype(np.int64)


def nearest_code(place: SSAValue, last: SSAValue, mode: str) -> SSAValue:
    """`nearest_places` for one place among the pixels up to `last`, as scalar code."""
    half = scalars.constant(0.5, f64)
    match mode:
        case "round_prefer_floor":
            index = scalars.apply(math.CeilOp, scalars.subtract(place, half))
        case "round_prefer_ceil":
            index = scalars.apply(math.FloorOp, scalars.add(place, half))
        case "floor":
            index = scalars.apply(math.FloorOp, place)
        case _:
            index = scalars.apply(math.CeilOp, place)
    return clipped(index, last)


def clipped(place: SSAValue, last: SSAValue) -> SSAValue:
    """A whole number in f64 as an index of one of the pixels up to `last` (i64), the nearest there is."""
    index = scalars.convert(place, i64, unsigned_source=False, unsigned_target=False)
    return scalars.minimum(scalars.maximum(index, scalars.constant(0, i64)), last)


def as_steps(places: npt.NDArray[np.int64], size: int) -> tuple[int, int, int] | None:
    """Numbers `a`, `b` and `c` for which place `i` is `floor((a * i + b) / c)`, if there are small ones.

    There are, for example, where the size of the result is a multiple of the operand's: each pixel is repeated.
    """
    common = gcd(size, len(places))
    a, c = size // common, len(places) // common
    pixels = np.arange(len(places))
    fits = (b for b in range(-c, c + 1) if np.array_equal((a * pixels + b) // c, places))
    b = next(fits, None) if c <= _STEPS else None
    return None if b is None else (a, b, c)


def nearest(x: Array, axis: int, places: npt.NDArray[np.float64], mode: str) -> Array:
    """The pixels of `x` along `axis` that are nearest to `places`; `mode` is one of `NEAREST_MODES`."""
    return x.take(nearest_places(places, x.shape[axis], mode), axis=axis)


def linear(x: Array, axis: int, places: npt.NDArray[np.float64]) -> Array:
    """Values at `places` along `axis`, on the lines between neighbouring pixels; the outermost pixels go on outside."""
    left = np.floor(places)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    weight = (places - left).astype(x.dtype).reshape(shape)
    index = left.astype(np.int64)
    return x.take(index, axis=axis, mode="clip") * (1 - weight) + x.take(index + 1, axis=axis, mode="clip") * weight


def _triangle(distance: npt.NDArray[np.float64], alpha: float) -> npt.NDArray[np.float64]:
    return np.maximum(0, 1 - np.abs(distance))


def _cubic(distance: npt.NDArray[np.float64], alpha: float) -> npt.NDArray[np.float64]:
    """Keys' convolution kernel, https://doi.org/10.1109/TASSP.1981.1163711."""
    x = np.abs(distance)
    near = ((alpha + 2) * x - (alpha + 3)) * x * x + 1
    far = ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def share_code(distance: SSAValue, method: str, alpha: float) -> SSAValue:
    """The weight of a pixel by its distance, which is not negative, as scalar code on f64."""

    def number(value: float) -> SSAValue:
        return scalars.constant(value, f64)

    def plus(value: SSAValue, addend: float) -> SSAValue:
        return scalars.add(value, number(addend))

    zero, x = number(0), distance
    if method == "linear":
        return scalars.maximum(zero, scalars.subtract(number(1), x))
    near = plus(scalars.multiply(scalars.multiply(plus(scalars.multiply(number(alpha + 2), x), -(alpha + 3)), x), x), 1)
    far = plus(scalars.multiply(plus(scalars.multiply(number(alpha), x), -5 * alpha), x), 8 * alpha)
    far = plus(scalars.multiply(far, x), -4 * alpha)
    beyond = scalars.select(scalars.compare("less", x, number(2)), far, zero)
    return scalars.select(scalars.compare("less_equal", x, number(1)), near, beyond)


KERNELS = {"linear": (1, _triangle), "cubic": (2, _cubic)}
"""Reach and weights of a pixel by its distance, by method."""


def weighted(
    x: Array,
    axis: int,
    places: npt.NDArray[np.float64],
    method: str,
    *,
    alpha: float = -0.75,
    shrink: float = 1.0,
    exclude_outside: bool = False,
    only_covered: bool = False,
) -> Array:
    """Values at `places` along `axis`: sums of the pixels around, weighted by a kernel of their distance.

    Args:
        x: Floating-point numbers.
        axis: The axis of the pixels; beyond its ends the outermost pixels go on.
        places: Coordinates.
        method: One of `KERNELS`.
        alpha: The slope of the cubic kernel at distance 1.
        shrink: Pixels of the result for one of the operand, if that is below 1 and pixels in between are to count.
        exclude_outside: Whether what lies beyond the ends counts for nothing, and the rest for more.
        only_covered: Whether a pixel with a share of 0 adds nothing even if it is infinite or nan.

    Complexity: O(places * reach / shrink) for each line along the axis.
    """
    size = x.shape[axis]
    pixels, shares = _shares_of(places, size, method, alpha, shrink, exclude_outside=exclude_outside)
    shares = shares.astype(x.dtype)
    index = np.clip(pixels, 0, size - 1).astype(np.int64)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    result = np.zeros([len(places) if i == axis else size for i, size in enumerate(x.shape)], x.dtype)
    for tap in np.flatnonzero(shares.any(axis=0)):
        share = shares[:, tap].reshape(shape)
        taken = x.take(index[:, tap], axis=axis)
        result += np.where(share == 0, x.dtype.type(0), taken) * share if only_covered else taken * share
    return result


def _shares_of(
    places: npt.NDArray[np.float64], size: int, method: str, alpha: float, shrink: float, *, exclude_outside: bool
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The pixels around each of the places, as rows, and what each of them counts."""
    reach, kernel = KERNELS[method]
    span = int(np.ceil(reach / shrink))
    pixels: npt.NDArray[np.float64] = np.floor(places)[:, None] + np.arange(-span, span + 1.0)
    shares = kernel((pixels - places[:, None]) * shrink, alpha)
    if exclude_outside:
        shares = np.where((pixels >= 0) & (pixels < size), shares, 0)
    return pixels, shares / shares.sum(axis=1, keepdims=True)


def offsets_of(
    places: npt.NDArray[np.float64], size: int, method: str, alpha: float, *, exclude_outside: bool
) -> list[int]:
    """Which pixels count for any of the places, as distances from the one before the place."""
    with np.errstate(invalid="ignore"):
        _, shares = _shares_of(places, size, method, alpha, 1.0, exclude_outside=exclude_outside)
    # A place without a pixel inside has no shares at all, nan for each: those of the other places give nan there, too.
    found = [int(tap) - KERNELS[method][0] for tap in np.flatnonzero(np.nan_to_num(shares).any(axis=0))]
    return found or [0]
