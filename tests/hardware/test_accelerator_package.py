"""The package of the documentation that takes an accelerator all the way, as its users run it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import fuse_dialect as fd

FOLDER = Path(__file__).parents[2] / "docs/examples/accelerator_package"


def test_the_simulator_gives_the_meaning_and_the_cycles_of_the_report() -> None:
    done = subprocess.run([sys.executable, str(FOLDER / "run.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "results are equal" in done.stdout
    (more,) = re.findall(r"estimated: ([+-][\d.]+) %", done.stdout)
    assert abs(float(more)) < 5


def test_what_stays_on_the_host_is_the_head_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from resnet18 import resnet18  # pyright: ignore[reportMissingImports]

    template = str(FOLDER / "vm.mlir")
    found = fd.hardware_report(fd.fuse_ops_hw(resnet18(), template=template), template=template)
    assert [work.name for work in found.engines["host"]] == ["fuse.cast", "fuse.mean", "fuse.dense"]
    assert len(found.engines["vm"]) == 20
    assert found.cycles is not None
