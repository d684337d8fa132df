"""Whether computed indices lie inside an axis of open size: `t` and `t + 1` in a loop over its elements.

1. An integer of 64 bits is a *sum*: a number, and names of sizes and counters of loops, each times a number. What is
   computed otherwise is a name of its own.
2. A counter lies between 0 and one less than the limit of its loop, or the number of its rows: the body runs for no
   other. So the least and the greatest value of a sum of counters are sums of sizes.
3. A size is 0 or more, so a sum of sizes is not negative if none of its numbers is. Of others nothing is said.
4. Arithmetic goes round at 64 bits. A sum that lies between 0 and a size is what is computed all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from xdsl.ir import BlockArgument, SSAValue

from fuse_dialect.analysis.known_sizes import KnownSizes, Sizes
from fuse_dialect.analysis.sizes import Element, Size
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.dynamic import DynStridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, SqueezeOp
from fuse_dialect.dialect.ops.regions import LoopOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp
from fuse_dialect.dialect.types import element_count, element_dtype, is_tensor, normalize_axis

SAME_ELEMENT = (BroadcastToOp, CastOp, ExpandDimsOp, ReshapeOp, SqueezeOp)
"""Ops that give the one element of their operand; casts change no number that is in range."""
_MOST_STEPS = 64
"""Ops between a value and what it is computed from that are looked through."""
_MOST_COUNTERS = 8
"""Counters of loops, one in the limit of another, that are put in."""

_Name: TypeAlias = "Size | SSAValue"


@dataclass(frozen=True, slots=True)
class Sum:
    """A number and names, each times a number (1)."""

    number: int = 0
    parts: Mapping[_Name, int] = field(default_factory=dict[_Name, int])

    def plus(self, other: "Sum", times: int = 1) -> "Sum":
        """The sum of this one and another one, `times` times."""
        parts = dict(self.parts)
        for name, factor in other.parts.items():
            parts[name] = parts.get(name, 0) + factor * times
        return Sum(self.number + other.number * times, {name: factor for name, factor in parts.items() if factor})

    @property
    def is_never_negative(self) -> bool:
        """Whether it is known to be 0 or more (3)."""
        are_sizes = all(isinstance(name, Size) and name.is_extent for name in self.parts)
        return self.number >= 0 and are_sizes and all(factor > 0 for factor in self.parts.values())


def taken_length(begin: SSAValue, end: SSAValue, size: int | Size, known: KnownSizes) -> int | None:
    """How many elements lie between two indices, if that is known, and both lie inside an axis.

    Args:
        begin: The only element is the first index.
        end: The only element is the index behind the last one.
        size: Of the axis.
        known: Of the sizes around.

    Complexity: O(`_MOST_STEPS`) ops back from each.
    """
    return _length(sum_of(begin, known), sum_of(end, known), size, known)


def taken_sizes(op: DynStridedSliceOp, known: KnownSizes) -> Sizes:
    """The sizes of a slice; those of axes sliced by 1 as numbers, if it is known how many elements lie between."""
    own: Sizes = known.sizes_of(op.input)
    axes = range(len(own)) if op.axes is None else [normalize_axis(axis, len(own)) for axis in op.axes.get_values()]
    begins, ends, strides = [_sums_of(value, known) for value in (op.begin, op.end, op.strides)]
    found = list(known.sizes_of(op.result))
    if begins is None or ends is None or strides is None:
        return tuple(found)
    for axis, first, last, stride in zip(axes, begins, ends, strides, strict=False):
        length = _length(first, last, own[axis], known) if stride == Sum(1) else None
        if length is not None:
            found[axis] = length
    return tuple(found)


def _sums_of(numbers: SSAValue, known: KnownSizes) -> list[Sum] | None:
    """The elements of a list of integers, each as a sum; `None` if its parts are not known."""
    elements = known.elements_of(numbers)
    if elements is not None:
        return [_of_element(each) for each in elements.reshape(-1).tolist()]
    parts = parts_of(numbers)
    return None if parts is None else [each for part in parts for each in _sums_of_part(part, known)]


def _sums_of_part(part: SSAValue, known: KnownSizes) -> list[Sum]:
    array = constant_of(part)
    return [sum_of(part, known)] if array is None else [Sum(int(number)) for number in array.reshape(-1)]


def parts_of(numbers: SSAValue) -> list[SSAValue] | None:
    """What a list of integers is joined of, in order: constants, and values of one element; `None` for others.

    Complexity: at most `_MOST_STEPS` concatenations and parts, however they share theirs.
    """
    parts: list[SSAValue] = []
    pending = [numbers]
    for _ in range(_MOST_STEPS):
        if not pending:
            return parts
        value = pending.pop()
        if isinstance(value.owner, ConcatenateOp):
            pending += reversed(value.owner.inputs)
        elif constant_of(value) is not None or element_count(value.type) == 1:
            parts.append(value)
        else:
            return None
    return None


def _length(first: Sum, last: Sum, size: int | Size, known: KnownSizes) -> int | None:
    """How many elements lie between two indices of an axis, if that is known and both lie inside it."""
    length = last.plus(first, -1)
    if length.parts or length.number <= 0:
        return None
    least = _extreme(first, known, is_greatest=False)
    left = _of_element(size).plus(_extreme(last, known, is_greatest=True), -1)
    return length.number if least.is_never_negative and left.is_never_negative else None


def sum_of(value: SSAValue, known: KnownSizes, steps: int = _MOST_STEPS) -> Sum:
    """The only element of a tensor as a sum (1)."""
    elements = known.elements_of(value)
    if elements is not None and elements.size == 1:
        return _of_element(elements.item())
    array = constant_of(value)
    if array is not None and array.size == 1 and array.dtype.kind in "iu":
        return Sum(int(array.item()))
    owner = value.owner
    if not steps or not is_tensor(value.type) or element_dtype(value.type.element_type) != np.int64:
        return Sum(0, {value: 1})
    if isinstance(owner, SAME_ELEMENT) and element_count(owner.operands[0].type) == 1:
        return sum_of(owner.operands[0], known, steps - 1)
    if isinstance(owner, AddOp | SubtractOp | MultiplyOp):
        # Halved, so that all that is looked at is bounded, however sums share their parts.
        one, other = (sum_of(operand, known, steps // 2) for operand in owner.operands)
        if not isinstance(owner, MultiplyOp):
            return one.plus(other, 1 if isinstance(owner, AddOp) else -1)
        if not one.parts or not other.parts:
            factor, rest = (one, other) if not one.parts else (other, one)
            return Sum().plus(rest, factor.number)
    return Sum(0, {value: 1})


def _of_element(element: Element, steps: int = _MOST_STEPS) -> Sum:
    """An integer that is known by name as a sum; what is left after so many steps is a name."""
    if not isinstance(element, Size):
        return Sum(int(element))
    if not steps or element.formula is None:
        return Sum(0, {element: 1})
    symbol, one, other = element.formula
    if isinstance(one, float) or isinstance(other, float) or symbol not in ("+", "-", "*"):
        return Sum(0, {element: 1})
    # Halved where both are sizes, so that all that is looked at is bounded, however sizes share their parts.
    left = steps // 2 if isinstance(one, Size) and isinstance(other, Size) else steps - 1
    if symbol != "*":
        return _of_element(one, left).plus(_of_element(other, left), 1 if symbol == "+" else -1)
    for factor, rest in ((one, other), (other, one)):
        if not isinstance(factor, Size):
            return Sum().plus(_of_element(rest, left), int(factor))
    return Sum(0, {element: 1})


def _extreme(found: Sum, known: KnownSizes, *, is_greatest: bool) -> Sum:
    """The least or the greatest value of a sum, with counters put in (2); those that have no end stay."""
    for _ in range(_MOST_COUNTERS):
        ends = ((name, _last(name, known)) for name in found.parts if isinstance(name, SSAValue))
        counter, last = next(((name, last) for name, last in ends if last is not None), (None, None))
        if counter is None or last is None:
            break
        factor = found.parts[counter]
        found = found.plus(Sum(0, {counter: 1}), -factor)
        if (factor > 0) == is_greatest:
            found = found.plus(last, factor)
    return found


def _last(counter: SSAValue, known: KnownSizes) -> Sum | None:
    """The greatest value of a counter, one less than how often its loop runs at most; `None` for other values."""
    if not isinstance(counter, BlockArgument) or counter.index != 0:
        return None
    loop = counter.block.parent_op()
    if not isinstance(loop, LoopOp):
        return None
    if loop.limit is not None:
        return sum_of(loop.limit, known).plus(Sum(1), -1)
    return _of_element(known.sizes_of(loop.rows[0])[0]).plus(Sum(1), -1) if loop.rows else None
