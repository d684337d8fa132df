"""Facts about values: what an op depends on, who reads a value, and whether a block is in SSA order."""

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.fusion.kinds.kind_of import op_name


class CapturedValues:
    """Values from outside that ops in the regions of an op use, found once for each op, from the innermost out.

    Answers are remembered: a pass that asks for ops at every depth keeps one object, as long as nothing changes.
    """

    def __init__(self) -> None:
        self._known: dict[Operation, Sequence[SSAValue]] = {}

    def of(self, op: Operation) -> Sequence[SSAValue]:
        """Each such value once, in the order of their first use.

        Complexity: O(ops inside that were not asked for before, their operands, and what ops inside them capture).
        """
        known = self._known
        if op not in known:
            for inner in reversed([op, *(inner for inner in ops_inside(op) if inner.regions and inner not in known)]):
                blocks = {block for region in inner.regions for block in region.blocks}
                used = dict.fromkeys(
                    value
                    for region in inner.regions
                    for block in region.blocks
                    for each in block.ops
                    for value in ((*each.operands, *known[each]) if each.regions else each.operands)
                )
                known[inner] = [value for value in used if _block_of(value) not in blocks]
        return known[op]


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def read_values(op: Operation, captured: CapturedValues | None = None) -> Sequence[SSAValue]:
    """Values that the op depends on: its operands, then what its regions capture."""
    if not op.regions:
        return op.operands
    return (*op.operands, *(captured or CapturedValues()).of(op))


def check_ssa_order(block: Block, captured: CapturedValues | None = None) -> None:
    """Check that every op of the block reads only values that exist by then; xDSL's verifier does not.

    Raises:
        OpError: An op reads a value that it or a later op defines. Every cycle shows up as such an op.
    """
    defined: set[Operation] = set()
    for op in block.ops:
        for value in read_values(op, captured):
            if type(value) is OpResult and value.op not in defined and value.op.parent is block:
                what = (
                    "its own result" if value.op is op else f"a result of '{op_name(value.op)}', which stands below it"
                )
                raise OpError(op, f"'{op_name(op)}' op reads {what}", "put the ops in SSA order, without cycles")
        defined.add(op)


def is_in_ssa_order(block: Block) -> bool:
    """Whether no op of the block reads a value of the block that is defined below it, as ops of a graph do."""
    defined: set[int] = set()
    for op in block.ops:
        for value in op.operands:
            if type(value) is OpResult and id(value.op) not in defined and value.op.parent is block:
                return False
        defined.add(id(op))
    return True


class OuterOps:
    """The ops of one block that hold other ops, at any depth; a way up the regions is gone once."""

    def __init__(self, block: Block):
        self.block = block
        self._known: dict[Block, Operation | None] = {}

    def of(self, op: Operation) -> Operation | None:
        """The op of the block that holds the op, or is it; `None` for an op outside."""
        path: list[Block] = []
        found: Operation | None = op
        while found is not None and found.parent is not self.block:
            block = found.parent
            if block is None or block in self._known:
                found = None if block is None else self._known[block]
                break
            path.append(block)
            found = block.parent_op()
        for each in path:
            self._known[each] = found
        return found


def seen_by_other_blocks(block: Block) -> Iterable[SSAValue]:
    """Results of the block's ops that later blocks of its region use."""
    region = block.parent
    if region is None or region.first_block is region.last_block:
        return
    inside: dict[Block | None, bool] = {block: True, None: False}
    for op in block.ops:
        for result in op.results:
            if any(not _is_inside(use.operation.parent, inside) for use in result.uses):
                yield result


def _is_inside(block: Block | None, inside: dict[Block | None, bool]) -> bool:
    """Whether a block is one of those that are known to be inside, or in a region below; what is found is noted."""
    path: list[Block] = []
    while block not in inside:
        assert block is not None, "that nothing is inside is known"
        path.append(block)
        block = block.parent_block()
    for each in path:
        inside[each] = inside[block]
    return inside[block]
