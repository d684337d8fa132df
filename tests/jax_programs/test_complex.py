"""Complex numbers of JAX and NumPy go into compiled functions and come out, and linear algebra runs."""

import numpy as np
import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy
pytestmark = pytest.mark.slow
Z = (np.arange(12).reshape(3, 4) + 1j * np.arange(12, 0, -1).reshape(3, 4)).astype(np.complex64)


def rotate(tree, angle):
    turned = tree["z"] * jnp.exp(1j * angle)
    return {"turned": turned, "size": jnp.abs(turned), "product": turned @ turned.T}


@pytest.mark.parametrize("leaf", [Z, jnp.asarray(Z)], ids=["numpy", "jax"])
def test_trees_of_complex_arrays(leaf) -> None:
    function = fd.jit(rotate)
    for _ in range(2):
        found, expected = function({"z": leaf}, 0.5), jax.jit(rotate)({"z": leaf}, 0.5)
        assert {type(each) for each in found.values()} == {type(leaf)}
        for name, each in expected.items():
            assert (found[name].dtype, found[name].shape) == (each.dtype, each.shape)
            np.testing.assert_allclose(found[name], each, rtol=1e-5, atol=1e-4)


def test_a_complex_number_is_an_argument() -> None:
    (found,) = [fd.jit(lambda x: x * (2 + 1j))(3 + 1j)]
    assert found == (3 + 1j) * (2 + 1j)


def test_complex_weights_are_arguments() -> None:
    function = fd.jit(lambda w, x: w * x, constant_argnames="w")
    np.testing.assert_allclose(function(jnp.asarray(Z), jnp.asarray(Z)), Z * Z, rtol=1e-6)


def test_a_loop_of_complex_states() -> None:
    def scanned(z):
        return jax.lax.scan(lambda c, row: (c * row, c + row), jnp.ones(4, jnp.complex64), z)

    for found, expected in zip(fd.jit(scanned)(Z), jax.jit(scanned)(Z), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_spectra_of_images() -> None:
    image = np.random.default_rng(0).normal(size=(2, 96, 80)).astype(np.float32)

    def filtered(x):
        spectrum = jnp.fft.rfft2(x)
        return jnp.fft.irfft2(spectrum * jnp.exp(-jnp.abs(jnp.fft.fftfreq(96))[:, None]), s=(96, 80)), spectrum

    for found, expected in zip(fd.jit(filtered)(image), jax.jit(filtered)(image), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_gradients_of_factors() -> None:
    matrix = np.eye(5, dtype=np.float32) * 3 + np.ones((5, 5), np.float32)

    def loss(a):
        return jnp.linalg.slogdet(a)[1] + jnp.linalg.cholesky(a).sum() + jnp.linalg.eigvalsh(a).max()

    found, expected = fd.jit(jax.grad(loss))(matrix), jax.jit(jax.grad(loss))(matrix)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_a_singular_matrix_gives_what_jax_gives() -> None:
    found = fd.jit(jnp.linalg.inv)(np.zeros((3, 3), np.float32))
    assert not np.isfinite(found).any()
    assert np.isnan(fd.jit(jnp.linalg.cholesky)(-np.eye(3, dtype=np.float32))).all(where=np.tri(3, dtype=bool))
