"""`fuse-run` with backends: machine code, comparisons across backends, tables of kernels, reports."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fuse_dialect.tools.fuse_run import main

MODULE = """func.func @main(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<f32>) {
  %y = fuse.exp %x : tensor<3x3xf32>
  %z = fuse.relu %y : tensor<3x3xf32>
  %s = fuse.det %z : (tensor<3x3xf32>)
  func.return %z, %s : tensor<3x3xf32>, tensor<f32>
}
"""
GATHER = """func.func @main(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %g = fuse.gather %x, %i, axis = 0 : (tensor<4xf32>, tensor<2xi64>)
  func.return %g : tensor<2xf32>
}
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "module.mlir"
    path.write_text(MODULE)
    return str(path)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_outputs_do_not_depend_on_the_backend(
    module: str, backend: str, threads: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([module, "--random-inputs", "0"]) == 0
    expected = capsys.readouterr().out
    assert main([module, "--random-inputs", "0", "--backend", backend, "--threads", threads, "--no-cache"]) == 0
    printed = capsys.readouterr().out
    pattern = r"-?\d+\.\d+(?:e-?\d+)?"
    assert re.sub(pattern, "N", printed) == re.sub(pattern, "N", expected)
    numbers = [[float(text) for text in re.findall(pattern, output)] for output in (printed, expected)]
    np.testing.assert_allclose(*numbers, rtol=1e-5)


def test_what_numpy_runs_is_told_on_stderr(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([module, "--random-inputs", "0", "--backend", "llvm"]) == 0
    errors = capsys.readouterr().err.splitlines()
    assert errors[0] == "warning: 1 of 2 kernels run on NumPy"
    assert errors[1].startswith("note: fused_det: 'fuse.det' op")


def test_code_for_another_processor(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = [module, "--random-inputs", "0", "--backend", "llvm", "--compare-with", module, "--target-cpu"]
    assert main([*command, "native"]) == 0
    capsys.readouterr()
    assert main([*command, "x86-65"]) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error.endswith("error: unknown machine 'x86-65'")
    assert hint == "hint: did you mean 'x86-64'?"


@pytest.mark.parametrize("other", ["numpy", "llvm"])
def test_a_module_is_compared_with_itself_across_backends(
    module: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [module, "--random-inputs", "0", "--backend", "llvm", "--compare-with", module]
    assert main([*command, "--compare-backend", other]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.endswith("ok") for line in lines)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_benchmark_prints_a_row_for_each_kernel(
    module: str, backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    command = [module, "--random-inputs", "0", "--backend", backend, "--benchmark", "3", "--json", str(report)]
    assert main(command) == 0
    first, head, *rows = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"median .* [mu]?s, minimum .* [mu]?s of 3 runs, 1 thread", first)
    assert head.split()[:3] == ["kernel", "calls", "median"]
    assert [row.split()[0] for row in rows] == ["fused_exp_relu", "fused_det"]
    found = json.loads(report.read_text())
    assert found["backend"] == backend
    assert found["threads"] == 1
    assert found["minimum_seconds"] <= found["median_seconds"]
    exp = found["kernels"][0]
    assert exp["ops"] == ["exp", "relu"]
    assert exp["family"] == ("map" if backend == "llvm" else "numpy")
    assert exp["bytes"] == 2 * 3 * 3 * 4
    assert exp["minimum_seconds"] <= exp["median_seconds"]


def test_a_report_without_a_benchmark_has_no_times(module: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main([module, "--random-inputs", "0", "--backend", "llvm", "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    assert [kernel["name"] for kernel in found["kernels"]] == ["fused_exp_relu", "fused_det"]
    assert "median_seconds" not in found
    assert found["peak_bytes"] >= 0


def test_an_error_while_running_names_the_op_and_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gather.mlir"
    path.write_text(GATHER)
    np.savez(tmp_path / "in.npz", x=np.zeros(4, np.float32), i=np.array([0, 9]))
    assert main([str(path), "--inputs", str(tmp_path / "in.npz"), "--backend", "llvm"]) == 1
    assert f"{path}:2:8: error: 'fuse.gather' op cannot be run: index 9" in capsys.readouterr().err


def test_an_op_without_meaning_is_an_error_of_the_compiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "foreign.mlir"
    path.write_text(
        'func.func @main() -> tensor<2xf32> {\n  %a = "x.y"() : () -> tensor<2xf32>\n'
        "  func.return %a : tensor<2xf32>\n}\n"
    )
    assert main([str(path), "--backend", "llvm", "--allow-unregistered-dialect"]) == 1
    assert f"{path}:2:8: error: 'x.y' op has no meaning that a backend could run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "expected 1 to 256 threads, got 0"),
        (["--entry", "other"], "no function 'other' in the module; there are 'main'"),
    ],
)
def test_wrong_options_are_diagnosed(
    module: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([module, "--random-inputs", "0", "--backend", "llvm", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_an_unknown_backend_is_wrong_usage(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([module, "--backend", "gpu"]) == 2
    assert "unknown backend 'gpu', expected one of llvm, numpy" in capsys.readouterr().err
