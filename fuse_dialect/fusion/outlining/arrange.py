"""Making groups of ops that a call can take the place of: copies first, then order.

1. What a group computes again, it gets a copy of, which stands right behind the original. The group's own ops read the
   copies. Numbers on the calls say which ops are the same, so that `defuse-ops` makes one of them again; constants that
   such groups get copies of have numbers, too. An original that no group moves, a constant that others read, has its
   number itself.
2. A group that gives the values of its last op alone can be called where that op stands. If all are like that, nothing
   moves. Otherwise the block is sorted so that the ops of each group stand in a row (`gather_ops`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Block, Operation, SSAValue

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.fusion.ir.block_graph import RegionFacts
from fuse_dialect.fusion.outlining.copies import COMPUTED_AGAIN_ATTRIBUTE, mark_original, marks_of
from fuse_dialect.fusion.outlining.gather_ops import gather_ops
from fuse_dialect.fusion.outlining.group import Group
from fuse_dialect.fusion.outlining.rewiring import replace_operands


def arranged(
    block: Block, groups: Sequence[Group], numbers: Iterator[int], facts: RegionFacts | None = None
) -> list[Group]:
    """The groups with copies of their own, in block order, in a block where calls can take their places.

    Args:
        block: In SSA order; it changes.
        groups: Groups of the block; none depends on itself.
        numbers: Gives a new number for each op that is computed several times.
        facts: What is known about regions, for a caller that asks for blocks at several depths.

    Complexity: O(ops + operands), and O((ops + operands) log ops) where ops must move.
    """
    number_of: dict[Operation, int] = {}
    copied = {op for group in groups for op in group.copied}
    for group in groups if copied else ():
        for op in group.ops:
            if op in copied and op not in number_of:
                number_of[op] = next(numbers)
    for constant in _embedded_twice(groups, number_of):
        number_of.setdefault(constant, next(numbers))
    moved = {op for group in groups for op in group.ops if op not in group.copied} if number_of else ()
    for op, number in number_of.items():
        if op not in moved:
            mark_original(op, number)
    # All copies are made before an op is rewired: what is copied reads what the original reads.
    made = [_with_copies(group, number_of) for group in groups]
    for group, inner in made:
        for op in group.ops if inner else ():
            replace_operands(op, inner)
            for nested in ops_inside(op):
                replace_operands(nested, inner)
    result = [group for group, _ in made]
    # (2)
    if any(value.owner is not group.root for group in result for value in group.results):
        gather_ops(block, [group.ops for group in result], facts)
    place = {id(op): index for index, op in enumerate(block.ops)}
    result.sort(key=lambda group: place[id(group.root)])
    return result


def _embedded_twice(groups: Sequence[Group], number_of: Mapping[Operation, int]) -> list[Operation]:
    """Constants that several groups which compute something again get copies of: copies of ops read them."""
    count = Counter(
        constant for group in groups if any(op in number_of for op in group.ops) for constant in group.embedded
    )
    return [constant for constant, times in count.items() if times > 1 and constant not in number_of]


def _with_copies(group: Group, number_of: Mapping[Operation, int]) -> tuple[Group, Mapping[SSAValue, SSAValue]]:
    """The group with copies of its own (1), and what its ops have to read in the place of originals."""
    if not number_of or not any(op in number_of for op in group.ops):
        return group, {}
    inner: dict[SSAValue, SSAValue] = {}
    ops: list[Operation] = []
    for op in group.ops:
        if op in group.copied:
            copy = op.clone()
            copy.attributes.pop(COMPUTED_AGAIN_ATTRIBUTE, None)
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                inner[old] = new
            block = op.parent
            assert block is not None, "the ops of a group are in the block that was analysed"
            block.insert_op_after(copy, op)
            op = copy
        ops.append(op)
    numbers = {place: number_of[op] for place, op in enumerate((*group.embedded, *group.ops)) if op in number_of}
    attributes = {**group.call_attributes, COMPUTED_AGAIN_ATTRIBUTE: marks_of(numbers)}
    return replace(group, ops=ops, call_attributes=attributes, copied=frozenset()), inner
