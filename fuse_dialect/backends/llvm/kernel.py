"""The frame of a kernel: the function of the ABI, addresses of buffers, sizes, the share of a part.

The function of the ABI reads the slots and calls a second one whose parameters are the buffers, because only
parameters can be promised not to overlap. Buffers that stages pass on lie in the workspace, 64-byte aligned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fuse_dialect.backends.backend import symbols_of
from fuse_dialect.backends.llvm.builder import FAST, Function, Parameter
from fuse_dialect.backends.llvm.elements import element_bytes
from fuse_dialect.backends.llvm.family import Request, Written
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.backends.llvm.values import I8, I64, PTR, VOID, Value
from fuse_dialect.counts import Count
from fuse_dialect.kernels.program import Buffer, LoopProgram, Role

ALIGNMENT = 64
"""Of the workspace, and of every buffer in it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the body of a kernel is written with."""

    f: Function
    host: Host
    buffers: Mapping[str, Buffer]
    pointers: Mapping[str, Value]
    """Address of each buffer; local ones that need no memory are missing."""
    sizes: Mapping[str, Value]
    """Symbolic sizes, as i64."""
    part: Value
    parts: Value
    fast_math: bool = False

    def count(self, count: Count) -> Value:
        """The value of a count."""
        f = self.f
        total = f.i64(0)
        for symbols, factor in count.terms:
            term = f.i64(factor)
            for symbol in symbols:
                term = f.multiply(term, self.sizes[symbol])
            total = f.add(total, term)
        return total

    def share(self, total: Value, unit: int = 1) -> tuple[Value, Value]:
        """The part's share of `total` iterations: first and last plus one, in whole units but for the end."""
        f = self.f
        units = f.quotient(f.add(total, f.i64(unit - 1)), unit)
        start = f.emit(I64, f"udiv {f.multiply(units, self.part)}, {self.parts.text}", "first")
        stop = f.emit(I64, f"udiv {f.multiply(units, f.add(self.part, f.i64(1)))}, {self.parts.text}", "last")
        return f.multiply(start, f.i64(unit)), f.least(f.multiply(stop, f.i64(unit)), total)

    def in_first_part(self) -> Value:
        """Whether this is part 0, which does what cannot be shared."""
        return self.f.compare("eq", self.part, self.f.i64(0))


Write: TypeAlias = Callable[[Frame], bool]
"""Writes the body of a kernel; gives whether parts may share its work."""


def write_kernel(
    request: Request, local_sizes: Mapping[str, int], write: Write, shared: Mapping[str, str] | None = None
) -> Written:
    """Fill in the function of a kernel.

    Args:
        request: What is wanted; its function is written.
        local_sizes: Number of elements in memory of each local buffer that needs memory.
        write: Writes the body.
        shared: Local buffers that lie in the memory of a result.

    Raises:
        NoNativeFormError: Something in the program has no native code.
    """
    program, entry = request.program, request.entry
    offsets, workspace = _workspace(program, local_sizes)
    symbols = symbols_of(program)
    outside = [buffer for buffer in program.buffers if buffer.role is not Role.LOCAL]
    entry.heading(f"{program.name}({', '.join(f'{b.name}: {_shaped(b)}' for b in outside)})")
    slots, part, parts = entry.parameters
    addresses = [_address(entry, slots, slot) for slot in range(len(outside))]
    scratch = _address(entry, slots, len(outside)) if offsets else slots
    addresses += [entry.offset(scratch, entry.i64(offset), I8) for offset in offsets.values()]
    sizes = [entry.load(I64, entry.offset(slots, entry.i64(len(outside) + 1 + n), I64)) for n in range(len(symbols))]
    names = [buffer.name for buffer in outside] + list(offsets)
    body = request.module.function(
        f"{entry.name}.body",
        [*(_parameter(n, program, name) for n, name in enumerate(names)), *_integers("size", symbols), *_PARTS],
        linkage="internal",
    )
    if request.fast_math:
        body.flags = FAST
    entry.call(body.name, VOID, [*addresses, *sizes, part, parts])
    entry.ret()
    values = body.parameters
    pointers = dict(zip(names, values[: len(names)], strict=True))
    pointers |= {local: pointers[result] for local, result in (shared or {}).items()}
    known = dict(zip(symbols, values[len(names) : -2], strict=True))
    buffers = {buffer.name: buffer for buffer in program.buffers}
    frame = Frame(body, request.host, buffers, pointers, known, values[-2], values[-1], request.fast_math)
    parallel = write(frame)
    if body.streams:
        body.call("llvm.x86.sse.sfence", VOID, [])  # else another thread might not see what this one has written
    body.ret()
    return Written(workspace, parallel)


_PARTS = (Parameter("part", I64), Parameter("parts", I64))


def _shaped(buffer: Buffer) -> str:
    """`4x8xf32`."""
    return "x".join(map(str, (*buffer.shape, buffer.element)))


def _address(f: Function, slots: Value, slot: int) -> Value:
    return f.cast("inttoptr", f.load(I64, f.offset(slots, f.i64(slot), I64)), PTR)


def _parameter(number: int, program: LoopProgram, name: str) -> Parameter:
    (buffer,) = [buffer for buffer in program.buffers if buffer.name == name]
    align = ALIGNMENT if buffer.role is Role.LOCAL else element_bytes(buffer.element)
    access = " readonly" if buffer.role is Role.ARGUMENT else ""
    return Parameter(f"b{number}", PTR, f"noalias{access} align {align}")


def _integers(prefix: str, names: Sequence[str]) -> list[Parameter]:
    return [Parameter(f"{prefix}{number}", I64) for number, _ in enumerate(names)]


def _workspace(program: LoopProgram, local_sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Offset of each local buffer, and the bytes of all of them."""
    offsets: dict[str, int] = {}
    end = 0
    for buffer in program.buffers:
        if buffer.name in local_sizes:
            offsets[buffer.name] = end
            end += -(-local_sizes[buffer.name] * element_bytes(buffer.element) // ALIGNMENT) * ALIGNMENT
    return offsets, end
