"""Ops that move elements, on quantized numbers: they need not become real numbers in between.

1. What is quantized again by the scale and the zero point that it had, after ops that only move elements or take the
   greatest of some, are the integers themselves, moved: `(q - z) * s / s` is off by less than half.
2. Integers with a sign become such without, by a zero point that is greater by 128: kernels multiply numbers without
   sign by weights with one. Whoever needs the sign gets it back. nan becomes the least integer by itself, where it
   should become 0 it becomes 128.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import AddOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.elementwise import IsnanOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import MoveOp
from fuse_dialect.dialect.ops.pooling import GlobalMaxPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.types import is_tensor, tensor_type, with_element
from fuse_dialect.transforms.quantization.patterns import (
    Quantization,
    Rounding,
    elements_of,
    is_never_nan,
    quantization_of,
    reals_of,
    rounding_of,
    single,
)
from fuse_dialect.transforms.unfinished import walk_unfinished

_MOVES = (MoveOp, SplitOp, StridedSliceOp, ConcatenateOp, ExpandDimsOp, BroadcastToOp, RepeatOp, TileOp)
"""Ops whose results hold elements of their operands and no others."""
_MONOTONE = (MaxPool2dOp, GlobalMaxPool2dOp)
"""Ops that commute with every function that grows."""
_UI8 = IntegerType(8, Signedness.UNSIGNED)


def _casts(module: ModuleOp) -> Iterator[CastOp]:
    return (op for op in list(walk_unfinished(module)) if isinstance(op, CastOp) and op.parent is not None)


def move_integers(module: ModuleOp) -> int:
    """Move integers in place of real numbers (1).

    Returns:
        The number of quantizations that went.
    """
    count = 0
    for cast in _casts(module):
        quantization = quantization_of(cast.result)
        moved = None if quantization is None else _moved(quantization)
        if moved is not None:
            moved.name_hint = cast.result.name_hint
            cast.result.replace_all_uses_with(moved)
            count += 1
    return count


def _moved(quantization: Quantization) -> SSAValue | None:
    """The integers that a quantization would give again."""
    value, cast = quantization.source, quantization.cast
    own = _same_integers(value, quantization)
    if own is not None:
        return own
    op = value.owner
    if not isinstance(op, (*_MOVES, *_MONOTONE)):
        return None
    operands = [_same_integers(operand, quantization) for operand in op.operands]
    integers = [operand for operand in operands if operand is not None]
    if len(integers) < len(operands):
        return None
    return _on_integers(op, integers, cast)[op.results.index(value)]


def _same_integers(value: SSAValue, quantization: Quantization) -> SSAValue | None:
    reals = reals_of(value)
    if reals is None or single(reals.scale) != float(quantization.scale):
        return None
    if single(reals.integers.zero) != quantization.zero:
        return None
    q = reals.integers.q
    return q if tensor_type(q).element_type == quantization.cast.result.type.element_type else None


def _on_integers(op: FuseOp, operands: list[SSAValue], before: Operation) -> Sequence[SSAValue]:
    """The results of the same op on other elements."""
    element = tensor_type(operands[0]).element_type
    moved = type(op).create(
        operands=operands,
        result_types=[with_element(tensor_type(result), element) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    _added(moved, before)
    return moved.results


def _added(op: Operation, before: Operation) -> SSAValue:
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.results[0]


def drop_signs(module: ModuleOp) -> int:
    """Let what is rounded to integers of 8 bits have no sign (2).

    Returns:
        The number of roundings that changed.
    """
    roundings = [rounding_of(cast.result) for cast in _casts(module) if cast.result.type.element_type == i8]
    # All are looked at before the first one changes, which hides from its readers what it is.
    found = [(each, each.has_least_for_nan or _is_never_nan(each)) for each in roundings if each is not None]
    for rounding, is_plain in found:
        _Unsigned().convert(rounding.cast.result, _without_sign(rounding, is_plain=is_plain))
    return len(found)


def _is_never_nan(rounding: Rounding) -> bool:
    quantization = quantization_of(rounding.cast.result)
    return is_never_nan(rounding.source if quantization is None else quantization.source)


def _without_sign(rounding: Rounding, *, is_plain: bool) -> SSAValue:
    """The integers by a zero point that is greater by 128; nan is never there, or the least, if `is_plain`."""
    cast = rounding.cast
    zero = _added(constant(np.array(rounding.zero + 128, np.float32)), cast)
    moved = _added(AddOp(rounding.rounded, zero), cast)
    clipped = _added(ClipOp(moved, min=0.0, max=255.0), cast)
    if not is_plain:
        is_nan, zero = _added(IsnanOp(clipped), cast), _added(constant(np.array(128, np.float32)), cast)
        clipped = _added(WhereOp(is_nan, zero, clipped), cast)
    return _added(CastOp(clipped, result_types=[with_element(cast.result.type, _UI8)]), cast)


class _Unsigned:
    """Rewires readers of integers with a sign."""

    def convert(self, old: SSAValue, new: SSAValue) -> None:
        """Let all readers of `old` read `new`, which is greater by 128."""
        pending = [(old, new)]
        while pending:
            old, new = pending.pop()
            back: SSAValue | None = None
            for use in list(old.uses):
                reader = use.operation
                match reader:
                    case CastOp() if reader.result.type.element_type == i32:
                        _widened(reader, new)
                    case CastOp() if reader.result.type.element_type == f32:
                        _as_floats(reader, new)
                    case FuseOp() if isinstance(reader, (*_MOVES, *_MONOTONE)) and len(reader.operands) == 1:
                        pending += zip(reader.results, _on_integers(reader, [new], reader), strict=True)
                    case ConcatenateOp():
                        self._concatenated(reader, old, new, pending)
                    case _:
                        back = back or _signed(old, new)
                        reader.operands[use.index] = back

    def _concatenated(
        self, op: ConcatenateOp, old: SSAValue, new: SSAValue, pending: list[tuple[SSAValue, SSAValue]]
    ) -> None:
        """One operand is there without sign: the others get there, or come already."""
        if not op.results[0].uses or op.parent is None:
            return
        operands = [new if operand is old else _unsigned(operand, op) for operand in op.operands]
        pending.append((op.results[0], _on_integers(op, operands, op)[0]))


def _unsigned(value: SSAValue, before: Operation) -> SSAValue:
    """Integers with a sign as such without; what `_signed` made is undone."""
    match value.owner:
        case CastOp() as cast if isinstance(cast.input.owner, SubtractOp):
            inner = cast.input.owner.lhs.owner
            if isinstance(inner, CastOp) and tensor_type(inner.input).element_type == _UI8:
                return inner.input
        case _:
            pass
    wide = _added(CastOp(value, result_types=[with_element(tensor_type(value), i32)]), before)
    moved = _added(AddOp(wide, _added(constant(np.array(128, np.int32)), before)), before)
    return _added(CastOp(moved, result_types=[with_element(tensor_type(value), _UI8)]), before)


def _signed(old: SSAValue, new: SSAValue) -> SSAValue:
    """The integers with their sign, right behind those without."""
    owner = new.owner
    assert isinstance(owner, Operation)
    assert owner.next_op is not None, "somebody reads what is converted"
    before = owner.next_op
    wide = _added(CastOp(new, result_types=[with_element(tensor_type(new), i32)]), before)
    moved = _added(SubtractOp(wide, _added(constant(np.array(128, np.int32)), before)), before)
    return _added(CastOp(moved, result_types=[old.type]), before)


def _as_floats(cast: CastOp, new: SSAValue) -> None:
    """The f32 of integers with a sign, from those without."""
    wide = _added(CastOp(new, result_types=[cast.result.type]), cast)
    by = _added(constant(np.array(128, np.float32)), cast)
    cast.result.replace_all_uses_with(_added(SubtractOp(wide, by), cast))


def _widened(cast: CastOp, new: SSAValue) -> None:
    """The i32 of integers with a sign, from those without; the zero point takes what there is too much."""
    type: Attribute = cast.result.type
    assert is_tensor(type)
    for use in list(cast.result.uses):
        reader = use.operation
        zero = elements_of(reader.operands[1]) if isinstance(reader, SubtractOp) and use.index == 0 else None
        wide = _added(CastOp(new, result_types=[type]), reader)
        if zero is None:
            reader.operands[use.index] = _added(
                SubtractOp(wide, _added(constant(np.array(128, np.int32)), reader)), reader
            )
        else:
            assert isinstance(reader, SubtractOp)
            greater = _added(constant(np.asarray(zero + np.int32(128), np.int32)), reader)
            reader.operands[0], reader.operands[1] = wide, greater
