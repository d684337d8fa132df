"""From the ops of one block to the `ForwardGraph` that fusion is decided on.

1. The block's arguments are the first nodes. Ops are numbered in depth-first post-order from the block's results,
   operands in order; then from each unknown op that nothing else reached, in block order. The order of pure ops in the
   block has no influence.
2. An op is a node. Each *used* result of an op with several results is a node of its own, injective, and so is the
   tuple that the operands of `concatenate` form: Relay has a `TupleGetItem` and a `Tuple` in these places.
3. A value that other blocks, or the terminator, see *escapes*; so do values that come in from outside.
4. A region is a graph of its own. To the graph around it, the op that holds it is one node, which also reads the
   values that the region captures.

Source: TVM `IndexedForwardGraph::Creator`, src/relay/transforms/fuse_ops.cc (v0.18).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import TensorType, TupleType, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.extensions import at_place
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.fusion.core.value_graph import GraphFacts, NodeRole, ValueGraph
from fuse_dialect.fusion.ir.constants import goes_along, is_constant, is_scalar_constant
from fuse_dialect.fusion.ir.function_like import is_top_level, terminator_of
from fuse_dialect.fusion.ir.op_signatures import OpSignatures
from fuse_dialect.fusion.ir.ssa import CapturedValues, check_ssa_order, read_values, seen_by_other_blocks
from fuse_dialect.fusion.kinds.edges_of import edges_of, has_edges_of_its_kind
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.fusion.kinds.region_effects import RegionEffects
from fuse_dialect.loops.forms import OperatorForm
from fuse_dialect.machines.machine import Machine
from fuse_dialect.pattern_kind import PatternKind

FORMS = "fuse_dialect.lowering.loop_forms:loop_forms"
"""Place of what says how loops look from outside; strategies that know no loops do not ask."""


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """What is known about ops with regions, as long as nothing in them changes."""

    effects: RegionEffects = field(default_factory=RegionEffects)
    captured: CapturedValues = field(default_factory=CapturedValues)


class Node(NamedTuple):
    """A node of the graph as the IR knows it; one is made for every op, hence a tuple."""

    role: NodeRole
    op: Operation | None
    """The op, or the op that a result or an operand tuple belongs to; `None` for an input."""
    value: SSAValue | None
    """The value of a result node or an input."""


@dataclass(frozen=True, slots=True)
class BlockGraph:
    """The forward graph of a block, and what its nodes are."""

    block: Block
    graph: ForwardGraph
    value_graph: ValueGraph
    """The same nodes, and the values between them."""
    nodes: Sequence[Node]
    dead: Sequence[Operation]
    """Pure ops whose results nothing needs, in block order. They take no part in the graph."""
    ops: Sequence[Operation]
    """The ops of the block."""
    places: Mapping[int, int]
    """Place of each op in `ops`, by identity: xDSL's ops have a slow hash."""
    find_forms: Callable[[Machine], Sequence[OperatorForm | None]]
    """Finds for each operator how its loops look from outside on a machine, `None` for other nodes; once for each."""


class _Form(Enum):
    """What sets the instances of an op class apart in the graph."""

    CONSTANT = auto()
    TUPLE_OP = auto()
    READS_TUPLE = auto()
    BARRIER = auto()
    UNREGISTERED = auto()
    """Its name, not its class, says which of the others it has."""
    PLAIN = auto()


@cache
def _form(op_class: type[Operation]) -> _Form:
    """The form of an op class, decided once a class: `isinstance` on xDSL's classes is slow."""
    if issubclass(op_class, UnregisteredOp):
        return _Form.UNREGISTERED
    if issubclass(op_class, TupleOp | GetTupleElementOp):
        return _Form.TUPLE_OP
    if issubclass(op_class, StopFusionOp):
        return _Form.BARRIER
    if issubclass(op_class, FuseOp) and op_class.OPERANDS_FORM_TUPLE:
        return _Form.READS_TUPLE
    return _form_of_name(op_class.name)


def _form_of_name(name: str) -> _Form:
    row = foreign_op(name)
    if row.is_constant:
        return _Form.CONSTANT
    return _Form.READS_TUPLE if row.reads_tuple else _Form.PLAIN


_Key: TypeAlias = int
"""What a node stands for. With n ops in the block: place p of an op, n + p for the tuple that its operands form, and
from 2n on values: results of ops with several, and what comes in from outside.
"""


