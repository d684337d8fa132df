"""What fusion decides: kernels, and a verdict on each node.

A *kernel* is a set of nodes and the values that it stores. A node may be in several kernels: each computes it again. A
node that is in none stays where it is. Kernels make a plan if

1. each holds an operator. Its nodes stand in ascending order, and a kernel may hold them: they are no inputs, and do
   not stay in place. A view is in a kernel only with what reads it there, or with the op that it is a result of;
2. what several kernels compute may be computed again;
3. a kernel stores values of its own nodes, at least one, each once;
4. every value that is read outside is stored once: a value of a node that some kernel computes, and that escapes, or
   that somebody reads who does not compute it, is stored by one kernel; a value that only those read who compute it is
   stored by none. What is stored of one node, one kernel stores. Constants are left out: who reads one elsewhere reads
   the constant itself;
5. no kernel depends on itself by way of others: if each kernel is one step, and each node in no kernel another, some
   order of the steps has every value before those who read it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.assignment import Partition, partition_of_roots
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.pattern_kind import PatternKind


class FusionKernel(NamedTuple):
    """Nodes that become one kernel; one is made for every group, hence a tuple."""

    nodes: tuple[int, ...]
    """All of them ascending, views included."""
    outputs: tuple[int, ...]
    """Numbers of the values that it stores."""


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """Which nodes become one kernel, and why the others do not."""

    kernels: Sequence[FusionKernel]
    decisions: Sequence[FusionDecision]
    """For each node how it was fused into a later one, or why it was not."""
    partition: Partition | None = None
    """What the kernels were made of, if they have one way out each and share no node: TVM's strategy gives that."""
    promises: Sequence[str] = ()
    """For each kernel the family of native code that it was planned as, empty where that is open; or for none."""


def kernels_of(graph: ValueGraph, partition: Partition) -> list[FusionKernel]:
    """The kernels of a partition: its groups that hold an operator, in the order of their roots."""
    roles, first_value, operator = graph.roles, graph.first_value, NodeRole.OPERATOR
    kernels: list[FusionKernel] = []
    for group in partition.groups:
        root, members = group.root, group.members
        # Most groups end in an operator of one result; others hold one further up, or are no kernels.
        if roles[root] is operator and first_value[root + 1] == first_value[root] + 1:
            kernels.append(FusionKernel(members, (first_value[root],)))
        elif any(roles[node] is operator for node in members):
            kernels.append(FusionKernel(members, graph.results_of(root)))
    return kernels


def plan_of_roots(graph: ValueGraph, root_of: Sequence[int], reason: Reason = Reason.NOT_CHOSEN) -> FusionPlan:
    """The plan of an assignment of nodes to groups with one way out each; see `assignment`.

    Args:
        graph: The graph.
        root_of: For each node the root of its group.
        reason: Verdict on nodes that could have fused.

    Raises:
        ValueError: The assignment breaks a condition of `assignment`.
    """
    partition = partition_of_roots(graph.forward, root_of, reason)
    return FusionPlan(kernels_of(graph, partition), partition.decisions, partition)


def plan_of_nodes(
    graph: ValueGraph,
    kernels: Iterable[Collection[int]],
    reason: Reason = Reason.NOT_CHOSEN,
    *,
    drops_idle: bool = False,
) -> FusionPlan:
    """The plan of any choice of nodes, several results and nodes that are computed again included.

    A value that is read outside is stored by the first kernel that computes it.

    Args:
        graph: The graph.
        kernels: Nodes of each kernel; views may be left out.
        reason: Verdict on nodes that could have fused.
        drops_idle: Leave kernels out of which everything that is read outside is stored by earlier ones.

    Raises:
        ValueError: The kernels break a condition of this module.

    Complexity: O(V + E), and what the kernels hold; as often as kernels are left out.

    Example:
        >>> from fuse_dialect.fusion.core.forward_graph import ForwardGraph
        >>> from fuse_dialect.fusion.core.value_graph import value_graph_of
        >>> elemwise = PatternKind.ELEMWISE
        >>> exp_relu_tanh = ForwardGraph(
        ...     kinds=[PatternKind.OPAQUE, elemwise, elemwise, elemwise],
        ...     users=[[(1, elemwise)], [(2, elemwise), (3, elemwise)], [], []],
        ...     escapes=[True, False, True, True],
        ... )
        >>> plan_of_nodes(value_graph_of(exp_relu_tanh), [{1, 2}, {1, 3}]).kernels
        [FusionKernel(nodes=(1, 2), outputs=(2,)), FusionKernel(nodes=(1, 3), outputs=(3,))]
        >>> plan_of_nodes(value_graph_of(exp_relu_tanh), [{1, 2, 3}]).kernels
        [FusionKernel(nodes=(1, 2, 3), outputs=(2, 3))]
    """
    sets = [frozenset(nodes) for nodes in kernels]
    holders = _holders(graph, sets)
    outputs = _stored(graph, sets, holders)
    while drops_idle and not all(outputs):
        # What an idle kernel has read, others may be idle without.
        sets = [nodes for nodes, given in zip(sets, outputs, strict=True) if given]
        holders = _holders(graph, sets)
        outputs = _stored(graph, sets, holders)
    made = [FusionKernel(tuple(sorted(nodes)), tuple(given)) for nodes, given in zip(sets, outputs, strict=True)]
    check_plan(graph, made)
    return FusionPlan(made, _decisions(graph, sets, holders, reason))


