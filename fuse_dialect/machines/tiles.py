"""Whether the system lets this process use registers for tiles (AMX). Linux must be asked: they are much to save.

1. The answer holds for the process and its threads, those that exist and those that follow.
2. It is asked for once, and only where the processor has tiles. Refused, or where nobody can be asked, there are none.

Source: Linux, Documentation/arch/x86/xstate.rst; arch/x86/include/uapi/asm/prctl.h.
"""

import ctypes
import platform
import sys
from collections.abc import Iterable
from functools import cache

_ARCH_PRCTL = 158
"""Number of the system call on x86 of 64 bits."""
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18
_PREFIX = "amx"


def usable(features: Iterable[str]) -> list[str]:
    """The features of a processor, as Linux or LLVM names them, without those of tiles where these are not granted."""
    names = list(features)
    has_tiles = any(name.startswith(_PREFIX) for name in names)
    return names if not has_tiles or are_granted() else [name for name in names if not name.startswith(_PREFIX)]


@cache
def are_granted() -> bool:
    """Whether the system lets this process use tiles; asks it (1)."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    numbers = [ctypes.c_long(number) for number in (_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA)]
    return call(*numbers) == 0
