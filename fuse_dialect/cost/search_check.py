"""Whether a plan in the making has an order, found from the graph alone: not from what a search has noted of it.

Steps are kernels in the making and the nodes that stay in place. Checked is:

1. A value that a step reads and does not compute is stored by some step, or comes from outside.
2. The step that stores it has a smaller position, and so has each step that must come before.

Positions that keep (2) prove that no step waits for itself.
"""

from collections.abc import Collection, Mapping

from fuse_dialect.checked import CheckError
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph

OUTSIDE = frozenset((NodeRole.INPUT, NodeRole.CONSTANT, NodeRole.RESULT, NodeRole.OPERAND_TUPLE))
"""Roles of nodes that are no steps."""


def check_search(
    graph: ValueGraph,
    members: Mapping[int, Collection[int]],
    outputs: Mapping[int, Collection[int]],
    position: Mapping[int, int],
) -> None:
    """Check steps and their positions.

    Args:
        graph: The graph.
        members: The nodes of each step that is a kernel; every other node that may be a step is one by itself.
        outputs: The values that it stores.
        position: Of all steps.

    Raises:
        CheckError: A step reads what nobody stores, or comes before what it needs.

    Complexity: O(V + E).
    """
    inside = {node for nodes in members.values() for node in nodes}
    stored_by = {value: step for step, values in outputs.items() for value in values}
    steps = dict(members)
    for node, role in enumerate(graph.roles):
        if role not in OUTSIDE and node not in inside:
            steps[node] = (node,)
            stored_by.update((value, node) for value in graph.gives(node))
    facts = graph.facts
    for step, nodes in steps.items():
        own = set(nodes)
        for node in nodes:
            for value in facts.reads[node]:
                producer = facts.values[value].producer
                if producer in own or graph.roles[producer] in OUTSIDE:
                    continue
                if value not in stored_by:
                    raise CheckError(f"step {step} reads value {value} of node {producer}, which no step stores")  # (1)
                _check_before(position, stored_by[value], step)
            for other in facts.after[node]:
                _check_before(position, other, step)


def _check_before(position: Mapping[int, int], earlier: int, later: int) -> None:
    """(2)."""
    if not position[earlier] < position[later]:
        raise CheckError(f"step {later} at {position[later]} needs step {earlier}, which is at {position[earlier]}")
