"""What is printed after fusion is read by xDSL itself, without our readers, as far as it has the ops.

xDSL reads an op that it does not know in the generic form alone. So what it does not read in the forms that ops have,
`--print-op-generic` must say so that it does.
"""

from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from corpora.pieces import files_of, pieces_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.loading.source import Source
from fuse_dialect.targets.mlir import FusePrinter

ROOT = Path(__file__).parents[2]
KNOWN = {
    "float_literals.mlir": "xDSL has no hexadecimal numbers in `dense<>`",
    "fuse-run.mlir": "xDSL holds all elements of a splat",
    "fold-constants-refused.mlir": "the same",
}
"""Files that xDSL cannot read in any form, and why."""
UNKNOWN_OP = "builtin.unregistered does not have a custom format"
UNKNOWN_REGION = "could not be found in symbol table"
"""What xDSL says of a call in a region of an op that it does not know, which it takes for a table of its own."""


@cache
def fused_modules() -> tuple[tuple[str, ModuleOp], ...]:
    """The pieces of the FileCheck tests and examples that are valid, after fusion."""
    return tuple(_fused_modules())


def _fused_modules() -> Iterator[tuple[str, ModuleOp]]:
    for file in files_of([ROOT / "tests" / "filecheck", ROOT / "docs" / "examples"]):
        if file.name in KNOWN or file.parent.name == "Output":  # what lit leaves behind
            continue
        for piece in _pieces(file):
            try:
                module = module_of_text(piece.data, piece.name, allow_unregistered=True).module
                FuseOpsPass().apply(Context(), module)
            except (FuseError, PassFailedException, VerifyException):  # tests of mistakes
                continue
            yield f"{file.name}:{piece.line_offset + 1}", module


def _pieces(file: Path) -> list[Source]:
    try:
        return pieces_of(file)
    except FuseError:
        return []


def _complaint_of_xdsl(module: ModuleOp, *, generic: bool) -> str:
    """What xDSL, with the dialects of this package but without its readers, has against a printed module."""
    stream = StringIO()
    FusePrinter(stream, print_generic_format=generic).print_op(module)
    context = Context(allow_unregistered=True)
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    try:
        Parser(context, stream.getvalue()).parse_module().verify()
    except (ParseError, VerifyException) as error:
        return str(error).strip().rpartition("\n")[2]
    return ""


@pytest.mark.slow
def test_xdsl_reads_what_is_printed_of_ops_that_it_has():
    complaints = {place: _complaint_of_xdsl(module, generic=False) for place, module in fused_modules()}
    others = {place: text for place, text in complaints.items() if text and UNKNOWN_OP not in text}
    assert others == {}
    readable = sum(not text for text in complaints.values())
    assert len(complaints) > 180
    assert readable / len(complaints) > 0.85


@pytest.mark.slow
def test_xdsl_reads_the_generic_form_of_all_ops():
    complaints = {place: _complaint_of_xdsl(module, generic=True) for place, module in fused_modules()}
    assert {place: text for place, text in complaints.items() if text and UNKNOWN_REGION not in text} == {}
    assert sum(bool(text) for text in complaints.values()) < 10


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        (
            "tosa.const values(dense<0.0> : tensor<1xf32>) : () -> tensor<1xf32>",
            '"tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>',
        ),
        (
            "linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>) "
            "outs(%y : tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>",
            "{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(",
        ),
    ],
)
def test_forms_that_xdsl_has_are_chosen_where_mlir_reads_them(line, printed):
    arguments = "%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>, %y: tensor<1x1x2x2xf32>"
    module = module_of_text(f"func.func @main({arguments}) {{\n  %r = {line}\n  return\n}}", "plain.mlir").module
    stream = StringIO()
    FusePrinter(stream).print_op(module)
    assert printed in stream.getvalue()
    assert _complaint_of_xdsl(module, generic=False) == ""
