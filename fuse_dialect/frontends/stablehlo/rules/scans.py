"""Loops that count: `stablehlo.while` as JAX writes `scan` and `fori_loop`, as a `fuse.loop` without a condition.

    while i < n: ..., i + 1         from 0 on, with a constant n

1. A tensor of n rows of which an iteration reads row i (`dynamic_slice`) comes in row by row.
2. A tensor of n rows of which an iteration does nothing but write row i (`dynamic_update_slice`) is a stack: every row
   is written, so what it began with is never seen. The whole would else be written in every iteration.
3. With n - 1 - i in place of i, as in a scan from the end, rows are reversed before the loop, and stacks behind it.
4. A value that no iteration changes is read where it is.

The index is inside its tensor, so StableHLO's clamping does not move it. What remains is a state.

Source: `jax.lax.scan`, jax/_src/lax/control_flow/loops.py; StableHLO `while`, docs/spec.md of openxla/stablehlo.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, ReverseOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.frontends.fuse_values import tensor
from fuse_dialect.frontends.stablehlo.rules.building import ints, known_number, word

_MOST_STEPS = 16
"""Ops between the counter and an index that are looked through."""


@dataclass(slots=True)
class _Scan:
    """What is known of a loop that counts; positions are those of its operands."""

    counter: int
    count: int
    unchanged: list[int] = field(default_factory=list[int])
    reads: list[tuple[Operation, SSAValue, bool]] = field(default_factory=list[tuple[Operation, SSAValue, bool]])
    """(slice of one row, the tensor outside of the loop, whether from the end)."""
    stacks: dict[int, tuple[Operation, bool]] = field(default_factory=dict[int, tuple[Operation, bool]])
    """By position: (update of one row, whether from the end)."""


def convert_scan(op: Operation) -> LoopOp | None:
    """Replace a loop that counts; the ops in its body stay what they are.

    Args:
        op: A `stablehlo.while` whose operands and results are tensors, and whose regions are single blocks.

    Returns:
        The new loop; `None` if the op is no such loop, and stays.

    Complexity: O(ops of the body).
    """
    scan = _scan_of(op)
    return None if scan is None else _replace(op, scan)


def _scan_of(op: Operation) -> _Scan | None:
    condition, body = (region.block for region in op.regions)
    scan = _counted(op, condition, body)
    if scan is None:
        return None
    end = _end(body)
    scan.unchanged = [
        place for place, (value, argument) in enumerate(zip(end.operands, body.args, strict=True)) if value is argument
    ]
    for inner in body.ops:
        if inner.name == "stablehlo.dynamic_slice":
            scan.reads += _read(op, scan, inner)
    for place, argument in enumerate(body.args):
        update = _only_user(argument)
        if update is not None and update.name == "stablehlo.dynamic_update_slice" and update.operands[0] is argument:
            from_end = _row_index(scan, body, update.operands[0], update.operands[2])
            is_row = tensor(update.operands[1]).get_shape() == (1, *tensor(argument).get_shape()[1:])
            is_next = _only_user(update.results[0]) is end and end.operands[place] is update.results[0]
            if is_row and is_next and from_end is not None:
                scan.stacks[place] = update, from_end
    return scan


def _counted(op: Operation, condition: Block, body: Block) -> _Scan | None:
    """Whether an operand counts from 0 to a constant."""
    compare = _end(condition).operands[0].owner
    if not isinstance(compare, Operation) or compare.name != "stablehlo.compare":
        return None
    counter, bound = compare.operands
    count = known_number(bound)
    if not isinstance(counter, BlockArgument) or counter.owner is not condition:
        return None
    if count is None or word(compare, "comparison_direction") != "LT" or int(count) < 0:
        return None
    place = counter.index
    first, following = known_number(op.operands[place]), _end(body).operands[place].owner
    if first is None or first != 0 or not isinstance(following, Operation) or following.name != "stablehlo.add":
        return None
    one = known_number(following.operands[1])
    is_next = following.operands[0] is body.args[place] and one is not None and one == 1
    return _Scan(place, int(count)) if is_next and _holds(counter, int(count)) else None


def _read(op: Operation, scan: _Scan, inner: Operation) -> Iterator[tuple[Operation, SSAValue, bool]]:
    """The slice, if it is a row of a tensor that no iteration changes."""
    source, start = inner.operands[:2]
    body = op.regions[1].block
    outside = source
    if isinstance(source, BlockArgument) and source.owner is body:
        if source.index not in scan.unchanged:
            return
        outside = op.operands[source.index]
    elif _is_inside(source, body):
        return
    from_end = _row_index(scan, body, source, start)
    if from_end is not None and ints(inner, "slice_sizes") == (1, *tensor(source).get_shape()[1:]):
        yield inner, outside, from_end


def _is_inside(value: SSAValue, body: Block) -> bool:
    owner = value.owner
    return (owner if isinstance(owner, Block) else owner.parent) is body


def _row_index(scan: _Scan, body: Block, source: SSAValue, start: SSAValue) -> bool | None:
    """Whether an index counts the rows of a tensor from the end; `None` if it does not count all of them."""
    shape = tensor(source).get_shape()
    if not shape or shape[0] != scan.count:
        return None
    match _linear(start, body.args[scan.counter], scan.count, _MOST_STEPS):
        case (1, 0):
            return False
        case (-1, last) if last == scan.count - 1:
            return True
        case _:
            return None


def _linear(value: SSAValue, counter: SSAValue, count: int, steps: int) -> tuple[int, int] | None:
    """A value as `factor * counter + offset`."""
    if value is counter:
        return 1, 0
    number = known_number(value)
    if number is not None:
        return 0, int(number)
    if not steps or not isinstance(value, OpResult):
        return None
    op = value.op
    parts = [_linear(operand, counter, count, steps - 1) for operand in op.operands[:2]]
    match op.name, parts:
        case "stablehlo.convert", [(factor, offset)]:
            most = abs(factor) * count + abs(offset)
            return (factor, offset) if _holds(op.operands[0], most) and _holds(op.results[0], most) else None
        case "stablehlo.add", [(factor, offset), (other, more)]:
            return factor + other, offset + more
        case "stablehlo.subtract", [(factor, offset), (other, more)]:
            return factor - other, offset - more
        case "stablehlo.select", _ if _is_negative_index(op.operands[0], counter, count, steps - 1):
            return _linear(op.operands[2], counter, count, steps - 1)
        case _:
            return None


def _holds(value: SSAValue, most: int) -> bool:
    """Whether integers up to `most` are elements of the tensor's type."""
    dtype = element_dtype(tensor(value).element_type)
    return dtype.kind in "iu" and 2 ** (8 * dtype.itemsize - (dtype.kind == "i")) > most


