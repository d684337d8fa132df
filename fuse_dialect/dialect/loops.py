"""How an op becomes loops: the facet `FuseOp.loops` computes one element of a result, inside a `Nest`.

    def loops(self, nest: Nest) -> SSAValue:              # a matrix product
        row, column = nest.at
        inner = nest.reduced(nest.shape(0)[1])
        product = scalars.multiply(nest.read(0, [row, inner]), nest.read(1, [inner, column]))
        return nest.total(Combiner.ADD, product)

1. `nest.at` are the indices of the element; `nest.reduced` adds an axis along which `nest.total` combines.
2. `nest.read` gives an element of an operand; everything else is scalar code (`scalars`), as in `MapOp.scalar_body`.
3. What comes before `nest.total` is computed for every point, what comes after it once for each element.
4. Values that an op rejects, such as an index out of range, are a fault: `FuseOp.fault` finds them, and the loops bring
   what they read by into range.
5. What is dear and needed by many elements, such as where along the width pixels of an image are read, is computed
   once: `Nest.kept` stores it, `Nest.read_kept` reads it.
6. `LoopFormError` says why there are no loops; then the op's NumPy meaning is all there is.

What comes out, `Nest.stage`, is plain data: a `Stage` that names operands by number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i1, i64
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.scalar_code import ScalarCode, ScalarValue, element_name, literal
from fuse_dialect.dialect.shape_rules import product
from fuse_dialect.dialect.types import Tensor, element_dtype, is_unsigned
from fuse_dialect.loops.indices import Guard, Index, Loop, holds, loop, number, simplified, substituted
from fuse_dialect.loops.iteration_space import with_axes
from fuse_dialect.loops.program import (
    Axis,
    Buffer,
    Combiner,
    Extent,
    Inside,
    Keep,
    Literal,
    Position,
    Read,
    Reduction,
    Role,
    Stage,
    Value,
)
from fuse_dialect.loops.sizes import Sizes

RESULT = "result"
"""Name of the buffer that a nest writes; operands are named by their number: `0`, `1`, ..."""

Place: TypeAlias = Index | SSAValue
"""An index of a read: known from the loops, or computed."""


class LoopFormError(Exception):
    """An op, or an op with these properties, element types or sizes, cannot be written as loops.

    The message goes on after the op's name: `needs static sizes`.
    """


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a result, which is computed apart from the others."""

    axis: int
    start: int
    """Where the piece begins on the axis."""
    size: int


@dataclass(frozen=True, slots=True)
class Updates:
    """A part of a result that is written at places which are data, over what is there, in the order of an operand."""

    operand: int
    """The operand over whose elements loops run."""
    rank: int
    """How many of its first axes choose a place."""
    depth: int
    """How many first axes of the result a place counts together, in row-major order."""
    combiner: Combiner | None
    """How elements are combined with those that are there; `None` if they take their place."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Values that a nest keeps: `Nest.kept`."""

    name: str
    type: Attribute
    """Of one of them."""


@dataclass(frozen=True, slots=True)
class LoopOperand:
    """What a nest knows of an operand."""

    type: Tensor
    shape: tuple[Size, ...]
    constant: float | int | bool | None = None
    """The value of all its elements, if that is known."""


