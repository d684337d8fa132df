"""`recognize-bands`: masks along a diagonal become `fuse.band`, which each reader computes from positions.

A causal mask, or a window, comes as a constant, or as comparisons of `fuse.arange`. Either is stored and read again for
each row of scores, and nobody sees what it hides. A value becomes a band when

1. it is a constant, or computed from constants and `fuse.arange` alone by ops of the `fuse` dialect, and is read by an
   op that is not;
2. its last two axes have 4,096 elements or more, and all that stands before them is the same;
3. it has two values, one of which fills a band: all places whose distance from row to column lies in an interval;
   integers have no more than 53 bits.

A number of f16 or bf16 that a choice by a band takes is written as a band of one number: else kernels would not know
it. Each op that reads one gets a band of its own, so that kernels need not share it. Functions with `primitive` or
`fuse.compiler` are left alone.
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, bf16, f16
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import Budget, Limits
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import WhereOp
from fuse_dialect.dialect.ops.comparison import BandOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.opaque import ArangeOp, StopFusionOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor, tensor
from fuse_dialect.transforms.unfinished import walk_unfinished

_LEAST = 4096
"""Elements of a mask: fewer are read in no time (2)."""
_MOST = 1 << 28
"""Elements that are computed to find masks, in all: those of four steps of one of 8,192 squared."""


@dataclass(frozen=True, slots=True)
class Band:
    """An array of two values as a band (3)."""

    lower: int
    upper: int
    inside: Array
    """Of rank 0."""
    outside: Array


@dataclass(frozen=True)
class RecognizeBandsPass(ModulePass):
    """Compute masks along a diagonal from positions where they are read."""

    name = "recognize-bands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Recognize the bands of all functions of the module.

        Complexity: linear in the number of ops and of elements of constants with two axes.
        """
        search = _Search()
        for inner in list(walk_unfinished(op)):
            search.visit(inner)


@dataclass(eq=False, slots=True)
class _Search:
    """One run over a module."""

    budget: Budget = field(default_factory=lambda: Limits(bytes=_MOST).budget())
    arrays: dict[SSAValue, Array | None] = field(default_factory=dict[SSAValue, "Array | None"])
    """Values that follow from constants and positions alone (1); `None` until somebody asks for the elements."""
    computed: set[SSAValue] = field(default_factory=set[SSAValue])
    """Those of them that follow from positions, too."""
    bands: dict[SSAValue, Band | None] = field(default_factory=dict[SSAValue, "Band | None"])

    def visit(self, op: Operation) -> None:
        """Note what follows from positions, and let other ops compute the bands that they read."""
        if self._is_of_positions(op):
            self.computed.update(op.results)
            return
        if not isinstance(op, FuseOp) or isinstance(op, StopFusionOp) or all(map(self._is_constant, op.operands)):
            return
        for place, operand in enumerate(op.operands):
            band = self._band(operand)
            if band is not None:
                op.operands[place] = _written(band, operand, op)
                if isinstance(op, WhereOp) and place == 0:
                    _know_numbers(op)

    def _is_of_positions(self, op: Operation) -> bool:
        if not isinstance(op, FuseOp) or op.regions or isinstance(op, StopFusionOp) or len(op.results) != 1:
            return False
        type = op.results[0].type
        if not is_tensor(type) or DYNAMIC in type.get_shape() or prod(type.get_shape()) > _MOST:
            return False
        known = all(operand in self.computed or self._is_constant(operand) for operand in op.operands)
        return known and (isinstance(op, ArangeOp) or any(operand in self.computed for operand in op.operands))

    def _is_constant(self, value: SSAValue) -> bool:
        return isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp)

    def _band(self, value: SSAValue) -> Band | None:
        """A value as a band."""
        type = value.type
        if not (value in self.computed or self._is_constant(value)) or not is_tensor(type):
            return None
        shape = type.get_shape()
        if len(shape) < 2 or DYNAMIC in shape or not prod(shape) or prod(shape[-2:]) < _LEAST:  # (2)
            return None
        if value not in self.bands:
            array = self._array(value)
            self.bands[value] = None if array is None else band_of(array)
        return self.bands[value]

    def _array(self, value: SSAValue) -> Array | None:
        """The elements of a value, operands first; `None` if that is too much work, or an op rejects them."""
        pending = [value]
        while pending:
            each = pending[-1]
            if each in self.arrays:
                pending.pop()
                continue
            if self._is_constant(each):
                self.arrays[each] = constant_of(each)
                continue
            assert isinstance(each, OpResult), "only results follow from positions"
            op = each.op
            assert isinstance(op, FuseOp), "as `_is_of_positions` says"
            missing = [operand for operand in op.operands if operand not in self.arrays]
            if missing:
                pending.extend(missing)
                continue
            self.arrays[each] = self._evaluated(op, [self.arrays[operand] for operand in op.operands])
        return self.arrays[value]

    def _evaluated(self, op: FuseOp, operands: "list[Array | None]") -> Array | None:
        known = [operand for operand in operands if operand is not None]
        type = op.results[0].type
        assert is_tensor(type), "as `_is_of_positions` says"
        if len(known) < len(operands) or not self.budget.take(bytes=prod(type.get_shape())):
            return None
        try:
            (array,) = op.evaluate(*known)
        except (VerifyException, ValueError):
            return None
        return array


