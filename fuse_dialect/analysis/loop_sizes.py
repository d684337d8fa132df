"""Sizes of what loops hold, by name: a state that begins with `n` rows has `n` rows in each iteration.

1. A row of a tensor has the sizes of the tensor but the first.
2. A state is supposed to keep the sizes that it begins with. If the body yields these under that supposition, it does,
   by induction over the iterations. States that do not are dropped from it, and the others tried again.
3. The last states are results, so they have the same sizes.
"""

from xdsl.ir import SSAValue

from fuse_dialect.analysis.known_sizes import KnownSizes
from fuse_dialect.analysis.linear_bounds import taken_sizes
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.dynamic import DynStridedSliceOp
from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor

_MOST_TRIALS = 4
"""How often a body is looked at; states that are left then are not named."""
_DEEPEST = 2
"""Loops in loops of which the inner ones are named to name an outer one."""
_COUNTER = 1
"""Arguments of a body before the states."""


def name_loop(op: LoopOp, known: KnownSizes, depth: int = 0) -> None:
    """Name the sizes of a loop's states, rows and last states, as far as they are those that it begins with.

    Args:
        op: The loop; what stands before it has been visited.
        known: It learns them.
        depth: Loops around it whose bodies are looked at.

    Complexity: `_MOST_TRIALS` times the ops in the body, for each depth.
    """
    end = op.body.block.last_op
    assert isinstance(end, YieldOp), "a verified loop ends with a yield"
    arguments = op.body.block.args[_COUNTER:]
    states, rows = arguments[: len(op.states)], arguments[len(op.states) :]
    for argument, value in zip(rows, op.rows, strict=True):
        if _is_open(argument):
            known.suppose(argument, known.sizes_of(value)[1:])
    supposed = [place for place, argument in enumerate(states) if _is_open(argument)]
    for _ in range(_MOST_TRIALS if supposed else 0):
        trial = known.branched()
        for place in supposed:
            trial.suppose(states[place], known.sizes_of(op.states[place]))
        for inner in ops_inside(op):
            trial.visit(inner)
            if isinstance(inner, DynStridedSliceOp):
                trial.suppose(inner.result, taken_sizes(inner, trial))
            if isinstance(inner, LoopOp) and depth < _DEEPEST:
                name_loop(inner, trial, depth + 1)
        holds = [place for place in supposed if trial.sizes_of(end.values[place]) == trial.sizes_of(states[place])]
        if holds == supposed:
            break
        supposed = holds
    else:
        return
    for place in supposed:
        for value in (states[place], op.outputs[place]):
            if _is_open(value):
                known.suppose(value, known.sizes_of(op.states[place]))


def _is_open(value: SSAValue) -> bool:
    return is_tensor(value.type) and DYNAMIC in value.type.get_shape()
