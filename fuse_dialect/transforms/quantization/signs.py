"""Integers of 8 bits with a sign become such without.

Their zero point is greater by 128: kernels multiply numbers without sign by weights with one. Whoever needs the sign
gets it back. nan becomes the least integer by itself, where it should become 0 it becomes 128.
"""

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.activation import ClipOp
from fuse_dialect.dialect.ops.broadcast import AddOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.elementwise import IsnanOp
from fuse_dialect.dialect.types import is_tensor, tensor_type, with_element
from fuse_dialect.transforms.quantization.moves import added, casts, moved_operands, on_integers
from fuse_dialect.transforms.quantization.patterns import (
    Rounding,
    elements_of,
    is_never_nan,
    quantization_of,
    rounding_of,
)

_UI8 = IntegerType(8, Signedness.UNSIGNED)


def drop_signs(module: ModuleOp) -> int:
    """Let what is rounded to integers of 8 bits have no sign.

    Returns:
        The number of roundings that changed.
    """
    roundings = [rounding_of(cast.result) for cast in casts(module) if cast.result.type.element_type == i8]
    # All are looked at before the first one changes, which hides from its readers what it is.
    found = [(each, each.has_least_for_nan or _is_never_nan(each)) for each in roundings if each is not None]
    unsigned = _Unsigned({each.cast.result: _without_sign(each, is_plain=is_plain) for each, is_plain in found})
    for rounding, _ in found:
        unsigned.convert(rounding.cast.result)
    return len(found)


def _is_never_nan(rounding: Rounding) -> bool:
    quantization = quantization_of(rounding.cast.result)
    return is_never_nan(rounding.source if quantization is None else quantization.source)


def _without_sign(rounding: Rounding, *, is_plain: bool) -> SSAValue:
    """The integers by a zero point that is greater by 128; nan is never there, or the least, if `is_plain`."""
    cast = rounding.cast
    zero = added(constant(np.array(rounding.zero + 128, np.float32)), cast)
    moved = added(AddOp(rounding.rounded, zero), cast)
    clipped = added(ClipOp(moved, min=0.0, max=255.0), cast)
    if not is_plain:
        is_nan, zero = added(IsnanOp(clipped), cast), added(constant(np.array(128, np.float32)), cast)
        clipped = added(WhereOp(is_nan, zero, clipped), cast)
    return added(CastOp(clipped, result_types=[with_element(cast.result.type, _UI8)]), cast)


class _Unsigned:
    """Rewires readers of integers with a sign."""

    def __init__(self, known: dict[SSAValue, SSAValue]):
        self.known = known
        """For integers with a sign those without, which are greater by 128 and stand where the former do, or before."""

    def convert(self, old: SSAValue) -> None:
        """Let all readers of integers with a sign read those without, and readers of what these move, too."""
        pending = [old]
        while pending:
            old = pending.pop()
            new = self.known[old]
            back: SSAValue | None = None
            for use in list(old.uses):
                reader = use.operation
                match reader:
                    case CastOp() if reader.result.type.element_type == i32:
                        _widened(reader, new)
                    case CastOp() if reader.result.type.element_type == f32:
                        _as_floats(reader, new)
                    case FuseOp() if use.index in moved_operands(reader):
                        pending += self._moved(reader)
                    case _:
                        back = back or _signed(old, new)
                        reader.operands[use.index] = back

    def _moved(self, op: FuseOp) -> list[SSAValue]:
        """Move integers without sign, of which some are known; the results whose readers are left."""
        if op.results[0] in self.known:
            return []
        operands = list(op.operands)
        for place in moved_operands(op):
            operands[place] = self._unsigned(operands[place], op)
        self.known.update(zip(op.results, on_integers(op, operands), strict=True))
        return list(op.results)

    def _unsigned(self, value: SSAValue, before: Operation) -> SSAValue:
        """Integers with a sign as such without; what `_signed` made is undone."""
        if value in self.known:
            return self.known[value]
        match value.owner:
            case CastOp() as cast if isinstance(cast.input.owner, SubtractOp):
                inner = cast.input.owner.lhs.owner
                if isinstance(inner, CastOp) and tensor_type(inner.input).element_type == _UI8:
                    return inner.input
            case _:
                pass
        wide = added(CastOp(value, result_types=[with_element(tensor_type(value), i32)]), before)
        moved = added(AddOp(wide, added(constant(np.array(128, np.int32)), before)), before)
        return added(CastOp(moved, result_types=[with_element(tensor_type(value), _UI8)]), before)


def _signed(old: SSAValue, new: SSAValue) -> SSAValue:
    """The integers with their sign, right behind those without."""
    owner = new.owner
    assert isinstance(owner, Operation)
    assert owner.next_op is not None, "somebody reads what is converted"
    before = owner.next_op
    wide = added(CastOp(new, result_types=[with_element(tensor_type(new), i32)]), before)
    moved = added(SubtractOp(wide, added(constant(np.array(128, np.int32)), before)), before)
    return added(CastOp(moved, result_types=[old.type]), before)


def _as_floats(cast: CastOp, new: SSAValue) -> None:
    """The f32 of integers with a sign, from those without."""
    wide = added(CastOp(new, result_types=[cast.result.type]), cast)
    by = added(constant(np.array(128, np.float32)), cast)
    cast.result.replace_all_uses_with(added(SubtractOp(wide, by), cast))


def _widened(cast: CastOp, new: SSAValue) -> None:
    """The i32 of integers with a sign, from those without; the zero point takes what there is too much."""
    type: Attribute = cast.result.type
    assert is_tensor(type)
    for use in list(cast.result.uses):
        reader = use.operation
        zero = elements_of(reader.operands[1]) if isinstance(reader, SubtractOp) and use.index == 0 else None
        wide = added(CastOp(new, result_types=[type]), reader)
        if zero is None:
            reader.operands[use.index] = added(
                SubtractOp(wide, added(constant(np.array(128, np.int32)), reader)), reader
            )
        else:
            assert isinstance(reader, SubtractOp)
            greater = added(constant(np.asarray(zero + np.int32(128), np.int32)), reader)
            reader.operands[0], reader.operands[1] = wide, greater
