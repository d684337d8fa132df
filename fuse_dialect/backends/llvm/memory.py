"""Reads and stores of stages as code: side by side, strided, guarded, masked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuse_dialect.backends.llvm.addresses import Addresses
from fuse_dialect.backends.llvm.elements import from_memory, memory_type, register_type, to_memory
from fuse_dialect.backends.llvm.family import NoNativeFormError
from fuse_dialect.backends.llvm.values import I64, Type, Value, constant
from fuse_dialect.kernels.places import Place
from fuse_dialect.kernels.program import Literal, Read


@dataclass(frozen=True, slots=True)
class Memory:
    """Buffers, seen from where the loops of a stage are."""

    addresses: Addresses
    mask: Value | None = None
    """The lanes that there are elements for; `None` for all."""

    def read(self, read: Read, place: Place, computed: Callable[[int], Value]) -> Value:
        """An element in registers; a vector if it may differ from lane to lane.

        Args:
            read: The read.
            place: Where it goes.
            computed: Gives the value at a place of the body.
        """
        at = self.addresses
        f = at.f
        base, offsets = at.position(place, computed)
        guard = at.guard(read.guards) if read.guards else None
        pointer = at.frame.pointers[read.buffer]
        if offsets is None and (guard is None or not guard.type.lanes):
            return self._read_scalar(read, f.offset(pointer, base, memory_type(read.element)), guard)
        type = memory_type(read.element, at.lanes)
        start = f.offset(pointer, base, type.scalar)
        mask = self._both(guard)
        if self._is_side_by_side(place):
            loaded = f.load(type, start) if mask is None else f.masked_load(type, start, mask, constant(type, 0))
        else:
            steps = offsets if offsets is not None else constant(I64.wide(at.lanes), 0)
            mask = mask if mask is not None else constant(Type("i1", at.lanes), 1)
            loaded = f.gather(type, f.offset(start, steps, type.scalar), mask, constant(type, 0))
        value = from_memory(f, loaded, read.element)
        return value if guard is None else self._guarded(read, guard, value)

    def address(self, buffer: str, place: Place) -> Value:
        """Where the first lane's element is."""
        at = self.addresses
        base, _ = at.position(place, _nothing_computed)
        return at.f.offset(at.frame.pointers[buffer], base, memory_type(at.frame.buffers[buffer].element))

    def store(self, value: Value, buffer: str, place: Place, *, streams: bool = False) -> None:
        """Write a result; past the caches if it `streams`, then vectors are aligned."""
        at = self.addresses
        f = at.f
        stored = to_memory(f, value)
        element = at.frame.buffers[buffer].element
        if stored.type.scalar != memory_type(element):
            raise NoNativeFormError(f"elements of type {value.type.element} do not go into an array of {element}")
        base, offsets = at.position(place, _nothing_computed)
        pointer = f.offset(at.frame.pointers[buffer], base, stored.type.scalar)
        if not at.lanes:
            f.store(stored, pointer)
        elif self._is_side_by_side(place):
            if self.mask is None and streams:
                f.stream(stored, pointer, stored.type.lanes * stored.type.bits // 8)
            elif self.mask is None:
                f.store(stored, pointer)
            else:
                f.masked_store(stored, pointer, self.mask)
        else:
            steps = offsets if offsets is not None else constant(I64.wide(at.lanes), 0)
            mask = self.mask if self.mask is not None else constant(Type("i1", at.lanes), 1)
            f.scatter(stored, f.offset(pointer, steps, stored.type.scalar), mask)

    def _is_side_by_side(self, place: Place) -> bool:
        vector = self.addresses.vector
        if vector is None or place.stride(vector) != 1:
            return False
        return not place.computed

    def _both(self, guard: Value | None) -> Value | None:
        """The mask, and the guard in every lane."""
        if guard is None:
            return self.mask
        f = self.addresses.f
        wide = guard if guard.type.lanes else f.splat(guard, self.addresses.lanes)
        return wide if self.mask is None else f.binary("and", self.mask, wide)

    def _read_scalar(self, read: Read, pointer: Value, guard: Value | None) -> Value:
        f = self.addresses.f

        def load() -> Sequence[Value]:
            return [from_memory(f, f.load(memory_type(read.element), pointer), read.element)]

        if guard is None:
            return load()[0]
        (value,) = f.either(guard, load, lambda: [self._otherwise(read, 0)])
        return value

    def _guarded(self, read: Read, guard: Value, value: Value) -> Value:
        return self.addresses.f.select(guard, value, self._otherwise(read, value.type.lanes))

    def _otherwise(self, read: Read, lanes: int) -> Value:
        literal = read.otherwise if read.otherwise is not None else Literal(0, read.element)
        return constant(register_type(read.element, lanes), literal.value)


def _nothing_computed(place: int) -> Value:
    raise AssertionError(f"a store has no computed index: {place}")
