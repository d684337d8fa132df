"""The package of the documentation that extends this one from outside, installed as far as Python sees it."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError

native = pytest.mark.skipif(find_spec("llvmlite") is None, reason="needs llvmlite")
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
    for name in ("own_strategy", "own_backend", "own_machine", "own_kinds"):
        sys.modules.pop(name, None)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
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


LAYERS = """
func.func @main(%x: tensor<1x9x11x8xf32>, %w: tensor<3x3x8x24xf32>, %v: tensor<24x40xf32>) -> tensor<99x40xf32> {
  %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1], data_layout = "NHWC", kernel_layout = "HWIO"
    : (tensor<1x9x11x8xf32>, tensor<3x3x8x24xf32>) -> tensor<1x9x11x24xf32>
  %r = fuse.reshape %c : (tensor<1x9x11x24xf32>) -> tensor<99x24xf32>
  %m = fuse.matmul %r, %v : (tensor<99x24xf32>, tensor<24x40xf32>) -> tensor<99x40xf32>
  %s = fuse.softmax %m, axis = 1 : tensor<99x40xf32>
  return %s : tensor<99x40xf32>
}
"""


NPU = """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "npu.matmul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "npu.gelu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
"""


def test_the_kinds_are_found_for_ops_of_unknown_dialects(installed: Path) -> None:
    module = fd.fuse_ops(fd.parse(NPU, allow_unregistered=True))
    assert "@fused_matmul_gelu" in str(module)
    assert len(fd.plan_fusion(fd.parse(NPU, allow_unregistered=True)).groups) == 1


def test_kinds_are_looked_for_only_where_an_op_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_metadata(tmp_path, {"fuse_dialect.kinds": {"mine": "not_there:KINDS"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    fd.fuse_ops(fd.parse(TEXT))
    hlo = NPU.replace("npu.matmul", "stablehlo.dot").replace("npu.gelu", "mhlo.gelu")
    kind = "{fuse.pattern_kind = #fuse.pattern_kind<elemwise>} :"
    fd.fuse_ops(fd.parse(hlo.replace('"mhlo.gelu"(%0) :', f'"mhlo.gelu"(%0) {kind}'), allow_unregistered=True))
    with pytest.raises(FuseError, match="kinds 'mine' of 'not_there:KINDS' cannot be imported"):
        fd.fuse_ops(fd.parse(hlo, allow_unregistered=True))


def test_a_file_of_kinds_wins_over_installed_ones(installed: Path) -> None:
    path = installed / "kinds.toml"
    path.write_text('[[op]]\nname = "npu.gelu"\nkind = "opaque"\n')
    assert "@fused_matmul(" in str(fd.fuse_ops(fd.parse(NPU, allow_unregistered=True), kinds=path))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('KINDS = "[[op]]\\nname = 3"', "odd_kinds:KINDS:2: error: expected 'name' to be a text"),
        ("KINDS = 3", "kinds 'mine' expects 'odd_kinds:KINDS' to be a path or TOML text"),
        ('KINDS = "none.toml"', "cannot read file of kinds 'none.toml'"),
        ("from pathlib import Path\nKINDS = Path('none')", "cannot read file of kinds 'none'"),
    ],
)
def test_what_is_wrong_with_installed_kinds_has_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    (tmp_path / "odd_kinds.py").write_text(source)
    write_metadata(tmp_path, {"fuse_dialect.kinds": {"mine": "odd_kinds:KINDS"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("odd_kinds", None)
    with pytest.raises(FuseError) as caught:
        fd.fuse_ops(fd.parse(NPU, allow_unregistered=True))
    sys.modules.pop("odd_kinds", None)
    assert message in str(caught.value)


def test_two_packages_that_contradict_each_other_are_an_error(installed: Path) -> None:
    (installed / "other_kinds.py").write_text('KINDS = \'[[op]]\\nname = "npu.*"\\nkind = "opaque"\'\n')
    (installed / "other-1.0.dist-info").mkdir()
    (installed / "other-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    points = "[fuse_dialect.kinds]\nother = other_kinds:KINDS\n"
    (installed / "other-1.0.dist-info" / "entry_points.txt").write_text(points)
    with pytest.raises(FuseError, match=r"'npu.\*' is said to be opaque here, and elemwise elsewhere") as caught:
        fd.fuse_ops(fd.parse(NPU, allow_unregistered=True))
    sys.modules.pop("other_kinds", None)
    assert str(caught.value.location) == "other_kinds:KINDS:1"
    assert caught.value.notes == ("own_kinds:KINDS:2: the other row of this name",)


IRDL = """
irdl.dialect @npu {
  irdl.operation @matmul {
    %tensor = irdl.any
    irdl.operands(lhs: %tensor, rhs: %tensor)
    irdl.results(result: %tensor)
  }
  irdl.operation @gelu {
    %tensor = irdl.any
    irdl.operands(input: %tensor)
    irdl.results(result: %tensor)
  }
}
"""
UNIVERSE = """
from pathlib import Path
from xdsl.context import Context
from xdsl.dialects import builtin, irdl
from xdsl.interpreters.irdl import make_dialect
from xdsl.parser import Parser
from xdsl.universe import Universe


