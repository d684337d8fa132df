"""Loops and branches, once what stands in their regions is converted."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.comparison import EqualOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.types import element_dtype, is_tensor

CONTROL_FLOW = frozenset(("stablehlo.while", "stablehlo.if", "stablehlo.case"))


def drop_choices_of_one(module: ModuleOp) -> None:
    """Put the only branch of a `case` in its place: JAX chooses a platform so, of those that it lowers for."""
    found = [op for op in ops_inside(module) if op.name == "stablehlo.case" and len(op.regions) == 1]
    for op in found:
        block = op.regions[0].first_block
        if block is None or block.next_block is not None or not _returns(block):
            continue
        end = block.last_op
        assert end is not None, "the region returns"
        values = list(end.operands)
        end.detach()
        end.erase()
        Rewriter.inline_block(block, InsertPoint.before(op))
        Rewriter.replace_op(op, [], values)


def can_be_converted(op: Operation) -> bool:
    """Whether all that goes in and out are tensors, each region is a block that returns, and there is a choice."""
    if op.name == "stablehlo.case" and len(op.regions) < 2:
        return False
    values = (*op.operands, *op.results)
    regions = (region.first_block for region in op.regions)
    return all(is_tensor(value.type) for value in values) and all(
        block is not None and block.next_block is None and _returns(block) for block in regions
    )


def _returns(block: Block) -> bool:
    return block.last_op is not None and block.last_op.name == "stablehlo.return"


def convert_control_flow(op: Operation) -> None:
    """Replace the op by `fuse.loop` or `fuse.if`."""
    match op.name:
        case "stablehlo.while":
            made = _loop(op)
        case "stablehlo.if":
            made = [_branch(op.operands[0], *(_detached(region) for region in op.regions))]
        case _:
            made = _choice(op.operands[0], [_detached(region) for region in op.regions])
    Rewriter.insert_op(made, InsertPoint.before(op))
    for each in made:
        each.location = op.location
    for old, new in zip(op.results, made[-1].results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)


def _loop(op: Operation) -> list[Operation]:
    """The loop: StableHLO asks before each iteration, `fuse.loop` before the first and behind each."""
    condition, body = op.regions[0].block, _detached(op.regions[1])
    first, begins = _copy(condition, dict(zip(condition.args, op.operands, strict=True)))
    end = body.last_op
    assert end is not None, "the region returns"
    states = list(end.operands)
    again, goes_on = _copy(condition, dict(zip(condition.args, states, strict=True)))
    Rewriter.insert_op([*again, YieldOp(*states, condition=goes_on)], InsertPoint.before(end))
    Rewriter.erase_op(end)
    body.insert_arg(TensorType(i64, []), 0)
    return [*first, LoopOp(body, condition=begins, states=op.operands)]


def _copy(block: Block, values: Mapping[SSAValue, SSAValue]) -> tuple[list[Operation], SSAValue]:
    """Copies of the ops of a region with other arguments, and what the copies return."""
    mapped = dict(values)
    *ops, end = block.ops
    copies = [op.clone(mapped) for op in ops]
    return copies, mapped.get(end.operands[0], end.operands[0])


def _detached(region: Region) -> Block:
    """The block of a region, alone."""
    return region.detach_block(region.block)


def _branch(condition: SSAValue, then: Block, otherwise: Block) -> IfOp:
    for block in (then, otherwise):
        end = block.last_op
        if end is not None and end.name == "stablehlo.return":
            Rewriter.insert_op(YieldOp(*end.operands), InsertPoint.before(end))
            Rewriter.erase_op(end)
    return IfOp(condition, then, otherwise)


def _choice(index: SSAValue, blocks: Sequence[Block]) -> list[Operation]:
    """The first branch whose number is the index, as branches within branches; any other index is the last branch."""
    assert is_tensor(index.type), "only tensors are converted"
    dtype = element_dtype(index.type.element_type)
    last = blocks[-1]
    for number in range(len(blocks) - 2, -1, -1):
        wanted = constant(np.array(number, dtype))
        is_wanted = EqualOp(index, wanted.result)
        chosen = _branch(is_wanted.result, blocks[number], last)
        ops: list[Operation] = [wanted, is_wanted, chosen]
        if number == 0:
            return ops
        last = Block([*ops, YieldOp(*chosen.results)])
    raise AssertionError("there are two branches at least")
