"""Why is this not on hardware, or not in the trip before it? One remark for each operator that joined no group."""

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.kinds.own_kinds import stamp_own_kinds
from fuse_dialect.hardware.fuse_ops_hw import BlockHardwareFusion, FuseOpsHwPass
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


def block_remarks(fusion: BlockHardwareFusion) -> Iterator[HardwareRemark]:
    """Remarks on one block."""
    ops, plan = fusion.block_graph.ops, fusion.hardware
    grouped = {number for group in plan.groups for number in group.nodes}
    for number, refusal in enumerate(plan.refusals):
        op = ops[number]
        if op is not None and refusal is not None:
            yield HardwareRemark(op, refusal.reason, number in grouped, refusal.message)
