"""Factors of matrices, systems of equations and Fourier transforms: meaning, failures, cost."""

import numpy as np
import pytest

from fuse_dialect.dialect.ops.factorizations import (
    CholeskyOp,
    EighOp,
    EigvalshOp,
    HouseholderProductOp,
    HouseholderQrOp,
    LuOp,
    SvdOp,
    SvdvalsOp,
)
from fuse_dialect.dialect.ops.fourier import FftOp, IrfftOp, RfftOp
from fuse_dialect.dialect.ops.linear_systems import InverseOp, SolveOp, TriangularSolveOp

NEAR = {"rtol": 1e-9, "atol": 1e-9}


def adjoint(x):
    return np.swapaxes(x, -1, -2)


@pytest.mark.parametrize("shape", [(2, 3, 4, 4), (70, 70), (50, 40), (40, 50), (3, 0, 0), (2, 0, 3)])
def test_lu_is_the_matrix_with_rows_moved(build, random, shape):
    x = random.normal(size=shape)
    factors, pivots, order = build(LuOp, f"{'x'.join(map(str, shape))}xf64").evaluate(x)
    most = min(shape[-2:])
    lower = np.tril(factors[..., :, :most], -1) + np.eye(shape[-2], most)
    upper = np.triu(factors[..., :most, :])
    moved = np.take_along_axis(x, order[..., None].astype(np.int64), axis=-2)
    np.testing.assert_allclose(lower @ upper, moved, **NEAR)
    assert np.abs(lower).max(initial=0) <= 1
    for place in np.ndindex(*shape[:-2]):
        swapped = np.arange(shape[-2])
        for step, other in enumerate(pivots[place]):
            swapped[[step, other]] = swapped[[other, step]]
        np.testing.assert_array_equal(swapped, order[place])


@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5), (4, 4), (0, 3)])
def test_reflections_make_q(build, random, shape):
    x = random.normal(size=shape)
    factors, scales = build(HouseholderQrOp, f"{'x'.join(map(str, shape))}xf64").evaluate(x)
    most = min(shape[-2:])
    head = np.ascontiguousarray(factors[..., :most])
    operands = [f"{'x'.join(map(str, each.shape))}xf64" for each in (head, scales)]
    (q,) = build(HouseholderProductOp, *operands).evaluate(head, scales)
    np.testing.assert_allclose(q @ np.triu(factors[..., :most, :]), x, **NEAR)
    np.testing.assert_allclose(adjoint(q) @ q, np.broadcast_to(np.eye(most), (*shape[:-2], most, most)), **NEAR)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle(apply, random, upper):
    x = random.normal(size=(3, 4, 4))
    matrix = x @ adjoint(x) + np.eye(4)
    given = matrix + (np.tril if upper else np.triu)(np.full((4, 4), np.nan), -1 if upper else 1)
    factor = apply(CholeskyOp, given, upper=upper)
    product = adjoint(factor) @ factor if upper else factor @ adjoint(factor)
    np.testing.assert_allclose(product, matrix, **NEAR)


def test_what_fails_gives_nans_alone(apply, build, random):
    good = random.normal(size=(4, 4)) + 4 * np.eye(4)
    pair = np.stack([good, np.zeros((4, 4))])
    indefinite = np.stack([np.eye(4), -np.eye(4)])
    assert np.isfinite(apply(CholeskyOp, indefinite)[0]).all()
    assert np.isnan(apply(CholeskyOp, indefinite)[1]).all()
    for found in (apply(InverseOp, pair), apply(SolveOp, pair, pair)):
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()
    unknown = np.stack([good, np.full((4, 4), np.nan)])
    for cls in (SvdOp, EighOp):
        for found in build(cls, "2x4x4xf64").evaluate(unknown):
            assert np.isfinite(found[0]).all()
            assert np.isnan(found[1]).all()
    assert np.isinf(apply(TriangularSolveOp, np.zeros((1, 1)), np.ones((1, 1)))).all()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("cls", "properties"),
    [(SvdOp, {}), (SvdOp, {"full_matrices": True}), (SvdvalsOp, {}), (EighOp, {}), (EigvalshOp, {"lower": False})],
)
def test_what_iterates_never_gets_what_is_not_finite(build, random, cls, properties, number):
    x = random.normal(size=(40, 3, 3))
    x[np.arange(39), random.integers(0, 3, 39), random.integers(0, 3, 39)] = number
    # Only one triangle of a symmetric matrix is read, so only it counts.
    read = x if cls in (SvdOp, SvdvalsOp) else np.triu(x) if properties else np.tril(x)
    is_good = np.isfinite(read).all(axis=(1, 2))
    assert is_good.any()
    assert not is_good.all()
    for found in build(cls, "40x3x3xf64", **properties).evaluate(x):
        assert np.isfinite(found[is_good]).all()
        assert np.isnan(found[~is_good]).all()


