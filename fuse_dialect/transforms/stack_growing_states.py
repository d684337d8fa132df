"""`stack-growing-states`: a state that a loop only adds to becomes a stack of what it appends.

    %out = fuse.loop limit(%n) states(%start) {            %stack = fuse.loop limit(%n) {
    ^bb0(%i, %acc):                                        ^bb0(%i):
      ...                                            ->      ...
      %next = fuse.concatenate %acc, %y, axis = 0            fuse.yield %y
      fuse.yield %next                                     }
    }                                                      %out = fuse.concatenate %start, %rows, axis = 0

Each iteration would copy all that is there. A stack has a place for each iteration, and `rows` are its elements in the
same order under the shape of the result. It is done where

1. the body reads the state in one concatenation alone, as its first operand, or as its last one: then the stack is
   reversed; and the state that it yields is all that the concatenation is read for;
2. what is appended has a static shape with elements, and the result of the loop is open along that axis alone.

Source: a loop of TorchScript with `out = torch.cat([out, y])`; the stack is the scan output of ONNX Loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, normalize_axis, tensor_type
from fuse_dialect.transforms.unfinished import walk_unfinished

_COUNTER = 1
"""Arguments of a body before the states."""


@dataclass(frozen=True)
class StackGrowingStatesPass(ModulePass):
    """Make stacks of states that loops only append to."""

    name = "stack-growing-states"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the loops of all functions of the module, inner ones first; linear in the number of ops."""
        loops = [inner for inner in walk_unfinished(op) if isinstance(inner, LoopOp)]
        for loop in reversed(loops):
            growing = [found for place in range(len(loop.states)) if (found := _growing(loop, place)) is not None]
            if growing:
                _rewrite(loop, growing)


class GrowingState(NamedTuple):
    """A state that is appended to."""

    place: int
    """Its number among the states."""
    concatenation: ConcatenateOp
    axis: int
    is_prepended: bool
    """Whether what comes later stands in front."""

    @property
    def added(self) -> list[SSAValue[Tensor]]:
        """What an iteration adds, in order."""
        values = [*self.concatenation.inputs]
        return values[:-1] if self.is_prepended else values[1:]


def _growing(loop: LoopOp, place: int) -> GrowingState | None:
    """The state of that number, if the loop only appends to it (1, 2)."""
    end = loop.body.block.last_op
    argument = loop.body.block.args[_COUNTER + place]
    use = _only_use(argument)
    if use is None or not isinstance(end, YieldOp) or not isinstance(use, ConcatenateOp):
        return None
    is_prepended = use.inputs[0] is not argument
    if len(use.inputs) < 2 or argument not in (use.inputs[0], use.inputs[-1]) or use.parent is not loop.body.block:
        return None
    if end.values[place] is not use.result or _only_use(use.result) is not end:
        return None
    appended = [tensor_type(value) for value in (use.inputs[:-1] if is_prepended else use.inputs[1:])]
    if any(size == DYNAMIC or size == 0 for type in appended for size in type.get_shape()):
        return None
    axis = normalize_axis(use.axis.value.data, appended[0].get_num_dims())
    shape = list(appended[0].get_shape())
    shape[axis] = DYNAMIC
    is_open_there = shape == list(loop.outputs[place].type.get_shape())
    return GrowingState(place, use, axis, is_prepended) if is_open_there else None


def _only_use(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _rewrite(loop: LoopOp, growing: Sequence[GrowingState]) -> None:
    """Put the loop that stacks in the place of one, and what makes its results of the stacks behind it."""
    body = loop.body.detach_block(0)
    end = body.last_op
    assert isinstance(end, YieldOp), "a verified loop ends with a yield"
    places = {state.place for state in growing}
    appended = [_added(state) for state in growing]
    kept = [value for place, value in enumerate(end.values) if place not in places]
    new_end = YieldOp(*kept, *appended, condition=end.condition)
    body.insert_op_before(new_end, end)
    end.detach()
    end.erase()
    for state in growing:
        state.concatenation.detach()
        state.concatenation.erase()
    for state in sorted(growing, key=lambda state: -state.place):
        body.erase_arg(body.args[_COUNTER + state.place])
    states = [value for place, value in enumerate(loop.states) if place not in places]
    new = LoopOp(body, limit=loop.limit, condition=loop.condition, states=states, rows=loop.rows)
    new.attributes.update(loop.attributes)
    new.location = loop.location
    block = loop.parent
    assert block is not None, "an op that was found by a walk stands in a block"
    block.insert_op_before(new, loop)
    others = iter(new.outputs[: len(new.outputs) - len(growing)])
    stacks = iter(new.outputs[len(new.outputs) - len(growing) :])
    for place, output in enumerate(loop.outputs):
        if place not in places:
            replacement: SSAValue = next(others)
            replacement.name_hint = output.name_hint
            output.replace_all_uses_with(replacement)
    for state, stack in zip(growing, stacks, strict=True):
        output = loop.outputs[state.place]
        made = _result_of(stack, loop.states[state.place], state, output.type)
        block.insert_ops_before(made, loop)
        result = made[-1].results[0]
        result.name_hint = output.name_hint
        output.replace_all_uses_with(result)
    loop.detach()
    loop.erase()


def _added(state: GrowingState) -> SSAValue:
    """What an iteration adds, as one value."""
    values, concatenation = state.added, state.concatenation
    if len(values) == 1:
        return values[0]
    joined = ConcatenateOp(*values, axis=concatenation.axis.value.data)
    assert concatenation.parent is not None, "an op that was found by a walk stands in a block"
    concatenation.parent.insert_op_before(joined, concatenation)
    return joined.result


def _result_of(stack: SSAValue[Tensor], start: SSAValue[Tensor], state: GrowingState, type: Tensor) -> list[FuseOp]:
    """Ops that add the elements of the stack to what the loop began with; the last one gives the result."""
    made: list[FuseOp] = []
    axis, row = state.axis, list(stack.type.get_shape()[1:])
    value: SSAValue = stack
    if state.is_prepended:
        made.append(ReverseOp(value, axes=[0]))
        value = made[-1].results[0]
    if axis:
        # The axis of the iterations moves in front of that which elements are appended along.
        made.append(TransposeOp(value, permutation=[*range(1, axis + 1), 0, *range(axis + 1, len(row) + 1)]))
        value = made[-1].results[0]
    made.append(ReshapeOp(value, result_types=[type]))
    if tensor_type(start).get_shape()[axis] != 0:
        parts = [start, made[-1].results[0]]
        made.append(ConcatenateOp(*(reversed(parts) if state.is_prepended else parts), axis=axis, result_types=[type]))
    return made
