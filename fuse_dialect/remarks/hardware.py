"""Why is this not on hardware, or not in the trip before it? One remark for each operator that joined no group."""

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.analysis.fusible_blocks import functions_to_fuse, fusible_blocks
from fuse_dialect.frontends.mlir.hardware_template import find_template
from fuse_dialect.kinds.kind_of import op_name
from fuse_dialect.remarks.fusion import FusionRemark
from fuse_dialect.transforms.fuse_ops_hw import BlockHardwareFusion, FuseOpsHwPass


def hardware_remarks(module: ModuleOp, fuse_ops_hw: FuseOpsHwPass, ctx: Context) -> Iterator[FusionRemark]:
    """Remarks on what `fuse_ops_hw` would refuse in the module, in the order of the graph.

    Raises:
        FuseError: The pass has no template.
        OpError: The pass cannot group a block.
    """
    template = find_template(fuse_ops_hw.template, module, ctx)
    for function in functions_to_fuse(module):
        for block in fusible_blocks(function):
            yield from block_remarks(fuse_ops_hw.plan_block(block, template))


def block_remarks(fusion: BlockHardwareFusion) -> Iterator[FusionRemark]:
    """Remarks on one block."""
    ops, plan = fusion.block_graph.ops, fusion.plan
    grouped = {number for group in plan.groups for number in group.nodes}
    for number, refusal in enumerate(plan.refusals):
        op = ops[number]
        if op is not None and refusal is not None:
            what = "starts a trip of its own" if number in grouped else "stays on the host"
            yield FusionRemark(op, f"'{op_name(op)}' op {what}: {refusal.reason.value}", refusal.message)
