"""Which rows of its operands an op reads for rows of its result: what tiles of feature maps are cut by.

1. Feature maps have rank 4 and static shapes. Rows are the axis H of the first convolution or pool of a function that
   says its layout; without one, axis 2.
2. Convolutions and pools of two dimensions read windows, ops element by element the same rows, a concatenation along
   another axis too. An operand of one row, or without the axis, is read whole.
3. A window must reach the operand from every place: padding is smaller than the window. Pools in ceil mode, and all
   other ops, cannot be cut.
"""

from collections.abc import Iterable

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.op import FuseOp, MapOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.dialect.ops.pooling import AvgPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor, normalize_axis
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.templates.tiles import RowWindow

USUAL_AXIS = 2
"""The axis of rows in NCHW."""


def row_axis(ops: Iterable[Operation]) -> int:
    """(1) The axis of rows of feature maps."""
    for op in ops:
        letters = _letters(op)
        if letters is not None:
            return letters.index("H")
    return USUAL_AXIS


def rows_of(type: Attribute, axis: int) -> int:
    """Rows of a value of the type; 0 if it is no feature map."""
    if not is_tensor(type):
        return 0
    shape = type.get_shape()
    return shape[axis] if len(shape) == 4 and DYNAMIC not in shape else 0


def row_window(op: Operation, axis: int) -> RowWindow | None:
    """The rows that an op reads; `None` if it cannot be cut along the axis."""
    if not isinstance(op, FuseOp) or len(op.results) != 1 or not rows_of(op.results[0].type, axis):
        return None
    window: RowWindow | None = None
    match op:
        case MapOp():
            window = RowWindow(frozenset(_places_with_rows(op, axis)))
        case ConcatenateOp() if normalize_axis(op.axis.value.data, 4) != axis:
            window = RowWindow(frozenset(range(len(op.operands))))
        case Conv2dOp() | MaxPool2dOp() | AvgPool2dOp():
            window = _window(op, axis)
        case _:
            pass
    if window is None or not window.sliced:
        return None
    # (1) what is cut has rank 4
    return window if all(rows_of(op.operands[place].type, axis) for place in window.sliced) else None


def _letters(op: Operation) -> str | None:
    if not isinstance(op, Conv2dOp | MaxPool2dOp | AvgPool2dOp):
        return None
    layout = op.properties.get("data_layout") or op.properties.get("layout")
    return layout.data if isinstance(layout, StringAttr) and "H" in layout.data else "NCHW"


def _places_with_rows(op: MapOp, axis: int) -> list[int]:
    """(2) Operands with an axis of rows of more than one, and any that have the rows of a result of one row."""
    places: list[int] = []
    for place, operand in enumerate(op.operands):
        axes = op.operand_axes(place)
        if axis in axes and is_tensor(operand.type):
            rows = operand.type.get_shape()[axes.index(axis)]
            if rows > 1:
                places.append(place)
    return places


def _window(op: Conv2dOp | MaxPool2dOp | AvgPool2dOp, axis: int) -> RowWindow | None:
    letters = _letters(op)
    if letters is None or letters.index("H") != axis:
        return None
    if isinstance(op, Conv2dOp):
        _, (_, _, *extent) = op.canonical_shapes()
        windows: Windows = op.windows(tuple(extent))
    else:
        windows = op.windows
    ceil_mode = op.properties.get("ceil_mode")
    is_ceil = isinstance(ceil_mode, IntegerAttr) and bool(ceil_mode.value.data)
    reach = windows.reach(0)
    # (3)
    if is_ceil or reach == DYNAMIC or max(windows.low[0], windows.high[0]) >= reach:
        return None
    return RowWindow(frozenset((0,)), reach, windows.strides[0], windows.low[0])
