"""Bringing the ops of groups together in their block, so that a call can take their place.

A group of several results may be interleaved with ops that read some of them and with ops that it reads itself. The
block is sorted anew with every group as one item: an item stands behind everything that it reads, unknown ops keep
their order, and of the items that may come next the one that stood first, by its last op, comes first.
"""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, OpResult

from fuse_dialect.fusion.core.topological_order import topological_order
from fuse_dialect.fusion.ir.block_graph import RegionFacts
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.function_like import terminator_of
from fuse_dialect.fusion.ir.ssa import read_values
from fuse_dialect.fusion.kinds.kind_of import kind_of


def gather_ops(block: Block, groups: Sequence[Sequence[Operation]], facts: RegionFacts | None = None) -> None:
    """Move ops so that those of each group stand in a row, in their old order.

    Args:
        block: In SSA order.
        groups: Ops of the block; each op in at most one group, and no group depending on itself.
        facts: What is known about regions, for a caller that asks for blocks at several depths.

    Complexity: O((ops + operands) log ops).
    """
    terminator = terminator_of(block)
    ops = [op for op in block.ops if op is not terminator]
    # By identity: xDSL's ops have a slow hash.
    position = {id(op): index for index, op in enumerate(ops)}
    places = [sorted([position[id(op)] for op in group]) for group in groups]
    # Most blocks need no sorting: every group already stands in a row.
    if all(each[-1] - each[0] + 1 == len(each) for each in places):
        return
    item_of = list(range(len(ops)))
    members: dict[int, list[int]] = {}
    for each in places:
        members[each[-1]] = each
        for place in each:
            item_of[place] = each[-1]
    for op in ops:
        op.detach()
    new_order = [
        ops[place]
        for item in _sorted_items(ops, position, item_of, facts or RegionFacts())
        for place in members.get(item, [item])
    ]
    if terminator is None:
        block.add_ops(new_order)
    else:
        block.insert_ops_before(new_order, terminator)


def _sorted_items(
    ops: Sequence[Operation], position: dict[int, int], item_of: Sequence[int], facts: RegionFacts
) -> list[int]:
    """The items, named by the place of their last op, in an order in which each follows what it reads."""
    followers: dict[int, dict[int, None]] = {item: {} for item in item_of}
    previous: int | None = None
    for place, op in enumerate(ops):
        item = item_of[place]
        for value in read_values(op, facts.captured):
            source = position.get(id(value.op)) if isinstance(value, OpResult) else None
            if source is not None and item_of[source] != item:
                followers[item_of[source]][item] = None
        # Unknown ops may have effects, which happen in the old order.
        if kind_of(op, facts.effects) is None and not is_constant(op):
            if previous is not None:
                followers[previous][item] = None
            previous = item
    order = topological_order(followers)
    assert len(order) == len(followers), "no group depends on itself"
    return order
