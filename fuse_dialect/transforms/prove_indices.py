"""`prove-indices`: indices that cannot be out of range are marked, so that nobody looks.

`fuse.gather` and `fuse.gather_nd` raise an error for an index out of range: a kernel looks at all indices, and does not
run in parts. Where every index is known to be in range, `mode = "fast"` says so:

1. A range of integers is found for a value from how it is computed: constants, `arange`, sums, differences, products,
   minima, maxima and choices. Ops that only move or pick elements pass the range on. Otherwise it is that of the type.
2. The numbers of a position in `gather_nd` have a range each, where they are constants or put side by side by a
   concatenation.
3. Indices may count from the end, down to minus the size. Sizes are those of the type; an open one proves nothing.

Functions with `primitive` or `fuse.compiler` are left alone.

Source: masks as `torch.onnx.export` writes them index a tensor by `arange`; value ranges as in MLIR's
IntRangeAnalysis, mlir/include/mlir/Interfaces/InferIntRangeInterface.td.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.dialect.constants import constant_of, without_repeats
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp, StackOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp, PadOp, PickOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, is_tensor, normalize_axis
from fuse_dialect.transforms.unfinished import walk_unfinished

Range: TypeAlias = tuple[int, int]
"""The least and the greatest element that there may be."""
MAX_DEPTH = 64
"""Ops between an index and what it is computed from that are looked through."""
MAX_ELEMENTS = 1 << 16
"""Different elements of a constant that are looked at."""


@dataclass(frozen=True)
class ProveIndicesPass(ModulePass):
    """Mark `gather` and `gather_nd` whose indices are known to be in range."""

    name = "prove-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark those of all functions of the module; linear in the number of ops and operands."""
        ranges = _Ranges()
        for inner in walk_unfinished(op):
            if isinstance(inner, GatherOp | GatherNdOp) and inner.mode.data == "raise" and _is_proven(inner, ranges):
                inner.mode = StringAttr("fast")


def _is_proven(op: GatherOp | GatherNdOp, ranges: "_Ranges") -> bool:
    if isinstance(op, GatherOp):
        axis = normalize_axis(op.axis.value.data, len(op.shape))
        return _is_inside(ranges.of(op.indices), op.shape[axis])
    depth = op.indices.type.get_shape()[-1]
    batch = op.batch_dims.value.data
    sizes = op.shape[batch : batch + depth] if depth != DYNAMIC else ()
    each = _each_number(op.indices, depth, ranges)
    return bool(sizes) and all(_is_inside(found, size) for found, size in zip(each, sizes, strict=True))


def _is_inside(found: Range | None, size: int) -> bool:
    return found is not None and size != DYNAMIC and -size <= found[0] and found[1] < size


def _each_number(indices: SSAValue, depth: int, ranges: "_Ranges") -> Sequence[Range | None]:
    """The ranges of the numbers of a position (2)."""
    array = constant_of(indices)
    if array is not None and 0 < array.size <= MAX_ELEMENTS:
        numbers = array.reshape(-1, depth)
        return list(zip(map(int, numbers.min(0)), map(int, numbers.max(0)), strict=True))
    owner = indices.owner
    rank = len(cast(Tensor, indices.type).get_shape())
    if isinstance(owner, ConcatenateOp) and normalize_axis(owner.axis.value.data, rank) == rank - 1:
        widths = [operand.type.get_shape()[-1] for operand in owner.inputs]
        if DYNAMIC not in widths:
            parts = zip(owner.inputs, widths, strict=True)
            return [ranges.of(operand) for operand, width in parts for _ in range(width)]
    if isinstance(owner, StackOp) and normalize_axis(owner.axis.value.data, rank) == rank - 1:
        return [ranges.of(operand) for operand in owner.inputs]
    return [ranges.of(indices)] * depth


@dataclass(eq=False, slots=True)
class _Ranges:
    """Ranges of values, each found once."""

    known: dict[SSAValue, Range | None] = field(default_factory=dict[SSAValue, Range | None])

    def of(self, value: SSAValue, depth: int = MAX_DEPTH) -> Range | None:
        """The range of a tensor of integers, at most that of its type; `None` for other types."""
        if value not in self.known:
            self.known[value] = self._found(value, depth)
        return self.known[value]

    def _found(self, value: SSAValue, depth: int) -> Range | None:
        limits = _limits(value)
        if limits is None:
            return None
        array = constant_of(value)
        if array is not None:
            elements = without_repeats(array)
            return (int(elements.min()), int(elements.max())) if 0 < elements.size <= MAX_ELEMENTS else limits
        if not isinstance(value, OpResult) or not depth:
            return limits
        rule = next((RULES[kind] for kind in type(value.op).__mro__ if kind in RULES), None)
        if rule is None or isinstance(value.op, PadOp):
            return limits
        found = rule(value.op, [self.of(operand, depth - 1) for operand in value.op.operands])
        # Beyond what the type holds, arithmetic goes round.
        return found if found is not None and limits[0] <= found[0] and found[1] <= limits[1] else limits


def _limits(value: SSAValue) -> Range | None:
    """The least and greatest integer of a tensor's type."""
    if not is_tensor(value.type):
        return None
    dtype = element_dtype(value.type.element_type)
    if dtype.kind not in "iu":
        return None
    info = np.iinfo(cast("np.dtype[np.int64]", dtype))
    return int(info.min), int(info.max)


_Rule: TypeAlias = Callable[[Operation, Sequence[Range | None]], Range | None]


def _first(op: Operation, ranges: Sequence[Range | None]) -> Range | None:
    return ranges[0]


def _either(op: Operation, ranges: Sequence[Range | None]) -> Range | None:
    known = [each for each in ranges if each is not None]
    if not known or len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _chosen(op: Operation, ranges: Sequence[Range | None]) -> Range | None:
    return _either(op, ranges[1:])


def _combined(combine: Callable[[int, int], int]) -> _Rule:
    """What an operator that is monotone in each operand makes of the ends of two ranges."""

    def rule(op: Operation, ranges: Sequence[Range | None]) -> Range | None:
        one, other = ranges
        if one is None or other is None:
            return None
        ends = [combine(first, second) for first in one for second in other]
        return min(ends), max(ends)

    return rule


def _arange(op: Operation, ranges: Sequence[Range | None]) -> Range | None:
    assert isinstance(op, ArangeOp), "the rule is for this op"
    start, step, count = op.start.value.data, op.step.value.data, op.length
    ends = (int(start), int(start + step * (count - 1)))
    return (min(ends), max(ends)) if count and start.is_integer() and step.is_integer() else None


RULES: Mapping[type[FuseOp], _Rule] = {
    MoveOp: _first,
    PickOp: _first,
    BroadcastToOp: _first,
    ExpandDimsOp: _first,
    RepeatOp: _first,
    TileOp: _first,
    SplitOp: _first,
    CastOp: _first,
    ConcatenateOp: _either,
    StackOp: _either,
    WhereOp: _chosen,
    AddOp: _combined(int.__add__),
    SubtractOp: _combined(int.__sub__),
    MultiplyOp: _combined(int.__mul__),
    MinimumOp: _combined(min),
    MaximumOp: _combined(max),
    ArangeOp: _arange,
}
"""How the ranges of operands give that of a result, by op."""