def _is_negative_index(condition: SSAValue, counter: SSAValue, count: int, steps: int) -> bool:
    """Whether a condition asks if an index is below 0 that never is: JAX counts negative ones from the end."""
    if not isinstance(condition, OpResult) or condition.op.name != "stablehlo.compare" or not steps:
        return False
    index = _linear(condition.op.operands[0], counter, count, steps - 1)
    zero = known_number(condition.op.operands[1])
    if index is None or zero is None or zero != 0 or word(condition.op, "comparison_direction") != "LT":
        return False
    factor, offset = index
    return min(offset, offset + factor * max(0, count - 1)) >= 0


def _replace(op: Operation, scan: _Scan) -> LoopOp:
    body = op.regions[1].detach_block(op.regions[1].block)
    end = _end(body)
    before: list[Operation] = []
    arguments = list(body.args)
    number = body.insert_arg(TensorType(i64, []), 0)
    counter = CastOp(number, result_types=[arguments[scan.counter].type])
    Rewriter.insert_op(counter, InsertPoint.at_start(body))
    rows = _take_rows(body, scan, before)
    stacked = [_row_of(update, end) for update, _ in scan.stacks.values()]
    fixed = {scan.counter, *scan.unchanged, *scan.stacks}
    states = [place for place in range(len(arguments)) if place not in fixed]
    following = [end.operands[place] for place in states]
    Rewriter.insert_op(YieldOp(*following, *stacked), InsertPoint.before(end))
    Rewriter.erase_op(end)
    for update, _ in scan.stacks.values():
        Rewriter.erase_op(update)
    for place in scan.unchanged:
        arguments[place].replace_all_uses_with(op.operands[place])
    arguments[scan.counter].replace_all_uses_with(counter.result)
    for place in sorted(fixed, reverse=True):
        body.erase_arg(arguments[place])
    limit = None
    if not rows and stacked:  # rows say how many there are of a stack
        rows.append(_added(before, constant(np.broadcast_to(np.False_, (scan.count,)))))
        body.insert_arg(TensorType(i1, []), len(body.args))
    elif not rows:
        limit = _added(before, constant(np.array(scan.count, np.int64)))
    loop = LoopOp(body, limit=limit, states=[op.operands[place] for place in states], rows=rows)
    after: list[Operation] = []
    stacks = dict(zip(scan.stacks, loop.results[len(states) :], strict=True))
    kept = dict(zip(states, loop.results, strict=False))
    for place, old in enumerate(op.results):
        old.replace_all_uses_with(_outcome(op, scan, place, kept, stacks, after))
    made = [*before, loop, *after]
    Rewriter.insert_op(made, InsertPoint.before(op))
    for each in made:
        each.location = op.location
    Rewriter.erase_op(op)
    return loop


