"""`fuse-ops-hw`: group operators into trips of data through an accelerator, and outline each as a primitive function.

For every function that is not primitive itself, and for every block in it:

1. build the graph of what the template's units could run (`build_hardware_graph.py`);
2. group it (`hardware/plan.py`), or replay the OPU article (`hardware/strict_opu.py`);
3. outline the groups (`outline.py`); constants are copied into the functions, and several results are allowed.

A function carries `fuse.hardware = "opu"` and each op that a unit runs `fuse.unit = "ipa"`. Ops that no unit runs
stay, and `fuse.hardware_reason` says why, as it does on the call of a group whose first operator could not join one of
its producers. `fuse-ops` may follow and fuses what has stayed.

Source: https://github.com/OPU-Lab/opu-compiler, frontend/src/relay/pass/fuse_ops_hw.cc.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.analysis.block_graph import RegionFacts
from fuse_dialect.analysis.constants import is_constant
from fuse_dialect.analysis.fusible_blocks import fusible_blocks
from fuse_dialect.analysis.hardware_block_graph import BlockHardwareGraph, build_hardware_graph, is_read_outside
from fuse_dialect.analysis.ssa import OuterOps, read_values
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.frontends.mlir.hardware_template import find_template
from fuse_dialect.hardware.plan import HardwareGroup, HardwarePlan, plan_hardware
from fuse_dialect.hardware.strict_opu import StrictPlan, replay_opu
from fuse_dialect.hardware.template import HardwareTemplate
from fuse_dialect.kinds.kind_of import op_name
from fuse_dialect.transforms.outlining.gather_ops import gather_ops
from fuse_dialect.transforms.outlining.group import Group
from fuse_dialect.transforms.outlining.outline_functions import erase_dead_chains, outline_functions


@dataclass(frozen=True, slots=True)
class BlockHardwareFusion:
    """How the ops of a block are grouped."""

    block_graph: BlockHardwareGraph
    plan: HardwarePlan
    roots: Sequence[int | None]
    """For each group the node that alone gives results; `None` lets every node."""


@dataclass(frozen=True)
class FuseOpsHwPass(ModulePass):
    """Group operators into trips of data through an accelerator."""

    name = "fuse-ops-hw"

    template: str = "opu"
    """Symbol of a `fuse.hardware` op, name of a shipped template, or path of an MLIR file with one such op."""
    strict_opu: bool = False
    """Replay the algorithm of the OPU article, its mistakes included; what is no program then is an error."""
    dedup: bool = True
    """Let groups of the same structure share one primitive."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the operators of all functions of the module."""
        template = find_template(self.template, op, ctx)
        outline_functions(op, lambda function: self.groups_in(function, template), dedup=self.dedup, keep_barriers=True)

    def groups_in(self, function: func.FuncOp, template: HardwareTemplate) -> list[Group]:
        """The groups of one function; their ops are annotated and brought together, dead ops are erased."""
        fusions = self.plan_function(function, template)
        if erase_dead_chains([dead for fusion in fusions for dead in fusion.block_graph.dead]):
            # What an op of another block alone has read is dead with that one, and stood in a plan.
            fusions = self.plan_function(function, template)
        facts = RegionFacts()
        return [group for fusion in fusions for group in _gathered_groups(fusion, template.name, facts)]

    def plan_function(self, function: func.FuncOp, template: HardwareTemplate) -> list[BlockHardwareFusion]:
        """Decide, without changing anything, how the ops of all blocks of a function are grouped.

        Raises:
            OpError: See `plan_block`.
        """
        facts = RegionFacts()
        return [self.plan_block(block, template, facts) for block in fusible_blocks(function, facts.effects)]

    def plan_block(
        self, block: Block, template: HardwareTemplate, facts: RegionFacts | None = None
    ) -> BlockHardwareFusion:
        """Decide, without changing anything, how the ops of a block are grouped.

        Args:
            block: Any block.
            template: The hardware.
            facts: What is known about regions, for a caller that asks for several blocks.

        Raises:
            OpError: The block is not in SSA order, or the groups of the strict replay are no program.
        """
        block_graph = build_hardware_graph(block, template, facts)
        if not self.strict_opu:
            plan = plan_hardware(block_graph.graph, template)
            return BlockHardwareFusion(block_graph, plan, [None] * len(plan.groups))
        strict = replay_opu(block_graph.graph, template)
        _check_strict(block_graph, strict)
        plan = HardwarePlan(strict.groups, strict.unit_of, [None] * len(strict.unit_of))
        return BlockHardwareFusion(block_graph, plan, strict.roots)


