"""Runs kernels of the LLVM backend on NumPy arrays, as the runtime does but for one program."""

import ctypes
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from guarded_memory import GuardedMemory

from fuse_dialect.backends.assembler.engine import callable_of, host
from fuse_dialect.backends.assembler.host import AVX2, SSE2, Host
from fuse_dialect.backends.backend import KernelRequest, symbols_of
from fuse_dialect.backends.checking.violations import raise_violations
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import bind_sizes
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.program import LoopProgram, Refusal, Role
from fuse_dialect.machines.machine import TILES as UNITS_OF_TILES
from fuse_dialect.machines.machine import Machine, Unit

IS_X86 = "+sse2" in host().features


class MaskedHost(Host):
    """A processor that is said to have masks: LLVM makes other instructions of them, slow ones, that mean the same."""

    @property
    def machine(self) -> Machine:
        """That of the processor, with masks."""
        machine = Host(self.cpu, self.features).machine
        return replace(machine, units=machine.units | Unit.MASKS)


HOSTS: dict[str, Host] = {"host": host(), **({"avx2": AVX2} if "+avx2" in host().features else {})}
if IS_X86:
    HOSTS["sse2"] = SSE2
if "avx2" in HOSTS and Unit.MASKS not in host().machine.units:
    HOSTS["masks"] = MaskedHost(AVX2.cpu, AVX2.features)
"""Processors whose code runs here."""

TILES = replace(host(), described=replace(host().machine, emulated=UNITS_OF_TILES))
"""The processor at hand, with tiles whose instructions are functions; without vectors of 64 bytes they are not used."""


def families(family: str, target: Host) -> set[str]:
    """What may stand where a family is expected: products are those of tiles on a processor that has these."""
    has_tiles = family == "contraction" and target.machine.units & UNITS_OF_TILES
    return {family, "tiles"} if has_tiles else {family}


def placed(array: Array, offset: int) -> Array:
    """A copy that begins so many bytes after a cache line."""
    dense = np.asarray(array, order="C")
    memory = np.zeros(dense.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    copy = memory[start : start + dense.nbytes].view(dense.dtype).reshape(dense.shape)
    copy[...] = dense
    return copy


class Native:
    """A compiled program."""

    def __init__(self, program: LoopProgram, target: Host | None = None, families: Sequence[str] = (), **options: bool):
        """Compile a program.

        Raises:
            AssertionError: It has no kernel; the message says why.
        """
        (kernel,) = LLVMBackend(target=target, families=families, **options).compile([KernelRequest(program)])
        assert not isinstance(kernel, Refusal), kernel.reason
        self.program = program
        self.kernel = kernel

    def __call__(
        self, *arguments: Array, parts: int = 1, offset: int = 0, memory: GuardedMemory | None = None
    ) -> list[Array]:
        """The results; every part runs, the last one first.

        Args:
            arguments: Arrays of the program's types.
            parts: Number of parts.
            offset: Bytes from a cache line to the start of every array.
            memory: Where arrays end beside forbidden pages; then `offset` says nothing.

        Raises:
            CheckError: The kernel checks its accesses, and has one outside of its arrays.
        """
        sizes = bind_sizes(self.program, list(arguments))

        def place(array: Array) -> Array:
            if memory is None:
                return placed(array, offset)
            copy = memory.empty(array.shape, array.dtype, at_end=True)
            copy[...] = array
            return copy

        given = [place(array) for array in arguments]
        results = [
            place(np.full([sizes.get(size, size) for size in buffer.shape], 77).astype(dtype_named(buffer.element)))
            for buffer in self.program.buffers
            if buffer.role is Role.RESULT
        ]
        scratch = [placed(np.zeros(self.kernel.workspace_bytes, np.uint8), 0) for _ in range(parts)]
        function = callable_of(self.kernel.address)
        for part in reversed(range(parts)):
            slots = [array.ctypes.data for array in (*given, *results, scratch[part])]
            slots += [sizes[symbol] for symbol in symbols_of(self.program)]
            function((ctypes.c_int64 * len(slots))(*slots), part, parts)
        raise_violations()
        return results
