"""`fuse-ops-hw`: group operators into trips of data through an accelerator, and outline each as a primitive function.

For every function that is not primitive itself, and for every block in it:

1. build the graph of what the template's units could run (`hardware/block_graph.py`);
2. group it (`templates/plan.py`), or replay the OPU article (`templates/strict_opu.py`); the groups are the kernels
   of a plan as `fuse-ops` has it, with a unit beside each node;
3. arrange and outline the kernels as `fuse-ops` does; constants are copied into the functions.

A function carries `fuse.hardware = "opu"` and each op that a unit runs `fuse.unit = "ipa"`. Ops that no unit runs
stay, and `fuse.hardware_reason` says why, as it does on the call of a group whose first operator could not join one of
its producers. `fuse-ops` may follow and fuses what has stayed.

Source: https://github.com/OPU-Lab/opu-compiler, frontend/src/relay/pass/fuse_ops_hw.cc.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.ops.hardware import (
    HARDWARE_ATTRIBUTE,
    PADDING_ATTRIBUTE,
    REASON_ATTRIBUTE,
    UNIT_ATTRIBUTE,
)
from fuse_dialect.fusion.core.plan import FusionKernel, FusionPlan, plan_of_nodes
from fuse_dialect.fusion.ir.block_graph import RegionFacts
from fuse_dialect.fusion.ir.fusible_blocks import fusible_blocks
from fuse_dialect.fusion.ir.ssa import OuterOps
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.kinds.own_kinds import stamp_own_kinds
from fuse_dialect.fusion.outlining.arrange import arranged
from fuse_dialect.fusion.outlining.group import Group, groups_of
from fuse_dialect.fusion.outlining.outline_functions import erase_dead_chains, outline_functions
from fuse_dialect.hardware.block_graph import BlockHardwareGraph, build_hardware_graph, is_read_outside
from fuse_dialect.hardware.placement import read_placement
from fuse_dialect.hardware.row_windows import row_axis
from fuse_dialect.hardware.template_file import check_rates, find_template
from fuse_dialect.hardware.tile_trips import tile_trips
from fuse_dialect.templates.engines import engine_of, engines, joined, unit_of
from fuse_dialect.templates.graph import HardwareRole
from fuse_dialect.templates.objective import Objective
from fuse_dialect.templates.plan import HardwarePlan, plan_hardware
from fuse_dialect.templates.search import BUDGET
from fuse_dialect.templates.shipped.opu import article_rows
from fuse_dialect.templates.strict_opu import StrictPlan, replay_opu
from fuse_dialect.templates.template import HardwareTemplate


@dataclass(frozen=True, slots=True)
class BlockHardwareFusion:
    """How the ops of a block are grouped."""

    block_graph: BlockHardwareGraph
    hardware: HardwarePlan
    """Trips, the unit of each node, and why nodes joined no trip."""
    plan: FusionPlan
    """Each trip as a kernel."""


@dataclass(frozen=True)
class FuseOpsHwPass(ModulePass):
    """Group operators into trips of data through an accelerator."""

    name = "fuse-ops-hw"

    template: str = "opu"
    """Symbol of a `fuse.hardware` op, name of a shipped template, or path of an MLIR file with one such op; several
    with commas between them are engines side by side."""
    strict_opu: bool = False
    """Replay the algorithm of the OPU article, its mistakes included; what is no program then is an error."""
    dedup: bool = True
    """Let groups of the same structure share one primitive."""
    objective: str = Objective.TRIPS.value
    """What there shall be little of: `trips`, `bytes` that trips move, or `cycles` by the rates of the template."""
    search_budget: int = BUDGET
    """Steps that the search may take before it keeps only the cheapest ways; 0 takes the first fit everywhere."""

    placement: str = ""
    """Path of a JSON file that says where operators run, as `-t placement` writes it."""
    constants_inside: bool = True
    """Whether trips hold the constants that they read; otherwise these are arguments."""
    tile_trips: bool = False
    """Cut trips whose feature maps are beyond the limits into tiles of rows that fit, a loop around the trip."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the operators of all functions of the module."""
        template = self.find_template(op, ctx)
        stamp_own_kinds(op)
        axis = row_axis(op.walk()) if self.tile_trips else None
        outline_functions(
            op, lambda function: self.groups_in(function, template, axis), dedup=self.dedup, keep_barriers=True
        )
        if axis is not None:
            tile_trips(op, template, axis)

    def find_template(self, module: ModuleOp, ctx: Context) -> HardwareTemplate:
        """The template that the options name, several joined into one.

        Raises:
            PassFailedException: An option has no meaning.
            TemplateError: There is no such template, or it has no rates where cycles are asked for.
            OpError: The same of a template in the module.
        """
        self.check_options()
        names = dict.fromkeys(name.strip() for name in self.template.split(","))
        templates = {name: find_template(name, module, ctx) for name in names}
        if self.objective == Objective.CYCLES:
            for name, template in templates.items():
                check_rates(name, template, module)
        return joined(list(templates.values()))

    def check_options(self) -> None:
        """Check the options for themselves.

        Raises:
            PassFailedException: One has no meaning.
        """
        if self.objective not in list(Objective):
            raise PassFailedException(f"option 'objective' expects {', '.join(Objective)}, got '{self.objective}'")
        if self.search_budget < 0:
            raise PassFailedException(f"option 'search-budget' expects 0 or more, got {self.search_budget}")
        if self.tile_trips and self.strict_opu:
            raise PassFailedException("option 'tile-trips' does not go with 'strict-opu', which knows no limits")

    def groups_in(self, function: Operation, template: HardwareTemplate, axis: int | None = None) -> list[Group]:
        """The groups of one function; their ops are annotated and brought together, dead ops are erased."""
        fusions = self.plan_function(function, template, axis)
        if erase_dead_chains([dead for fusion in fusions for dead in fusion.block_graph.dead]):
            # What an op of another block alone has read is dead with that one, and stood in a plan.
            fusions = self.plan_function(function, template, axis)
        facts, numbers = RegionFacts(), count()
        return [
            group
            for fusion in fusions
            for group in _arranged_groups(fusion, template, facts, numbers, embeds_constants=self.constants_inside)
        ]

    def plan_function(
        self, function: Operation, template: HardwareTemplate, axis: int | None = None
    ) -> list[BlockHardwareFusion]:
        """Decide, without changing anything, how the ops of all blocks of a function are grouped.

        Args:
            function: The function.
            template: The hardware.
            axis: The axis of rows, where trips may be cut into tiles; left out, it is found in the module.

        Raises:
            OpError: See `plan_block`.
        """
        facts = RegionFacts()
        placement = self.read_placement(function, template)
        if self.tile_trips and axis is None:
            axis = row_axis(_module_around(function).walk())
        return [
            self.plan_block(block, template, facts, placement, axis)
            for block in fusible_blocks(function, facts.effects)
        ]

    def read_placement(self, function: Operation, template: HardwareTemplate) -> Mapping[str, str]:
        """What the placement file says for the module around a function; nothing without a file.

        Raises:
            TemplateError: The file is wrong.
        """
        module = _module_around(function)
        if not self.placement or not isinstance(module, ModuleOp):
            return {}
        return read_placement(self.placement, module, engines(template))

    def plan_block(
        self,
        block: Block,
        template: HardwareTemplate,
        facts: RegionFacts | None = None,
        placement: Mapping[str, str] | None = None,
        axis: int | None = None,
    ) -> BlockHardwareFusion:
        """Decide, without changing anything, how the ops of a block are grouped.

        Args:
            block: Any block.
            template: The hardware.
            facts: What is known about regions, for a caller that asks for several blocks.
            placement: Engines, or the host, for operators by the names of their results.
            axis: The axis of rows, where trips may be cut into tiles.

        Raises:
            OpError: The block is not in SSA order, or the groups of the strict replay are no program.
        """
        if self.strict_opu:
            template = article_rows(template)
        block_graph = build_hardware_graph(block, template, facts, placement, row_axis=axis)
        if not self.strict_opu:
            hardware = plan_hardware(block_graph.graph, template, Objective(self.objective), self.search_budget)
            return BlockHardwareFusion(block_graph, hardware, _plan_of(block_graph, hardware))
        strict = replay_opu(block_graph.graph, template)
        _check_strict(block_graph, strict)
        hardware = HardwarePlan(strict.groups, strict.unit_of, [None] * len(strict.unit_of))
        return BlockHardwareFusion(block_graph, hardware, _strict_plan_of(block_graph, strict))