class _Entry(NamedTuple):
    """What a key is."""

    node: Node
    kind: PatternKind
    reads: Sequence[_Key]
    """Keys that it reads."""
    edges: Sequence[PatternKind]
    """Kinds of these edges."""


class _GraphBuilder:
    """Numbers the nodes of one block."""

    def __init__(self, block: Block, facts: RegionFacts):
        self.block = block
        self.effects, self.captured = facts.effects, facts.captured
        self.ops = list(block.ops)
        self.places = {id(op): place for place, op in enumerate(self.ops)}
        """See `BlockGraph.places`."""
        self.values: list[SSAValue] = []
        """The values that have keys of their own."""
        self.key_of_value: dict[SSAValue, _Key] = {}
        self.entries: list[_Entry | None] = [None] * (2 * len(self.ops))
        """For each key what is known about it; `None` before it is entered."""
        self.index = [-1] * (2 * len(self.ops))
        """Number of each finished key."""
        self.entered: list[_Key] = []
        """Keys in the order of entering, root first."""
        self.finished: list[_Key] = []
        """Keys in the order of their numbers."""
        self.escaping: set[_Key] = set()

    def key_of(self, value: SSAValue) -> _Key:
        """The place of the op that has this one result, or otherwise a key for the value itself."""
        if type(value) is OpResult:
            op = value.op
            place = self.places.get(id(op))
            if place is not None and len(op.results) == 1:
                return place
        return self.own_key(value)

    def own_key(self, value: SSAValue) -> _Key:
        """The key of a value that is not the one result of an op of the block."""
        key = self.key_of_value.get(value)
        if key is None:
            key = self.key_of_value[value] = len(self.entries)
            self.entries.append(None)
            self.index.append(-1)
            self.values.append(value)
        return key

    def visit(self, root: _Key) -> None:
        """Number everything that `root` needs, then `root`."""
        index, entries, entered, finished = self.index, self.entries, self.entered, self.finished
        stack = [root]
        while stack:
            key = stack.pop()
            if index[key] >= 0:
                continue
            if entries[key] is not None:
                # (1) entered before, so everything that it reads has its number by now
                index[key] = len(finished)
                finished.append(key)
                continue
            entries[key] = entry = self.enter(key)
            entered.append(key)
            stack.append(key)
            # The stack turns the order round: the first operand is numbered first.
            for read in reversed(entry.reads):
                if index[read] < 0:
                    stack.append(read)

    def enter(self, key: _Key) -> _Entry:
        """What is known about a key.

        Raises:
            OpError: See `check_ssa_order`.
        """
        count = len(self.ops)
        if key < count:
            return self.enter_op(key)
        if key < 2 * count:
            return self.enter_operand_tuple(key - count)
        value = self.values[key - 2 * count]
        # (2) one of several results of an op of the block
        if type(value) is OpResult and (place := self.places.get(id(value.op))) is not None:
            return _Entry(
                Node(NodeRole.RESULT, value.op, value), PatternKind.INJECTIVE, (place,), (PatternKind.INJECTIVE,)
            )
        # (3) what comes in from outside is also seen there
        self.escaping.add(key)
        return _Entry(Node(NodeRole.INPUT, None, value), PatternKind.OPAQUE, (), ())

    def enter_operand_tuple(self, place: int) -> _Entry:
        """See `enter`."""
        op = self.ops[place]
        keys = self.read_keys(place, op.operands)
        return _Entry(
            Node(NodeRole.OPERAND_TUPLE, op, None), PatternKind.TUPLE, keys, (PatternKind.INJECTIVE,) * len(keys)
        )

    def enter_op(self, place: int) -> _Entry:
        """See `enter`."""
        op = self.ops[place]
        form = _form(type(op))
        if form is _Form.UNREGISTERED:
            form = _form_of_name(op_name(op))
        if form is _Form.CONSTANT and is_constant(op):
            kind = PatternKind.ELEMWISE if is_scalar_constant(op) else PatternKind.OPAQUE
            return _Entry(Node(NodeRole.CONSTANT, op, None), kind, (), ())
        kind = None if form is _Form.BARRIER else kind_of(op, self.effects)
        if kind is None:
            # Nothing is known about the op, so nothing fuses into it or past it.
            keys = self.read_keys(place, read_values(op, self.captured))
            return _Entry(
                Node(NodeRole.IN_PLACE, op, None), PatternKind.OPAQUE, keys, (PatternKind.OPAQUE,) * len(keys)
            )
        if form is _Form.TUPLE_OP:
            return self.enter_tuple_op(place, op)
        if form is _Form.READS_TUPLE:
            # (2) the tuple of its operands stands between them and the op
            return _Entry(Node(NodeRole.OPERATOR, op, None), kind, (len(self.ops) + place,), (kind,))
        # (4) operands, and what the regions capture
        values = read_values(op, self.captured)
        keys = self.read_keys(place, values)
        if has_edges_of_its_kind(op, kind):
            edges = (kind,) * len(keys)
        else:
            edges = edges_of(op, kind)
            if len(keys) > len(edges):
                edges = (*edges, *[kind] * (len(keys) - len(edges)))
        return _Entry(Node(NodeRole.OPERATOR, op, None), kind, keys, edges)

    def enter_tuple_op(self, place: int, op: Operation) -> _Entry:
        """See `enter`. Nothing fuses through a tuple that holds anything but tensors."""
        if isinstance(op, TupleOp):
            kind = PatternKind.TUPLE
            through = [isinstance(value.type, TensorType) for value in op.operands]
        else:
            fields = cast(TupleType, op.operands[0].type).types
            through = [all(isinstance(field, TensorType) for field in fields)]
            kind = PatternKind.INJECTIVE if through[0] else PatternKind.OPAQUE
        keys = self.read_keys(place, op.operands)
        self.escaping.update(key for key, fuses in zip(keys, through, strict=True) if not fuses)
        return _Entry(Node(NodeRole.TUPLE_OP, op, None), kind, keys, (PatternKind.INJECTIVE,) * len(keys))

    def read_keys(self, place: int, values: Iterable[SSAValue]) -> list[_Key]:
        """Keys of the values that the op at `place` reads.

        Raises:
            OpError: See `check_ssa_order`.
        """
        keys: list[_Key] = []
        for value in values:
            if type(value) is OpResult:
                op = value.op
                defined = self.places.get(id(op))
                if defined is not None:
                    if defined >= place:
                        # It always raises; the check of the whole block finds the op to blame.
                        check_ssa_order(self.block, self.captured)
                    if len(op.results) == 1:
                        keys.append(defined)
                        continue
            keys.append(self.own_key(value))
        return keys

    def check_order(self, place: int, op: Operation) -> None:
        """Check an op that nothing has read so far.

        Raises:
            OpError: See `check_ssa_order`.
        """
        for value in read_values(op, self.captured):
            if type(value) is OpResult and self.places.get(id(value.op), -1) >= place:
                check_ssa_order(self.block, self.captured)

    def finished_entries(self) -> list[_Entry]:
        """The entries of the finished keys, in the order of their numbers."""
        entries = self.entries
        return [entry for key in self.finished if (entry := entries[key]) is not None]

    def users(self) -> list[list[tuple[int, PatternKind]]]:
        """For each node its users, in the order in which TVM pushes them: the consumer nearest to the root first."""
        index, entries = self.index, self.entries
        users: list[list[tuple[int, PatternKind]]] = [[] for _ in self.finished]
        for key in self.entered:
            entry = entries[key]
            assert entry is not None, "what was entered has an entry"
            user = index[key]
            for read, kind in zip(entry.reads, entry.edges, strict=True):
                users[index[read]].append((user, kind))
        return users


