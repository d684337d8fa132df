"""What JAX calls LAPACK for is said with `fuse` ops, and means what NumPy says."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass, convert
from fuse_dialect.loading.module_file import read_module

PROGRAM = Path(__file__).parents[2] / "data" / "jax" / "linear_algebra.mlir"
NEAR = {"rtol": 1e-4, "atol": 1e-4}


def test_a_program_of_jax_is_what_numpy_says() -> None:
    random = np.random.default_rng(0)
    a = (random.standard_normal((6, 6)) + 4 * np.eye(6)).astype(np.float32)
    b, tall = (random.standard_normal(shape).astype(np.float32) for shape in ((6, 2), (8, 5)))
    program = fd.compile(read_module(str(PROGRAM)).module, cache=False)
    solution, inverse, least, det, sign, logarithm, values, q, r, eigenvalues, vectors, u, s, vh = program(a, b, tall)
    np.testing.assert_allclose(solution, np.linalg.solve(a, b), **NEAR)
    np.testing.assert_allclose(inverse, np.linalg.inv(a), **NEAR)
    np.testing.assert_allclose(least, np.linalg.lstsq(tall, tall[:, 0])[0], **NEAR)
    np.testing.assert_allclose(det, np.linalg.det(a), rtol=1e-4)
    np.testing.assert_allclose([sign, logarithm], np.linalg.slogdet(a), **NEAR)
    np.testing.assert_allclose(values, np.linalg.svd(tall, compute_uv=False), **NEAR)
    np.testing.assert_allclose(q @ r, tall, **NEAR)
    np.testing.assert_allclose(vectors * eigenvalues @ vectors.T, a @ a.T + np.eye(6), **NEAR, err_msg="eigh")
    np.testing.assert_allclose(u * s @ vh, tall, **NEAR)


def test_swaps_are_no_loop() -> None:
    module = read_module(str(PROGRAM)).module
    convert(module)
    names = [op.name for op in ops_inside(module)]
    assert "fuse.loop" not in names
    assert {"fuse.lu", "fuse.householder_qr", "fuse.eigh", "fuse.svd", "fuse.svdvals"} <= {*names}


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_of_stablehlo(lower: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 3))
    x = x @ x.swapaxes(-1, -2) + np.eye(3)
    text = f"""
    func.func @main(%a: tensor<2x3x3xf64>) -> tensor<2x3x3xf64> {{
      %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : tensor<2x3x3xf64>
      return %0 : tensor<2x3x3xf64>
    }}"""
    (factor,) = fd.run(fd.parse(text), x)
    expected = np.linalg.cholesky(x)
    np.testing.assert_allclose(factor, expected if lower else expected.swapaxes(-1, -2))


@pytest.mark.parametrize(
    ("target", "element", "reason"),
    [
        ("lapack_cpotrf_ffi", "complex<f32>", "factors of complex matrices"),
        ("lapack_sgeev_ffi", "f32", "a call of a function outside"),
        ("lapack_spotrf_ffi", "f32", "a routine without its option 'uplo'"),
    ],
)
def test_other_calls_are_refused(target: str, element: str, reason: str) -> None:
    type = f"tensor<3x3x{element}>"
    text = f"""
    func.func @main(%a: {type}) -> {type} {{
      %0:2 = stablehlo.custom_call @{target}(%a) : ({type}) -> ({type}, tensor<i32>)
      return %0#0 : {type}
    }}"""
    with pytest.raises(OpError, match=reason):
        ConvertStableHLOToFusePass(strict=True).apply(Context(), fd.parse(text))
