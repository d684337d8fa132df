"""What strategies by cost ask of a graph: bytes of values, arithmetic of nodes, their order, names and sources.

Ops that nothing is known about keep their order: each follows the one before it in the block.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from fuse_dialect.analysis.open_sizes import OpenSizes
from fuse_dialect.analysis.ssa import CapturedValues, read_values
from fuse_dialect.counts import Count
from fuse_dialect.fusion.forward_graph import ForwardGraph
from fuse_dialect.fusion.value_graph import GraphFacts, GraphValue, NodeRole
from fuse_dialect.kinds.kind_of import kind_of, op_name
from fuse_dialect.kinds.region_effects import RegionEffects

_MOST_NESTED = 64
"""Locations within locations that are looked through for a name."""


def graph_facts(
    block: Block,
    graph: ForwardGraph,
    nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]],
    effects: RegionEffects,
    captured: CapturedValues,
) -> GraphFacts:
    """The facts about the graph of a block.

    Complexity: O(nodes + reads).
    """
    values: list[SSAValue] = []
    producers: list[int] = []
    for number, (role, op, value) in enumerate(nodes):
        if role.is_view:
            continue
        for each in (value,) if op is None else op.results:
            assert each is not None, "an input stands for a value"
            values.append(each)
            producers.append(number)
    number_of = {id(value): number for number, value in enumerate(values)}
    reads = [
        () if op is None or role.is_view else tuple([number_of[id(value)] for value in read_values(op, captured)])
        for role, op, _ in nodes
    ]
    readers: list[dict[int, None]] = [{} for _ in values]
    for number, read in enumerate(reads):
        for value in read:
            readers[value][number] = None
    # An op with several results escapes by the nodes that stand for them, never by its own.
    escaping = {id(value) for number, (_, _, value) in enumerate(nodes) if graph.escapes[number] and value is not None}
    sizes = OpenSizes(block)
    return GraphFacts(
        [
            GraphValue(
                producer,
                tuple(readers[number]),
                sizes.bytes_of(value),
                id(value) in escaping or graph.escapes[producer],
                sizes.shape_of(value) or (),
            )
            for number, (value, producer) in enumerate(zip(values, producers, strict=True))
        ],
        reads,
        [
            () if op is None or role.is_view else tuple(sizes.touched_by(op, read_values(op, captured)))
            for role, op, _ in nodes
        ],
        [sizes.flops_of(op) if role is NodeRole.OPERATOR else Count() for role, op, _ in nodes],
        [role.may_move for role, _, _ in nodes],
        _orders(block, nodes, effects),
        [_label(op, value) for _, op, value in nodes],
        ["" if op is None else source_of(op) for _, op, _ in nodes],
    )


def _orders(
    block: Block, nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]], effects: RegionEffects
) -> list[tuple[int, ...]]:
    """For each node the unknown op before it, if it is one itself."""
    number = {id(op): place for place, (role, op, _) in enumerate(nodes) if role is NodeRole.IN_PLACE}
    after: list[tuple[int, ...]] = [()] * len(nodes)
    previous: int | None = None
    for op in block.ops if number else ():
        place = number.get(id(op))
        if place is not None and kind_of(op, effects) is None:
            if previous is not None:
                after[place] = (previous,)
            previous = place
    return after


def _label(op: Operation | None, value: SSAValue | None) -> str:
    """What people call a node."""
    known = value if value is not None else op.results[0] if op is not None and op.results else None
    name = f"%{known.name_hint}" if known is not None and known.name_hint else ""
    if op is None:
        return name or "an argument"
    return f"'{op_name(op)}' {name}".rstrip()


def source_of(op: Operation) -> str:
    """Where an op comes from: the name that a model gives it, or a place in a file; empty if that is unknown."""
    location: Attribute = op.location
    for _ in range(_MOST_NESTED):
        match location:
            case NameLoc():
                return location.desc.data
            case FileLineColLoc():
                return f"{location.filename.data}:{location.line.data}:{location.column.data}"
            case CallSiteLoc():
                location = location.callee
            case FusedLoc():
                parts = cast("ArrayAttr[Attribute]", location.locations).data
                if not parts:
                    return ""
                location = parts[0]
            case _:
                return ""
    return ""
