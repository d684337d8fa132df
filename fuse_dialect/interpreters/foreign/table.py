"""Where the meanings of other dialects stand, and how an op of one is run.

1. A dialect is found by the name of the op, and imported then.
2. Results are cast to the element types of the IR and compared with its types, as those of `fuse` ops are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.op import Array
from fuse_dialect.extensions import at_place
from fuse_dialect.interpreters.foreign.meaning import Meaning, Rows, Surroundings
from fuse_dialect.interpreters.foreign.no_meaning import no_meaning
from fuse_dialect.interpreters.values import EvaluationError, Value, layout_of, mismatch

PLACES: Mapping[str, str] = {
    name: f"fuse_dialect.interpreters.foreign.{place}:MEANINGS"
    for name, place in {
        "arith": "scalars",
        "cf": "cf",
        "check": "checks",
        "flow": "iree",
        "linalg": "linalg",
        "math": "scalars",
        "scf": "scf",
        "stablehlo": "checks",
        "tensor": "tensor",
        "tosa": "tosa",
        "util": "iree",
    }.items()
}
"""Dialects by name: the place of their rows."""


def meaning_of(op: Operation) -> Meaning | None:
    """The meaning of an op of another dialect, `None` if there is none."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    place = PLACES.get(name.partition(".")[0])
    return None if place is None else _row(at_place(place), name)


def _row(rows: Rows, name: str) -> Meaning | None:
    try:
        return rows[name]
    except KeyError:
        return None


def foreign_results(op: Operation, operands: Sequence[Value], around: Surroundings) -> tuple[Value, ...]:
    """The results of an op of another dialect.

    Raises:
        EvaluationError: It has no meaning, rejects its operands, or gives what does not fit its types.
    """
    meaning = meaning_of(op)
    if meaning is None:
        raise no_meaning(op)
    arrays: list[Array] = []
    for operand in operands:
        if isinstance(operand, tuple):
            raise EvaluationError(op, "cannot be run: it takes no tuples")
        arrays.append(operand)
    try:
        with np.errstate(all="ignore"):
            values = meaning(op, arrays, around)
            results = tuple(
                np.asarray(value).astype(_dtype(op, index), copy=False)
                for index, value in zip(range(len(op.results)), values, strict=True)
            )
    except EvaluationError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError, VerifyException) as error:
        raise EvaluationError(op, f"cannot be run: {error}") from error
    except MemoryError as error:
        raise EvaluationError(op, "cannot be run: not enough memory for the result") from error
    for index, (value, result) in enumerate(zip(results, op.results, strict=True)):
        if (problem := mismatch(value, result.type)) is not None:
            raise EvaluationError(op, f"result {index} {problem}")
    return results


def _dtype(op: Operation, index: int) -> "np.dtype[np.generic]":
    layout = layout_of(op.results[index].type)
    if layout is None:
        type = op.results[index].type
        raise EvaluationError(op, f"result {index} has type {type}, which the NumPy interpreter does not know")
    return layout[1]
