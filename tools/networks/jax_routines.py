"""Routines of linear algebra and Fourier transforms alone, each at several sizes."""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np

SIZES = (4, 16, 64, 256, 1024)
"""Rows of a matrix, or points of a transform."""
TRANSFORMS = 64
"""Transforms of one axis in a call."""


def _halves(x: Any) -> Any:
    """Real and imaginary parts: results are compared as numbers."""
    return x.real, x.imag


ROUTINES: Mapping[str, tuple[Callable[..., Any], str]] = {
    "solve": (lambda a, b: jnp.linalg.solve(a, b), "square and vector"),
    "solve_triangular": (lambda a, b: jsp.linalg.solve_triangular(a, b, lower=True), "square and vector"),
    "cho_solve": (lambda a, b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(a), b), "definite and vector"),
    "cholesky": (jnp.linalg.cholesky, "definite"),
    "inv": (jnp.linalg.inv, "square"),
    "det": (jnp.linalg.slogdet, "square"),
    "qr": (lambda a: abs(jnp.linalg.qr(a).R), "square"),
    "eigvalsh": (jnp.linalg.eigvalsh, "definite"),
    "eigh": (lambda a: abs(jnp.linalg.eigh(a).eigenvectors), "definite"),
    "svdvals": (lambda a: jnp.linalg.svd(a, compute_uv=False), "square"),
    "svd": (lambda a: [abs(each) for each in jnp.linalg.svd(a)], "definite"),
    "fft": (lambda x: _halves(jnp.fft.fft(x)), "rows"),
    "rfft": (lambda x: _halves(jnp.fft.rfft(x)), "rows"),
    "irfft": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2), "rows"),
    "fft2": (lambda x: _halves(jnp.fft.fft2(x)), "square"),
}
"""Each with what it is called with; results whose signs are free are compared without them."""


def arguments(kind: str, size: int) -> tuple[np.ndarray, ...]:
    """Arrays that a routine is called with: matrices far from singular ones, whose eigenvalues are far apart."""
    random = np.random.default_rng(size)
    if kind == "rows":
        return (random.standard_normal((TRANSFORMS, size)).astype(np.float32),)
    square = random.standard_normal((size, size)) / np.sqrt(size)
    if kind.startswith("definite"):
        factor = np.linalg.qr(square)[0]
        square = (factor * np.linspace(1, 4, size)) @ factor.T
    else:
        square = square + 2 * np.eye(size)
    vector = random.standard_normal(size).astype(np.float32)
    return (square.astype(np.float32), vector)[: 1 + kind.endswith("vector")]


def programs() -> Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """By name and size the function and its arguments, arrays of JAX."""
    return {
        f"{name} {size}": (function, tuple(jnp.asarray(each) for each in arguments(kind, size)))
        for name, (function, kind) in ROUTINES.items()
        for size in SIZES
    }
