"""Write the programs of `tests/data/jax` as JAX prints them, with and without debug info.

Needs the extra `jax`. Run it again when JAX prints something new, and say its version in the README there:

    python tools/make_jax_programs.py
    python tools/make_jax_programs.py keras     the network of Keras, which must be installed
"""

# JAX is no extra of the checks, and has types for a part of what is used here.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownLambdaType=false, reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportArgumentType=false, reportCallIssue=false

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import export, lax

DATA = Path(__file__).parent.parent / "tests" / "data" / "jax"
_CODE = re.compile(r'"[^"\n]*/([^/"\n]+\.py)"')
"""A path in a location; only the file's name is kept, so that the data is the same on every machine."""


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    """A float argument."""
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape: int) -> jax.ShapeDtypeStruct:
    """An integer argument."""
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def mlp(x, w1, b1, w2, b2):
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2


def gelu(x):
    return jax.nn.gelu(x, approximate=False) + jax.nn.silu(x)


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def layer_norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    centered = x - mean
    variance = (centered * centered).mean(-1, keepdims=True)
    return centered * lax.rsqrt(variance + 1e-5) * scale + bias


def attention(q, k, v, mask):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)


def transformer(x, wq, wk, wv, wo, w1, w2, scale):
    batch, length, width = x.shape
    heads = 2

    def split(y):
        return y.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    y = layer_norm(x, scale, scale)
    mask = jnp.tril(jnp.ones((length, length), bool))
    mixed = attention(split(y @ wq), split(y @ wk), split(y @ wv), mask)
    x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ wo
    return x + jax.nn.gelu(layer_norm(x, scale, scale) @ w1) @ w2


def _transformer_arguments(dtype):
    shapes = [(2, 8, 16), *[(16, 16)] * 4, (16, 32), (32, 16), (16,)]
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]


def _loss(parameters, x, labels):
    logits = mlp(x, *parameters)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def sgd_step(w1, b1, w2, b2, x, labels):
    parameters = [w1, b1, w2, b2]
    loss, gradients = jax.value_and_grad(_loss)(parameters, x, labels)
    return loss, *[p - 0.1 * g for p, g in zip(parameters, gradients, strict=True)]


def adam_step(w, m, v, x, y):
    loss, g = jax.value_and_grad(lambda w: ((jnp.tanh(x @ w) - y) ** 2).mean())(w)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return loss, w - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def convolution(x, w, b):
    y = lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = jax.nn.relu(y + b)
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").mean((1, 2))


def depthwise(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), rhs_dilation=(1, 1), feature_group_count=4)


def while_loop(x):
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, jnp.tanh(s[1]) * 2.0 + s[1]), (0, x))[1]


def scan(h, xs, w):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h * h

    return lax.scan(step, h, xs)


def conditional(i, x):
    return lax.switch(i, [jnp.sin, lambda x: jnp.exp(x) + 1.0, lambda x: x * x], x)


def random(seed):
    key = jax.random.key(seed)
    return jax.random.normal(key, (4, 8)), jax.random.uniform(key, (3,)), jax.random.randint(key, (5,), 0, 10)


def dropout(seed, x):
    keep = jax.random.bernoulli(jax.random.key(seed), 0.5, x.shape)
    return jnp.where(keep, x / 0.5, 0.0)


def sort(x, y):
    return jnp.sort(x, axis=-1), jnp.argsort(y), jnp.sort(y, descending=True)


def top_k(x):
    return lax.top_k(x, 3)


def gather(table, ids):
    return table[ids] * 2.0, jnp.take(table, ids, axis=1, mode="clip"), table[ids, ids]


def scatter(x, i, u):
    return x.at[i].add(u), x.at[i].set(u), x.at[i].max(u)


def slices(x, i):
    y = lax.dynamic_slice(x, (i, 0), (2, 4))
    return lax.dynamic_update_slice(x, y * 2.0, (0, i)), x[::2, 1:], jnp.flip(x, 1), jnp.pad(x, ((1, 0), (0, 2)))


