"""Layers for NumPy that are more than one call. Any float type; images are NCHW."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def batch_norm(x: Array, scale: Array, shift: Array, mean: Array, variance: Array, epsilon: float) -> Array:
    """Normalise every channel by given statistics; two passes over the image."""
    factor = scale / np.sqrt(variance + epsilon)
    return x * factor[:, None, None] + (shift - mean * factor)[:, None, None]


def layer_norm(x: Array, scale: Array, shift: Array, epsilon: float) -> Array:
    """Normalise the last dimension by its own statistics."""
    centred = x - x.mean(-1, keepdims=True)
    variance = np.mean(centred * centred, -1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * scale + shift


def softmax(x: Array, axis: int) -> Array:
    """Softmax along one dimension."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def gelu(x: Array) -> Array:
    """`x / 2 * (1 + erf(x / sqrt(2)))`."""
    return 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))


def erf(x: Array) -> Array:
    """Error function to 1.2e-7 by Chebyshev's fit of erfc (Press et al., Numerical Recipes, section 6.2)."""
    t = 1.0 / (1.0 + 0.5 * np.abs(x))
    exponent = np.full_like(t, _ERFC[-1])
    for coefficient in _ERFC[-2::-1]:
        exponent = exponent * t + coefficient
    return np.copysign(1.0 - t * np.exp(exponent - x * x), x)


_ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)


def conv(operands: Sequence[Array], strides: Sequence[int], pads: Sequence[int], group: int) -> Array:
    """A convolution as a matrix product for each group, or as a sum over the window if each channel is one."""
    x, kernel, *bias = operands
    outer, inner, height, width = kernel.shape
    windows = _windows(x, (height, width), strides, pads, 0.0)
    batch, _, rows, columns = windows.shape[:4]
    if group == x.shape[1] == outer:
        result = sum(
            windows[..., row, column] * kernel[:, 0, row, column][:, None, None]
            for row in range(height)
            for column in range(width)
        )
    else:
        patches = windows.reshape(batch, group, inner, rows, columns, height, width).transpose(0, 1, 2, 5, 6, 3, 4)
        flat = patches.reshape(batch, group, inner * height * width, rows * columns)
        result = (kernel.reshape(group, outer // group, -1) @ flat).reshape(batch, outer, rows, columns)
    return result + bias[0][:, None, None] if bias else np.asarray(result)


def max_pool(x: Array, size: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> Array:
    """The greatest element of every window."""
    return _windows(x, size, strides, pads, -np.inf).max((4, 5))


def _windows(x: Array, size: Sequence[int], strides: Sequence[int], pads: Sequence[int], fill: float) -> Array:
    """A view of the padded image: (batch, channel, row, column, row in the window, column in the window)."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    return sliding_window_view(padded, tuple(size), (2, 3))[:, :, :: strides[0], :: strides[1]]