def npu():
    ctx = Context()
    for dialect in (builtin.Builtin, irdl.IRDL):
        ctx.load_dialect(dialect)
    module = Parser(ctx, Path(__file__).with_name("npu.irdl").read_text()).parse_module()
    return make_dialect(module.body.block.first_op)


UNIVERSE = Universe(all_dialects={"npu": npu})
"""


def test_xdsl_opt_fuses_an_irdl_dialect_with_installed_kinds(installed: Path) -> None:
    (installed / "npu.irdl").write_text(IRDL)
    (installed / "own_universe.py").write_text(UNIVERSE)
    with (installed / "own_package-1.0.dist-info" / "entry_points.txt").open("a") as file:
        file.write("\n[xdsl.universe]\nnpu = own_universe:UNIVERSE\n")
    (installed / "npu.mlir").write_text(NPU)
    for command in (["xdsl-opt", "-p", "fuse-ops"], ["fuse-opt", "--fuse-ops"]):
        fused = run(installed, *command, str(installed / "npu.mlir"))
        assert fused.returncode == 0, fused.stderr
        assert "@fused_matmul_gelu" in fused.stdout


@native
def test_the_machine_is_found_and_its_code_is_right(installed: Path) -> None:
    program = fd.compile(fd.parse(LAYERS), target_cpu="toy")
    assert {"contraction", "strips"} <= {kernel.family for kernel in program.kernels}
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape, np.float32) for shape in ((1, 9, 11, 8), (3, 3, 8, 24), (24, 40))]
    np.testing.assert_allclose(program(*arrays)[0], fd.run(fd.parse(LAYERS), *arrays)[0], rtol=1e-4, atol=1e-6)


@native
def test_schedules_are_made_for_the_machine(installed: Path) -> None:
    from fuse_dialect.backends.llvm.processors import named

    source = installed / "layers.mlir"
    source.write_text(LAYERS)
    done = run(installed, "fuse-opt", "--fuse-ops", "-t", "llvm", "--target-cpu", "toy", str(source))
    assert done.returncode == 0, done.stderr
    assert "<4 x float>" in done.stdout
    assert "<8 x float>" not in done.stdout
    assert '"prefer-vector-width"="128"' in done.stdout
    assert "_tile_1x2x8(" in done.stdout  # two vectors of four columns, in two rows: six of eight registers
    machine = named("toy").machine
    assert (machine.name, machine.vector_bytes, machine.registers, machine.cores) == ("toy", 16, 8, 1)


@native
def test_fuse_run_takes_the_machine(installed: Path) -> None:
    source = installed / "layers.mlir"
    source.write_text(LAYERS)
    done = run(installed, "fuse-run", str(source), "--target-cpu", "toy", "--random-inputs", "0", "--no-cache")
    assert done.returncode == 0, done.stderr
    assert "99x40xf32" in done.stdout


SLOW = """
from dataclasses import replace

from fuse_dialect.machines.description import with_rates
from fuse_dialect.machines.names import find_machine