def reductions(x):
    return x.sum(0), x.max(), x.prod(1), jnp.argmax(x, 1), (x > 0).any(1), jnp.cumsum(x, 1), x.var(1), x.std()


def elementwise(x, n):
    y = lax.erf_inv(x) + jnp.arctan2(x, 2.0) + lax.lgamma(x + 3.0) + lax.cbrt(x) + lax.expm1(x) + jnp.sinh(x)
    bits = lax.population_count(n) ^ (n << 2) | lax.shift_right_logical(n, jnp.uint32(1))
    return y, bits, lax.clamp(-1.0, x, 1.0), lax.reduce_precision(x, 8, 7), lax.bitcast_convert_type(x, jnp.uint32)


def numbers(x, c):
    z = lax.complex(x, x) * c
    return jnp.fft.fft(z), z.real, x.astype(jnp.float16), x.astype(jnp.int8), jnp.isnan(x), jnp.arange(4) + 1


def factorize(a, b):
    lower = jnp.linalg.cholesky(a)
    return lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)


def linear_algebra(a, b, tall):
    symmetric = a @ a.T + jnp.eye(6)
    factors = jnp.linalg.qr(tall), jnp.linalg.eigh(symmetric), jnp.linalg.svd(tall, full_matrices=False)
    numbers = jnp.linalg.det(a), jnp.linalg.slogdet(a), jnp.linalg.svd(tall, compute_uv=False)
    return jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.lstsq(tall, tall[:, 0])[0], numbers, factors


def symbolic(x, w):
    return jax.nn.softmax(x @ w, axis=-1) + x.shape[0]


def normalized_softmax(x, scale, bias):
    return jax.nn.softmax(layer_norm(x, scale, bias), axis=-1)


def embedding(ids, table, w):
    places = jnp.sin(jnp.arange(ids.shape[1], dtype=jnp.float32))
    return ((table[ids] + places[:, None]) @ w).max(1), jnp.argmax(ids, 1), ids[1:], ids[:, ::-1]


Program = tuple[Callable[..., Any], list[jax.ShapeDtypeStruct]]

PROGRAMS: dict[str, Program] = {
    "mlp": (mlp, [f32(8, 16), f32(16, 32), f32(32), f32(32, 10), f32(10)]),
    "gelu": (gelu, [f32(8, 16)]),
    "softmax": (softmax, [f32(8, 16)]),
    "layer_norm": (layer_norm, [f32(8, 16), f32(16), f32(16)]),
    "attention": (attention, [*[f32(2, 2, 8, 4)] * 3, jax.ShapeDtypeStruct((8, 8), jnp.bool_)]),
    "transformer_f32": (transformer, _transformer_arguments(jnp.float32)),
    "transformer_bf16": (transformer, _transformer_arguments(jnp.bfloat16)),
    "sgd_step": (sgd_step, [f32(16, 32), f32(32), f32(32, 10), f32(10), f32(8, 16), i32(8)]),
    "adam_step": (adam_step, [*[f32(16, 4)] * 3, f32(8, 16), f32(8, 4)]),
    "convolution": (convolution, [f32(2, 16, 16, 3), f32(3, 3, 3, 8), f32(8)]),
    "depthwise": (depthwise, [f32(1, 4, 8, 8), f32(4, 1, 3, 3)]),
    "while_loop": (while_loop, [f32(8, 16)]),
    "scan": (scan, [f32(4, 8), f32(5, 4, 8), f32(8, 8)]),
    "conditional": (conditional, [i32(), f32(8, 16)]),
    "random": (random, [jax.ShapeDtypeStruct((), jnp.uint32)]),
    "dropout": (dropout, [jax.ShapeDtypeStruct((), jnp.uint32), f32(8, 16)]),
    "sort": (sort, [f32(4, 8), i32(9)]),
    "top_k": (top_k, [f32(4, 8)]),
    "gather": (gather, [f32(10, 10), i32(4)]),
    "scatter": (scatter, [f32(10, 4), i32(3), f32(3, 4)]),
    "slices": (slices, [f32(6, 8), i32()]),
    "reductions": (reductions, [f32(4, 8)]),
    "elementwise": (elementwise, [f32(4, 8), jax.ShapeDtypeStruct((4,), jnp.uint32)]),
    "numbers": (numbers, [f32(4, 8), jax.ShapeDtypeStruct((4, 8), jnp.complex64)]),
    "factorize": (factorize, [f32(4, 4), f32(4, 2)]),
    "linear_algebra": (linear_algebra, [f32(6, 6), f32(6, 2), f32(8, 5)]),
}
"""What `jax.jit(f).lower(...)` prints."""


