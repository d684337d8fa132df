"""A linked block of machine code in memory."""

import ctypes
import mmap
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any, cast


class CannotRunError(Exception):
    """Machine code cannot be brought into memory here, or a function that it calls is missing."""


def is_supported() -> bool:
    """Whether code can be loaded here at all: on Linux, on a processor that `linking` knows."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


class MachineCode:
    """A block that may be executed, as long as this exists. It is never writable and executable at once."""

    def __init__(self, code: "bytes | memoryview", imports: Mapping[str, int], inside: Mapping[int, int]):
        """Copy a block to memory.

        Args:
            code: As `linking.link` makes it.
            imports: Functions of the process, and the offsets of the words that their addresses are written to.
            inside: Offsets of words that get the address of a place in the block, with the offset of that.

        Raises:
            CannotRunError: A function is missing, or the system refuses.
        """
        process = cast(Any, ctypes.CDLL(None, use_errno=True))
        try:
            addresses = {name: _address_of(process, name) for name in imports}
            # Private and of no file: neither another process nor a file that changes can reach it.
            block = mmap.mmap(-1, max(len(code), 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (AttributeError, OSError, ValueError) as error:
            raise CannotRunError(str(error)) from error
        block[: len(code)] = bytes(code)
        first = (ctypes.c_char * 1).from_buffer(block)
        self.address = ctypes.addressof(first)
        """Where the block begins."""
        words = [(place, addresses[name]) for name, place in imports.items()]
        words += [(place, self.address + target) for place, target in inside.items()]
        for place, address in words:
            block[place : place + 8] = address.to_bytes(8, sys.byteorder)
        self._owners = (block, first)
        size = -(-len(block) // mmap.PAGESIZE) * mmap.PAGESIZE
        if process.mprotect(ctypes.c_void_p(self.address), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
            raise CannotRunError(os.strerror(ctypes.get_errno()))


def _address_of(process: Any, name: str) -> int:
    return ctypes.cast(getattr(process, name), ctypes.c_void_p).value or 0
