"""What `refine-shapes` does with `fuse.loop`: sizes that are known before a loop are known in it and after it.

1. A row has the type of the tensor without its first axis.
2. A state keeps the type that it begins with, if the body, refined under this assumption, yields that type. The body is
   refined in a copy of the loop; where an assumption fails, it is dropped, and another copy is made.
3. Results have the types of the last states, and of what is stacked: as often as a constant limit says, where no
   condition may end the loop before, and otherwise as there are rows.
"""

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Operation, Region
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import Budget
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp, row_type
from fuse_dialect.dialect.types import DYNAMIC, Tensor, is_tensor, tensor, tensor_type

_COUNTER = 1
"""Arguments of a body before the states."""


def refined_loop(
    op: LoopOp, visit: Callable[[Operation], None], budget: Budget, begin: Callable[[LoopOp], None]
) -> LoopOp | None:
    """A loop with more precise types in the place of one, or `None` if the types stay.

    Args:
        op: The loop; its operands are refined.
        visit: Refines an op; it is called for the ops in copies of the loop.
        begin: Learns what is known of a copy before its ops are visited.
        budget: Every copy takes its ops from it: loops in loops whose assumptions fail would double at every level.

    Raises:
        OpError: The sizes of the rows contradict those in the body.

    Complexity: usually one copy; no more than the budget lets.
    """
    states = [tensor_type(value) for value in op.states]
    kept = [tensor_type(argument) for argument in op.body.block.args[_COUNTER:]]
    rows = [more_precise(old, row_type(value)) for old, value in zip(kept[len(states) :], op.rows, strict=True)]
    assumed = [more_precise(old, new) for old, new in zip(kept, states, strict=False)]
    size = sum(1 for _ in ops_inside(op))
    while [*assumed, *rows] != kept and budget.take(ops=size):
        is_certain = assumed == kept[: len(states)]
        trial = _copy_with(op, [*assumed, *rows])
        begin(trial)
        try:
            for inner in list(trial.body.block.ops):
                visit(inner)
        except OpError:
            if is_certain:
                raise
            assumed = kept[: len(states)]
            _erase(trial)
            continue
        end = trial.body.block.last_op
        assert isinstance(end, YieldOp), "a verified loop ends with a yield"
        holds = [value.type == type for value, type in zip(end.values, assumed, strict=False)]
        if is_certain or all(holds):
            return _with_results(op, trial)
        assumed = [new if true else old for old, new, true in zip(kept, assumed, holds, strict=False)]
        _erase(trial)
    types = _result_types(op)
    if types == list(op.result_types):
        return None
    return _with_types(op, types)


def more_precise(type: Tensor, known: Attribute) -> Tensor:
    """The type with sizes of another one in the place of those that it leaves open; itself if they contradict."""
    if not is_tensor(known) or known.get_num_dims() != type.get_num_dims():
        return type
    pairs = zip(type.get_shape(), known.get_shape(), strict=True)
    return tensor([new if old == DYNAMIC else old for old, new in pairs], type.element_type)


def _copy_with(op: LoopOp, types: Sequence[Tensor]) -> LoopOp:
    """A copy of the loop, in front of it, whose body has arguments of these types after the counter."""
    trial = op.clone()
    assert op.parent is not None, "an op that was found by a walk stands in a block"
    op.parent.insert_op_before(trial, op)
    block = trial.body.block
    for index, type in enumerate(types, _COUNTER):
        old = block.args[index]
        if old.type != type:
            new = block.insert_arg(type, index)
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
            block.erase_arg(old)
    return trial


def _with_results(op: LoopOp, trial: LoopOp) -> LoopOp:
    """The loop with the body of the copy, which goes; the body says its result types."""
    body = trial.body.detach_block(0)
    _erase(trial)
    try:
        new = LoopOp(body, limit=op.limit, condition=op.condition, states=op.states, rows=op.rows)
    except VerifyException as error:
        raise OpError(op, f"'{op.name}' op {error}", "sizes that are known now contradict each other") from error
    new.attributes.update(op.attributes)
    types = _result_types(new)
    if types == list(new.result_types):
        return new
    typed = _with_types(new, types)
    new.erase()  # what is left of it would still count as a reader of its operands
    return typed


def _result_types(op: LoopOp) -> list[Tensor]:
    """Types of the results, where a constant limit says how often something is stacked (3)."""
    types = [tensor_type(value) for value in op.outputs]
    end = op.body.block.last_op
    limit = None if op.limit is None else constant_of(op.limit)
    assert isinstance(end, YieldOp), "a verified loop ends with a yield"
    if limit is None or op.condition is not None or end.condition is not None:
        return types
    rows = [size for value in op.rows if (size := tensor_type(value).get_shape()[0]) != DYNAMIC]
    if len(rows) < len(op.rows):
        return types  # rows of which it is not known how many there are may end the loop before
    count = min([max(int(limit.item()), 0), *rows])
    stacks = types[len(op.states) :]
    known = [more_precise(type, tensor([count, *type.get_shape()[1:]], type.element_type)) for type in stacks]
    return [*types[: len(op.states)], *known]


def _with_types(op: LoopOp, types: Sequence[Tensor]) -> LoopOp:
    """The loop with other types of results; the body moves."""
    body = op.body.detach_block(0)
    new = LoopOp.create(operands=op.operands, result_types=types, properties=op.properties, regions=[Region(body)])
    new.attributes.update(op.attributes)
    return new


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
