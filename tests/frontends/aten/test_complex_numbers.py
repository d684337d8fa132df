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


PLACES = np.array([2, 0, 2])
REALS = np.arange(15, dtype=np.float32).reshape(3, 5)


def _padded(z: np.ndarray) -> np.ndarray:
    return np.pad(z, ((0, 0), (1, 2)), constant_values=2 - 1j)


def _written(z: np.ndarray, x: np.ndarray) -> np.ndarray:
    z = z.copy()
    z[:, 1:3] = x[:, 1:3]
    return z


def _put(z: np.ndarray, x: np.ndarray) -> np.ndarray:
    z = z.copy()
    np.add.at(z, (slice(None), PLACES), x[:, :3])
    return z


def meta(*sizes: int) -> TensorMeta:
    return TensorMeta(sizes, np.dtype(np.complex64))


SLICED = Call("part", "aten.slice.Tensor", (Ref("x"), 1, 1, 3), {}, (TensorMeta((3, 2), np.dtype(np.float32)),))
FIRST = Call("part", "aten.slice.Tensor", (Ref("x"), 1, 0, 3), {}, (TensorMeta((3, 3), np.dtype(np.float32)),))
OPERATORS = {
    "full_like": ([], "full_like.default", (Ref("z"), 3 - 2j), lambda z, x: np.full_like(z, 3 - 2j)),
    "zeros_like": ([], "zeros_like.default", (Ref("z"),), lambda z, x: np.zeros_like(z)),
    "copy of reals": ([], "copy.default", (Ref("z"), Ref("x")), lambda z, x: x + 0j),
    "pad": ([], "constant_pad_nd.default", (Ref("z"), [1, 2], 2 - 1j), lambda z, x: _padded(z)),
    "cat with reals": ([], "cat.default", ([Ref("z"), Ref("x")], 1), lambda z, x: np.concatenate([z, x], 1)),
    "slice_scatter of reals": ([SLICED], "slice_scatter.default", (Ref("z"), Ref("part"), 1, 1, 3), _written),
    "index_put of reals": ([FIRST], "index_put.default", (Ref("z"), [None, Ref("at")], Ref("part"), True), _put),
    "index": ([], "index.Tensor", (Ref("z"), [None, Ref("at")]), lambda z, x: z[:, PLACES]),
    "cumsum": ([], "cumsum.default", (Ref("z"), 1), lambda z, x: np.cumsum(z, 1)),
    "reciprocal": ([], "reciprocal.default", (Ref("z"),), lambda z, x: 1 / z),
    "polar": ([], "polar.default", (Ref("x"), Ref("x")), lambda z, x: x * np.exp(1j * x)),
    "where": ([], "where.self", (Ref("mask"), Ref("z"), 1j), lambda z, x: np.where(x > 4, z, 1j)),
    "addmm": (
        [],
        "addmm.default",
        (Ref("w"), Ref("w"), Ref("w")),
        lambda z, x: 2j * numbers(5, 5) + 3 * numbers(5, 5) @ numbers(5, 5),
    ),
    "mv": ([], "mv.default", (Ref("z"), Ref("v")), lambda z, x: z @ numbers(5)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_what_numpy_gives(name: str) -> None:
    before, target, arguments, expected = OPERATORS[name]
    z, x = numbers(3, 5), REALS
    wanted = expected(z, x).astype(np.complex64)
    options = {"beta": 2j, "alpha": 3} if name == "addmm" else {}
    call = Call("y", f"aten.{target}", arguments, options, (meta(*wanted.shape),))
    constants = {"at": PLACES, "mask": x > 4, "w": numbers(5, 5), "v": numbers(5)}
    graph = AtenGraph(
        [("z", Z), ("x", TensorMeta((3, 5), np.dtype(np.float32)))], [*before, call], [Ref("y")], constants
    )
    graph.drop_unread()
    assert len(graph.constants) <= 1
    module = module_of(graph)
    for (found,) in (fd.run(module, in_pairs(z), x), fd.compile(module)(in_pairs(z), x)):
        np.testing.assert_allclose(found, in_pairs(wanted), rtol=1e-5, atol=1e-5)


def test_an_operator_with_many_results_has_pairs_of_each() -> None:
    split = Call("y", "aten.split_with_sizes.default", (Ref("z"), [2, 3], 1), {}, (meta(3, 2), meta(3, 3)))
    graph = AtenGraph([("z", Z)], [split], [Ref("y", 1), Ref("y", 0)])
    z = numbers(3, 5)
    second, first = fd.run(module_of(graph), in_pairs(z))
    np.testing.assert_array_equal(second, in_pairs(z[:, 2:]))
    np.testing.assert_array_equal(first, in_pairs(z[:, :2]))


def test_calls_that_nobody_reads_are_dropped_and_inputs_stay() -> None:
    unread = Call("u", "aten.neg.default", (Ref("c"),), {}, (Z,))
    read = Call("y", "aten.neg.default", (Ref("z"),), {}, (Z,))
    graph = AtenGraph([("z", Z), ("other", Z)], [unread, read], [Ref("y")], {"c": numbers(3, 5)})
    graph.drop_unread()
    assert (graph.calls, graph.constants, len(graph.inputs)) == ([read], {}, 2)
