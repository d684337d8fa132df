"""Where fusion looks: functions that no other compiler has claimed, and the blocks in them."""

from collections.abc import Iterable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import FusedOp
from fuse_dialect.fusion.ir.ssa import is_in_ssa_order
from fuse_dialect.fusion.ir.symbol_tables import may_be_symbol_table
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.fusion.kinds.region_effects import RegionEffects

PRIMITIVE_ATTRIBUTE = "primitive"
"""Name of the unit attribute that marks an outlined function."""

_E_GRAPHS = ("equivalence.", "eqsat.")
"""Dialects of graphs of equal values, which are cycles in a function's own block."""

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


def is_graph(block: Block, function: func.FuncOp) -> bool:
    """Whether a block is a graph, where ops may read values that are defined below them, and do."""
    # A function's own block has many ops of few classes.
    may_be = block.parent is not function.body or any(map(_is_of_e_graph, {type(op) for op in block.ops}))
    return may_be and not is_in_ssa_order(block)


def _is_of_e_graph(op_class: type[Operation]) -> bool:
    return op_class.name.startswith(_E_GRAPHS)


def graph_blocks(function: func.FuncOp) -> list[Block]:
    """The outermost blocks of the function that are graphs."""
    pending, found = list(reversed(function.body.blocks)), list[Block]()
    while pending:
        block = pending.pop()
        if is_graph(block, function):
            found.append(block)
            continue
        inner = [each for op in block.ops if op.regions for region in op.regions for each in region.blocks]
        pending.extend(reversed(inner))
    return found


def fusible_blocks(function: func.FuncOp, effects: RegionEffects | None = None) -> Iterable[Block]:
    """Blocks of the function, and those inside ops that are no operators themselves, outer blocks first.

    A block that is a graph is left out, with all in it: one of an e-graph, and one in a region whose op may let ops
    read what is defined below them. Other blocks of a function are in SSA order, or `build_graph` says what is not.

    An op that may be a symbol table is not looked into: no call in it could name a function outside. Nor is a function
    inside the function, or a kernel that stands in its place.
    """
    effects = effects or RegionEffects()
    pending = list(reversed(function.body.blocks))
    while pending:
        block = pending.pop()
        if is_graph(block, function):
            continue
        yield block
        inner = [
            nested
            for op in block.ops
            if op.regions
            and kind_of(op, effects) is None
            and not may_be_symbol_table(op)
            and not isinstance(op, func.FuncOp)
            and not foreign_op(op_name(op)).has_scalar_regions
            and not isinstance(op, FusedOp)
            for region in op.regions
            for nested in region.blocks
        ]
        pending.extend(reversed(inner))
