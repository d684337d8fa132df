"""What strategies by cost ask of a graph: bytes of values, arithmetic of nodes, their order, names and sources.

1. An open size is a symbol. Sizes of arguments have the names that `fuse.sizes` gives them; the result of an
   elementwise op that has the type of an operand has that operand's sizes; every other open size is a symbol of its
   own.
2. Ops that nothing is known about keep their order: each follows the one before it in the block.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from fuse_dialect.analysis.ssa import CapturedValues, read_values
from fuse_dialect.counts import Count, Size, product
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.size_names import size_names
from fuse_dialect.dialect.types import DYNAMIC, element_bytes, is_tensor
from fuse_dialect.fusion.forward_graph import ForwardGraph
from fuse_dialect.fusion.value_graph import GraphFacts, GraphValue, NodeRole
from fuse_dialect.kinds.kind_of import kind_of, op_name
from fuse_dialect.kinds.region_effects import RegionEffects
from fuse_dialect.pattern_kind import PatternKind

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
    # An op with several results escapes by the nodes that stand for them.
    escaping = {id(value) for number, (_, _, value) in enumerate(nodes) if graph.escapes[number] and value is not None}
    sizes = _Sizes(block)
    return GraphFacts(
        [
            GraphValue(
                producer,
                tuple(readers[number]),
                sizes.bytes_of(value),
                id(value) in escaping or (_is_only(nodes[producer][1]) and graph.escapes[producer]),
            )
            for number, (value, producer) in enumerate(zip(values, producers, strict=True))
        ],
        reads,
        [sizes.flops_of(op) if role is NodeRole.OPERATOR else Count() for role, op, _ in nodes],
        [role.may_move for role, _, _ in nodes],
        _orders(block, nodes, effects),
        [_label(op, value) for _, op, value in nodes],
        ["" if op is None else source_of(op) for _, op, _ in nodes],
    )


def _is_only(op: Operation | None) -> bool:
    return op is not None and len(op.results) == 1


def _orders(
    block: Block, nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]], effects: RegionEffects
) -> list[tuple[int, ...]]:
    """(2) For each node the unknown op before it, if it is one itself."""
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


class _Sizes:
    """Open sizes as symbols (1)."""

    def __init__(self, block: Block):
        self._names: Mapping[int, Sequence[str]] = {}
        function = block.parent_op()
        if isinstance(function, func.FuncOp) and block is function.body.first_block:
            self._names = dict(enumerate(size_names(function)))
        self._block = block
        self._shapes: dict[int, tuple[Size, ...] | None] = {}
        self._numbers = 0

    def bytes_of(self, value: SSAValue) -> Count | None:
        """Bytes of the value; producers are asked for first."""
        size = element_bytes(value.type)
        shape = self._shape_of(value)
        return None if size is None or shape is None else product(shape).times(size)

    def flops_of(self, op: Operation | None) -> Count | None:
        """Arithmetic of the op, whose results have been asked for."""
        if not isinstance(op, FuseOp) or op.regions:
            return None
        known = op.flops()
        if known is not None:
            return Count.of(known)
        shape = self._shape_of(op.results[0])
        # What an op says of itself alone has no symbols: a product of open sizes has no count.
        is_plain = type(op).flops is FuseOp.flops
        return product(shape).times(op.FLOPS_PER_RESULT_ELEMENT) if is_plain and shape is not None else None

    def _shape_of(self, value: SSAValue) -> tuple[Size, ...] | None:
        if id(value) not in self._shapes:
            self._shapes[id(value)] = self._found(value)
        return self._shapes[id(value)]

    def _found(self, value: SSAValue) -> tuple[Size, ...] | None:
        type = value.type
        if not is_tensor(type):
            return ()
        shape = type.get_shape()
        if DYNAMIC not in shape:
            return tuple(shape)
        if isinstance(value, OpResult) and kind_of(value.op) is PatternKind.ELEMWISE:
            for operand in value.op.operands:
                if operand.type == type and (known := self._shapes.get(id(operand))) is not None:
                    return known
        names: Sequence[str] = ()
        if isinstance(value, BlockArgument) and value.block is self._block:
            names = self._names.get(value.index, ())
        return tuple(
            size if size != DYNAMIC else (names[axis] if axis < len(names) and names[axis] else self._fresh())
            for axis, size in enumerate(shape)
        )

    def _fresh(self) -> str:
        self._numbers += 1
        return f"?{self._numbers}"


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
