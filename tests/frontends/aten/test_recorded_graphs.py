"""Graphs that PyTorch wrote, kept in files: they give PyTorch's results, interpreted and compiled."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.frontends.aten.graph import AtenGraph, Call, Ref, TensorMeta, from_json, to_json
from fuse_dialect.frontends.aten.reader import module_of, why_not

DATA = Path(__file__).resolve().parents[2] / "data" / "aten"
NAMES = sorted(path.stem for path in DATA.glob("*.json"))
ROW = TensorMeta((2, 3), np.dtype(np.float32))


def recorded(name: str) -> tuple[AtenGraph, list[Any], list[Any]]:
    """The graph, its inputs and its results."""
    graph = from_json(json.loads((DATA / f"{name}.json").read_text()))
    with np.load(DATA / f"{name}.npz") as file:
        inputs = [file[f"input{place}"] for place in range(len(graph.inputs))]
        results = [file[each] for each in file.files if each.startswith("result")]
    return graph, inputs, results


def check(found: Any, expected: list[Any]) -> None:
    """Results must be those of PyTorch, whose sums have another order."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_there_are_graphs() -> None:
    assert len(NAMES) == 9


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_graph_means_what_pytorch_computed(name: str) -> None:
    graph, inputs, expected = recorded(name)
    check(fd.run(module_of(graph), *inputs), expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_graph_compiles(name: str) -> None:
    pytest.importorskip("llvmlite")
    graph, inputs, expected = recorded(name)
    check(fd.compile(module_of(graph), cache=False)(*inputs), expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_read_again_as_it_was_written(name: str) -> None:
    graph, _, _ = recorded(name)
    assert to_json(from_json(json.loads(json.dumps(to_json(graph))))) == to_json(graph)


def test_inputs_with_constants_are_no_arguments() -> None:
    graph, inputs, expected = recorded("mlp")
    names = [name for name, _ in graph.inputs]
    shapes = [array.shape for array in inputs]
    place = shapes.index((4, 6))
    graph.constants = {name: array for name, array in zip(names, inputs, strict=True) if name != names[place]}
    check(fd.run(module_of(graph), inputs[place]), expected)


def call(target: str, *args: Any, shape: tuple[int, ...] = (2, 3), **kwargs: Any) -> Call:
    """A call whose result has a shape."""
    return Call("y", target, args, kwargs, (TensorMeta(shape, np.dtype(np.float32)),), "layer.0", ("model.py", 52))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (call("aten.fft_fft.default", Ref("x")), "no rule"),
        (call("aten.neg.default", Ref("z")), "a value that is no tensor of known shape and type"),
        (call("aten.neg.default", Ref("x"), shape=(3, 2)), "a result of shape [2, 3] instead of [3, 2]"),
        (call("aten.convolution.default", Ref("x"), Ref("x"), None, [1], [0], [1], False, [0], 1), ""),
    ],
)
def test_what_cannot_be_read_has_a_reason(given: Call, reason: str) -> None:
    found = why_not(given, {Ref("x"): ROW})
    assert found is not None
    assert reason in found


def test_what_can_be_read_has_none() -> None:
    assert why_not(call("aten.neg.default", Ref("x")), {Ref("x"): ROW}) is None


def test_an_error_names_the_module_and_the_line() -> None:
    graph = AtenGraph([("x", ROW)], [call("aten.fft_fft.default", Ref("x"))], [Ref("y")])
    with pytest.raises(fd.FuseError, match="is not supported: no rule") as caught:
        module_of(graph)
    assert caught.value.notes == ("at layer.0 (model.py:52)",)


def test_ops_know_the_module_and_the_line() -> None:
    graph = AtenGraph([("x", ROW)], [call("aten.exp.default", Ref("x"))], [Ref("y")])
    module = module_of(graph)
    located = [str(op.location) for op in module.walk() if op.name == "fuse.exp"]
    assert len(located) == 1
    assert "layer.0" in located[0]
    assert "model.py" in located[0]
    assert "%y = fuse.exp %x" in fd.text(module)


def test_a_range_of_integers_counts_with_integers() -> None:
    meta = TensorMeta((2,), np.dtype(np.int64))
    node = Call("y", "aten.arange.start_step", (-0.9, 2.1, 2.0), {}, (meta,), "", ("model.py", 1))
    (found,) = fd.run(module_of(AtenGraph([], [node], [Ref("y")])))
    np.testing.assert_array_equal(found, [0, 2])  # PyTorch: -0.9 is 0 before it counts


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_elements_are_put_along_any_axes(axes: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(3, 4, 5)).astype(np.float32)
    indices = {f"i{axis}": random.permutation(3)[:2] for axis in axes}
    key = tuple(indices.get(f"i{axis}", slice(None)) for axis in range(3))
    values = random.normal(size=x[key].shape).astype(np.float32)
    expected = x.copy()
    expected[key] = values
    places = [Ref(f"i{axis}") if axis in axes else None for axis in range(3)]
    call = Call("y", "aten.index_put.default", (Ref("x"), places, Ref("v")), {}, (TensorMeta(x.shape, x.dtype),))
    inputs = [("x", TensorMeta(x.shape, x.dtype)), ("v", TensorMeta(values.shape, x.dtype))]
    (found,) = fd.run(module_of(AtenGraph(inputs, [call], [Ref("y")], indices)), x, values)
    np.testing.assert_array_equal(found, expected)
