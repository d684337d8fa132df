"""Ops of lines that repeat are those that parsing gives, at the same places, with the same errors."""

from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import FuseParser, context
from fuse_dialect.frontends.mlir.repeated_lines import RepeatedLines

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "tests" / "data" / "mlir").rglob("*.mlir"), *(ROOT / "docs" / "examples").glob("*.mlir")])
T = "tensor<4xf32>"


def _parsed(text):
    """The module as generic text with the places of all ops; or the error with its place."""
    parser = FuseParser(context(allow_unregistered=True), text)
    try:
        module = parser.parse_module()
    except ParseError as error:
        return error.msg, error.span.start
    except FuseError as error:
        return (error.message,)
    hints = [result.name_hint for op in module.walk() for result in op.results]
    return str(module), [parser.source_map.offsets.get(op) for op in module.walk()], hints


def _parsed_each(text, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(RepeatedLines, "line_at", staticmethod(lambda text, start: None))
        return _parsed(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_are_read_as_without(file, monkeypatch):
    text = file.read_text()
    assert _parsed(text) == _parsed_each(text, monkeypatch)


@pytest.mark.parametrize(
    "lines",
    [
        ["%1 = fuse.relu %0 : T", "%2 = fuse.relu %1 : T", "%3 = fuse.relu %9 : T"],
        ["%1 = fuse.relu %0 : T", "%1 = fuse.relu %0 : T"],
        ["%1 = fuse.relu %0 : T", "%2 = fuse.relu %3 : T", "%3 = fuse.relu %1 : T"],
        ["%1 = fuse.relu %0 : T", "%2, %3 = fuse.relu %1 : T"],
        ["%1 = fuse.add %0, %0 : T", "%2 = fuse.relu %1 : T", "%3 = fuse.add %1, %2 : T", "%4 = fuse.add %2, %1 : T"],
        ['%1 = "a.b"(%0) : (T) -> T', '%2 = "a.b"(%1) : (T) -> T', '%3 = "a.b"(%2) : (T) -> tensor<*xf32>'],
        ['%1 = "a.b"(%0) {s = "%0"} : (T) -> T', '%2 = "a.b"(%1) {s = "%1"} : (T) -> T'],
        ['"a.b"(%0) : (T) -> ()', '"a.b"(%0) : (T) -> ()', '%1 = "a.b"(%0) : (T) -> ()'],
        ["%1 = fuse.relu %0 : T", "%2 = fuse.relu %1 : T", '  loc("here")'],
        ['%1:2 = "a.b"(%0) : (T) -> (T, T)', '%2:2 = "a.b"(%1#1) : (T) -> (T, T)', '"a.b"(%2#1) : (T) -> ()'],
        ["%1 = fuse.relu %0 : T", "%2 = fuse.relu %1 : T // %3", "%3 = fuse.relu %1 : T }"],
        ['%1 = "a.b"(%0) : (T) -> i32', '%2 = "a.b"(%1) : (T) -> i32'],
    ],
)
def test_lines_are_read_as_without(lines, monkeypatch):
    body = "\n".join(lines).replace("T", T)
    text = f"func.func @f(%0: {T}) {{\n{body}\nreturn\n}}\n"
    assert _parsed(text) == _parsed_each(text, monkeypatch)


def test_a_clause_on_the_next_line_belongs_to_the_op(monkeypatch):
    op = f"linalg.yield %0 : {T}"
    text = f'"a.b"() ({{\n^bb0(%0: {T}):\n {op}\n}}, {{\n^bb0(%0: {T}):\n {op}\n loc("x")\n}}) : () -> ()\n'
    assert _parsed(text) == _parsed_each(text, monkeypatch)


def test_repeated_lines_are_not_parsed(monkeypatch):
    lines = "\n".join(f"%{place + 1} = fuse.relu %{place} : {T}" for place in range(50))
    found = []
    op_of = RepeatedLines.op_of
    monkeypatch.setattr(RepeatedLines, "op_of", lambda *args: found.append(op := op_of(*args)) or op)
    _parsed(f"func.func @f(%0: {T}) {{\n{lines}\nreturn\n}}\n")
    assert sum(op is not None for op in found) == 49
