"""Standard streams that are full, closed or narrow: results are whole or reported, messages never cost a result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
PROGRAM = """\
func.func @main(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %s = fuse.sum %x, axes = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %y = fuse.relu %s : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
needs_dev_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(PROGRAM)
    return path


def shell(command: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line with `fuse-opt` and `fuse-run` of this interpreter."""
    setup = "".join(
        f'{tool}() {{ "{sys.executable}" -c "import sys; from fuse_dialect.tools import entry; '
        f'sys.exit(entry.{tool}())" "$@"; }}\n'
        for tool in ("fuse_opt", "fuse_run")
    )
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{setup}{command}"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("errors", ["2>&-", pytest.param("2>/dev/full", marks=needs_dev_full)])
def test_messages_that_nobody_takes_cost_no_output_file(program: Path, errors: str):
    flags = "--fuse-ops --fusion-remarks --time-passes --mlir-print-ir-after-all"
    result = shell(f"fuse_opt {flags} in.mlir -o out.mlir {errors}", program.parent)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert "@fused_sum" in (program.parent / "out.mlir").read_text()


@pytest.mark.slow
def test_reader_of_messages_that_leaves_early_costs_no_output_file(program: Path):
    command = "fuse_opt --fuse-ops --mlir-print-ir-after-all in.mlir -o out.mlir 2>&1 | true"
    assert shell(command, program.parent).returncode == 0
    assert (program.parent / "out.mlir").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "fuse_opt in.mlir",
        "fuse_opt --help",
        "fuse_opt --version",
        "fuse_opt --list-passes",
        "fuse_opt --demo",
        "fuse_run in.mlir --random-inputs 0",
        "fuse_run in.mlir --random-inputs 0 --compare-with in.mlir",
        "fuse_run --help",
        "fuse_run --version",
    ],
)
@pytest.mark.parametrize(
    ("output", "reason"),
    [(">&-", "stdout is closed"), pytest.param(">/dev/full", "no space left on device", marks=needs_dev_full)],
)
def test_result_that_cannot_be_written_is_diagnosed(program: Path, command: str, output: str, reason: str):
    result = shell(f"{command} {output}", program.parent)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"<stdout>: error: cannot write the output: {reason}\n"


def test_result_is_utf8_on_a_terminal_that_knows_ascii_alone(tmp_path: Path):
    (tmp_path / "in.mlir").write_text('"test.é"() : () -> ()', encoding="utf-8")
    flags = "--allow-unregistered-dialect in.mlir"
    result = shell(f"fuse_opt {flags} > out.mlir", tmp_path, PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr) == (0, "")
    assert shell(f"fuse_opt {flags} -o direct.mlir", tmp_path).returncode == 0
    assert (tmp_path / "out.mlir").read_bytes() == (tmp_path / "direct.mlir").read_bytes()


def test_message_is_escaped_on_a_terminal_that_knows_ascii_alone(tmp_path: Path):
    (tmp_path / "in.mlir").write_text("%é")
    result = shell("fuse_opt in.mlir", tmp_path, PYTHONIOENCODING="ascii:strict")
    assert result.returncode == 1
    assert result.stderr.startswith("in.mlir:1:1: error: ")
    assert result.stderr.isascii()


def test_messages_do_not_go_to_stdout_without_a_stderr(program: Path):
    result = shell("fuse_opt --fuse-ops --fusion-remarks in.mlir 2>&-", program.parent)
    assert result.returncode == 0
    assert "remark" not in result.stdout


@pytest.mark.parametrize("module", ["fuse_dialect.tools.exit_status", "argparse", "xdsl.ir"])
@pytest.mark.parametrize("tool", ["fuse_opt", "fuse_run"])
def test_interrupt_while_starting_is_silent(tool: str, module: str, program: Path):
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from fuse_dialect.tools import entry
sys.exit(entry.{tool}())
"""
    command = [sys.executable, "-c", code, str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_every_script_has_a_quiet_entry():
    from importlib.metadata import entry_points

    scripts = [each for each in entry_points(group="console_scripts") if each.value.startswith("fuse_dialect.")]
    assert {each.value.partition(":")[0] for each in scripts} == {"fuse_dialect.tools.entry"}
