"""Room in glibc's heap for engines that allocate what they compute."""

import ctypes
import sys

HOLES = 4
"""Results and intermediate values that an engine may hold at a time."""
SLACK = 1 << 24
"""Bytes that small allocations may cut off a hole."""


def make_room(size: int) -> None:
    """Leave free chunks, of pages that are there already, each for one block of `size` bytes.

    `posix_memalign`, which torch allocates with, asks for more than it returns, and so cannot take a chunk again that
    it returned before. It would take fresh pages each time, which costs more than many a workload. With these chunks
    it is as fast as with an allocator that is made for such use.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    blocks: list[int] = []
    for _ in range(HOLES):
        block = libc.malloc(size + SLACK)
        if not block:
            break
        ctypes.memset(block, 0, size + SLACK)
        blocks.append(block)
        libc.malloc(64)  # stays, to keep this chunk apart from the next
    for block in blocks:
        libc.free(block)
