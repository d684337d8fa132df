"""The package of the documentation that extends this one from outside, installed as far as Python sees it."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError

FOLDER = Path(__file__).parents[1] / "docs" / "examples" / "own_package"
SCRIPTS = Path(sys.executable).parent
TEXT = """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xf32>) {
  %e = fuse.exp %x : tensor<?x4xf32>
  %a = fuse.tanh %e : tensor<?x4xf32>
  %b = fuse.add %e, %y : (tensor<?x4xf32>, tensor<4xf32>)
  %s = fuse.sum %e, axes = [1] : (tensor<?x4xf32>)
  return %a, %b, %s : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xf32>
}
"""


def write_metadata(folder: Path, points: dict[str, dict[str, str]]) -> None:
    """What pip would leave behind."""
    info = folder / "own_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own_package\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in each.items())
        for group, each in points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    for source in FOLDER.glob("*.py"):
        shutil.copy(source, tmp_path)
    write_metadata(tmp_path, tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["entry-points"])
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("own_strategy", "own_backend"):
        sys.modules.pop(name, None)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    script, *rest = command
    return subprocess.run([str(SCRIPTS / script), *rest], env=environment, capture_output=True, text=True, check=False)


def test_the_strategy_is_found(installed: Path) -> None:
    groups = fd.plan_fusion(fd.parse(TEXT), strategy="each-result").groups
    assert [str(group) for group in groups] == ["exp + tanh + add -> %a, %b", "exp + sum -> %s"]


def test_the_backend_is_found(installed: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    program = fd.compile(fd.parse(TEXT), backend="gcc", strategy="each-result")
    x, y = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.ones(4, np.float32)
    for got, want in zip(program(x, y), fd.run(fd.parse(TEXT), x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert "gcc" in {kernel.family for kernel in program.kernels}


def test_tools_find_both(installed: Path) -> None:
    source = installed / "program.mlir"
    source.write_text(TEXT.replace("?", "3"))
    fused = run(installed, "fuse-opt", "--fuse-ops=strategy=each-result", str(source))
    assert fused.returncode == 0, fused.stderr
    assert "@fused_exp_tanh_add(" in fused.stdout
    if shutil.which("gcc") is not None:
        done = run(installed, "fuse-run", str(source), "--backend", "gcc", "--random-inputs", "0")
        assert done.returncode == 0, done.stderr
        assert "3x4xf32" in done.stdout or "result" in done.stdout


def test_unknown_names_list_all(installed: Path) -> None:
    with pytest.raises(FuseError, match="unknown backend 'gc', expected one of llvm, numpy, gcc") as caught:
        fd.compile(fd.parse(TEXT), backend="gc")
    assert caught.value.hint == "did you mean 'gcc'?"
    with pytest.raises(FuseError, match="no fusion strategy 'each-reslt'") as caught:
        fd.fuse_ops(fd.parse(TEXT), strategy="each-reslt")
    assert "did you mean 'each-result'?" in str(caught.value)


@pytest.mark.parametrize(
    ("group", "place", "message"),
    [
        ("strategies", "not_there:each", "fusion strategy 'mine' of 'not_there:each' cannot be imported"),
        ("strategies", "math:pi", "fusion strategy 'mine' expects 'math:pi' to be a function"),
        ("backends", "not_there:each", "backend 'mine' of 'not_there:each' cannot be imported"),
        ("backends", "math:pi", "backend 'mine' expects 'math:pi' to be a function"),
    ],
)
def test_what_is_no_function_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, place: str, message: str
) -> None:
    write_metadata(tmp_path, {f"fuse_dialect.{group}": {"mine": place}})
    monkeypatch.syspath_prepend(str(tmp_path))
    ask = {
        "strategies": lambda: fd.fuse_ops(fd.parse(TEXT), strategy="mine"),
        "backends": lambda: fd.compile(fd.parse(TEXT), backend="mine"),
    }
    with pytest.raises(FuseError, match=message):
        ask[group]()
