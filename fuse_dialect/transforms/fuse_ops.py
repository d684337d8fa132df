"""`fuse-ops`: group operators as TVM does, and outline each group as a primitive function.

For every function that is not primitive itself, and for every block in it, also those of ops that are no operators:

1. build the forward graph of the block (`analysis/block_graph.py`);
2. find the immediate post-dominators, and merge nodes into groups by rule (`fusion/partition.py`);
3. outline the groups (`transforms/outlining/outline.py`).

Source: TVM `FuseOps`, src/relay/transforms/fuse_ops.cc (v0.18).
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.analysis.block_graph import BlockGraph, build_graph
from fuse_dialect.analysis.fusible_blocks import functions_to_fuse, fusible_blocks
from fuse_dialect.fusion.partition import partition
from fuse_dialect.fusion.plan import FusionPlan
from fuse_dialect.transforms.outlining.group import groups_of
from fuse_dialect.transforms.outlining.outline import outline
from fuse_dialect.transforms.outlining.primitives import Primitives


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
