"""`fuse-ops`: group operators as TVM does, and outline each group as a primitive function.

For every function that is not primitive itself, and for every block in it, also those of ops that are no operators:

1. build the forward graph of the block (`analysis/build_graph.py`);
2. find the immediate post-dominators, and merge nodes into groups by rule (`analysis/partition.py`);
3. outline the groups (`transforms/outline.py`).

Source: TVM `FuseOps`, src/relay/transforms/fuse_ops.cc (v0.18).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.analysis.build_graph import BlockGraph, build_graph
from fuse_dialect.analysis.partition import FusionPlan, partition
from fuse_dialect.dialect.pattern_kinds import kind_of
from fuse_dialect.transforms.group import groups_of
from fuse_dialect.transforms.outline import PRIMITIVE_ATTRIBUTE, outline
from fuse_dialect.transforms.primitives import Primitives
from fuse_dialect.transforms.symbol_tables import may_be_symbol_table

COMPILER_ATTRIBUTE = "fuse.compiler"
"""Name of the attribute that gives a function to another compiler: it is left alone."""


@dataclass(frozen=True, slots=True)
class BlockFusion:
    """What fusion will do to one block, and why."""

    block_graph: BlockGraph
    plan: FusionPlan


@dataclass(frozen=True)
class FuseOpsPass(ModulePass):
    """Group operators into primitive functions, exactly as TVM's FuseOps does."""

    name = "fuse-ops"

    opt_level: int = 2
    """0 makes every operator its own primitive; any other level fuses."""
    max_depth: int = 256
    """Most nodes that a primitive may count, in TVM's way of counting; 0 or less is no limit."""
    max_function_args: int = 0
    """Most arguments and results of a primitive, a dynamic dimension counting as one more; 0 is no limit."""
    link_params: bool = False
    """Copy constants into the primitives that use them, instead of passing them as arguments."""
    dedup: bool = True
    """Let groups of the same structure share one primitive."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the operators of all functions of the module."""
        primitives: dict[Block, Primitives] = {}
        for function in functions_to_fuse(op):
            symbols = function.parent
            assert symbols is not None, "a function inside a module stands in a block"
            if symbols not in primitives:
                primitives[symbols] = Primitives(symbols, self.dedup)
            self.fuse_function(function, primitives[symbols])

    def fuse_function(self, function: func.FuncOp, primitives: Primitives) -> None:
        """Fuse the operators of one function."""
        fusions = [self.plan_block(block) for block in fusible_blocks(function)]
        for fusion in fusions:
            for dead in reversed(fusion.block_graph.dead):
                dead.detach()
                dead.drop_all_references()
        groups = [
            group
            for fusion in fusions
            for group in groups_of(fusion.block_graph, fusion.plan, link_params=self.link_params)
        ]
        outline(function, groups, primitives)

    def plan_block(self, block: Block) -> BlockFusion:
        """Decide, without changing anything, how the ops of a block are grouped.

        Raises:
            PassFailedException: The block is not in SSA order, or an option has no meaning.
        """
        for name, value in (("opt-level", self.opt_level), ("max-function-args", self.max_function_args)):
            if value < 0:
                raise PassFailedException(f"option '{name}' expects 0 or more, got {value}")
        block_graph = build_graph(block, with_values=self.max_function_args > 0, embeds_constants=self.link_params)
        plan = partition(
            block_graph.graph,
            opt_level=self.opt_level,
            max_depth=self.max_depth if self.max_depth > 0 else None,
            max_function_args=self.max_function_args,
        )
        return BlockFusion(block_graph, plan)


def functions_to_fuse(module: ModuleOp) -> list[func.FuncOp]:
    """Functions of symbol tables with a body that are not primitive already, and belong to no other compiler."""
    return [
        op
        for op in module.walk()
        if isinstance(op, func.FuncOp)
        and not op.is_declaration
        and may_be_symbol_table(op.parent_op())
        and not {PRIMITIVE_ATTRIBUTE, COMPILER_ATTRIBUTE} & op.attributes.keys()
    ]


def fusible_blocks(function: func.FuncOp) -> Iterable[Block]:
    """Blocks of the function, and those inside ops that are no operators themselves, outer blocks first.

    An op that may be a symbol table is not looked into: no call in it could name a function outside. Nor is a function
    inside the function.
    """
    pending = list(reversed(function.body.blocks))
    while pending:
        block = pending.pop()
        yield block
        inner = [
            nested
            for op in block.ops
            if op.regions and kind_of(op) is None and not may_be_symbol_table(op) and not isinstance(op, func.FuncOp)
            for region in op.regions
            for nested in region.blocks
        ]
        pending.extend(reversed(inner))
