"""Values of indices, places and guards as code, for one element or for neighbours along the vector axis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I64, Type, Value, constant, lanes
from fuse_dialect.backends.llvm.kernel import Frame, Point
from fuse_dialect.counts import Size
from fuse_dialect.loops.indices import Atom, Guard, Index, Loop, Quotient, range_of
from fuse_dialect.loops.places import Place, index_place

_FITS = 1 << 31
"""Numbers below this are divided as i32: no processor divides vectors of i64."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the loops of a stage are."""

    frame: Frame
    sizes: Sequence[Size]
    """Of the stage's axes."""
    point: Point
    vector: int | None = None
    """The vector axis."""
    lanes: int = 0
    """Elements at once; 0 for code on scalars."""
    within: tuple[int, int] | None = None
    """The first of the elements of the vector axis that there may be, and the one behind the last; decides guards."""

    @property
    def f(self) -> Function:
        """Where code goes."""
        return self.frame.f

    def is_vector(self, axes: frozenset[int] | set[int]) -> bool:
        """Whether something that depends on these axes differs from lane to lane."""
        return self.lanes > 0 and self.vector in axes

    def index(self, index: Index) -> Value:
        """The value of an index, as i64: a vector if it depends on the vector axis."""
        place = index_place(index, len(self.sizes))
        f = self.f
        base, known, offsets = self.position(place, lambda _: f.i64(0))
        base = f.add(base, f.i64(known))
        return base if offsets is None else f.add(f.splat(base, self.lanes), offsets)

    def address(
        self, buffer: str, place: Place, computed: Callable[[int], Value], element: Type
    ) -> tuple[Value, Value | None]:
        """Where a place in a buffer is: that of lane 0 and, if lanes do not all have that, elements from there."""
        base, known, offsets = self.position(place, computed)
        return self.f.moved(self.frame.pointers[buffer], base, known, element), offsets

    def position(self, place: Place, computed: Callable[[int], Value]) -> tuple[Value, int, Value | None]:
        """The value of a place: a scalar, a number and, if it differs from lane to lane, a vector to add to it."""
        f, frame = self.f, self.frame
        base, known = frame.place(place, self.point)
        parts: list[Value] = []
        # The frame's part is that of lane 0; lanes differ by the stride of their axis.
        if self.vector is not None and self.lanes and (stride := place.strides[self.vector]).terms:
            parts.append(self._steps(stride.number, frame.count(stride)))
        for atom, factor in place.odd:
            value = self._atom(atom)
            if value.type.lanes:
                parts.append(f.multiply(value, f.splat(frame.count(factor), self.lanes)))
            else:
                base = f.add(base, f.multiply(value, frame.count(factor)))
        # What a body computes may be any number, so it is kept inside the array.
        for position, stride, size in place.computed:
            value = self._inside(computed(position), size)
            if value.type.lanes:
                parts.append(f.multiply(value, f.splat(frame.count(stride), self.lanes)))
            else:
                base = f.add(base, f.multiply(value, frame.count(stride)))
        if not parts:
            return base, known, None
        total = parts[0]
        for part in parts[1:]:
            total = f.add(total, part)
        return base, known, total

    def guard(self, guards: Sequence[Guard]) -> Value:
        """Whether all guards hold: an i1, a vector if one of them differs from lane to lane."""
        same, different = self.guards(guards)
        if same is None or different is None:
            return different or same or constant(I64.of("i1"), 1)
        return self.f.binary("and", different, self.f.splat(same, different.type.lanes))

    def guards(self, guards: Sequence[Guard]) -> tuple[Value | None, Value | None]:
        """Whether those guards hold that are the same for all lanes, and whether the others do; `None` without any."""
        f = self.f
        found: list[Value | None] = [None, None]
        for guard in guards:
            known = self._known(guard)
            if known:
                continue
            if known is False:
                found[0] = constant(I64.of("i1"), 0)
                continue
            value = self.index(guard.index)
            size = self.frame.size(guard.size)
            # One comparison without a sign does both: what is negative is greater than any size.
            holds = f.compare("ult", value, f.splat(size, value.type.lanes))
            kind = bool(holds.type.lanes)
            before = found[kind]
            found[kind] = holds if before is None else f.binary("and", before, holds)
        return found[0], found[1]

    def _known(self, guard: Guard) -> bool | None:
        """Whether a guard holds, where the elements that there may be decide that."""
        if self.within is None or self.vector is None or guard.index.terms != ((Loop(self.vector), 1),):
            return None
        if not isinstance(guard.size, int):
            return None
        low, high = (end + guard.index.constant for end in self.within)
        if low >= 0 and high <= guard.size:
            return True
        return False if high <= 0 or low >= guard.size else None

    def _steps(self, stride: int | None, value: Value) -> Value:
        if stride is not None:
            return lanes(I64.wide(self.lanes), [lane * stride for lane in range(self.lanes)])
        return self.f.multiply(lanes(I64.wide(self.lanes), list(range(self.lanes))), self.f.splat(value, self.lanes))

    def _inside(self, value: Value, size: Size) -> Value:
        """A computed index that cannot leave its axis, whatever was computed."""
        f = self.f
        wide = f.cast("sext", value, value.type.of("i64"))
        # Clamped rather than checked: models are not trusted, and a read outside of the array is a fault.
        last = f.splat(f.subtract(self.frame.size(size), f.i64(1)), wide.type.lanes)
        low = f.intrinsic("smin", wide.type, [wide, last])
        return f.intrinsic("smax", wide.type, [low, constant(wide.type, 0)])

    def _atom(self, atom: Atom) -> Value:
        """A loop variable, quotient or remainder, as i64."""
        if isinstance(atom, Loop):
            value = self.point[atom.axis]
            return self.f.steps(value, self.lanes) if self.is_vector({atom.axis}) else value
        low, high = range_of(atom.of, self.sizes)
        # Vectors of i64 are divided lane by lane; most indices are known to fit 32 bits.
        is_small = low is not None and low >= 0 and high is not None and high < _FITS
        value = self.index(atom.of)
        if value.type.lanes and is_small:
            narrow = self.f.cast("trunc", value, value.type.of("i32"))
            divided = self._divided(narrow, atom, True)
            return self.f.cast("zext", divided, value.type)
        return self._divided(value, atom, low is not None and low >= 0)

    def _divided(self, value: Value, atom: Atom, is_positive: bool) -> Value:
        assert not isinstance(atom, Loop)
        f = self.f
        by = constant(value.type, atom.by)
        is_quotient = isinstance(atom, Quotient)
        if value.number is not None:
            return constant(value.type, value.number // atom.by if is_quotient else value.number % atom.by)
        if is_positive:
            return f.binary("udiv" if is_quotient else "urem", value, by)
        # Shifts and masks round down for negative numbers too, as quotients of indices do.
        if atom.by & (atom.by - 1) == 0:
            power = constant(value.type, atom.by.bit_length() - 1 if is_quotient else atom.by - 1)
            return f.binary("ashr" if is_quotient else "and", value, power)
        # `sdiv` rounds to zero: a negative number is moved by `by - 1`, so that it rounds down.
        is_negative = f.compare("slt", value, constant(value.type, 0))
        moved = f.select(is_negative, f.add(value, constant(value.type, 1 - atom.by)), value)
        quotient = f.binary("sdiv", moved, by)
        return quotient if is_quotient else f.binary("sub", value, f.binary("mul", quotient, by))
