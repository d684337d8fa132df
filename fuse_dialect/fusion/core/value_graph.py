"""What fusion is decided on: the nodes of a block and the values that pass between them.

1. Nodes are numbered so that whoever reads a value has a larger number than the node that gives it.
2. A node that stands for an op gives as many values as the op has results. Values are numbered in the order of the
   nodes that give them, those of one node in a row.
3. Two sorts of nodes are *views*: they give no value of their own. TVM has them, so that its partition can be the same.
   A `RESULT` stands for one result of an op with several, an `OPERAND_TUPLE` for the tuple that operands form.
4. `forward` is TVM's view of the graph: kinds, users and escapes alone. What strategies by cost need besides, `facts`,
   is found when somebody asks: TVM's never does.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from fuse_dialect.counts import Count, Size
from fuse_dialect.fusion.core.forward_graph import ForwardGraph
from fuse_dialect.pattern_kind import PatternKind


class NodeRole(Enum):
    """What a node of the graph is in the IR."""

    OPERATOR = auto()
    """An op of known kind: it becomes part of a kernel."""
    CONSTANT = auto()
    """An `arith.constant`: it moves into a kernel or becomes an argument."""
    TUPLE_OP = auto()
    """`fuse.tuple` or `fuse.get_tuple_element`: it moves into a kernel only with an operator."""
    IN_PLACE = auto()
    """An op that stays where it is: its kind is unknown, or it is the barrier `fuse.stop_fusion`."""
    RESULT = auto()
    """One result of an op with several."""
    OPERAND_TUPLE = auto()
    """The tuple that the operands of an op form; it has no value of its own in the IR."""
    INPUT = auto()
    """A value from outside the block, or an argument of the block."""

    @property
    def is_view(self) -> bool:
        """Whether the node stands for no op and no value of its own."""
        return self in (NodeRole.RESULT, NodeRole.OPERAND_TUPLE)

    @property
    def may_move(self) -> bool:
        """Whether a kernel may hold what the node stands for."""
        return self not in (NodeRole.IN_PLACE, NodeRole.INPUT)


class GraphValue(NamedTuple):
    """A value of the block; one is made for every op, hence a tuple."""

    producer: int
    """The node that gives it."""
    readers: tuple[int, ...]
    """Nodes that read it, ascending, each once; views are left out."""
    bytes: Count | None
    """Its bytes, symbolic where sizes are open; `None` if its elements have no known size."""
    escapes: bool
    """Whether something outside the block sees it."""
    shape: tuple[Size, ...] = ()
    """Its sizes; what is no tensor has none."""


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What is known about nodes and values besides TVM's view."""

    values: Sequence[GraphValue]
    reads: Sequence[tuple[int, ...]]
    """For each node the values that it reads, operands in order, then what its regions capture."""
    touched: Sequence[tuple[Count | None, ...]]
    """Beside each entry of `reads` how many bytes of the value the node reads: a gather reads what it picks."""
    flops: Sequence[Count | None]
    """For each node its arithmetic operations; `None` where that is not known."""
    may_repeat: Sequence[bool]
    """For each node whether it may be computed again: it is pure, and no constant of its own has to stay single."""
    after: Sequence[tuple[int, ...]]
    """For each node others that it must follow although it reads none of their values."""
    labels: Sequence[str]
    """What people call each node: its op's name, and that of its value where it has one."""
    sources: Sequence[str]
    """Where each node's op comes from: the name of an ONNX node, a module path, a line of source; empty if unknown."""


@dataclass(frozen=True, slots=True)
class ValueGraph:
    """The graph of a block."""

    forward: ForwardGraph
    """TVM's view."""
    roles: Sequence[NodeRole]
    """For each node what it is."""
    first_value: Sequence[int]
    """For each node the number of the first value that it gives; one entry more says how many values there are."""
    viewed: Mapping[int, int]
    """For each `RESULT` the number of its value."""
    find_facts: Callable[[], GraphFacts] = field(repr=False, compare=False)
    """Finds `facts`."""
    _facts: list[GraphFacts] = field(default_factory=list[GraphFacts], repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.roles)

    @property
    def facts(self) -> GraphFacts:
        """Values, costs and order; found once."""
        if not self._facts:
            self._facts.append(self.find_facts())
        return self._facts[0]

    @property
    def num_values(self) -> int:
        """How many values there are."""
        return self.first_value[-1]

    def gives(self, node: int) -> range:
        """The values that a node gives."""
        return range(self.first_value[node], self.first_value[node + 1])

    def producer(self, value: int) -> int:
        """The node that gives a value."""
        return bisect_right(self.first_value, value) - 1

    def results_of(self, node: int) -> tuple[int, ...]:
        """The values that a group with this node as its only way out returns: those that something reads."""
        if self.roles[node] is NodeRole.RESULT:
            return (self.viewed[node],)
        gives = self.gives(node)
        if len(gives) < 2:
            return tuple(gives)
        # (3) each result that is read of an op with several is a node of its own
        return tuple(sorted(self.viewed[user] for user, _ in self.forward.users[node])) or tuple(gives)


def value_graph_of(
    forward: ForwardGraph,
    bytes: Sequence[int] = (),
    flops: Sequence[int] = (),
) -> ValueGraph:
    """A value graph in which every node that reads nothing and is opaque is an input, and all others are operators.

    Each node gives one value. It is meant for tests, for graphs without IR, and to try a strategy by hand.

    Args:
        forward: Kinds, users and escapes.
        bytes: Of each value; by default 4.
        flops: Of each node; by default 1.

    Example:
        >>> exp_relu = ForwardGraph(
        ...     kinds=[PatternKind.OPAQUE, PatternKind.ELEMWISE, PatternKind.ELEMWISE],
        ...     users=[[(1, PatternKind.ELEMWISE)], [(2, PatternKind.ELEMWISE)], []],
        ...     escapes=[True, False, True],
        ... )
        >>> graph = value_graph_of(exp_relu)
        >>> [role.name for role in graph.roles]
        ['INPUT', 'OPERATOR', 'OPERATOR']
        >>> graph.facts.reads
        [(), (0,), (1,)]
    """
    count = len(forward)
    reads: list[list[int]] = [[] for _ in range(count)]
    for node, users in enumerate(forward.users):
        for user, _ in users:
            reads[user].append(node)
    roles = [
        NodeRole.INPUT if kind is PatternKind.OPAQUE and not read else _role(kind)
        for kind, read in zip(forward.kinds, reads, strict=True)
    ]

    def facts() -> GraphFacts:
        readers = [tuple(sorted({user for user, _ in users})) for users in forward.users]
        sizes = [Count.of(size) for size in bytes] or [Count.of(4)] * count
        return GraphFacts(
            [GraphValue(node, readers[node], sizes[node], forward.escapes[node]) for node in range(count)],
            [tuple(read) for read in reads],
            [tuple(sizes[value] for value in read) for read in reads],
            [Count.of(number) for number in flops] or [Count.of(1)] * count,
            [role is not NodeRole.IN_PLACE and role is not NodeRole.INPUT for role in roles],
            [()] * count,
            [f"node {node}" for node in range(count)],
            [""] * count,
        )

    return ValueGraph(forward, roles, range(count + 1), {}, facts)


def _role(kind: PatternKind) -> NodeRole:
    if kind is PatternKind.OPAQUE:
        return NodeRole.IN_PLACE
    return NodeRole.TUPLE_OP if kind is PatternKind.TUPLE else NodeRole.OPERATOR
