"""Ops that move elements, on quantized numbers: they need not become real numbers in between.

1. What is quantized again by the scale and the zero point that it had, after ops that only move elements or take the
   greatest of some, are the integers themselves, moved: `(q - z) * s / s` is off by less than half.
2. Real numbers that such ops put beside, around or in place of some are known: their integers are constants.
3. Each op is put on integers once, however many quantizations read it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import WhereOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp, StackOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp, PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.pooling import GlobalMaxPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.types import is_tensor, is_unsigned, tensor_type, with_element
from fuse_dialect.transforms.quantization.patterns import Quantization, elements_of, quantization_of, reals_of, single
from fuse_dialect.transforms.unfinished import walk_unfinished

_MOVED: Mapping[type[FuseOp], slice] = {
    MoveOp: slice(1),
    SplitOp: slice(1),
    StridedSliceOp: slice(1),
    TakeOp: slice(1),
    GatherOp: slice(1),
    GatherNdOp: slice(1),
    ExpandDimsOp: slice(1),
    BroadcastToOp: slice(1),
    RepeatOp: slice(1),
    TileOp: slice(1),
    # These commute with every function that grows.
    MaxPool2dOp: slice(1),
    GlobalMaxPool2dOp: slice(1),
    ConcatenateOp: slice(None),
    StackOp: slice(None),
    PadOp: slice(2),
    WhereOp: slice(1, 3),
}
"""Ops whose results hold elements of some operands and no others, and which operands these are."""
_MOST_LOOKED_AT = 256
"""Values between a quantization and what was quantized before: a bound on the work for each."""


@dataclass(frozen=True, slots=True)
class _Scheme:
    """How integers stand for real numbers."""

    scale: float
    zero: int
    element: Attribute
    is_unsigned: bool

    def integers(self, reals: Array) -> Array | None:
        """Known real numbers as integers; `None` for nan."""
        if reals.dtype != np.float32 or np.isnan(reals).any():
            return None
        low, high = (0, 255) if self.is_unsigned else (-128, 127)
        with np.errstate(all="ignore"):
            rounded = np.rint(reals / np.float32(self.scale)) + np.float32(self.zero)
        return np.clip(rounded, low, high).astype(np.uint8 if self.is_unsigned else np.int8)


def moved_operands(op: Operation) -> range:
    """The operands whose elements are those of the results; none for an op that computes."""
    found = next((places for kind, places in _MOVED.items() if isinstance(op, kind)), slice(0))
    return range(*found.indices(len(op.operands)))


def casts(module: ModuleOp) -> Iterator[CastOp]:
    """Conversions of elements, in the order of the text; those that went since are left out."""
    return (op for op in list(walk_unfinished(module)) if isinstance(op, CastOp) and op.parent is not None)


def added(op: Operation, before: Operation) -> SSAValue:
    """Put an op before another, at its location; its first result."""
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.results[0]


def on_integers(op: FuseOp, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The results of the same op on other elements; it stands before the op."""
    element = tensor_type(operands[moved_operands(op)[0]]).element_type
    moved = type(op).create(
        operands=operands,
        result_types=[with_element(tensor_type(result), element) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    added(moved, op)
    return moved.results


def move_integers(module: ModuleOp) -> int:
    """Move integers in place of real numbers.

    Returns:
        The number of quantizations that went.
    """
    count, moves = 0, _Moves()
    for cast in casts(module):
        quantization = quantization_of(cast.result)
        moved = None if quantization is None else moves.integers_of(quantization)
        if moved is not None:
            moved.name_hint = cast.result.name_hint
            cast.result.replace_all_uses_with(moved)
            count += 1
    return count


class _Moves:
    """Ops that have been put on integers."""

    def __init__(self) -> None:
        self._known: dict[tuple[SSAValue, _Scheme], SSAValue] = {}
        """Integers that stand for real numbers (3)."""
        self._constants: dict[tuple[SSAValue, _Scheme], Array] = {}
        """Those of known real numbers (2), which are no constants yet."""

    def integers_of(self, quantization: Quantization) -> SSAValue | None:
        """The integers that a quantization would give again; `None` if something computes in between."""
        type = quantization.cast.result.type
        scheme = _Scheme(float(quantization.scale), quantization.zero, type.element_type, is_unsigned(type))
        order = self._order(quantization.source, scheme)
        if order is None:
            return None
        for value in reversed(order):
            self._put(value, scheme)
        return self._known[quantization.source, scheme]

    def _order(self, source: SSAValue, scheme: _Scheme) -> list[SSAValue] | None:
        """The moves before a value, each after all that read it; `None` if it comes from anything else."""
        found: dict[SSAValue, int] = {}
        pending = [source]
        for step in range(_MOST_LOOKED_AT):
            if not pending:
                return sorted(found, key=lambda value: found[value])
            value = pending.pop()
            if (value, scheme) in self._known:
                continue
            found[value] = step
            if self._is_known(value, scheme):
                continue
            owner = value.owner
            if not isinstance(owner, FuseOp) or not (places := moved_operands(owner)):
                return None
            pending += [owner.operands[place] for place in places]
        return None

    def _is_known(self, value: SSAValue, scheme: _Scheme) -> bool:
        """Whether the integers are there that a real number comes from, or can be made a constant (2)."""
        if reals_of(value) is not None:
            q = _same_integers(value, scheme)
            if q is not None:
                self._known[value, scheme] = q
            return q is not None
        known = elements_of(value) if is_tensor(value.type) else None
        integers = None if known is None else scheme.integers(known)
        if integers is not None:
            self._constants[value, scheme] = integers
        return integers is not None

    def _put(self, value: SSAValue, scheme: _Scheme) -> None:
        """Put the op that gives a value on integers, unless that is done."""
        if (value, scheme) in self._known:
            return
        op = value.owner
        assert isinstance(op, Operation), "only ops move, and constants are ops"
        if (value, scheme) in self._constants:
            self._known[value, scheme] = added(constant(self._constants.pop((value, scheme))), op)
            return
        assert isinstance(op, FuseOp), "only ops move"
        operands = list(op.operands)
        for place in moved_operands(op):
            operands[place] = self._known[operands[place], scheme]
        self._known.update(
            ((result, scheme), moved) for result, moved in zip(op.results, on_integers(op, operands), strict=True)
        )


def _same_integers(value: SSAValue, scheme: _Scheme) -> SSAValue | None:
    """The integers that a real number comes from, if they stand for it by the same numbers."""
    reals = reals_of(value)
    if reals is None or single(reals.scale) != scheme.scale or single(reals.integers.zero) != scheme.zero:
        return None
    q = reals.integers.q
    return q if tensor_type(q).element_type == scheme.element else None