def build_graph(
    block: Block, *, with_values: bool = False, embeds_constants: bool = False, facts: RegionFacts | None = None
) -> BlockGraph:
    """The forward graph of a block.

    Args:
        block: Any block; values that it uses from outside are inputs.
        with_values: Whether to fill in what `max-function-args` needs.
        embeds_constants: Whether constants will be embedded in primitives, so that they cost no argument.
        facts: What is known about regions, for a caller that asks for blocks at several depths.

    Raises:
        OpError: The block is not in SSA order, or the attribute `fuse.pattern_kind` is wrong on an op.

    Complexity: O(ops + operands), those in regions included where `facts` do not know them yet.
    """
    builder = _GraphBuilder(block, facts or RegionFacts())
    terminator = terminator_of(block)
    outputs: list[_Key] = []
    if terminator is not None:
        builder.check_order(len(builder.ops) - 1, terminator)
        outputs.extend(builder.key_of(value) for value in read_values(terminator, builder.captured))
    outputs.extend(builder.key_of(value) for value in seen_by_other_blocks(block))
    if is_top_level(block):
        outputs.extend(builder.key_of(value) for value in _unread(builder))
    # (1) arguments, then what the outputs need; (3) the outputs escape
    for key in (*map(builder.own_key, block.args), *outputs):
        builder.visit(key)
    builder.escaping.update(outputs)
    unreached: list[int] = []
    for place, op in enumerate(builder.ops):
        if builder.index[place] < 0 and op is not terminator:
            if kind_of(op, builder.effects) is not None or is_constant(op):
                # Pure, and so far not needed. An unknown op further down may still need it.
                builder.check_order(place, op)
                unreached.append(place)
            else:
                # (1) an unknown op runs whether or not anything reads it
                builder.visit(place)
    dead = [builder.ops[place] for place in unreached if builder.index[place] < 0]
    entries = builder.finished_entries()
    nodes = [entry.node for entry in entries]
    reads, defines, weights = _values(nodes, embeds_constants, builder.captured) if with_values else ((), (), ())
    escapes = [False] * len(nodes)
    for key in builder.escaping:
        escapes[builder.index[key]] = True
    graph = ForwardGraph([entry.kind for entry in entries], builder.users(), escapes, reads, defines, weights)
    signatures = OpSignatures()
    value_graph = _value_graph(block, graph, nodes, builder.effects, builder.captured, signatures)

    @cache
    def find_forms(machine: Machine) -> Sequence[OperatorForm | None]:
        return at_place(FORMS)(nodes, builder.captured, signatures, machine)

    return BlockGraph(block, graph, value_graph, nodes, dead, builder.ops, builder.places, find_forms)


