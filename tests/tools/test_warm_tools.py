"""Tools that have started already do what those do that users start."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from checking import warm_tools

SCRIPTS = Path(sys.executable).parent
TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        warm_tools.start(Path(name), ("fuse-opt", "filecheck"))
        yield Path(name)


def run(tool: Path, *arguments: str, **options: object) -> tuple[int, str, str]:
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("-", "--fuse-ops"), TEXT),
        (("-", "-p", "canonicalise"), TEXT),
        (("-",), TEXT.replace("%x :", "%z :")),
        (("--version",), ""),
        (("--no-such-option",), ""),
        (("missing.mlir",), ""),
        (("-", "-t", "ünknown"), TEXT),
    ],
    ids=["module", "unknown pass", "error", "version", "usage", "missing", "name"],
)
def test_output_and_exit_code_are_those_of_a_process_of_its_own(
    folder: Path, tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    own = run(SCRIPTS / "fuse-opt", *arguments, input=text, cwd=tmp_path)
    assert run(folder / "fuse-opt", *arguments, input=text, cwd=tmp_path) == own


def test_each_command_has_its_variables_and_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.mlir").write_text(TEXT)
    assert run(folder / "fuse-opt", "x.mlir", cwd=tmp_path)[0] == 0
    environment = {**os.environ, "FUSE_DEBUG": "1"}
    _, _, plain = run(folder / "fuse-opt", "-", "-p", "fuse-ops{strategy=none}", input=TEXT)
    _, _, debug = run(folder / "fuse-opt", "-", "-p", "fuse-ops{strategy=none}", input=TEXT, env=environment)
    own = run(SCRIPTS / "fuse-opt", "-", "-p", "fuse-ops{strategy=none}", input=TEXT, env=environment)[2]
    assert "Traceback" not in plain
    assert ("Traceback" in debug) == ("Traceback" in own)


def test_no_command_sees_another_one(folder: Path) -> None:
    first = run(folder / "fuse-opt", "-", "--fuse-ops", input=TEXT)
    run(folder / "fuse-opt", "-", input="func.func @main(")
    assert run(folder / "fuse-opt", "-", "--fuse-ops", input=TEXT) == first


def test_the_server_ends_with_who_started_it() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from checking import warm_tools;"
        "warm_tools.start(Path(sys.argv[2]), ('filecheck',))"
    )
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-c", code, str(Path(warm_tools.__file__).parents[1]), name], check=True)
        client = Path(name) / "filecheck"
        for _ in range(100):
            done = subprocess.run([client, "--version"], capture_output=True, text=True, check=False, timeout=60)
            if "ConnectionRefusedError" in done.stderr or "FileNotFoundError" in done.stderr:
                break
        else:
            pytest.fail("the server goes on")


def test_a_server_that_cannot_start_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        warm_tools.start(tmp_path, ("no-such-tool",))
