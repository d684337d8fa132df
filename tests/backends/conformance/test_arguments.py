"""What callers may pass, on every backend: right results or a diagnosed error, never a crash."""

from typing import Any

import numpy as np
import pytest

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import parse_mlir

TEXT = """
func.func @main(%x: tensor<4x6xf32>, %b: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %s = fuse.add %x, %b : (tensor<4x6xf32>, tensor<6xf32>)
  %r = fuse.relu %s : tensor<4x6xf32>
  %m = fuse.max %x, axes = [1] : (tensor<4x6xf32>)
  return %r, %m : tensor<4x6xf32>, tensor<4xf32>
}
"""
X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
B = np.array([0.5, -1, 2, 0, -0.25, 1], np.float32)


@pytest.fixture(scope="module")
def program(backend: Backend) -> Program:
    return compile_program(parse_mlir(TEXT), CompileOptions(backend=backend))


def misaligned(array: np.ndarray) -> np.ndarray:
    """A copy whose first element is at an odd address."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    copy = memory[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


class Exporter:
    """An object that has nothing but DLPack."""

    def __init__(self, array: np.ndarray):
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


FORMS = {
    "plain": lambda a: a.copy(),
    "column major": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "broadcast": lambda a: np.broadcast_to(a, (3, *a.shape))[1],
    "read-only": read_only,
    "misaligned": misaligned,
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "dlpack": Exporter,
    "lists": lambda a: a.tolist(),
    "memoryview": lambda a: memoryview(a.copy()),
    "subclass": lambda a: a.view(np.matrix) if a.ndim == 2 else a,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_forms_of_arrays(program: Program, form: str) -> None:
    sums, largest = program(FORMS[form](X), FORMS[form](B))
    np.testing.assert_allclose(sums, np.maximum(X + B, 0), rtol=1e-6)
    np.testing.assert_array_equal(largest, X.max(axis=1))


def test_a_list_of_whole_numbers_is_taken_for_floats(program: Program) -> None:
    np.testing.assert_array_equal(program([[1, 2, 3, 4, 5, 6]] * 4, [0] * 6)[1], [6] * 4)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((X,), r"'main' expects 2 inputs \(x, b\), got 1"),
        ((X, B, B), r"'main' expects 2 inputs \(x, b\), got 3"),
        ((X.astype(np.float64), B), r"input 'x' expects a value of type tensor<4x6xf32>, got float64 of shape 4x6"),
        ((X, B.astype(np.int32)), r"input 'b' expects a value of type tensor<6xf32>, got int32 of shape 6"),
        ((X[:3], B), r"input 'x' expects a value of type tensor<4x6xf32>, got float32 of shape 3x6"),
        ((X.reshape(4, 6, 1), B), r"input 'x' expects .* got float32 of shape 4x6x1"),
        ((X, np.float32(1)), r"input 'b' expects .* got float32 of shape scalar"),
        ((X, "text"), r"input 'b' expects .* got a str"),
        ((X, None), r"input 'b' expects .* got a NoneType"),
        ((X, [[1.0, 2.0], [3.0]]), r"input 'b' expects .* got a list"),
        ((X, [1j] * 6), r"input 'b' expects .* got a list"),
        ((X, np.ma.masked_array(B, B > 0)), r"input 'b' expects .* got a masked array"),
    ],
)
def test_what_does_not_fit_is_named(program: Program, inputs: tuple[Any, ...], message: str) -> None:
    with pytest.raises(FuseError, match=message):
        program(*inputs)


def test_results_are_written_to_given_arrays(program: Program) -> None:
    sums, largest = np.empty((4, 6), np.float32), np.empty(4, np.float32)
    program.run_into([X, B], [sums, largest])
    np.testing.assert_array_equal(sums, program(X, B)[0])
    np.testing.assert_array_equal(largest, X.max(axis=1))


def test_results_are_written_to_strided_arrays(program: Program) -> None:
    wide, high = np.full((4, 12), 7, np.float32), np.full(8, 7, np.float32)
    program.run_into([X, B], [wide[:, ::-2], high[1::2]])
    np.testing.assert_array_equal(wide[:, ::-2], program(X, B)[0])
    np.testing.assert_array_equal(wide[:, ::2], 7)
    np.testing.assert_array_equal(high[1::2], X.max(axis=1))
    np.testing.assert_array_equal(high[::2], 7)


def test_an_output_may_be_an_input(program: Program) -> None:
    x = X.copy()
    expected = program(X, B)
    largest = np.empty(4, np.float32)
    program.run_into([x, B], [x, largest])
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(largest, expected[1])


def test_an_output_may_overlap_an_input_partly(program: Program) -> None:
    memory = np.zeros(30, np.float32)
    memory[:24] = X.reshape(-1)
    expected = program(X, B)
    program.run_into([memory[:24].reshape(4, 6), B], [memory[6:].reshape(4, 6), np.empty(4, np.float32)])
    np.testing.assert_array_equal(memory[6:].reshape(4, 6), expected[0])


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([np.empty((4, 6), np.float32)], "'main' gives 2 outputs, got 1"),
        (
            [np.empty((4, 6)), np.empty(4, np.float32)],
            "output 0 expects float32 of shape 4x6, got float64 of shape 4x6",
        ),
        ([np.empty((6, 4), np.float32), np.empty(4, np.float32)], "output 0 expects .* got float32 of shape 6x4"),
        ([[0.0], np.empty(4, np.float32)], "output 0 expects .* got a list"),
        ([read_only(X), np.empty(4, np.float32)], "output 0 is read-only"),
    ],
)
def test_outputs_that_do_not_fit_are_named(program: Program, outputs: list[Any], message: str) -> None:
    with pytest.raises(FuseError, match=message):
        program.run_into([X, B], outputs)


def test_outputs_that_overlap_each_other_are_an_error(program: Program) -> None:
    memory = np.empty(25, np.float32)
    with pytest.raises(FuseError, match="output 1 overlaps another output"):
        program.run_into([X, B], [memory[:24].reshape(4, 6), memory[21:]])


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0, np.float32(1e-45)])
def test_special_numbers(program: Program, special: float) -> None:
    x = X.copy()
    x[::2, ::3] = special
    for got, want in zip(program(x, B), (np.maximum(x + B, 0), x.max(axis=1)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_wrong_numbers_of_threads_and_backends_are_diagnosed() -> None:
    module = parse_mlir(TEXT)
    for threads in (0, -1, 1000):
        with pytest.raises(FuseError, match=f"expected 1 to 256 threads, got {threads}"):
            compile_program(module, CompileOptions(backend="numpy", threads=threads))
    with pytest.raises(FuseError, match="unknown backend 'gpu', expected one of llvm, numpy"):
        compile_program(module, CompileOptions(backend="gpu"))


def test_the_module_is_not_changed(backend: Backend) -> None:
    module = parse_mlir(TEXT)
    before = str(module)
    compile_program(module, CompileOptions(backend=backend))
    assert str(module) == before
