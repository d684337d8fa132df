"""The frame of a kernel: the function of the ABI, addresses of buffers, sizes, the share of a part.

1. The function of the ABI reads the slots: addresses of arguments and results, that of the workspace, then sizes.
2. Loop nests run in a second function whose parameters are the buffers, because only parameters can be promised not to
   overlap. Contractions call inner functions for tiles, which read the slots again: they have too many buffers to pass.
3. Buffers that stages pass on lie in the workspace, 64-byte aligned.
4. A kernel that may find a fault has a function beside it that runs all of it and then looks: a row that says `STOP`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fuse_dialect.backends.assembler.builder import FAST, Function, Parameter
from fuse_dialect.backends.assembler.values import I1, I8, I64, PTR, VOID, Type, Value, constant
from fuse_dialect.backends.backend import STOP, symbols_of
from fuse_dialect.backends.llvm.elements import memory_type
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.counts import Count, Size
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.local_places import ALIGNMENT, LocalPlaces
from fuse_dialect.loops.places import Place
from fuse_dialect.loops.program import Buffer, Role
from fuse_dialect.machines.machine import Machine

Point: TypeAlias = Mapping[int, Value]
"""The value of each axis of a stage, as i64; of a vector axis that of the first lane."""
PASSED = frozenset({Role.ARGUMENT, Role.RESULT})
"""Whose buffers have addresses among the slots."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a function of a kernel knows at its start."""

    f: Function
    machine: Machine
    buffers: Mapping[str, Buffer]
    pointers: Mapping[str, Value]
    """Address of each buffer; local ones that need no memory are missing."""
    workspace: Value
    sizes: Mapping[str, Value]
    """Symbolic sizes, as i64."""
    part: Value
    parts: Value
    fast_math: bool = False
    scratch: Value | None = None
    """Memory of a kernel that needs some beside its buffers."""

    def size(self, size: Size) -> Value:
        """The value of a size."""
        return self.sizes[size] if isinstance(size, str) else self.f.i64(size)

    def count(self, count: Count) -> Value:
        """The value of a count."""
        f = self.f
        if (number := count.number) is not None:
            return f.i64(number)
        total = f.i64(0)
        for symbols, factor in count.terms:
            term = f.i64(factor)
            for symbol in symbols:
                term = f.multiply(term, self.sizes[symbol])
            total = f.add(total, term)
        return total

    def place(self, place: Place, point: Point) -> tuple[Value, int]:
        """The flat part of a place at a point, in elements; axes that the point lacks count as 0.

        Returns:
            What is not known of it, and a number to add to that.
        """
        f = self.f
        total, known = f.parts(self.count(place.constant))
        for axis, stride in enumerate(place.strides):
            if stride.terms and axis in point:
                # In this order LLVM finds what neighbours share: sums that differ in their last terms alone.
                if (factor := stride.number) is None:
                    total = f.add(f.multiply(point[axis], self.count(stride)), total)
                else:
                    start, number = f.parts(point[axis])
                    total = f.add(f.multiply(start, f.i64(factor)), total)
                    known += number * factor
        return total, known

    def address(self, buffer: str, place: Place, point: Point) -> Value:
        """Where the element of a buffer at a flat place is."""
        index, distance = self.place(place, point)
        return self.f.moved(self.pointers[buffer], index, distance, memory_type(self.buffers[buffer].element))

    def share(self, total: Value, unit: int = 1) -> tuple[Value, Value]:
        """The part's share of `total` iterations: first and last plus one, in whole units but for the end."""
        f = self.f
        units = f.quotient(f.add(total, f.i64(unit - 1)), unit)

        def shared() -> list[Value]:
            start = f.emit(I64, f"udiv {f.multiply(units, self.part)}, {self.parts.text}", "first")
            stop = f.emit(I64, f"udiv {f.multiply(units, f.add(self.part, f.i64(1)))}, {self.parts.text}", "last")
            return [f.multiply(start, f.i64(unit)), f.least(f.multiply(stop, f.i64(unit)), total)]

        # Two divisions are a tenth of a kernel of a few vectors.
        is_alone = f.compare("eq", self.parts, f.i64(1))
        first, last = f.either(is_alone, lambda: [f.i64(0), total], shared)
        return first, last

    def divided(self, value: Value, by: Value) -> tuple[Value, Value]:
        """Quotient and remainder of numbers that are not negative."""
        f = self.f
        if by.number is not None:
            return f.quotient(value, by.number), f.remainder(value, by.number)
        return f.binary("udiv", value, by), f.binary("urem", value, by)

    def point_of(self, number: Value, sizes: Mapping[int, Size]) -> tuple[Value, dict[int, Value]]:
        """The values of axes from the number of their point, the last axis counting fastest; and what is left of it."""
        point: dict[int, Value] = {}
        for axis in reversed(list(sizes)):
            number, point[axis] = self.divided(number, self.size(sizes[axis]))
        return number, point

    def in_first_part(self) -> Value:
        """Whether this is part 0, which does what cannot be shared."""
        return self.f.compare("eq", self.part, self.f.i64(0))


Write: TypeAlias = Callable[[Frame], None]
"""Writes the body of a kernel."""


