"""Counting: ops whose results have as many rows as the data says, by native code, and what follows once that is known.

1. A counting call has room for as many rows as there can be, its *bound*. It writes the first rows of its results,
   counts them, and is over: rows of other calls come behind it in the driver's table, as those of any call.
2. The words of such a call are: the number of the word where its record begins, the address of its *section*, that of
   the first word of the frame, that of the frame's atoms; then the addresses as for any kernel, then the record.
3. A section of `size_sections` says what follows from one count. The first word before it is the number of the atom that
   the count is.
4. Where a condition does not hold, the run ends: such a call is made again, step by step.
"""

from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, c_int64
from dataclasses import dataclass, field
from enum import IntEnum, auto
from math import prod
from typing import Any, TypeAlias

from fuse_dialect.backends.backend import Packing
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.opaque import ArgwhereOp
from fuse_dialect.process_wide import Once


class CountWord(IntEnum):
    """The words of a call that counts before its addresses (2)."""

    RECORD = 0
    SECTION = auto()
    WORDS = auto()
    ATOMS = auto()


COUNT_WORDS = len(CountWord)


@dataclass(frozen=True, slots=True)
class Counting:
    """What a call that counts gives."""

    bound: int
    """Most rows."""
    shapes: Callable[[int], Sequence[Shape]]
    """Sizes of the results for a number of rows."""
    words: Sequence[int]
    """Its record."""


_Describe: TypeAlias = Callable[[Sequence[TensorType], Sequence[Shape]], Counting]


def _argwhere(types: Sequence[TensorType], shapes: Sequence[Shape]) -> Counting:
    """Record: bytes of an element, its bits but the sign of a zero, how many there are, how many axes, their sizes."""
    (type,), (shape,) = types, shapes
    bits = 8 * type.dtype.itemsize
    # A negative zero is a zero: of floats, and of those that NumPy has no type for, the sign does not count.
    mask = (1 << bits - 1) - 1 if type.dtype.kind in "fV" else (1 << bits) - 1
    count, rank = prod(shape), len(shape)
    signed = mask - (1 << 64) if mask >> 63 else mask
    return Counting(count, lambda rows: [(rows, rank)], [type.dtype.itemsize, signed, count, rank, *shape])


_COUNTED: Mapping[type[FuseOp], tuple[str, _Describe]] = {ArgwhereOp: ("fuse_count_argwhere", _argwhere)}
"""The function of each op, and what a call gives."""


def counts_natively(op: FuseOp, types: Sequence[TensorType]) -> bool:
    """Whether native code runs an op that counts, on tensors of these types."""
    return type(op) in _COUNTED and all(type.dtype.itemsize in (1, 2, 4, 8) for type in types)


def counting(op: FuseOp, types: Sequence[TensorType], shapes: Sequence[Shape]) -> Counting:
    """What a call of an op gives that `counts_natively`, for operands of these sizes, which may be traced."""
    return _COUNTED[type(op)][1](types, shapes)


@dataclass(frozen=True, slots=True)
class CountKernel:
    """The native function of an op that counts."""

    address: int
    owner: Any = field(repr=False)
    """Keeps the machine code."""

    @property
    def checked(self) -> int:
        """The same function: it says whether the run goes on (4)."""
        return self.address

    @property
    def family(self) -> str:
        """That of counts."""
        return "count"

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


def count_kernel(op: FuseOp) -> CountKernel:
    """The code of an op that `counts_natively`, for this processor.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    code = _count_code()
    return CountKernel(code.addresses[_COUNTED[type(op)][0]], code)


@Once
def _count_code() -> Any:
    """Compiled once per process."""
    from fuse_dialect.backends.assembler.engine import compile_object, load
    from fuse_dialect.backends.runtime.counting_code import counting_text
    from fuse_dialect.backends.runtime.size_code import FOLLOW_SECTION

    return load(compile_object(counting_text()), [FOLLOW_SECTION, *(name for name, _ in _COUNTED.values())])


@Once
def native_sections() -> Callable[[int, int, int], int]:
    """The function that follows a section: of addresses of the section, of cells and of atoms; gives 1 if all holds.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    from fuse_dialect.backends.runtime.size_code import FOLLOW_SECTION

    return CFUNCTYPE(c_int64, c_int64, c_int64, c_int64)(_count_code().addresses[FOLLOW_SECTION])

