"""Loops whose sizes change with their iterations: native, by a table of what each iteration has."""

# pyright: basic

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks.onnx_graph import Graph, Value
from networks.random_sizes import random_sizes

import fuse_dialect as fd
from fuse_dialect.backends.runtime import loop_tracing, shapes
from fuse_dialect.backends.stored.program import StoredProgram
from fuse_dialect.backends.stored.store import wait_for_writers
from fuse_dialect.diagnostics import FuseError

F32, I64 = np.float32, np.int64
D = 4
FAR = np.iinfo(np.int64).max
LENGTHS = (5, 2, 9, 1, 30, 3)


@pytest.fixture
def checked_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CHECKED", "plans")


def model_of(build: Callable[[Graph, Value, Value], Any]) -> bytes:
    """A model of `x` with `t` rows."""
    g = Graph()
    x = g.input("x", F32, ["t", D])
    found = build(g, x, g.Squeeze(g.extent(x, 0)))
    g.output(*(found if isinstance(found, Sequence) else [found]))
    return g.model()


def compiled(file: bytes, folder: Path, **options: Any) -> tuple[Any, Any]:
    path = folder / "model.onnx"
    path.write_bytes(file)
    program = fd.compile(str(path), **{"cache": False, **options})
    program._specializations = None  # nothing is compiled for one length
    return fd.read(str(path)), program


def assert_right(module: Any, program: Any, lengths: Sequence[int] = LENGTHS) -> None:
    rng = np.random.default_rng(0)
    for length in lengths:
        x = rng.standard_normal((length, D)).astype(F32)
        for one, other in zip(program(x), fd.run(module, x), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, atol=1e-4)


def is_native(program: Any) -> bool:
    return all(kernel.family != "numpy" for kernel in program.kernels)


def attention(g: Graph, h: Value, past: Value) -> Value:
    return g.Softmax(h @ g.Transpose(past, perm=[1, 0]), axis=-1) @ past


def cached(g: Graph, x: Value, t: Value) -> Any:
    """Attention to all rows so far."""

    def body(i: Value, h: Value, past: Value) -> Any:
        past = g.Concat(past, h + g.Gather(x, g.Unsqueeze(i, [0]), axis=0), axis=0)
        return [g.Tanh(attention(g, h, past)), past], [h]

    return g.loop(
        t, [g.constant(np.ones((1, D))), g.constant(np.zeros((0, D)))], body, [(F32, [1, D]), (F32, ["k", D])]
    )


def lengths(g: Graph, x: Value, t: Value) -> Any:
    """Kernels read how long states are: as an index, as a divisor, and as the rows of both."""
    table = g.weight(64, D)

    def body(i: Value, h: Value, past: Value, other: Value) -> Any:
        past = g.Concat(past, g.Tanh(h + g.Gather(table, g.Mod(g.extent(past, 0), [64]), axis=0)), axis=0)
        mean = g.ReduceMean(past, axes=[0], keepdims=1) * g.Sqrt(g.Cast(g.extent(past, 0), to=1))
        other = g.Concat(other, mean, h, axis=0)
        sizes = g.Cast(g.Sub(g.extent(other, 0), g.extent(past, 0)), to=1)
        return [g.Tanh(mean * 0.3 + sizes * 0.01), past, other], []

    states = [g.constant(np.ones((1, D))), g.Identity(x), g.constant(np.ones((2, D)))]
    return g.loop(t, states, body, [(F32, [1, D]), (F32, ["k", D]), (F32, ["l", D])])


def ranges(g: Graph, x: Value, t: Value) -> Any:
    """Positions of what is there by now, as elements: forwards, in steps, backwards, and none."""

    def body(i: Value, h: Value, past: Value) -> Any:
        past = g.Concat(past, h, axis=0)
        count = g.Squeeze(g.extent(past, 0))
        zero, one, three = (g.constant(np.array(number)) for number in (0, 1, 3))
        total = g.constant(np.zeros((1, 1)))
        for begin, end, step in ((zero, count, one), (one, count, three), (count, zero, g.constant(np.array(-2)))):
            places = g.Cast(g.Range(begin, end, step), to=1)
            total = total + g.ReduceMean(g.Concat(places, np.ones(1, F32), axis=0), axes=[0], keepdims=1)
        return [g.Tanh(h + total * 0.01), past], []

    states = [g.constant(np.ones((1, D))), g.constant(np.zeros((0, D)))]
    return g.loop(t, states, body, [(F32, [1, D]), (F32, ["k", D])])


