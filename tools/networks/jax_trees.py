"""Twenty programs as users of JAX write them: trees in and out, random keys, scans, gradients, optimizers.

`programs()` gives them with arguments. `tools/bench_jax.py --jit` measures them, and tests compare them with `jax.jit`.
"""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class AdamState(NamedTuple):
    """What Adam remembers."""

    count: Any
    mean: Any
    square: Any


@jax.tree_util.register_dataclass
@dataclass
class Dense:
    """A layer as a dataclass that is a tree."""

    kernel: Any
    bias: Any

    def __call__(self, x: Any) -> Any:
        """The layer's value."""
        return x @ self.kernel + self.bias


def _normal(seed: int, *shape: int) -> Any:
    return jax.random.normal(jax.random.key(seed), shape) * (shape[0] ** -0.5 if len(shape) > 1 else 0.1)


def _mlp_params(*sizes: int) -> list[dict[str, Any]]:
    return [
        {"w": _normal(place, taken, made), "b": _normal(place + 100, made)}
        for place, (taken, made) in enumerate(pairwise(sizes))
    ]


def mlp(params: Any, x: Any) -> Any:
    """Three layers; a list of dictionaries in, a dictionary out."""
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return {"logits": x @ params[-1]["w"] + params[-1]["b"]}


def _cross_entropy(logits: Any, labels: Any) -> Any:
    logs = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logs, labels[:, None], -1).mean()


def sgd_step(params: Any, x: Any, labels: Any) -> Any:
    """A step of gradient descent; new parameters and the loss."""
    loss, grads = jax.value_and_grad(lambda params: _cross_entropy(mlp(params, x)["logits"], labels))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def adam_step(params: Any, state: AdamState, x: Any, y: Any) -> Any:
    """A step of Adam."""
    grads = jax.grad(lambda params: ((mlp(params, x)["logits"] - y) ** 2).mean())(params)
    count = state.count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state.square, grads)
    rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    new = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
    return new, AdamState(count, mean, square)


def lstm(params: Any, xs: Any) -> Any:
    """An LSTM over 16 steps, as a scan with a pair as its state."""

    def step(state: Any, x: Any) -> Any:
        cell, shown = state
        taken, kept, given, new = jnp.split(x @ params["in"] + shown @ params["state"] + params["b"], 4, -1)
        cell = jax.nn.sigmoid(kept + 1) * cell + jax.nn.sigmoid(taken) * jnp.tanh(new)
        shown = jax.nn.sigmoid(given) * jnp.tanh(cell)
        return (cell, shown), shown

    zero = jnp.zeros((xs.shape[1], params["state"].shape[0]))
    (cell, shown), outputs = lax.scan(step, (zero, zero), xs)
    return {"outputs": outputs, "last": (cell, shown)}


