"""Single operators of ATen, without PyTorch: what NumPy gives."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.frontends.aten.graph import AtenGraph, Call, Ref, TensorMeta
from fuse_dialect.frontends.aten.reader import module_of, why_not

X = np.random.default_rng(0).permuted(np.arange(24.0)).reshape(4, 6).astype(np.float32)
WITH_NAN = np.where(X[1, 2] == X, np.float32(np.nan), X)
IMAGES = np.random.default_rng(1).normal(size=(1, 2, 4, 6)).astype(np.float32)


def meta(array: Any) -> TensorMeta:
    return TensorMeta(array.shape, array.dtype)


def check(target: str, inputs: Sequence[Any], others: Sequence[Any], expected: Sequence[Any], rtol: float = 0) -> None:
    names = [f"x{place}" for place in range(len(inputs))]
    call = Call("y", f"aten.{target}", (*map(Ref, names), *others), {}, tuple(map(meta, expected)))
    results = [Ref("y", place) for place in range(len(expected))]
    module = module_of(
        AtenGraph([(name, meta(each)) for name, each in zip(names, inputs, strict=True)], [call], results)
    )
    for found in (fd.run(module, *inputs), fd.compile(module, cache=False)(*inputs)):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("k", [1, 3])
def test_kth_smallest_elements(k: int, dim: int, keepdim: bool) -> None:
    places = np.take(np.argsort(X, dim), [k - 1], dim)
    expected = np.take_along_axis(X, places, dim), places
    check("kthvalue.default", [X], [k, dim, keepdim], [each if keepdim else each.squeeze(dim) for each in expected])


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("x", [X, WITH_NAN, X.astype(np.int64)], ids=["floats", "a nan", "integers"])
def test_medians_are_the_lower_of_the_middle_or_nan(x: Any, dim: int) -> None:
    middle = (x.shape[dim] - 1) // 2
    places = np.take(np.argsort(x, dim), middle, dim)
    places = np.where(np.isnan(x).any(dim), np.isnan(x).argmax(dim), places)
    values = np.take_along_axis(x, np.expand_dims(places, dim), dim).squeeze(dim)
    check("median.dim", [x], [dim], [values, places])


@pytest.mark.parametrize("name", ["kthvalue.default", "median.dim"])
def test_one_number_has_no_order(name: str) -> None:
    one = TensorMeta((), np.dtype(np.float32))
    call = Call("y", f"aten.{name}", (Ref("x"), *([1] if "kth" in name else []), 0), {}, (one, one))
    assert why_not(call, {Ref("x"): one}) == "the order of one number"


FUNCTIONS: dict[str, Callable[[float], float]] = {"erfc": math.erfc, "lgamma": math.lgamma}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_many_steps(name: str, dtype: Any) -> None:
    x = np.linspace(0.1, 5, 24).reshape(4, 6).astype(dtype)
    expected = np.vectorize(FUNCTIONS[name])(x.astype(np.float64)).astype(dtype)
    check(f"{name}.default", [x], [], [expected], rtol=30 * float(np.finfo(dtype).eps))


def test_the_logarithm_of_one_more() -> None:
    x = np.array([math.inf, -math.inf, math.nan, -1, -2, -0.0, 0, 1e-8, 1, 1e30], np.float32)
    with np.errstate(all="ignore"):
        check("log1p.default", [x], [], [np.log1p(x)], rtol=2e-7)


def test_inverses_of_erf() -> None:
    x = np.linspace(-0.9, 0.9, 24).reshape(4, 6)
    check("erfinv.default", [np.vectorize(math.erf)(x)], [], [x], rtol=1e-12)


def test_greatest_elements_of_windows_side_by_side() -> None:
    windows = IMAGES.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(1, 2, 2, 3, 4)
    place = windows.argmax(-1)
    rows, columns = np.arange(2)[:, None] * 2 + place // 2, np.arange(3) * 2 + place % 2
    check("adaptive_max_pool2d.default", [IMAGES], [[2, 3]], [windows.max(-1), rows * 6 + columns])


@pytest.mark.parametrize("counts", [(3, 4), (1, 5), (5, 7)])
def test_greatest_elements_of_windows_of_several_sizes(counts: tuple[int, int]) -> None:
    plane, places = IMAGES.reshape(2, 24), np.zeros((1, 2, *counts), np.int64)
    grid = np.arange(24).reshape(4, 6)
    for row, column in np.ndindex(*counts):
        rows = slice(row * 4 // counts[0], math.ceil((row + 1) * 4 / counts[0]))
        columns = slice(column * 6 // counts[1], math.ceil((column + 1) * 6 / counts[1]))
        window = grid[rows, columns].reshape(-1)
        places[0, :, row, column] = window[plane[:, window].argmax(1)]
    greatest = np.take_along_axis(plane, places.reshape(2, -1), 1).reshape(places.shape)
    check("adaptive_max_pool2d.default", [IMAGES], [list(counts)], [greatest, places])


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("rows", [3, 30])
def test_distances(rows: int, p: float) -> None:
    random = np.random.default_rng(0)
    one, other = (random.normal(size=(2, count, 4)).astype(np.float32) for count in (rows, 5))
    expected = np.linalg.norm(one[:, :, None] - other[:, None], p, -1)
    check("_cdist_forward.default", [one, other], [p], [expected], rtol=1e-5)


@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_places_beside_the_diagonal(offset: int) -> None:
    for name, places in (("tril", np.tril_indices(3, offset, 4)), ("triu", np.triu_indices(3, offset, 4))):
        check(f"{name}_indices.default", [], [3, 4, offset], [np.stack(places)])


@pytest.mark.parametrize("dim", [0, 1])
def test_running_logarithms_of_sums(dim: int) -> None:
    x = (X - 12) * 4
    check("logcumsumexp.default", [x], [dim], [np.logaddexp.accumulate(x, axis=dim)], rtol=1e-6)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_layer_of_an_lstm(reverse: bool) -> None:
    random = np.random.default_rng(0)
    shapes = [(5, 2, 3), (16, 3), (16, 4), (16,), (16,), (1, 2, 4), (1, 2, 4)]
    x, w, u, b, c, h, m = given = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    state, memory, rows = h[0], m[0], list[Any]()
    for row in x[::-1] if reverse else x:
        into, forget, candidate, out = np.split(row @ w.T + state @ u.T + b + c, 4, axis=1)
        memory = _sigmoid(forget) * memory + _sigmoid(into) * np.tanh(candidate)
        state = _sigmoid(out) * np.tanh(memory)
        rows.append(state)
    expected = [np.stack(rows[::-1] if reverse else rows), state[None], memory[None]]
    check("mkldnn_rnn_layer.default", given, [reverse, [], 2, 4, 1, True, False, False, False], expected, rtol=1e-5)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_with_padding_and_one_that_is_empty(mode: int) -> None:
    table = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    bags = [table[[1, 2]], table[[]], table[[5, 0]]]
    combine = (np.sum, np.mean, np.max)[mode]
    value = np.stack([combine(bag, axis=0) if len(bag) else np.zeros(4, np.float32) for bag in bags])
    expected = [value, np.array([0, 0, 2, 2, 2, 2, 2]), np.array([2, 0, 2] if mode else [0, 0, 0])]
    given = [table, np.array([1, 2, 4, 5, 4, 0, 4]), np.array([0, 2, 2])]
    check("_embedding_bag_forward_only.default", given, [False, mode, False, None, False, 4], expected, rtol=1e-6)


def test_running_extrema_tell_their_last_place() -> None:
    x = np.array([1, 3, 2, 3, np.nan, 5, np.nan], np.float32)
    check("cummax.default", [x], [0], [np.maximum.accumulate(x), np.array([0, 1, 1, 3, 4, 4, 6])])
    check("cummin.default", [-x], [0], [np.minimum.accumulate(-x), np.array([0, 1, 1, 3, 4, 4, 6])])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1e-3, 1, 9])
def test_exponentials_of_matrices(size: float, kind: type) -> None:
    expm = pytest.importorskip("scipy.linalg").expm
    x = (np.random.default_rng(0).normal(size=(2, 5, 5)) * size).astype(kind)
    expected = np.stack([expm(each.astype(np.float64)) for each in x])
    # The condition of an exponential is the norm, at least, and rounding grows by each of 5 terms.
    norm = max(1.0, float(np.abs(x).sum(axis=1).max()))
    bound = 5 * 4 * norm * float(np.finfo(kind).eps) * float(np.abs(expected).max())
    check("linalg_matrix_exp.default", [x], [], [expected.astype(kind)], rtol=bound)


@pytest.mark.parametrize("include_self", [False, True])
def test_means_of_what_is_scattered(include_self: bool) -> None:
    places = np.array([2, 0, 2, 5])
    start = np.ones((7, 6), np.float32)
    groups = [X[places == place] for place in range(7)]
    means = [
        np.concatenate([start[:1], group]).mean(axis=0) if include_self or not len(group) else group.mean(axis=0)
        for group in groups
    ]
    index = np.broadcast_to(places[:, None], X.shape).copy()
    call = Call(
        "y", "aten.scatter_reduce.two", (Ref("s"), 0, Ref("i"), Ref("x"), "mean"), {"include_self": include_self},
        (meta(start),),
    )  # fmt: skip
    module = module_of(AtenGraph([("s", meta(start)), ("i", meta(index)), ("x", meta(X))], [call], [Ref("y")]))
    for (found,) in (fd.run(module, start, index, X), fd.compile(module, cache=False)(start, index, X)):
        np.testing.assert_allclose(found, np.stack(means), rtol=1e-6)


EDGES = np.array([math.inf, -math.inf, math.nan, -0.0, 0.0, 1.0, -1.0, 2.5, -2.5, 0.3, 0.1])
FUNCTIONS_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "atan2.default": np.arctan2,
    "copysign.Tensor": np.copysign,
    "floor_divide.default": np.floor_divide,
    "fmax.default": np.fmax,
    "fmin.default": np.fmin,
    "hypot.default": np.hypot,
    "remainder.Tensor": np.remainder,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS_OF_TWO)
def test_functions_of_two_numbers_at_their_edges(name: str, dtype: Any) -> None:
    x, y = (np.ascontiguousarray(each) for each in np.meshgrid(EDGES.astype(dtype), EDGES.astype(dtype)))
    with np.errstate(all="ignore"):
        expected = FUNCTIONS_OF_TWO[name](x, y)
        if name == "floor_divide.default":  # PyTorch divides by zero as the machine does
            expected = np.where(y == 0, x / y, expected)
    check(name, [x, y], [], [expected], rtol=2e-7)


def test_lengths_do_not_overflow() -> None:
    x = np.array([2e38, 1e-30, 0], np.float32)
    check("hypot.default", [x, x], [], [np.hypot(x.astype(np.float64), x).astype(np.float32)], rtol=2e-7)


def test_quotients_are_not_rounded_before_their_floor() -> None:
    x, tenth = np.arange(1, 200, dtype=np.float32) / 10, np.full(199, 0.1, np.float32)
    check("floor_divide.default", [x, tenth], [], [np.floor_divide(x, tenth)])


@pytest.mark.parametrize(
    "x", [np.array([-0.0, 0.0, -1.0, 1.0, -math.inf]), np.array([-3, 0, 3])], ids=["floats", "integers"]
)
def test_signs_that_are_set(x: Any) -> None:
    check("signbit.default", [x], [], [np.signbit(x.astype(np.float64))])


@pytest.mark.parametrize("x", [X, WITH_NAN], ids=["floats", "a nan"])
def test_the_median_of_all(x: Any) -> None:
    check("median.default", [x], [], [np.sort(x, None)[11] if x is X else np.array(np.nan, np.float32)])


def test_sums_of_windows_over_a_divisor() -> None:
    windows = np.lib.stride_tricks.sliding_window_view(IMAGES, (3, 2), (2, 3))
    expected = (windows.sum((-1, -2)) / 5).astype(np.float32)
    check("avg_pool2d.default", [IMAGES], [[3, 2], [1, 1], [0, 0], False, True, 5], [expected], rtol=1e-6)