def frame_of(request: Request, f: Function) -> Frame:
    """The frame of a function that gets the slots: of the entry, or of an inner one, which is called for all parts."""
    slots, program = f.parameters[0], request.program
    passed = [buffer.name for buffer in program.buffers if buffer.role in PASSED]
    symbols = symbols_of(program)

    def slot(number: int, hint: str, type: Type) -> Value:
        return f.emit(type, f"load {type}, {f.offset(slots, f.i64(number), I64)}, align 8", hint)

    pointers = {name: slot(number, "buffer", PTR) for number, name in enumerate(passed)}
    workspace = slot(len(passed), "workspace", PTR)
    pointers |= {name: f.offset(workspace, f.i64(offset), I8) for name, offset in request.kept.items()}
    if request.kept_bytes:
        workspace = f.offset(workspace, f.i64(request.kept_bytes), I8)
    sizes = {name: slot(len(passed) + 1 + number, "size", I64) for number, name in enumerate(symbols)}
    # (2) An inner function does what a part tells it; it shares nothing out itself.
    part, parts = f.parameters[1:] if f is request.entry else (f.i64(0), f.i64(1))
    buffers = {buffer.name: buffer for buffer in program.buffers}
    return Frame(f, request.machine, buffers, pointers, workspace, sizes, part, parts, request.fast_math)


def inner_function(
    request: Request,
    name: str,
    readonly: Sequence[str],
    written: Sequence[str] = (),
    numbers: Sequence[str] = (),
    flags: Sequence[str] = (),
    result: Type = VOID,
) -> Function:
    """A function that the kernel calls, without code: of addresses, then integers, then truth values."""
    parameters = [
        *(Parameter(name, PTR, "noalias readonly") for name in readonly),
        *(Parameter(name, PTR, "noalias") for name in written),
        *(Parameter(name, I64) for name in numbers),
        *(Parameter(name, I1) for name in flags),
    ]
    # Not inlined: it is called for many tiles, and compiled once.
    f = request.module.function(name, parameters, linkage="internal", attributes="noinline", result=result)
    f.flags = FAST if request.fast_math else f.flags
    return f


def write_kernel(request: Request, places: LocalPlaces, scratch_bytes: int, write: Write) -> None:
    """Fill in the function of a kernel whose buffers must not overlap as far as LLVM knows.

    Args:
        request: What is wanted; its function is written.
        places: Where local buffers live.
        scratch_bytes: Memory beside the buffers, behind them in the workspace.
        write: Writes the body.
    """
    program, entry = request.program, request.entry
    outside = [buffer for buffer in program.buffers if buffer.role in PASSED]
    entry.heading(f"{program.name}({', '.join(f'{b.name}: {_shaped(b)}' for b in outside)})")
    outer = frame_of(request, entry)
    addresses = dict(outer.pointers)
    addresses |= {name: entry.offset(outer.workspace, entry.i64(offset), I8) for name, offset in places.offsets.items()}
    body = request.module.function(
        f"{entry.name}.body",
        [
            *(_parameter(number, outer.buffers[name]) for number, name in enumerate(addresses)),
            *(Parameter(f"size{number}", I64) for number, _ in enumerate(outer.sizes)),
            *_PARTS,
            *([Parameter("scratch", PTR, f"noalias align {ALIGNMENT}")] if scratch_bytes else []),
        ],
        linkage="internal",
    )
    if request.fast_math:
        body.flags = FAST
    scratch = [entry.offset(outer.workspace, entry.i64(places.bytes), I8)] if scratch_bytes else []
    entry.call(body.name, VOID, [*addresses.values(), *outer.sizes.values(), outer.part, outer.parts, *scratch])
    entry.ret()
    values = iter(body.parameters)
    pointers = {name: next(values) for name in addresses}
    pointers |= {local: pointers[result] for local, result in places.shared.items()}
    sizes = {name: next(values) for name in outer.sizes}
    part, parts, room = next(values), next(values), next(values, None)
    write(replace(outer, f=body, pointers=pointers, sizes=sizes, part=part, parts=parts, scratch=room))
    if body.streams:
        body.call("llvm.x86.sse.sfence", VOID, [])  # else another thread might not see what this one has written
    body.ret()
    faults = [places.offsets[buffer.name] for buffer in program.buffers if buffer.role is Role.FAULT]
    if faults:
        _write_checked(request, len(outside), faults)


def checked_name(kernel: str) -> str:
    """Name of the function that runs a kernel and says whether there was a fault."""
    return f"{kernel}.checked"


def _write_checked(request: Request, slot: int, offsets: Sequence[int]) -> None:
    """Write the function that runs a kernel as a row of the driver that may end the run (4)."""
    f = request.module.function(checked_name(request.entry.name), [Parameter("slots", PTR)], result=I64)
    (slots,) = f.parameters
    f.call(request.entry.name, VOID, [slots, f.i64(0), f.i64(1)])
    workspace = f.emit(PTR, f"load ptr, {f.offset(slots, f.i64(slot), I64)}, align 8", "workspace")
    found = constant(I8, 0)
    for offset in offsets:
        found = f.binary("or", found, f.load(I8, f.offset(workspace, f.i64(offset), I8)))
    f.ret(f.select(f.compare("ne", found, constant(I8, 0)), f.i64(STOP), f.i64(1)))


_PARTS = (Parameter("part", I64), Parameter("parts", I64))


def _shaped(buffer: Buffer) -> str:
    """`4x8xf32`."""
    return "x".join(map(str, (*buffer.shape, buffer.element)))


def _parameter(number: int, buffer: Buffer) -> Parameter:
    align = ALIGNMENT if buffer.role is Role.LOCAL else element_bytes(buffer.element)
    access = " readonly" if buffer.role is Role.ARGUMENT else ""
    return Parameter(f"b{number}", PTR, f"noalias{access} align {align}")