class Nest:
    """The loops around one element of a result, and the code that they run."""

    def __init__(
        self,
        operands: Sequence[LoopOperand],
        shape: Sequence[Size],
        sizes: Sizes,
        *,
        result: int = 0,
        piece: int = 0,
        origin: str = "",
    ):
        """Loops over `shape`, which is that of the result or of the piece of it."""
        self.at = tuple(loop(axis) for axis in range(len(shape)))
        """Indices of the element in the result, or in the piece."""
        self.result = result
        """Number of the result that is computed."""
        self.piece = piece
        """Number of the piece that is computed."""
        self.code = ScalarCode(origin)
        """The scalar code, which is recorded within `ScalarCode.recording`."""
        self.intermediates: list[tuple[Buffer, Stage]] = []
        """What `kept` has made: buffers, and the stages that write them."""
        self._operands = operands
        self._parallel = tuple(shape)
        self._reduced: list[Size] = []
        self._sizes = sizes
        self._origin = origin
        self._total: ScalarValue | None = None
        self._reduction: Reduction | None = None
        self._line: tuple[int, Index] | None = None
        """The axis of the result along which a scan runs, and where on it a point stores."""

    @property
    def extents(self) -> tuple[Size, ...]:
        """Sizes of the axes so far."""
        return tuple(self._sizes.resolve(size) for size in (*self._parallel, *self._reduced))

    def resolve(self, size: Size) -> Size:
        """The number or the one name that stands for a size."""
        return self._sizes.resolve(size)

    def shape(self, operand: int) -> tuple[Size, ...]:
        """Sizes of an operand."""
        return tuple(self._sizes.resolve(size) for size in self._operands[operand].shape)

    def type_of(self, operand: int) -> Tensor:
        """Type of an operand."""
        return self._operands[operand].type

    def static(self, *sizes: Size) -> tuple[int, ...]:
        """The sizes.

        Raises:
            LoopFormError: One of them is not known.
        """
        known = [size for size in map(self._sizes.resolve, sizes) if isinstance(size, int)]
        if len(known) != len(sizes):
            raise LoopFormError("needs static sizes")
        return tuple(known)

    @property
    def is_for_kernel(self) -> bool:
        """Whether the loops become a kernel, which computes only with sizes that are numbers."""
        return not self._sizes.are_computed_with

    def counted(self, *sizes: Size) -> tuple[Size, ...]:
        """The sizes, as ones that code computes with.

        Raises:
            LoopFormError: One of them is not known, and the program is for a kernel.
        """
        return tuple(map(self._sizes.resolve, sizes)) if self._sizes.are_computed_with else self.static(*sizes)

    def count(self, *sizes: Size, plus: int = 0, type: Attribute = i64) -> SSAValue:
        """The product of sizes, and a number more. A kernel with a size by name is for arrays that are not empty."""
        resolved = [self._sizes.resolve(size) for size in sizes]
        known = product(size for size in resolved if isinstance(size, int))
        names = [size for size in resolved if isinstance(size, str)]
        if not names:
            return scalars.constant(known + plus, type)
        total = reduce(scalars.multiply, [self.extent(name, type) for name in names])
        total = total if known == 1 else scalars.multiply(total, scalars.constant(known, type))
        return scalars.add(total, scalars.constant(plus, type)) if plus else total

    def equal(self, one: Size, other: Size) -> None:
        """Take two sizes for equal.

        Raises:
            LoopFormError: They are not.
        """
        if not self._sizes.unify(one, other):
            raise LoopFormError(f"meets sizes {self._sizes.resolve(one)} and {self._sizes.resolve(other)}")

    def reduced(self, size: Size) -> Index:
        """A new axis, along which `total` combines."""
        assert self._total is None, "reduced axes come before the total"
        self._reduced.append(size)
        return loop(len(self._parallel) + len(self._reduced) - 1)

    def read(
        self, operand: int, indices: Sequence[Place], guards: Sequence[Guard] = (), otherwise: float = 0
    ) -> SSAValue:
        """An element of an operand, or `otherwise` where a guard fails."""
        source = self._operands[operand]
        element = scalars.signless(source.type.element_type)
        if guards:
            guards = [guard for guard in self._simplified(guards) if not holds(guard, self.extents)]
        if source.constant is not None and not guards:
            return scalars.constant(source.constant, element)
        if source.constant is not None:
            inside = self.inside(guards)
            fill = scalars.constant(otherwise, element)
            return scalars.select(inside, scalars.constant(source.constant, element), fill)
        assert len(indices) == len(source.shape), "one index for each axis"
        extents = self.extents
        if any(isinstance(size, str) for size in (*extents, *source.shape)):
            guarded = {guard.index for guard in guards}
            for index, size in zip(indices, source.shape, strict=True):
                # A guard that is left says that the axes may have other sizes.
                if not isinstance(index, Index) or simplified(index, extents) not in guarded:
                    self._match(index, size)
        fill = literal(otherwise, element) if guards else None
        return self._read_of(str(operand), element, indices, guards, fill)

    def _read_of(
        self, buffer: str, element: Attribute, indices: Sequence[Place], guards: Sequence[Guard], fill: Literal | None
    ) -> SSAValue:
        computed = [index for index in indices if isinstance(index, SSAValue)]

        def read(places: Sequence[int]) -> Read:
            values, extents = iter(places), self.extents
            taken = tuple(
                Value(next(values)) if isinstance(index, SSAValue) else simplified(index, extents) for index in indices
            )
            return Read(buffer, taken, element_name(element), tuple(guards), fill, self._origin)

        return self.code.add(element, computed, read)

    def _match(self, index: Place, size: Size) -> None:
        """An axis that an operand is read along has the operand's size, as far as one of the two is not known."""
        match simplified(index, self.extents) if isinstance(index, Index) else index:
            case Index(((Loop(axis), 1),), 0):
                own, size = self.extents[axis], self._sizes.resolve(size)
                if isinstance(own, str) or isinstance(size, str):
                    self.equal(own, size)
            case _:
                pass

    def _simplified(self, guards: Sequence[Guard]) -> list[Guard]:
        return [Guard(simplified(guard.index, self.extents), self._sizes.resolve(guard.size)) for guard in guards]

    def position(self, index: Index, type: Attribute = i64) -> SSAValue:
        """The value of an index."""
        return self.code.add(type, (), lambda _: Position(simplified(index, self.extents), element_name(type)))

    def extent(self, size: Size, type: Attribute = i64) -> SSAValue:
        """A size as a number."""
        size = self._sizes.resolve(size)
        if isinstance(size, int):
            return scalars.constant(size, type)
        return self.code.add(type, (), lambda _: Extent(size, element_name(type)))

    def inside(self, guards: Sequence[Guard]) -> SSAValue:
        """Whether all guards hold."""
        left = tuple(guard for guard in self._simplified(guards) if not holds(guard, self.extents))
        return self.code.add(i1, (), lambda _: Inside(left)) if left else scalars.constant(1, i1)

    def total(self, combiner: Combiner, value: SSAValue, *, unsigned: bool = False) -> SSAValue:
        """The values at all points of the reduced axes, combined; of no values what changes nothing."""
        assert self._total is None, "one total an op"
        if value.type == i1:
            combiner = {Combiner.MAXIMUM: Combiner.OR, Combiner.MINIMUM: Combiner.AND}.get(combiner, combiner)
        self._reduction = Reduction(combiner, _neutral(combiner, value.type, unsigned=unsigned))
        self._total = self.code.add(value.type, (value,), None)
        return self._total

    def kept(self, shape: Sequence[Size], compute: Callable[["Nest"], SSAValue]) -> "Kept":
        """Values that are computed once for each point of a shape: what is dear and needed by many elements.

        Args:
            shape: Its sizes.
            compute: Gives the value at the point `at` of a nest over the shape, which reads the same operands.
        """
        inner = Nest(self._operands, shape, self._sizes, origin=self._origin)
        with inner.code.recording():
            element = compute(inner)
        name = f"kept{len(self.intermediates)}"
        buffer = Buffer(name, str(element.type), tuple(shape), Role.LOCAL)
        self.intermediates.append((buffer, replace(inner.stage(element), buffer=name)))
        return Kept(name, element.type)

    def read_kept(self, kept: "Kept", indices: Sequence[Place]) -> SSAValue:
        """One of the values that this nest, or the one that it is for, keeps."""
        return self._read_of(kept.name, kept.type, indices, (), None)

    def running(self, axis: int, place: Index, combiner: Combiner, value: SSAValue, *, is_exclusive: bool) -> SSAValue:
        """What the values at the points of the only reduced axis combine to, up to each of them.

        Args:
            axis: The axis of the result that the reduced axis stands for.
            place: Where on it the element of a point is: a sum of the reduced axis alone.
            combiner: What is done with the values.
            value: The value at a point.
            is_exclusive: Whether the value itself does not count.
        """
        total = self.total(combiner, value)
        assert self._reduction is not None, "a total has a reduction"
        self._reduction = replace(self._reduction, keep=Keep.BEFORE if is_exclusive else Keep.THROUGH)
        self._line = (axis, place)
        return total

    def place_in_order(self, axis: int, key: SSAValue) -> SSAValue:
        """The point of the only reduced axis whose key comes `t`-th, as i64, for the element at `t` of `axis`.

        Keys are integers. The least (signed) key comes first, of equal ones that of the lower point.
        """
        assert self._total is None, "one total an op"
        (count,) = self.counted(self._parallel[axis])
        if isinstance(count, str) and count.startswith("?"):
            self.equal(count, self._reduced[-1])
            count = self.resolve(count)
        self._reduction = Reduction(Combiner.ORDER, Literal(0, "i64"), Keep.THROUGH, count)
        self._total = self.code.add(i64, (key,), None)
        self._line = (axis, loop(len(self._parallel)))
        return self._total

    def stage(self, element: SSAValue, store: tuple[Index, ...] = ()) -> Stage:
        """The loops that compute `element`, the value that the op's `loops` has returned."""
        parallel = [Axis(size) for size in self._parallel]
        reduced = [Axis(size, is_reduced=True) for size in self._reduced]
        name = self._origin
        # The first element in order of one is that element: nothing is left to reduce.
        if self._total is None or self._total not in self.code.needed(element, self._total):
            return Stage(name, RESULT, tuple(parallel), self.code.body(element, self._total), store=store)
        finish = () if element is self._total else self.code.body(element, self._total)
        body = self.code.body(self._total.operands[0], self._total)
        stage = Stage(name, RESULT, (*parallel, *reduced), body, self._reduction, finish, store)
        return stage if self._line is None else _along(stage, *self._line)