def rnn_gradient(params: Any, xs: Any) -> Any:
    """The gradient of a recurrent network through time."""

    def loss(params: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            state = jnp.tanh(x @ params["in"] + state @ params["state"])
            return state, state.sum()

        return (lax.scan(step, jnp.zeros((xs.shape[1], params["state"].shape[0])), xs)[1] ** 2).mean()

    return jax.grad(loss)(params)


def _norm(x: Any, scale: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def attention(params: Any, x: Any, mask: Any = None) -> Any:
    """Attention of four heads; the mask may be `None`."""
    batch, length, width = x.shape
    q, k, v = ((x @ params[name]).reshape(batch, length, 4, width // 4) for name in ("q", "k", "v"))
    scores = jnp.einsum("bqhc,bkhc->bhqk", q, k) * (width // 4) ** -0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhc->bqhc", jax.nn.softmax(scores, -1), v)
    return mixed.reshape(x.shape) @ params["o"]


def transformer(layers: Any, x: Any, mask: Any) -> Any:
    """Two transformer layers with a causal mask."""
    for layer in layers:
        x = x + attention(layer["attention"], _norm(x, layer["scale"]), mask)
        x = x + jax.nn.gelu(_norm(x, layer["scale"]) @ layer["up"]) @ layer["down"]
    return x


def conv_net(variables: Any, x: Any) -> Any:
    """Two convolutions with batch norms in training: the running statistics come out, too."""
    new: dict[str, Any] = {}
    for name in ("first", "second"):
        own = variables["params"][name]
        x = lax.conv_general_dilated(x, own["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        old = variables["stats"][name]
        new[name] = {"mean": 0.9 * old["mean"] + 0.1 * mean, "var": 0.9 * old["var"] + 0.1 * var}
        x = jax.nn.relu((x - mean) * lax.rsqrt(var + 1e-5) * own["scale"])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.mean((1, 2)), new


def norm_gradient(scale: Any, x: Any) -> Any:
    """Value and gradients of a layer norm, in both arguments."""
    return jax.value_and_grad(lambda scale, x: jnp.sin(_norm(x, scale)).mean(), argnums=(0, 1))(scale, x)


def dropout(key: Any, x: Any) -> Any:
    """Dropout by a typed key, and the next key."""
    used, rest = jax.random.split(key)
    return jnp.where(jax.random.bernoulli(used, 0.7, x.shape), x / 0.7, 0), rest


def samples(key: Any) -> Any:
    """Random numbers of several kinds from one key."""
    keys = jax.random.split(key, 4)
    return {
        "normal": jax.random.normal(keys[0], (8, 16)),
        "uniform": jax.random.uniform(keys[1], (8,), minval=-2, maxval=3),
        "integers": jax.random.randint(keys[2], (16,), 0, 100),
        "categorical": jax.random.categorical(keys[3], jnp.arange(5.0), shape=(9,)),
    }


def example_gradients(params: Any, xs: Any, ys: Any) -> Any:
    """A gradient for each example, by `vmap`."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        return ((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2).sum()

    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, xs, ys)


def power_iteration(x: Any) -> Any:
    """The greatest eigenvalue of a matrix, until it stays."""
    square = x @ x.T

    def step(state: Any) -> Any:
        count, vector, _ = state
        new = square @ vector
        new = new / jnp.linalg.norm(new)
        return count + 1, new, jnp.abs(new - vector).max()

    start = (0, jnp.ones(x.shape[0]) * x.shape[0] ** -0.5, jnp.float32(1))
    count, vector, _ = lax.while_loop(lambda state: (state[0] < 50) & (state[2] > 1e-4), step, start)
    return {"steps": count, "value": vector @ square @ vector}


def branches(choice: Any, state: Any) -> Any:
    """Three branches by number, which give the same tree."""
    return lax.switch(
        choice,
        [
            lambda s: {"x": s["x"] + 1, "y": s["y"]},
            lambda s: {"x": s["x"] * 2, "y": s["y"].sum() * jnp.ones_like(s["y"])},
            lambda s: {"x": jnp.sin(s["x"]), "y": jnp.flip(s["y"])},
        ],
        state,
    )


def recurrence(gates: Any) -> Any:
    """A linear recurrence as an associative scan over a pair."""

    def together(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return lax.associative_scan(together, (jax.nn.sigmoid(gates["keep"]), gates["new"]), axis=1)[1]


def k_means_step(centres: Any, points: Any) -> Any:
    """A step of k-means: sums by segment."""
    nearest = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(-1)
    counts = jnp.zeros(centres.shape[0]).at[nearest].add(1)
    sums = jnp.zeros_like(centres).at[nearest].add(points)
    return jnp.where(counts[:, None] > 0, sums / jnp.maximum(counts[:, None], 1), centres), nearest


def ranking(scores: Any) -> Any:
    """The best of each row, the order of the others, and running sums."""
    best, places = lax.top_k(scores["a"], 4)
    return {"best": (best, places), "order": jnp.argsort(scores["b"], -1), "sums": jnp.cumsum(scores["b"], -1)}


def autoencoder(layers: Any, key: Any, x: Any) -> Any:
    """The loss of a variational autoencoder, whose layers are dataclasses, and its gradient."""

    def loss(layers: Any) -> Any:
        mean, log_var = jnp.split(layers["encode"](x), 2, -1)
        code = mean + jnp.exp(0.5 * log_var) * jax.random.normal(key, mean.shape)
        apart = ((jax.nn.sigmoid(layers["decode"](code)) - x) ** 2).sum(-1)
        return (apart - 0.5 * (1 + log_var - mean**2 - jnp.exp(log_var)).sum(-1)).mean()

    return jax.value_and_grad(loss)(layers)


def language_model(params: Any, tokens: Any) -> Any:
    """Embedding, a layer, and the cross entropy of the next token."""
    x = params["embed"][tokens[:, :-1]]
    x = _norm(x + jax.nn.silu(x @ params["up"]) @ params["down"], params["scale"])
    logits = x @ params["embed"].T
    return _cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1)), logits


def diffusion(state: Any) -> Any:
    """Heat on a grid, 20 steps of a loop with a counter."""

    def step(_: Any, state: Any) -> Any:
        u = state["u"]
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return {"u": u + 0.2 * (around - 4 * u), "time": state["time"] + 0.1}

    return lax.fori_loop(0, 20, step, state)


def programs() -> Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The programs with arguments, which are arrays of JAX."""
    key = jax.random.key(7)
    wide = _mlp_params(64, 128, 128, 10)
    x, labels = _normal(1, 32, 64) * 5, jax.random.randint(key, (32,), 0, 10)
    zeros = jax.tree.map(jnp.zeros_like, wide)
    heads = {name: _normal(place, 64, 64) for place, name in enumerate("qkvo")}
    layer = {"attention": heads, "scale": jnp.ones(64), "up": _normal(8, 64, 256), "down": _normal(9, 256, 64)}
    recurrent = {"in": _normal(3, 32, 256), "state": _normal(4, 64, 256), "b": _normal(5, 256)}
    small = {"in": _normal(3, 32, 64), "state": _normal(4, 64, 64)}
    xs = _normal(6, 16, 4, 32) * 4
    image = {
        name: {"kernel": _normal(place, 3, 3, taken, 16) * 0.5, "scale": jnp.ones(16)}
        for place, (name, taken) in enumerate((("first", 3), ("second", 16)))
    }
    stats = {name: {"mean": jnp.zeros(16), "var": jnp.ones(16)} for name in image}
    tokens = jax.random.randint(key, (4, 17), 0, 100)
    words = {"embed": _normal(1, 100, 32), "up": _normal(2, 32, 64), "down": _normal(3, 64, 32), "scale": jnp.ones(32)}
    dense = {"encode": Dense(_normal(1, 64, 16), jnp.zeros(16)), "decode": Dense(_normal(2, 8, 64), jnp.zeros(64))}
    sequence = _normal(2, 4, 32, 64) * 2
    return {
        "mlp": (mlp, (wide, x)),
        "sgd_step": (sgd_step, (wide, x, labels)),
        "adam_step": (adam_step, (wide, AdamState(jnp.int32(0), zeros, zeros), x, _normal(2, 32, 10))),
        "lstm": (lstm, (recurrent, xs)),
        "rnn_gradient": (rnn_gradient, (small, xs)),
        "attention": (attention, (heads, sequence)),
        "transformer": (transformer, ([layer, layer], sequence, jnp.tril(jnp.ones((32, 32), bool)))),
        "conv_net": (conv_net, ({"params": image, "stats": stats}, _normal(4, 2, 32, 32, 3))),
        "norm_gradient": (norm_gradient, (jnp.ones(64), x)),
        "dropout": (dropout, (key, x)),
        "samples": (samples, (key,)),
        "example_gradients": (example_gradients, ({"w": _normal(1, 64, 8), "b": jnp.zeros(8)}, x, _normal(3, 32, 8))),
        "power_iteration": (power_iteration, (_normal(5, 32, 32),)),
        "branches": (branches, (jnp.int32(1), {"x": _normal(1, 8, 8), "y": _normal(2, 16)})),
        "recurrence": (recurrence, ({"keep": _normal(1, 2, 32, 64), "new": _normal(2, 2, 32, 64)},)),
        "k_means_step": (k_means_step, (_normal(1, 8, 16), _normal(2, 128, 16))),
        "ranking": (ranking, ({"a": _normal(1, 16, 32), "b": _normal(2, 8, 24)},)),
        "autoencoder": (autoencoder, (dense, key, jax.nn.sigmoid(x))),
        "language_model": (language_model, (words, tokens)),
        "diffusion": (diffusion, ({"u": _normal(1, 32, 32), "time": jnp.float32(0)},)),
    }
