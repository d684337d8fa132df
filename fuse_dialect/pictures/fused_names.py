"""What a pass makes of a module, for pictures: its text, and the names of the primitives that kernels become."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import RegionFacts
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse, fusible_blocks
from fuse_dialect.remarks.printed_ir import printed_ir
from fuse_dialect.remarks.recorded_fusion import MadePlans
from fuse_dialect.remarks.statistics import primitives_of


@dataclass(frozen=True, slots=True)
class FusedModule:
    """A module after a pass."""

    text: str
    """The IR, long constants left out."""
    calls: list[list[str]]
    """For each block that fuses the names of the primitives that it calls, in order."""
    times: Counter[str]
    """How many calls each primitive has."""


def fused_module(
    module: ModuleOp,
    module_pass: ModulePass,
    ctx: Context,
    expected: Sequence[tuple[Operation, int]],
    made: MadePlans | None = None,
) -> FusedModule:
    """Run a pass on a copy of a module.

    Args:
        module: A valid module; it is not changed.
        module_pass: A pass that fuses.
        ctx: To read a template from a file.
        expected: For each block that fuses its function, and how many kernels its plan has.
        made: Plans of `fuse-ops` to apply; by default the pass makes them.

    Returns:
        The fused module. A block with another number of calls than its plan has kernels gives no names.
    """
    copy = module.clone()
    blocks = list(_blocks(copy))
    known = primitives_of(copy).keys()
    if made is not None and isinstance(module_pass, FuseOpsPass):
        plans = [[(fusion.plan, fusion.merges) for fusion in fusions] for fusions in made.values()]
        module_pass.outline(copy, module_pass.replanned(copy, plans))
    else:
        module_pass.apply(ctx, copy)
    new = primitives_of(copy).keys() - known
    calls = [
        [
            op.callee.string_value()
            for op in block.ops
            if isinstance(op, func.CallOp) and op.callee.string_value() in new
        ]
        for block in blocks
    ]
    names = [own if len(own) == count else [] for own, (_, count) in zip(calls, expected, strict=True)]
    return FusedModule(printed_ir(copy).text, names, Counter(name for own in calls for name in own))


def _blocks(module: ModuleOp) -> Iterator[Block]:
    """The blocks that fuse, in the order in which they are planned."""
    for function in functions_to_fuse(module):
        yield from fusible_blocks(function, RegionFacts().effects)
