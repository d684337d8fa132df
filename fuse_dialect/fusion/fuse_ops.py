"""`fuse-ops`: group operators as TVM does, and outline each group as a primitive function.

For every function of any dialect that is not primitive itself, for a module's top level, and for every block in them,
also those of ops that are no operators:

1. build the forward graph of the block (`fusion/ir/block_graph.py`);
2. plan kernels by a strategy (`fusion/core/strategy.py`); TVM's merges nodes by rule (`fusion/core/partition.py`);
3. arrange the ops (`fusion/outlining/arrange.py`) if kernels share some or have several ways out;
4. outline the kernels (`fusion/outlining/outline.py`).

Source: TVM `FuseOps`, src/relay/transforms/fuse_ops.cc (v0.18).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Self

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

import fuse_dialect.fusion.call_effects  # pyright: ignore[reportUnusedImport]  # noqa: F401  # calls have no effects
from fuse_dialect.budget import Limits
from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.core.first_kernels import first_kernels, fused_kernels
from fuse_dialect.fusion.core.options import COMPILED_BY, FuseOptions
from fuse_dialect.fusion.core.plan import FusionPlan, check_plan
from fuse_dialect.fusion.core.rules import RuleTable
from fuse_dialect.fusion.core.strategy import STRATEGIES, FusionOptions, Strategy, find_strategy
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.fusion.inlining import Inlining, inline_calls
from fuse_dialect.fusion.ir.block_graph import BlockGraph, RegionFacts, build_graph
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse, fusible_blocks
from fuse_dialect.fusion.kinds.own_kinds import (
    is_strange,
    stamp_added_kinds,
    stamp_kinds_of_module,
    stamp_own_kinds,
)
from fuse_dialect.fusion.outlining.arrange import arranged
from fuse_dialect.fusion.outlining.group import Group, groups_of
from fuse_dialect.fusion.outlining.outline_functions import erase_dead_chains, outline_functions
from fuse_dialect.logs import FUSION, heard
from fuse_dialect.machines.machine import Machine


@dataclass(frozen=True, slots=True)
class BlockFusion:
    """What fusion will do to one block, and why."""

    block_graph: BlockGraph
    plan: FusionPlan
    merges: int = 0
    """How many merges `fusion-limit` counts; 0 without it."""


@dataclass(frozen=True)
class FuseOpsPass(FuseOptions, ModulePass):
    """Group operators into primitive functions, exactly as TVM's FuseOps does."""

    name = "fuse-ops"

    rules: RuleTable = field(default=TVM_RULES, init=False)
    """What may fuse into what; Python code alone can set it, with `using` or in a subclass."""
    own_strategy: Strategy | None = field(default=None, init=False)
    """A strategy from outside the package, in place of the one that is named; see `rules`."""
    target: Machine | None = field(default=None, init=False)
    """What code is made for, where `machine` names nothing; see `rules`."""
    log: Callable[[Merge], object] | None = field(default=None, init=False)
    """Is told each merge in order, by strategies that merge; see `rules`."""
    attempts: Callable[[FusionDecision], object] | None = field(default=None, init=False)
    """Is told each rule that is tried on a node, in order, by strategies that have rules; see `rules`."""

    def using(
        self,
        *,
        rules: RuleTable | None = None,
        strategy: Strategy | None = None,
        target: Machine | None = None,
        log: Callable[[Merge], object] | None = None,
        attempts: Callable[[FusionDecision], object] | None = None,
        fusion_limit: int | None = None,
    ) -> Self:
        """The same pass with other rules, a strategy or a machine from outside, or somebody who is told what happens.

        It keeps all that is not given; `replace` of dataclasses would not.
        """
        given: dict[str, object] = {
            "rules": rules,
            "own_strategy": strategy,
            "target": target,
            "log": log,
            "attempts": attempts,
        }
        given["fusion_limit"] = fusion_limit
        other = copy(self)
        vars(other).update({name: value for name, value in given.items() if value is not None})
        return other

    def to_compile(self) -> Self:
        """The same pass for a module that is compiled: `cost` groups if no strategy and no rules are given."""
        is_asked = self.strategy is not None or self.own_strategy is not None or self.rules is not TVM_RULES
        if is_asked:
            return self
        other = copy(self)
        vars(other)["strategy"] = COMPILED_BY
        return other

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the operators of all functions of the module."""
        kept = {each for each in op.walk() if isinstance(each, func.FuncOp)} if self.form == "inline" else ()
        self.outline(op, self.plan_functions(op))
        if self.form == "inline":
            # A primitive that was there before stays one.
            inlining = Inlining(self.name, lambda each: each not in kept, undoes_fusion=False, as_regions=True)
            inline_calls(op, inlining, Limits().ops)

    def plan_functions(self, module: ModuleOp) -> dict[Operation, list[BlockFusion]]:
        """Decide how the ops of all functions are grouped, and erase those that are dead; nothing else changes.

        Kinds that the module or an installed package gives to names of ops are on the ops from then on.

        Returns:
            For each function that fuses the plans of its blocks, as `outline` takes them.

        Raises:
            PassFailedException: See `plan_block`.
            FuseError: See `plan_block`.
        """
        start = perf_counter()
        plans = self._plan_with_added_kinds(module)
        self._say(plans, perf_counter() - start)
        return plans

    def _say(self, plans: Mapping[Operation, Sequence[BlockFusion]], seconds: float) -> None:
        """Tell the log what was planned."""
        if (log := heard(FUSION)) is None:
            return
        fusions = [fusion for own in plans.values() for fusion in own]
        ops = sum(node.role is NodeRole.OPERATOR for fusion in fusions for node in fusion.block_graph.nodes)
        kernels = sum(len(fusion.plan.kernels) for fusion in fusions)
        which = self.grouped_by if self.own_strategy is None else "of the caller"
        log.info("operators: %d, kernels: %d, strategy: %s, %.3f s", ops, kernels, which, seconds)
        if (log := heard(FUSION, in_detail=True)) is None:
            return
        for fusion in fusions:
            nodes = fusion.block_graph.nodes
            for kernel in fusion.plan.kernels:
                held = [nodes[node] for node in kernel.nodes]
                names = [node.op.name for node in held if node.op is not None and node.role is NodeRole.OPERATOR]
                log.debug("kernel: %s", ", ".join(names))

    def _plan_with_added_kinds(self, module: ModuleOp) -> dict[Operation, list[BlockFusion]]:
        """See `plan_functions`."""
        stamp_kinds_of_module(module)
        plans = self._plan_functions(module)
        # What an installed package knows is asked for where a plan leaves an op in place that may be its.
        in_place = (
            node.op
            for fusions in plans.values()
            for fusion in fusions
            for node in fusion.block_graph.nodes
            if node.role is NodeRole.IN_PLACE
        )
        if any(op is not None and is_strange(op) for op in in_place) and stamp_added_kinds(module):
            return self._plan_functions(module)
        return plans

    def _plan_functions(self, module: ModuleOp) -> dict[Operation, list[BlockFusion]]:
        """See `plan_functions`."""
        plans: dict[Operation, list[BlockFusion]] = {}
        merges = 0
        for function in functions_to_fuse(module):
            fusions = self.plan_function(function, merges)
            if erase_dead_chains([dead for fusion in fusions for dead in fusion.block_graph.dead]):
                # What an op of another block alone has read is dead with that one, and stood in a plan.
                fusions = self.plan_function(function, merges)
            merges += sum(fusion.merges for fusion in fusions)
            plans[function] = fusions
        return plans

    def replanned(
        self, module: ModuleOp, plans: Iterable[Sequence[tuple[FusionPlan, int]]]
    ) -> dict[Operation, list[BlockFusion]]:
        """Plans of a module as those of an equal one; the strategy is not asked.

        Args:
            module: A copy of a module as `plan_functions` has left it.
            plans: What that has said: for each function the plan of each block, and its merges.
        """
        fusions: dict[Operation, list[BlockFusion]] = {}
        for function, own in zip(functions_to_fuse(module), plans, strict=True):
            facts = RegionFacts()
            blocks = fusible_blocks(function, facts.effects)
            fusions[function] = [
                BlockFusion(self._graph(block, facts), *made) for block, made in zip(blocks, own, strict=True)
            ]
        return fusions

    def outline(self, module: ModuleOp, plans: Mapping[Operation, Sequence[BlockFusion]]) -> dict[str, set[str]]:
        """Make the kernels of plans primitive functions.

        Args:
            module: The module; it changes.
            plans: What `plan_functions` has said of it as it is.

        Returns:
            The families of native code that the functions were planned as, by name; see `FusionPlan.promises`.
        """
        return outline_functions(module, lambda function: self._groups(plans[function]), dedup=self.dedup)

    def _groups(self, fusions: Sequence[BlockFusion]) -> list[Group]:
        """The groups of one function, whose ops are brought into an order in which calls can take their places."""
        numbers = count()
        groups: list[Group] = []
        for fusion in fusions:
            own = self.planned_groups(fusion)
            # Groups of a partition have one way out each and share nothing: calls can take their places as they are.
            is_arranged = fusion.plan.partition is not None
            groups += own if is_arranged else arranged(fusion.block_graph.block, own, numbers)
        return groups

    def planned_groups(self, fusion: BlockFusion) -> list[Group]:
        """The kernels of a plan as ops, in block order; nothing is changed."""
        return groups_of(
            fusion.block_graph,
            fusion.plan.kernels,
            embeds_constants=self.link_params,
            has_copies=fusion.plan.partition is None,
            promises=fusion.plan.promises,
        )

    def merges_before(self, module: ModuleOp) -> dict[Operation, int]:
        """For each function that fuses how many merges `fusion-limit` counts before it: 0 without a limit.

        As for `plan_functions`, kinds are on the ops from then on.

        Raises:
            PassFailedException: See `plan_block`.
            FuseError: See `plan_block`.
        """
        stamp_own_kinds(module)
        made: dict[Operation, int] = {}
        merges = 0
        for function in functions_to_fuse(module):
            made[function] = merges
            if self.fusion_limit is not None:
                merges += sum(fusion.merges for fusion in self.plan_function(function, merges))
        return made

    def plan_function(self, function: Operation, merges: int = 0) -> list[BlockFusion]:
        """Decide, without changing anything, how the ops of all blocks of a function are grouped.

        Args:
            function: The function.
            merges: How many merges `fusion-limit` has counted before it; see `merges_before`.

        Raises:
            PassFailedException: See `plan_block`.
            FuseError: See `plan_block`.

        Complexity: O(ops + operands), at whatever depth they stand, and what the strategy takes.
        """
        # All blocks are planned first: a plan sees the function as it was, dead ops of other blocks included.
        facts = RegionFacts()
        fusions: list[BlockFusion] = []
        for block in fusible_blocks(function, facts.effects):
            fusions.append(self.plan_block(block, facts, merges))
            merges += fusions[-1].merges
        return fusions

    def plan_block(self, block: Block, facts: RegionFacts | None = None, merges: int = 0) -> BlockFusion:
        """Decide, without changing anything, how the ops of a block are grouped.

        Args:
            block: Any block.
            facts: What is known about regions, for a caller that asks for several blocks.
            merges: How many merges `fusion-limit` has counted before this block.

        Raises:
            PassFailedException: The block is not in SSA order, or an option has no meaning.
            FuseError: There is no such strategy.
        """
        try:
            self.check()
        except ValueError as error:
            raise PassFailedException(str(error)) from error
        block_graph = self._graph(block, facts)
        made: list[Merge] = []
        most = None if self.fusion_limit is None else max(0, self.fusion_limit - merges)
        options = FusionOptions(
            **self.options(),
            rules=self.rules,
            log=self.log if most is None else made.append,
            most_merges=most,
            attempts=self.attempts,
            target=self.target,
            forms=block_graph.find_forms,
        )
        plan = self._plan(block_graph.value_graph, options)
        if most is None:
            return BlockFusion(block_graph, plan)
        return self._limited(block_graph, plan, made, most)

    def _graph(self, block: Block, facts: RegionFacts | None) -> BlockGraph:
        """The graph of a block with what the options need."""
        return build_graph(
            block, with_values=self.max_function_args > 0, embeds_constants=self.link_params, facts=facts
        )

    def _limited(self, block_graph: BlockGraph, plan: FusionPlan, made: Sequence[Merge], most: int) -> BlockFusion:
        """A plan with its first merges, whether the strategy makes merges or not."""
        graph = block_graph.value_graph
        if len(made) > most:
            raise PassFailedException(f"the strategy makes {len(made)} merges, although fusion-limit leaves it {most}")
        if self.log is not None:
            for merge in made:
                self.log(merge)
        # A strategy that makes merges has kept to the limit by itself.
        kernels = 0 if made else len(fused_kernels(graph, plan))
        kept = min(kernels, most)
        return BlockFusion(block_graph, first_kernels(graph, plan, kept) if kept < kernels else plan, len(made) + kept)

    def _plan(self, graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        """The plan of the strategy."""
        own = self.own_strategy if self.opt_level > 0 else None
        name = self.grouped_by if self.opt_level > 0 else "separate"
        strategy = own or find_strategy(name)
        if own is None and name in STRATEGIES:
            return strategy(graph, options)
        try:
            plan = strategy(graph, options)
            check_plan(graph, plan.kernels)
        except ValueError as error:
            which = f"'{name}'" if own is None else "of your own"
            raise PassFailedException(f"the strategy {which} makes no plan: {error}") from error
        return plan
