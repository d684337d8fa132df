"""Moves: ops that put elements elsewhere and compute nothing, by native code that is the same for all sizes.

A result is the operand under other sizes and strides, or made of several such pieces. So broadcasts, slices and
transposes of sizes that are known only when the program runs need no code of their own.

1. A call's words are: the number of the word where the record begins, then the addresses as for any kernel, then the
   record.
2. A record is the number of pieces, then for each piece: how many axes it has besides the line; the words with the
   addresses that it reads from and writes to, and how many bytes behind them it begins; bytes of an element, or 0 for
   a line without gaps; how long a line is, in elements or in bytes; how many bytes from one element of a line to the
   next, of what is read and of what is written; and for each axis its size and both strides.
3. A line without gaps is copied at once. Another one is copied element by element.
4. A piece one of whose sizes is 0 moves nothing.
5. A range has no operand that it reads: where a piece would begin to read is its first number, the distance of what
   would be read is the step, and the bytes of an element are `NUMBERS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from pathlib import Path
from string import Template

import numpy as np

from fuse_dialect.backends.backend import NativeFunction
from fuse_dialect.backends.runtime.strided import Strided, broadcast_sizes, dense_strides
from fuse_dialect.backends.runtime.traced_sizes import is_same
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp
from fuse_dialect.dialect.ops.dynamic import (
    DynArangeOp,
    DynBroadcastToOp,
    DynFullOp,
    DynPadOp,
    DynStridedSliceOp,
    DynTileOp,
)
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, TileOp
from fuse_dialect.dialect.types import element_dtype, is_tensor, normalize_axes, normalize_axis
from fuse_dialect.process_wide import Once

MOVES = (
    *(BroadcastToOp, DynBroadcastToOp, DynFullOp, DynStridedSliceOp, ReverseOp, SplitOp, StridedSliceOp, TransposeOp),
    *(ConcatenateOp, DynPadOp, DynTileOp, PadOp, TileOp),
    DynArangeOp,
)
"""Ops whose results are an operand under other strides, or made of several; and a range."""
NUMBERS = -8
"""In place of the bytes of an element: integers of 64 bits that are equally far apart (5)."""
_PIECE_WORDS = 9
"""Of a piece without axes."""
_AXIS_WORDS = 3
MOVE_FAMILY = "move"
MOST_AXES = 16
"""As many counters as the code has room for."""
_ITEMS = (1, 2, 4, 8)
"""Bytes of elements."""


def moves_elements(op: FuseOp) -> bool:
    """Whether an op only moves elements, by strides."""
    if isinstance(op, DynArangeOp):
        return is_tensor(op.start.type) and element_dtype(op.start.type.element_type) == np.int64
    return isinstance(op, MOVES) and not (isinstance(op, PadOp | DynPadOp) and op.mode.data != "constant")


@dataclass(frozen=True, slots=True)
class Movement:
    """What a call moves."""

    results: Sequence[tuple[int, ...]]
    """Shapes of the results."""
    words: Sequence[int]
    """The record (2)."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """A piece."""

    operand: int
    view: Strided
    """Of the operand: its elements in the order in which they are written."""
    result: int = 0
    strides: Sequence[int] | None = None
    """Of what is written, for the shape of the view; `None` if it is all of the result."""
    offset: int = 0
    """Where in the result it begins, in bytes."""


@dataclass(frozen=True, slots=True)
class _Found:
    shapes: Sequence[tuple[int, ...]]
    lines: Sequence[_Lines]


def movement(
    op: FuseOp,
    operands: Sequence[Strided],
    numbers: Mapping[int, Sequence[int]],
    places: Sequence[int],
    arguments: int,
) -> Movement | None:
    """How an op of `MOVES` moves elements; `None` if it is not by strides.

    Args:
        op: The op; it `moves_elements`.
        operands: Its operands, dense.
        numbers: The elements of those that say sizes, by position.
        places: Which argument of the call each operand is.
        arguments: How many arguments the call has.

    Raises:
        VerifyException: The op rejects shapes or numbers.
        ValueError: The sizes do not fit.
        UntraceableError: More must be known of a traced size.
    """
    if isinstance(op, DynArangeOp):
        return _range(*(numbers[place][0] for place in op.NUMBERS), result=1 + arguments)
    found = _found(op, operands, numbers)
    if any(size < 0 for shape in found.shapes for size in shape):
        raise ValueError("a size is negative")
    pieces: list[list[int]] = []
    for lines in found.lines:
        view = lines.view
        strides = dense_strides(view.shape, view.item) if lines.strides is None else lines.strides
        axes, line = _axes(view.shape, view.strides, strides, view.item)
        if len(axes) > MOST_AXES or line[0] not in (0, *_ITEMS):
            return None
        addresses = [1 + places[lines.operand], 1 + arguments + lines.result]
        words = [word for axis in axes for word in axis]
        pieces.append([len(axes), *addresses, view.start, lines.offset, *line, *words])
    return Movement(found.shapes, [len(pieces), *(word for piece in pieces for word in piece)])


def _range(start: int, stop: int, step: int, *, result: int) -> Movement:
    """A range (5)."""
    if step == 0:
        raise ValueError("a range has a step of 0")
    # Rounded up, whichever way the step goes.
    count = -((start - stop) // step)
    count = count if count > 0 else 0
    return Movement([(count,)], [1, 0, 0, result, start, 0, NUMBERS, count, step, 0])


def _found(op: FuseOp, operands: Sequence[Strided], numbers: Mapping[int, Sequence[int]]) -> _Found:
    """The pieces that an op moves."""
    x = operands[0]
    match op:
        case ConcatenateOp():
            return _concatenation(normalize_axis(op.axis.value.data, len(x.shape)), operands)
        case TileOp():
            return _tiling(x, op.reps.get_values())
        case DynTileOp():
            return _tiling(x, numbers[1])
        case PadOp():
            return _padding(x, operands[1], op.low.get_values(), op.high.get_values())
        case DynPadOp():
            return _padding(x, operands[1], numbers[2], numbers[3])
        case SplitOp():
            return _splitting(normalize_axis(op.axis.value.data, len(x.shape)), x, op.sizes.get_values())
        case BroadcastToOp():
            return _shown(x.broadcast_to(op.target(x.shape)))
        case DynBroadcastToOp():
            return _shown(x.broadcast_to(broadcast_sizes(x.shape, numbers[1])))
        case DynFullOp():
            return _shown(x.broadcast_to(numbers[1]))
        case StridedSliceOp():
            for axis, cut in enumerate(op.slices):
                x = x.cut(axis, cut.start, cut.stop, cut.step)
            return _shown(x)
        case DynStridedSliceOp():
            axes = range(len(numbers[1])) if op.axes is None else op.axes.get_values()
            for axis, *cut in zip(axes, numbers[1], numbers[2], numbers[3], strict=True):
                x = x.cut(normalize_axis(axis, len(x.shape)), *cut)
            return _shown(x)
        case ReverseOp():
            for axis in normalize_axes(op.axes.get_values(), len(x.shape)):
                x = x.cut(axis, None, None, -1)
            return _shown(x)
        case TransposeOp():
            return _shown(x.transposed(op.order))
        case _:
            raise AssertionError("an op that moves elements")


def _shown(view: Strided) -> _Found:
    """All of the result is a view of the operand."""
    return _Found([view.shape], [_Lines(0, view)])


def _concatenation(axis: int, operands: Sequence[Strided]) -> _Found:
    first = operands[0].shape
    total: int = sum(array.shape[axis] for array in operands)
    shape = (*first[:axis], total, *first[axis + 1 :])
    strides, offset = dense_strides(shape, operands[0].item), 0
    lines: list[_Lines] = []
    for number, array in enumerate(operands):
        if (*array.shape[:axis], *array.shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise ValueError("sizes differ that are not joined")
        lines.append(_Lines(number, array, strides=strides, offset=offset))
        offset = offset + array.shape[axis] * strides[axis]
    return _Found([shape], lines)


def _splitting(axis: int, x: Strided, sizes: Sequence[int]) -> _Found:
    if x.shape[axis] != sum(sizes):
        raise ValueError("the pieces are not the whole")
    ends = [*accumulate(sizes)]
    cuts = [x.cut(axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return _Found([cut.shape for cut in cuts], [_Lines(0, cut, number) for number, cut in enumerate(cuts)])


def _tiling(x: Strided, reps: Sequence[int]) -> _Found:
    rank = max(len(x.shape), len(reps))
    if any(count < 0 for count in reps):
        raise ValueError("a number of repetitions is negative")
    sizes: tuple[int, ...] = (*[1] * (rank - len(x.shape)), *x.shape)
    times: tuple[int, ...] = (*[1] * (rank - len(reps)), *reps)
    apart = x.reshaped_dense([part for size in sizes for part in (1, size)])
    shown = apart.broadcast_to([part for pair in zip(times, sizes, strict=True) for part in pair])
    return _Found([tuple(map(mul, times, sizes))], [_Lines(0, shown)])


def _padding(x: Strided, value: Strided, low: Sequence[int], high: Sequence[int]) -> _Found:
    """The value everywhere, then what is left of the operand."""
    widths = [*zip(x.shape, low, high, strict=True)]
    shape = tuple(size + before + behind for size, before, behind in widths)
    strides = dense_strides(shape, x.item)
    offset: int = 0
    for axis, (size, before, behind) in enumerate(widths):
        begin: int = -before if before < 0 else 0
        end: int = size + behind if behind < 0 else size
        if begin > end:
            raise ValueError("more is cropped than there is")
        offset = offset + (0 if before < 0 else before) * strides[axis]
        x = x.cut(axis, begin, end)
    return _Found([shape], [_Lines(1, value.broadcast_to(shape)), _Lines(0, x, strides=strides, offset=offset)])


def longest_record(pieces: int, rank: int) -> int:
    """Words of a record of so many pieces of arrays of this rank, at most; a tiling has two axes for each."""
    return 1 + pieces * (_PIECE_WORDS + _AXIS_WORDS * 2 * rank)


def _axes(
    shape: Sequence[int], read: Sequence[int], written: Sequence[int], item: int
) -> tuple[list[tuple[int, int, int]], list[int]]:
    """The axes of a piece with both strides, and the words of its line (2).

    What sizes are decides nothing here that traced ones would be asked for: a record is right where axes are left apart
    that are one for some sizes.
    """
    axes: list[tuple[int, int, int]] = []
    for size, one, other in zip(shape, read, written, strict=True):
        if is_same(size, 1):
            continue
        # Two axes that both arrays step through as if they were one are one.
        if axes and is_same(axes[-1][1], size * one) and is_same(axes[-1][2], size * other):
            axes[-1] = (axes[-1][0] * size, one, other)
        else:
            axes.append((size, one, other))
    count, one, other = axes.pop() if axes else (1, item, item)
    has_gaps = not (is_same(one, item) and is_same(other, item))
    return axes, [item, count, one, other] if has_gaps else [0, count * item, 0, 0]


_LINES = """\
loop$item:
  %number$item = phi i64 [ 0, %line ], [ %next$item, %loop$item ]
  %from$item = phi ptr [ %source, %line ], [ %next_from$item, %loop$item ]
  %to$item = phi ptr [ %target, %line ], [ %next_to$item, %loop$item ]
  %value$item = load i$bits, ptr %from$item, align 1
  store i$bits %value$item, ptr %to$item, align 1
  %next$item = add i64 %number$item, 1
  %next_from$item = getelementptr i8, ptr %from$item, i64 %source_step
  %next_to$item = getelementptr i8, ptr %to$item, i64 %target_step
  %more$item = icmp slt i64 %next$item, %count
  br i1 %more$item, label %loop$item, label %line_done

"""


def moves_text() -> str:
    """The code of moves as LLVM IR."""
    lines = "".join(Template(_LINES).substitute(item=item, bits=8 * item) for item in _ITEMS)
    template = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
    return Template(template).substitute(loops=lines)


@Once
def move_kernel() -> NativeFunction:
    """The code of moves for this processor, compiled once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.assembler.engine import compile_object, load

    name = "fuse_move"
    code = load(compile_object(moves_text()), [name])
    return NativeFunction(code.addresses[name], MOVE_FAMILY, code)