def combination_of(updates: Updates, type: Tensor) -> Reduction | None:
    """How elements of a type are combined with those that are there."""
    if updates.combiner is None:
        return None
    unsigned = is_unsigned(type)
    return Reduction(
        updates.combiner, _neutral(updates.combiner, scalars.signless(type.element_type), unsigned=unsigned)
    )


def _along(stage: Stage, axis: int, place: Index) -> Stage:
    """The stage as a scan: without the parallel axis that its reduced one, the last, stands for."""
    axes = [*stage.axes[:axis], *stage.axes[axis + 1 :]]
    values = [loop(old - (old > axis)) for old in range(len(stage.axes))]
    values[axis] = substituted(place, values, [each.size for each in axes])
    return with_axes(stage, axes, values)


def _neutral(combiner: Combiner, element: Attribute, *, unsigned: bool) -> Literal:
    """What changes nothing when it is combined."""
    name = f"u{element}" if unsigned and combiner in (Combiner.MAXIMUM, Combiner.MINIMUM) else str(element)
    match combiner:
        case Combiner.ADD | Combiner.OR:
            return literal(0, element)
        case Combiner.MULTIPLY | Combiner.AND:
            return literal(1, element)
        case _:
            pass
    least, greatest = limits(element, unsigned=unsigned)
    return Literal(least if combiner is Combiner.MAXIMUM else greatest, name)