def _module_around(function: Operation) -> Operation:
    module = function
    while (parent := module.parent_op()) is not None:
        module = parent
    return module


def _plan_of(block_graph: BlockHardwareGraph, hardware: HardwarePlan) -> FusionPlan:
    """The trips as kernels: what is read outside leaves a trip, at whatever unit."""
    plan = plan_of_nodes(
        block_graph.source.value_graph,
        [[block_graph.node_of[number] for number in group.nodes] for group in hardware.groups],
    )
    return replace(plan, kernels=[_in_block_order(block_graph, kernel) for kernel in plan.kernels])


def _strict_plan_of(block_graph: BlockHardwareGraph, strict: StrictPlan) -> FusionPlan:
    """The groups of the article as kernels: one node alone may give results."""
    graph = block_graph.source.value_graph
    outer = OuterOps(block_graph.block)
    kernels: list[FusionKernel] = []
    for group, root in zip(strict.groups, strict.roots, strict=True):
        nodes = tuple(block_graph.node_of[number] for number in group.nodes)
        inside = {op: None for op in map(block_graph.ops.__getitem__, group.nodes) if op is not None}
        op = block_graph.ops[root]
        assert op is not None, "the root of a group is an op"
        outputs = tuple(
            graph.first_value[block_graph.node_of[root]] + place
            for place, value in enumerate(op.results)
            if is_read_outside(value, outer, inside)
        )
        kernels.append(_in_block_order(block_graph, FusionKernel(nodes, outputs)))
    return FusionPlan(kernels, ())


