"""Thirty programs of JAX with solvers, transforms, and heads that hold linear algebra, none tuned for."""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax


def _kernel(x: Any, y: Any) -> Any:
    return jnp.exp(-0.5 * jnp.square(x[:, None, :] - y[None, :, :]).sum(-1))


def gaussian_process(x: Any, y: Any, t: Any) -> Any:
    """Mean and variance of a Gaussian process."""
    factor = jsp.linalg.cho_factor(_kernel(x, x) + 0.1 * jnp.eye(len(x)), lower=True)
    cross = _kernel(t, x)
    return cross @ jsp.linalg.cho_solve(factor, y), 1 - (cross * jsp.linalg.cho_solve(factor, cross.T).T).sum(1)


def marginal_likelihood(x: Any, y: Any) -> Any:
    """The gradient of a Gaussian process's likelihood by its length."""

    def negative(length: Any) -> Any:
        lower = jnp.linalg.cholesky(_kernel(x / length, x / length) + 0.1 * jnp.eye(len(x)))
        whitened = jsp.linalg.solve_triangular(lower, y, lower=True)
        return 0.5 * whitened @ whitened + jnp.log(jnp.diagonal(lower)).sum()

    return jax.value_and_grad(negative)(jnp.float32(1.5))


def ridge(x: Any, y: Any) -> Any:
    """Ridge regression by the normal equations."""
    return jnp.linalg.solve(x.T @ x + jnp.eye(x.shape[1]), x.T @ y)


def least_squares(x: Any, y: Any) -> Any:
    """Least squares by QR."""
    q, r = jnp.linalg.qr(x)
    return jsp.linalg.solve_triangular(r, q.T @ y)


def principal_components(x: Any) -> Any:
    """A projection on eight principal axes, whose signs are free."""
    centred = x - x.mean(0)
    return jnp.abs(centred @ jnp.linalg.svd(centred, full_matrices=False)[2][:8].T)


def whitening(x: Any) -> Any:
    """Rows whose covariance is the identity."""
    centred = x - x.mean(0)
    values, vectors = jnp.linalg.eigh(centred.T @ centred / len(x))
    return centred @ (vectors * lax.rsqrt(values + 1e-3)) @ vectors.T


def kalman(observed: Any) -> Any:
    """A Kalman filter of four states over 32 steps."""
    move, see = jnp.eye(4) + 0.1 * jnp.eye(4, k=2), jnp.eye(2, 4)

    def step(state: Any, seen: Any) -> Any:
        mean, spread = move @ state[0], move @ state[1] @ move.T + 0.01 * jnp.eye(4)
        innovation = see @ spread @ see.T + 0.1 * jnp.eye(2)
        gain = jnp.linalg.solve(innovation, see @ spread).T
        mean = mean + gain @ (seen - see @ mean)
        return (mean, spread - gain @ see @ spread), mean

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observed)[1]


def newton(x: Any) -> Any:
    """Six steps of Newton's method on a smooth function."""

    def value(x: Any) -> Any:
        return jnp.logaddexp(x, -x).sum() + 0.1 * jnp.square(jnp.convolve(x, jnp.ones(3), "same")).sum()

    return lax.fori_loop(0, 6, lambda _, x: x - jnp.linalg.solve(jax.hessian(value)(x), jax.grad(value)(x)), x)


def gauss_newton(points: Any) -> Any:
    """A circle through points."""

    def residuals(p: Any) -> Any:
        return jnp.hypot(points[:, 0] - p[0], points[:, 1] - p[1]) - p[2]

    def step(_: Any, p: Any) -> Any:
        j, r = jax.jacfwd(residuals)(p), residuals(p)
        return p - jnp.linalg.solve(j.T @ j + 1e-4 * jnp.eye(3), j.T @ r)

    return lax.fori_loop(0, 8, step, jnp.array([0.1, 0.2, 1.0]))


def procrustes(x: Any, y: Any) -> Any:
    """The rotation that brings points to others."""
    u, _, vh = jnp.linalg.svd(x.T @ y)
    return x @ (u @ jnp.diag(jnp.array([1.0, 1.0, 1.0]).at[2].set(jnp.sign(jnp.linalg.det(u @ vh)))) @ vh)


