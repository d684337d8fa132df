"""Groups of nodes as ops: what moves, what it reads and what it gives."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from fuse_dialect.analysis.block_graph import BlockGraph, Role
from fuse_dialect.analysis.constants import is_constant
from fuse_dialect.analysis.ssa import read_values
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.kinds.foreign import CONSTANT_OPS
from fuse_dialect.kinds.kind_of import op_name
from fuse_dialect.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE, only_reshapes


@dataclass(frozen=True, slots=True)
class Group:
    """A group as ops."""

    ops: Sequence[Operation]
    """Ops to move, in block order."""
    root: Operation
    """The op whose place the call takes."""
    arguments: Sequence[SSAValue]
    """Values that the ops read from outside the group, in the order in which the numbered ops first read them."""
    results: Sequence[SSAValue]
    """Values that something outside reads; those of `fuse-ops` are all of the root."""
    embedded: Sequence[Operation] = ()
    """Constants from outside that the group gets a copy of instead of an argument."""
    function_attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """What the function is marked with besides `primitive`."""
    call_attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """What is known about this group alone, even if it shares its function."""


@dataclass(slots=True)
class _Draft:
    """A group while the nodes are gone through."""

    places: list[int] = field(default_factory=list[int])
    """Places in the block of the ops to move."""
    reads: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Values from outside, as an ordered set."""
    holds_operator: bool = False


def groups_of(block_graph: BlockGraph, root_of: Sequence[int], *, link_params: bool = False) -> list[Group]:
    """The groups of a block that will be outlined, in block order of their roots.

    Args:
        block_graph: What the nodes are.
        root_of: For each node the root of its group; see `check_roots` for what any strategy has to keep to.
        link_params: Whether constants are embedded, and so are no arguments.
    """
    groups: list[tuple[int, Group]] = []
    for number, draft in _drafts(block_graph, root_of).items():
        if draft.holds_operator:
            root = block_graph.nodes[number]
            assert root.op is not None, "the root of a group that holds an operator is an op or one of its results"
            ops = [block_graph.ops[place] for place in sorted(draft.places)]
            results = _used_results(root.op) if root.value is None else [root.value]
            embedded = _constants(draft.reads) if link_params else []
            inside = {constant.results[0] for constant in embedded}
            arguments = [value for value in draft.reads if value not in inside]
            marks = {RESHAPE_ONLY_ATTRIBUTE: UnitAttr()} if _only_reshape(ops) else {}
            group = Group(ops, root.op, arguments, results, embedded, marks)
            groups.append((block_graph.places[id(root.op)], group))
    groups.sort(key=itemgetter(0))
    return [group for _, group in groups]


_MOVED = (Role.OPERATOR, Role.CONSTANT, Role.TUPLE_OP)


def _drafts(block_graph: BlockGraph, root_of: Sequence[int]) -> dict[int, _Draft]:
    """Members and reads of each group, by number of its root. Producers have smaller numbers than their users."""
    drafts: dict[int, _Draft] = {}
    places = block_graph.places
    root_at: list[int | None] = [None] * len(places)
    """For each place the root of the group that the op there moves with."""
    for node, root in zip(block_graph.nodes, root_of, strict=True):
        role, op, value = node
        if op is None or role is Role.IN_PLACE:
            continue
        draft = drafts.get(root)
        if draft is None:
            draft = drafts[root] = _Draft()
        if role in _MOVED:
            place = places[id(op)]
            draft.places.append(place)
            root_at[place] = root
            if role is Role.OPERATOR:
                draft.holds_operator = True
        for read in read_values(op) if value is None else (value,):
            if type(read) is not OpResult or (at := places.get(id(read.op))) is None or root_at[at] != root:
                draft.reads[read] = None
    return drafts


def _constants(values: Iterable[SSAValue]) -> list[Operation]:
    return [value.op for value in values if isinstance(value, OpResult) and is_constant(value.op)]


_COMPUTES_NOTHING = {*CONSTANT_OPS, TupleOp.name, GetTupleElementOp.name}


def _only_reshape(ops: Iterable[Operation]) -> bool:
    """Whether all operators of a group only reshape."""
    return all(only_reshapes(op) or op_name(op) in _COMPUTES_NOTHING for op in ops)


def _used_results(op: Operation) -> Sequence[SSAValue]:
    used = [result for result in op.results if result.first_use is not None]
    return used or list(op.results)
