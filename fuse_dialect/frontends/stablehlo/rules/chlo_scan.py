"""`chlo.scan` as a `fuse.loop`: inputs are its rows, carries its states, and outputs what it stacks."""

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.frontends.fuse_values import result, shape, tensor, transpose
from fuse_dialect.frontends.stablehlo.rules.building import number
from fuse_dialect.frontends.stablehlo.scan_op import ScanParts, scan_parts


def convert_chlo_scan(op: Operation) -> LoopOp | None:
    """Replace a scan; the ops in its body stay what they are.

    Returns:
        The loop; `None` if the scan has no inputs, or not the same known number of rows of each, and stays.

    Complexity: O(ops of the body).
    """
    parts, axis = scan_parts(op), number(op, "dimension")
    if not _can_be_converted(op, parts, axis):
        return None
    is_reverse = bool(number(op, "is_reverse"))
    body = _body(op, parts)
    before, after = Block(), Block()
    with building(before):
        rows = [_turned(_to_front(value, axis), is_reverse) for value in parts.inputs]
    loop = LoopOp(body, states=parts.inits, rows=rows)
    states = len(parts.inits)
    with building(after):
        stacks = [_from_front(_turned(value, is_reverse), axis) for value in loop.results[states:]]
    made = [*_taken_from(before), loop, *_taken_from(after)]
    for each in made:
        each.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    for old, new in zip(op.results, (*stacks, *loop.results[:states]), strict=True):
        new.name_hint = new.name_hint or old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)
    return loop


def _can_be_converted(op: Operation, parts: ScanParts, axis: int) -> bool:
    """Whether all values are tensors, the rows are as many, and results have the types that the body says."""
    values = (*op.operands, *op.results)
    if not parts.inputs or not all(is_tensor(value.type) for value in values):
        return False
    sizes = {shape(value)[axis] for value in parts.inputs}
    end = op.regions[0].block.last_op
    if len(sizes) != 1 or DYNAMIC in sizes or end is None or end.name != "stablehlo.return":
        return False
    (count,) = sizes
    given = [value.type for value in end.operands]
    stacked = [_with_axis(type, axis, count) for type in given[: len(parts.outputs)]]
    taken = [_with_axis(value.type, axis, count) for value in op.regions[0].block.args[: len(parts.inputs)]]
    inits = [value.type for value in parts.inits]
    return (
        [*stacked, *given[len(parts.outputs) :]] == list(op.result_types)
        and taken == [value.type for value in parts.inputs]
        and inits == given[len(parts.outputs) :]
        and inits == [value.type for value in op.regions[0].block.args[len(parts.inputs) :]]
    )


def _with_axis(type: Attribute, axis: int, size: int) -> Attribute:
    if not is_tensor(type):
        return type
    sizes = list(type.get_shape())
    sizes.insert(axis, size)
    return TensorType(type.element_type, sizes)


def _body(op: Operation, parts: ScanParts) -> Block:
    """The body as a loop has it: it takes the number of the iteration, states and rows, and yields states first."""
    body = op.regions[0].detach_block(op.regions[0].block)
    end = body.last_op
    assert end is not None, "the body returns"
    carries = list(body.args[len(parts.inputs) :])
    body.insert_arg(TensorType(i64, []), 0)
    for place, old in enumerate(carries, 1):
        new = body.insert_arg(old.type, place)
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
        body.erase_arg(old)
    count = len(parts.outputs)
    Rewriter.insert_op(YieldOp(*end.operands[count:], *end.operands[:count]), InsertPoint.before(end))
    Rewriter.erase_op(end)
    return body


def _taken_from(block: Block) -> Sequence[Operation]:
    ops = list(block.ops)
    for each in ops:
        each.detach()
    return ops


def _turned(value: SSAValue, is_reverse: bool) -> SSAValue:
    return result(ReverseOp(value, axes=[0])) if is_reverse else value


def _to_front(value: SSAValue, axis: int) -> SSAValue:
    return transpose(value, [axis, *_others(value, axis)])


def _from_front(value: SSAValue, axis: int) -> SSAValue:
    order = [axis, *_others(value, axis)]
    return transpose(value, [order.index(each) for each in range(len(order))])


def _others(value: SSAValue, axis: int) -> Sequence[int]:
    return [each for each in range(tensor(value).get_num_dims()) if each != axis]