def normal_log_density(x: Any, mean: Any, root: Any) -> Any:
    """Log densities of a normal distribution."""
    return jsp.stats.multivariate_normal.logpdf(x, mean, root @ root.T + jnp.eye(len(mean)))


def mixture(x: Any, means: Any, roots: Any) -> Any:
    """Responsibilities of a mixture of normal distributions."""
    lower = jnp.linalg.cholesky(roots @ jnp.swapaxes(roots, 1, 2) + jnp.eye(x.shape[1]))

    def density(factor: Any, mean: Any) -> Any:
        z = jsp.linalg.solve_triangular(factor, (x - mean).T, lower=True)
        return -0.5 * jnp.square(z).sum(0) - jnp.log(jnp.diagonal(factor)).sum()

    return jax.nn.softmax(jax.vmap(density)(lower, means), axis=0)


def flow(x: Any, w: Any) -> Any:
    """A step of a normalizing flow: a product, and its log determinant."""
    return jnp.tanh(x @ w), jnp.linalg.slogdet(w)[1]


def exponential(a: Any) -> Any:
    """The exponential of a matrix."""
    return jsp.linalg.expm(a * 0.1)


def cayley(w: Any, x: Any) -> Any:
    """An orthogonal layer by Cayley's transform."""
    skew, one = w - w.T, jnp.eye(len(w))
    return x @ jnp.linalg.solve(one + skew, one - skew)


def shampoo(g: Any) -> Any:
    """A step of Shampoo: fourth roots of two matrices."""

    def root(m: Any) -> Any:
        values, vectors = jnp.linalg.eigh(m + 1e-3 * jnp.eye(len(m)))
        return (vectors * jnp.maximum(values, 1e-6) ** -0.25) @ vectors.T

    return root(g @ g.T) @ g @ root(g.T @ g)


def small_systems(a: Any, b: Any) -> Any:
    """A thousand systems of three equations."""
    return jnp.linalg.solve(a + 4 * jnp.eye(3), b)


def small_inverses(a: Any) -> Any:
    """Inverses of 512 matrices of rank four, and their determinants."""
    a = a + 4 * jnp.eye(4)
    return jnp.linalg.inv(a), jnp.linalg.det(a)


def nuclear_norm(x: Any) -> Any:
    """Singular values, shrunk."""
    u, s, vh = jnp.linalg.svd(x, full_matrices=False)
    return (u * jax.nn.relu(s - 0.5)) @ vh


def spectrogram(x: Any) -> Any:
    """Magnitudes of frames."""
    frames = x[jnp.arange(0, x.shape[0] - 255, 64)[:, None] + jnp.arange(256)]
    return jnp.log1p(jnp.abs(jnp.fft.rfft(frames * jnp.hanning(256))))


def convolution(x: Any, k: Any) -> Any:
    """A long convolution by transforms."""
    size = 2 * x.shape[-1]
    return jnp.fft.irfft(jnp.fft.rfft(x, size) * jnp.fft.rfft(k, size), size)[..., : x.shape[-1]]


def fourier_mixing(x: Any) -> Any:
    """The mixing layer of FNet."""
    return jnp.fft.fft2(x).real


def spectral_layer(x: Any, real: Any, imag: Any) -> Any:
    """A layer of a Fourier neural operator: 16 waves of each channel."""
    waves = jnp.fft.rfft(x, axis=1)[:, :16]
    mixed = jnp.einsum("bkc,kcd->bkd", waves, real + 1j * imag)
    return jax.nn.gelu(jnp.fft.irfft(mixed, x.shape[1], axis=1))


