"""What strategies by cost ask of a graph: bytes of values, arithmetic of nodes, their order, names and sources.

Ops that nothing is known about keep their order: each follows the one before it in the block.
"""

from collections.abc import Callable, Sequence
from typing import overload

from xdsl.ir import Block, Operation, SSAValue

from fuse_dialect.counts import Count
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.value_graph import GraphFacts, GraphValue, NodeRole
from fuse_dialect.fusion.ir.op_signatures import OpSignatures
from fuse_dialect.fusion.ir.open_sizes import OpenSizes, picks_elements
from fuse_dialect.fusion.ir.ssa import CapturedValues, read_values
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.fusion.kinds.region_effects import RegionEffects


def graph_facts(
    block: Block,
    graph: ForwardGraph,
    nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]],
    effects: RegionEffects,
    captured: CapturedValues,
    signatures: OpSignatures,
) -> GraphFacts:
    """The facts about the graph of a block.

    Complexity: O(nodes + reads).
    """
    values: list[SSAValue] = []
    producers: list[int] = []
    for number, (role, op, value) in enumerate(nodes):
        if role in _VIEWS:
            continue
        for each in (value,) if op is None else op.results:
            assert each is not None, "an input stands for a value"
            values.append(each)
            producers.append(number)
    number_of = {id(value): number for number, value in enumerate(values)}
    reads: list[tuple[int, ...]] = []
    readers: list[list[int]] = [[] for _ in values]
    for node, (role, op, _) in enumerate(nodes):
        if op is None or role in _VIEWS:
            reads.append(())
            continue
        read = tuple([number_of[id(value)] for value in read_values(op, captured)])
        reads.append(read)
        for value in read:
            reading = readers[value]
            if not reading or reading[-1] != node:
                reading.append(node)
    # An op with several results escapes by the nodes that stand for them, never by its own.
    escapes = graph.escapes
    escaping = {id(value) for number, (_, _, value) in enumerate(nodes) if escapes[number] and value is not None}
    sizes = OpenSizes(block)
    bytes = [sizes.bytes_of(value) for value in values]
    return GraphFacts(
        [
            GraphValue(
                producer,
                tuple(readers[number]),
                bytes[number],
                id(value) in escaping or escapes[producer],
                sizes.shape_of(value) or (),
            )
            for number, (value, producer) in enumerate(zip(values, producers, strict=True))
        ],
        reads,
        _touched(nodes, reads, bytes, sizes, captured),
        _arithmetic(nodes, sizes, signatures),
        [role.may_move for role, _, _ in nodes],
        _orders(block, nodes, effects),
        _Texts(nodes, _label),
        _Texts(nodes, lambda op, _: "" if op is None else source_of(op)),
    )


_VIEWS = (NodeRole.RESULT, NodeRole.OPERAND_TUPLE)


def _touched(
    nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]],
    reads: Sequence[tuple[int, ...]],
    bytes: Sequence[Count | None],
    sizes: OpenSizes,
    captured: CapturedValues,
) -> list[tuple[Count | None, ...]]:
    """For each node how many bytes of what it reads it reads."""
    touched: list[tuple[Count | None, ...]] = []
    for read, (_, op, _) in zip(reads, nodes, strict=True):
        if op is not None and read and picks_elements(type(op)):
            touched.append(tuple(sizes.touched_by(op, read_values(op, captured))))
        else:
            touched.append(tuple([bytes[value] for value in read]))
    return touched


def _arithmetic(
    nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]], sizes: OpenSizes, signatures: OpSignatures
) -> list[Count | None]:
    """For each node its operations; equal ops of known sizes are asked once."""
    known: dict[int, Count | None] = {}
    nothing, operator = Count(), NodeRole.OPERATOR
    flops: list[Count | None] = []
    for role, op, _ in nodes:
        if role is not operator or op is None:
            flops.append(nothing)
            continue
        number = -1 if op.regions else signatures.number(op)
        count = known.get(number)
        if count is None:
            count = sizes.flops_of(op)
            # Open sizes have names that equal ops do not share.
            if number >= 0 and count is not None and count.number is not None:
                known[number] = count
        flops.append(count)
    return flops


class _Texts(Sequence[str]):
    """A text for each node, made when somebody asks."""

    def __init__(
        self,
        nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]],
        text: Callable[[Operation | None, SSAValue | None], str],
    ):
        self._nodes, self._text = nodes, text

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._text(op, value) for _, op, value in self._nodes[index]]
        _, op, value = self._nodes[index]
        return self._text(op, value)


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