@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_are_of_one_triangle(build, random, lower):
    x = random.normal(size=(2, 5, 5))
    symmetric = (x + adjoint(x)) / 2
    given = np.tril(symmetric) if lower else np.triu(symmetric)
    values, vectors = build(EighOp, "2x5x5xf64", lower=lower).evaluate(given)
    np.testing.assert_allclose(symmetric @ vectors, vectors * values[..., None, :], **NEAR)
    (alone,) = build(EigvalshOp, "2x5x5xf64", lower=lower).evaluate(given)
    np.testing.assert_allclose(alone, values, **NEAR)


@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 5)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_make_the_matrix(build, random, shape, full):
    x = random.normal(size=shape)
    text = f"{'x'.join(map(str, shape))}xf64"
    op = build(SvdOp, text, full_matrices=full)
    u, s, vh = op.evaluate(x)
    assert [each.shape for each in (u, s, vh)] == [tuple(type.get_shape()) for type in op.result_types]
    most = min(shape[-2:])
    np.testing.assert_allclose(u[..., :most] * s[..., None, :] @ vh[..., :most, :], x, **NEAR)
    np.testing.assert_allclose(build(SvdvalsOp, text).evaluate(x)[0], s, **NEAR)


def test_f32_is_rounded_once(apply, random):
    x = (random.normal(size=(6, 6)) + 6 * np.eye(6)).astype(np.float32)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(apply(InverseOp, x), np.linalg.inv(wide).astype(np.float32))
    np.testing.assert_array_equal(apply(SolveOp, x, x[:, :2]), np.linalg.solve(wide, wide[:, :2]).astype(np.float32))


@pytest.mark.parametrize("axes", [[-1], [0], [0, -1], [-1, 1]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transforms_are_those_of_numpy(build, random, axes, dtype):
    real, imag = random.normal(size=(2, 4, 3, 5)).astype(dtype)
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else NEAR
    text = f"4x3x5xf{8 * real.itemsize}"
    for inverse, function in ((False, np.fft.fftn), (True, np.fft.ifftn)):
        parts = build(FftOp, text, text, axes=axes, inverse=inverse).evaluate(real, imag)
        np.testing.assert_allclose(parts[0] + 1j * parts[1], function(real + 1j * imag, axes=axes), **near)
        assert {part.dtype for part in parts} == {real.dtype}
    op = build(RfftOp, text, axes=axes)
    parts = op.evaluate(real)
    np.testing.assert_allclose(parts[0] + 1j * parts[1], np.fft.rfftn(real, axes=axes), **near)
    half = f"{'x'.join(map(str, parts[0].shape))}xf{8 * real.itemsize}"
    (back,) = build(IrfftOp, half, half, axes=axes, length=real.shape[axes[-1]]).evaluate(*parts)
    np.testing.assert_allclose(back, real, **near)


def test_costs_count_cubes(build):
    assert build(CholeskyOp, "2x6x6xf32").flops() == 2 * 6**3 // 3
    assert build(LuOp, "6x4xf32").flops() == 2 * 6 * 4 * 4 // 3
    assert build(SolveOp, "3x3xf32", "3x2xf32").flops() == 18 + 36
    assert build(TriangularSolveOp, "3x3xf32", "3x2xf32").flops() == 18
    assert build(HouseholderProductOp, "5x3xf32", "3xf32").flops() == 4 * 45
    assert build(FftOp, "4x8xf32", "4x8xf32").flops() == 32 * 15
    assert build(EighOp, "?x6x6xf32").flops() is None