def _stored(graph: ValueGraph, sets: Sequence[frozenset[int]], holders: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each kernel the values that it stores: those that are read outside, and that no earlier one stores."""
    outputs: list[list[int]] = [[] for _ in sets]
    for value, known in enumerate(graph.facts.values):
        holding = holders[known.producer]
        if holding and _is_needed(graph, value, holders, sets):
            outputs[holding[0]].append(value)
    for nodes, given in zip(sets, outputs, strict=True):
        if nodes and not given:
            # Nobody reads anything of it: that of the last node, if that is dead, is what it is there for.
            given += [value for value in graph.gives(max(nodes)) if not graph.facts.values[value].readers]
    return outputs


def _decisions(
    graph: ValueGraph, sets: Sequence[frozenset[int]], holders: Sequence[Sequence[int]], reason: Reason
) -> list[FusionDecision]:
    """A node is fused if some kernel holds it together with one that reads it."""
    forward = graph.forward
    decisions: list[FusionDecision] = []
    for node, holding in enumerate(holders):
        readers = [user for user, _ in forward.users[node]]
        sink = next((user for kernel in holding for user in readers if user in sets[kernel]), None)
        if sink is not None:
            verdict = Reason.FUSED
        elif forward.kinds[node] is PatternKind.OPAQUE:
            verdict = Reason.OPAQUE
        else:
            verdict = reason if readers else Reason.VALUE_ESCAPES
        decisions.append(FusionDecision(verdict, node, sink))
    return decisions


def _holders(graph: ValueGraph, sets: Sequence[Collection[int]]) -> list[list[int]]:
    """For each node the numbers of the kernels that hold it.

    Raises:
        ValueError: There is no such node.
    """
    holders: list[list[int]] = [[] for _ in range(len(graph))]
    for number, nodes in enumerate(sets):
        for node in nodes:
            if not 0 <= node < len(graph):
                raise ValueError(f"kernel {number} holds node {node}, expected 0 to {len(graph) - 1}")
            holders[node].append(number)
    return holders


def _is_needed(
    graph: ValueGraph, value: int, holders: Sequence[Sequence[int]], sets: Sequence[Collection[int]]
) -> bool:
    """Whether somebody reads a value without computing it (4)."""
    known = graph.facts.values[value]
    if graph.roles[known.producer] is NodeRole.CONSTANT:
        return False
    return known.escapes or any(
        not holders[reader] or any(known.producer not in sets[kernel] for kernel in holders[reader])
        for reader in known.readers
    )


def check_plan(graph: ValueGraph, kernels: Sequence[FusionKernel]) -> None:
    """Check that kernels make a plan.

    Raises:
        ValueError: They break a condition of this module.

    Complexity: O(V + E), and what the kernels hold and read.
    """
    sets = [frozenset(kernel.nodes) for kernel in kernels]
    holders = _holders(graph, sets)
    for number, kernel in enumerate(kernels):
        _check_nodes(graph, number, kernel)
    may_repeat = graph.facts.may_repeat
    for node, holding in enumerate(holders):
        # (2)
        if len(holding) > 1 and not may_repeat[node]:
            raise ValueError(f"node {node} is in kernels {_listed(holding)}, and must not be computed again")
    stored_by = _check_outputs(graph, kernels, holders, sets)
    _check_order(graph, kernels, holders, stored_by)


def _check_nodes(graph: ValueGraph, number: int, kernel: FusionKernel) -> None:
    """Condition (1)."""
    nodes = kernel.nodes
    if any(node >= after for node, after in pairwise(nodes)):
        raise ValueError(f"kernel {number} holds nodes {_listed(nodes)}, expected them ascending, each once")
    for node in nodes:
        if not graph.roles[node].may_move:
            what = "an input" if graph.roles[node] is NodeRole.INPUT else "an op that stays in place"
            raise ValueError(f"kernel {number} holds node {node}, which is {what}")
    if not any(graph.roles[node] is NodeRole.OPERATOR for node in nodes):
        raise ValueError(f"kernel {number} holds no operator")
    inside = set(nodes)
    for node in nodes:
        users = (user for user, _ in graph.forward.users[node])
        is_idle = graph.roles[node].is_view and inside.isdisjoint(users)
        if is_idle and (node not in graph.viewed or graph.producer(graph.viewed[node]) not in inside):
            raise ValueError(f"kernel {number} holds node {node}, a view that nothing in it reads or gives")


def _check_outputs(
    graph: ValueGraph,
    kernels: Sequence[FusionKernel],
    holders: Sequence[Sequence[int]],
    sets: Sequence[Collection[int]],
) -> dict[int, int]:
    """Conditions (3) and (4); gives the kernel that stores each value."""
    stored_by: dict[int, int] = {}
    for number, kernel in enumerate(kernels):
        if not kernel.outputs:
            raise ValueError(f"kernel {number} stores nothing: nobody reads what it computes, or others compute it too")
        for value in kernel.outputs:
            if not 0 <= value < graph.num_values or graph.producer(value) not in sets[number]:
                raise ValueError(f"kernel {number} stores value {value}, which it does not compute")
            if value in stored_by:
                raise ValueError(f"value {value} is stored by kernels {_listed((stored_by[value], number))}")
            stored_by[value] = number
    for value, known in enumerate(graph.facts.values):
        producer = known.producer
        if not holders[producer]:
            continue
        needed = _is_needed(graph, value, holders, sets)
        if needed and value not in stored_by:
            raise ValueError(f"value {value} of node {producer} is read outside, and no kernel stores it")
        if not needed and value in stored_by and known.readers:
            raise ValueError(f"value {value} of node {producer} is stored, and nobody reads it there")
        gives = graph.gives(producer)
        storing = {stored_by[each] for each in gives if each in stored_by} if len(gives) > 1 else ()
        if len(storing) > 1:
            raise ValueError(f"values of node {producer} are stored by kernels {_listed(sorted(storing))}")
    return stored_by


def _check_order(
    graph: ValueGraph, kernels: Sequence[FusionKernel], holders: Sequence[Sequence[int]], stored_by: dict[int, int]
) -> None:
    """Condition (5).

    Source: A. B. Kahn, "Topological sorting of large networks", https://doi.org/10.1145/368996.369025.
    """
    facts = graph.facts
    steps = [list(kernel.nodes) for kernel in kernels]
    step_of: dict[int, int] = {}
    """For each node in no kernel its step; views are no steps."""
    for node, holding in enumerate(holders):
        if not holding and not graph.roles[node].is_view:
            step_of[node] = len(steps)
            steps.append([node])
    followers: list[list[int]] = [[] for _ in steps]
    missing = [0] * len(steps)
    for step, nodes in enumerate(steps):
        inside = set(nodes)
        before: set[int] = set()
        for node in nodes:
            for value in facts.reads[node]:
                producer = facts.values[value].producer
                if producer not in inside and (value in stored_by or producer in step_of):
                    before.add(stored_by[value] if value in stored_by else step_of[producer])
            before.update(step_of[other] for other in facts.after[node] if other in step_of)
        before.discard(step)
        missing[step] = len(before)
        for each in before:
            followers[each].append(step)
    ready = [step for step, count in enumerate(missing) if not count]
    for step in ready:
        for follower in followers[step]:
            missing[follower] -= 1
            if not missing[follower]:
                ready.append(follower)
    if len(ready) < len(steps):
        stuck = [step for step, count in enumerate(missing) if count and step < len(kernels)]
        raise ValueError(f"kernels {_listed(stuck)} wait for each other")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