def band_of(array: Array) -> Band | None:
    """An array as a band; `None` if it has more than two values, or neither fills a band.

    Args:
        array: Of rank 2 or more; what stands before its last two axes must be the same.

    Complexity: linear in the number of elements.
    """
    if array.dtype.kind not in "bifu" and array.dtype.name != "bfloat16":
        return None
    if not any(array.strides):
        return None
    # Weights may be in a file that is not read so far: their first numbers differ, and no other page is touched.
    if len(np.unique(array[(0,) * (array.ndim - 1)][:8])) > 2 or len(np.unique(_some(array))) > 2:
        return None
    planes = array.reshape(-1, *array.shape[-2:])
    first = planes[0]
    one, other = first[0, -1], first[-1, 0]
    # A band leaves out a corner; where both are outside the inside is on the diagonal, or there is none.
    flags = first != one
    if not flags.any():
        flags, one = first != other, other
    if not flags.any():
        return None
    places = np.unravel_index(int(flags.argmax()), flags.shape)
    different = first[places]
    if not ((first == one) | (first == different)).all() or any((plane != first).any() for plane in planes[1:]):
        return None
    if any(int(number) != float(number) for number in (one, different) if array.dtype.kind in "iu"):
        return None
    for inside, outside, mask in ((different, one, flags), (one, different, ~flags)):
        bounds = _bounds(mask)
        if bounds is not None:
            return Band(*bounds, np.asarray(inside), np.asarray(outside))
    return None


def _some(array: Array) -> Array:
    """Some elements: weights are not read for two of them that differ."""
    rows, columns = (max(1, size // 8) for size in array.shape[-2:])
    return array[(0,) * (array.ndim - 2)][::rows, ::columns].ravel()


def _bounds(mask: Array) -> tuple[int, int] | None:
    """The least and the greatest distance from row to column inside of a mask, if it is a band."""
    rows, columns = mask.shape
    held: Array = np.flatnonzero(mask.any(axis=1))
    if not held.size:
        return None
    lower = int(np.min(mask[held].argmax(axis=1) - held))
    upper = int(np.max(columns - 1 - mask[held, ::-1].argmax(axis=1) - held))
    band = np.tri(rows, columns, upper, dtype=np.bool_) & ~np.tri(rows, columns, lower - 1, dtype=np.bool_)
    return (lower, upper) if (band == mask).all() else None


def _know_numbers(op: WhereOp) -> None:
    """Let a choice by a band know which f16 or bf16 it chooses: TVM leaves such constants outside of kernels."""
    mask = op.operands[0].type
    assert is_tensor(mask), "a band is an array"
    for place in (1, 2):
        number, type = constant_of(op.operands[place]), op.operands[place].type
        if number is None or not is_tensor(type) or type.get_num_dims() or type.element_type not in (f16, bf16):
            continue
        rows, columns = mask.get_shape()[-2:]
        value, flat = float(number), tensor([rows, columns], type.element_type)
        same = BandOp(result_types=[flat], lower=-rows, upper=columns, inside=value, outside=value)
        same.location = op.location
        Rewriter.insert_op(same, InsertPoint.before(op))
        op.operands[place] = same.result


def _written(band: Band, value: SSAValue, reader: Operation) -> SSAValue:
    """The band as ops in front of a reader."""
    assert is_tensor(value.type), "a band is an array"
    shape, at = tuple(value.type.get_shape()), InsertPoint.before(reader)

    def put(op: FuseOp) -> SSAValue:
        op.location = value.owner.location if isinstance(value.owner, Operation) else reader.location
        Rewriter.insert_op(op, at)
        op.results[0].name_hint = value.name_hint
        return op.results[0]

    flat = tensor(shape[-2:], value.type.element_type)
    inside, outside = float(band.inside), float(band.outside)
    result = put(BandOp(result_types=[flat], lower=band.lower, upper=band.upper, inside=inside, outside=outside))
    if len(shape) > 2 and prod(shape[:-2]) == 1:
        return put(ReshapeOp(result, result_types=[value.type]))
    return put(BroadcastToOp(result, result_types=[value.type])) if len(shape) > 2 else result
