"""Graphs of ATen operators on complex numbers, without PyTorch: what NumPy gives."""

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.aten.graph import AtenGraph, Call, Ref, TensorMeta, from_json, to_json
from fuse_dialect.frontends.aten.reader import module_of, why_not

Z = TensorMeta((3, 5), np.dtype(np.complex64))
X = TensorMeta((3, 8), np.dtype(np.float32))


def numbers(*shape: int) -> np.ndarray:
    random = np.random.default_rng(0)
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(np.complex64)


def in_pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], axis=-1)


def test_a_spectrum_is_turned_and_comes_back() -> None:
    calls = [
        Call("spectrum", "aten._fft_r2c.default", (Ref("x"), [1], 0, True), {}, (Z,)),
        Call("turned", "aten.mul.Tensor", (Ref("spectrum"), Ref("z")), {}, (Z,)),
        Call("back", "aten._fft_c2r.default", (Ref("turned"), [1], 2, 8), {}, (X,)),
    ]
    graph = AtenGraph([("x", X), ("z", Z)], calls, [Ref("back"), Ref("turned")])
    x, z = np.random.default_rng(1).normal(size=(3, 8)).astype(np.float32), numbers(3, 5)
    turned = np.fft.rfft(x) * z
    for each in (graph, from_json(to_json(graph))):
        for results in (fd.run(module_of(each), x, in_pairs(z)), fd.compile(module_of(each))(x, in_pairs(z))):
            np.testing.assert_allclose(results[0], np.fft.irfft(turned, 8), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(results[1], in_pairs(turned), rtol=1e-4, atol=1e-5)


def test_constants_of_complex_numbers_are_two() -> None:
    z = numbers(3, 5)
    call = Call("y", "aten.add.Tensor", (Ref("c"), Ref("z")), {"alpha": 2}, (Z,))
    graph = AtenGraph([("z", Z)], [call], [Ref("y")], {"c": z})
    (found,) = fd.run(module_of(graph), in_pairs(z))
    np.testing.assert_allclose(found, in_pairs(3 * z), rtol=1e-6)


def test_what_has_no_rule_for_complex_numbers_says_so() -> None:
    call = Call("y", "aten.prod.default", (Ref("z"),), {}, (TensorMeta((), np.dtype(np.complex64)),))
    assert why_not(call, {Ref("z"): Z}) == "complex numbers"
    with pytest.raises(FuseError, match=r"'aten.prod.default' is not supported: complex numbers"):
        module_of(AtenGraph([("z", Z)], [call], [Ref("y")]))
