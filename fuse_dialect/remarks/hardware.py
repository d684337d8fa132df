"""Why is this not on hardware, or not in the trip before it? One remark for each operator that joined no group."""

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.kinds.own_kinds import stamp_own_kinds
from fuse_dialect.hardware.fuse_ops_hw import BlockHardwareFusion, FuseOpsHwPass
from fuse_dialect.remarks.explaining import asked_for
from fuse_dialect.remarks.printed_ir import PrintedIR, printed_ir
from fuse_dialect.remarks.wording import HardwareRemark


def hardware_remarks(module: ModuleOp, fuse_ops_hw: FuseOpsHwPass, ctx: Context) -> Iterator[HardwareRemark]:
    """Remarks on what `fuse_ops_hw` would refuse in the module, in the order of the graph.

    Raises:
        FuseError: The pass has no template.
        OpError: The pass cannot group a block.
    """
    template = fuse_ops_hw.find_template(module, ctx)
    stamp_own_kinds(module)
    for function in functions_to_fuse(module):
        for fusion in fuse_ops_hw.plan_function(function, template):
            yield from block_remarks(fusion)


def explain_on_hardware(
    module: ModuleOp, fuse_ops_hw: FuseOpsHwPass, question: Operation | SSAValue | str, ctx: Context
) -> str:
    """Where `fuse_ops_hw` puts the ops that a question is about, and why, with an empty line between two.

    Args:
        module: A valid module, before the pass; it is not changed.
        fuse_ops_hw: The pass.
        question: See `explaining.explain`.
        ctx: To read a template from a file.

    Raises:
        FuseError: There is no such op, the pass has no template, or it does not look at the op.
        OpError: The pass cannot group a block.
    """
    printed, functions = printed_ir(module), functions_to_fuse(module)
    wanted = asked_for(question, functions, printed)
    template = fuse_ops_hw.find_template(module, ctx)
    stamp_own_kinds(module)
    stories: list[str] = []
    for function in functions:
        for fusion in fuse_ops_hw.plan_function(function, template):
            number_of = {id(op): number for number, op in enumerate(fusion.block_graph.ops) if op is not None}
            stories += [
                "\n".join(hardware_story(fusion, number_of[id(op)], place_name(function), printed))
                for op in wanted
                if id(op) in number_of
            ]
    if not stories:
        text = f"'{op_name(wanted[0])}' op takes no part in fusion onto hardware"
        raise FuseError(text, hint="it is dead, a view that fusion sees through, or in a function that it leaves alone")
    return "\n\n".join(stories)


def hardware_story(fusion: BlockHardwareFusion, number: int, place: str, printed: PrintedIR) -> list[str]:
    """Where a node of a block runs, with whom, and why it joined no earlier trip, line by line."""
    plan, ops = fusion.hardware, fusion.block_graph.ops
    op = ops[number]
    assert op is not None, "stories are about ops"
    lines = [f"{', '.join(map(printed.name_of, op.results))} = '{op_name(op)}' of {place}"]
    if plan.unit_of[number] is not None:
        lines.append(f"unit: {plan.unit_of[number]}")
    for index, group in enumerate(plan.groups, 1):
        if number in group.nodes:
            steps = [(ops[each], plan.unit_of[each]) for each in group.walk]
            names = [f"{printed.name_of(each.results[0])} on {unit}" for each, unit in steps if each is not None]
            lines.append(f"trip {index} of {len(plan.groups)}: {', '.join(names)}")
    padding = fusion.block_graph.paddings.get(number)
    if padding is not None:
        lines.append(f"padded: {padding}")
    refusal = plan.refusals[number]
    if refusal is not None:
        grouped = any(number in group.nodes for group in plan.groups)
        remark = HardwareRemark(op, refusal.reason, grouped, refusal.message)
        lines.append(f"{remark.message}: {remark.explanation}")
    return lines


def block_remarks(fusion: BlockHardwareFusion) -> Iterator[HardwareRemark]:
    """Remarks on one block."""
    ops, plan = fusion.block_graph.ops, fusion.hardware
    grouped = {number for group in plan.groups for number in group.nodes}
    for number, refusal in enumerate(plan.refusals):
        op = ops[number]
        if op is not None and refusal is not None:
            yield HardwareRemark(op, refusal.reason, number in grouped, refusal.message)
