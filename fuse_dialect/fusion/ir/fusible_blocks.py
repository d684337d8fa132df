"""Where fusion looks: functions that no other compiler has claimed, and the blocks in them."""

from collections.abc import Iterable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.fusion.ir.symbol_tables import may_be_symbol_table
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.fusion.kinds.region_effects import RegionEffects

PRIMITIVE_ATTRIBUTE = "primitive"
"""Name of the unit attribute that marks an outlined function."""

COMPILER_ATTRIBUTE = "fuse.compiler"
"""Name of the attribute that gives a function to another compiler: it is left alone."""


def functions_to_fuse(module: ModuleOp) -> list[func.FuncOp]:
    """Functions of symbol tables with a body that are not primitive already, and belong to no other compiler.

    An op that says itself that it is an operator is one as a whole: functions in it are not looked at.
    """
    return [
        op
        for op in _walk_outside_operators(module)
        if isinstance(op, func.FuncOp)
        and not op.is_declaration
        and may_be_symbol_table(op.parent_op())
        and not {PRIMITIVE_ATTRIBUTE, COMPILER_ATTRIBUTE} & op.attributes.keys()
    ]


def _walk_outside_operators(module: ModuleOp) -> Iterator[Operation]:
    pending: list[Operation] = [module]
    while pending:
        op = pending.pop()
        yield op
        if op.regions and (op is module or PATTERN_KIND_ATTRIBUTE not in op.attributes):
            inner = [each for region in op.regions for block in region.blocks for each in block.ops]
            pending.extend(reversed(inner))


def fusible_blocks(function: func.FuncOp, effects: RegionEffects | None = None) -> Iterable[Block]:
    """Blocks of the function, and those inside ops that are no operators themselves, outer blocks first.

    An op that may be a symbol table is not looked into: no call in it could name a function outside. Nor is a function
    inside the function.
    """
    effects = effects or RegionEffects()
    pending = list(reversed(function.body.blocks))
    while pending:
        block = pending.pop()
        yield block
        inner = [
            nested
            for op in block.ops
            if op.regions
            and kind_of(op, effects) is None
            and not may_be_symbol_table(op)
            and not isinstance(op, func.FuncOp)
            and not foreign_op(op_name(op)).has_scalar_regions
            for region in op.regions
            for nested in region.blocks
        ]
        pending.extend(reversed(inner))