def sum_of_products(nest: Nest, lhs: SSAValue, rhs: SSAValue, result: Tensor) -> SSAValue:
    """The products of elements of the first two operands, added up in f32 where they are shorter floats.

    The sum has the type of the elements, or that of the result if it is a wider integer.
    """
    if scalars.signless(result.element_type) != lhs.type:
        wide = scalars.signless(result.element_type)
        lhs, rhs = (
            scalars.convert(element, wide, unsigned_source=is_unsigned(nest.type_of(operand)), unsigned_target=False)
            for operand, element in enumerate((lhs, rhs))
        )
    product = scalars.multiply(scalars.widened(lhs), scalars.widened(rhs))
    return scalars.rounded(nest.total(Combiner.ADD, product), lhs)


def limits(element: Attribute, *, unsigned: bool) -> tuple[float, float]:
    """The least and the greatest number of a (float or signless integer) type."""
    if isinstance(element, AnyFloat):
        return -np.inf, np.inf
    bits = element_dtype(element).itemsize * 8
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


def reshaped(nest: Nest, operand: int = 0) -> tuple[Index, ...]:
    """Indices in an operand of the element that has the place of `nest.at` in row-major order.

    Equal sizes at the beginning and at the end of both shapes are taken over, which lets them be dynamic.

    Raises:
        LoopFormError: The sizes between these are not static, or say nothing of an open one: there is a 0.
    """
    target, source = list(nest.extents), list(nest.shape(operand))
    if 0 in target and any(isinstance(size, str) and size.startswith("?") for size in target):
        raise LoopFormError("has an open size and no elements")
    at = list(nest.at)
    front: list[Index] = []
    while target and source and _same(nest, target[0], source[0]):
        front.append(at.pop(0))
        del target[0], source[0]
    back: list[Index] = []
    while target and source and _same(nest, target[-1], source[-1]):
        back.insert(0, at.pop())
        del target[-1], source[-1]
    sizes = nest.static(*source)
    _complete(nest, target, product(sizes))
    if product(nest.static(*target)) != product(sizes):
        raise LoopFormError("joins or cuts axes of dynamic size")
    position = number(0)
    for index, stride in zip(at, _strides(nest.static(*target)), strict=True):
        position = position + index * stride
    middle: list[Index] = []
    for stride in _strides(sizes):
        middle.append(simplified(position // max(stride, 1), nest.extents))
        position = simplified(position % max(stride, 1), nest.extents)
    return (*front, *middle, *back)


def _complete(nest: Nest, shape: Sequence[Size], count: int) -> None:
    """Find the one size that is not known yet from the number of elements."""
    unknown = [size for size in map(nest.resolve, shape) if isinstance(size, str)]
    known = product(size for size in map(nest.resolve, shape) if isinstance(size, int))
    if len(unknown) == 1 and unknown[0].startswith("?") and known and count % known == 0:
        nest.equal(unknown[0], count // known)


def _same(nest: Nest, target: Size, source: Size) -> bool:
    """Whether two sizes are equal, or can be: a size of the result that nobody knows yet is that of the operand."""
    if isinstance(target, str) and target.startswith("?") and isinstance(source, str):
        nest.equal(target, source)
        return True
    return target == source


def _strides(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides
