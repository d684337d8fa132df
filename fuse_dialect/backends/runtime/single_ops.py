"""Primitives that are one op on their arguments: what libraries and native functions for one op take."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import BlockArgument, OpResult

from fuse_dialect.dialect.op import FuseOp


@dataclass(frozen=True, slots=True)
class SingleOp:
    """The one op that a primitive is."""

    op: FuseOp
    operands: Sequence[int]
    """Which argument each operand is."""
    returned: Sequence[int]
    """The op's results that the primitive returns, in order."""


def single_op(function: func.FuncOp) -> SingleOp | None:
    """The one op that a primitive is; `None` if it is more, or an argument is nobody's, or a result is there twice."""
    block = function.body.block
    ops = [op for op in block.ops if not isinstance(op, func.ReturnOp)]
    end = block.last_op
    op = ops[0] if len(ops) == 1 else None
    if not isinstance(op, FuseOp) or end is None:
        return None
    operands = [operand.index for operand in op.operands if isinstance(operand, BlockArgument)]
    returned = [value.index for value in end.operands if isinstance(value, OpResult)]
    is_whole = len(operands) == len(op.operands) and {*operands} == {*range(len(block.args))}
    if not is_whole or len(returned) != len(end.operands) or len({*returned}) < len(returned):
        return None
    return SingleOp(op, operands, returned)
