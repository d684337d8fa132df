"""The tables of `docs/how-to/migrate.md` are sessions that run: our column, and theirs where the peer is installed."""

import ast
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "migrate.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| (?P<aim>[^|]+) \| (?P<theirs>[^|]+) \| (?P<ours>[^|]+) \|$", re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"[A-Z_]+=\S+ python |rm |fuse-run |fuse-opt ")


@dataclass(frozen=True, slots=True)
class Table:
    """A section of the page."""

    peer: str
    """The package that it is about."""
    setup: str
    """Code that stands above the table."""
    rows: tuple[tuple[str, str, str], ...]
    """What for, their code, our code; as it stands in the cells."""


def tables() -> Iterator[Table]:
    """The sections that begin with `From`."""
    for section in PAGE.split("\n## From ")[1:]:
        (setup,) = _PYTHON.findall(section)
        rows = [tuple(match.groups()) for match in _ROW.finditer(section)]
        assert rows[0] == ("to", "you wrote", "you write now")
        yield Table(section.split()[0].split(".")[0].lower(), setup, tuple(rows[1:]))


TABLES = {table.peer: table for table in tables()}
_LINES = re.findall(r"^\|.*$", PAGE, re.MULTILINE)


def code_of(cell: str) -> str | None:
    """The Python in a cell; `None` for a command of the shell and for words."""
    match = re.fullmatch(r"`([^`]+)`", cell)
    return None if match is None or _SHELL.match(match[1]) else match[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").symlink_to(ROOT / "docs", target_is_directory=True)
    shutil.copy(ROOT / "docs" / "examples" / "tiny_cnn.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begun(table: Table, *, theirs: bool) -> dict[str, object]:
    """Names after the code above the tables; without their imports where only our column runs and they are missing."""
    names: dict[str, object] = {}
    exec(_PYTHON.search(PAGE)[1], names)  # pyright: ignore[reportOptionalSubscript]
    if theirs or find_spec(table.peer) is not None:
        exec(table.setup, names)
    return names


def test_there_is_a_table_for_each_peer_and_no_row_is_passed_over() -> None:
    assert list(TABLES) == ["torch", "onnxruntime", "tvm"]
    heads = 2 * len(TABLES)
    assert len(_LINES) - heads == sum(len(table.rows) for table in TABLES.values())


@pytest.mark.parametrize("peer", TABLES)
def test_every_cell_is_python_a_command_or_words(peer: str) -> None:
    for aim, *cells in TABLES[peer].rows:
        for cell in cells:
            assert "`" not in cell or re.fullmatch(r"`[^`]+`", cell), aim
            if (code := code_of(cell)) is not None:
                ast.parse(code)


def run_column(column: int, table: Table, names: dict[str, object]) -> None:
    """Run the cells of a column one after the other."""
    for row in table.rows:
        if (code := code_of(row[column])) is not None:
            try:
                exec(code, names)
            except Exception as error:
                pytest.fail(f"{row[0]}: {code}\n{type(error).__name__}: {error}")


@pytest.mark.slow
@pytest.mark.parametrize("peer", TABLES)
def test_what_you_write_now_runs(peer: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("onnx_ir", "llvmlite", *(("torch",) if peer == "torch" else ())):
        pytest.importorskip(package)
    run_column(2, TABLES[peer], begun(TABLES[peer], theirs=False))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("peer", TABLES)
def test_what_you_wrote_ran(peer: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(peer)
    pytest.importorskip("onnx_ir")
    run_column(1, TABLES[peer], begun(TABLES[peer], theirs=True))
