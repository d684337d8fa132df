"""Files with hardware templates: mistakes are reported where they stand, as in every other MLIR file."""

from pathlib import Path

import pytest

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.errors import TemplateError
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.hardware.template_file import read_template_file

HEAD = """// \u00e9\t\u2028 a comment
fuse.hardware @t source @in {
  fuse.hardware_unit @in kind "in"
"""
TAIL = """
  fuse.hardware_map "fuse.relu" to ["in"]
}
"""
LONG = "9" * 30


def error_in(path: Path, data: bytes) -> TemplateError:
    """The error that a template file with this text gives."""
    path.write_bytes(data)
    with pytest.raises(TemplateError) as caught:
        read_template_file(str(path), context())
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (f"\t\toops{TAIL}", 4, 3, "operation 'oops' is not registered"),
        (f"  fuse.hardware_unit @b kind oops{TAIL}", 4, 30, "attribute expected"),
        (f'\n  %x = "nosuch.op"() : () -> i32{TAIL}', 5, 8, "operation 'nosuch.op' is not registered"),
        (f'  "test.op"(%undefined) : (i32) -> (){TAIL}\n\n', 4, 13, "use of undefined value '%undefined'"),
        (
            f'  fuse.hardware_unit @b kind "b" capacity {LONG} // x{TAIL}',
            4,
            72,
            f"integer value {LONG} is out of range",
        ),
        (
            f'  fuse.hardware_unit @b kind "b" capacity 0{TAIL}',
            4,
            3,
            "'fuse.hardware_unit' op expects a way from source 'in' to unit 'b'",
        ),
        (f'  "fuse.hardware_unit"() <{{sym_name = "b"}}> : () -> (){TAIL}', 4, 3, "'fuse.hardware_unit' op property"),
        (f'  fuse.hardware_map "fuse.rellu" to ["in"]{TAIL}', 4, 3, "'fuse.hardware_map' op expects the name of an op"),
        (f'  fuse.hardware_unit @in kind "b"{TAIL}', 4, 3, "'fuse.hardware_unit' op expects unit names to differ"),
        (f"  fuse.hardware_link @in -> @b{TAIL}%", 4, 3, None),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_mistake_is_reported_where_it_stands(
    text: str, line: int, column: int, message: str | None, line_end: str, tmp_path: Path
) -> None:
    data = (HEAD + text).replace("\n", line_end).encode()
    error = error_in(tmp_path / "t.mlir", data)
    assert error.location is not None
    if message is None:
        assert error.location.line == data.count(b"\n") + 1
        return
    assert error.message.startswith(message)
    assert (error.location.line, error.location.column) == (line, column)


def test_a_carriage_return_alone_ends_no_line(tmp_path: Path) -> None:
    error = error_in(tmp_path / "t.mlir", f"// one\rcomment\n{HEAD}  oops{TAIL}".encode())
    assert error.location is not None
    assert error.location.line == 5


def test_the_first_of_several_mistakes_is_reported(tmp_path: Path) -> None:
    text = f'{HEAD}  fuse.hardware_unit @b kind "b" capacity 0\n  fuse.hardware_unit @b kind "b" capacity 0{TAIL}'
    error = error_in(tmp_path / "t.mlir", text.encode())
    assert error.location is not None
    assert error.location.line == 4


def test_bytes_that_are_no_text_are_reported_with_their_place(tmp_path: Path) -> None:
    error = error_in(tmp_path / "t.mlir", f"{HEAD}  ".encode() + b"\xff")
    assert error.message == "byte 0xFF is not UTF-8 text"
    assert str(error.location).endswith("t.mlir:4:3")


def test_a_number_out_of_range_is_reported_on_its_line() -> None:
    with pytest.raises(FuseError) as caught:
        parse_mlir(f'"test.op"() {{x = 300 : i8 // {LONG}\n\n// y\n}} : () -> ()', "a.mlir")
    assert str(caught.value.location) == "a.mlir:1:25"
