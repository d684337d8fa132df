"""The graph that fusion onto hardware is decided on: operators, the units that could run them, and their values.

Nodes are numbered so that a node that reads a value has a larger number than the node that gives it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from fuse_dialect.templates.tiles import RowWindow


class HardwareRole(Enum):
    """What a node is to the hardware."""

    OPERATOR = auto()
    """An operator; it stays on the host when no kind of unit runs it."""
    VIRTUAL = auto()
    """An operator that costs nothing."""
    TUPLE = auto()
    """A tuple, or a field of one; it costs nothing either."""
    BARRIER = auto()
    """An op that nothing is known about; it stays where it is."""
    CONSTANT = auto()
    """A constant; every group that reads it gets a copy."""
    INPUT = auto()
    """A value from outside."""


VIEWS = (HardwareRole.VIRTUAL, HardwareRole.TUPLE)
"""Nodes that cost nothing: they go along with the data."""


@dataclass(frozen=True, slots=True)
class HardwareNode:
    """One node."""

    role: HardwareRole
    label: str
    """What messages call it."""
    kinds: tuple[str, ...] = ()
    """Kinds of units that run the operator, its predicates considered."""
    named_kinds: tuple[str, ...] = ()
    """Kinds that the template maps the operator's name to, whatever the predicates."""
    reads: tuple[int, ...] = ()
    """Values, one for each operand."""
    widened: frozenset[int] = frozenset()
    """Values among `reads` that the operator broadcasts."""
    after: tuple[int, ...] = ()
    """Nodes that it must follow although it reads none of their values."""
    channels: int | None = 0
    """Channels of a product's result; `None` when they are not known, 0 for everything else."""
    operations: int = 0
    """Arithmetic operations, a multiply-add being two; 0 if nobody knows."""
    unsupported: str = ""
    """Why no mapping of the operator holds, if the template has one."""
    streams: frozenset[int] | None = None
    """Values among `reads` that may stream by; `None` for any."""
    word: str = ""
    """The operator's name; only the strict replay looks at it."""
    window: RowWindow | None = None
    """Which rows it reads for rows of its result; `None` if it cannot be cut by rows, or nobody asks."""
    uncut: str = ""
    """Why it cannot be cut by rows."""


@dataclass(frozen=True, slots=True)
class HardwareGraph:
    """Nodes and values of one block."""

    nodes: Sequence[HardwareNode]
    producers: Sequence[int]
    """For each value the node that gives it."""
    value_bytes: Sequence[int | None]
    """For each value its size; `None` when it is not known."""
    escapes: Sequence[bool]
    """For each value whether something outside the graph sees it."""
    rows: Sequence[int] = ()
    """For each value how many rows it has, 0 for none; empty if trips are not cut into tiles."""

    def readers(self) -> list[list[int]]:
        """For each node those that read one of its values, ascending, each once."""
        readers: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for producer in {self.producers[value]: None for value in node.reads}:
                readers[producer].append(number)
        return readers
