"""The graph that fusion is decided on: who uses whose value, and how.

It is TVM's `IndexedForwardGraph` without the compiler objects: nodes are numbers, so that the analysis needs no IR.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.pattern_kind import PatternKind


@dataclass(frozen=True, slots=True)
class ForwardGraph:
    """A data-flow graph whose node `i` has kind `kinds[i]`; every user has a larger index than its operands.

    The three sequences of nodes have one entry per node. The last three describe values and matter only to
    `max_function_args`; left empty, the graph says nothing about values and no merge exceeds that limit.

    Example:
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> conv_relu = ForwardGraph(
        ...     kinds=[Kind.OUT_EWISE_FUSABLE, Kind.ELEMWISE],
        ...     users=[[(1, Kind.ELEMWISE)], []],
        ...     escapes=[False, True],
        ... )
        >>> conv_relu.validate()
        >>> len(conv_relu)
        2
    """

    kinds: Sequence[PatternKind]
    """Kind of the operator of each node."""
    users: Sequence[Sequence[tuple[int, PatternKind]]]
    """For each node its (user, edge kind) pairs; a user that reads the value twice stands twice."""
    escapes: Sequence[bool]
    """Whether something outside the graph sees the node's value. TVM: `extern_ref`."""
    reads: Sequence[Sequence[int]] = ()
    """Values that the node reads. Tuples that exist only in this graph read nothing, their user reads the fields."""
    defines: Sequence[Sequence[int]] = ()
    """Values that a group with this node as root returns. The first node that defines a value produces it: a node
    that stands for one result of a multi-result operator defines that result again."""
    value_weights: Sequence[int] = ()
    """Arguments that passing each value costs, 1 + its dynamic dimensions; left empty, every value costs 1."""

    def __len__(self) -> int:
        return len(self.kinds)

    def validate(self) -> None:
        """Check what the analyses take for granted; meant for tests and for new builders of graphs.

        Raises:
            ValueError: Sequences differ in length, a user does not have a larger index, or an edge is elementwise
                although its user is neither elementwise nor broadcast.
        """
        for name, entries in (("users", self.users), ("escapes", self.escapes)):
            if len(entries) != len(self):
                raise ValueError(f"expected one entry of '{name}' per node, got {len(entries)} for {len(self)} nodes")
        for name, entries in (("reads", self.reads), ("defines", self.defines)):
            if entries and len(entries) != len(self):
                raise ValueError(f"expected one entry of '{name}' per node, got {len(entries)} for {len(self)} nodes")
        for node, users in enumerate(self.users):
            for user, edge in users:
                if not node < user < len(self):
                    raise ValueError(f"node {node} has user {user}, expected {node} < user < {len(self)}")
                if edge is PatternKind.ELEMWISE and self.kinds[user] > PatternKind.BROADCAST:
                    raise ValueError(f"edge {node} -> {user} is elementwise, but its user is {self.kinds[user].name}")
