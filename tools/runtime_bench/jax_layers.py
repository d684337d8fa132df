"""Layers for JAX that are more than one call; imported by whoever has JAX. Images are NCHW."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

jax: Any = import_module("jax")
jnp = jax.numpy


def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    """Normalise every channel by given statistics."""
    factor = scale * jax.lax.rsqrt(variance + epsilon)
    return x * factor[:, None, None] + (shift - mean * factor)[:, None, None]


def layer_norm(x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
    """Normalise the last dimension by its own statistics."""
    centred = x - x.mean(-1, keepdims=True)
    variance = jnp.mean(centred * centred, -1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + epsilon) * scale + shift


def conv(operands: Sequence[Any], strides: Sequence[int], pads: Sequence[int], group: int) -> Any:
    """A convolution."""
    x, kernel, *bias = operands
    padding = [(pads[0], pads[2]), (pads[1], pads[3])]
    result = jax.lax.conv_general_dilated(x, kernel, strides, padding, feature_group_count=group)
    return result + bias[0][:, None, None] if bias else result


def max_pool(x: Any, size: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> Any:
    """The greatest element of every window."""
    padding = ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, *size), (1, 1, *strides), padding)
