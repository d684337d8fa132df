"""What a kernel of a plan costs: bytes that it moves and arithmetic that it does. The one place where they are summed.

1. A kernel reads each value from outside once, and of a value that its nodes only pick elements of, what they pick.
2. A constant inside is read from memory like a value from outside, unless it is a single number.
3. It writes what it stores.
4. It computes what its nodes compute; a node that is in several kernels is computed in each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.counts import Count
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes and arithmetic; symbolic where sizes are open."""

    moved: tuple[Count | None, ...]
    """Bytes of each value that is read or written; `None` for one whose elements have no known size."""
    flops: Count | None
    """Arithmetic operations on elements, a multiply-add being two; `None` if an operator does not know."""

    @property
    def bytes(self) -> Count | None:
        """Bytes of all that is moved; `None` if they are not known of a value."""
        total = Count()
        for size in self.moved:
            if size is None:
                return None
            total = total + size
        return total

    @property
    def static_bytes(self) -> int:
        """Bytes of the values of known size."""
        return sum(size.number or 0 for size in self.moved if size is not None)

    @property
    def open_values(self) -> int:
        """How many values `static_bytes` leaves out."""
        return sum(size is None or size.number is None for size in self.moved)


def kernel_cost(graph: ValueGraph, kernel: FusionKernel) -> Cost:
    """The cost of one run of a kernel.

    Complexity: O(nodes + reads) of the kernel.

    Example:
        >>> from fuse_dialect.fusion.core.forward_graph import ForwardGraph
        >>> from fuse_dialect.fusion.core.value_graph import value_graph_of
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> exp_add = ForwardGraph(
        ...     kinds=[Kind.OPAQUE, Kind.ELEMWISE, Kind.ELEMWISE],
        ...     users=[[(1, Kind.ELEMWISE), (2, Kind.ELEMWISE)], [(2, Kind.ELEMWISE)], []],
        ...     escapes=[True, False, True],
        ... )
        >>> cost = kernel_cost(value_graph_of(exp_add), FusionKernel((1, 2), (2,)))
        >>> str(cost.bytes), str(cost.flops)
        ('8', '2')
    """
    facts, inside = graph.facts, set(kernel.nodes)
    moved: dict[int, Count | None] = {}
    flops: Count | None = Count()
    for node in kernel.nodes:
        for value, touched in zip(facts.reads[node], facts.touched[node], strict=True):
            if facts.values[value].producer not in inside:
                # (1) what one node reads as a whole, another may pick from for nothing
                moved[value] = touched if value not in moved else _greater(moved[value], touched)
        if graph.roles[node] is NodeRole.CONSTANT:
            # (2)
            for value in graph.gives(node):
                if not _is_number(facts.values[value].shape):
                    moved[value] = facts.values[value].bytes
        if graph.roles[node] is NodeRole.OPERATOR:
            known = facts.flops[node]
            flops = None if flops is None or known is None else flops + known
    return Cost((*moved.values(), *(facts.values[value].bytes for value in kernel.outputs)), flops)


def _is_number(shape: Sequence[int | str]) -> bool:
    return all(size == 1 for size in shape)


def _greater(one: Count | None, other: Count | None) -> Count | None:
    """The greater number; the first where symbols leave that open."""
    if one is None or other is None:
        return None
    first, second = one.number, other.number
    return other if first is not None and second is not None and second > first else one
