"""What a function of a kernel knows at its start: addresses of buffers, the workspace, sizes."""

from collections.abc import Mapping

from fuse_dialect.backends.llvm.builder import Function
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.backends.llvm.values import I64, PTR, Type, Value
from fuse_dialect.counts import Count, Size
from fuse_dialect.kernels.access import FlatPlace
from fuse_dialect.kernels.program import Buffer, LoopProgram, Role

Point = Mapping[int, Value]
"""The value of each axis of a stage."""


class Frame:
    """The buffers and sizes of a kernel in one of its functions, made at the function's start.

    `slots` holds 64-bit numbers: addresses of the arguments and results in the program's order, the address of the
    workspace, then the sizes that have names, in the order in which they first stand in a shape.
    """

    def __init__(self, f: Function, program: LoopProgram, slots: Value, host: Host):
        self.f = f
        self.program = program
        self.slots = slots
        self.host = host
        self.buffers: dict[str, Buffer] = {buffer.name: buffer for buffer in program.buffers}
        passed = [buffer.name for buffer in program.buffers if buffer.role is not Role.LOCAL]
        self._addresses = {name: self._slot(place, "buffer", PTR) for place, name in enumerate(passed)}
        self.workspace = self._slot(len(passed), "workspace", PTR)
        symbols = dict.fromkeys(size for buffer in program.buffers for size in buffer.shape if isinstance(size, str))
        self._sizes = {name: self._slot(len(passed) + 1 + place, "size", I64) for place, name in enumerate(symbols)}

    def _slot(self, place: int, hint: str, type: Type) -> Value:
        slot = self.f.offset(self.slots, self.f.i64(place), I64)
        return self.f.emit(type, f"load {type}, {slot}, align 8", hint)

    def address(self, buffer: str) -> Value:
        """Where a buffer begins."""
        return self._addresses[buffer]

    def size(self, size: Size) -> Value:
        """A size."""
        return self._sizes[size] if isinstance(size, str) else self.f.i64(size)

    def count(self, count: Count) -> Value:
        """A number of elements."""
        f, total = self.f, self.f.i64(0)
        for symbols, factor in count.terms:
            term = f.i64(factor)
            for symbol in symbols:
                term = f.multiply(self._sizes[symbol], term)
            total = f.add(term, total)
        return total

    def place(self, place: FlatPlace, point: Point) -> Value:
        """The position of a flat place at a point, in elements; axes that the point lacks count as 0."""
        f, total = self.f, self.count(place.constant)
        for axis, stride in enumerate(place.strides):
            if stride.terms and axis in point:
                total = f.add(f.multiply(point[axis], self.count(stride)), total)
        return total
