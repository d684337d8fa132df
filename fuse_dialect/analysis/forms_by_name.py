"""What a `dyn_` op stands for when some of its numbers are known by name alone: sizes of its operand."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.analysis.sizes import Size
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynBroadcastToOp, DynReshapeOp, DynStridedSliceOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp
from fuse_dialect.dialect.types import DYNAMIC, with_shape

_OPEN_END = np.iinfo(np.int64).max


def form_by_name(
    op: DynamicOp, data: Sequence[SSAValue], sizes: Sequence[int | Size], numbers: Sequence[Array]
) -> FuseOp | None:
    """The static op of the same meaning, if there is one whose open sizes are those of the operand.

    Args:
        op: Any `dyn_` op.
        data: The operands of the static op.
        sizes: Of the first of them.
        numbers: Elements of the others; of dtype object where names are among them.

    Raises:
        VerifyException: The numbers are not what the op may get.
    """
    match op:
        case DynBroadcastToOp():
            return _broadcast(op, data, sizes, list(numbers[0]))
        case DynReshapeOp():
            return _reshape(op, data, sizes, list(numbers[0]))
        case DynStridedSliceOp():
            return _strided_slice(op, data, sizes, numbers)
        case _:
            return None


def _broadcast(
    op: DynBroadcastToOp, data: Sequence[SSAValue], sizes: Sequence[int | Size], wanted: list[int | Size]
) -> FuseOp | None:
    """`broadcast_to` where every name wanted is the size that the operand has there."""
    rank = max(len(sizes), len(wanted))
    own: list[int | Size] = [*[1] * (rank - len(sizes)), *sizes]
    target: list[int] = []
    for have, want in zip(own, [*[1] * (rank - len(wanted)), *wanted], strict=True):
        if isinstance(want, Size) or isinstance(have, Size):
            if want not in (have, 1):
                return None
            target.append(DYNAMIC if isinstance(have, Size) else have)
        else:
            target.append(have if want == 1 else want)
    return BroadcastToOp(*data, result_types=[with_shape(op.input.type, target)])


def _reshape(
    op: DynReshapeOp, data: Sequence[SSAValue], sizes: Sequence[int | Size], wanted: list[int | Size]
) -> FuseOp | None:
    """`reshape` where all open sizes but one are those of the operand, in front."""
    if not op.allowzero.value.data and 0 in wanted:
        wanted = [sizes[axis] if size == 0 and axis < len(sizes) else size for axis, size in enumerate(wanted)]
    dims = [DYNAMIC if isinstance(size, Size) or size == -1 else size for size in wanted]
    unknown = [axis for axis, dim in enumerate(dims) if dim == DYNAMIC]
    shared = unknown[-2] + 1 if len(unknown) > 1 else 0
    if list(sizes[:shared]) != wanted[:shared] or 0 in dims:
        return None
    return ReshapeOp(*data, result_types=[with_shape(op.input.type, dims)])


def _strided_slice(
    op: DynStridedSliceOp, data: Sequence[SSAValue], sizes: Sequence[int | Size], numbers: Sequence[Array]
) -> FuseOp | None:
    """`strided_slice` where every name is the end of its axis."""
    axes = range(len(numbers[0])) if op.axes is None else op.axes.get_values()
    lists: list[list[int]] = []
    for array in numbers:
        bounds = [
            _OPEN_END if isinstance(b, Size) and b == sizes[axis] else b for b, axis in zip(array, axes, strict=True)
        ]
        if any(isinstance(bound, Size) for bound in bounds):
            return None
        lists.append([int(cast(int, bound)) for bound in bounds])
    begin, end, strides = lists
    return StridedSliceOp(*data, begin=begin, end=end, strides=strides, axes=list(axes))
