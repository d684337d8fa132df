"""Reads and stores of stages as code, and what bodies have around them: the one reader of memory.

1. The point gives values for the axes of the stage; along the vector axis it is that of lane 0, and the lanes are the
   next ones.
2. A read is a vector load if the vector axis has stride 1, one element for all lanes if it has stride 0, a few loads if
   the stride is small or -1 (`strided_loads`), else a gather; so where a computed index differs from lane to lane.
3. An element whose guards fail is not touched. Lanes that the mask leaves out are neither read nor written.
4. Where a guard is the same for all lanes, a branch goes around the load: a masked load of no lanes still takes
   hundreds of cycles if its address lies in no page, as that of a window above its image may.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fuse_dialect.backends.assembler.values import I64, Type, Value, constant
from fuse_dialect.backends.llvm.addresses import Addresses
from fuse_dialect.backends.llvm.combining import combine
from fuse_dialect.backends.llvm.elements import from_memory, memory_type, register_type, to_memory
from fuse_dialect.backends.llvm.kernel import Frame, Point
from fuse_dialect.backends.llvm.scalars import Scalars, Values, emit_body
from fuse_dialect.backends.llvm.strided_loads import strided_load
from fuse_dialect.counts import product
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.indices import Guard, Index
from fuse_dialect.loops.places import Place, array_strides, place_of
from fuse_dialect.loops.program import Axis, Body, Literal, Read, Scatter
from fuse_dialect.loops.program import Value as Computed


@dataclass(frozen=True, slots=True)
class Reader:
    """Buffers, seen from where the loops of a stage are; see `scalars.Surroundings`."""

    addresses: Addresses
    mask: Value | None = None
    """The lanes that there are elements for; `None` for all."""

    @property
    def scalars(self) -> Scalars:
        """How bodies are computed there."""
        frame = self.addresses.frame
        return Scalars(frame.f, frame.machine, self.addresses.lanes, frame.fast_math)

    def body(self, body: Body, first: Sequence[Value] = ()) -> Value:
        """The value of a body at the point; `first` as in `emit_body`."""
        return emit_body(self.scalars, self, body, first)[-1]

    def read(self, read: Read, values: Values) -> Value:
        """An element of a buffer, in registers; a vector if it may differ from lane to lane."""
        return self.read_at(self.place(read.buffer, read.indices), read, values)

    def place(self, buffer: str, indices: Sequence[Index | Computed]) -> Place:
        """Where an element lies."""
        return place_of(indices, self.addresses.frame.buffers[buffer].shape, len(self.addresses.sizes))

    def prefetch(self, read: Read, ahead: int) -> None:
        """Fetch what a read needs some bytes further on, if vectors run along it and it may come from memory."""
        at = self.addresses
        buffer = at.frame.buffers[read.buffer]
        place = self.place(read.buffer, read.indices)
        size = product(buffer.shape).number
        is_near = size is not None and size * element_bytes(buffer.element) <= at.frame.machine.second_cache.bytes
        if not is_near and self._is_side_by_side(place) and not place.computed:
            at.f.prefetch(self.address(read.buffer, place), at.f.i64(ahead))

    def position(self, index: Index) -> Value:
        """The value of an index."""
        return self.addresses.index(index)

    def extent(self, size: str) -> Value:
        """The value of a symbolic size."""
        return self.addresses.frame.sizes[size]

    def inside(self, guards: Sequence[Guard]) -> Value:
        """Whether guards hold."""
        return self.addresses.guard(guards)

    def read_at(self, place: Place, read: Read, values: Values) -> Value:
        """What a read gives that goes to a place; `values` are those of the body, for computed indices."""
        at = self.addresses
        f = at.f
        start, offsets = at.address(read.buffer, place, values.__getitem__, memory_type(read.element))
        same, different = at.guards(read.guards)
        # (2) Nothing differs from lane to lane: one element, which who needs lanes spreads.
        if offsets is None and different is None:
            return self._read_scalar(read, start, same)
        type = memory_type(read.element, at.lanes)
        # (3) What a load leaves out it fills: where a guard fails with what the read gives there, elsewhere anyhow.
        fill = self._fill(read, type)

        mask = self._both(different)

        def load() -> Sequence[Value]:
            stride = None if at.vector is None else place.stride(at.vector)
            if stride is not None and not any(values[index].type.lanes for index, _, _ in place.computed):
                if stride == 1:
                    return [f.load(type, start) if mask is None else f.masked_load(type, start, mask, fill)]
                if (strided := strided_load(f, type, start, stride, mask, fill)) is not None:
                    return [strided]
            steps = offsets if offsets is not None else constant(I64.wide(at.lanes), 0)
            lanes = mask if mask is not None else constant(Type("i1", at.lanes), 1)
            return [f.gather(type, f.offset(start, steps, type.scalar), lanes, fill)]

        # (4) All lanes or none, as far as one guard says.
        (loaded,) = load() if same is None else f.either(same, load, lambda: [fill])
        return from_memory(f, loaded, read.element)

    def address(self, buffer: str, place: Place) -> Value:
        """Where the first lane's element is."""
        at = self.addresses
        return at.address(buffer, place, _nothing_computed, memory_type(at.frame.buffers[buffer].element))[0]

    def store(self, value: Value, buffer: str, place: Place, *, streams: bool = False) -> None:
        """Write a result; past the caches if it `streams`, then vectors are aligned."""
        at = self.addresses
        f = at.f
        stored = to_memory(f, value)
        element = at.frame.buffers[buffer].element
        # A body's type and its buffer's differ only by a mistake above; LLVM would write over the neighbours.
        assert stored.type.scalar == memory_type(element), (
            f"{value.type.element} does not go into an array of {element}"
        )
        pointer, offsets = at.address(buffer, place, _nothing_computed, stored.type.scalar)
        if not at.lanes:
            f.store(stored, pointer)
        elif self._is_side_by_side(place):
            if self.mask is None and streams:
                f.stream(stored, pointer, stored.type.lanes * stored.type.bits // 8)
            else:
                self._store_vector(stored, pointer)
        else:
            steps = offsets if offsets is not None else constant(I64.wide(at.lanes), 0)
            mask = self.mask if self.mask is not None else constant(Type("i1", at.lanes), 1)
            f.scatter(stored, f.offset(pointer, steps, stored.type.scalar), mask)

    def scatter(self, value: Value, buffer: str, place: Place, target: Scatter) -> None:
        """Write to, or combine with, the elements at a place that a buffer holds; it is one for all lanes."""
        at = self.addresses
        f, held = at.f, at.frame.buffers[buffer]
        known = replace(self, addresses=replace(at, lanes=0), mask=None)
        where = known.read(Read(target.places, target.indices, "i64"), {})
        stride = array_strides(held.shape)[target.depth - 1]
        type = to_memory(f, value).type
        start, _ = at.address(buffer, place, _nothing_computed, type.scalar)
        pointer = f.offset(start, f.multiply(where, at.frame.count(stride)), type.scalar)
        if target.combination is not None:
            fill = self._fill(Read(buffer, (), held.element.removeprefix("u")), type)
            old = f.load(type, pointer) if self.mask is None else f.masked_load(type, pointer, self.mask, fill)
            value = combine(
                self.scalars, target.combination, from_memory(f, old, held.element.removeprefix("u")), value
            )
        self._store_vector(to_memory(f, value), pointer)

    def _store_vector(self, stored: Value, pointer: Value) -> None:
        """Write elements side by side, those that there are; without lanes there is no mask."""
        f = self.addresses.f
        if self.mask is None:
            f.store(stored, pointer)
        else:
            f.masked_store(stored, pointer, self.mask)

    def _is_side_by_side(self, place: Place) -> bool:
        vector = self.addresses.vector
        return vector is not None and place.stride(vector) == 1

    def _both(self, guard: Value | None) -> Value | None:
        """The lanes of the mask in which a guard holds."""
        if guard is None:
            return self.mask
        return guard if self.mask is None else self.addresses.f.binary("and", self.mask, guard)

    def _read_scalar(self, read: Read, pointer: Value, guard: Value | None) -> Value:
        f = self.addresses.f

        def load() -> Sequence[Value]:
            return [from_memory(f, f.load(memory_type(read.element), pointer), read.element)]

        if guard is None:
            return load()[0]
        # (3) A branch, not a select: the address may be outside of the array.
        (value,) = f.either(guard, load, lambda: [self._otherwise(read, 0)])
        return value

    def _otherwise(self, read: Read, lanes: int) -> Value:
        """What a read gives where its guards fail."""
        literal = read.otherwise if read.otherwise is not None else Literal(0, read.element)
        return constant(register_type(read.element, lanes), literal.value)

    def _fill(self, read: Read, type: Type) -> Value:
        """The same as it lies in memory."""
        value = self._otherwise(read, type.lanes)
        # A truth value is a byte in memory, so a cast would be code; other constants are their own bits.
        return constant(type, value.number or 0) if read.element == "i1" else to_memory(self.addresses.f, value)


def reader_at(
    frame: Frame,
    axes: Sequence[Axis],
    point: Point,
    lanes: int = 0,
    vector: int | None = None,
    mask: Value | None = None,
) -> Reader:
    """The reader at a point of some axes; of as many lanes along the vector axis."""
    return Reader(Addresses(frame, [axis.size for axis in axes], point, vector, lanes), mask)


def _nothing_computed(place: int) -> Value:
    raise AssertionError(f"a store has no computed index: {place}")
