"""`fold-constants`: ops on constants become constants.

A `fuse.where` whose condition is one truth value is what it chooses, if that has the result's type: so it is with what
JAX asks of a routine of LAPACK that has not failed. Any other op of the `fuse` dialect is evaluated here, by its
meaning on NumPy arrays, when

1. all its operands are constants whose elements are in the module: no `dense_resource`, nothing elided;
2. its result types are static;
3. the constants grow by no more than the byte budgets allow: what the results take, less what operands took that
   nobody else reads. A splat takes the bytes of one element, and stays a splat wherever all elements of the result are
   equal by construction;
4. the work is in proportion to the bytes of the operands, so that a pass over a module of n bytes takes O(n) time;
5. it is no `fuse.stop_fusion`, and does not reject its operands (an index out of range is the program's error).

Constants that nothing reads any more are erased. Functions with `primitive` or `fuse.compiler` are left alone. An op
that stands before the constants it reads, in a block that runs after theirs, stays.

Source: TVM `FoldConstant`, src/relay/transforms/fold_constant.cc (v0.18).
Differs from TVM: its pass knows no budget, and evaluates by compiling.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from fuse_dialect.budget import Budget, Limits
from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.constants import constant, constant_of, with_dtype, without_repeats
from fuse_dialect.dialect.op import Array, FuseOp, MapOp
from fuse_dialect.dialect.ops.broadcast import WhereOp
from fuse_dialect.dialect.ops.concatenation import SplitOp
from fuse_dialect.dialect.ops.conversion import FullOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.opaque import DropoutOp, StopFusionOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.types import byte_count, element_dtype, is_tensor
from fuse_dialect.fusion.outlining.rewiring import replace_operands
from fuse_dialect.transforms.unfinished import walk_unfinished

_WORK_PER_BYTE = 256
"""Arithmetic operations for each byte of the operands; products of weights with tables of positions take fewer."""
_FREE_WORK = 1 << 24
"""Arithmetic operations that every op may take: some milliseconds."""

_KEEP_ELEMENTS = (
    *(MoveOp, BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp),
    *(StridedSliceOp, SplitOp, FullOp, DropoutOp),
)
"""Ops of one operand whose results hold elements of it and no others."""


@dataclass(frozen=True)
class FoldConstantsPass(ModulePass):
    """Compute ops whose operands are constants, and drop constants that nothing reads."""

    name = "fold-constants"

    max_bytes: int = 1 << 26
    """Bytes that the results of one op may add to the constants of the module."""
    max_total_bytes: int = 1 << 28
    """Bytes that all folded ops together may add."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold in all functions of the module.

        Raises:
            PassFailedException: A budget is negative.

        Complexity: O(ops + operands + bytes of constants).
        """
        for name, value in (("max-bytes", self.max_bytes), ("max-total-bytes", self.max_total_bytes)):
            if value < 0:
                raise PassFailedException(f"option '{name}' expects 0 or more, got {value}")
        folding = _Folding(self.max_bytes, Limits(bytes=self.max_total_bytes).budget())
        for inner in walk_unfinished(op):
            folding.visit(inner)
        folding.finish(op)


@dataclass(eq=False, slots=True)
class _Folding:
    """One run over a module."""

    max_bytes: int
    budget: Budget
    """What all folded ops together may add."""
    replacement: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The constant for each result that was folded. Users are rewired when they are visited: to do it at once takes
    the number of a user's operands for each of them."""
    origin: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The other way round: users that were not visited yet still read the old result."""

    def visit(self, op: Operation) -> None:
        """Let the op read what was folded before it, and fold it."""
        replace_operands(op, self.replacement)
        if not isinstance(op, FuseOp) or isinstance(op, StopFusionOp) or not op.operands:
            return
        operands = [constant_of(operand) for operand in op.operands]
        if isinstance(op, WhereOp) and (chosen := _chosen(op, operands[0])) is not None:
            self.replacement[op.results[0]] = chosen
            self._erase(op)
            return
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands) or not all(_is_static(result) for result in op.results):
            return
        results = self._results(op, known)
        if results is not None:
            self._replace(op, results)

    def _results(self, op: FuseOp, operands: Sequence[Array]) -> Sequence[Array] | None:
        """The elements of the results, or `None` when they are too many or take too long."""
        if all(_is_splat(operand) for operand in operands) and isinstance(op, (MapOp, *_KEEP_ELEMENTS)):
            return _evaluate_splats(op, operands)
        growth = sum(byte_count(result.type) or 0 for result in op.results) - self._bytes_freed(op)
        # (3) A splat may be one element that stands for terabytes, which NumPy would write out.
        written_out = max((operand.nbytes for operand in operands if _is_splat(operand)), default=0)
        if max(growth, written_out) > self.max_bytes:
            return None
        flops = op.flops()
        stored = sum(_stored_bytes(operand) for operand in op.operands)
        if flops is None or flops > _WORK_PER_BYTE * stored + _FREE_WORK:  # (4)
            return None
        return _evaluate(op, operands) if self.budget.take(bytes=max(growth, 0)) else None

    def _bytes_freed(self, op: FuseOp) -> int:
        """Bytes of the operands that nothing else reads."""
        return sum(_stored_bytes(value) for value in op.operands if value.has_one_use() and not self._is_awaited(value))

    def _is_awaited(self, value: SSAValue) -> bool:
        """Whether ops that were not visited yet will read the constant."""
        return value in self.origin and bool(self.origin[value].uses)

    def _replace(self, op: FuseOp, arrays: Sequence[Array]) -> None:
        block = op.parent
        assert block is not None, "an op that was found by a walk stands in a block"
        for result, array in zip(op.results, arrays, strict=True):
            new = constant(array)
            new.location = op.location
            new.attributes.update({key: item for key, item in op.attributes.items() if key != PATTERN_KIND_ATTRIBUTE})
            new.result.name_hint = result.name_hint
            block.insert_op_before(new, op)
            self.replacement[result] = new.result
            self.origin[new.result] = result
        self._erase(op)

    def _erase(self, op: FuseOp) -> None:
        """Take the op away, whose users are rewired when they are visited, and constants that only it has read."""
        operands = dict.fromkeys(op.operands)
        op.detach()
        op.drop_all_references()
        for value in operands:
            if isinstance(value.owner, arith.ConstantOp) and not value.uses and not self._is_awaited(value):
                value.owner.detach()
                value.owner.erase()

    def finish(self, module: ModuleOp) -> None:
        """Rewire users that stand before what they read, and erase constants that nothing reads."""
        for op in list(walk_unfinished(module)):
            replace_operands(op, self.replacement)
        for op in list(walk_unfinished(module)):
            if isinstance(op, arith.ConstantOp) and not op.result.uses:
                op.detach()
                op.erase()


def _chosen(op: WhereOp, condition: Array | None) -> SSAValue | None:
    """The operand that the op gives, as a whole; not a constant, as nobody would know that it is awaited."""
    if condition is None or not condition.size or not _is_splat(condition):
        return None
    value = op.operands[1 if condition.flat[0] else 2]
    return value if value.type == op.results[0].type and not isinstance(value.owner, arith.ConstantOp) else None


def _is_static(value: SSAValue) -> bool:
    """Whether the value is an array of known size, and NumPy can show one: no other has an address for each byte."""
    bytes = byte_count(value.type) if is_tensor(value.type) else None
    return bytes is not None and bytes <= sys.maxsize


def _is_splat(array: Array) -> bool:
    return array.size == 1 or (array.size > 1 and not any(array.strides))


def _stored_bytes(value: SSAValue) -> int:
    """Bytes that a constant takes in the module."""
    assert isinstance(value.owner, arith.ConstantOp)
    attribute = value.owner.value
    return len(attribute.data.data) if isinstance(attribute, DenseIntOrFPElementsAttr) else 8


def _evaluate_splats(op: FuseOp, operands: Sequence[Array]) -> Sequence[Array] | None:
    """The results of an op whose operands are splats: one element, repeated by strides of zero."""
    single = [without_repeats(operand) for operand in operands]
    values = _computed(op, single) if isinstance(op, MapOp) and not isinstance(op, FullOp) else single * len(op.results)
    if values is None:
        return None
    shapes = [result.type.get_shape() for result in op.results if is_tensor(result.type)]
    elements = [value.reshape(()) for value in values]
    return _checked(op, [np.broadcast_to(element, shape) for element, shape in zip(elements, shapes, strict=True)])


def _evaluate(op: FuseOp, operands: Sequence[Array]) -> Sequence[Array] | None:
    values = _computed(op, operands)
    return None if values is None else _checked(op, values)


def _computed(op: FuseOp, operands: Sequence[Array]) -> Sequence[Array] | None:
    """What the op means, or `None` when it rejects the operands: whoever runs the program shall hear of it."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(value) for value in op.evaluate(*operands)]
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError, VerifyException):
        return None


def _checked(op: FuseOp, values: Sequence[Array]) -> Sequence[Array] | None:
    """The values in the element types of the results; `None` when one has not the shape that its type says."""
    arrays: list[Array] = []
    for value, result in zip(values, op.results, strict=True):
        assert is_tensor(result.type)
        if value.shape != result.type.get_shape():
            return None
        with np.errstate(all="ignore"):
            dtype = element_dtype(result.type.element_type)
            arrays.append(value if value.dtype == dtype else with_dtype(value, dtype))
    return arrays
