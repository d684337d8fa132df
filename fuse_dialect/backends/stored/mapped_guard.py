"""Files that are mapped, and become shorter: an error, and no signal that ends the process.

1. Who reads a page behind the end of a mapped file gets SIGBUS. A handler puts a page of zeros there, and notes it in
   the range of that file; the reader goes on, and who asked for its result looks at the note before handing it out.
2. The handler is machine code, since Python's own would come back to the same fault. It looks for the address among the
   ranges, calls `mmap`, and returns; it calls nothing of libc. A fault of anybody else goes to the handler that was
   there before, or ends the process as it would have.
3. Ranges are written before anything is read from them, and cleared when nobody has the mapping any more.

Source: systemd, src/basic/sigbus.c, which does the same in C.
"""

import ctypes
import mmap
import os
import platform
import signal
import sys
import weakref
from threading import Lock
from typing import Any, cast

from fuse_dialect.backends.stored.machine_code import CannotRunError, MachineCode
from fuse_dialect.process_wide import Once

_BEFORE, _DEFAULT, _COUNT, _RANGES = 0, 8, 56, 64
"""Where the state has the handler that was there before, an action of the kernel that is the default, the number of
ranges, and ranges: begin, end, whether a page of it was missing."""
_RANGE_BYTES = 24
_STATE_BYTES = 1 << 16
_MOST_RANGES = (_STATE_BYTES - _RANGES) // _RANGE_BYTES
_HANDLER = bytes.fromhex(
    "48b8" "0000000000000000"  # mov rax, state
    "488b4e10" "837e0802" "7565"  # mov rcx, [rsi + si_addr]; cmp [rsi + si_code], BUS_ADRERR; jne before
    "4c8b4038" "4c8d4840"  # mov r8, [rax + count]; lea r9, [rax + ranges]
    "4d85c0" "7458"  # next: test r8, r8; je before
    "493b09" "724a" "493b4908" "7344"  # cmp rcx, [r9]; jb skip; cmp rcx, [r9 + 8]; jae skip
    "49c7411001000000"  # mov qword [r9 + 16], 1
    "4881e100f0ffff" "57" "50"  # and rcx, -4096; push rdi; push rax
    "4889cf" "be00100000" "ba01000000"  # mov rdi, rcx; mov esi, 4096; mov edx, PROT_READ
    "41ba32000000" "49c7c0ffffffff" "4531c9"  # mov r10d, PRIVATE | FIXED | ANONYMOUS; mov r8, -1; xor r9d, r9d
    "b809000000" "0f05" "4889c1" "58" "5f"  # mov eax, mmap; syscall; mov rcx, rax; pop rax; pop rdi
    "4881f901f0ffff" "7315" "c3"  # cmp rcx, -4095; jae default; ret
    "4983c118" "49ffc8" "eba3"  # skip: add r9, 24; dec r8; jmp next
    "4c8b00" "4d85c0" "7403" "41ffe0"  # before: mov r8, [rax]; test r8, r8; je default; jmp r8
    "488d7008" "31d2" "41ba08000000" "b80d000000" "0f05" "c3"  # default: rt_sigaction(signal, rax + 8, 0, 8); ret
)  # fmt: skip
_STATE_AT = 2
_PAGE = 4096
_SIGACTION_BYTES, _FLAGS_AT, _SA_SIGINFO, _SA_ONSTACK = 152, 136, 4, 0x08000000


class _Guard:
    """The handler of this process, and its ranges."""

    def __init__(self) -> None:
        """Install the handler.

        Raises:
            CannotRunError: The system has no such signals, or refuses.
        """
        if sys.platform != "linux" or platform.machine() != "x86_64" or mmap.PAGESIZE != _PAGE:
            raise CannotRunError("there is no handler for this system")
        self._state = mmap.mmap(-1, _STATE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        first = (ctypes.c_char * 1).from_buffer(self._state)
        address = ctypes.addressof(first)
        code = _HANDLER[:_STATE_AT] + address.to_bytes(8, "little") + _HANDLER[_STATE_AT + 8 :]
        self._code, self._first = MachineCode(code, {}, {}), first
        self._lock = Lock()
        process: Any = ctypes.CDLL(None, use_errno=True)
        before = ctypes.create_string_buffer(_SIGACTION_BYTES)
        ours = ctypes.create_string_buffer(_SIGACTION_BYTES)
        # First what it was: a fault may come as soon as the handler is there.
        if process.sigaction(int(signal.SIGBUS), None, before):
            raise CannotRunError(os.strerror(ctypes.get_errno()))
        handler = int.from_bytes(before.raw[:8], "little")
        self._write(_BEFORE, handler if handler > 1 else 0)  # 0 is the default, 1 to ignore, which no fault can be
        ours[:8] = self._code.address.to_bytes(8, "little")
        ours[_FLAGS_AT : _FLAGS_AT + 4] = (_SA_SIGINFO | _SA_ONSTACK).to_bytes(4, "little")
        if process.sigaction(int(signal.SIGBUS), ours, None):
            raise CannotRunError(os.strerror(ctypes.get_errno()))

    def _write(self, place: int, value: int) -> None:
        self._state[place : place + 8] = value.to_bytes(8, "little")

    def read(self, place: int) -> int:
        """A word of the state."""
        return int.from_bytes(self._state[place : place + 8], "little")

    def add(self, begin: int, end: int) -> int:
        """Watch addresses; where the note of them is."""
        with self._lock:
            count = self.read(_COUNT)
            free = (each for each in range(count) if not self.read(_RANGES + each * _RANGE_BYTES))
            number = next(free, count)
            if number >= _MOST_RANGES:
                raise CannotRunError("too many files are mapped")
            place = _RANGES + number * _RANGE_BYTES
            self._write(place + 16, 0)
            self._write(place + 8, end)
            self._write(place, begin)
            self._write(_COUNT, max(count, number + 1))
        return place + 16

    def remove(self, note: int) -> None:
        """Watch them no more."""
        with self._lock:
            self._write(note - 8, 0)
            self._write(note - 16, 0)

    def address_of(self, note: int) -> int:
        """Where a note is in memory."""
        return ctypes.addressof(self._first) + note


@Once
def _guard() -> _Guard:
    """The handler of this process, installed when the first file is mapped."""
    return _Guard()


class WatchedMap:
    """A file in memory, read-only; where no handler can be installed it is a copy, which nobody can cut short."""

    def __init__(self, descriptor: int, size: int):
        """Map an open file.

        Raises:
            OSError, ValueError: It cannot be mapped, or has become shorter.
        """
        mapping = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        self._broken: Any = None
        self.data = memoryview(mapping)
        """Its bytes."""
        try:
            guard = _guard()
            address = _address(self.data)
            note = guard.add(address, address + -(-size // _PAGE) * _PAGE)
        except CannotRunError:
            self.data = memoryview(bytes(self.data))
            return
        self._broken = ctypes.c_int64.from_address(guard.address_of(note))
        # The mapping outlives this object where arrays show parts of it; the range goes with it.
        weakref.finalize(mapping, guard.remove, note).atexit = False

    @property
    def is_whole(self) -> bool:
        """Whether no byte that was read was missing."""
        return self._broken is None or not self._broken.value


def _address(data: memoryview) -> int:
    import numpy as np

    return cast(int, np.frombuffer(data, np.uint8).__array_interface__["data"][0])
