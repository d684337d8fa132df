"""Moves: ops that put elements elsewhere and compute nothing, by native code that is the same for all sizes.

Where a result is the operand under other strides is what NumPy says: an op is evaluated on an array of the right shape
whose elements nobody reads, and what it gives is a view of that. So broadcasts, slices and transposes of sizes that are
known only when the program runs need no code of their own.

1. A call's words are: the number of the word where the record begins, then the addresses as for any kernel, then the
   record.
2. A record is the number of pieces, then for each piece: how many axes it has besides the line; the words with the
   addresses that it reads from and writes to, and how many bytes behind them it begins; bytes of an element, or 0 for
   a line without gaps; how long a line is, in elements or in bytes; how many bytes from one element of a line to the
   next, of what is read and of what is written; and for each axis its size and both strides.
3. A line without gaps is copied at once. Another one is copied element by element.
4. No size is 0: a piece without elements is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fuse_dialect.backends.backend import Packing
from fuse_dialect.backends.runtime.size_arithmetic import meaning_on_sizes
from fuse_dialect.dialect.dynamic_form import sizes_in
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp
from fuse_dialect.dialect.ops.dynamic import DynBroadcastToOp, DynFullOp, DynPadOp, DynStridedSliceOp, DynTileOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, TileOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.process_wide import Once

MOVES = (
    *(BroadcastToOp, DynBroadcastToOp, DynFullOp, DynStridedSliceOp, ReverseOp, SplitOp, StridedSliceOp, TransposeOp),
    *(ConcatenateOp, DynPadOp, DynTileOp, PadOp, TileOp),
)
"""Ops whose results are an operand under other strides, or made of several."""
_PIECE_WORDS = 9
"""Of a piece without axes."""
_AXIS_WORDS = 3
MOST_AXES = 16
"""As many counters as the code has room for."""
_ITEMS = (1, 2, 4, 8)
"""Bytes of elements."""


def moves_elements(op: FuseOp) -> bool:
    """Whether an op only moves elements, by strides."""
    return isinstance(op, MOVES) and not (isinstance(op, PadOp | DynPadOp) and op.mode.data != "constant")


@dataclass(frozen=True, slots=True)
class Movement:
    """What a call moves."""

    results: Sequence[tuple[int, ...]]
    """Shapes of the results."""
    words: Sequence[int]
    """The record (2)."""


def movement(op: FuseOp, operands: Sequence[Array], places: Sequence[int], arguments: int) -> Movement | None:
    """How an op of `MOVES` moves elements; `None` if it is not by strides.

    Args:
        op: The op; it `moves_elements`.
        operands: Arrays of the right shapes; only the elements of numbers that say sizes count.
        places: Which argument of the call each operand is.
        arguments: How many arguments the call has.

    Raises:
        VerifyException: The op rejects shapes or numbers.
        ValueError: NumPy does.
    """
    match op:
        case ConcatenateOp():
            found = _concatenation(normalize_axis(op.axis.value.data, operands[0].ndim), operands)
        case TileOp():
            found = _tiling(operands[0], op.reps.get_values())
        case DynTileOp():
            found = _tiling(operands[0], sizes_in(operands[1], "reps"))
        case PadOp():
            found = _padding(operands[0], operands[1], op.low.get_values(), op.high.get_values())
        case DynPadOp():
            found = _padding(operands[0], operands[1], operands[2].tolist(), operands[3].tolist())
        case _:
            evaluate = meaning_on_sizes(op) or op.evaluate
            results = evaluate(*operands)
            found = _Found(
                [each.shape for each in results], [_Lines(0, each, number) for number, each in enumerate(results)]
            )
    pieces: list[list[int]] = []
    for lines in found.lines:
        source = operands[lines.operand]
        if not lines.view.size:
            continue  # condition 4
        if not np.may_share_memory(lines.view, source):
            return None
        item = source.itemsize
        strides = _dense(lines.view.shape, item) if lines.strides is None else lines.strides
        skip = _address(lines.view) - _address(source)
        axes, line = _axes(lines.view.shape, lines.view.strides, strides, item)
        if len(axes) > MOST_AXES or line[0] not in (0, *_ITEMS):
            return None
        addresses = [1 + places[lines.operand], 1 + arguments + lines.result]
        words = [word for axis in axes for word in axis]
        pieces.append([len(axes), *addresses, skip, lines.offset, *line, *words])
    return Movement(found.shapes, [len(pieces), *(word for piece in pieces for word in piece)])


@dataclass(frozen=True, slots=True)
class _Lines:
    """A piece, as NumPy sees it."""

    operand: int
    view: Array
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


def _concatenation(axis: int, operands: Sequence[Array]) -> _Found:
    first = operands[0].shape
    shape = (*first[:axis], sum(array.shape[axis] for array in operands), *first[axis + 1 :])
    strides, offset = _dense(shape, operands[0].itemsize), 0
    lines: list[_Lines] = []
    for number, array in enumerate(operands):
        if (*array.shape[:axis], *array.shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise ValueError("sizes differ that are not joined")
        lines.append(_Lines(number, array, strides=strides, offset=offset))
        offset += array.shape[axis] * strides[axis]
    return _Found([shape], lines)


def _tiling(x: Array, reps: Sequence[int]) -> _Found:
    rank = max(x.ndim, len(reps))
    sizes = (*[1] * (rank - x.ndim), *x.shape)
    times = (*[1] * (rank - len(reps)), *reps)
    apart = x.reshape([part for size in sizes for part in (1, size)])
    shown = np.broadcast_to(apart, [part for pair in zip(times, sizes, strict=True) for part in pair])
    return _Found([tuple(map(mul, times, sizes))], [_Lines(0, shown)])


def _padding(x: Array, value: Array, low: Sequence[int], high: Sequence[int]) -> _Found:
    """The value everywhere, then what is left of the operand."""
    shape = tuple(size + before + behind for size, before, behind in zip(x.shape, low, high, strict=True))
    strides = _dense(shape, x.itemsize)
    cuts = [
        slice(max(-before, 0), size - max(-behind, 0)) for size, before, behind in zip(x.shape, low, high, strict=True)
    ]
    if any(cut.start > cut.stop for cut in cuts):
        raise ValueError("more is cropped than there is")
    offset = sum(max(before, 0) * stride for before, stride in zip(low, strides, strict=True))
    kept = x[tuple(cuts)]
    return _Found([shape], [_Lines(1, np.broadcast_to(value, shape)), _Lines(0, kept, strides=strides, offset=offset)])


def longest_record(pieces: int, rank: int) -> int:
    """Words of a record of so many pieces of arrays of this rank, at most; a tiling has two axes for each."""
    return 1 + pieces * (_PIECE_WORDS + _AXIS_WORDS * 2 * rank)


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _dense(shape: Sequence[int], item: int) -> list[int]:
    """Strides of a row-major array, in bytes."""
    strides: list[int] = []
    step = item
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def _axes(
    shape: Sequence[int], read: Sequence[int], written: Sequence[int], item: int
) -> tuple[list[tuple[int, int, int]], list[int]]:
    """The axes of a piece with both strides, and the words of its line (2)."""
    axes: list[tuple[int, int, int]] = []
    for size, one, other in zip(shape, read, written, strict=True):
        if size == 1:
            continue
        # Two axes that both arrays step through as if they were one are one.
        if axes and axes[-1][1] == size * one and axes[-1][2] == size * other:
            axes[-1] = (axes[-1][0] * size, one, other)
        else:
            axes.append((size, one, other))
    count, one, other = axes.pop() if axes else (1, item, item)
    has_gaps = (one, other) != (item, item)
    return axes, [item, count, one, other] if has_gaps else [0, count * item, 0, 0]


@dataclass(frozen=True, slots=True)
class MoveKernel:
    """The native function of all moves."""

    address: int
    owner: Any = field(repr=False)
    """Keeps the machine code."""

    @property
    def checked(self) -> int:
        """There is no fault to find."""
        return 0

    @property
    def family(self) -> str:
        """That of moves."""
        return "move"

    @property
    def workspace_bytes(self) -> int:
        """None."""
        return 0

    @property
    def packings(self) -> Mapping[int, Packing]:
        """None."""
        return {}

    @property
    def parallel(self) -> bool:
        """One part does it."""
        return False


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
def move_kernel() -> MoveKernel:
    """The code of moves for this processor, compiled once per process.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.assembler.engine import compile_object, load

    name = "fuse_move"
    code = load(compile_object(moves_text()), [name])
    return MoveKernel(code.addresses[name], code)
