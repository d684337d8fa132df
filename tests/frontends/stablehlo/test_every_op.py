"""Every op of the StableHLO specification and of CHLO: it has a row, is read as MLIR prints it, and printed so."""

import re
from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.targets.mlir import FuseMLIRTarget

SPECIFICATIONS = Path(__file__).parents[2] / "data" / "specifications"
EVERY_OP = (SPECIFICATIONS / "stablehlo.mlir").read_text()
NEWER_THAN_JAX = {"stablehlo.collective_reduce"}
NOT_SHOWN = {"chlo.ragged_dot", "chlo.scan"}


def printed(module: ModuleOp, *, generic: bool = False) -> str:
    """The module as `fuse-opt` prints it."""
    text = StringIO()
    FuseMLIRTarget(print_generic_format=generic).emit(context(), module, text)
    return text.getvalue()


def read(text: str) -> ModuleOp:
    """A verified module."""
    return module_of_text(text, "every_op.mlir").module


def test_every_op_of_the_specification_has_a_class() -> None:
    names = (SPECIFICATIONS / "stablehlo.txt").read_text().split()
    assert [name for name in names if f"stablehlo.{name}" not in BY_NAME] == []


def test_every_class_is_shown() -> None:
    shown = {op.name for op in read(EVERY_OP).walk()}
    assert BY_NAME.keys() - shown == NEWER_THAN_JAX | NOT_SHOWN


@pytest.mark.parametrize("generic", [False, True])
def test_what_is_printed_is_read_back(generic: bool) -> None:
    module = read(EVERY_OP)
    again = read(printed(module, generic=generic))
    assert again.is_structurally_equivalent(module)
    assert printed(again) == printed(module)


def test_lines_are_printed_as_they_were_written() -> None:
    written = [line.strip() for line in EVERY_OP.splitlines() if re.match(r"  %\S+ = (stablehlo|chlo)\.", line)]
    lines = {line.strip() for line in printed(read(EVERY_OP)).splitlines()}
    assert len(written) > 100
    assert [line for line in written if line not in lines] == []


def test_mlir_reads_what_is_printed_as_the_same() -> None:
    pytest.importorskip("jax")
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    # JAX is built without the types of `quant`.
    text = re.sub(r"func\.func @quantized.*?\n}\n", "", EVERY_OP, flags=re.DOTALL)
    with make_ir_context():
        # Once through MLIR's printer: it leaves out properties that have their default.
        theirs = ir.Module.parse(str(ir.Module.parse(text)))
        for generic in (False, True):
            ours = ir.Module.parse(printed(read(str(theirs)), generic=generic))
            assert ours.operation.get_asm(print_generic_op_form=True) == theirs.operation.get_asm(
                print_generic_op_form=True
            )
