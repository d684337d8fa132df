"""What fusion would do to a module, in numbers that are read off its plan: nothing is fused for them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation

from fuse_dialect.analysis.kernel_costs import kernel_cost
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass
from fuse_dialect.fusion.ir.function_like import symbols_around
from fuse_dialect.fusion.outlining.primitives import Primitives
from fuse_dialect.remarks.statistics import FusionStatistics


def statistics_of_plan(
    fuse_ops: FuseOpsPass, fusions: Sequence[tuple[Operation, BlockFusion]], refusals: Iterable[str]
) -> FusionStatistics:
    """The numbers of a plan; `statistics_of` gives the same for the fused module.

    Args:
        fuse_ops: The pass that made the plan.
        fusions: Each block's plan, with its function.
        refusals: Reason codes of the operators that are not fused.

    Complexity: O(ops + operands).
    """
    ops = groups = primitives = before = after = unknown = 0
    structures: dict[Block, Primitives] = {}
    met: set[tuple[int, object]] = set()
    for function, fusion in fusions:
        graph = fusion.block_graph.value_graph
        symbols = symbols_around(function)
        known = structures.setdefault(symbols, Primitives(symbols))
        for group in fuse_ops.planned_groups(fusion):
            groups += 1
            key = (id(symbols), known.structure(group))
            if not fuse_ops.dedup or key not in met:
                met.add(key)
                primitives += 1
        for kernel in fusion.plan.kernels:
            after += kernel_cost(graph, kernel).static_bytes
            for node in kernel.nodes:
                if graph.roles[node] is NodeRole.OPERATOR:
                    alone = kernel_cost(graph, FusionKernel((node,), tuple(graph.gives(node))))
                    ops, before, unknown = ops + 1, before + alone.static_bytes, unknown + alone.open_values
    return FusionStatistics(
        fuse_ops.name, ops, groups, primitives, before, after, unknown, dict(Counter(refusals).most_common())
    )
