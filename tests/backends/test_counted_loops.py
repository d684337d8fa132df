"""Loops that a condition ends: native code counts the iterations, and sizes of results follow from that."""

# pyright: basic

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks.growing_loops import LOOPS
from networks.onnx_graph import Graph, Value

import fuse_dialect as fd
from fuse_dialect.backends.runtime import shapes

F32, I64, BOOL = np.float32, np.int64, np.bool_
D = 4


@pytest.fixture
def checked_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CHECKED", "plans")


def reads_until(trips: Any = None, *, stacks: bool = False, behind: Any = None) -> bytes:
    """Rows of `x`, appended as long as `go` says so, to a state or as a stack; and what `behind` makes of them."""
    g = Graph()
    x, go = g.input("x", F32, ["n", D]), g.input("go", BOOL, ["m"])
    if trips == "input":
        trips = g.input("trips", I64, [])
    elif trips is not None:
        trips = g.constant(np.array(trips))
    last = g.Sub(g.extent(x, 0), [1])
    last_go = g.Sub(g.extent(go, 0), [1])

    def body(i: Value, h: Value, *rows: Value) -> Any:
        at = g.Unsqueeze(i, [0])
        h = g.Tanh(g.Gather(x, g.Min(at, last), axis=0) + h * 0.5)
        goes_on = g.Squeeze(g.Gather(go, g.Min(at, last_go), axis=0))
        return [goes_on, h, *(g.Concat(each, h, axis=0) for each in rows)], [h] if stacks else []

    states, types = [g.constant(np.ones((1, D)))], [(F32, [1, D])]
    if not stacks:
        states, types = [*states, g.constant(np.ones((2, D)))], [*types, (F32, ["k", D])]
    h, rows = g.loop(trips, states, body, types, goes_on=True)
    if stacks:
        rows = g.Reshape(rows, np.array([-1, D]))
    g.output(h, rows, *(behind(g, rows) if behind is not None else []))
    return g.model()


def compiled(file: bytes, folder: Path, **options: Any) -> tuple[Any, Any]:
    path = folder / "model.onnx"
    path.write_bytes(file)
    program = fd.compile(str(path), cache=False, **options)
    program._specializations = None
    return fd.read(str(path)), program


def until(count: int, length: int) -> Any:
    """Conditions that hold before the iteration with a number."""
    return np.arange(length) < count


def check(module: Any, program: Any, *inputs: Any) -> None:
    for got, wanted in zip(program(*inputs), fd.run(module, *inputs), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, atol=1e-5)


def rows(count: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((count, D)).astype(F32)


def behind(g: Graph, rows: Value) -> list[Value]:
    """What needs the count: sizes, kernels over that many rows, a slice, a product that is as large twice."""
    scores = rows @ g.Transpose(rows, perm=[1, 0])
    half = g.Div(g.extent(rows, 0), [2])
    return [g.Shape(rows), g.Softmax(scores, axis=-1) @ rows, g.piece(rows, half, [np.iinfo(I64).max], 0)]


@pytest.mark.usefixtures("checked_plans")
@pytest.mark.parametrize("stacks", [False, True])
@pytest.mark.parametrize("trips", [None, 9, "input"])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_native_call_at_every_count(stacks: bool, trips: Any, threads: int, tmp_path: Path) -> None:
    module, program = compiled(reads_until(trips, stacks=stacks, behind=behind), tmp_path, threads=threads)
    assert all(kernel.family != "numpy" for kernel in program.kernels)
    for count in (3, 0, 1, 7, 20, 8, 2):
        inputs = [rows(12, count), until(count, 30), *([np.array(11)] if trips == "input" else [])]
        check(module, program, *inputs)
    report = program.report
    assert not report.step_by_step
    assert not report.compiled_in_calls


def test_a_limit_ends_what_the_condition_does_not(tmp_path: Path) -> None:
    module, program = compiled(reads_until("input", behind=behind), tmp_path)
    for limit in (5, 1, 0, -3, 40, 2**62):
        check(module, program, rows(7), until(9, 30), np.array(limit))


def test_more_iterations_than_there_is_room_for_run_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "MOST_COUNTED", 16)
    module, program = compiled(reads_until(behind=behind), tmp_path)
    called: list[int] = []
    stepwise = program._stepwise
    monkeypatch.setattr(program, "_stepwise", lambda *given: called.append(1) or stepwise(*given))
    for count, is_native in ((3, True), (14, True), (15, False), (16, False), (40, False), (5, True)):
        called.clear()
        check(module, program, rows(12), until(count, 60))
        assert bool(called) != is_native, count


