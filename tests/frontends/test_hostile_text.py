"""Strings of strangers, in every place of an op that holds one: what is printed is read back as the same, and a message
quotes them without control characters.
"""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnknownLoc,
    UnregisteredOp,
    f32,
)
from xdsl.ir import Attribute, Block, Region

from fuse_dialect.diagnostics import Diagnostic, FuseError, Severity, SourceLocation
from fuse_dialect.dialect.types import tensor
from fuse_dialect.frontends.mlir.reader import context, is_printable_op_name, parse_mlir
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.tools.fuse_opt import main

HOSTILE = st.one_of(
    st.text(max_size=12).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)),
    st.sampled_from(
        [
            '"',
            "\\",
            '"x"() : () -> ()',
            "\n",
            "\r\n",
            "a\nfile: error: fake",
            "\x1b[31m",
            "\u202e",
            "é",
            "\\0A",
            "//",
            "%0",
        ]
    ),
)
NAME = HOSTILE.filter(bool)


def printed(module: ModuleOp) -> str:
    output = io.StringIO()
    FuseMLIRTarget(print_debuginfo=True).emit(context(), module, output)
    return output.getvalue()


def module_with(text: str, name: str, location: LocationAttr) -> ModuleOp:
    """A module that has the text wherever an attribute, a location or a symbol can have one, names where they must."""
    attributes: dict[str, Attribute] = {
        name: StringAttr(text),
        f"x{text}": DictionaryAttr({name: ArrayAttr([StringAttr(text)])}),
        "ref": SymbolRefAttr(name, [f"nested{text}"]),
        "unit": DictionaryAttr({f"k{text}": UnitAttr()}),
    }
    block = Block(arg_types=[tensor((2,), f32)])
    cast = UnregisteredOp.with_name("acme.op").create(attributes=attributes)
    cast.location = location
    end = func.ReturnOp()
    end.location = location
    block.add_ops([cast, end])
    function = func.FuncOp(
        name,
        ((tensor((2,), f32),), ()),
        Region(block),
        arg_attrs=ArrayAttr([DictionaryAttr({f"fuse.{text}": StringAttr(text), name: UnitAttr()})]),
    )
    function.attributes[f"onnx.{text}"] = StringAttr(text)
    function.location = location
    module = ModuleOp([function])
    module.location = location
    return module


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(text=HOSTILE, name=NAME, nested=st.booleans())
@example(text="é", name="é", nested=True)
@example(text="", name="a b", nested=False)
@example(text="\x00", name='"', nested=False)
def test_what_is_printed_is_read_back_as_the_same(text: str, name: str, nested: bool):
    inner = FileLineColLoc(StringAttr(text), IntAttr(1), IntAttr(2))
    module = module_with(text, name, NameLoc(StringAttr(text), inner if nested else UnknownLoc()))
    first = printed(module)
    again = parse_mlir(first, ctx=context(allow_unregistered=True))
    assert printed(again) == first
    assert again.is_structurally_equivalent(module)
    assert [op.location for op in again.walk()] == [op.location for op in module.walk()]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(name=NAME)
def test_op_name_is_read_back_or_refused(name: str):
    literal = '"' + "".join(f"\\{byte:02X}" for byte in f"acme.{name}".encode()) + '"'
    if not is_printable_op_name(name):
        with pytest.raises(FuseError) as error:
            parse_mlir(f"{literal}() : () -> ()", ctx=context(allow_unregistered=True))
        assert error.value.diagnostic.format().replace("\n", "").isprintable()
        return
    module = parse_mlir(f"{literal}() : () -> ()", ctx=context(allow_unregistered=True))
    (op,) = parse_mlir(printed(module), ctx=context(allow_unregistered=True)).body.block.ops
    assert isinstance(op, UnregisteredOp)
    assert op.op_name.data == f"acme.{name}"


@given(text=HOSTILE)
def test_message_has_one_line_for_each_part_and_no_control_characters(text: str):
    diagnostic = Diagnostic(Severity.ERROR, f"m{text}", SourceLocation(f"f{text}", 1, 2), (f"n{text}",), f"h{text}")
    lines = diagnostic.format().split("\n")
    assert [line.partition(" ")[0] for line in lines[1:]] == ["note:", "hint:"]
    assert all(line.replace("\t", "").isprintable() for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        '"acme.x\\0Afile: error: fake\\1B[31m"() : () -> ()',
        'func.func @"f\\0Ax.mlir:1:1: error: fake"() -> i32 { return }',
        '"test.op"() : () -> () loc("a\\0Ab: error: fake":1:2)\n%0 = "test.op"(%0, %1) : () -> i32',
        "func.func @f() { return } // \x1b[31m\n%\x1b[31m",
        '"test.op"() {a = #fuse.pattern_kind<"\x1b[31m">} : () -> ()',
    ],
)
def test_error_of_the_tool_has_no_control_characters(text: str, tmp_path: Path):
    source = tmp_path / "x.mlir"
    source.write_text(text)
    for flags in ([], ["--verify-diagnostics", "--parsing-diagnostics"]):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main([str(source), *flags])
        for line in (out.getvalue() + err.getvalue()).split("\n"):
            assert line.isprintable()
            assert not line.startswith(("x.mlir", "file:", "b:"))


@pytest.mark.parametrize(
    "visibility",
    ['"privaRe"', '"private @x() { return }\\0A func.func"', '""', "3 : i32"],
)
def test_visibility_is_one_of_three_words(visibility: str):
    text = f"""
      "func.func"() <{{sym_name = "f", function_type = () -> (), sym_visibility = {visibility}}}> ({{
        "func.return"() : () -> ()
      }}) : () -> ()"""
    with pytest.raises(FuseError, match="visibility expected to be one of public, private or nested") as error:
        parse_mlir(text)
    assert error.value.location.line == 2


@pytest.mark.parametrize(
    "type",
    ["", ", function_type = 3 : i32"],
)
def test_function_without_a_type_is_no_internal_error(type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "x.mlir"
    source.write_text(f"""
      "func.func"() <{{sym_name = "f"{type}}}> ({{
        "func.return"() : () -> ()
      }}) : () -> ()
      func.func @g() {{
        func.call @f() : () -> ()
        return
      }}""")
    assert main([str(source)]) == 1
    assert ":2:7: error: 'func.func' op " in capsys.readouterr().err
