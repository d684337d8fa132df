"""What `fuse-ops` does, line by line as it does it: each rule that is tried, and each merge with its number.

The number of a merge is what `fusion-limit` counts.
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.core.decision import Merge
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.remarks.printed_ir import printed_ir
from fuse_dialect.remarks.recorded_fusion import RecordedFusion, record_fusion
from fuse_dialect.remarks.story import StoryTeller


def debug_lines(module: ModuleOp, fuse_ops: FuseOpsPass) -> Iterator[str]:
    """Lines for one run of the pass; nothing is changed.

    Args:
        module: A valid module, before the pass.
        fuse_ops: The pass.

    Raises:
        FuseError: The pass has no such strategy.
        OpError: A block cannot be grouped.
        PassFailedException: An option has no meaning.
    """
    printed = printed_ir(module)
    made = 0
    for function, merges in fuse_ops.merges_before(module).items():
        for recorded in record_fusion(function, fuse_ops, merges):
            nodes, kernels = len(recorded.fusion.block_graph.nodes), len(recorded.fusion.plan.kernels)
            block = f", block {recorded.block + 1}" if recorded.block else ""
            yield f"{place_name(function)}{block}: {nodes} nodes"
            teller = StoryTeller(recorded, printed)
            yield from (f"  {line}" for line in _steps(recorded, teller, made))
            made += len(recorded.merges)
            yield f"  {kernels} kernels, {len(recorded.merges)} merges"


def _steps(recorded: RecordedFusion, teller: StoryTeller, made: int) -> Iterator[str]:
    """Attempts in order, and behind each that was made its merge."""
    merges = iter(recorded.merges)
    for attempt in recorded.attempts:
        rule = "" if attempt.rule is None else f"{attempt.rule.name}: "
        into = "" if attempt.sink is None else f" into {teller.name(attempt.sink)}"
        yield f"phase {attempt.phase}, {rule}{teller.name(attempt.source)}{into}: {attempt.reason.value}"
        if attempt:
            made += 1
            yield f"merge {made}: {_taken(next(merges), teller)}"
    for merge in merges:  # of a strategy that makes merges without rules
        made += 1
        yield f"merge {made}: {_taken(merge, teller)}"


def _taken(merge: Merge, teller: StoryTeller) -> str:
    """A merge in words."""
    between = [node for node in merge.absorbed if node != merge.source]
    along = ", ".join(map(teller.name, between))
    return f"{teller.name(merge.source)} into {teller.name(merge.sink)}" + (f", with {along}" if along else "")