def poisson(f: Any) -> Any:
    """The Poisson equation on a torus."""
    n = f.shape[0]
    k = jnp.fft.fftfreq(n) * n
    waves = k[:, None] ** 2 + k[None, : n // 2 + 1] ** 2
    return jnp.fft.irfft2(jnp.fft.rfft2(f) / jnp.where(waves == 0, 1, -waves))


def blur(x: Any) -> Any:
    """A blur of images by transforms."""
    gain = jnp.exp(-40 * (jnp.fft.fftfreq(64)[:, None] ** 2 + jnp.fft.rfftfreq(64) ** 2))
    return jnp.fft.irfft2(jnp.fft.rfft2(x) * gain)


def cosine_transform(x: Any) -> Any:
    """A discrete cosine transform, and its inverse with small numbers left out."""
    y = jsp.fft.dct(x)
    return jsp.fft.idct(jnp.where(jnp.abs(y) > 0.5, y, 0))


def rotary(x: Any, angle: Any) -> Any:
    """Rotary positions with complex numbers."""
    z = lax.complex(x[..., ::2], x[..., 1::2]) * jnp.exp(1j * angle)
    return jnp.stack([z.real, z.imag], -1).reshape(x.shape)


def state_space(x: Any, decay: Any, mix: Any) -> Any:
    """A diagonal state space layer, whose states are complex."""
    gates = jnp.broadcast_to(jnp.exp(lax.complex(-jnp.abs(decay), 3 * decay)), (x.shape[0], len(decay)))
    values = (x @ mix) * (1 + 0j)

    def both(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    return lax.associative_scan(both, (gates, values))[1].real


def correlation(x: Any, y: Any) -> Any:
    """Where a signal lies in another one."""
    size = 2 * x.shape[-1]
    product = jnp.fft.irfft(jnp.fft.rfft(x, size) * jnp.conj(jnp.fft.rfft(y, size)), size)
    return jnp.argmax(product, -1), product.max(-1)


def lqr(q: Any) -> Any:
    """Twenty steps of the Riccati equation of a regulator."""
    a, b = jnp.eye(6) + 0.1 * jnp.eye(6, k=3), jnp.eye(6, 2, k=-3)

    def step(p: Any, _: Any) -> Any:
        gain = jnp.linalg.solve(jnp.eye(2) + b.T @ p @ b, b.T @ p @ a)
        return q @ q.T + a.T @ p @ (a - b @ gain), gain

    return lax.scan(step, jnp.eye(6), None, length=20)[1]


_SHAPES: Mapping[Callable[..., Any], tuple[tuple[int, ...], ...]] = {
    gaussian_process: ((96, 4), (96,), (32, 4)),
    marginal_likelihood: ((64, 3), (64,)),
    ridge: ((256, 32), (256,)),
    least_squares: ((256, 16), (256,)),
    principal_components: ((128, 32),),
    whitening: ((256, 24),),
    kalman: ((32, 2),),
    newton: ((24,),),
    gauss_newton: ((64, 2),),
    procrustes: ((128, 3), (128, 3)),
    normal_log_density: ((256, 16), (16,), (16, 16)),
    mixture: ((256, 6), (8, 6), (8, 6, 6)),
    flow: ((64, 48), (48, 48)),
    exponential: ((24, 24),),
    cayley: ((48, 48), (64, 48)),
    shampoo: ((48, 32),),
    small_systems: ((1000, 3, 3), (1000, 3, 2)),
    small_inverses: ((512, 4, 4),),
    nuclear_norm: ((48, 32),),
    spectrogram: ((8192,),),
    convolution: ((16, 256), (16, 256)),
    fourier_mixing: ((4, 64, 128),),
    spectral_layer: ((4, 128, 32), (16, 32, 32), (16, 32, 32)),
    poisson: ((64, 64),),
    blur: ((4, 64, 64),),
    cosine_transform: ((32, 64),),
    rotary: ((8, 64, 64), (64, 32)),
    state_space: ((64, 16), (32,), (16, 32)),
    correlation: ((8, 200), (8, 200)),
    lqr: ((6, 6),),
}


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The programs by name, each with its arguments."""
    found: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    for place, (function, shapes) in enumerate(_SHAPES.items()):
        random = np.random.default_rng(place)
        arrays = tuple(jnp.asarray(random.standard_normal(shape).astype(np.float32)) for shape in shapes)
        found[function.__name__] = (function, arrays)
    return found
