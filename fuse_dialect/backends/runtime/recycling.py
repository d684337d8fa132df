"""Memory for results that goes to later results when the caller has dropped the array.

Fresh memory of many pages costs more than a kernel that is bound by memory: the system clears each page when it is
first touched. So a block goes back to its program when the result and all views of it are gone.

1. Blocks come in classes of sizes, eight for each doubling: a result that grows by a row each call has a block that
   fits, nearly always, and an eighth of it is left over at most.
2. A class never has more blocks than were in use at once, since a new one is made only when none waits.
3. Whoever makes a new block drops what waits in other classes, those first that gave no block for the longest time, as
   long as more would wait than was ever in use at once. So memory is at most about twice what the caller held.
4. Blocks come back whenever an array dies, in any thread, also while this code runs. So there are no locks, and every
   step that counts is one for all threads.
"""

from collections.abc import Callable
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
ALIGNED = 1 << 17
"""Bytes from which memory begins at a multiple of 64: JAX takes such over without a copy. One of less costs nothing, as
it is of memory that the C library has at hand."""
LARGEST = 1 << 28
"""Bytes above which a block is given back to the system at once."""
MOST_WAITING = 1 << 28
"""Bytes of one class that wait, at most, but for two blocks."""
_STEPS = 8
"""Classes for each doubling (1)."""


class _Blocks:
    """The blocks of one class."""

    def __init__(self, size: int):
        self.size = size
        self.spare: list[Array] = []
        """Blocks that wait for a result."""
        self.in_use: dict[int, object] = {}
        """Weak references to what callers have; they must live to be called."""

    def give_back(self, number: int, memory: "Array", _: object) -> None:
        """Let a block wait."""
        self.in_use.pop(number, None)
        if len(self.spare) < 2 or len(self.spare) * self.size < MOST_WAITING:
            self.spare.append(memory)


class RecycledMemory:
    """Blocks by class; several threads may use them."""

    def __init__(self) -> None:
        self._classes: dict[int, _Blocks] = {}
        """The one that gave a new block last comes last."""
        self._most_in_use = 0
        """Bytes that callers had at once, as far as it was looked."""
        self._numbers = count()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait for a result."""
        return sum([len(blocks.spare) * blocks.size for blocks in list(self._classes.values())])

    def empty(self, shape: Shape, dtype: "np.dtype[Any]") -> "Array":
        """An array without content, as `numpy.empty`."""
        size = prod(shape) * dtype.itemsize
        if size < ALIGNED:
            return np.empty(shape, dtype)
        # Small blocks cost no page faults; large ones would be missed by others while they wait.
        if not SMALLEST <= size <= LARGEST:
            return aligned_bytes(size).view(dtype).reshape(shape)
        step = 1 << (size.bit_length() - _STEPS.bit_length())
        room = -(-size // step) * step
        blocks = self._classes.get(room)
        if blocks is None:
            blocks = self._classes.setdefault(room, _Blocks(room))
        try:
            # Popping is one step for all threads: two never get one block.
            memory = blocks.spare.pop()
        except IndexError:
            self._make_room(blocks)
            memory = aligned_bytes(room)
        # A view keeps the nearest array alive whose base is no array: this one lives as long as any view of the result.
        first = np.frombuffer(memoryview(cast(Any, memory)), np.uint8, size)
        number = next(self._numbers)
        blocks.in_use[number] = ref(first, partial(blocks.give_back, number, memory))
        return first.view(dtype).reshape(shape)

    def maker(self, shape: Shape, dtype: "np.dtype[Any]") -> "Callable[[], Array]":
        """What makes arrays without content of one form."""
        small = prod(shape) * dtype.itemsize < ALIGNED
        return partial(np.empty if small else self.empty, shape, dtype)

    def _make_room(self, wanted: _Blocks) -> None:
        """Drop what waits elsewhere, for a new block (3)."""
        self._classes[wanted.size] = self._classes.pop(wanted.size, wanted)
        others = list(self._classes.values())
        in_use = sum([len(blocks.in_use) * blocks.size for blocks in others])
        self._most_in_use = max(self._most_in_use, in_use + wanted.size)
        waiting = self.waiting_bytes
        for blocks in others:
            if waiting + in_use + wanted.size <= 2 * self._most_in_use and waiting <= MOST_WAITING:
                return
            waiting -= len(blocks.spare) * blocks.size
            blocks.spare.clear()
            if not blocks.in_use and blocks is not wanted:
                self._classes.pop(blocks.size, None)
