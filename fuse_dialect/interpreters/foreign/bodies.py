"""Bodies of structured ops on many elements at once, where each of their ops computes element by element.

Values are arrays that broadcast, with an axis for each loop (`loop_points`); a value from outside has rank 0 there.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.loop_points import checked_places
from fuse_dialect.interpreters.foreign.meaning import Surroundings, attribute_of
from fuse_dialect.interpreters.foreign.scalars import ELEMENTWISE, scalar_function
from fuse_dialect.interpreters.foreign.table import foreign_results
from fuse_dialect.interpreters.values import EvaluationError

_READS = frozenset({"linalg.index", "tensor.extract", "tensor.dim"})
Values = dict[SSAValue, Array]


def computes_elements(block: Block) -> bool:
    """Whether each op of a body computes element by element."""
    return all(
        op.name in ELEMENTWISE or op.name in _READS or isinstance(op, arith.ConstantOp) or _is_end(op)
        for op in block.ops
    )


def _is_end(op: Operation) -> bool:
    return op.next_op is None and op.get_trait(IsTerminator) is not None


def run_body(
    block: Block, arguments: Mapping[SSAValue, Array], indices: Sequence[Array], around: Surroundings
) -> Values:
    """The values of a body whose ops all compute element by element.

    Args:
        block: The body.
        arguments: Those arguments of the block that are needed.
        indices: What `linalg.index` gives.
        around: Of the op.

    Raises:
        EvaluationError: An op of the body rejects what it is given.
    """
    values: Values = dict(arguments)
    for op in block.ops:
        if _is_end(op):
            break
        if all(operand in values or not _is_own(operand, block) for operand in op.operands):
            operands = [value_of(operand, values, around) for operand in op.operands]
            values[op.results[0]] = _result(op, operands, indices, around)
    return values


def _is_own(value: SSAValue, block: Block) -> bool:
    return value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)


def value_of(value: SSAValue, values: Mapping[SSAValue, Array], around: Surroundings) -> Array:
    """A value of a body, or from outside.

    Raises:
        TypeError: It is a tuple.
    """
    found = values[value] if value in values else around.values[value]
    if isinstance(found, tuple):
        raise TypeError("expects no tuples")
    return found


def _result(op: Operation, operands: Sequence[Array], indices: Sequence[Array], around: Surroundings) -> Array:
    try:
        match op.name:
            case "linalg.index":
                return indices[loop_of(op)]
            case "tensor.extract":
                table, *places = operands
                return np.asarray(table[checked_places(table, places)])
            case name if name in ELEMENTWISE:
                return scalar_function(op, operands)
            case _:
                return np.asarray(foreign_results(op, operands, around)[0])
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise EvaluationError(op, f"cannot be run: {error}") from error


def loop_of(op: Operation) -> int:
    """Which loop a `linalg.index` asks for.

    Raises:
        ValueError: It does not say so.
    """
    number: Attribute | None = attribute_of(op, "dim")
    data: object = getattr(getattr(number, "value", None), "data", None)
    if not isinstance(data, int):
        raise ValueError("expects a number in the attribute 'dim'")  # of the IR, not of Python
    return data
