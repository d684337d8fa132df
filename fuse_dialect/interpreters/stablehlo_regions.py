"""What `stablehlo.while`, `if` and `case` mean, given a way to run a region."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation, Region

from fuse_dialect.interpreters.values import EvaluationError, Value, mismatch

RunRegion: TypeAlias = Callable[[Region, Sequence[Value]], list[Value]]
"""Runs a region with these block arguments; gives what it returns."""
END_OF_REGION = "stablehlo.return"


def is_control_flow(op: Operation) -> bool:
    """Whether the op runs its regions one after the other, or one of them."""
    return op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case")


def run_control_flow(op: Operation, operands: Sequence[Value], run: RunRegion) -> tuple[Value, ...]:
    """The results of the op.

    Raises:
        EvaluationError: A condition is no single truth value, or a result does not fit its type.
    """
    if op.name == "stablehlo.while":
        condition, body = op.regions
        values = list(operands)
        while _single(op, run(condition, values)):
            values = run(body, values)
    else:
        (choice,) = operands
        index = int(_single(op, [choice]))
        if op.name == "stablehlo.if":
            index = 0 if index else 1
        elif not 0 <= index < len(op.regions):
            index = len(op.regions) - 1  # StableHLO: any other number is the last branch
        values = run(op.regions[index], ())
    if len(values) != len(op.results):
        raise EvaluationError(op, f"expects {len(op.results)} values from its region, got {len(values)}")
    for index, (value, result) in enumerate(zip(values, op.results, strict=True)):
        if (problem := mismatch(value, result.type)) is not None:
            raise EvaluationError(op, f"result {index} {problem}")
    return tuple(values)


def _single(op: Operation, values: Sequence[Value]) -> int:
    value = values[0] if len(values) == 1 else ()
    if not isinstance(value, np.ndarray) or value.ndim or value.dtype.kind not in "biu":
        raise EvaluationError(op, "has a condition or index that is no single integer or truth value")
    return int(value)
