"""Arrays beside pages that nobody may touch: one byte too far ends the process."""

import ctypes
import mmap
from typing import Any, Self

import numpy as np

from fuse_dialect.dialect.op import Array

PAGE = mmap.PAGESIZE
_LIBRARY = ctypes.CDLL(None, use_errno=True)
_LIBRARY.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedMemory:
    """Memory for arrays, each between two forbidden pages; it is given back when this is closed."""

    def __init__(self) -> None:
        self._maps: list[tuple[mmap.mmap, int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _, start, size in self._maps:
            self._protect(start, size, mmap.PROT_READ | mmap.PROT_WRITE)
        self._maps.clear()

    def empty(self, shape: tuple[int, ...], dtype: "np.dtype[Any]", *, at_end: bool) -> Array:
        """An array that ends where a forbidden page begins, or begins where one ends."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        inside = -(-max(size, 1) // PAGE) * PAGE
        memory = mmap.mmap(-1, inside + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for guard in (start, start + PAGE + inside):
            self._protect(guard, PAGE, 0)
            self._maps.append((memory, guard, PAGE))
        offset = PAGE + (inside - size if at_end else 0)
        return np.frombuffer(memory, np.uint8, size, offset).view(dtype).reshape(shape)

    def copy(self, array: Array, *, at_end: bool) -> Array:
        """A read-only copy of an array."""
        copy = self.empty(array.shape, array.dtype, at_end=at_end)
        copy[...] = array
        copy.flags.writeable = False
        return copy

    def copy_behind_line(self, array: Array, start: int) -> Array:
        """A read-only copy that begins so many bytes behind a cache line, and ends within a line of the guard."""
        dense = np.ascontiguousarray(array)
        room = self.empty((dense.nbytes + (-start - dense.nbytes) % 64,), np.dtype(np.uint8), at_end=True)
        copy = room[: dense.nbytes].view(dense.dtype).reshape(dense.shape)
        copy[...] = dense
        copy.flags.writeable = False
        return copy

    def _protect(self, start: int, size: int, mode: int) -> None:
        if _LIBRARY.mprotect(start, size, mode) != 0:
            raise OSError(ctypes.get_errno(), "mprotect failed")
