"""What would have to change for an operator to fuse: one kind, one reader or one limit, found by trying.

A change is tried on the graph of the block, by the rules and limits of the pass; nothing of the IR changes. What is
said was seen to work with the operators in the order that they have. Without a reader their order may be another one,
and where two anchors want the same epilogue, the first one gets it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.partition import partition
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.remarks.recorded_fusion import RecordedFusion

MOST_TRIED = 12
"""Changes that are tried for one operator."""


class ChangeSort(Enum):
    """What a change is about."""

    LIMIT = auto()
    """An option of the pass."""
    KIND = auto()
    """The kind of an op."""
    READER = auto()
    """Somebody who reads the value besides others."""
    ESCAPE = auto()
    """Somebody outside the block who reads the value."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that, if it were otherwise, would let an operator fuse."""

    sort: ChangeSort
    node: int
    """The node whose kind or reader changes; for a limit the node that would fuse."""
    reader: int | None = None
    """The reader that must not read the value."""
    option: str = ""
    """Name of the option."""
    value: int = 0
    """Its least value that was seen to do; 0 is no limit."""


def smallest_change(recorded: RecordedFusion, node: int) -> Change | None:
    """The first of the changes that make the strategy fuse a node which it does not fuse; `None` if none is known.

    Args:
        recorded: A plan by TVM's strategy, with whatever rules.
        node: An operator that is not fused.

    Complexity: that of a few partitions of the block.
    """
    plan = recorded.fusion.plan
    if plan.decisions[node] or plan.partition is None or recorded.fuse_ops.own_strategy is not None:
        return None
    for tried, change in enumerate(_candidates(recorded, plan.decisions[node])):
        if tried == MOST_TRIED:
            break
        if _fuses(recorded, node, change):
            return change
    return None


def _candidates(recorded: RecordedFusion, decision: FusionDecision) -> Iterator[Change]:
    """Changes that may help, the most telling first."""
    node, graph = decision.source, recorded.fusion.block_graph.graph
    if decision.counted is not None:
        option = "max-depth" if decision.reason is Reason.MAX_DEPTH else "max-function-args"
        # The count is a lower bound: a search stops at the first number beyond the limit.
        for value in (decision.counted, decision.counted * 2, 0):
            yield Change(ChangeSort.LIMIT, node, option=option, value=value)
    if recorded.fuse_ops.opt_level == 0:
        yield Change(ChangeSort.LIMIT, node, option="opt-level", value=2)
    if graph.escapes[node] and graph.users[node]:
        yield Change(ChangeSort.ESCAPE, node)
    kinds = dict.fromkeys(
        each for each in (decision.blocker, node, decision.sink, *_anchors(recorded, decision)) if each is not None
    )
    yield from (Change(ChangeSort.KIND, each) for each in kinds if _has_kind(recorded, each))
    if len(graph.users[node]) > 1:
        for reader in dict.fromkeys(user for user, _ in reversed(graph.users[node])):
            yield Change(ChangeSort.READER, node, reader)


def _anchors(recorded: RecordedFusion, decision: FusionDecision) -> Iterator[int]:
    """The anchors of the groups of what is in the way, and of the source."""
    partition = recorded.fusion.plan.partition
    assert partition is not None, "plans that are asked come from a partition"
    for node in (decision.blocker, decision.sink, decision.source):
        if node is not None:
            group = next(group for group in partition.groups if group.root == partition.root_of[node])
            if group.anchor is not None:
                yield group.anchor


def _has_kind(recorded: RecordedFusion, node: int) -> bool:
    """Whether an attribute could say that the node is elementwise, and it is not yet."""
    role, op, _ = recorded.fusion.block_graph.nodes[node]
    graph = recorded.fusion.block_graph.graph
    if op is None or graph.kinds[node] is PatternKind.ELEMWISE:
        return False
    if role is NodeRole.IN_PLACE:
        # The attribute also says that the op is pure: if nobody reads it, it would vanish. A barrier stays one.
        return bool(graph.users[node] or graph.escapes[node]) and not isinstance(op, StopFusionOp)
    return role is NodeRole.OPERATOR


def _fuses(recorded: RecordedFusion, node: int, change: Change) -> bool:
    """Whether the node fuses if this one thing is otherwise."""
    fuse_ops = with_option(recorded.fuse_ops, change) if change.sort is ChangeSort.LIMIT else recorded.fuse_ops
    graph = recorded.fusion.block_graph.graph
    try:
        found = partition(
            changed_graph(graph, change),
            fuse_ops.rules,
            opt_level=0 if fuse_ops.opt_level == 0 or fuse_ops.strategy == "separate" else 2,
            max_depth=fuse_ops.max_depth,
            max_function_args=fuse_ops.max_function_args if graph.reads else 0,
        )
    except ValueError:
        return False
    return found.decisions[node].reason is Reason.FUSED


def with_option(fuse_ops: FuseOpsPass, change: Change) -> FuseOpsPass:
    """The pass with the option of a change."""
    name = change.option.replace("-", "_")
    other = replace(fuse_ops, **{name: change.value})
    return other.using(rules=fuse_ops.rules, strategy=fuse_ops.own_strategy)


def changed_graph(graph: ForwardGraph, change: Change) -> ForwardGraph:
    """The graph as it would be."""
    match change.sort:
        case ChangeSort.LIMIT:
            return graph
        case ChangeSort.KIND:
            node, elemwise = change.node, PatternKind.ELEMWISE
            kinds = [elemwise if each == node else kind for each, kind in enumerate(graph.kinds)]
            users = [[(user, elemwise if user == node else kind) for user, kind in read] for read in graph.users]
            return replace(graph, kinds=kinds, users=users)
        case ChangeSort.ESCAPE:
            return replace(graph, escapes=[e and n != change.node for n, e in enumerate(graph.escapes)])
        case ChangeSort.READER:
            users = [
                [each for each in read if node != change.node or each[0] != change.reader]
                for node, read in enumerate(graph.users)
            ]
            reads = graph.reads
            if reads and change.reader is not None:
                given = set(graph.defines[change.node])
                reads = [
                    [value for value in read if node != change.reader or value not in given]
                    for node, read in enumerate(reads)
                ]
            return replace(graph, users=users, reads=reads)
