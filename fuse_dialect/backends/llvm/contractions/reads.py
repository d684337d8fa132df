"""Reads of a stage at a point of its axes, for one element or for a vector of them.

1. One axis may be the *lane axis*: the point gives its value for lane 0, and the lanes are its next values.
2. A read is a vector load if the lane axis has stride 1, one element in all lanes if it has stride 0, else a gather.
3. An element whose guards fail is not touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.backends.llvm.contractions.frame import Frame, Point
from fuse_dialect.backends.llvm.elements import from_memory, memory_type, register_type
from fuse_dialect.backends.llvm.family import NoNativeFormError
from fuse_dialect.backends.llvm.scalars import Scalars, Values, emit_body
from fuse_dialect.backends.llvm.values import I1, Value, constant
from fuse_dialect.counts import Count
from fuse_dialect.kernels.access import flat_place
from fuse_dialect.kernels.indices import Guard, Index, Loop, Quotient, axes_of, number
from fuse_dialect.kernels.program import Body, Literal, Read
from fuse_dialect.kernels.program import Value as ComputedIndex


@dataclass(frozen=True, slots=True)
class Reader:
    """Where reads happen."""

    frame: Frame
    rank: int
    """Number of axes of the stage."""
    point: Point
    lanes: int = 0
    """Elements at once; 0 for one, without a vector."""
    lane_axis: int | None = None
    mask: Value | None = None
    """Lanes that may be read; all if `None`."""

    def body(self, body: Body, first: Sequence[Value] = ()) -> Value:
        """The value of a body at the point; `first` as in `emit_body`."""
        return emit_body(Scalars(self.frame.f, self.frame.host, self.lanes), self, body, first)[-1]

    def read(self, read: Read, values: Values) -> Value:
        """What a read gives.

        Raises:
            NoNativeFormError: Its place depends on values.
        """
        f = self.frame.f
        indices = [index for index in read.indices if not isinstance(index, ComputedIndex)]
        if len(indices) < len(read.indices):
            raise NoNativeFormError("a contraction reads at computed positions")
        element = self.frame.buffers[read.buffer].element
        holds = self._holds(read.guards)
        stride = self._stride(read.buffer, indices)
        if not self.lanes:
            value = self._element(read.buffer, indices, holds)
        elif stride is not None and stride.number == 1:
            value = self._vector(read.buffer, indices, holds)
        elif stride is not None and not stride.terms and not (holds is not None and holds.type.lanes):
            value = f.splat(self._element(read.buffer, indices, holds), self.lanes)
        else:
            value = self._gather(read.buffer, indices, holds)
        value = from_memory(f, value, element)
        if holds is None or read.otherwise is None or _is_zero(read.otherwise):
            return value
        other = constant(register_type(element, self.lanes), read.otherwise.value)
        return f.select(self._wide(holds), value, other)

    def position(self, index: Index) -> Value:
        """The value of an index; a vector if there are lanes."""
        return self._wide(self._index(index, wide=True))

    def extent(self, size: str) -> Value:
        """The value of a symbolic size."""
        return self.frame.size(size)

    def inside(self, guards: Sequence[Guard]) -> Value:
        """Whether guards hold; a vector if that differs between lanes."""
        holds = self._holds(guards)
        return constant(I1, 1) if holds is None else holds

    def _wide(self, value: Value) -> Value:
        return self.frame.f.splat(value, self.lanes) if self.lanes and not value.type.lanes else value

    def _holds(self, guards: Sequence[Guard]) -> Value | None:
        """Whether all guards hold, a vector if that differs between lanes; `None` if there are none."""
        result = None
        for guard in guards:
            index = self._index(guard.index, wide=True)
            size = self.frame.size(guard.size)
            size = self._wide(size) if index.type.lanes else size
            result = self._both(result, self.frame.f.compare("ult", index, size))  # negative numbers are large
        return result

    def _both(self, lhs: Value | None, rhs: Value | None) -> Value | None:
        if lhs is None or rhs is None:
            return rhs if lhs is None else lhs
        if lhs.type.lanes != rhs.type.lanes:
            lhs, rhs = self._wide(lhs), self._wide(rhs)
        return self.frame.f.binary("and", lhs, rhs)

    def _mask(self, holds: Value | None) -> Value | None:
        both = self._both(self.mask, holds)
        return None if both is None else self._wide(both)

    def _stride(self, buffer: str, indices: Sequence[Index]) -> Count | None:
        """The stride of the lane axis, `None` if it is divided."""
        if self.lane_axis is None:
            return Count()
        if any(_divides(index, self.lane_axis) for index in indices):
            place = flat_place(indices, self.frame.buffers[buffer].shape, self.rank)
            return None if place is None else place.strides[self.lane_axis]
        plain = [_only(index, self.lane_axis) for index in indices]
        place = flat_place(plain, self.frame.buffers[buffer].shape, self.rank)
        assert place is not None, "an index without quotients is flat"
        return place.strides[self.lane_axis]

    def _element(self, buffer: str, indices: Sequence[Index], holds: Value | None) -> Value:
        f = self.frame.f
        memory = memory_type(self.frame.buffers[buffer].element)
        address = f.offset(self.frame.address(buffer), self._offset(buffer, indices, wide=False), memory)
        if holds is None:
            return f.load(memory, address)
        return f.either(holds, lambda: [f.load(memory, address)], lambda: [constant(memory, 0)])[0]

    def _vector(self, buffer: str, indices: Sequence[Index], holds: Value | None) -> Value:
        f = self.frame.f
        memory = memory_type(self.frame.buffers[buffer].element, self.lanes)
        address = f.offset(self.frame.address(buffer), self._offset(buffer, indices, wide=False), memory.scalar)
        mask = self._mask(holds)
        return f.load(memory, address) if mask is None else f.masked_load(memory, address, mask, constant(memory, 0))

    def _gather(self, buffer: str, indices: Sequence[Index], holds: Value | None) -> Value:
        f = self.frame.f
        memory = memory_type(self.frame.buffers[buffer].element, self.lanes)
        offset = self._wide(self._offset(buffer, indices, wide=True))
        mask = self._mask(holds) or f.splat(constant(I1, 1), self.lanes)
        pointers = f.offset(self.frame.address(buffer), offset, memory.scalar)
        return f.gather(memory, pointers, mask, constant(memory, 0))

    def _offset(self, buffer: str, indices: Sequence[Index], *, wide: bool) -> Value:
        """The position of an element, in elements: for all lanes, or for lane 0."""
        frame, shape = self.frame, self.frame.buffers[buffer].shape
        place = None if wide else flat_place(indices, shape, self.rank)
        if place is not None:
            return frame.place(place, self.point)
        total = frame.f.i64(0)
        for index, size in zip(indices, shape, strict=True):
            total = self._add(self._times(total, frame.size(size)), self._index(index, wide=wide))
        return total

    def _index(self, index: Index, *, wide: bool) -> Value:
        f, total = self.frame.f, self.frame.f.i64(index.constant)
        for atom, factor in index.terms:
            if isinstance(atom, Loop):
                value = self.point[atom.axis]
                if wide and self.lanes and atom.axis == self.lane_axis:
                    value = f.steps(value, self.lanes)
            else:
                inner = self._index(atom.of, wide=wide)
                operation = "quotient" if isinstance(atom, Quotient) else "remainder"
                value = self._divided(operation, inner, atom.by)
            total = self._add(total, self._times(value, f.i64(factor)))
        return total

    def _divided(self, operation: str, value: Value, by: int) -> Value:
        """Indices that are divided are not negative: they are positions in merged axes or in arrays."""
        f = self.frame.f
        return f.quotient(value, by) if operation == "quotient" else f.remainder(value, by)

    def _add(self, lhs: Value, rhs: Value) -> Value:
        if lhs.type.lanes != rhs.type.lanes:
            lhs, rhs = (rhs if lhs.number == 0 else self._wide(lhs)), (lhs if lhs.number == 0 else self._wide(rhs))
            if rhs.number == 0:
                return lhs
        return self.frame.f.add(lhs, rhs)

    def _times(self, lhs: Value, rhs: Value) -> Value:
        if lhs.type.lanes != rhs.type.lanes:
            if rhs.number == 1:
                return lhs
            lhs, rhs = self._wide(lhs), self._wide(rhs)
        return self.frame.f.multiply(lhs, rhs)


def _is_zero(literal: Literal) -> bool:
    return literal.value == 0 and str(literal.value) != "-0.0"


def _divides(index: Index, axis: int) -> bool:
    return any(not isinstance(atom, Loop) and axis in axes_of(atom.of) for atom, _ in index.terms)


def _only(index: Index, axis: int) -> Index:
    """The part of an index that an axis has."""
    kept = tuple((atom, factor) for atom, factor in index.terms if isinstance(atom, Loop) and atom.axis == axis)
    return number(0) if not kept else Index(kept, 0)
