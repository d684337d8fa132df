"""Columns of few bits as vectors of floats: what micro-kernels read of panels of bytes, and of parameters beside them.

1. Bytes widen to 32 bits and become floats. Of a byte that holds two elements, both are made at once: shifts within 32
   bits take the place of those of bytes, which x86 has not.
2. Parameters are read once for each block of the sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuse_dialect.backends.assembler.values import I8, I32, Value, constant
from fuse_dialect.backends.llvm.elements import register_type
from fuse_dialect.backends.llvm.memory import Reader
from fuse_dialect.backends.llvm.scalars import Values, emit_body
from fuse_dialect.loops.expansions import Expansion
from fuse_dialect.loops.indices import Guard, Index
from fuse_dialect.loops.program import Body, Read


@dataclass(frozen=True, slots=True)
class _Around:
    """What a body of an expansion reads; see `scalars.Surroundings`."""

    others: Reader
    known: Mapping[str, Value]
    """Values of what lies in panels, by buffer."""

    def read(self, read: Read, values: Values) -> Value:
        known = self.known.get(read.buffer)
        return self.others.read(read, values) if known is None else known

    def position(self, index: Index) -> Value:
        return self.others.position(index)

    def extent(self, size: str) -> Value:
        return self.others.extent(size)

    def inside(self, guards: Sequence[Guard]) -> Value:
        return self.others.inside(guards)


class ExpandedColumns:
    """The columns of one panel, for one block of the sum."""

    def __init__(self, around: Reader, expansion: Expansion, at: tuple[Value, Value, Value]):
        """Begin a block.

        Args:
            around: Reads what lies in no panels.
            expansion: How columns are made.
            at: Address of the panel's first byte of the block, the panel's first column, and the number of the block.
        """
        self.around, self.expansion, self.frame = around, expansion, around.addresses.frame
        self.f, self.lanes = around.addresses.f, around.addresses.lanes
        self.panel, self.column, self.block = at
        self.per_byte = expansion.per_byte
        self.parameters: dict[int, dict[str, Value]] = {}

    def outside(self, v: int) -> Value | None:
        """What the sum of a block is multiplied by; `None` for nothing."""
        body = self.expansion.outside
        return self._value(body, self._parameters(v)) if body else None

    def inside(self, k: Value, vectors: int, width: int) -> list[list[Value]]:
        """What is multiplied at a point of the block, and at the one behind it if a byte holds both; by vectors."""
        f = self.f
        row = f.offset(self.panel, f.multiply(f.quotient(k, self.per_byte), f.i64(width)), I8)
        machine = self.frame.machine
        for line in range(0, width, machine.line_bytes):
            f.prefetch(row, f.i64(machine.ahead_bytes + line))
        found: list[list[Value]] = [[] for _ in range(self.per_byte)]
        for v in range(vectors):
            known = self._parameters(v)
            for point, element in enumerate(self._elements(f.offset(row, f.i64(v * self.lanes), I8))):
                value = self._value(self.expansion.inside, {**known, self.expansion.elements: element})
                found[point].append(value)
        return found

    def _elements(self, address: Value) -> list[Value]:
        """The elements of a vector of bytes, in 32 bits (1)."""
        f, signed = self.f, self.expansion.is_signed
        wide = f.cast("sext" if signed else "zext", f.load(I8.wide(self.lanes), address), I32.wide(self.lanes))
        if self.per_byte == 1:
            return [wide]
        shift = "ashr" if signed else "lshr"
        lower = (
            f.binary("ashr", f.binary("shl", wide, constant(wide.type, 28)), constant(wide.type, 28))
            if signed
            else f.binary("and", wide, constant(wide.type, 15))
        )
        return [lower, f.binary(shift, wide, constant(wide.type, 4))]

    def _parameters(self, v: int) -> dict[str, Value]:
        """The parameters of a vector of columns (2)."""
        if v not in self.parameters:
            f, expansion, found = self.f, self.expansion, dict[str, Value]()
            for buffer, packing in expansion.packings.items():
                if buffer != expansion.elements:
                    type = register_type(packing.element)
                    # Panels lie behind each other, in each one row of columns behind the other.
                    place = f.add(
                        f.multiply(self.column, f.i64(packing.depth)), f.multiply(self.block, f.i64(packing.width))
                    )
                    address = f.offset(self.frame.pointers[buffer], f.add(place, f.i64(v * self.lanes)), type)
                    found[buffer] = f.load(type.wide(self.lanes), address)
            self.parameters[v] = found
        return self.parameters[v]

    def _value(self, body: Body, known: Mapping[str, Value]) -> Value:
        return emit_body(self.around.scalars, _Around(self.around, known), body)[-1]
