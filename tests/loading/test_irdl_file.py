"""Dialects that IRDL files define: what is made of them, and what is refused with its place."""

from pathlib import Path

import pytest

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.loading.irdl_file import load_irdl
from fuse_dialect.loading.verification import verify_module


def body(text: str, kind: str = "operation") -> str:
    return f"irdl.dialect @npu {{\n  irdl.{kind} @one {{\n{text}\n  }}\n}}\n"


ANY = "    %0 = irdl.any\n"
GOOD = body(ANY + "    irdl.operands(lhs: %0, rhs: %0)\n    irdl.results(result: %0)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "npu.irdl"


def test_ops_of_the_dialect_are_read_and_verified(path: Path) -> None:
    path.write_text(GOOD)
    ctx = context()
    load_irdl(ctx, str(path))
    text = 'func.func @f(%x: f32) -> f32 {{\n  %0 = "npu.one"({}) : ({}) -> f32\n  return %0 : f32\n}}'
    module = parse_mlir(text.format("%x, %x", "f32, f32"), ctx=ctx)
    verify_module(module)
    one = next(op for op in module.walk() if op.name == "npu.one")
    assert (len(one.operands), len(one.results)) == (2, 1)
    assert one.lhs is one.operands[0]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(Exception, match="Expected 2 operands, but got 1"):
        verify_module(parse_mlir(text.format("%x", "f32"), ctx=ctx))


@pytest.mark.parametrize("base", ["@tile", "@npu::@tile"])
def test_types_of_the_dialect_bind_values(path: Path, base: str) -> None:
    tile = "irdl.dialect @npu {\n  irdl.type @tile {\n    %0 = irdl.any\n    irdl.parameters(element: %0)\n  }\n"
    one = f"  irdl.operation @one {{\n    %0 = irdl.is f32\n    %1 = irdl.parametric {base}<%0>\n"
    path.write_text(tile + one + "    irdl.results(result: %1)\n  }\n}\n")
    ctx = context()
    load_irdl(ctx, str(path))
    verify_module(parse_mlir('%0 = "npu.one"() : () -> !npu.tile<f32>', ctx=ctx))
    with pytest.raises(Exception, match="f64"):
        verify_module(parse_mlir('%0 = "npu.one"() : () -> !npu.tile<f64>', ctx=ctx))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "npu.irdl: error: 'builtin.module' op defines no dialect"),
        ("module {}\n", "npu.irdl:1:1: error: 'builtin.module' op defines no dialect"),
        ("func.func private @f()\n", "npu.irdl:1:1: error: 'func.func' op stands in a file of dialects"),
        ("irdl.dialect @npu {", "npu.irdl:1:20: error: unexpected end of input"),
        (
            GOOD.replace("npu", "arith"),
            "npu.irdl:1:1: error: 'irdl.dialect' op defines 'arith', which is known already",
        ),
        (GOOD + GOOD, "npu.irdl:8:1: error: 'irdl.dialect' op redefinition of symbol"),
        (body('    %0 = irdl.c_pred "true"'), "npu.irdl:3:10: error: 'irdl.c_pred' op has no meaning in xDSL"),
        (body(ANY, "attribute"), "npu.irdl:2:3: error: 'irdl.attribute' op has no meaning in xDSL"),
        (
            body(ANY + "    irdl.operands(bias: optional %0)"),
            "npu.irdl:4:5: error: 'irdl.operands' op says that 'bias' is optional",
        ),
        (body("    %0 = irdl.parametric @tile<>"), "npu.irdl:3:10: error: 'irdl.parametric' op names no type of 'npu'"),
        (body(ANY + "    irdl.operands(x: %0, x: %0)"), "npu.irdl:4:5: error: 'irdl.operands' op: 'npu.one' has two"),
        (body(ANY + "    irdl.operands(attributes: %0)"), "npu.irdl:4:5: error: 'irdl.operands' op: 'npu.one' may"),
        (
            body(ANY + "    irdl.results(name: %0)"),
            "npu.irdl:4:5: error: 'irdl.results' op: 'npu.one' may have no value",
        ),
        (
            body("    %0 = irdl.is 5 : i32\n    %1 = irdl.any_of(%0, %0)\n    irdl.operands(x: %1)"),
            "npu.irdl:4:10: error: 'irdl.dialect' op 'npu' cannot be made (PyRDLError in xDSL)",
        ),
    ],
)
def test_what_makes_no_dialect_has_a_place(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(FuseError) as caught:
        load_irdl(context(), str(path))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(path: Path) -> None:
    with pytest.raises(FuseError, match="no such file"):
        load_irdl(context(), str(path))
