"""Files with machine code for several processors: which of it runs, and where."""

import platform
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.stored.machine_code import is_supported
from fuse_dialect.backends.stored.program import StoredProgram
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading import saved_programs
from fuse_dialect.machines.levels import LEVELS

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(not is_supported(), reason="machine code is stored on Linux, x86-64")

WEIGHT = np.random.default_rng(0).standard_normal((48, 64)).astype(np.float32)
TEXT = f"""
func.func @main(%x: tensor<5x64xf32>) -> tensor<5xf32> {{
  %w = arith.constant dense<"0x{WEIGHT.tobytes().hex().upper()}"> : tensor<48x64xf32>
  %p = fuse.dense %x, %w : (tensor<5x64xf32>, tensor<48x64xf32>)
  %t = fuse.tanh %p : tensor<5x48xf32>
  %s = fuse.sum %t, axes = [1] : (tensor<5x48xf32>) -> tensor<5xf32>
  return %s : tensor<5xf32>
}}
"""
X = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with code for three processors, made by somebody whose key is not here."""
    folder = tmp_path_factory.mktemp("others")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSE_CACHE_DIR", str(folder / "cache"))
        fd.compile(fd.parse(TEXT)).save(folder / "model.fuse", target_cpus=["x86-64", "haswell"])
    return folder / "model.fuse"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "cache"))


def loaded(path: Path, monkeypatch: pytest.MonkeyPatch, *flags: str) -> fd.Program:
    """The file as a processor of some flags loads it that trusts it."""
    monkeypatch.setattr(saved_programs, "processor", lambda: [f"flags\t\t: {' '.join(flags)}"])
    return fd.load(path, trust=True)


def code(path: Path, processor: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(f"code/{processor}/image.bin")


@pytest.mark.sums
@pytest.mark.parametrize("level", ["haswell", "x86-64"])
def test_the_code_that_can_do_most_here_runs(path: Path, monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    program = loaded(path, monkeypatch, *LEVELS[level])
    assert isinstance(program, StoredProgram)
    chosen = bytes(program._image.code)
    assert chosen
    assert code(path, level).startswith(chosen)
    (expected,) = run_module(fd.parse(TEXT), [X])
    # 48 values in [-1, 1] of products of 64 terms: far more than rounding, far less than a wrong kernel.
    np.testing.assert_allclose(program(X)[0], expected, atol=1e-3)


def test_a_processor_that_lacks_one_flag_takes_less(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = loaded(path, monkeypatch, *(LEVELS["haswell"] - {"bmi2"}))
    assert isinstance(program, StoredProgram)
    assert code(path, "x86-64").startswith(bytes(program._image.code))
    assert not isinstance(loaded(path, monkeypatch, *(LEVELS["x86-64"] - {"sse2"})), StoredProgram)


def test_code_of_a_stranger_does_not_run_unasked(path: Path) -> None:
    assert not isinstance(fd.load(path), StoredProgram)


def test_code_of_another_version_does_not_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuse_dialect.loading.saving_version.package_version", lambda: "9.9")
    assert not isinstance(loaded(path, monkeypatch, *LEVELS["haswell"]), StoredProgram)


def test_what_was_loaded_is_saved_for_others_too(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fd.load(path).save(tmp_path / "again.fuse", target_cpus=["x86-64"])
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "another user"))
    again = loaded(tmp_path / "again.fuse", monkeypatch, *LEVELS["x86-64"])
    assert isinstance(again, StoredProgram)


def test_weights_that_are_read_alike_are_there_once(path: Path, tmp_path: Path) -> None:
    program = fd.compile(fd.parse(TEXT), target_cpu="haswell")
    program.save(tmp_path / "one.fuse")
    program.save(tmp_path / "both.fuse", target_cpus=["haswell", "x86-64-v3"])
    sizes = []
    for name in ("one.fuse", "both.fuse"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            sizes.append(archive.getinfo("constants.safetensors").file_size)
    assert sizes[0] == sizes[1] >= WEIGHT.nbytes


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads code of x86-64")
def test_code_of_the_lowest_level_has_no_wider_registers(path: Path, tmp_path: Path) -> None:
    (tmp_path / "code").write_bytes(code(path, "x86-64"))
    command = ["objdump", "-D", "-b", "binary", "-mi386:x86-64", str(tmp_path / "code")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # The driver is a part of it. What follows code are numbers, of which some look like instructions.
    until_table = said[: said.index("(bad)")] if "(bad)" in said else said
    assert "%xmm" in until_table
    assert not re.search(r"%[yz]mm|%k[1-7]|\bv(mov|add|mul|fmadd)", until_table)


@pytest.mark.parametrize(
    ("processors", "words"),
    [
        (["znver4"], "there are x86-64-v4"),
        ([""], "there are x86-64-v4"),
        (["/etc/passwd.toml"], "there are x86-64-v4"),
        ("haswell", r"write \['haswell'\]"),
    ],
)
def test_other_processors_are_refused(tmp_path: Path, processors: list[str], words: str) -> None:
    program = fd.compile(fd.parse(TEXT))
    with pytest.raises(fd.FuseError) as caught:
        program.save(tmp_path / "model.fuse", target_cpus=processors)
    assert re.search(words, str(caught.value.hint))
    assert not (tmp_path / "model.fuse").exists()


def test_programs_without_code_have_none_for_others(tmp_path: Path) -> None:
    program = fd.compile(fd.parse(TEXT.replace("<5x", "<?x").replace("<5xf32", "<?xf32")))
    with pytest.raises(fd.FuseError, match="no code for other processors"):
        program.save(tmp_path / "model.fuse", target_cpus=["haswell"])
    assert not (tmp_path / "model.fuse").exists()
