"""Facts about values: what an op depends on, who reads a value, and whether a block is in SSA order."""

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.kinds.kind_of import op_name


def captured_values(op: Operation) -> list[SSAValue]:
    """Values from outside that ops in the regions of `op` use, each once, in the order of their first use."""
    inside = _ops_inside(op)
    blocks = {inner.parent for inner in inside}
    captured: dict[SSAValue, None] = {}
    for inner in inside:
        for operand in inner.operands:
            owner = operand.owner
            if (owner if isinstance(owner, Block) else owner.parent) not in blocks:
                captured[operand] = None
    return list(captured)


def _ops_inside(op: Operation) -> list[Operation]:
    """The ops in the regions of `op`, at any depth, each before those inside it.

    xDSL's `walk` takes time in proportion to the depth for each of them.
    """
    inside: list[Operation] = []
    pending = [op]
    while pending:
        outer = pending.pop()
        inside.append(outer)
        if outer.regions:
            nested = [inner for region in outer.regions for block in region.blocks for inner in block.ops]
            pending.extend(reversed(nested))
    return inside[1:]


def read_values(op: Operation) -> Sequence[SSAValue]:
    """Values that the op depends on: its operands, then what its regions capture."""
    return (*op.operands, *captured_values(op)) if op.regions else op.operands


def check_ssa_order(block: Block) -> None:
    """Check that every op of the block reads only values that exist by then; xDSL's verifier does not.

    Raises:
        OpError: An op reads a value that it or a later op defines. Every cycle shows up as such an op.
    """
    defined: set[Operation] = set()
    for op in block.ops:
        for value in read_values(op):
            if type(value) is OpResult and value.op not in defined and value.op.parent is block:
                what = (
                    "its own result" if value.op is op else f"a result of '{op_name(value.op)}', which stands below it"
                )
                raise OpError(op, f"'{op_name(op)}' op reads {what}", "put the ops in SSA order, without cycles")
        defined.add(op)


def seen_by_other_blocks(block: Block) -> Iterable[SSAValue]:
    """Results of the block's ops that later blocks of its region use."""
    region = block.parent
    if region is None or region.first_block is region.last_block:
        return
    for op in block.ops:
        for result in op.results:
            if any(not _is_in_block(use.operation, block) for use in result.uses):
                yield result


def _is_in_block(op: Operation | None, block: Block) -> bool:
    while op is not None:
        if op.parent is block:
            return True
        op = op.parent_op()
    return False
