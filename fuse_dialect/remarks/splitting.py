"""Whether the reductions of a kernel are one pass over a row, and by which identity: told beside what it is."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.loops.cascades import Cascade, cascade_behind_products, split_text
from fuse_dialect.loops.grouping import shared_rows
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower_ops

MOST_OPS = 64
"""Of a kernel whose loops are looked at."""


def splitting_text(ops: Sequence[Operation]) -> str:
    """Why the reductions of a kernel split, or why one does not; empty if none reads what another one gives.

    Args:
        ops: Those of the kernel, in order, and constants that stand in it.
    """
    if not ops or len(ops) > MOST_OPS:
        return ""
    inside = set(ops)
    own = {result for op in ops for result in op.results}
    arguments = list[SSAValue](dict.fromkeys(value for op in ops for value in op.operands if value not in own))
    results = [
        result
        for op in ops
        for result in op.results
        if any(use.operation not in inside for use in result.uses) or result.first_use is None
    ]
    program = lower_ops(ops, arguments, results)
    if not isinstance(program, LoopProgram):
        return ""
    stages = [without_single_points(stage) for stage in simplify(program).stages]
    chained = [stage for stage in stages if stage.reduction is not None]
    if len(chained) < 2 or any(stage.is_ordered for stage in stages):
        return ""
    cascade = cascade_behind_products(stages, shared_rows(stages))
    if isinstance(cascade, Cascade):
        return "; ".join(dict.fromkeys(text for split in cascade.splits if (text := split_text(split, cascade))))
    return f"no one pass: {cascade.reason}" if "distribute" in cascade.reason else ""
