"""What loops and branches mean, given a way to run a region: the same for every interpreter."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fuse_dialect.budget import MOST_VALUE_BYTES
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, tensor_type
from fuse_dialect.interpreters.values import EvaluationError, Value, mismatch

Yielded: TypeAlias = tuple[Value | None, Sequence[Value]]
"""The condition of a `fuse.yield`, if it has one, and its values."""
RunRegion: TypeAlias = Callable[[Sequence[Value]], Yielded]
"""Runs the body of a loop with these block arguments."""


def yielded(op: YieldOp, operands: Sequence[Value]) -> Yielded:
    """The condition and the values among the operands of `fuse.yield`."""
    return (None, operands) if op.condition is None else (operands[0], operands[1:])


def is_first(arguments: Sequence[Value]) -> bool:
    """Whether arguments of a loop's body are those of its first iteration."""
    return not np.any(np.asarray(arguments[0]))


def is_true(op: IfOp | LoopOp, value: Value) -> bool:
    """Whether a condition holds.

    Raises:
        EvaluationError: It is no truth value of rank 0.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.bool_ or value.ndim:
        raise EvaluationError(op, "has a condition that is no single truth value")
    return bool(value)


def run_loop(
    op: LoopOp, operands: Sequence[Value], run_body: RunRegion, most_bytes: int = MOST_VALUE_BYTES
) -> tuple[Value, ...]:
    """The results of a loop; its iterations may give `most_bytes` to be stacked.

    Raises:
        EvaluationError: The rows differ in number, or a result does not fit its type.
    """
    given = iter(operands)
    limit = None if op.limit is None else _count(op, next(given))
    goes_on = op.condition is None or is_true(op, next(given))
    states: list[Value] = [next(given) for _ in op.states]
    rows = [_array(op, value) for value in given]
    count = _iterations(op, limit, rows)
    stacks: list[list[Value]] = [[] for _ in op.results[len(states) :]]
    iteration, held = 0, 0
    while goes_on and (count is None or iteration < count):
        number = np.asarray(iteration, np.int64)
        condition, values = run_body([number, *states, *(np.asarray(row[iteration]) for row in rows)])
        states = list(values[: len(states)])
        for stack, value in zip(stacks, values[len(states) :], strict=True):
            stack.append(value)
            held += _array(op, value).nbytes
        if held > most_bytes:
            raise EvaluationError(op, f"stacks more than {most_bytes} bytes", "max_value_bytes= raises the limit")
        goes_on = condition is None or is_true(op, condition)
        iteration += 1
    results = (*states, *(_stacked(op, len(states) + index, stack) for index, stack in enumerate(stacks)))
    for index, (value, result) in enumerate(zip(results, op.results, strict=True)):
        if (problem := mismatch(value, result.type)) is not None:
            raise EvaluationError(op, f"result {index} {problem}")
    return results


def _count(op: LoopOp, limit: Value) -> int:
    return int(_array(op, limit).reshape(()))


def _array(op: LoopOp, value: Value) -> Array:
    if isinstance(value, tuple):
        raise EvaluationError(op, "cannot loop over a tuple")
    return value


def _iterations(op: LoopOp, limit: int | None, rows: Sequence[Array]) -> int | None:
    sizes = sorted({len(row) for row in rows})
    if len(sizes) > 1:
        raise EvaluationError(op, f"expects equally many rows, got {' and '.join(map(str, sizes))}")
    bounds = [*sizes, *([] if limit is None else [limit])]
    return min(bounds) if bounds else None


def _stacked(op: LoopOp, index: int, values: Sequence[Value]) -> Array:
    """The values along a new first axis; without any, no elements, of size 0 where a size is not known."""
    if values:
        try:
            return np.stack([_array(op, value) for value in values])
        except (ValueError, MemoryError) as error:
            raise EvaluationError(op, f"cannot stack result {index}: {error}") from error
    type = tensor_type(op.results[index])
    shape = [0 if size == DYNAMIC else size for size in type.get_shape()]
    return np.empty([0, *shape[1:]], element_dtype(type.element_type))
