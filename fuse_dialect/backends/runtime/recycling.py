"""Memory for results that goes to later results when the caller has dropped the array.

Fresh memory of many pages costs more than a kernel that is bound by memory: the system clears each page when it is
first touched. So a block goes back to its program when the result and all views of it are gone.
"""

from functools import partial
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

import numpy as np

from fuse_dialect.backends.runtime.arrays import aligned_bytes
from fuse_dialect.backends.types import Shape

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array

SMALLEST = 1 << 18
"""Bytes below which memory is asked of NumPy, which keeps small blocks itself."""
LARGEST = 1 << 28
"""Bytes above which a block is given back to the system at once."""
MAX_SPARE = 2
"""Blocks of one size that wait for a result."""


class RecycledMemory:
    """Blocks by size; several threads may use them."""

    def __init__(self) -> None:
        self._spare: dict[int, list[Array]] = {}
        self._in_use: dict[int, object] = {}
        """Weak references to what callers have; they must live to be called."""
        self._numbers = count()

    def empty(self, shape: Shape, dtype: "np.dtype[Any]") -> "Array":
        """An array without content, as `numpy.empty`."""
        size = prod(shape) * dtype.itemsize
        # Small blocks cost no page faults; large ones would be missed by others while they wait.
        if not SMALLEST <= size <= LARGEST:
            return np.empty(shape, dtype)
        spare = self._spare.setdefault(size, [])
        try:
            # Popping is one step for all threads: two never get one block.
            memory = spare.pop()
        except IndexError:
            memory = aligned_bytes(size)
        # A view keeps the nearest array alive whose base is no array: this one lives as long as any view of the result.
        first = np.frombuffer(memoryview(cast(Any, memory)), np.uint8)
        number = next(self._numbers)
        self._in_use[number] = ref(first, partial(_give_back, self._in_use, number, spare, memory))
        return first.view(dtype).reshape(shape)


def _give_back(in_use: dict[int, object], number: int, spare: "list[Array]", memory: "Array", _: object) -> None:
    in_use.pop(number, None)
    if len(spare) < MAX_SPARE:
        spare.append(memory)
