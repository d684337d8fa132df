"""Forms of ONNX operators that models seldom have, at several sizes, against ONNX's reference evaluator."""

from typing import cast

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import fuse_dialect as fd
from fuse_dialect.frontends.onnx.reader import import_model


def model_of(body: str, inputs: str = "float[a, b, c] x", results: str = "float y", opset: int = 18) -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g ({inputs}) => ({results}) {{ {body} }}'
    return onnx.parser.parse_model(text)


def _evaluated(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    return cast("list[np.ndarray]", ReferenceEvaluator(model).run(None, inputs))  # pyright: ignore[reportUnknownMemberType]


def check(model: onnx.ModelProto, *arrays: np.ndarray) -> None:
    """The interpreter and machine code give what ONNX's evaluator does."""
    names = [value.name for value in model.graph.input]
    expected = _evaluated(model, dict(zip(names, arrays, strict=True)))
    module = import_model(model)
    for results in (fd.run(module, *arrays), fd.compile(module, cache=False)(*arrays)):
        for result, wanted in zip(results, expected, strict=True):
            assert result.dtype == wanted.dtype
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def numbers(*sizes: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-9, 9, sizes).astype(np.float32)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("sizes", ["2, 3, 4", "a, b, c"])
@pytest.mark.parametrize("k", [0, 2, -2, 9, -(1 << 63), (1 << 63) - 1])
def test_the_diagonal_of_a_triangle_is_an_input(k: int, sizes: str, upper: int) -> None:
    model = model_of(f"y = Trilu<upper={upper}>(x, k)", f"float[{sizes}] x, int64 k")
    x = numbers(2, 3, 4)
    expected = (np.triu if upper else np.tril)(x, max(-9, min(k, 9)))
    module = import_model(model)
    for (result,) in (fd.run(module, x, np.array(k)), fd.compile(module, cache=False)(x, np.array(k))):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_hardmax_over_an_open_axis(axis: int) -> None:
    for sizes in ((2, 3, 4), (3, 1, 2)):
        check(model_of(f"y = Hardmax<axis={axis}>(x)"), numbers(*sizes))


def test_hardmax_over_open_axes_that_are_one() -> None:
    x = numbers(2, 3, 4)
    (result,) = fd.run(import_model(model_of("y = Hardmax<axis=1>(x)", opset=11)), x)
    flat = x.reshape(2, 12)
    np.testing.assert_array_equal(result.reshape(2, 12), np.arange(12) == flat.argmax(1)[:, None])


def test_layer_norm_over_an_open_axis_without_beta() -> None:
    model = model_of("y = LayerNormalization(x, s)", "float[a, b, c] x, float[c] s")
    for size in (4, 1, 7):
        check(model, numbers(2, 3, size), numbers(size))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("operator", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
def test_reductions_of_integers(operator: str, dtype: str) -> None:
    """The result is an integer: what stands behind the point goes."""
    x = np.arange(1, 13).reshape(3, 4)
    real = x.astype(np.float64)
    expected = {
        "ReduceL2": np.sqrt((real**2).sum(1)),
        "ReduceLogSum": np.log(real.sum(1)),
        "ReduceLogSumExp": np.log(np.exp(real).sum(1)),
    }[operator]
    body = f"axes = Constant<value=int64[1] {{1}}>() y = {operator}<keepdims=0>(x, axes)"
    module = import_model(model_of(body, f"{dtype}[3, 4] x", f"{dtype} y"))
    for (result,) in (fd.run(module, x.astype(dtype)), fd.compile(module, cache=False)(x.astype(dtype))):
        np.testing.assert_array_equal(result, expected.astype(dtype))


@pytest.mark.parametrize(("size", "count"), [(7, 4), (8, 4), (9, 5)])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms_of_windows_that_reach_over_the_end(p: int, size: int, count: int) -> None:
    """What lies outside is 0, as in onnxruntime; ONNX's evaluator scales by how much of a window lies inside."""
    form = f"kernel_shape=[3,1],strides=[2,1],pads=[1,0,0,0],ceil_mode=1,p={p}"
    module = import_model(model_of(f"y = LpPool<{form}>(x)", f"float[1, 2, {size}, 3] x"))
    x = numbers(1, 2, size, 3)
    wide = np.abs(np.pad(x, [(0, 0), (0, 0), (1, 3), (0, 0)]))
    rows = [(wide[:, :, 2 * row : 2 * row + 3] ** p).sum(2) for row in range(count)]
    for (result,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        np.testing.assert_allclose(result, np.stack(rows, 2) ** (1 / p), rtol=1e-5)


@pytest.mark.parametrize("form", ["strides=[2,2,2]", "strides=[2,2,1],ceil_mode=1", "dilations=[2,1,2]"])
def test_places_of_maxima_over_three_axes(form: str) -> None:
    """Of equal elements the first one is found, along the depth, too."""
    node, inputs = f"MaxPool<kernel_shape=[2,3,2],{form}>(x)", "float[2, 2, 5, 7, 6] x"
    model = model_of(f"y, i = {node}", inputs, "float y, int64 i")
    x = np.random.default_rng(0).integers(0, 4, (2, 2, 5, 7, 6)).astype(np.float32)
    expected = _evaluated(model_of(f"y = {node}", inputs), {"x": x})[0]
    for maxima, places in (fd.run(import_model(model), x), fd.compile(import_model(model), cache=False)(x)):
        np.testing.assert_array_equal(maxima, expected)
        np.testing.assert_array_equal(x.reshape(-1)[places], maxima)
        assert (places.reshape(4, -1) // 210 == np.arange(4)[:, None]).all()
    equal = import_model(model_of("y, i = MaxPool<kernel_shape=[2,2,2]>(x)", "float[1,1,3,3,3] x", "float y, int64 i"))
    np.testing.assert_array_equal(
        fd.run(equal, np.zeros((1, 1, 3, 3, 3), np.float32))[1].reshape(-1), [0, 1, 3, 4, 9, 10, 12, 13]
    )


@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_sequences_of_no_steps_leave_the_state_as_it_begins(operator: str, gates: int) -> None:
    inputs = f"float[s, b, 3] x, float[1, {gates * 5}, 3] w, float[1, {gates * 5}, 5] r"
    model = model_of(f"y, h = {operator}<hidden_size=5>(x, w, r)", inputs, "float y, float h")
    weights = numbers(1, gates * 5, 3) / 9, numbers(1, gates * 5, 5) / 9
    module = import_model(model)
    for _, state in (
        fd.run(module, numbers(0, 2, 3), *weights),
        fd.compile(module, cache=False)(numbers(0, 2, 3), *weights),
    ):
        np.testing.assert_array_equal(state, np.zeros((1, 2, 5)))
    check(model, numbers(3, 2, 3), *weights)