def _outcome(
    op: Operation,
    scan: _Scan,
    place: int,
    states: dict[int, OpResult],
    stacks: dict[int, OpResult],
    after: list[Operation],
) -> SSAValue:
    """What a result of the old loop is now."""
    old = op.results[place]
    if place == scan.counter:
        assert is_tensor(old.type), "the counter is a tensor"
        return _added(after, constant(np.array(scan.count, element_dtype(old.type.element_type))))
    if place in scan.unchanged:
        return op.operands[place]
    if place in states:
        states[place].name_hint = old.name_hint
        return states[place]
    _, from_end = scan.stacks[place]
    return _added(after, ReverseOp(stacks[place], axes=[0])) if from_end else stacks[place]


def _take_rows(body: Block, scan: _Scan, before: list[Operation]) -> list[SSAValue]:
    """Arguments of the body in the place of slices; the tensors that their rows come from."""
    rows: list[SSAValue] = []
    taken: dict[tuple[SSAValue, bool], SSAValue] = {}
    for inner, source, from_end in scan.reads:
        row = taken.get((source, from_end))
        if row is None:
            type = TensorType(tensor(source).element_type, tensor(source).get_shape()[1:])
            row = taken[source, from_end] = body.insert_arg(type, len(body.args))
            rows.append(_added(before, ReverseOp(source, axes=[0])) if from_end else source)
        _use_row(inner, row)
    return rows


def _use_row(slice: Operation, row: SSAValue) -> None:
    """Replace a slice of one row; who drops its first axis reads the row as it is."""
    (old,) = slice.results
    for user in [use.operation for use in old.uses]:
        if user.name == "stablehlo.reshape" and user.results[0].type == row.type:
            user.results[0].replace_all_uses_with(row)
            Rewriter.erase_op(user)
    if any(old.uses):
        whole = ReshapeOp(row, result_types=[old.type])
        Rewriter.insert_op(whole, InsertPoint.before(slice))
        old.replace_all_uses_with(whole.result)
    Rewriter.erase_op(slice)


def _row_of(update: Operation, end: Operation) -> SSAValue:
    """What is written to a row, without the first axis."""
    value = update.operands[1]
    type = tensor(value)
    row = TensorType(type.element_type, type.get_shape()[1:])
    made = value.owner
    if isinstance(made, Operation) and _adds_first_axis(made, row):
        return made.operands[0]
    cut = ReshapeOp(value, result_types=[row])
    Rewriter.insert_op(cut, InsertPoint.before(end))
    return cut.result


def _adds_first_axis(op: Operation, row: Attribute) -> bool:
    """Whether an op gives an operand of this type a first axis of one."""
    if not op.operands or op.operands[0].type != row:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        rank = len(tensor(op.results[0]).get_shape())
        return ints(op, "broadcast_dimensions") == tuple(range(1, rank))
    return op.name == "stablehlo.reshape"


def _added(ops: list[Operation], op: Operation) -> SSAValue:
    ops.append(op)
    return op.results[0]


def _only_user(value: SSAValue) -> Operation | None:
    users = [use.operation for use in value.uses]
    return users[0] if len(users) == 1 else None


def _end(block: Block) -> Operation:
    end = block.last_op
    assert end is not None, "the region returns"
    return end