def test_a_loop_that_does_not_begin(tmp_path: Path) -> None:
    text = """func.func @main(%x: tensor<?x4xf32>, %begin: tensor<i1>, %trips: tensor<i64>) -> tensor<?x4xf32> {
      %rows = fuse.loop limit(%trips : tensor<i64>) while(%begin : tensor<i1>) states(%x : tensor<?x4xf32>)
          -> (tensor<?x4xf32>) {
      ^bb0(%i: tensor<i64>, %rows: tensor<?x4xf32>):
        %first = fuse.strided_slice %rows, begin = [0], end = [1] : (tensor<?x4xf32>) -> tensor<?x4xf32>
        %longer = fuse.concatenate %rows, %first, axis = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
        %five = arith.constant dense<5> : tensor<i64>
        %on = fuse.less %i, %five : (tensor<i64>, tensor<i64>) -> tensor<i1>
        fuse.yield while(%on : tensor<i1>) %longer : tensor<?x4xf32>
      }
      return %rows : tensor<?x4xf32>
    }"""
    module = fd.parse(text)
    program = fd.compile(module)
    for begin in (False, True):
        for trips in (0, 3, 30):
            check(module, program, rows(3), np.array(begin), np.array(trips))


def two_loops(*, grows: bool) -> bytes:
    """A loop that a condition ends, and another one over the rows that it gives."""

    def more(g: Graph, first: Value) -> list[Value]:
        count = g.Squeeze(g.extent(first, 0))

        def body(i: Value, h: Value, *longer: Value) -> Any:
            h = g.Tanh(h + g.Gather(first, g.Unsqueeze(i, [0]), axis=0))
            return [h, *(g.Concat(each, h, axis=0) for each in longer)], []

        states = [g.constant(np.ones((1, D))), *[g.constant(np.ones((1, D)))] * grows]
        found = g.loop(count, states, body, [(F32, [1, D]), (F32, ["j", D])][: len(states)])
        return list(found) if isinstance(found, list) else [found]

    return reads_until(behind=more)


@pytest.mark.usefixtures("checked_plans")
@pytest.mark.parametrize("grows", [False, True])
def test_a_loop_behind_a_count(grows: bool, tmp_path: Path) -> None:
    module, program = compiled(two_loops(grows=grows), tmp_path)
    for count in (3, 0, 7, 1):
        check(module, program, rows(12, count), until(count, 30))


def test_rows_are_counted_behind_a_loop(tmp_path: Path) -> None:
    def positive(g: Graph, found: Value) -> list[Value]:
        places = g.Squeeze(g.NonZero(g.Greater(g.ReduceMean(found, axes=[1], keepdims=0), 0.0)), [0])
        return [g.Tanh(g.Gather(found, places, axis=0))]

    module, program = compiled(reads_until(behind=positive), tmp_path)
    for count in (3, 0, 7, 1):
        check(module, program, rows(12, count), until(count, 30))
    assert not program.report.step_by_step


def test_a_loop_in_a_loop_counts_for_itself(tmp_path: Path) -> None:
    g = Graph()
    x = g.input("x", F32, ["n", D])

    def outer(i: Value, total: Value) -> Any:
        def inner(j: Value, rows: Value) -> Any:
            return [g.Less(g.Add(j, 1), i), g.Concat(rows, g.Tanh(rows[:1] if False else total), axis=0)], []

        found = g.loop(None, [g.constant(np.ones((1, D)))], inner, [(F32, ["k", D])], goes_on=True)
        found = found[0] if isinstance(found, list) else found
        return [g.Tanh(g.ReduceMean(found, axes=[0], keepdims=1) + total)], []

    found = g.loop(g.Squeeze(g.extent(x, 0)), [g.constant(np.ones((1, D)))], outer, [(F32, [1, D])])
    g.output(found[0] if isinstance(found, list) else found)
    module, program = compiled(g.model(), tmp_path)
    for count in (1, 4, 9):
        check(module, program, rows(count))


def test_what_a_program_tells_and_keeps(tmp_path: Path) -> None:
    """Profiles, traces, given outputs, pickles and files of a program that counts iterations."""
    module, program = compiled(reads_until(behind=behind), tmp_path)
    inputs = rows(12), until(6, 30)
    wanted = fd.run(module, *inputs)
    outputs = [np.empty(each.shape, each.dtype) for each in wanted]
    program.run_into(inputs, outputs)
    program.save(str(tmp_path / "model.fuse"))
    for found in (
        outputs,
        pickle.loads(pickle.dumps(program))(*inputs),
        fd.load(str(tmp_path / "model.fuse"))(*inputs),
    ):
        for got, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, other, atol=1e-5)
    assert "concatenate" in str(program.profile(*inputs))
    assert program.trace(*inputs).as_json


@pytest.mark.parametrize("name", ["greedy until the end", "greedy until the end, cache", "read until a gate closes"])
def test_a_decoder_is_one_call(name: str, tmp_path: Path) -> None:
    file, inputs = LOOPS[name]()
    module, program = compiled(file, tmp_path)
    rng = np.random.default_rng(0)
    for length in (5, 40, 17):
        check(module, program, *inputs(length, rng))
    assert not program.report.step_by_step
