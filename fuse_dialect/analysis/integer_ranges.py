"""The least and the greatest integer that a value may hold, found from how it is computed.

1. Constants, `arange`, sums, differences, products, minima, maxima and choices have a range; ops that only move or pick
   elements pass it on. Where arithmetic would go round, and for everything else, it is that of the type.
2. The counter of a loop begins at 0. It stays below the limit and below the number of rows, where they are known.

Source: value ranges as in MLIR's IntRangeAnalysis, mlir/include/mlir/Interfaces/InferIntRangeInterface.td.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from fuse_dialect.dialect.constants import constant_of, without_repeats
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp, StackOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.indexing import PadOp, PickOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.ops.regions import LoopOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor, tensor_type

Range: TypeAlias = tuple[int, int]
"""The least and the greatest element that there may be."""
MAX_DEPTH = 64
"""Ops between a value and what it is computed from that are looked through."""
MAX_ELEMENTS = 1 << 16
"""Different elements of a constant that are looked at."""


@dataclass(eq=False, slots=True)
class Ranges:
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
        if not depth:
            return limits
        if isinstance(value, BlockArgument):
            return self._counted(value, depth) or limits
        if not isinstance(value, OpResult):
            return limits
        rule = next((RULES[kind] for kind in type(value.op).__mro__ if kind in RULES), None)
        if rule is None or isinstance(value.op, PadOp):
            return limits
        found = rule(value.op, [self.of(operand, depth - 1) for operand in value.op.operands])
        # Beyond what the type holds, arithmetic goes round.
        return found if found is not None and limits[0] <= found[0] and found[1] <= limits[1] else limits

    def _counted(self, argument: BlockArgument, depth: int) -> Range | None:
        """The range of a loop's counter (2); `None` for other arguments."""
        loop = argument.block.parent_op()
        if not isinstance(loop, LoopOp) or argument.index != 0:
            return None
        ends = [size for value in loop.rows if (size := tensor_type(value).get_shape()[0]) != DYNAMIC]
        limit = None if loop.limit is None else self.of(loop.limit, depth - 1)
        if limit is not None:
            ends.append(limit[1])
        return (0, max(min(ends) - 1, 0)) if ends else None


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
