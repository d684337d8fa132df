"""Networks of JAX, written to ONNX by `fuse_dialect` itself."""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import fuse_dialect as fd
from fuse_dialect.transforms.runnable import make_runnable


def make(name: str, path: Path) -> None:
    """Write a model, and its inputs beside it."""
    import jax

    function, shapes = NETWORKS[name]
    keys = jax.random.split(jax.random.key(0), len(shapes))
    arrays = [np.asarray(jax.random.normal(key, shape)) for key, shape in zip(keys, shapes, strict=True)]
    module = fd.from_jax(function, *arrays)
    make_runnable(module)
    written = path.with_suffix(".onnx")
    fd.write(module, written)
    written.rename(path)
    inputs: dict[str, Any] = dict(zip(_names(path), arrays, strict=True))
    np.savez_compressed(path.with_suffix(".0.npz"), **inputs)


def _names(path: Path) -> list[str]:
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    weights = {each.name for each in graph.initializer}
    return [each.name for each in graph.input if each.name not in weights]


def _weight(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(0, shape[0] ** -0.5, shape).astype(np.float32)


def _norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * (((centred * centred).mean(-1, keepdims=True) + 1e-5) ** -0.5)


def _mixer(x: Any) -> Any:
    """MLP-Mixer of four blocks."""
    import jax

    for block in range(4):
        tokens = _norm(x).swapaxes(1, 2)
        tokens = jax.nn.gelu(tokens @ _weight(4 * block, 64, 128)) @ _weight(4 * block + 1, 128, 64)
        x = x + tokens.swapaxes(1, 2)
        x = x + jax.nn.gelu(_norm(x) @ _weight(4 * block + 2, 192, 768)) @ _weight(4 * block + 3, 768, 192)
    return x.mean(1)


def _transformer(x: Any) -> Any:
    """A transformer of two layers, attention by einsums."""
    import jax
    import jax.numpy as jnp

    for layer in range(2):
        read = _norm(x)
        q, k, v = (jnp.einsum("btd,dhc->bthc", read, _weight(7 * layer + place, 256, 8, 32)) for place in range(3))
        scores = jnp.einsum("bthc,bshc->bhts", q, k) * 32**-0.5
        mixed = jnp.einsum("bhts,bshc->bthc", jax.nn.softmax(scores, -1), v)
        x = x + jnp.einsum("bthc,hcd->btd", mixed, _weight(7 * layer + 3, 8, 32, 256) * 0.2)
        x = x + jax.nn.gelu(_norm(x) @ _weight(7 * layer + 4, 256, 1024)) @ _weight(7 * layer + 5, 1024, 256)
    return x


def _convolutions(x: Any) -> Any:
    """A residual network of channels-last convolutions with group norms."""
    import jax
    from jax import lax

    def convolution(x: Any, seed: int, made: int, taps: int, stride: int = 1) -> Any:
        taken = x.shape[-1]
        kernel = np.random.default_rng(seed).normal(0, (taps * taps * taken) ** -0.5, (taps, taps, taken, made))
        return lax.conv_general_dilated(
            x, kernel.astype(np.float32), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def group_norm(x: Any) -> Any:
        n, h, w, c = x.shape
        groups = x.reshape(n, h, w, 8, c // 8)
        mean = groups.mean((1, 2, 4), keepdims=True)
        variance = groups.var((1, 2, 4), keepdims=True)
        return ((groups - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)

    x = jax.nn.relu(group_norm(convolution(x, 0, 64, 7, 2)))
    for stage, width in enumerate((64, 128, 256)):
        side = convolution(x, 10 * stage + 1, width, 1, 2)
        x = jax.nn.relu(group_norm(convolution(x, 10 * stage + 2, width, 3, 2)))
        x = jax.nn.relu(group_norm(convolution(x, 10 * stage + 3, width, 3)) + side)
    return x.mean((1, 2)) @ _weight(40, 256, 1000)


def _recurrence(x: Any) -> Any:
    """A linear recurrence of gates (LRU, minimal GRU) as an associative scan."""
    import jax
    from jax import lax

    gate = jax.nn.sigmoid(x @ _weight(0, 128, 128))
    value = (1 - gate) * (x @ _weight(1, 128, 128))

    def together(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return lax.associative_scan(together, (gate, value), axis=1)[1] @ _weight(2, 128, 64)


def _scanned(x: Any) -> Any:
    """A GRU written as a scan over time."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def step(state: Any, row: Any) -> Any:
        both = jnp.concatenate([row, state], -1)
        reset, update = jnp.split(jax.nn.sigmoid(both @ _weight(0, 192, 256)), 2, -1)
        new = jnp.tanh(jnp.concatenate([row, reset * state], -1) @ _weight(1, 192, 128))
        state = update * state + (1 - update) * new
        return state, state

    return lax.scan(step, jnp.zeros((x.shape[1], 128)), x)[1]


NETWORKS: Mapping[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "jax_mixer": (_mixer, ((1, 64, 192),)),
    "jax_transformer": (_transformer, ((1, 128, 256),)),
    "jax_group_norm_resnet": (_convolutions, ((1, 128, 128, 3),)),
    "jax_recurrence": (_recurrence, ((2, 64, 128),)),
    "jax_scan_gru": (_scanned, ((32, 4, 64),)),
}
"""The functions with the shapes of their arguments."""
