"""A plan of which the first kernels are kept, and all else is apart: to find out which kernel is wrong."""

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.plan import FusionPlan, plan_of_nodes
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph


def fused_kernels(graph: ValueGraph, plan: FusionPlan) -> list[int]:
    """The numbers of the kernels that hold several operators."""
    roles, operator = graph.roles, NodeRole.OPERATOR
    return [
        number
        for number, kernel in enumerate(plan.kernels)
        if sum(roles[node] is operator for node in kernel.nodes) > 1
    ]


def first_kernels(graph: ValueGraph, plan: FusionPlan, count: int) -> FusionPlan:
    """The plan with its first `count` kernels of several operators; every other operator is a kernel of its own.

    What a kept kernel computes again for itself it stores for those who have lost their own copy. A kernel that cannot
    be without later ones waits for them: kernels would depend on each other, or others store all that it does.

    Args:
        graph: The graph.
        plan: A plan, see `check_plan`.
        count: How many kernels stay as they are.

    Complexity: O(V + E), and what the kernels hold, for each kernel that waits.

    Example:
        >>> from fuse_dialect.fusion.core.forward_graph import ForwardGraph
        >>> from fuse_dialect.fusion.core.value_graph import value_graph_of
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> exp_relu_tanh = ForwardGraph(
        ...     kinds=[Kind.OPAQUE, Kind.ELEMWISE, Kind.ELEMWISE, Kind.ELEMWISE],
        ...     users=[[(1, Kind.ELEMWISE)], [(2, Kind.ELEMWISE), (3, Kind.ELEMWISE)], [], []],
        ...     escapes=[True, False, True, True],
        ... )
        >>> graph = value_graph_of(exp_relu_tanh)
        >>> plan = plan_of_nodes(graph, [{1, 2}, {1, 3}])
        >>> first_kernels(graph, plan, 1).kernels
        [FusionKernel(nodes=(1, 2), outputs=(1, 2)), FusionKernel(nodes=(3,), outputs=(3,))]
    """
    fused = fused_kernels(graph, plan)
    if count >= len(fused):
        return plan
    operators = [node for kernel in plan.kernels for node in kernel.nodes if graph.roles[node] is NodeRole.OPERATOR]
    for number in range(min(count, len(fused)), 0, -1):
        kept = [{*plan.kernels[kernel].nodes} for kernel in fused[:number]]
        held = set[int]().union(*kept)
        try:
            alone = [{node} for node in dict.fromkeys(operators) if node not in held]
            return plan_of_nodes(graph, kept + alone, Reason.FUSION_LIMIT, drops_idle=True)
        except ValueError:
            continue
    return plan_of_nodes(graph, [{node} for node in dict.fromkeys(operators)], Reason.FUSION_LIMIT)