def _in_block_order(block_graph: BlockHardwareGraph, kernel: FusionKernel) -> FusionKernel:
    """The kernel with its outputs in the order in which the block has them."""
    graph, places = block_graph.source.value_graph, block_graph.source.places

    def place_of(value: int) -> tuple[int, int]:
        op = block_graph.source.nodes[graph.producer(value)].op
        return places[id(op)], value

    return kernel._replace(outputs=tuple(sorted(kernel.outputs, key=place_of)))


def _arranged_groups(
    fusion: BlockHardwareFusion,
    template: HardwareTemplate,
    facts: RegionFacts,
    numbers: Iterator[int],
    *,
    embeds_constants: bool,
) -> list[Group]:
    """The kernels of one block as ops in block order, annotated and brought together."""
    block_graph, hardware = fusion.block_graph, fusion.hardware
    groups = groups_of(
        block_graph.source,
        fusion.plan.kernels,
        embeds_constants=embeds_constants,
        has_copies=True,
        captured=facts.captured,
    )
    _annotate(block_graph, hardware, template)
    marked: list[Group] = []
    for group in groups:
        walk = hardware.groups[group.kernel].walk
        refusal = hardware.refusals[walk[0]] if walk else None
        marks = {} if refusal is None else {REASON_ATTRIBUTE: StringAttr(str(refusal))}
        unit = hardware.unit_of[walk[0]] if walk else None
        engine = template.name if unit is None else engine_of(unit, template)
        function_marks = {HARDWARE_ATTRIBUTE: StringAttr(engine)}
        marked.append(replace(group, function_attributes=function_marks, call_attributes=marks))
    return arranged(block_graph.block, marked, numbers, facts)


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


def _annotate(block_graph: BlockHardwareGraph, plan: HardwarePlan, template: HardwareTemplate) -> None:
    """Write units on the ops, and reasons on those that stay outside, in the place of what an earlier run wrote."""
    grouped = {number for group in plan.groups for number in group.nodes}
    for number, op in enumerate(block_graph.ops):
        if op is None:
            continue
        unit, refusal = plan.unit_of[number], plan.refusals[number]
        if block_graph.graph.nodes[number].role is HardwareRole.BARRIER and refusal is None:
            continue  # what an earlier run says of a call of a trip stays true
        op.attributes.pop(UNIT_ATTRIBUTE, None)
        op.attributes.pop(PADDING_ATTRIBUTE, None)
        op.attributes.pop(REASON_ATTRIBUTE, None)
        if unit is not None:
            op.attributes[UNIT_ATTRIBUTE] = StringAttr(unit_of(unit, template))
            if number in block_graph.paddings:
                op.attributes[PADDING_ATTRIBUTE] = StringAttr(block_graph.paddings[number])
        elif refusal is not None and number not in grouped:
            op.attributes[REASON_ATTRIBUTE] = StringAttr(str(refusal))
