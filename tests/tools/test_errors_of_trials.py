"""Errors that people meet in their first hour say what to do."""

from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.tools.fuse_opt import main

HEAD = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"


def errors(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> list[str]:
    """What `fuse-opt` says of a text."""
    path = tmp_path / "m.mlir"
    path.write_text(text)
    assert main([str(path), *flags]) == 1
    return capsys.readouterr().err.replace(f"{tmp_path}/", "").splitlines()


@pytest.mark.parametrize("line", ["fuse.rleu %x : tensor<4xf32>", '"fuse.rleu"(%x) : (tensor<4xf32>) -> tensor<4xf32>'])
def test_a_misspelt_op_is_no_unknown_dialect(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = errors(f"{HEAD}  %y = {line}\n  return %y : tensor<4xf32>\n}}", tmp_path, capsys)
    assert said[0] == "m.mlir:2:8: error: operation 'fuse.rleu' is not registered, did you mean 'fuse.relu'?"
    assert said[1] == f"note:   %y = {line}"
    assert not any(line.startswith("hint: ") for line in said), "none speaks of unknown dialects"


def test_a_missing_brace_shows_where_the_text_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = errors(f"{HEAD}  return %x : tensor<4xf32>\n", tmp_path, capsys)
    assert said[0].startswith("m.mlir:3:1: error: unexpected end of input")
    assert said[1:] == ["note:   return %x : tensor<4xf32>", f"note: {' ' * 27}^", "hint: a '}' is missing"]


@pytest.mark.parametrize(("name", "hint"), [("nope", "there are opu, ethos-u, ethos-u-int8"), ("gemini", "'gemmini'?")])
def test_a_missing_template_lists_those_that_exist(
    name: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{HEAD}  return %x : tensor<4xf32>\n}}"
    said = errors(text, tmp_path, capsys, f"--fuse-ops-hw=template={name}")
    assert said[0] == f"error: no hardware template '{name}'"
    assert hint in said[-1]


def test_only_public_names_are_listed() -> None:
    assert {name for name in dir(fd) if not name.startswith("__")} == {*fd.__all__} - {"__version__"}
