"""Where the samples of a resized image come from: coordinates of result pixels in the operand.

Source: ONNX Resize (opset 19), attributes `coordinate_transformation_mode` and `nearest_mode`.
"""

import numpy as np
import numpy.typing as npt

from fuse_dialect.dialect.op import Array

COORDINATE_MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
"""How a pixel of the result is mapped to the operand."""
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""How a coordinate between two pixels becomes one of them; the first two differ on halves alone."""


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
        case _:
            return (pixels + 0.5) / scale - 0.5


def nearest(x: Array, axis: int, places: npt.NDArray[np.float64], mode: str) -> Array:
    """The pixels of `x` along `axis` that are nearest to `places`; `mode` is one of `NEAREST_MODES`."""
    match mode:
        case "round_prefer_floor":
            index = np.ceil(places - 0.5)
        case "round_prefer_ceil":
            index = np.floor(places + 0.5)
        case "floor":
            index = np.floor(places)
        case _:
            index = np.ceil(places)
    return x.take(index.astype(np.int64), axis=axis, mode="clip")


def linear(x: Array, axis: int, places: npt.NDArray[np.float64]) -> Array:
    """Values at `places` along `axis`, on the lines between neighbouring pixels; the outermost pixels go on outside."""
    left = np.floor(places)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    weight = (places - left).astype(x.dtype).reshape(shape)
    index = left.astype(np.int64)
    return x.take(index, axis=axis, mode="clip") * (1 - weight) + x.take(index + 1, axis=axis, mode="clip") * weight
