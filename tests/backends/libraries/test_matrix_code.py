"""Kernels around LAPACK give what NumPy gives: shapes, triangles, batches, results that nobody reads, and failures."""

from itertools import product

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.libraries import lapack

pytest.importorskip("llvmlite")
pytest.importorskip("scipy")

SHAPES = [(6, 6), (5, 3), (3, 5), (40, 33), (1, 1)]


def tensor(*sizes: int, element: str = "f32") -> str:
    return "tensor<" + "".join(f"{size}x" for size in sizes) + element + ">"


def compiled(op: str, types: list[str], results: list[str], returned: list[int] | None = None):
    """A program of one op, and the same as text."""
    returned = list(range(len(results))) if returned is None else returned
    operands = ", ".join(f"%a{place}" for place in range(len(types)))
    name, _, properties = op.partition(",")
    text = f"""func.func @main({", ".join(f"%a{place}: {type}" for place, type in enumerate(types))})
      -> ({", ".join(results[place] for place in returned)}) {{
      %r:{len(results)} = {name} {operands}{"," + properties if properties else ""}
        : ({", ".join(types)}) -> ({", ".join(results)})
      return {", ".join(f"%r#{place}" for place in returned)} : {", ".join(results[place] for place in returned)}
    }}"""
    program = fd.compile(fd.parse(text), cache=False)
    assert [kernel.family for kernel in program.kernels] == ["library"]
    return program, fd.parse(text)


def check(op: str, arrays: list[np.ndarray], results: list[str], *, either_sign: tuple[int, ...] = ()) -> None:
    element = {4: "f32", 8: "f64"}[arrays[0].itemsize]
    types = [tensor(*array.shape, element=element) for array in arrays]
    program, module = compiled(op, types, results)
    near = {"rtol": 2e-3, "atol": 2e-3} if element == "f32" else {"rtol": 1e-8, "atol": 1e-8}
    for place, (found, expected) in enumerate(zip(program(*arrays), fd.run(module, *arrays), strict=True)):
        if place in either_sign:
            found, expected = np.abs(found), np.abs(expected)
        np.testing.assert_allclose(found, expected, **near)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_are_those_of_numpy(shape: tuple[int, int], batch: tuple[int, ...], element: str) -> None:
    rows, columns = shape
    random, fewer, dtype = np.random.default_rng(0), min(shape), f"f{int(element[1:]) // 8}"
    x = (random.normal(size=(*batch, *shape)) + 3 * np.eye(*shape)).astype(dtype)

    def of(*sizes: int, kind: str = element) -> str:
        return tensor(*batch, *sizes, element=kind)

    check("fuse.lu", [x], [of(*shape), of(fewer, kind="i32"), of(rows, kind="i32")])
    check("fuse.householder_qr", [x], [of(*shape), of(fewer)])
    check("fuse.svdvals", [x], [of(fewer)])
    check("fuse.svd", [x], [of(rows, fewer), of(fewer), of(fewer, columns)], either_sign=(0, 2))
    if rows >= columns:
        scales = random.normal(size=(*batch, columns)).astype(dtype)
        check("fuse.householder_product", [x, scales], [of(*shape)])
    if rows != columns:
        return
    definite = x @ np.swapaxes(x, -1, -2) + np.eye(rows, dtype=dtype)
    sides = random.normal(size=(*batch, rows, 4)).astype(dtype)
    check("fuse.cholesky", [definite], [of(*shape)])
    check("fuse.cholesky, upper = true", [definite], [of(*shape)])
    check("fuse.inverse", [x], [of(*shape)])
    check("fuse.eigh", [definite], [of(rows), of(*shape)], either_sign=(1,))
    check("fuse.eigvalsh, lower = false", [definite], [of(rows)])
    check("fuse.solve", [x, sides], [of(rows, 4)])
    check("fuse.solve", [x, sides[..., :1].copy()], [of(rows, 1)])


@pytest.mark.parametrize("flags", list(product([True, False], repeat=4)), ids=str)
def test_triangles_stand_where_they_are_said_to(flags: tuple[bool, ...]) -> None:
    random = np.random.default_rng(0)
    a = random.normal(size=(2, 5, 5)) * 0.3 + np.eye(5)
    b = random.normal(size=(2, 5, 3) if flags[0] else (2, 3, 5))
    names = ("left", "lower", "transpose", "unit_diagonal")
    properties = "".join(f", {name} = {str(flag).lower()}" for name, flag in zip(names, flags, strict=True))
    check(f"fuse.triangular_solve{properties}", [a, b], [tensor(*b.shape, element="f64")])


def test_a_solution_that_overflows_is_infinite_in_what_follows_from_it() -> None:
    """BLAS solves in the element type, and so does the reference: the last element is beyond f32, the next is of it."""
    a = np.array([[1, 0, 0], [0, -4e26, -5e-6], [0, 0, 1.2e-38]], np.float32)
    b = np.array([[0], [0], [-2e12]], np.float32)
    program, module = compiled("fuse.triangular_solve, lower = false", [tensor(3, 3), tensor(3, 1)], [tensor(3, 1)])
    for found in (program(a, b)[0], fd.run(module, a, b)[0]):
        assert found[1] == np.inf
        assert found[2] == -np.inf


