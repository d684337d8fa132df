"""Files that are read are not written: whatever their names, and whichever option names them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fuse_dialect.tools import fuse_opt, fuse_run

MODULE = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = fuse.exp %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A module under four names, and inputs."""
    module = tmp_path / "m.mlir"
    module.write_text(MODULE)
    (tmp_path / "symbolic.mlir").symlink_to(module)
    os.link(module, tmp_path / "hard.mlir")
    np.savez(tmp_path / "in.npz", x=np.zeros(3, np.float32))
    names = ("m.mlir", "symbolic.mlir", "hard.mlir", "in.npz", "new.json")
    return {name: tmp_path / name for name in names} | {"dotted": tmp_path / "." / "m.mlir"}


@pytest.mark.parametrize("name", ["m.mlir", "symbolic.mlir", "hard.mlir", "dotted", "in.npz"])
@pytest.mark.parametrize("option", ["--outputs", "--json"])
def test_fuse_run_overwrites_no_file_that_it_reads(
    files: dict[str, Path], option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files[name].read_bytes()
    code = fuse_run.main([str(files["m.mlir"]), "--inputs", str(files["in.npz"]), option, str(files[name])])
    error = capsys.readouterr().err
    assert code == 1
    assert f"{option} would overwrite the file of {'--inputs' if name == 'in.npz' else 'MODULE'}" in error
    assert files[name].read_bytes() == before


def test_fuse_run_writes_two_results_to_two_files(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    new = str(files["new.json"])
    arguments = [str(files["m.mlir"]), "--random-inputs", "0", "--json", new, "--outputs", new]
    assert fuse_run.main(arguments) == 1
    assert "--json would overwrite the file of --outputs" in capsys.readouterr().err
    assert not files["new.json"].exists()
    assert fuse_run.main([*arguments[:-1], str(files["in.npz"])]) == 0
    assert json.loads(files["new.json"].read_text())["backend"] == "numpy"


@pytest.mark.parametrize("name", ["m.mlir", "symbolic.mlir", "hard.mlir", "dotted"])
@pytest.mark.parametrize("option", ["-o", "--mlir-pass-pipeline-crash-reproducer"])
def test_fuse_opt_overwrites_no_file_that_it_reads(
    files: dict[str, Path], option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuse_opt.main([str(files["m.mlir"]), "--fuse-ops", option, str(files[name])]) == 1
    assert "would overwrite the file of the input" in capsys.readouterr().err
    assert files[name].read_text() == MODULE


def test_fuse_opt_keeps_the_weights_that_it_reads(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("safetensors")
    weights = files["new.json"].with_name("w.safetensors")
    weights.write_bytes(b"what was there")
    arguments = [str(files["m.mlir"]), "--input-weights", str(weights), "--weights", str(weights)]
    assert fuse_opt.main(arguments) == 1
    assert "--weights would overwrite the file of --input-weights" in capsys.readouterr().err
    assert weights.read_bytes() == b"what was there"


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="there are no devices")
def test_devices_are_written_as_ever(files: dict[str, Path]) -> None:
    assert fuse_run.main([str(files["m.mlir"]), "--random-inputs", "0", "--json", "/dev/null"]) == 0
    command = [sys.executable, "-m", "fuse_dialect.tools.fuse_opt", "/dev/null", "-o", "/dev/null"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_the_number_of_measured_runs_has_an_end(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert fuse_run.main([str(files["m.mlir"]), "--random-inputs", "0", "--benchmark", str(10**9)]) == 2
    assert "argument --benchmark: expected 0 to 100000, got 1000000000" in capsys.readouterr().err
