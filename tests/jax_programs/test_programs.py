"""Twenty programs with trees, random keys, scans and gradients give by `fd.jit` what they give by `jax.jit`."""

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")

NAMES = [
    "mlp",
    "sgd_step",
    "adam_step",
    "lstm",
    "rnn_gradient",
    "attention",
    "transformer",
    "conv_net",
    "norm_gradient",
    "dropout",
    "samples",
    "example_gradients",
    "power_iteration",
    "branches",
    "recurrence",
    "k_means_step",
    "ranking",
    "autoencoder",
    "language_model",
    "diffusion",
]


@pytest.fixture(scope="module")
def programs():
    from networks.jax_trees import programs

    return programs()


def test_there_are_twenty(programs) -> None:
    assert list(programs) == NAMES
    assert len(NAMES) == 20


def raw(leaf) -> np.ndarray:
    """The elements of an array, or of the raw data of a key."""
    is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def assert_same(found, expected) -> None:
    """The trees are equal, and so are types, weak ones included; numbers within 1e-5 of a leaf's greatest."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.aval == other.aval
        one, other = raw(one), raw(other)
        if other.dtype.kind != "f":
            np.testing.assert_array_equal(one, other)
        elif other.size:
            assert np.abs(one - other).max() <= 1e-5 * max(1, np.abs(other).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_jax_gives(programs, name) -> None:
    function, args = programs[name]
    jitted = fd.jit(function)
    expected = jax.jit(function)(*args)
    before = [raw(leaf).copy() for leaf in jax.tree.leaves(args)]
    assert_same(jitted(*args), expected)
    assert_same(jitted(*args), expected)
    for leaf, was in zip(jax.tree.leaves(args), before, strict=True):
        np.testing.assert_array_equal(raw(leaf), was)
    assert jitted.program(*args).by_addresses() is not None, "nothing of it is left to Python"


@pytest.mark.slow
def test_a_gradient_of_a_jitted_function_is_that_of_the_function(programs) -> None:
    function, (params, x) = programs["mlp"]
    jitted = fd.jit(function)

    def loss(function):
        return lambda params: function(params, x)["logits"].sum()

    assert_same(jax.grad(loss(jitted))(params), jax.grad(loss(function))(params))
    assert_same(fd.jit(jax.grad(loss(jitted)))(params), jax.jit(jax.grad(loss(function)))(params))
    assert_same(jax.vmap(jitted, (None, 0))(params, x[:, None]), jax.vmap(function, (None, 0))(params, x[:, None]))
    assert_same(jax.jit(jitted)(params, x), jax.jit(function)(params, x))
    assert "0 programs" in repr(jitted)
