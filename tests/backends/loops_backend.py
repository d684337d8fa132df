"""The NumPy reference of loop programs behind the native interface: a backend that is slow, and right by inspection."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from callback_backend import array_at

from fuse_dialect.backends.backend import STOP, KernelRequest, Packing, symbols_of
from fuse_dialect.interpreters.loops import LoopFaultError, run_loops
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.program import LoopProgram, Role

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_CHECKED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@dataclass
class LoopsKernel:
    """A loop program as a native function; part 0 computes everything."""

    program: LoopProgram
    family: str = "loops"
    workspace_bytes: int = 0
    packings: Mapping[int, Packing] = field(default_factory=dict)
    parallel: bool = False
    address: int = 0
    checked: int = 0

    def __post_init__(self) -> None:
        self._function = _FUNCTION(self.run)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self._checked = _CHECKED(self.run_checked)
        if any(buffer.role is Role.FAULT for buffer in self.program.buffers):
            self.checked = ctypes.cast(self._checked, ctypes.c_void_p).value or 0

    def run_checked(self, slots: int) -> int:
        """What the driver calls if there may be a fault."""
        try:
            self.run(slots, 0, 1)
        except LoopFaultError:
            return STOP
        return 1

    def run(self, slots: int, part: int, parts: int) -> None:
        """What the driver calls."""
        program, symbols = self.program, symbols_of(self.program)
        outer = [buffer for buffer in program.buffers if buffer.role in (Role.ARGUMENT, Role.RESULT)]
        words = list((ctypes.c_int64 * (len(outer) + 1 + len(symbols))).from_address(slots))
        sizes = dict(zip(symbols, words[len(outer) + 1 :], strict=True))
        arrays = [
            array_at(address, tuple(sizes.get(size, size) for size in buffer.shape), dtype_named(buffer.element))
            for address, buffer in zip(words, outer, strict=False)
        ]
        count = sum(buffer.role is Role.ARGUMENT for buffer in outer)
        with np.errstate(all="ignore"):
            results = run_loops(program, arrays[:count], sizes)
        for target, result in zip(arrays[count:], results, strict=True):
            target[...] = result


@dataclass(frozen=True)
class LoopsBackend:
    """Every program that has loops, by the reference."""

    name: str = "loops"

    def compile(self, requests: Sequence[KernelRequest]) -> Sequence[LoopsKernel]:
        return [LoopsKernel(request.program) for request in requests]
