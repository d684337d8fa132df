"""Whether the regions of ops may have effects, found once for each op, from the innermost out.

A query for an op answers for all ops inside it. So a pass that asks for ops at every depth keeps one object, and takes
time in proportion to the module. Answers are remembered, and so an object is good only as long as nothing changes.
"""

from collections.abc import Callable

from xdsl.ir import Operation

from fuse_dialect.dialect.nesting import ops_inside


class RegionEffects:
    """What is known about the regions of ops."""

    def __init__(self) -> None:
        self._known: dict[Operation, bool] = {}

    def may_have(self, op: Operation, is_harmless: Callable[[Operation, "RegionEffects"], bool]) -> bool:
        """Whether an op inside `op` may have effects.

        Args:
            op: Any op.
            is_harmless: Whether an op by itself is known to have none; it may ask for the regions of that op.

        Complexity: O(ops inside `op` that were not asked for before).
        """
        known = self._known
        if op not in known:
            for inner in reversed([op, *(inner for inner in ops_inside(op) if inner.regions and inner not in known)]):
                known[inner] = any(
                    not is_harmless(each, self) or (bool(each.regions) and known[each])
                    for region in inner.regions
                    for block in region.blocks
                    for each in block.ops
                )
        return known[op]
