"""The groups of a fusion plan as ops: what moves, what it reads and what it gives."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from fuse_dialect.analysis.build_graph import BlockGraph, Role, read_values
from fuse_dialect.analysis.partition import FusionPlan


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a fusion plan, as ops."""

    ops: Sequence[Operation]
    """Ops to move, in block order."""
    root: Operation
    """The op whose place the call takes."""
    arguments: Sequence[SSAValue]
    """Values that the ops read from outside the group."""
    results: Sequence[SSAValue]
    """Values of the root that something reads."""
    embedded: Sequence[Operation] = ()
    """Constants from outside that the group gets a copy of instead of an argument."""


def groups_of(block_graph: BlockGraph, plan: FusionPlan, *, link_params: bool = False) -> list[Group]:
    """The groups of a block that will be outlined, in block order of their roots.

    Args:
        block_graph: The graph that the plan was made for.
        plan: Groups by number of the node.
        link_params: Whether constants are embedded, and so are no arguments.
    """
    members: dict[int, list[Operation]] = {}
    outlined: set[int] = set()
    for number, node in enumerate(block_graph.nodes):
        root = plan.root_of[number]
        if node.role in _MOVED and node.op is not None:
            members.setdefault(root, []).append(node.op)
            if node.role is Role.OPERATOR:
                outlined.add(root)
    position = {op: index for index, op in enumerate(block_graph.block.ops)}
    groups: list[Group] = []
    for root in outlined:
        ops = members[root]
        node = block_graph.nodes[root]
        assert node.op is not None, "the root of a group that holds an operator is an op or one of its results"
        results = [node.value] if node.value is not None else _used_results(node.op)
        ops.sort(key=position.__getitem__)
        arguments = _arguments(ops, node.op)
        embedded = [value.owner for value in arguments if isinstance(value.owner, arith.ConstantOp) and link_params]
        if embedded:
            arguments = [value for value in arguments if not isinstance(value.owner, arith.ConstantOp)]
        groups.append(Group(ops, node.op, arguments, results, embedded))
    groups.sort(key=lambda group: position[group.root])
    return groups


_MOVED = frozenset({Role.OPERATOR, Role.CONSTANT, Role.TUPLE_OP})


def _used_results(op: Operation) -> Sequence[SSAValue]:
    used = [result for result in op.results if result.first_use is not None]
    return used or list(op.results)


def _arguments(ops: Sequence[Operation], root: Operation) -> list[SSAValue]:
    """Values from outside the group in depth-first order from its root."""
    if len(ops) == 1 and not root.regions:
        return list(dict.fromkeys(root.operands))
    inside = set(ops)
    arguments: dict[SSAValue, None] = {}
    visited: set[Operation] = {root}
    stack: list[SSAValue] = list(reversed(read_values(root)))
    while stack:
        value = stack.pop()
        owner = value.owner
        if isinstance(owner, Operation) and owner in inside:
            if owner not in visited:
                visited.add(owner)
                stack.extend(reversed(read_values(owner)))
        else:
            arguments[value] = None
    return list(arguments)
