"""Symbol tables: where functions stand, and which calls name them."""

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import SymbolTable

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.fusion.ir.function_like import is_function


def may_be_symbol_table(op: Operation | None) -> bool:
    """Whether the op may have names of its own for the symbols inside.

    An unregistered op may, unless it is a function.
    """
    return op is not None and op.has_trait(SymbolTable, value_if_unregistered=True) and not is_function(op)


def blocks_of_functions(module: ModuleOp) -> list[Block]:
    """The blocks of symbol tables that hold functions, outer ones first."""
    blocks = {
        op.parent: None
        for op in ops_inside(module)
        if isinstance(op, func.FuncOp) and may_be_symbol_table(op.parent_op())
    }
    return [block for block in blocks if block is not None]


def walk_table(op: Operation) -> Iterator[Operation]:
    """The op and all ops inside that see the same symbols: those of symbol tables inside have others."""
    pending = [op]
    while pending:
        inner = pending.pop()
        yield inner
        if inner.regions and (inner is op or not may_be_symbol_table(inner)):
            nested = [each for region in inner.regions for block in region.blocks for each in block.ops]
            pending.extend(reversed(nested))
