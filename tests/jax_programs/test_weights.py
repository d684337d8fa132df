"""Arguments that are constants as long as they are the same arrays."""

import gc

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow


def predict(params, x, *, key=None):
    return jnp.tanh(x @ params["w"]) * params["b"]


@pytest.fixture
def params():
    return {"w": jnp.arange(16.0).reshape(4, 4) / 16, "b": jnp.full(4, 2.0), "unread": jnp.ones(3)}


def assert_predicts(f, params, x) -> None:
    np.testing.assert_allclose(f(params, x), predict(params, x), rtol=1e-6)


def test_the_same_arrays_are_no_arguments(params) -> None:
    f = fd.jit(predict, constant_argnames="params")
    for n in range(3):
        assert_predicts(f, params, jnp.full((2, 4), float(n)))
    assert f.program(params, jnp.ones((2, 4))).input_names == ("x",)
    assert_predicts(f, dict(params), jnp.ones((2, 4)))


def test_other_arrays_are_followed(params) -> None:
    f = fd.jit(predict, constant_argnames="params")
    x = jnp.ones((2, 4))
    assert_predicts(f, params, x)
    other = {**params, "w": params["w"] + 1}
    assert_predicts(f, other, x)
    assert f.program(other, x).input_names == ("params.b", "params.w", "x")
    assert_predicts(f, params, x)
    assert_predicts(f, {**other, "b": np.full(4, 3, np.float32)}, x)


def test_an_array_that_is_gone_or_deleted_is_another(params) -> None:
    f = fd.jit(predict, constant_argnames="params")
    x = jnp.ones((2, 4))
    f({**params, "w": params["w"] * 2}, x)
    gc.collect()
    for n in range(4):
        assert_predicts(f, {**params, "w": params["w"] * n}, x)
    g = fd.jit(predict, constant_argnames="params")
    g(params, x)
    params["w"].delete()
    with pytest.raises(fd.FuseError, match="deleted"):
        g(params, x)


def test_arrays_of_numpy_are_never_constants() -> None:
    f = fd.jit(predict, constant_argnames=["params"])
    params = {"w": np.eye(4, dtype=np.float32), "b": np.ones(4, np.float32)}
    x = jnp.ones((2, 4))
    assert_predicts(f, params, x)
    params["w"][:] = 2
    assert_predicts(f, params, x)


def test_keys_and_keywords_may_be_constant() -> None:
    f = fd.jit(lambda x, *, key: x + jax.random.uniform(key, x.shape), constant_argnames="key")
    x, key = jnp.zeros(3), jax.random.key(1)
    for _ in range(2):
        np.testing.assert_array_equal(f(x, key=key), jax.random.uniform(key, (3,)))
    assert f.program(x, key=key).input_names == ("x",)
    np.testing.assert_array_equal(f(x, key=jax.random.key(2)), jax.random.uniform(jax.random.key(2), (3,)))