BASE = with_rates(find_machine("cpu-avx512"))
SLOW = replace(BASE, name="slow", processor="native", rates=replace(BASE.rates, vectors=1e9))
"""
TWO_READERS = """
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %h = fuse.exp %x : tensor<64x64xf32>
  %t = fuse.transpose %h, permutation = [1, 0] : tensor<64x64xf32>
  %a = fuse.abs %t : tensor<64x64xf32>
  %b = fuse.negative %h : tensor<64x64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>
}
"""


@native
def test_plans_code_and_profiles_are_for_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_machine.py").write_text(SLOW)
    write_metadata(tmp_path, {"fuse_dialect.machines": {"slow": "slow_machine:SLOW"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    module = fd.parse(TWO_READERS)
    fast = fd.plan_fusion(module, strategy="cost", machine="cpu-avx512").groups
    slow = fd.plan_fusion(module, strategy="cost", machine="slow").groups
    assert (len(fast), len(slow)) == (1, 2)
    program = fd.compile(module, strategy="cost", target_cpu="slow")
    assert [str(group) for group in program.plan.groups] == [str(group) for group in slow]
    assert [kernel.ops for kernel in program.kernels] == [("exp", "negative"), ("transpose", "abs")]
    x = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    for got, want in zip(program(x), fd.run(module, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert program.profile(x, repeat=1).machine == "slow"
    source = tmp_path / "x.mlir"
    source.write_text(TWO_READERS)
    for arguments in (["--fuse-ops=strategy=cost machine=slow"], ["--fuse-ops=strategy=cost", "--target-cpu", "slow"]):
        done = run(tmp_path, "fuse-opt", *arguments, str(source))
        assert done.returncode == 0, done.stderr
        assert "@fused_transpose_abs(" in done.stdout
    report = tmp_path / "report.json"
    command = [str(source), "--backend", "llvm", "--target-cpu", "slow", "--fuse-ops", "strategy=cost"]
    done = run(tmp_path, "fuse-run", *command, "--random-inputs", "0", "--benchmark", "1", "--json", str(report))
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    assert found["machine"] == "slow"
    assert len(found["kernels"]) == 2
    sys.modules.pop("slow_machine", None)


@native
def test_a_machine_without_a_processor_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd_machines.py").write_text(
        "from fuse_dialect.machines.machine import Machine\n"
        "LOST = Machine('lost', 16, 16, processor='z80')\n"
        "def __getattr__(name):\n"
        "    return Machine(name, 24, 16)\n"
    )
    write_metadata(tmp_path, {"fuse_dialect.machines": {"lost": "odd_machines:LOST", "odd": "odd_machines:odd"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(FuseError, match="machine 'lost' is of the unknown processor 'z80'"):
        fd.compile(fd.parse(TEXT), target_cpu="lost")
    with pytest.raises(FuseError, match=r"'odd_machines:odd' cannot be imported: .* a power of two from 16, got 24"):
        fd.compile(fd.parse(TEXT), target_cpu="odd")
    with pytest.raises(FuseError, match="unknown machine 'los'") as caught:
        fd.compile(fd.parse(TEXT), target_cpu="los")
    assert caught.value.hint == "did you mean 'lost'?"
    sys.modules.pop("odd_machines", None)


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
        ("machines", "not_there:each", "machine 'mine' of 'not_there:each' cannot be imported"),
        ("machines", "math:pi", "machine 'mine' expects 'math:pi' to be a Machine"),
    ],
)
def test_what_an_entry_point_should_not_name_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, place: str, message: str
) -> None:
    write_metadata(tmp_path, {f"fuse_dialect.{group}": {"mine": place}})
    monkeypatch.syspath_prepend(str(tmp_path))
    ask = {
        "strategies": lambda: fd.fuse_ops(fd.parse(TEXT), strategy="mine"),
        "backends": lambda: fd.compile(fd.parse(TEXT), backend="mine"),
        "machines": lambda: fd.compile(fd.parse(TEXT), target_cpu="mine"),
    }
    with pytest.raises(FuseError, match=message):
        ask[group]()
