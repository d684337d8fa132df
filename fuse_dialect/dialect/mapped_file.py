"""Files whose bytes are in memory while somebody reads them, page by page.

A weight of a large model stays where it is: its constant holds a view of the file. The system brings a page in when it
is read, and `release` gives the pages back once they have served, so that a program which walks over all weights needs
memory for one at a time.

The file must not shrink while it is mapped; a program that reads behind its end is killed by the system. Whoever
replaces a file by another of its name, as the tools of this package do, leaves the mapped one as it was.
"""

import mmap
import os
import stat
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fuse_dialect.read_files import note_file

Array = npt.NDArray[Any]
"""A NumPy array of any element type."""


def map_file(path: str | Path, named: str | Path | None = None) -> memoryview | None:
    """The bytes of a file, read-only; `None` for an empty one, or one that is no regular file.

    Args:
        path: The file.
        named: The path under which it is noted, if `path` is where its links lead now.

    Raises:
        OSError: The file cannot be opened or mapped.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        note_file(path if named is None else named, descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)


def mapped_bytes(array: Array) -> memoryview | None:
    """The bytes of an array that lies row by row in a mapped file; `None` for any other array."""
    mapping = _mapping_of(array)
    if mapping is None or not array.flags.c_contiguous or not array.size:
        return None
    start = _address(array) - _address(_whole(mapping))
    return memoryview(mapping)[start : start + array.nbytes]


def release(data: "Array | bytes | memoryview") -> None:
    """Give back the memory of an array or view of a mapped file; its bytes can be read again as before.

    Nothing happens to data that is elsewhere, and on systems that have no such call.
    """
    array = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    mapping = _mapping_of(array)
    advice = getattr(mmap, "MADV_DONTNEED", None)
    if mapping is None or advice is None or not array.size:
        return
    base = _address(_whole(mapping))
    low, high = np.lib.array_utils.byte_bounds(array)
    first = (low - base) // mmap.PAGESIZE * mmap.PAGESIZE
    mapping.madvise(advice, first, min(high - base, len(mapping)) - first)


def _mapping_of(array: Array) -> mmap.mmap | None:
    """The mapping that holds the array's elements."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = cast(object, base.base)
    if isinstance(base, memoryview):
        base = cast(object, base.obj)
    return base if isinstance(base, mmap.mmap) else None


def _whole(mapping: mmap.mmap) -> Array:
    return np.frombuffer(mapping, np.uint8)


def _address(array: Array) -> int:
    return cast(int, array.__array_interface__["data"][0])
