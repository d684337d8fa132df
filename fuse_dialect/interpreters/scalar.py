"""The NumPy meaning of the scalar code in the bodies of map ops, on all elements at once.

A value of an `arith` or `math` op is an array of that scalar's values, one for each element of the result; what the
functions mean says `loops.meanings`.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.op import Array, MapOp
from fuse_dialect.dialect.scalars import predicate_of, signless
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.loops.meanings import FUNCTIONS, evaluate_function


def evaluate_scalar(op: Operation, operands: Sequence[Array]) -> Array:
    """The values of the one result of an `arith` or `math` op, in the result's element type.

    Raises:
        InterpretationError: The op has no meaning here.
    """
    match op:
        case arith.ConstantOp():
            return np.asarray(constant_array(op.value)).astype(element_dtype(op.result.type), copy=False)
        case _ if op.name in FUNCTIONS:
            return evaluate_function(op.name, operands, element_dtype(op.results[0].type), predicate_of(op))
        case _:
            raise InterpretationError(f"'{op.name}' op has no meaning in a scalar body")


def run_scalar_body(op: MapOp, *operands: Array) -> Array:
    """The result of a map op, computed by its scalar body.

    Args:
        op: The op; its operand and result types are used.
        operands: One array for each operand, of the operand's element type.

    Returns:
        The same as `op.evaluate`, up to rounding.

    Raises:
        InterpretationError: The body holds an op that has no meaning here.
    """
    result_type = op.result_types[0]
    assert is_tensor(result_type)
    block = Block(arg_types=[signless(type.element_type) for type in op.operand_types if is_tensor(type)])
    with building(block):
        result = op.scalar_body(*block.args)
    rank = result_type.get_num_dims()
    aligned = [_aligned(array, op.operand_axes(index), rank) for index, array in enumerate(operands)]
    values: dict[SSAValue, Array] = dict(zip(block.args, map(_signless, aligned), strict=True))
    with np.errstate(all="ignore"):
        for inner in block.ops:
            values[inner.results[0]] = evaluate_scalar(inner, [values[operand] for operand in inner.operands])
        computed = values[result].astype(element_dtype(result_type.element_type), copy=False)
    shape = result_type.get_shape() if result_type.has_static_shape() else ()
    return np.broadcast_to(computed, np.broadcast_shapes(shape, *(array.shape for array in aligned)))


def _aligned(array: Array, axes: Sequence[int], rank: int) -> Array:
    """The array with `rank` axes, of which its own are `axes`."""
    sizes = dict(zip(axes, array.shape, strict=True))
    return array.reshape([sizes.get(axis, 1) for axis in range(rank)])


def _signless(array: Array) -> Array:
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array
