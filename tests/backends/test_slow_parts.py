"""What a compiled program warns of: kernels that NumPy runs, and f64 where f32 would do."""

from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.tools.fuse_run import main

pytest.importorskip("llvmlite")

DETERMINANT = """
func.func @main(%x: tensor<3x3xf32>) -> tensor<f32> {
  %y = fuse.exp %x : tensor<3x3xf32>
  %d = fuse.det %y : (tensor<3x3xf32>) -> tensor<f32> LOC
  return %d : tensor<f32>
}"""
WIDE = """
func.func @main(%x: tensor<3xf32>, %w: tensor<3xTYPE>) -> tensor<3xTYPE> {
  %y = fuse.exp %x : tensor<3xf32>
  %z = fuse.cast %y : (tensor<3xf32>) -> tensor<3xTYPE>
  %s = fuse.softmax %z, axis = 0 : tensor<3xTYPE>
  %t = fuse.add %s, %w : (tensor<3xTYPE>, tensor<3xTYPE>) -> tensor<3xTYPE>
  %u = fuse.softmax %t, axis = 0 : tensor<3xTYPE>
  return %u : tensor<3xTYPE>
}"""


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the logger has warned of."""
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_a_kernel_on_numpy_is_named_once_with_its_reason_and_line(caplog: pytest.LogCaptureFixture) -> None:
    program = fd.compile(fd.parse(DETERMINANT.replace("LOC", 'loc("model.py":52:3)')), cache=False)
    (text,) = warnings_of(caplog)
    assert text.startswith("'main': 1 of 2 kernels run on NumPy, which is slow: fused_det: 'fuse.det' op")
    assert text.endswith(", from model.py:52:3")
    program([[1.0, 0.0, 0.0]] * 3)
    assert len(caplog.records) == 1


def test_programs_that_are_native_or_meant_for_numpy_warn_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    fd.compile(fd.parse(WIDE.replace("TYPE", "f32")), cache=False)
    fd.compile(fd.parse(DETERMINANT.replace("LOC", "")), backend="numpy")
    assert not caplog.records


def test_a_program_in_f64_says_where_it_begins(caplog: pytest.LogCaptureFixture) -> None:
    fd.compile(fd.parse(WIDE.replace("TYPE", "f64")), cache=False)
    assert warnings_of(caplog) == [
        "'main' computes mostly in f64, from input 'w' on: f32 takes half of the time and memory"
    ]
    caplog.clear()
    inside = WIDE.replace("tensor<3xTYPE>) -> tensor<3xTYPE> {", "tensor<3xf32>) -> tensor<3xf64> {", 1)
    inside = inside.replace("%s, %w :", "%s, %s :").replace("TYPE", "f64")
    fd.compile(fd.parse(inside), cache=False)
    (text,) = warnings_of(caplog)
    assert text.startswith("'main' computes mostly in f64, from kernel fused_")


def test_the_tool_says_the_line_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "module.mlir"
    path.write_text(DETERMINANT.replace("LOC", ""))
    assert main([str(path), "--random-inputs", "0", "--backend", "llvm", "--no-cache"]) == 0
    warning, note = capsys.readouterr().err.splitlines()
    assert warning == "warning: 1 of 2 kernels run on NumPy"
    assert note.endswith(f", from {path}:4:8")
