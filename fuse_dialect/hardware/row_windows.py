"""Which rows of its operands an op reads for rows of its result: what tiles of feature maps are cut by.

1. Feature maps have rank 4 and static shapes. Rows are the axis H of the first convolution or pool of a function that
   says its layout; without one, axis 2.
2. Convolutions, transposed ones too, and pools of two dimensions read windows, ops element by element the same rows.
   So do a concatenation along another axis, a transpose or slice that leaves rows alone, and a reshape with the same
   elements before and behind a row. An operand of one row, or without the axis, is read whole.
3. A window must reach the operand from every place: padding is smaller than the window. In ceil mode the last window
   reaches further, into padding that a tile has for it; an average that counts padding would count it.
4. All other ops cannot be cut.
"""

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.op import FuseOp, MapOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp, Conv2dTransposeOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.pooling import AvgPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.shape_rules import product
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


def row_window(op: Operation, axis: int) -> RowWindow | str:
    """The rows that an op reads, or why it cannot be cut along the axis."""
    if not isinstance(op, FuseOp):
        return "it is of another dialect"
    if len(op.results) != 1 or not rows_of(op.results[0].type, axis):
        return "its result has no rows: rank 4 and known sizes are asked for"
    window: RowWindow | str
    match op:
        case MapOp():
            window = RowWindow(frozenset(_places_with_rows(op, axis)))
        case ConcatenateOp():
            is_of_rows = normalize_axis(op.axis.value.data, 4) == axis
            window = "it puts rows together" if is_of_rows else RowWindow(frozenset(range(len(op.operands))))
        case TransposeOp() | StridedSliceOp() | ReshapeOp():
            window = RowWindow(frozenset((0,))) if _keeps_rows(op, axis) else "it moves rows"
        case Conv2dOp() | MaxPool2dOp() | AvgPool2dOp() | Conv2dTransposeOp():
            window = _window(op, axis)
        case _:
            window = "it reads more than some rows"
    if isinstance(window, str):
        return window
    # (1) what is cut has rank 4
    if not window.sliced or not all(rows_of(op.operands[place].type, axis) for place in window.sliced):
        return "it reads no rows"
    return window


def _keeps_rows(op: TransposeOp | StridedSliceOp | ReshapeOp, axis: int) -> bool:
    """(2) Whether row i of the result is made of row i of the operand alone."""
    source, target = op.input.type.get_shape(), op.result.type.get_shape()
    if len(source) != 4 or DYNAMIC in source:
        return False
    match op:
        case TransposeOp():
            return op.order[axis] == axis
        case StridedSliceOp():
            return op.slices[axis] == slice(None)
        case ReshapeOp():
            return source[axis] == target[axis] and product(source[:axis]) == product(target[:axis])


def _letters(op: Operation) -> str | None:
    if not isinstance(op, Conv2dOp | MaxPool2dOp | AvgPool2dOp | Conv2dTransposeOp):
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


def _window(op: Conv2dOp | MaxPool2dOp | AvgPool2dOp | Conv2dTransposeOp, axis: int) -> RowWindow | str:
    letters = _letters(op)
    if letters is None or letters.index("H") != axis:
        return "its rows lie along another axis than those of the function"
    if isinstance(op, Conv2dOp | Conv2dTransposeOp):
        _, (_, _, *extent) = op.canonical_shapes()
        windows: Windows = op.windows(tuple(extent))
    else:
        windows = op.windows
    reach, stride, low = windows.reach(0), windows.strides[0], windows.low[0]
    if reach == DYNAMIC:
        return "the size of its window is not known"
    if isinstance(op, Conv2dTransposeOp):
        return RowWindow(frozenset((0,)), reach, before=low, up=stride)
    # (3)
    if max(low, windows.high[0]) >= reach:
        return "its padding is as large as its window"
    rows = rows_of(op.input.type, axis)
    overhang = (rows_of(op.result.type, axis) - 1) * stride + reach - low - rows - windows.high[0]
    if isinstance(op, AvgPool2dOp) and overhang > 0 and op.count_include_pad.value.data:
        return "it counts padding, and its last window reaches beyond it"
    return RowWindow(frozenset((0,)), reach, stride, low)
