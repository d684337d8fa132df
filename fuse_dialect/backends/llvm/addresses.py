"""Values of indices, places and guards as code, for one element or for neighbours along the vector axis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuse_dialect.backends.llvm.builder import Function
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.backends.llvm.values import I64, Value, constant, lanes
from fuse_dialect.counts import Count, Size
from fuse_dialect.kernels.indices import Atom, Guard, Index, Loop, Quotient, range_of
from fuse_dialect.kernels.places import Place, index_place

_FITS = 1 << 31
"""Numbers below this are divided as i32: no processor divides vectors of i64."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the loops of a stage are."""

    frame: Frame
    sizes: Sequence[Size]
    """Of the stage's axes."""
    env: dict[int, Value]
    """Values of the axes, as i64; of the vector axis that of the first lane."""
    vector: int | None
    """The vector axis."""
    lanes: int
    """Elements at once; 0 for code on scalars."""

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
        base, offsets = self.position(place, lambda _: self.f.i64(0))
        if offsets is None:
            return base
        return self.f.add(self.f.splat(base, self.lanes), offsets)

    def position(self, place: Place, computed: Callable[[int], Value]) -> tuple[Value, Value | None]:
        """The value of a place, as a scalar and, if it differs from lane to lane, a vector to add to it."""
        f, frame = self.f, self.frame
        base = frame.count(place.constant)
        parts: list[Value] = []
        for axis, stride in enumerate(place.strides):
            if stride.terms:
                base = f.add(base, f.multiply(self.env[axis], frame.count(stride)))
                if axis == self.vector and self.lanes:
                    parts.append(self._steps(stride.number, frame.count(stride)))
        for atom, factor in place.odd:
            value = self._atom(atom)
            if value.type.lanes:
                parts.append(f.multiply(value, f.splat(frame.count(factor), self.lanes)))
            else:
                base = f.add(base, f.multiply(value, frame.count(factor)))
        for position, stride, size in place.computed:
            value = self._inside(computed(position), size)
            if value.type.lanes:
                parts.append(f.multiply(value, f.splat(frame.count(stride), self.lanes)))
            else:
                base = f.add(base, f.multiply(value, frame.count(stride)))
        if not parts:
            return base, None
        total = parts[0]
        for part in parts[1:]:
            total = f.add(total, part)
        return base, total

    def guard(self, guards: Sequence[Guard]) -> Value:
        """Whether all guards hold: an i1, a vector if one of them differs from lane to lane."""
        f = self.f
        result: Value | None = None
        for guard in guards:
            value = self.index(guard.index)
            size = self.frame.count(Count.of(guard.size))
            # One comparison without a sign does both: what is negative is greater than any size.
            holds = f.compare("ult", value, f.splat(size, value.type.lanes))
            if result is None:
                result = holds
            else:
                width = max(result.type.lanes, holds.type.lanes)
                result = f.binary("and", _wide(f, result, width), _wide(f, holds, width))
        return result if result is not None else constant(I64.of("i1"), 1)

    def _steps(self, stride: int | None, value: Value) -> Value:
        if stride is not None:
            return lanes(I64.wide(self.lanes), [lane * stride for lane in range(self.lanes)])
        return self.f.multiply(lanes(I64.wide(self.lanes), list(range(self.lanes))), self.f.splat(value, self.lanes))

    def _inside(self, value: Value, size: Size) -> Value:
        """A computed index that cannot leave its axis, whatever was computed."""
        f = self.f
        wide = f.cast("sext", value, value.type.of("i64"))
        last = f.splat(f.subtract(self.frame.count(Count.of(size)), f.i64(1)), wide.type.lanes)
        low = f.intrinsic("smin", wide.type, [wide, last])
        return f.intrinsic("smax", wide.type, [low, constant(wide.type, 0)])

    def _atom(self, atom: Atom) -> Value:
        """A loop variable, quotient or remainder, as i64."""
        if isinstance(atom, Loop):
            value = self.env[atom.axis]
            return self.f.steps(value, self.lanes) if self.is_vector({atom.axis}) else value
        low, high = range_of(atom.of, self.sizes)
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
        if is_positive:
            return f.binary("udiv" if is_quotient else "urem", value, by)
        if atom.by & (atom.by - 1) == 0:
            power = constant(value.type, atom.by.bit_length() - 1 if is_quotient else atom.by - 1)
            return f.binary("ashr" if is_quotient else "and", value, power)
        is_negative = f.compare("slt", value, constant(value.type, 0))
        moved = f.select(is_negative, f.add(value, constant(value.type, 1 - atom.by)), value)
        quotient = f.binary("sdiv", moved, by)
        return quotient if is_quotient else f.binary("sub", value, f.binary("mul", quotient, by))


def _wide(f: Function, value: Value, width: int) -> Value:
    return value if value.type.lanes == width else f.splat(value, width)
