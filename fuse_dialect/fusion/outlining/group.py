"""Kernels of a plan as ops: what moves, what it reads and what it gives."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from fuse_dialect.dialect.ops.hardware import REASON_ATTRIBUTE
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.ir.block_graph import BlockGraph
from fuse_dialect.fusion.ir.constants import goes_along, is_constant
from fuse_dialect.fusion.ir.ssa import CapturedValues, read_values
from fuse_dialect.fusion.kinds.foreign import CONSTANT_OPS
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE, only_reshapes


@dataclass(frozen=True, slots=True)
class Group:
    """A kernel as ops."""

    ops: Sequence[Operation]
    """Ops to move, in block order."""
    arguments: Sequence[SSAValue]
    """Values that the ops read from outside the group, in the order in which the numbered ops first read them."""
    results: Sequence[SSAValue]
    """Values that something outside reads."""
    embedded: Sequence[Operation] = ()
    """Constants from outside that the group gets a copy of instead of an argument."""
    function_attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """What the function is marked with besides `primitive`."""
    call_attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """What is known about this group alone, even if it shares its function."""
    copied: frozenset[Operation] = frozenset()
    """Those of the ops that this group computes again: another one moves them, or they stay where they are."""
    kernel: int = 0
    """Number of the kernel in its plan."""
    promise: str = ""
    """The family of native code that the kernel was planned as; empty where that is open."""

    @property
    def root(self) -> Operation:
        """The last op, whose place the call takes."""
        return self.ops[-1]


def groups_of(
    block_graph: BlockGraph,
    kernels: Sequence[FusionKernel],
    *,
    embeds_constants: bool = False,
    has_copies: bool = False,
    captured: CapturedValues | None = None,
    promises: Sequence[str] = (),
) -> list[Group]:
    """The kernels of a block as ops, in block order of their last ops; nothing is changed.

    Args:
        block_graph: What the nodes are.
        kernels: Those of a plan, see `check_plan`.
        embeds_constants: Whether all constants from outside are copied, and so are no arguments; those that go along
            with their readers are in any case.
        has_copies: Whether a node may be in several kernels, or be a constant that is read elsewhere, too.
        captured: What regions read, for a caller that knows it.
        promises: See `FusionPlan.promises`.

    Complexity: O(ops + operands) of the kernels.
    """
    nodes, places, ops = block_graph.nodes, block_graph.places, block_graph.ops
    held_by = [-1] * len(places)
    """For each place the kernel that was gone through last among those that hold the op there."""
    mover = _movers(block_graph, kernels) if has_copies else {}
    along: dict[Operation, bool] = {}
    """What `goes_along` says: a constant may have very many users, in as many kernels."""
    groups: list[tuple[int, Group]] = []
    for number, kernel in enumerate(kernels):
        moved: list[int] = []
        reads: dict[SSAValue, None] = {}
        # Producers have smaller numbers than their users, so members come before those that read them.
        for node in kernel.nodes:
            role, op, value = nodes[node]
            assert op is not None, "no kernel holds an input"
            if role in _MOVED:
                place = places[id(op)]
                held_by[place] = number
                moved.append(place)
            for read in read_values(op, captured) if value is None else (value,):
                if type(read) is not OpResult or (at := places.get(id(read.op))) is None or held_by[at] != number:
                    reads[read] = None
        moved.sort()
        own = [ops[place] for place in moved]
        constants = _constants(reads)
        along.update((each, embeds_constants or goes_along(each)) for each in constants if each not in along)
        embedded = [each for each in constants if along[each]]
        inside = {constant.results[0] for constant in embedded}
        group = Group(
            own,
            [value for value in reads if value not in inside] if inside else list(reads),
            _results(block_graph, kernel),
            embedded,
            {RESHAPE_ONLY_ATTRIBUTE: UnitAttr()} if _only_reshape(own) else {},
            call_attributes=_reasons(own),
            copied=_copied(ops, moved, mover, number) if mover else _NOTHING,
            kernel=number,
            promise=promises[number] if promises else "",
        )
        groups.append((moved[-1], group))
    groups.sort(key=itemgetter(0))
    return [group for _, group in groups]


def _reasons(ops: Iterable[Operation]) -> Mapping[str, Attribute]:
    """Why ops of the group are not on hardware, for the call: who reads it would have to look into the function."""
    reasons = dict.fromkeys(
        reason.data
        for op in ops
        if op.attributes and isinstance(reason := op.attributes.get(REASON_ATTRIBUTE), StringAttr)
    )
    return {REASON_ATTRIBUTE: StringAttr("; ".join(reasons))} if reasons else {}


_NOTHING: frozenset[Operation] = frozenset()


def _copied(
    ops: Sequence[Operation], places: Iterable[int], mover: Mapping[int, int], number: int
) -> frozenset[Operation]:
    """Those of the ops at the places that another kernel than this one moves."""
    return frozenset(ops[place] for place in places if mover.get(place, number) != number)


_MOVED = (NodeRole.OPERATOR, NodeRole.CONSTANT, NodeRole.TUPLE_OP)
_NOBODY = -1


def _movers(block_graph: BlockGraph, kernels: Sequence[FusionKernel]) -> dict[int, int]:
    """For each place of an op that is computed several times the kernel that moves it; the others copy it.

    The one that stores a value of it does, or else the first one. A constant that is read elsewhere stays.
    """
    nodes, places = block_graph.nodes, block_graph.places
    holders: dict[int, list[int]] = {}
    stored: dict[int, int] = {}
    for number, kernel in enumerate(kernels):
        for node in kernel.nodes:
            role, op, _ = nodes[node]
            if role in _MOVED and op is not None:
                holders.setdefault(places[id(op)], []).append(number)
        for value in kernel.outputs:
            stored.setdefault(places[id(_value(block_graph, value).owner)], number)
    movers = {place: stored.get(place, holding[0]) for place, holding in holders.items() if len(holding) > 1}
    for place, holding in holders.items():
        op = block_graph.ops[place]
        if is_constant(op):
            # A reader in a region goes wherever the op that holds the region goes.
            standing = [block_graph.block.find_ancestor_op_in_block(use.operation) for use in op.results[0].uses]
            readers = [holders.get(places.get(id(reader), _NOBODY), ()) for reader in standing]
            # A reader that nobody moves, or that also moves without the constant, reads the original.
            if any(not reading or not set(reading) <= set(holding) for reading in readers):
                movers[place] = _NOBODY
    return movers


def _results(block_graph: BlockGraph, kernel: FusionKernel) -> Sequence[SSAValue]:
    """The values that a kernel stores; most store the only result of their last node."""
    last, outputs = kernel.nodes[-1], kernel.outputs
    op = block_graph.nodes[last].op
    if len(outputs) == 1 and outputs[0] == block_graph.value_graph.first_value[last] and op is not None:
        return op.results[:1]
    return [_value(block_graph, value) for value in outputs]


def _value(block_graph: BlockGraph, number: int) -> SSAValue:
    """The value with this number."""
    graph = block_graph.value_graph
    node = graph.producer(number)
    op = block_graph.nodes[node].op
    assert op is not None, "a kernel stores values of its ops"
    return op.results[number - graph.first_value[node]]


def _constants(values: Iterable[SSAValue]) -> list[Operation]:
    return [value.op for value in values if isinstance(value, OpResult) and is_constant(value.op)]


_COMPUTES_NOTHING = {*CONSTANT_OPS, TupleOp.name, GetTupleElementOp.name}


def _only_reshape(ops: Iterable[Operation]) -> bool:
    """Whether all operators of a group only reshape."""
    return all(only_reshapes(op) or op_name(op) in _COMPUTES_NOTHING for op in ops)
