"""A plan with all that led to it: each rule that was tried, and each merge, in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation

from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import RegionFacts
from fuse_dialect.fusion.ir.fusible_blocks import fusible_blocks

MadePlans: TypeAlias = Mapping[Operation, Sequence[BlockFusion]]
"""Plans that have been made already: for each function that fuses those of its blocks."""


@dataclass(frozen=True, slots=True)
class RecordedFusion:
    """The plan of one block, and how it came about."""

    function: Operation
    block: int
    """Its number among the blocks of the function that fuse."""
    fusion: BlockFusion
    fuse_ops: FuseOpsPass
    """The pass that made the plan."""
    attempts: tuple[FusionDecision, ...]
    """Each rule that was tried on a node, in order; none for a strategy without rules."""
    merges: tuple[Merge, ...]
    """Groups that became one, in order; none for a strategy that does not merge."""
    attempts_on: dict[int, list[FusionDecision]] = field(repr=False)
    """The attempts by the node that they were about."""
    merge_of: dict[int, int] = field(repr=False)
    """For each node that was the root of a group until a merge the place of that merge in `merges`."""
    kernels_of: list[list[int]] = field(repr=False)
    """For each node the numbers of the kernels that hold it."""


def record_fusion(
    function: Operation, fuse_ops: FuseOpsPass, merges_before: int = 0, made: MadePlans | None = None
) -> list[RecordedFusion]:
    """Plan all blocks of a function, and keep what the strategy says meanwhile; nothing is changed.

    Args:
        function: The function.
        fuse_ops: The pass.
        merges_before: How many merges `fusion-limit` has counted before the function; see `FuseOpsPass.merges_before`.
        made: Plans to tell of instead of those that the strategy makes now, which only says what it tries.

    Raises:
        PassFailedException: See `FuseOpsPass.plan_block`.
        FuseError: See `FuseOpsPass.plan_block`.
    """
    facts = RegionFacts()
    recorded: list[RecordedFusion] = []
    for number, block in enumerate(fusible_blocks(function, facts.effects)):
        attempts: list[FusionDecision] = []
        merges: list[Merge] = []
        told: Callable[[Merge], object] = merges.append
        fusion = fuse_ops.using(log=told, attempts=attempts.append).plan_block(block, facts, merges_before)
        merges_before += fusion.merges
        if made is not None:
            fusion = made[function][number]
        recorded.append(_recorded(function, number, fusion, fuse_ops, attempts, merges))
    return recorded


def _recorded(
    function: Operation,
    number: int,
    fusion: BlockFusion,
    fuse_ops: FuseOpsPass,
    attempts: list[FusionDecision],
    merges: list[Merge],
) -> RecordedFusion:
    attempts_on: dict[int, list[FusionDecision]] = {}
    for attempt in attempts:
        attempts_on.setdefault(attempt.source, []).append(attempt)
    merge_of = {node: place for place, merge in enumerate(merges) for node in merge.absorbed}
    kernels_of: list[list[int]] = [[] for _ in fusion.block_graph.nodes]
    for kernel, each in enumerate(fusion.plan.kernels):
        for node in each.nodes:
            kernels_of[node].append(kernel)
    return RecordedFusion(
        function, number, fusion, fuse_ops, tuple(attempts), tuple(merges), attempts_on, merge_of, kernels_of
    )
