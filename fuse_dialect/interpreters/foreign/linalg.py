"""Meanings of linalg on tensors. Most of its ops are structured: maps and a body, which the op itself tells."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, MemRefType
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.bodies import loop_of
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, integers_of
from fuse_dialect.interpreters.foreign.no_meaning import no_meaning
from fuse_dialect.interpreters.foreign.scalars import narrowed
from fuse_dialect.interpreters.foreign.structured import run_structured
from fuse_dialect.interpreters.foreign.tiles import pack, unpack
from fuse_dialect.interpreters.values import EvaluationError


@runtime_checkable
class _Structured(Protocol):
    """An op that tells its indexing maps, as xDSL's and those of our reader do."""

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        """For each operand the map from loops to the place of an element."""
        ...


def _structured(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    _check_tensors(op)
    if not isinstance(op, _Structured) or not op.regions:
        raise no_meaning(op)
    maps = [attribute.data for attribute in op.get_indexing_maps()]
    return run_structured(op, op.regions[0], maps, operands, len(op.results), around)


def _check_tensors(op: Operation) -> None:
    if any(isinstance(type, MemRefType) for type in op.operand_types) or not op.results:
        raise EvaluationError(op, "has a meaning on tensors alone in the NumPy interpreter")


def _fill(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The first operand everywhere."""
    _check_tensors(op)
    value, init = operands
    if value.dtype != init.dtype:
        value = narrowed(value, init.dtype)
    return (np.full(init.shape, value),)


def _transpose(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    _check_tensors(op)
    return (_as_init(operands[0].transpose(integers_of(op, "permutation")), operands[1]),)


def _broadcast(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The init's shape; `dimensions` are the axes that the input lacks."""
    _check_tensors(op)
    given, init = operands
    aligned = np.expand_dims(given, tuple(integers_of(op, "dimensions")))
    if aligned.ndim != init.ndim or any(
        size not in (1, own) for size, own in zip(aligned.shape, init.shape, strict=True)
    ):
        raise ValueError(f"cannot broadcast {list(given.shape)} to {list(init.shape)}")
    return (np.broadcast_to(aligned, init.shape),)


def _as_init(result: Array, init: Array) -> Array:
    if result.shape != init.shape:
        raise ValueError(f"expects an init of {list(result.shape)}, got {list(init.shape)}")
    return result


def _map(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The body on the elements of one place of all inputs; the block may or may not take the init's."""
    _check_tensors(op)
    maps = [AffineMap.identity(operands[-1].ndim)] * len(operands)
    return run_structured(op, op.regions[0], maps, operands, 1, around)


def _reduce(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The body on an element and the total so far; `dimensions` are the axes that go."""
    _check_tensors(op)
    count = len(operands) // 2
    rank = operands[0].ndim
    reduced = integers_of(op, "dimensions")
    kept = tuple(AffineExpr.dimension(axis) for axis in range(rank) if axis not in reduced)
    maps = [AffineMap.identity(rank)] * count + [AffineMap(rank, 0, kept)] * count
    return run_structured(op, op.regions[0], maps, operands, count, around)


def _softmax(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Source: MLIR, `SoftmaxOp::decomposeOperation`: the greatest element goes off before `exp`."""
    _check_tensors(op)
    given = operands[0]
    axis = integers_of(op, "dimension")[0]
    wide = given.astype(np.float64) if given.dtype.itemsize == 8 else given.astype(np.float32)
    if not given.shape[axis]:
        return (given,)
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True),)


def _quantized_matmul(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """Products of integers less their zero points, added to the init."""
    _check_tensors(op)
    lhs, rhs, lhs_zero, rhs_zero, init = (operand.astype(np.int64) for operand in operands)
    return (init + (lhs - lhs_zero) @ (rhs - rhs_zero),)


def _index(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (around.indices[loop_of(op)],)


MEANINGS: Rows = defaultdict(
    lambda: _structured,
    {
        "linalg.broadcast": _broadcast,
        "linalg.fill": _fill,
        "linalg.index": _index,
        "linalg.map": _map,
        "linalg.pack": pack,
        "linalg.quantized_matmul": _quantized_matmul,
        "linalg.reduce": _reduce,
        "linalg.softmax": _softmax,
        "linalg.transpose": _transpose,
        "linalg.unpack": unpack,
    },
)
