"""Programs of open sizes: sizes that come back get a program of their own, with the same results."""

import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from checking.rounding import assert_near, roundings_of

import fuse_dialect as fd
from fuse_dialect.backends.runtime import program as program_module
from fuse_dialect.backends.runtime import specializing
from fuse_dialect.backends.runtime.counting import native_sections

TORCH = Path(__file__).parents[1] / "data" / "torch"
TEXT = """
func.func @main(%x: tensor<?x?xf32> {fuse.sizes = ["batch", ""]}, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = fuse.softmax %x : tensor<?x?xf32>
  %n = fuse.shape_of %y : (tensor<?x?xf32>) -> tensor<2xi64>
  %b = fuse.dyn_broadcast_to %s, %n : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %z = fuse.multiply %b, %y : tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
"""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are native for all sizes wait for many calls."""
    monkeypatch.setattr(program_module, "MANY_CALLS", 2)


def inputs(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows * 100 + columns)
    return tuple(rng.uniform(-1, 1, (rows, columns)).astype(np.float32) for _ in range(2))


def known(program) -> list:
    """The sizes that have a program."""
    return list(program._specializations._programs)


def test_sizes_that_come_back_are_compiled_for() -> None:
    module = fd.parse(TEXT)
    program = fd.compile(module, cache=False)
    for call in range(4):
        given = inputs(3, 5)
        np.testing.assert_allclose(program(*given)[0], fd.run(module, *given)[0], rtol=1e-6)
        assert program.finish_specializing()
        assert len(known(program)) == (call > 0)
    (special,) = program._specializations._programs.values()
    assert all(kernel.family != "numpy" for kernel in special.kernels)
    families = {kernel.family for kernel in program.kernels}
    assert families >= {"settled", "move"}
    assert families.isdisjoint(kernel.family for kernel in special.kernels if kernel.family in ("settled", "move"))
    output = np.empty((3, 5), np.float32)
    program.run_into(inputs(3, 5), [output])
    np.testing.assert_array_equal(output, special(*inputs(3, 5))[0])
    assert program.profile(*inputs(3, 5), repeat=1).kernels


def test_no_call_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    native_sections()  # compiled once in a process, by the first call that counts
    program = fd.compile(fd.parse(TEXT), cache=False)
    compiled_by: list[str] = []
    made = program._specializations._make

    def watched(sizes):
        compiled_by.append(threading.current_thread().name)
        return made(sizes)

    monkeypatch.setattr(program._specializations, "_make", watched)
    for columns in (3, 4, 5) * 3:
        program(*inputs(2, columns))
    assert program.finish_specializing()
    assert compiled_by == ["fuse-specialize"] * 3
    report = program.report
    assert (report.compiled_in_calls, report.specialized) == (0, 3)
    assert report.specializing_seconds > 0
    assert "compiled in calls: 0\nprograms for given sizes: 3, " in str(report)
    assert len(known(program)) == 3


def test_a_program_that_leaves_more_to_numpy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    module = fd.parse("""func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %y = fuse.softmax %x : tensor<?x8xf32>
      return %y : tensor<?x8xf32>
    }""")
    program = fd.compile(module, cache=False)
    slow = fd.compile(module, cache=False, backend="numpy")
    monkeypatch.setattr(program._specializations, "_make", lambda sizes: slow)
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    for _ in range(4):
        np.testing.assert_allclose(program(x)[0], fd.run(module, x)[0], rtol=1e-6)
        assert program.finish_specializing()
    assert known(program) == []
    # Whoever asks for it has it, and pays for it.
    assert program.specialize(x) is slow


@pytest.mark.parametrize(
    ("error", "heard"), [("cannot schedule new futures after interpreter shutdown", False), ("x", True)]
)
def test_the_end_of_the_process_is_no_bug(error: str, heard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fd.compile(fd.parse(TEXT), cache=False)

    def ended(_: object) -> fd.Program:
        raise RuntimeError(error)

    monkeypatch.setattr(program._specializations, "_make", ended)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            program(*inputs(2, 3))
        (thread,) = [each for each in threading.enumerate() if each.name == "fuse-specialize"] or [None]
        if thread is not None:
            thread.join(10)
    # The sizes may have been asked for again before it was known that they are refused.
    assert {"a bug" in str(each.message) for each in found} == ({True} if heard else set())


def test_inputs_of_other_forms_are_taken_as_before() -> None:
    module = fd.parse(TEXT)
    program = fd.compile(module, cache=False)
    x, y = inputs(3, 5)
    program.specialize(x, y)
    expected = program(x, y)[0]
    np.testing.assert_array_equal(program(np.asfortranarray(x), y)[0], expected)
    np.testing.assert_array_equal(program({"x": x, "y": y})[0], expected)
    np.testing.assert_array_equal(program(x.astype(">f4"), y)[0], expected)
    with pytest.raises(fd.FuseError, match="float64"):
        program(x.astype(np.float64), y)
    with pytest.raises(fd.FuseError, match="expects 2 inputs"):
        program(x)


def test_a_program_for_given_sizes_can_be_asked_for() -> None:
    program = fd.compile(fd.parse(TEXT), cache=False)
    special = program.specialize(*inputs(2, 7))
    assert special is program.specialize(*inputs(2, 7))
    assert special.specialize(*inputs(2, 7)) is special
    with pytest.raises(fd.FuseError, match="shape"):
        special(*inputs(3, 7))
    with pytest.raises(fd.FuseError):
        program.specialize(np.zeros((2, 7), np.float32), np.zeros((3, 8), np.float32))


def test_sizes_that_contradict_are_an_error_of_the_call_each_time() -> None:
    program = fd.compile(fd.parse(TEXT), cache=False)
    messages = set()
    for _ in range(3):
        with pytest.raises(fd.FuseError) as caught:
            program(np.zeros((2, 7), np.float32), np.zeros((3, 8), np.float32))
        messages.add(str(caught.value))
        program.finish_specializing()
    assert len(messages) == 1
    assert not known(program)


def test_the_store_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specializing, "MAX_PROGRAMS", 2)
    monkeypatch.setattr(specializing, "MAX_REMEMBERED", 3)
    program = fd.compile(fd.parse(TEXT), cache=False)
    for columns in range(1, 6):
        for _ in range(2):
            program(*inputs(2, columns))
            program.finish_specializing()
    assert known(program) == [((2, 4), (2, 4)), ((2, 5), (2, 5))]
    assert len(program._specializations._came) <= 3
    monkeypatch.setattr(specializing, "MAX_BYTES", -1)
    program.specialize(*inputs(2, 9))
    assert known(program) == [((2, 9), (2, 9))]


@pytest.mark.slow
def test_threads_may_call_while_one_compiles() -> None:
    module = fd.parse(TEXT)
    program = fd.compile(module, cache=False)
    wrong: list[object] = []

    def call() -> None:
        for columns in (3, 4, 3, 4, 5, 5, 3):
            given = inputs(2, columns)
            if not np.allclose(program(*given)[0], fd.run(module, *given)[0]):
                wrong.append(columns)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sizes_that_were_given_leave_nothing_to_specialize() -> None:
    text = """func.func @main(%x: tensor<?x5xf32> {fuse.sizes = ["n", ""]}) -> tensor<?x5xf32> {
  %y = fuse.sort %x, axis = 1 : tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}"""
    x, _ = inputs(3, 5)
    program = fd.compile(fd.parse(text), cache=False, sizes={"n": 3})
    for _ in range(3):
        np.testing.assert_array_equal(program(x)[0], np.sort(x, axis=1))
    assert program._specializations is None


def test_programs_of_given_sizes_have_nothing_to_specialize() -> None:
    program = fd.compile(fd.parse(TEXT.replace("?x?", "2x3")), cache=False)
    assert program._specializations is None
    assert program.specialize(*inputs(2, 3)) is program


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert.dynamo", "gpt2.dynamo", "llama.dynamo", "lstm_both_ways.script"])
def test_models_of_open_sizes_give_the_same_once_compiled_for(name: str) -> None:
    module = fd.read(TORCH / f"{name}.onnx")
    program = fd.compile(module, cache=False)
    for number in (0, 1):
        data = dict(np.load(TORCH / f"{name}.{number}.npz"))
        given = {key: data[key] for key in program._graph.model_input_names}
        general, special = program(given), program.specialize(given)
        assert special._static is not None
        for one, other in zip(general, special(given), strict=True):
            assert_near(one, other, roundings_of(module, list(given.values())))
