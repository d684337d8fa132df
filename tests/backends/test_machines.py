"""Programs are planned for the machine that their code is made for, unless `machine` names another."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.roofline import machine_limits
from fuse_dialect.machines.environment import VARIABLE
from fuse_dialect.machines.host import host_machine
from fuse_dialect.machines.machine import Unit
from fuse_dialect.machines.names import find_machine

FUSE_OPT = Path(sys.executable).parent / "fuse-opt"
has_llvm = find_spec("llvmlite") is not None
native = pytest.mark.skipif(not has_llvm or host_machine().vector_bytes < 32, reason="needs llvmlite and AVX")
# Vectors of AVX-512 compute exponentials in less time than two kernels move them; those of AVX2 do not.
TEXT = """func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %h = fuse.exp %x : tensor<64x64xf32>
  %k = fuse.exp %h : tensor<64x64xf32>
  %t = fuse.transpose %k, permutation = [1, 0] : tensor<64x64xf32>
  %a = fuse.abs %t : tensor<64x64xf32>
  %b = fuse.negative %k : tensor<64x64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>
}"""
WIDE, NARROW = [("exp", "exp", "transpose", "abs", "negative")], [("exp", "exp", "negative"), ("transpose", "abs")]


@pytest.fixture(autouse=True)
def no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def kernels(**options) -> list[tuple[str, ...]]:
    """The operators of each kernel of the program, as it was compiled and as its plan says."""
    program = fd.compile(fd.parse(TEXT), strategy="cost", cache=False, **options)
    found = [kernel.ops for kernel in program.kernels]
    assert len(program.plan.groups) == len(found)
    return found


@pytest.mark.parametrize(
    ("machine", "expected"),
    [("cpu-avx512", WIDE), ("sapphirerapids", WIDE), ("cpu-avx2", NARROW), ("haswell", NARROW), ("znver3", NARROW)],
)
def test_plans_are_for_the_machine_whether_its_class_or_a_processor_names_it(
    machine: str, expected: list[tuple[str, ...]]
) -> None:
    assert len(fd.plan_fusion(fd.parse(TEXT), strategy="cost", machine=machine).groups) == len(expected)
    assert kernels(backend="numpy", machine=machine) == expected
    assert kernels(backend="numpy", target_cpu=machine) == expected


@native
def test_code_and_plan_are_for_the_same_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels(target_cpu="haswell") == NARROW
    monkeypatch.setenv(VARIABLE, "haswell")
    assert kernels() == NARROW
    monkeypatch.delenv(VARIABLE)
    # A processor with more than is at hand is planned for as far as its code goes.
    assert kernels(target_cpu="sapphirerapids") == (WIDE if host_machine().vector_bytes == 64 else NARROW)


@native
def test_the_option_names_what_is_planned_for_and_the_target_what_code_is_made_for() -> None:
    program = fd.compile(fd.parse(TEXT), strategy="cost", target_cpu="haswell", machine="cpu-avx512", cache=False)
    assert [kernel.ops for kernel in program.kernels] == WIDE
    assert program.machine is not None
    assert program.machine.name == "haswell"


def test_where_nothing_is_named_the_processor_at_hand_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = str(fd.plan_fusion(fd.parse(TEXT), strategy="cost"))
    assert groups == str(fd.plan_fusion(fd.parse(TEXT), strategy="cost", machine="native"))
    for name, expected in (("skylake-avx512", WIDE), ("haswell", NARROW)):
        monkeypatch.setenv(VARIABLE, name)
        assert len(fd.plan_fusion(fd.parse(TEXT), strategy="cost").groups) == len(expected)


@pytest.mark.parametrize("name", ["skylake-avx512", "haswell"])
def test_fuse_opt_plans_for_the_target(name: str, tmp_path: Path) -> None:
    source = tmp_path / "x.mlir"
    source.write_text(TEXT)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(FUSE_OPT), *arguments, str(source)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, VARIABLE: ""})

    for flags in (["--fuse-ops=strategy=cost"], ["--compile-pipeline=strategy=cost"]):
        done = run(*flags, "--target-cpu", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("{primitive}") == (1 if name == "skylake-avx512" else 2)
        named = run(f"{flags[0]} machine={name}")
        assert named.stdout == done.stdout
    both = run("--fuse-ops=strategy=cost machine=haswell", "-t", "llvm", "--target-cpu", "skylake-avx512")
    if has_llvm:
        assert both.stdout.count("define void") == 2
    unused = run("--fuse-ops", "--target-cpu", name)
    assert unused.returncode == 2
    assert "no pass plans for one" in unused.stderr


def test_an_unknown_machine_is_an_error_before_anything_is_compiled(tmp_path: Path) -> None:
    for options in ({"target_cpu": "haswel"}, {"strategy": "cost", "machine": "haswel"}):
        with pytest.raises(fd.FuseError, match="unknown machine 'haswel'") as caught:
            fd.compile(fd.parse(TEXT), backend="numpy", **options)
        assert "did you mean 'haswell'?" in str(caught.value)
    if has_llvm:
        (tmp_path / "x.mlir").write_text("nonsense")
        with pytest.raises(fd.FuseError, match="unknown machine 'haswel'"):
            fd.compile(tmp_path / "x.mlir", target_cpu="haswel")


@native
def test_a_file_is_a_machine_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nprocessor = "haswell"\nregisters = 8\nunits = ["fma"]\n')
    assert kernels(target_cpu=str(path)) == NARROW
    machine = fd.compile(fd.parse(TEXT), target_cpu=str(path), cache=False).machine
    assert machine is not None
    assert (machine.name, machine.vector_bytes, machine.registers) == ("mine", 32, 8)
    assert Unit.HALVES not in machine.units
    with pytest.raises(fd.FuseError, match="machine 'gpu-h100' is of the unknown processor 'gpu-h100'"):
        fd.compile(fd.parse(TEXT), target_cpu="gpu-h100")


@native
def test_the_profile_measures_by_the_instructions_of_the_machine() -> None:
    import numpy as np

    x = np.zeros((64, 64), np.float32)
    program = fd.compile(fd.parse(TEXT), target_cpu="x86-64-v2", cache=False)
    profile = program.profile(x, repeat=1)
    assert profile.machine == "x86-64-v2"
    assert profile.as_json()["machine"] == "x86-64-v2"
    # The same machine is measured once, and another one apart.
    assert profile.limits is machine_limits(1, find_machine("x86-64-v2"))
    assert profile.limits is not machine_limits(1, find_machine("haswell"))