SYMBOLIC: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "symbolic_batch": (symbolic, ["b, 16", "16, 8"]),
    "symbolic_mlp": (mlp, ["b, 16", "16, 32", "32", "32, 10", "10"]),
    "symbolic_norm": (normalized_softmax, ["b, s, 16", "16", "16"]),
    "symbolic_attention": (attention, [*["b, 2, s, 4"] * 3, "s, s: bool"]),
    "symbolic_transformer": (transformer, ["b, s, 16", *["16, 16"] * 4, "16, 32", "32, 16", "16"]),
    "symbolic_convolution": (convolution, ["b, 16, 16, 3", "3, 3, 3, 8", "8"]),
    "symbolic_embedding": (embedding, ["b, s: int32", "20, 8", "8, 4"]),
    "symbolic_sgd": (sgd_step, ["16, 32", "32", "32, 10", "10", "b, 16", "b: int32"]),
}
"""What `jax.export` prints for arguments whose sizes have names; elements are f32 unless said."""


def export_symbolic(name: str) -> export.Exported:
    """The export of one of `SYMBOLIC`."""
    function, texts = SYMBOLIC[name]
    scope = export.SymbolicScope()
    arguments: list[jax.ShapeDtypeStruct] = []
    for text in texts:
        sizes, _, dtype = text.partition(": ")
        arguments.append(jax.ShapeDtypeStruct(export.symbolic_shape(sizes, scope=scope), dtype or "float32"))
    return export.export(jax.jit(function))(*arguments)


def exported() -> dict[str, str]:
    """What `jax.export` prints."""
    return {
        "exported_mlp": export.export(jax.jit(mlp))(*PROGRAMS["mlp"][1]).mlir_module(),
        **{name: export_symbolic(name).mlir_module() for name in SYMBOLIC},
    }


def mobilenet_v2() -> str:
    """MobileNetV2 of Keras as JAX lowers it; its weights are arguments, and none are downloaded."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    network = keras.applications.MobileNetV2(input_shape=(96, 96, 3), alpha=0.35, weights=None, classes=10)

    def predict(trained, fixed, image):
        return network.stateless_call(trained, fixed, image, training=False)[0]

    weights = [[each.value for each in part] for part in (network.trainable_variables, network.non_trainable_variables)]
    return jax.jit(predict).lower(*weights, f32(1, 96, 96, 3)).as_text()


def main(names: list[str]) -> None:
    """Write the programs of these names, or every one."""
    DATA.mkdir(parents=True, exist_ok=True)
    if names == ["keras"]:
        (DATA / "mobilenet_v2.mlir").write_text(mobilenet_v2())
        return
    for name, (function, arguments) in PROGRAMS.items():
        if names and name not in names:
            continue
        lowered = jax.jit(function).lower(*arguments)
        (DATA / f"{name}.mlir").write_text(lowered.as_text())
        debug = _CODE.sub(r'"\1"', lowered.as_text(debug_info=True))
        (DATA / f"{name}.debug.mlir").write_text(debug)
    for name, text in exported().items() if not names or "exported" in names else ():
        (DATA / f"{name}.mlir").write_text(_CODE.sub(r'"\1"', text))


if __name__ == "__main__":
    main(sys.argv[1:])
