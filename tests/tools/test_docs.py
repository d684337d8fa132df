"""What README and docs show is what happens.

1. In a `console` block, every line `$ COMMAND` is run, and the lines below it are what it prints, first stdout, then
   stderr. A line `...` stands for any lines, and `...` in a line for any text. Commands are `fuse-opt`, `fuse-run`,
   `xdsl-opt` and `cat`.
2. A `pycon` block is a doctest.
3. Links to files lead to files.

Commands run in an empty folder where `docs` is the project's; files that one command of a page writes are there for
the next. Everything else, `sh` blocks for one, is not run.
"""

import doctest
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fnmatch import fnmatch
from io import StringIO
from pathlib import Path

import pytest
from xdsl.xdsl_opt_main import xDSLOptMain

from fuse_dialect.tools import fuse_opt, fuse_run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(path for path in ROOT.glob("docs/**/*.md") if path.parent.name != "reference")],
    key=str,
)
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


@dataclass(frozen=True, slots=True)
class Example:
    """A command in a page and what it is said to print."""

    command: str
    expected: str


def blocks(text: str, language: str) -> list[str]:
    """Contents of the code blocks in a language."""
    return [match[2] for match in _FENCE.finditer(text) if match[1] == language]


def examples(text: str) -> Iterator[Example]:
    """The commands of all console blocks."""
    for block in blocks(text, "console"):
        assert block.startswith("$ "), f"a console block begins with a command, got: {block.splitlines()[0]}"
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield Example(command, expected.rstrip("\n"))


def run(command: str) -> str:
    """What a command prints: stdout, then stderr."""
    output, errors = StringIO(), StringIO()
    tool, *arguments = shlex.split(command)
    with redirect_stdout(output), redirect_stderr(errors):
        TOOLS[tool](arguments)
    return (output.getvalue() + errors.getvalue()).rstrip("\n")


def _xdsl_opt(arguments: Sequence[str]) -> None:
    xDSLOptMain(args=arguments).run()


def _cat(arguments: Sequence[str]) -> None:
    for path in arguments:
        sys.stdout.write(Path(path).read_text(encoding="utf-8"))


def _python(arguments: Sequence[str]) -> None:
    path, *rest = arguments
    before = sys.argv, list(sys.path)
    sys.argv, sys.path[:0] = [path, *rest], [str(Path(path).parent)]
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before


TOOLS: dict[str, Callable[[Sequence[str]], object]] = {
    "fuse-opt": fuse_opt.main,
    "fuse-run": fuse_run.main,
    "xdsl-opt": _xdsl_opt,
    "cat": _cat,
    "python": _python,
}


def agrees(printed: str, expected: str) -> bool:
    """Whether the text is as expected, `...` standing for any lines or, within a line, for any text."""
    parts = re.split(r"^[ ]*\.\.\.\n?", f"{expected}\n", flags=re.MULTILINE)
    patterns = [re.escape(part).replace(re.escape("..."), ".*") for part in parts]
    return re.fullmatch("(?:.*\n)*".join(patterns), f"{printed}\n") is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").symlink_to(ROOT / "docs", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples_of_the_page_print_what_it_says(page: Path, folder: Path):
    text = page.read_text(encoding="utf-8")
    if ".onnx" in text:
        pytest.importorskip("onnx_ir")
    for example in examples(text):
        printed = run(example.command)
        assert agrees(printed, example.expected), f"$ {example.command}\n{printed}"
    globs: dict[str, object] = {}
    for block in blocks(text, "pycon"):
        case = doctest.DocTestParser().get_doctest(block, globs, str(page), None, 0)
        report = StringIO()
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(case, out=report.write, clear_globs=False)
        globs = case.globs
        assert not report.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_of_the_page_lead_to_files(page: Path):
    text = page.read_text(encoding="utf-8")
    targets = [match[1] for match in _LINK.finditer(text) if "://" not in match[1]]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_every_example_file_is_shown_somewhere():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    unused = [path.name for path in (ROOT / "docs" / "examples").iterdir() if path.name not in text]
    assert not unused


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_an_output_that_differs_is_noticed():
    assert agrees("a\nb\nc", "a\n...\nc")
    assert agrees("a\nc", "a\n...\nc")
    assert agrees("error 3 here", "error ... here")
    assert not agrees("a\nb\nd", "a\n...\nc")
    assert not agrees("a\nb", "a")


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/how-to/*.md")), ids=lambda page: page.name)
def test_how_to_says_how_to_set_up(page: Path):
    assert '.venv/bin/pip install -e ".[all]"' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_that_examples_write_are_ignored_by_git(page: Path):
    patterns = [line[1:] for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines() if line[:1] == "/"]
    text = page.read_text(encoding="utf-8")
    options = "-o|--outputs|--json|--chart|--markdown|--weights|--mlir-pass-pipeline-crash-reproducer|-m venv"
    written = re.findall(rf"(?:{options})[ =](\w[\w./-]*)", text)
    assert not [name for name in written if not any(fnmatch(name, pattern) for pattern in patterns)]
