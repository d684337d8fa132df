"""`fuse-run` twice: the second run prints what the first has printed, and reads no module."""

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from fuse_dialect.backends.stored.machine_code import is_supported
from fuse_dialect.backends.stored.store import wait_for_writers
from fuse_dialect.dialect.types import element_type_of, tensor
from fuse_dialect.tools import fuse_run

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(not is_supported(), reason="programs are stored on Linux, x86-64")

TEXT = """
func.func @main(%x: tensor<3x4xf32> {onnx.name = "image"}, %i: tensor<2x4xi64>) -> (tensor<3x4xf32> {onnx.name = "y"}, tensor<2x4xf32>) {
  %c = arith.constant dense<[[0.5], [0.25], [2.0]]> : tensor<3x1xf32>
  %y = fuse.multiply %x, %c : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %r = fuse.gather %y, %i, axis = 0 : (tensor<3x4xf32>, tensor<2x4xi64>)
  return %y, %r : tensor<3x4xf32>, tensor<2x4xf32>
}
"""  # noqa: E501


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def path(folder: Path) -> Path:
    """A model."""
    path = folder / "model.mlir"
    path.write_text(TEXT)
    return path


class Runs:
    """Runs of the tool, and which of them have read the module."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self.read: list[bool] = []
        self._capsys = capsys
        with_module = fuse_run._run_with_module

        def noted(options, store) -> None:
            self.read[-1] = True
            with_module(options, store)

        monkeypatch.setattr(fuse_run, "_run_with_module", noted)

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        self.read.append(False)
        code = fuse_run.main(["--backend", "llvm", *map(str, arguments)])
        wait_for_writers()
        return code, *self._capsys.readouterr()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runs:
    """See `Runs`."""
    return Runs(monkeypatch, capsys)


def test_the_second_run_prints_the_same_without_the_module(path: Path, runs: Runs) -> None:
    first, second = (runs(path, "--random-inputs", "3") for _ in range(2))
    assert first == second
    assert first[0] == 0
    assert first[1].startswith("y: tensor<3x4xf32> = [[")
    assert runs.read == [True, False]
    other = runs(path, "--random-inputs", "4")
    assert other[1] != first[1]
    assert runs.read[-1] is False
    assert runs(path, "--random-inputs", "4", "--no-cache") == other
    assert runs.read[-1] is True


@pytest.mark.parametrize("names", [("image", "i"), ("x", "arg1"), ("arr_0", "arr_1")])
def test_inputs_and_outputs_in_files_are_the_same(path: Path, folder: Path, runs: Runs, names: tuple[str, str]) -> None:
    arrays = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32), np.array([[2, 0, 1, 1], [0, 0, 0, 2]])
    np.savez(folder / "in.npz", **dict(zip(names, arrays, strict=True)))
    written = []
    for number in range(2):
        output = folder / f"out{number}.npz"
        assert runs(path, "--inputs", folder / "in.npz", "--outputs", output) == (0, "", "")
        with np.load(output) as archive:
            written.append({name: archive[name].tobytes() for name in archive.files})
    assert list(written[0]) == ["y", "result1"]
    assert written[0] == written[1]
    assert runs.read == [True, False]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((4, 3), np.float32), "i": np.zeros((2, 4), np.int64)}, "input 'x' expects a value of type"),
        ({"x": np.zeros((3, 4)), "i": np.zeros((2, 4), np.int64)}, "input 'x' expects a value of type"),
        ({"x": np.zeros((3, 4), np.float32)}, "no input 'i'"),
        ({"x": np.zeros((3, 4), np.float32), "i": np.array([[0, 3, 0, 0], [0, 0, 0, 0]])}, "3"),
    ],
    ids=["shape", "type", "missing", "out of range"],
)
def test_errors_are_those_of_a_run_with_the_module(
    path: Path, folder: Path, runs: Runs, arrays: dict, message: str
) -> None:
    np.savez(folder / "in.npz", **arrays)
    alone = runs(path, "--inputs", folder / "in.npz", "--no-cache")
    assert alone[0] == 1
    assert message in alone[2]
    assert runs(path, "--random-inputs", "0")[0] == 0
    assert runs(path, "--inputs", folder / "in.npz") == alone
    assert runs.read == [True] * 3


def test_a_run_without_inputs_says_what_is_missing(path: Path, runs: Runs) -> None:
    alone = runs(path)
    assert runs(path, "--random-inputs", "0")[0] == 0
    assert runs(path) == alone
    assert "'main' needs inputs: x, i" in alone[2]


@pytest.mark.parametrize(
    "options",
    [
        ["--benchmark", "1"],
        ["--json", "JSON"],
        ["--compare-with", "MODEL"],
        ["--dynamic-dim", "3"],
        ["--max-ops", "9"],
        ["--max-value-bytes", "4096"],
        ["--max-bytes", "4096"],
        ["--fuse-ops", "opt-level=0"],
        ["--target-cpu", "x86-64"],
        ["--fast-math"],
        ["--threads", "2"],
        ["--allow-unregistered-dialect"],
    ],
    ids=" ".join,
)
def test_other_options_are_another_run(path: Path, folder: Path, runs: Runs, options: list[str]) -> None:
    runs(path, "--random-inputs", "0")
    words = [{"JSON": str(folder / "a.json"), "MODEL": str(path)}.get(word, word) for word in options]
    assert runs(path, "--random-inputs", "0", *words)[0] == 0
    assert runs.read == [True, True]
    assert runs(path, "--random-inputs", "0")[0] == 0
    assert runs.read[-1] is False


def test_another_entry_and_another_model_are_other_programs(path: Path, runs: Runs) -> None:
    path.write_text(TEXT + TEXT.replace("@main", "@other").replace("0.5", "0.75"))
    main = runs(path, "--random-inputs", "0")
    other = runs(path, "--random-inputs", "0", "--entry", "other")
    assert main[1] != other[1]
    assert runs(path, "--random-inputs", "0", "--entry", "other") == other
    path.write_text(TEXT.replace("0.5", "8.0"))
    assert runs(path, "--random-inputs", "0")[1] not in (main[1], other[1])
    assert runs.read == [True, True, False, True]


def test_too_large_an_input_is_the_same_error(path: Path, runs: Runs) -> None:
    runs(path, "--random-inputs", "0", "--max-value-bytes", "48")
    small = runs(path, "--random-inputs", "0", "--max-value-bytes", "47")
    assert small[0] == 1
    assert runs(path, "--random-inputs", "0", "--max-value-bytes", "47") == small


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 5, 1)])
def test_types_are_spelled_as_in_the_ir(name: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, name)
    assert fuse_run._type_text(array) == str(tensor(shape, element_type_of(array.dtype)))
    narrow = np.zeros(shape, ml_dtypes.bfloat16)
    assert fuse_run._type_text(narrow) == str(tensor(shape, element_type_of(narrow.dtype)))


def test_the_second_process_imports_neither_xdsl_nor_llvm(path: Path) -> None:
    code = (
        "import sys; from fuse_dialect.tools.fuse_run import main; main(sys.argv[1:]);"
        "print(sorted({'xdsl', 'llvmlite', 'onnx'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(path), "--backend", "llvm", "--random-inputs", "0"]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first.splitlines()[:-1] == second.splitlines()[:-1]
    assert second.splitlines()[-1] == "[]"
    assert first.splitlines()[-1] != "[]"