@pytest.mark.parametrize("returned", [[0], [2, 0], [1]], ids=str)
def test_results_that_nobody_reads_are_put_down(returned: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    results = [tensor(2, 4, 4), tensor(2, 4, element="i32"), tensor(2, 4, element="i32")]
    program, module = compiled("fuse.lu", [tensor(2, 4, 4)], results, returned)
    for found, expected in zip(program(x), fd.run(module, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_full_vectors_are_orthogonal() -> None:
    x = np.random.default_rng(0).normal(size=(7, 4))
    sizes = [tensor(7, 7, element="f64"), tensor(4, element="f64"), tensor(4, 4, element="f64")]
    program, _ = compiled("fuse.svd, full_matrices = true", [tensor(7, 4, element="f64")], sizes)
    u, s, vh = program(x)
    np.testing.assert_allclose(u.T @ u, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(u[:, :4] * s @ vh, x, atol=1e-12)


@pytest.mark.parametrize("op", ["fuse.cholesky", "fuse.inverse", "fuse.solve"])
def test_a_matrix_that_fails_gives_nans_and_others_do_not(op: str) -> None:
    x = np.stack([np.eye(4, dtype=np.float32) * 2, np.zeros((4, 4), np.float32), np.eye(4, dtype=np.float32)])
    arrays = [x, x] if op == "fuse.solve" else [x]
    program, _ = compiled(op, [tensor(3, 4, 4)] * len(arrays), [tensor(3, 4, 4)])
    (found,) = program(*arrays)
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("op", ["svd", "svdvals", "eigh", "eigvalsh, lower = false"])
def test_what_iterates_never_gets_what_is_not_finite(op: str, number: float) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 3, 3))
    x[np.arange(39), random.integers(0, 3, 39), random.integers(0, 3, 39)] = number
    whole, line = tensor(40, 3, 3, element="f64"), tensor(40, 3, element="f64")
    results = {"svd": [whole, line, whole], "eigh": [line, whole]}.get(op, [line])
    program, module = compiled(f"fuse.{op}", [whole], results)
    for found, expected in zip(program(x), fd.run(module, x), strict=True):
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-9, atol=1e-9)


def test_a_loop_around_factors_is_native() -> None:
    text = """func.func @main(%a: tensor<4x4xf32>, %n: tensor<i64>) -> tensor<4x4xf32> {
      %r = fuse.loop limit(%n : tensor<i64>) states(%a : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
      ^bb0(%i: tensor<i64>, %x: tensor<4x4xf32>):
        %y = fuse.inverse %x : tensor<4x4xf32>
        %z = fuse.add %y, %a : tensor<4x4xf32>
        fuse.yield %z : tensor<4x4xf32>
      }
      return %r : tensor<4x4xf32>
    }"""
    a = np.eye(4, dtype=np.float32) * 2
    module = fd.parse(text)
    program = fd.compile(module, cache=False)
    np.testing.assert_allclose(program(a, np.array(3))[0], fd.run(module, a, np.array(3))[0], rtol=1e-6)
    assert {kernel.family for kernel in program.kernels} >= {"library"}
    assert not any(kernel.family in ("numpy", "mixed") for kernel in program.kernels)


def test_transforms_are_those_of_numpy() -> None:
    text = """func.func @main(%x: tensor<3x96xf32>) -> (tensor<3x49xf32>, tensor<3x96xf32>) {
      %re, %im = fuse.rfft %x : (tensor<3x96xf32>) -> (tensor<3x49xf32>, tensor<3x49xf32>)
      %y = fuse.irfft %re, %im, length = 96 : (tensor<3x49xf32>, tensor<3x49xf32>) -> tensor<3x96xf32>
      return %im, %y : tensor<3x49xf32>, tensor<3x96xf32>
    }"""
    x = np.random.default_rng(0).normal(size=(3, 96)).astype(np.float32)
    imaginary, back = fd.compile(fd.parse(text), cache=False)(x)
    np.testing.assert_allclose(imaginary, np.fft.rfft(x).imag, atol=1e-4)
    np.testing.assert_allclose(back, x, atol=1e-5)


@pytest.mark.parametrize("op", ["fuse.lu", "fuse.inverse", "fuse.svdvals", "fuse.householder_qr", "fuse.eigvalsh"])
def test_without_scipy_numpy_runs_what_has_no_kernel(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "_capsules", lambda _: {})
    lapack.routine_address.cache_clear()
    lapack.work_size.cache_clear()
    results = {
        "fuse.lu": [tensor(4, 4), tensor(4, element="i32"), tensor(4, element="i32")],
        "fuse.inverse": [tensor(4, 4)],
        "fuse.householder_qr": [tensor(4, 4), tensor(4)],
    }.get(op, [tensor(4)])
    types = ", ".join(results)
    text = f"""func.func @main(%a: tensor<4x4xf32>) -> ({types}) {{
      %r:{len(results)} = {op} %a : (tensor<4x4xf32>) -> ({types})
      return {", ".join(f"%r#{place}" for place in range(len(results)))} : {types}
    }}"""
    try:
        program = fd.compile(fd.parse(text), cache=False)
        assert [kernel.family for kernel in program.kernels] == ["numpy"]
        x = np.eye(4, dtype=np.float32) * 2
        for found, expected in zip(program(x), fd.run(fd.parse(text), x), strict=True):
            np.testing.assert_array_equal(found, expected)
    finally:
        lapack.routine_address.cache_clear()
        lapack.work_size.cache_clear()
