"""Counting: ops whose results have as many rows as the data says, by native code, and what follows once that is known.

1. A counting call has room for as many rows as there can be, its *bound*. It writes the first rows of its results,
   counts them, and is over: rows of other calls come behind it in the driver's table, as those of any call.
2. The words of such a call are: the number of the word where its record begins, the address of its *section*, that of
   the first word of the frame, that of the frame's atoms; then the addresses as for any kernel, then the record.
3. A section of `size_sections` says what follows from one count. The word before it is the number of the atom that the
   count is.
4. Where a condition does not hold, or the op rejects what it reads, the run ends; then the function runs step by step.
5. A record begins with the numbers of the words that hold the addresses of the op's operands, of its results, and of
   memory for what it puts down. That of a result that nobody reads is 0.
6. Suppression looks at a vector of kept boxes at once. The last one reads behind them, lanes that do not count.
"""

from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, c_int64
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import func

from fuse_dialect.backends.backend import NativeFunction
from fuse_dialect.backends.runtime.count_words import COUNT_ITERATIONS, COUNT_WORDS, KEY_KINDS
from fuse_dialect.backends.runtime.single_ops import single_op
from fuse_dialect.backends.types import OPEN, Shape, TensorType
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynTopkOp
from fuse_dialect.dialect.ops.opaque import ArgwhereOp
from fuse_dialect.dialect.ops.selection import NonMaxSuppressionOp, UniqueOp
from fuse_dialect.dialect.types import element_dtype, is_tensor, normalize_axis
from fuse_dialect.loops.orders import RUN
from fuse_dialect.process_wide import Once

_SOME_BOXES = 4096
"""A limit of suppression up to which there is room for as many boxes as it says."""


@dataclass(frozen=True, slots=True)
class Counting:
    """What an op gives that counts."""

    bound: int
    """Most rows."""
    shapes: Callable[[int], Sequence[Shape]]
    """Sizes of its results for a number of rows."""
    words: Sequence[int]
    """Its own part of the record."""
    scratch: int = 0
    """Words that it puts something down in."""


_Describe: TypeAlias = Callable[[Any, Sequence[TensorType], Sequence[Shape], Sequence[Array | None]], Counting]


def _argwhere(
    op: ArgwhereOp, types: Sequence[TensorType], shapes: Sequence[Shape], _: Sequence[Array | None]
) -> Counting:
    """Record: bytes of an element, its bits but the sign of a zero, how many there are, how many axes, their sizes."""
    (type,), (shape,) = types, shapes
    bits = 8 * type.dtype.itemsize
    # A negative zero is a zero: of floats, and of those that NumPy has no type for, the sign does not count.
    mask = (1 << bits - 1) - 1 if type.dtype.kind in "fV" else (1 << bits) - 1
    count, rank = prod(shape), len(shape)
    signed = mask - (1 << 64) if mask >> 63 else mask
    return Counting(count, lambda rows: [(rows, rank)], [type.dtype.itemsize, signed, count, rank, *shape])


def _topk(op: DynTopkOp, types: Sequence[TensorType], shapes: Sequence[Shape], _: Sequence[Array | None]) -> Counting:
    """Record: kind and bytes of an element, bytes of `k`, how many lines, their size, whether they ascend."""
    *outer, size = shapes[0]
    item, ascends = types[0].dtype.itemsize, int(bool(op.is_ascend.value.data))
    words = [_kind(types[0]), item, types[1].dtype.itemsize, prod(outer), size, ascends]
    return Counting(size, lambda rows: [(*outer, rows)] * 2, words, _sort_words(size, item))


def _unique(op: UniqueOp, types: Sequence[TensorType], shapes: Sequence[Shape], _: Sequence[Array | None]) -> Counting:
    """Record: kind and bytes of an element, how many there are."""
    item, size = types[0].dtype.itemsize, prod(shapes[0])
    words = [_kind(types[0]), item, size]
    return Counting(size, lambda rows: [(rows,), (rows,), (size,), (rows,)], words, _sort_words(size, item))


def _suppression(
    op: NonMaxSuppressionOp, types: Sequence[TensorType], shapes: Sequence[Shape], values: Sequence[Array | None]
) -> Counting:
    """Record: kind of an element, bytes of the limit, images, classes, boxes, whether a box has a centre."""
    images, classes, boxes = shapes[1]
    words = [
        _kind(types[0]),
        types[2].dtype.itemsize,
        images,
        classes,
        boxes,
        int(bool(op.center_point_box.value.data)),
    ]
    most: int = boxes
    if values[2] is not None and int(values[2].reshape(())) <= _SOME_BOXES:
        most = max(int(values[2].reshape(())), 0)  # whether there are as many boxes, only the run may know
    # Five numbers of each box that is kept, in words of 64 bits, and room for what a vector reads behind them (6).
    scratch = _sort_words(boxes, types[0].dtype.itemsize) + 5 * boxes + 8
    return Counting(images * classes * most, lambda rows: [(rows, 3)], words, scratch)


def _sort_words(size: int, item: int) -> int:
    """Words of 64 bits to sort so many keys with their places, see `assembler/word_sort.py`."""
    return 2 * (size + RUN) * (2 if item > 4 else 1)


