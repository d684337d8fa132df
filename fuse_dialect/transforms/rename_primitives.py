"""`rename-primitives`: name primitive functions and kernels in their places by the ops that they hold now.

    fuse-opt --fuse-ops --canonicalize --rename-primitives model.mlir

A rewrite of what is inside leaves the name that fusion gave: `@fused_add_relu` may hold a single `fuse.relu`.

1. The name is the one that `fuse-ops` would give, `fused_<op>_<op>`, with a number where it is taken. Names follow from
   the order of the text alone: after `fuse-ops` nothing changes, and a second run changes nothing.
2. Calls follow. A primitive that something else than a call of its own table refers to keeps its name, and so do those
   that others may call, being not private, those of several blocks, and those that hold constants alone.
3. A `fuse.fused` says the name of the function that it would be: those of one structure say one name, others differ.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fuse_dialect.dialect.ops.regions import FusedOp
from fuse_dialect.fusion.inlining import callee, is_primitive, other_references
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.function_like import is_private
from fuse_dialect.fusion.ir.symbol_tables import blocks_of_functions, may_be_symbol_table, walk_table
from fuse_dialect.fusion.outlining.group import Group
from fuse_dialect.fusion.outlining.primitives import Primitives


@dataclass(frozen=True)
class RenamePrimitivesPass(ModulePass):
    """Name primitives by the ops inside."""

    name = "rename-primitives"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rename all of them, and what calls them.

        Complexity: O(ops + operands).
        """
        tables = [(block, _calls_of(block)) for block in blocks_of_functions(op)]
        pinned = other_references(op, {call for _, calls in tables for call in calls})
        for block, calls in tables:
            _rename(block, calls, pinned)


def _calls_of(block: Block) -> list[func.CallOp]:
    """The calls that see the functions of a symbol table."""
    outside = (op for op in block.ops if not may_be_symbol_table(op))
    return [inner for op in outside for inner in walk_table(op) if type(inner) is func.CallOp]


def _rename(block: Block, calls: list[func.CallOp], pinned: set[str]) -> None:
    """Rename the primitives of one symbol table, and the kernels in their places inside its functions."""
    ops = [op for op in block.ops if not may_be_symbol_table(op)]
    renamed = {op for op in ops if isinstance(op, func.FuncOp) and _may_be_renamed(op, pinned)}
    primitives = Primitives(block)
    for function in renamed:
        primitives.release(function.sym_name.data)
    symbols: dict[str, SymbolRefAttr] = {}
    for op in ops:
        if isinstance(op, func.FuncOp) and op in renamed:
            name = primitives.unique_name(_ops_inside(op.body.block))
            symbols[op.sym_name.data] = SymbolRefAttr(name)
            op.properties["sym_name"] = StringAttr(name)
        for fused in walk_table(op):
            if type(fused) is FusedOp:
                _rename_kernel(fused, primitives)
    for call in calls:
        call.properties["callee"] = symbols.get(callee(call), call.callee)


def _may_be_renamed(function: func.FuncOp, pinned: set[str]) -> bool:
    # (2)
    return (
        is_private(function)
        and is_primitive(function)
        and function.sym_name.data not in pinned
        and any(not is_constant(op) for op in _ops_inside(function.body.block))
    )


def _rename_kernel(fused: FusedOp, primitives: Primitives) -> None:
    # (3)
    body = fused.body.block
    ops = _ops_inside(body)
    if all(is_constant(op) for op in ops):
        return
    assert body.last_op is not None, "a kernel yields"
    structure = (primitives.structure(Group(ops, body.args, body.last_op.operands)), fused.function_attributes)
    known = primitives.find(structure) or primitives.add(structure, primitives.unique_name(ops))
    fused.properties["kernel"] = known.root_reference


def _ops_inside(body: Block) -> list[Operation]:
    """The ops of a primitive, without what ends it."""
    return list(body.ops)[:-1]
