"""How two forms become one, and the form that they become."""

from collections.abc import Iterable
from typing import NamedTuple

from fuse_dialect.counts import Size
from fuse_dialect.loops.forms import ANCHORS, Access, Form, Loops, Order

OWN_ACCESS = Access(Order.SAME, 1 << 30, 1.0)
"""The access of a kernel to what it reads itself."""


class Join(NamedTuple):
    """How two forms become one: a producer and a consumer, or siblings."""

    kept: frozenset[int]
    """Values of the first one that are stored."""
    loops: Loops
    access: Access
    """That of the second one to what the first one gives."""
    space: tuple[Size, ...]
    rows: int
    is_in_place: bool = False
    are_siblings: bool = False
    must_be_small: bool = False
    """Whether loops run one after the other for no reason but that they are small."""

    @property
    def is_one_after_other(self) -> bool:
        """Whether they are siblings of which each has its own loops."""
        return self.are_siblings and not self.rows and self.loops is Loops.ROWS


def joined(first: Form, second: Form, join: Join) -> Form:
    """The form of the kernel of both."""
    reads = {value: access for value, access in second.reads.items() if value not in first.gives}
    is_inlined = join.is_in_place or (join.loops is Loops.MAP and not join.are_siblings)
    for value, inner in first.reads.items():
        # What stands where it is read reads what it needs there; a stage of its own reads as it always does.
        own = join.access.then(inner) if is_inlined else inner.within(join.rows)
        reads[value] = own.with_other(reads[value]) if value in reads else own
    is_row_step = join.loops in (Loops.ROWS, Loops.STRIPS) and not join.is_in_place
    is_beside = join.are_siblings and join.loops is Loops.PRODUCT
    return Form(
        join.loops,
        join.space,
        join.rows,
        reads,
        join.kept | second.gives,
        second.dearest + (first.dearest if join.loops is Loops.MAP else 0),
        first.is_view and second.is_view,
        # In a row, pieces are stages like others.
        1 if is_row_step else first.pieces * second.pieces,
        _passed_on(first, join, first.factors, second.factors, reads),
        _passed_on(first, join, first.columns, second.columns, reads),
        first.has_few_rows or second.has_few_rows,
        first.is_of_bytes or second.is_of_bytes,
        first.reduces or second.reduces,
        first.siblings + second.siblings if is_beside else max(first.siblings, second.siblings),
        join.loops is Loops.PRODUCT and first.loops in ANCHORS and second.loops in ANCHORS and not join.are_siblings,
        first.is_apart or second.is_apart or join.is_one_after_other,
        first.finds_faults or second.finds_faults,
        _splits(first, second, join),
        # Strips multiply by vectors.
        speed=1.0 if join.loops is Loops.STRIPS else max(first.speed, second.speed),
    )


def _splits(first: Form, second: Form, join: Join) -> bool:
    """Whether columns may pass block by block, still: what is reduced is the same, and rows stay what they are."""
    if join.are_siblings or join.kept:
        return False
    if join.loops is Loops.STRIPS:
        return first.splits or second.splits
    return (second.splits and not first.reduces) or (first.splits and (second.is_view or second.scales))


def _passed_on(
    first: Form, join: Join, one: frozenset[int], other: frozenset[int], reads: Iterable[int]
) -> frozenset[int]:
    """Which of some operands of products in both are still read; in place of what a prologue gave, what it reads."""
    is_moved = join.is_in_place and not other.isdisjoint(first.gives)
    moved = first.reads if is_moved else ()
    return frozenset({*one, *other, *moved}.intersection(reads))