def _gathered_groups(fusion: BlockHardwareFusion, template: str, facts: RegionFacts) -> list[Group]:
    """The groups of one block in block order, their ops annotated and brought together."""
    block_graph, plan = fusion.block_graph, fusion.plan
    place = {op: index for index, op in enumerate(block_graph.block.ops)}
    outer = OuterOps(block_graph.block)
    groups = [
        _group(block_graph, plan, group, root, template, place, outer, facts)
        for group, root in zip(plan.groups, fusion.roots, strict=True)
    ]
    _annotate(block_graph, plan)
    gather_ops(block_graph.block, [group.ops for group in groups], facts)
    place = {op: index for index, op in enumerate(block_graph.block.ops)}
    groups.sort(key=lambda group: place[group.root])
    return groups


def _check_strict(block_graph: BlockHardwareGraph, plan: StrictPlan) -> None:
    """Report what makes the replayed groups no program.

    Raises:
        OpError: Something does.
    """
    if plan.problem is not None:
        op = block_graph.ops[plan.problem.node]
        assert op is not None, "problems are about ops"
        hint = "without strict-opu=true the groups are always well formed"
        raise OpError(op, f"'{op_name(op)}' op {plan.problem.message}", hint)


def _annotate(block_graph: BlockHardwareGraph, plan: HardwarePlan) -> None:
    """Write units on the ops, and reasons on those that stay outside, in the place of what an earlier run wrote."""
    grouped = {number for group in plan.groups for number in group.nodes}
    for number, op in enumerate(block_graph.ops):
        if op is None:
            continue
        unit, refusal = plan.unit_of[number], plan.refusals[number]
        op.attributes.pop(UNIT_ATTRIBUTE, None)
        op.attributes.pop(REASON_ATTRIBUTE, None)
        if unit is not None:
            op.attributes[UNIT_ATTRIBUTE] = StringAttr(unit)
        elif refusal is not None and number not in grouped:
            op.attributes[REASON_ATTRIBUTE] = StringAttr(str(refusal))


def _group(
    block_graph: BlockHardwareGraph,
    plan: HardwarePlan,
    group: HardwareGroup,
    root: int | None,
    template: str,
    place: Mapping[Operation, int],
    outer: OuterOps,
    facts: RegionFacts,
) -> Group:
    """The group as ops.

    Args:
        block_graph: What the nodes are.
        plan: Why its first operator starts a group.
        group: Numbers of its nodes.
        root: The node that alone gives results; `None` lets every node.
        template: Name of the template.
        place: Where each op stands in the block.
        outer: The ops of the block that hold others.
        facts: What is known about regions.
    """
    numbered = [op for op in map(block_graph.ops.__getitem__, group.nodes) if op is not None]
    ops = sorted(numbered, key=place.__getitem__)
    inside = dict.fromkeys(ops)
    reads = dict.fromkeys(
        value for op in numbered for value in read_values(op, facts.captured) if value.owner not in inside
    )
    givers = ops if root is None else [op for op in ops if op is block_graph.ops[root]]
    results = [value for op in givers for value in op.results if is_read_outside(value, outer, inside)]
    refusal = plan.refusals[group.walk[0]] if group.walk else None
    return Group(
        ops,
        ops[-1],
        [value for value in reads if not _is_embedded(value)],
        results,
        [value.op for value in reads if isinstance(value, OpResult) and _is_embedded(value)],
        {HARDWARE_ATTRIBUTE: StringAttr(template)},
        {} if refusal is None else {REASON_ATTRIBUTE: StringAttr(str(refusal))},
    )


def _is_embedded(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and is_constant(value.op)