def _name(type: TensorType) -> str:
    # Integers of one byte are put in order as truth values are; what NumPy has no kind for is bfloat16.
    name = "uint8" if type.dtype == np.bool_ else str(type.dtype)
    return "bfloat16" if type.dtype.kind == "V" else name


def _kind(type: TensorType) -> int:
    return KEY_KINDS.index(_name(type))


def _is_known(op: Any, types: Sequence[TensorType]) -> bool:
    """Whether there is native code for an op on operands of these types."""
    match op:
        case DynTopkOp():
            rank = len(types[0].shape)
            return (
                normalize_axis(op.axis.value.data, rank) == rank - 1
                and _name(types[0]) in KEY_KINDS
                and types[1].dtype.kind == "i"
            )
        case UniqueOp():
            return op.axis is None and bool(op.sorted.value.data) and _name(types[0]) in KEY_KINDS
        case NonMaxSuppressionOp():
            return str(types[0].dtype) in ("float32", "float64") and types[2].dtype.kind == "i"
        case _:
            return types[0].dtype.itemsize in (1, 2, 4, 8)


_COUNTED: Mapping[type[FuseOp], tuple[str, _Describe]] = {
    ArgwhereOp: ("fuse_count_argwhere", _argwhere),
    DynTopkOp: ("fuse_count_topk", _topk),
    NonMaxSuppressionOp: ("fuse_count_suppression", _suppression),
    UniqueOp: ("fuse_count_unique", _unique),
}
"""The function of each op, and what it gives."""


@dataclass(frozen=True, slots=True)
class CountingOp:
    """A primitive of one op that native code counts the rows of."""

    op: FuseOp
    operands: Sequence[int]
    """Which argument each operand is."""
    results: Sequence[int | None]
    """Which result of the primitive each of the op's results is, if it is one."""

    @staticmethod
    def of(function: func.FuncOp) -> "CountingOp | None":
        """That of a primitive; `None` if it is something else."""
        found = single_op(function)
        if found is None or type(found.op) not in _COUNTED:
            return None
        types: list[TensorType] = []
        for operand in found.op.operands:
            assert is_tensor(operand.type), "such ops have tensors"
            types.append(TensorType(tuple(operand.type.get_shape()), element_dtype(operand.type.element_type)))
        if not _is_known(found.op, types):
            return None
        numbers = {result: number for number, result in enumerate(found.returned)}
        return CountingOp(found.op, found.operands, [numbers.get(place) for place in range(len(found.op.results))])

    @property
    def has_scratch(self) -> bool:
        """Whether it puts something down."""
        return not isinstance(self.op, ArgwhereOp)

    def counting(
        self, types: Sequence[TensorType], shapes: Sequence[Shape], values: Sequence[Array | None]
    ) -> Counting:
        """What a call gives: results of the primitive, then scratch; the whole record.

        Args:
            types: Of the arguments.
            shapes: Their sizes, which may be traced.
            values: Their elements, where they are constants.
        """
        own = [[each[place] for place in self.operands] for each in (types, shapes, values)]
        found = _COUNTED[type(self.op)][1](self.op, *cast("Any", own))
        returned = [number for number in self.results if number is not None]
        first = COUNT_WORDS + len(types)
        places = [COUNT_WORDS + place for place in self.operands]
        places += [0 if number is None else first + number for number in self.results]
        places += [first + len(returned)] * self.has_scratch

        def results(rows: int) -> list[Shape]:
            sizes = dict(zip(self.results, found.shapes(rows), strict=True))
            return [*(sizes[number] for number in range(len(returned))), *[(found.scratch,)] * self.has_scratch]

        return Counting(found.bound, results, [*places, *found.words])


SCRATCH = TensorType((OPEN,), np.dtype(np.int64))
"""Of a call that puts something down."""


def count_kernel(op: FuseOp) -> NativeFunction:
    """The code of the op of a `CountingOp`, for this processor.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    code = _count_code()
    address = code.addresses[_COUNTED[type(op)][0]]
    return NativeFunction(address, "count", code, checked=address)  # it says itself whether the run goes on (4)


@Once
def _count_code() -> Any:
    """Compiled once per process."""
    from fuse_dialect.backends.assembler.engine import compile_object, load
    from fuse_dialect.backends.runtime.counting_code import counting_text
    from fuse_dialect.backends.runtime.size_code import FOLLOW_SECTION

    names = [FOLLOW_SECTION, COUNT_ITERATIONS, *(name for name, _ in _COUNTED.values())]
    return load(compile_object(counting_text()), names)


def iterations_counter() -> int:
    """The address of the function that says how often a loop has run, see `counting_code`.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    return _count_code().addresses[COUNT_ITERATIONS]


@Once
def native_sections() -> Callable[[int, int, int], int]:
    """The function that follows a section: of addresses of the section, of cells and of atoms; gives 1 if all holds.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.runtime.size_code import FOLLOW_SECTION

    return CFUNCTYPE(c_int64, c_int64, c_int64, c_int64)(_count_code().addresses[FOLLOW_SECTION])
