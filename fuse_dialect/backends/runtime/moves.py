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
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from fuse_dialect.backends.backend import Packing
from fuse_dialect.backends.runtime.size_arithmetic import sized_evaluate
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp
from fuse_dialect.dialect.ops.dynamic import DynBroadcastToOp, DynStridedSliceOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.process_wide import Once

VIEWS = (BroadcastToOp, DynBroadcastToOp, DynStridedSliceOp, ReverseOp, SplitOp, StridedSliceOp, TransposeOp)
"""Ops whose results are their first operand under other strides."""
MOVES = (*VIEWS, ConcatenateOp)
_PIECE_WORDS = 9
"""Of a piece without axes."""
_AXIS_WORDS = 3
MOST_AXES = 16
"""As many counters as the code has room for."""
_ITEMS = (1, 2, 4, 8)
"""Bytes of elements."""


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
        op: The op.
        operands: Arrays of the right shapes; only the elements of numbers that say sizes count.
        places: Which argument of the call each operand is.
        arguments: How many arguments the call has.

    Raises:
        VerifyException: The op rejects shapes or numbers.
    """
    pieces: list[Sequence[int]] = []
    shapes: list[tuple[int, ...]] = []
    if isinstance(op, ConcatenateOp):
        axis = normalize_axis(op.axis.value.data, operands[0].ndim)
        shape = (
            *operands[0].shape[:axis],
            sum(array.shape[axis] for array in operands),
            *operands[0].shape[axis + 1 :],
        )
        strides, offset = _dense(shape, operands[0].itemsize), 0
        for place, array in zip(places, operands, strict=True):
            pieces += _piece(array.shape, array.strides, strides, 1 + place, 1 + arguments, 0, offset, array.itemsize)
            offset += array.shape[axis] * strides[axis]
        shapes.append(shape)
    else:
        source = operands[0]
        base = _address(source)
        for number, result in enumerate(sized_evaluate(op)(*operands)):
            shapes.append(result.shape)
            if not result.size:
                continue
            if not np.may_share_memory(result, source):
                return None
            pieces += _piece(
                result.shape,
                result.strides,
                _dense(result.shape, result.itemsize),
                1 + places[0],
                1 + arguments + number,
                _address(result) - base,
                0,
                result.itemsize,
            )
    if any(piece[0] > MOST_AXES or piece[5] not in (0, *_ITEMS) for piece in pieces):
        return None
    return Movement(shapes, [len(pieces), *(word for piece in pieces for word in piece)])


def longest_record(pieces: int, rank: int) -> int:
    """Words of a record of so many pieces of arrays of this rank, at most."""
    return 1 + pieces * (_PIECE_WORDS + _AXIS_WORDS * rank)


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


def _piece(
    shape: Sequence[int],
    read: Sequence[int],
    written: Sequence[int],
    source: int,
    target: int,
    skip: int,
    offset: int,
    item: int,
) -> list[list[int]]:
    """The words of a piece (2), in a list; an empty one if it has no elements (4)."""
    if 0 in shape:
        return []
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
    line = [item, count, one, other] if has_gaps else [0, count * item, 0, 0]
    return [[len(axes), source, target, skip, offset, *line, *(word for axis in axes for word in axis)]]


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
