"""What only a process of its own shows: start-up, pipes, signals."""

import subprocess
import sys
from pathlib import Path

import pytest

FUSE_OPT = [sys.executable, "-m", "fuse_dialect.tools.fuse_opt"]


def test_version_names_both_packages_without_importing_xdsl():
    code = (
        "import sys; from fuse_dialect.tools.fuse_opt import main; main(['--version']); print('xdsl.ir' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    version, imported = result.stdout.splitlines()
    assert version.startswith("fuse-opt ")
    assert " on xDSL 0.74" in version
    assert imported == "False"


@pytest.mark.slow
def test_closed_pipe_is_no_error(tmp_path: Path):
    source = tmp_path / "long.mlir"
    source.write_text('"test.op"() : () -> ()\n' * 20_000)
    with subprocess.Popen([*FUSE_OPT, str(source)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 141
    assert errors == b""


def test_claimed_size_of_a_constant_costs_no_memory(tmp_path: Path):
    source = tmp_path / "large.mlir"
    source.write_text(
        "%0 = arith.constant dense<1.0> : tensor<1000000000xf32>\n"
        '%1 = arith.constant dense<"0x0000803F"> : tensor<99999999999x99999999999xf32>\n'
    )
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30));"
        "from fuse_dialect.tools.fuse_opt import main; sys.exit(main(sys.argv[1:]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(source), "--canonicalize", "--cse"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_universe_imports_only_the_universe_of_xdsl():
    code = (
        "import sys, xdsl.universe; before = set(sys.modules); import fuse_dialect.universe;"
        "print(sorted(set(sys.modules) - before))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout == "['fuse_dialect', 'fuse_dialect.universe']\n"


def test_a_module_without_fuse_ops_is_read_verified_and_printed_without_numpy(tmp_path: Path):
    source = tmp_path / "scalars.mlir"
    source.write_text("func.func @f(%x: f32) -> f32 {\n  %y = arith.addf %x, %x : f32\n  return %y : f32\n}\n")
    code = (
        "import sys; from fuse_dialect.tools.fuse_opt import main; main(sys.argv[1:]);"
        "print('numpy' in sys.modules, 'fuse_dialect.dialect.op' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(source)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "arith.addf" in result.stdout
    assert result.stdout.splitlines()[-1] == "False False"
