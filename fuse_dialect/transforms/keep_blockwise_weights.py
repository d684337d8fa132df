"""`keep-blockwise-weights`: products by weights of few bits read these bits, and not the numbers they stand for.

Models store weights as integers `q` of 4 or 8 bits, with a scale for each block of a row, and say by formulas what
numbers these are: `(q - zero) * scale`, with moves around it (`DequantizeLinear` with `block_size`; reshape, subtract,
multiply and reshape; MatMulNBits). To fold that would make 4 or 8 times as many bytes, which a product of few rows has
to read. In place of it the product becomes a `fuse.blockwise_dense`.

1. The product is a `fuse.dense`, `fuse.matmul` or `fuse.batch_matmul` of f32, whose right operand is such a matrix.
2. The formulas may be written in any order of moves: they are followed with the elements of integers, zero points and
   scales side by side. Blocks are what these say in the end: equal runs along the sum.
3. Blocks have an even number of at least 16 elements; scales and zero points are finite numbers, and so are products.
4. Small weights lie in caches whatever they are, and are left alone, and so are functions with `primitive` or
   `fuse.compiler`.

Sums of a block are scaled once, so that results differ by rounding.

Source: Lin et al., AWQ (arXiv:2306.00978); MLC-LLM, FuseDequantizeMatmulEwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp, f32, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.blockwise import BlockwiseDenseOp
from fuse_dialect.dialect.ops.broadcast import MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp, MatmulOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.types import byte_count, is_tensor
from fuse_dialect.transforms.unfinished import walk_unfinished

i16 = IntegerType(16)
_MOVES = (MoveOp, ExpandDimsOp, StridedSliceOp)
_PARAMETER_OPS = (*_MOVES, BroadcastToOp, RepeatOp, TileOp, CastOp)
_MOST_STEPS = 16
_LEAST_BLOCK = 16
_LARGEST_SCALE = 1e30
"""Products of such scales with integers of 8 bits are far from the greatest f32."""
_LARGEST_ZERO = 1 << 12
"""Integers of 8 bits less such zero points are numbers of 16 bits."""
_MOST_BYTES = 1 << 30
"""Of a parameter that is repeated for each element."""


@dataclass(frozen=True)
class KeepBlockwiseWeightsPass(ModulePass):
    """Let products read weights of few bits as they are stored."""

    name = "keep-blockwise-weights"

    least_bytes: int = 1 << 20
    """Bytes that a weight would take in f32, from which on it is kept."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change all functions of the module; linear in the number of ops and bytes of weights.

        Raises:
            PassFailedException: `least-bytes` is negative.
        """
        if self.least_bytes < 0:
            raise PassFailedException(f"option 'least-bytes' expects 0 or more, got {self.least_bytes}")
        for inner in list(walk_unfinished(op)):
            if isinstance(inner, DenseOp | MatmulOp | BatchMatmulOp):
                _keep(inner, self.least_bytes)


@dataclass(frozen=True, slots=True)
class _Weight:
    """Integers, and what they stand for: `(q - zero) * scale`, by element."""

    q: Array
    zero: Array
    scale: Array

    def moved(self, op: FuseOp) -> "_Weight":
        """The same in another order."""
        return _Weight(*(op.evaluate(array)[0] for array in (self.q, self.zero, self.scale)))


def _keep(product: DenseOp | MatmulOp | BatchMatmulOp, least_bytes: int) -> None:
    """Rewrite a product if its weight is of this kind."""
    x, matrix = product.operands
    if not is_tensor(matrix.type) or matrix.type.element_type != f32 or matrix.type.get_num_dims() != 2:  # (1)
        return
    if not is_tensor(x.type) or x.type.get_num_dims() < 1 or (byte_count(matrix.type) or 0) < least_bytes:  # (4)
        return
    if not isinstance(product, DenseOp) and product.transpose_a.value.data:
        return
    is_in_rows = isinstance(product, DenseOp) or bool(product.transpose_b.value.data)
    chain = _chain(matrix)
    weight = None if chain is None else _weight(*chain)
    operands = None if weight is None else _operands(weight, is_in_rows)
    if operands is None:
        return
    constants = [constant(array) for array in operands]
    q = operands[0]
    low, high = (0, 15) if q.dtype == np.uint8 else (-8, 7)
    bits = 4 if low <= int(q.min()) and int(q.max()) <= high else 8
    new = BlockwiseDenseOp(x, *constants, bits=bits, result_types=product.result_types)
    for each in (*constants, new):
        each.location = product.location
        Rewriter.insert_op(each, InsertPoint.before(product))
    new.result.name_hint = product.result.name_hint
    new.attributes.update(product.attributes)
    product.result.replace_all_uses_with(new.result)
    Rewriter.erase_op(product)
    _erase_unread(matrix)


def _erase_unread(value: SSAValue) -> None:
    """Erase what computes a value that nobody reads any more."""
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, FuseOp | arith.ConstantOp) and not any(result.uses for result in owner.results):
            operands = list(dict.fromkeys(owner.operands))
            Rewriter.erase_op(owner)
            pending += operands


def _chain(value: SSAValue) -> tuple[Array, Sequence[FuseOp]] | None:
    """The integers that a matrix comes from, and the ops on the way, in order; `None` if it comes from elsewhere."""
    ops: list[FuseOp] = []
    while len(ops) < _MOST_STEPS and isinstance(value.owner, FuseOp):
        op = value.owner
        if not isinstance(op, (*_MOVES, CastOp, SubtractOp, MultiplyOp)):
            return None
        ops.insert(0, op)
        value = op.operands[_followed(op)]
    array = constant_of(value)
    if array is None or array.dtype.name not in ("int8", "uint8", "int4", "uint4"):
        return None
    # A number that repeats stands for a constant of any size.
    return (array, ops) if ops and array.size and all(array.strides) else None


def _followed(op: FuseOp) -> int:
    """The operand of an op that integers come by: of a product that which is no parameter."""
    if not isinstance(op, MultiplyOp):
        return 0
    return 0 if isinstance(op.lhs.owner, CastOp | SubtractOp) and op.lhs.type == op.result.type else 1


def _weight(array: Array, ops: Sequence[FuseOp]) -> _Weight | None:
    """What the integers stand for when all ops are done (2)."""
    q = array.astype(np.uint8 if array.dtype.name.startswith("uint") else np.int8, copy=False)
    weight, is_scaled, is_shifted = _Weight(q, *(np.broadcast_to(np.float32(n), q.shape) for n in (0, 1))), False, False
    for op in ops:
        element = op.results[0].type.element_type if is_tensor(op.results[0].type) else None
        if isinstance(op, CastOp):
            if is_scaled or element not in (i16, i32, f32):
                return None
        elif isinstance(op, SubtractOp | MultiplyOp):
            parameter = _known(op.operands[1 - _followed(op)])
            is_shift = isinstance(op, SubtractOp)
            if parameter is None or is_scaled or (is_shift and is_shifted) or element not in (i16, i32, f32):
                return None
            parameter = parameter.astype(np.float32)
            if not is_shift and element != f32:
                return None
            # (3) a comparison with nan fails
            if not (np.abs(parameter) < (_LARGEST_ZERO if is_shift else _LARGEST_SCALE)).all():
                return None
            if op.operands[_followed(op)].type != op.results[0].type:
                return None
            parameter = np.broadcast_to(parameter, weight.q.shape)
            weight = replace(weight, zero=parameter) if is_shift else replace(weight, scale=parameter)
            is_scaled, is_shifted = is_scaled or not is_shift, is_shifted or is_shift
        else:
            weight = weight.moved(op)
    return weight if is_scaled else None


def _known(value: SSAValue) -> Array | None:
    """The elements of a parameter: a constant, or what a few moves and conversions make of one."""
    ops: list[FuseOp] = []
    while isinstance(value.owner, _PARAMETER_OPS) and len(ops) < _MOST_STEPS:
        if byte_count(value.type) is None:
            return None
        ops.insert(0, value.owner)
        value = value.owner.operands[0]
    array = constant_of(value)
    for op in ops:
        if array is None or (byte_count(op.results[0].type) or 0) > _MOST_BYTES:
            return None
        with np.errstate(all="ignore"):
            (array,) = op.evaluate(array)
    return array


def _operands(weight: _Weight, is_in_rows: bool) -> tuple[Array, Array, Array] | None:
    """Integers, scales and zero points of a `fuse.blockwise_dense`; `None` if there are no blocks (2, 3)."""
    q, zero, scale = (array if is_in_rows else array.T for array in (weight.q, weight.zero, weight.scale))
    block = q.shape[1]
    for parameters in (scale, zero):
        if parameters.strides[1]:
            changes = np.flatnonzero((parameters[:, 1:] != parameters[:, :-1]).any(axis=0)) + 1
            block = gcd(block, *changes.tolist())
    if block < _LEAST_BLOCK or block % 2:
        return None
    scale, zero = scale[:, ::block], zero[:, ::block]
    first = zero[0, 0]
    same = np.asarray(first) if (zero == first).all() else np.ascontiguousarray(zero)
    return np.ascontiguousarray(q), np.ascontiguousarray(scale), same
