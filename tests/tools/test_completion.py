"""Completion by the shell, and patterns by which editors find the places of errors."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fuse_dialect.tools.fuse_opt import main as fuse_opt
from fuse_dialect.tools.fuse_run import main as fuse_run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "use-in-a-shell-and-an-editor.md"
DIAMOND = str(ROOT / "docs" / "examples" / "blocked_diamond.mlir")


@pytest.mark.parametrize(
    ("tool", "name", "words", "expected"),
    [
        (fuse_opt, "fuse_opt", "fuse-opt --fusion-l", {"--fusion-limit"}),
        (fuse_opt, "fuse_opt", "fuse-opt --simplify-inf", {"--simplify-inference"}),
        (fuse_opt, "fuse_opt", "fuse-opt -t ht", {"html"}),
        (fuse_run, "fuse_run", "fuse-run --bis", {"--bisect"}),
    ],
)
def test_bash_completes(tool, name: str, words: str, expected: set[str], capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("shtab")
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    assert tool(["--print-completion", "bash"]) == 0
    script = capsys.readouterr().out
    count = len(words.split()) - 1
    ask = f"COMP_WORDS=({words}); COMP_CWORD={count}; _shtab_{name} 2>/dev/null; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]):
    for tool in (fuse_opt, fuse_run):
        assert tool(["--print-completion", "fish"]) == 2
        assert "invalid choice: 'fish'" in capsys.readouterr().err


def patterns() -> list[dict[str, object]]:
    matcher = json.loads((ROOT / "docs" / "examples" / "problem-matcher.json").read_text())
    task = json.loads(re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])
    return [matcher["problemMatcher"][0]["pattern"][0], task["tasks"][0]["problemMatcher"]["pattern"]]


@pytest.mark.parametrize("pattern", patterns())
def test_patterns_find_the_places_of_remarks_and_errors(
    pattern: dict[str, str | int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text("func.func @main() {\n  fuse.relx\n}\n")
    assert fuse_opt(["--fuse-ops", "--fusion-remarks", DIAMOND, "-o", "/dev/null"]) == 0
    assert fuse_opt([str(wrong)]) == 1
    lines = capsys.readouterr().err.splitlines()
    found = [match for line in lines if (match := re.match(str(pattern["regexp"]), line))]
    fields = [[match[pattern[key]] for key in ("file", "line", "message")] for match in found]
    assert [DIAMOND, "3", "'fuse.conv2d' op not fused into 'fuse.add': edge-kind"] in fields
    assert any(file == str(wrong) and line == "2" for file, line, _ in fields)