def shrinking(g: Graph, x: Value, t: Value) -> Any:
    """A state that loses a row each time."""

    def body(i: Value, h: Value, rest: Value) -> Any:
        return [g.Tanh(h + g.ReduceSum(rest, [0], keepdims=1)), g.piece(rest, [1], [FAR], 0)], []

    return g.loop(g.Sub(t, 1), [g.constant(np.zeros((1, D))), x], body, [(F32, [1, D]), (F32, ["k", D])])


def square(g: Graph, x: Value, t: Value) -> Any:
    """A state that grows along both axes."""

    def body(i: Value, table: Value) -> Any:
        size = g.extent(table, 0)
        row = g.ConstantOfShape(g.Concat(np.array([1]), size, axis=0))
        wide = g.Concat(table, g.Cos(row), axis=0) * 0.5
        column = g.ConstantOfShape(g.Concat(g.Add(size, [1]), np.array([1]), axis=0))
        return [g.Concat(wide, g.Cos(column), axis=1)], []

    return g.loop(t, [g.constant(np.zeros((1, 1)))], body, [(F32, ["k", "k"])])


def every_second(g: Graph, x: Value, t: Value) -> Any:
    """A slice with a step: its size is a quotient."""

    def body(i: Value, h: Value) -> Any:
        seen = g.Slice(x, [0], g.Add(g.Unsqueeze(i, [0]), [1]), [0], [2])
        return [g.Tanh(h + g.ReduceSum(seen * seen, [0], keepdims=1))], [h]

    return g.loop(t, [g.constant(np.zeros((1, D)))], body, [(F32, [1, D])])


def fixed_inside(g: Graph, x: Value, t: Value) -> Any:
    """A loop over the rows of a state, inside."""

    def body(i: Value, h: Value, past: Value) -> Any:
        def inner(j: Value, state: Value) -> Any:
            return [g.Tanh(state * 0.9 + g.ReduceSum(past, [0], keepdims=1))], [state]

        h, _ = g.loop(g.constant(np.array(3)), [h], inner, [(F32, [1, D])])
        return [h, g.Concat(past, h, axis=0)], []

    return g.loop(t, [g.constant(np.ones((1, D))), g.constant(np.ones((1, D)))], body, [(F32, [1, D]), (F32, ["k", D])])


def changing_inside(g: Graph, x: Value, t: Value) -> Any:
    """A loop whose sizes change, in one of the same sizes."""

    def outer(i: Value, h: Value) -> Any:
        def inner(j: Value, state: Value, past: Value) -> Any:
            past = g.Concat(past, state, axis=0)
            return [g.Tanh(attention(g, state, past) + state), past], []

        h, _ = g.loop(t, [h, g.constant(np.ones((1, D)))], inner, [(F32, [1, D]), (F32, ["k", D])])
        return [h], [h]

    return g.loop(g.constant(np.array(3)), [g.constant(np.ones((1, D)))], outer, [(F32, [1, D])])


def two_states(g: Graph, x: Value, t: Value) -> Any:
    """Two that grow by different numbers of rows, one in front."""

    def body(i: Value, one: Value, other: Value) -> Any:
        h = g.Tanh(g.ReduceSum(one, [0], keepdims=1) - g.ReduceSum(other, [0], keepdims=1))
        return [g.Concat(one, h, h, axis=0), g.Concat(g.Cos(h), other, axis=0)], []

    begins = [g.constant(np.ones((1, D))), g.constant(np.zeros((2, D)))]
    return g.loop(t, begins, body, [(F32, ["k", D]), (F32, ["l", D])])


FORMULAS = {
    each.__name__: each
    for each in (cached, lengths, shrinking, square, every_second, fixed_inside, changing_inside, two_states)
}


@pytest.mark.usefixtures("checked_plans")
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("threads", [1, 2])
def test_native_at_all_lengths_by_one_set_of_formulas(name: str, threads: int, tmp_path: Path) -> None:
    module, program = compiled(model_of(FORMULAS[name]), tmp_path, threads=threads)
    assert is_native(program)
    assert_right(module, program)
    # Lengths of 0 and 1 may have formulas of their own; others have theirs in common.
    known = program._sizes.counts.formulas
    assert known <= 2
    resolved: list[object] = []
    program._sizes.resolver.resolve = lambda *asked: resolved.append(asked)
    rng = np.random.default_rng(1)
    for length in (6, 8, 12, 29):
        x = rng.standard_normal((length, D)).astype(F32)
        assert program._sizes.by_formulas((x.shape,), {}) is not None, "formulas say it"
    assert not resolved
    report = program.report
    assert report.compiled_in_calls == 0
    assert report.step_by_step <= 1  # a loop without an iteration
    assert report.by_formulas >= len(LENGTHS) - 3