def _unread(builder: _GraphBuilder) -> Iterable[SSAValue]:
    """What operators and constants give that nothing reads: at a top level, where nothing returns, it is the result."""
    for op in builder.ops:
        if (is_constant(op) or kind_of(op, builder.effects) is not None) and all(
            result.first_use is None for result in op.results
        ):
            yield from op.results


def _value_graph(
    block: Block,
    graph: ForwardGraph,
    nodes: Sequence[Node],
    effects: RegionEffects,
    captured: CapturedValues,
    signatures: OpSignatures,
) -> ValueGraph:
    """The graph with its values numbered; what more is known of them is found when somebody asks."""

    def find_facts() -> GraphFacts:
        from fuse_dialect.fusion.ir.graph_facts import graph_facts

        return graph_facts(block, graph, nodes, effects, captured, signatures)

    roles: list[NodeRole] = []
    first_value = [0]
    results: list[int] = []
    count, tuple_role, result_role = 0, NodeRole.OPERAND_TUPLE, NodeRole.RESULT
    for role, op, value in nodes:
        if op is None:
            count += 1
        elif value is None:
            if role is not tuple_role:
                count += len(op.results)
        elif role is result_role:
            results.append(len(roles))
        roles.append(role)
        first_value.append(count)
    viewed: dict[int, int] = {}
    if results:
        number_of_op = {id(node.op): number for number, node in enumerate(nodes) if not node.role.is_view}
        for number in results:
            _, op, value = nodes[number]
            assert isinstance(value, OpResult), "a result node stands for a result"
            viewed[number] = first_value[number_of_op[id(op)]] + value.index
    return ValueGraph(graph, roles, first_value, viewed, find_facts)


def _values(
    nodes: Sequence[Node], embeds_constants: bool, captured: CapturedValues
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """What each node reads and defines, by number of the value, and the arguments that passing each value costs."""
    number: dict[SSAValue, int] = {}
    weights: list[int] = []

    def number_of(value: SSAValue) -> int:
        if value not in number:
            number[value] = len(weights)
            is_embedded = (
                isinstance(value.owner, Operation)
                and is_constant(value.owner)
                and (embeds_constants or goes_along(value.owner))
            )
            weights.append(0 if is_embedded else argument_weight(value.type))
        return number[value]

    reads: list[list[int]] = []
    defines: list[list[int]] = []
    for node in nodes:
        if node.value is not None:
            # A result node gives again what its op gives; an input gives what comes in.
            read, defined = (), (node.value,)
        elif node.op is None or node.role is NodeRole.OPERAND_TUPLE:
            read, defined = (), ()
        else:
            read, defined = read_values(node.op, captured), node.op.results
        reads.append([number_of(value) for value in read])
        defines.append([number_of(value) for value in defined])
    return reads, defines, weights


def argument_weight(type: Attribute) -> int:
    """Arguments that a value of the type costs a kernel: itself, and one for each dynamic dimension.

    Source: TVM `CountArgs_`, src/relay/analysis/graph_partitioner.cc.
    """
    return 1 + type.get_shape().count(DYNAMIC) if is_tensor(type) else 1
