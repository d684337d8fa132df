"""The plan of one block, as pictures need it: whatever pass has made it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.post_dominators import PostDominatorTree
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import BlockGraph
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.kinds.own_kinds import stamp_own_kinds
from fuse_dialect.fusion.outlining.group import groups_of
from fuse_dialect.hardware.fuse_ops_hw import BlockHardwareFusion, FuseOpsHwPass
from fuse_dialect.remarks.fusion import is_operator
from fuse_dialect.remarks.hardware import block_remarks, hardware_story
from fuse_dialect.remarks.printed_ir import PrintedIR
from fuse_dialect.remarks.recorded_fusion import MadePlans, RecordedFusion, record_fusion
from fuse_dialect.remarks.story import StoryTeller
from fuse_dialect.templates.objective import missing_rate, trip_bytes, trip_cycles
from fuse_dialect.templates.template import HardwareTemplate
from fuse_dialect.templates.trips import TripLaw

MOST_TRIES = 60_000
"""Refused operators times nodes up to which stories say what would have to change: each takes a few partitions."""
MOST_STORIES = 10_000
"""Nodes up to which every story is told in full."""


@dataclass(frozen=True, slots=True)
class DrawnPlan:
    """The plan of one block."""

    function: Operation
    block: int
    """Its number among the blocks of the function that fuse."""
    block_graph: BlockGraph
    plan: FusionPlan
    calls: Sequence[int]
    """Numbers of the kernels in the order in which the fused block calls them."""
    story: Callable[[int], list[str]]
    """The story of a node that stands for an op, line by line."""
    refusals: Mapping[int, str]
    """Codes of the operators that are not fused, by node."""
    merges: Sequence[Merge] = ()
    on_hardware: bool = False
    """Whether kernels are trips through an accelerator: then an operator is refused by its producers' kernels."""
    units: Mapping[int, str] = field(default_factory=dict[int, str])
    """For each node that hardware runs the name of the unit."""
    template: HardwareTemplate | None = None
    """The accelerator, if kernels are trips through one."""
    cycles: Sequence[float] = ()
    """For each trip its cycles, if the template says rates."""

    @property
    def tree(self) -> PostDominatorTree | None:
        """The post-dominator tree, if the strategy has made one."""
        return None if self.plan.partition is None else self.plan.partition.tree

    def decision(self, node: int) -> FusionDecision | None:
        """The verdict on a node, if the pass gives verdicts."""
        return self.plan.decisions[node] if self.plan.decisions else None


def drawn_plans(
    module: ModuleOp, module_pass: ModulePass, printed: PrintedIR, ctx: Context, made: MadePlans | None = None
) -> list[DrawnPlan]:
    """The plans of all blocks that a pass would fuse; nothing is changed.

    Args:
        module: A valid module.
        module_pass: `fuse-ops` or `fuse-ops-hw`.
        printed: The module as text.
        ctx: To read a template from a file.
        made: Plans of `fuse-ops` to draw; by default those that the pass makes.

    Raises:
        FuseError: The pass has no such strategy or template.
        OpError: The pass cannot group a block.
        PassFailedException: An option has no meaning.
    """
    if isinstance(module_pass, FuseOpsPass):
        return [
            _by_rules(recorded, printed)
            for function, merges in module_pass.merges_before(module).items()
            for recorded in record_fusion(function, module_pass, merges, made)
        ]
    assert isinstance(module_pass, FuseOpsHwPass), "no other pass fuses"
    template = module_pass.find_template(module, ctx)
    return list(_by_hardware(module, module_pass, template, printed))


def _by_rules(recorded: RecordedFusion, printed: PrintedIR) -> DrawnPlan:
    fusion = recorded.fusion
    nodes, decisions = fusion.block_graph.nodes, fusion.plan.decisions
    refusals = {
        number: decision.reason.value
        for number, decision in enumerate(decisions)
        if not decision and is_operator(nodes[number])
    }
    teller = StoryTeller(recorded, printed, tries_changes=len(refusals) * len(nodes) <= MOST_TRIES)
    return DrawnPlan(
        recorded.function,
        recorded.block,
        fusion.block_graph,
        fusion.plan,
        [group.kernel for group in recorded.fuse_ops.planned_groups(fusion)],
        teller.story if len(nodes) <= MOST_STORIES else teller.summary,
        refusals,
        recorded.merges,
    )


def _by_hardware(
    module: ModuleOp, module_pass: FuseOpsHwPass, template: HardwareTemplate, printed: PrintedIR
) -> Iterator[DrawnPlan]:
    stamp_own_kinds(module)
    for function in functions_to_fuse(module):
        for number, fusion in enumerate(module_pass.plan_function(function, template)):
            yield _by_trips(function, number, fusion, printed, template)


def _by_trips(
    function: Operation, block: int, fusion: BlockHardwareFusion, printed: PrintedIR, template: HardwareTemplate
) -> DrawnPlan:
    source, node_of = fusion.block_graph.source, fusion.block_graph.node_of
    number_of = {id(op): node for node, (role, op, _) in enumerate(source.nodes) if op is not None and not role.is_view}
    remarks = {number_of[id(remark.op)]: remark for remark in block_remarks(fusion) if id(remark.op) in number_of}
    units = {node_of[number]: unit for number, unit in enumerate(fusion.hardware.unit_of) if unit is not None}

    own_number = {node: number for number, node in enumerate(node_of)}

    def story(node: int) -> list[str]:
        return hardware_story(fusion, own_number[node], place_name(function), printed)

    calls = [group.kernel for group in groups_of(source, fusion.plan.kernels, embeds_constants=True, has_copies=True)]
    refusals = {node: remark.reason.value for node, remark in remarks.items()}
    return DrawnPlan(
        function,
        block,
        source,
        fusion.plan,
        calls,
        partial(story),
        refusals,
        on_hardware=True,
        units=units,
        template=template,
        cycles=_cycles(fusion, template),
    )


def _cycles(fusion: BlockHardwareFusion, template: HardwareTemplate) -> list[float]:
    """Cycles of each trip; none where a rate is missing."""
    if missing_rate(template) is not None:
        return []
    graph, hardware = fusion.block_graph.graph, fusion.hardware
    law = TripLaw(graph, template, counts_cycles=True)
    return [
        trip_cycles(
            trip_bytes(graph, group.nodes, law.readers, law.gives), hardware.busiest(graph, law, group), template
        )
        for group in hardware.groups
    ]
