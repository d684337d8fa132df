"""Where fusion looks: functions that no other compiler has claimed, modules' top levels, and the blocks in them.

1. A function is one of any dialect (`function_like.py`) that stands in a symbol table, so that a call in it can name
   what is outlined: a function inside a function is not looked at.
2. Ops at the top level of a module fuse, too, if any stands there that is no symbol and gives a value or holds ops.
3. Functions with `primitive` or `fuse.compiler`, and declarations, are left alone; so is a module with
   `fuse.compiler`, its top level that is.
"""

from collections.abc import Iterable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import FusedOp
from fuse_dialect.fusion.ir.function_like import is_function, symbol_of
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


def functions_to_fuse(module: ModuleOp) -> list[Operation]:
    """Functions, and modules with ops at their top level, that are not primitive already and no other compiler's.

    An op that says itself that it is an operator is one as a whole: functions in it are not looked at.
    """
    return [
        op
        for op in _walk_outside_operators(module)
        if (_is_function_to_fuse(op) if is_function(op) else isinstance(op, ModuleOp) and _has_own_ops(op))
        and not {PRIMITIVE_ATTRIBUTE, COMPILER_ATTRIBUTE} & op.attributes.keys()
    ]


def _is_function_to_fuse(op: Operation) -> bool:
    """Whether a function has a body, and stands where others can be called from it (1)."""
    return op.regions[0].first_block is not None and may_be_symbol_table(op.parent_op())


def _has_own_ops(module: ModuleOp) -> bool:
    """Whether ops that may fuse, or hold such ops, stand at the top level of the module (2)."""
    return any(
        (op.results or op.regions) and not is_function(op) and not isinstance(op, ModuleOp) and not symbol_of(op)
        for op in module.body.block.ops
    )


def _walk_outside_operators(module: ModuleOp) -> Iterator[Operation]:
    pending: list[Operation] = [module]
    while pending:
        op = pending.pop()
        yield op
        if op.regions and (op is module or PATTERN_KIND_ATTRIBUTE not in op.attributes):
            inner = [each for region in op.regions for block in region.blocks for each in block.ops]
            pending.extend(reversed(inner))


def is_graph(block: Block, function: Operation) -> bool:
    """Whether a block is a graph, where ops may read values that are defined below them, and do."""
    # A function's own block has many ops of few classes.
    is_own = block.parent is _ordered_region(function)
    may_be = not is_own or any(map(_is_of_e_graph, {type(op) for op in block.ops}))
    return may_be and not is_in_ssa_order(block)


def _ordered_region(function: Operation) -> Region | None:
    """The region of which it is known that its blocks are in SSA order."""
    return function.body if isinstance(function, func.FuncOp) else None


def _is_of_e_graph(op_class: type[Operation]) -> bool:
    return op_class.name.startswith(_E_GRAPHS)


def graph_blocks(function: Operation) -> list[Block]:
    """The outermost blocks of the function that are graphs."""
    pending, found = _own_blocks(function), list[Block]()
    while pending:
        block = pending.pop()
        if is_graph(block, function):
            found.append(block)
            continue
        inner = [
            each
            for op in block.ops
            if op.regions and not _is_apart(op, function)
            for region in op.regions
            for each in region.blocks
        ]
        pending.extend(reversed(inner))
    return found


def _own_blocks(function: Operation) -> list[Block]:
    """The blocks of a function or a module's top level, last ones first."""
    return [block for region in reversed(function.regions) for block in reversed(region.blocks)]


def _is_apart(op: Operation, function: Operation) -> bool:
    """Whether an op in a module stands for itself: what is in it is none of the module's top level."""
    return isinstance(function, ModuleOp) and (is_function(op) or may_be_symbol_table(op))


def fusible_blocks(function: Operation, effects: RegionEffects | None = None) -> Iterable[Block]:
    """Blocks of the function or top level, and those inside ops that are no operators themselves, outer blocks first.

    A block that is a graph is left out, with all in it: one of an e-graph, and one in a region whose op may let ops
    read what is defined below them. Other blocks of a function are in SSA order, or `build_graph` says what is not.

    An op that may be a symbol table is not looked into: no call in it could name a function outside. Nor is a function
    inside the function, or a kernel that stands in its place.
    """
    effects = effects or RegionEffects()
    pending = _own_blocks(function)
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
            and not is_function(op)
            and not foreign_op(op_name(op)).has_scalar_regions
            and not isinstance(op, FusedOp)
            for region in op.regions
            for nested in region.blocks
        ]
        pending.extend(reversed(inner))
