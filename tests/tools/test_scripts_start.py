"""Every script in `tools/` starts: it says with `--help` how it is used, and does nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path.name for path in (ROOT / "tools").glob("*.py") if '__name__ == "__main__"' in path.read_text())
_OF_OTHERS = re.compile(r"No module named '(jax|torch|iree|openvino|onnxruntime)\b|TVM is not installed")
"""Packages that no test needs; whatever else a script imports must be there."""


def test_there_are_scripts() -> None:
    assert {"check.py", "fuzz_against_tvm.py", "hardware_table.py"} <= set(SCRIPTS)


def test_the_readme_of_the_tools_names_every_script_and_every_folder() -> None:
    folder = ROOT / "tools"
    page = (folder / "README.md").read_text()
    rooms = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+(?:\.py|/))`", page)) - {"NAME.py"} == {*SCRIPTS, *rooms}


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_how_it_is_used(script: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / script), "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if missing := _OF_OTHERS.search(done.stderr):
        pytest.skip(missing[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: " in done.stdout
    assert not list(tmp_path.iterdir())