def doubling(g: Graph, x: Value, t: Value) -> Any:
    """A state that doubles, up to 16 rows: no number of rows is added each time."""

    def body(i: Value, state: Value) -> Any:
        return [g.piece(g.Concat(state * 0.5, g.Cos(state), axis=0), [0], [16], 0)], []

    return g.loop(t, [g.constant(np.ones((1, D)))], body, [(F32, ["k", D])])


def swapping(g: Graph, x: Value, t: Value) -> Any:
    """Two states of different heights that change places."""

    def body(i: Value, one: Value, other: Value) -> Any:
        return [g.Concat(other, other, axis=0), g.Tanh(g.piece(one, [0], [3], 0))], []

    begins = [g.constant(np.ones((1, D))), g.constant(np.zeros((2, D)))]
    return g.loop(t, begins, body, [(F32, ["k", D]), (F32, ["l", D])])


@pytest.mark.usefixtures("checked_plans")
@pytest.mark.parametrize("build", [doubling, swapping, ranges])
def test_sizes_that_are_no_formulas_are_found_one_by_one(build: Any, tmp_path: Path) -> None:
    module, program = compiled(model_of(build), tmp_path)
    assert is_native(program)
    assert_right(module, program)
    assert all(executable is not None for executable in program._sizes.plans.values())


def test_no_iteration_and_too_many_run_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MOST_ITERATIONS", 8)
    monkeypatch.setattr(loop_tracing, "MOST_ITERATIONS", 8)
    module, program = compiled(model_of(cached), tmp_path)
    assert_right(module, program, (0, 3, 9, 7, 12))
    natives = {key[0][0]: executable is not None for key, executable in program._sizes.plans.items() if key[0][0] < 30}
    assert {length: natives[length] for length in (0, 3, 9, 7, 12)} == {0: False, 3: True, 9: False, 7: True, 12: False}


REJECTING = """
func.func @main(%x: tensor<?x4xf32>, %place: tensor<1x4xi64>) -> tensor<?x4xf32> {
  %shape = fuse.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %one = fuse.strided_slice %shape, begin = [0], end = [1] : (tensor<2xi64>) -> tensor<1xi64>
  %trips = fuse.squeeze %one, axes = [0] : (tensor<1xi64>) -> tensor<i64>
  %past = fuse.loop limit(%trips : tensor<i64>) states(%x : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %rows: tensor<?x4xf32>):
    %row = fuse.gather %rows, %place, axis = 0 : (tensor<?x4xf32>, tensor<1x4xi64>) -> tensor<1x4xf32>
    %rest = fuse.strided_slice %rows, begin = [1], end = [9223372036854775807]
        : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %next = fuse.add %rest, %row : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
    fuse.yield %next : tensor<?x4xf32>
  }
  return %past : tensor<?x4xf32>
}
"""


def test_an_iteration_that_rejects_its_operands_says_what_the_meaning_says() -> None:
    module = fd.parse(REJECTING)
    program = fd.compile(module, cache=False)
    x, place = np.ones((5, D), F32), np.full((1, D), 2)
    with pytest.raises(FuseError, match="index 2 is out of bounds for axis 0 with size 2") as wanted:
        fd.run(module, x, place)
    with pytest.raises(FuseError) as got:
        program(x, place)
    assert str(got.value).partition("error: ")[2] == str(wanted.value).partition("error: ")[2]


def test_a_stored_program_has_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(lambda g, x, t: cached(g, x, t)[::2]))  # of results all sizes are known
    module = fd.read(str(path))
    for _ in range(2):
        program = fd.compile(str(path), sizes={"t": 7}, cache=True)
        wait_for_writers()
        x = np.random.default_rng(0).standard_normal((7, D)).astype(F32)
        for one, other in zip(program(x), fd.run(module, x), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert isinstance(program, StoredProgram)


@pytest.mark.usefixtures("checked_plans")
@pytest.mark.parametrize("seed", range(12))
def test_random_models_at_many_sizes(seed: int) -> None:
    import fuzz_sizes

    assert fuzz_sizes.check(seed)[1] == ""
    assert random_sizes(seed)[0] == random_sizes(seed)[0], "a seed makes one model"
