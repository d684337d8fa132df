"""Tensors written element by element: `linalg.generic` around scalar code that is told where it is.

This is for what loop programs cannot say: sizes that are data, indices that are data and may be out of range. Elements
are read by `tensor.extract`, sizes are values of type index. Ops are created at the open builder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyFloat,
    IndexType,
    IntegerType,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.loops import limits
from fuse_dialect.dialect.types import DYNAMIC, is_tensor, is_unsigned
from fuse_dialect.frontends.mlir.named_linalg import NAMED_OPS
from fuse_dialect.loops.program import Combiner, Literal, Reduction
from fuse_dialect.targets.linalg.arrays import index_constant, signless_type
from fuse_dialect.targets.linalg.scalars import combine, literal_constant


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A scalar value: an index, an integer without a sign, or a float. Python numbers take its type."""

    value: SSAValue
    unsigned: bool = False
    """Whether comparisons and conversions take it as unsigned."""

    @property
    def type(self) -> Attribute:
        """Type of the value."""
        return self.value.type

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return isinstance(self.type, AnyFloat)

    def like(self, number: "Operand") -> "Number":
        """A Python number in the type of this one."""
        if isinstance(number, Number):
            return number
        if isinstance(self.type, IndexType):
            return Number(index_constant(int(number)))
        return constant(number, self.type, unsigned=self.unsigned)

    def _arithmetic(self, other: "Operand", function: Callable[[SSAValue, SSAValue], SSAValue]) -> "Number":
        return Number(function(self.value, self.like(other).value), self.unsigned)

    def __add__(self, other: "Operand") -> "Number":
        """The sum; integers wrap around."""
        return self._arithmetic(other, scalars.add)

    def __sub__(self, other: "Operand") -> "Number":
        """The difference."""
        return self._arithmetic(other, scalars.subtract)

    def __mul__(self, other: "Operand") -> "Number":
        """The product."""
        return self._arithmetic(other, scalars.multiply)

    def __truediv__(self, other: "Operand") -> "Number":
        """The quotient; of integers, truncated toward zero."""
        return self._arithmetic(other, scalars.divide)

    def __mod__(self, other: "Operand") -> "Number":
        """What the division of integers leaves, with the sign of this one."""
        return self._arithmetic(other, lambda one, two: arith.RemSIOp(one, two).result)

    def __and__(self, other: "Number") -> "Number":
        """Whether both hold."""
        return Number(arith.AndIOp(self.value, other.value).result)

    def __or__(self, other: "Number") -> "Number":
        """Whether one holds."""
        return Number(arith.OrIOp(self.value, other.value).result)

    def __invert__(self) -> "Number":
        """Whether it does not hold."""
        return Number(arith.XOrIOp(self.value, scalars.constant(1, i1)).result)

    def _compared(self, predicate: str, other: "Operand") -> "Number":
        right = self.like(other).value
        if isinstance(self.type, IndexType):
            signed = {"equal": "eq", "not_equal": "ne", "less": "slt", "less_equal": "sle"}
            return Number(arith.CmpiOp(self.value, right, signed[predicate]).result)
        return Number(scalars.compare(predicate, self.value, right, unsigned=self.unsigned or self.type == i1))

    def __lt__(self, other: "Operand") -> "Number":
        """Whether this is less; false for nan."""
        return self._compared("less", other)

    def __le__(self, other: "Operand") -> "Number":
        """Whether this is not greater; false for nan."""
        return self._compared("less_equal", other)

    def equals(self, other: "Operand") -> "Number":
        """Whether both are the same number."""
        return self._compared("equal", other)

    def differs(self, other: "Operand") -> "Number":
        """Whether they are not; true for nan."""
        return self._compared("not_equal", other)

    def least(self, other: "Operand") -> "Number":
        """The smaller of two integers, or of two floats none of which is nan."""
        right = self.like(other)
        return choose(self < right, self, right)

    def greatest(self, other: "Operand") -> "Number":
        """The greater of two integers, or of two floats none of which is nan."""
        right = self.like(other)
        return choose(right < self, self, right)

    def to(self, target: Attribute, *, unsigned: bool = False) -> "Number":
        """The number in another type, as a C cast; to and from an index, as the i64."""
        if self.type == target:
            return self
        if isinstance(self.type, IndexType):
            whole = arith.IndexCastOp(self.value, i64).result
            return Number(whole).to(target, unsigned=unsigned)
        if isinstance(target, IndexType):
            return Number(arith.IndexCastOp(self.to(i64).value, target).result)
        # A true i1 is 1, not -1.
        is_unsigned_source = self.unsigned or self.type == i1
        value = scalars.convert(self.value, target, unsigned_source=is_unsigned_source, unsigned_target=unsigned)
        return Number(value, unsigned)

    def index(self) -> "Number":
        """The number as an index."""
        return self.to(IndexType())

    def widened(self) -> "Number":
        """The number in the type in which formulas are computed: f16 and bf16 become f32."""
        return Number(scalars.widened(self.value), self.unsigned)


Operand: TypeAlias = Number | float
Size: TypeAlias = Number | int
"""Of a tensor along an axis: an index where it is not known."""


def constant(number: float, type: Attribute, *, unsigned: bool = False) -> Number:
    """A number of a float or integer type; integers wrap around."""
    match type:
        case IntegerType():
            return Number(literal_constant(Literal(int(number), str(type))).result, unsigned)
        case _:
            return Number(scalars.constant(number, type), unsigned)


def choose(condition: Number, one: Number, other: Number) -> Number:
    """The one where the condition holds, else the other."""
    return Number(scalars.select(condition.value, one.value, other.value), one.unsigned)


def as_index(size: Size) -> Number:
    """A size as a value of type index."""
    return Number(index_constant(size)) if isinstance(size, int) else size


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A tensor that is read element by element."""

    value: SSAValue
    unsigned: bool = False
    """Whether its integers are unsigned."""

    @property
    def element(self) -> Attribute:
        """Type of an element."""
        assert is_tensor(self.value.type), "tables are tensors"
        return self.value.type.element_type

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The sizes that the type says, `DYNAMIC` elsewhere."""
        assert is_tensor(self.value.type), "tables are tensors"
        return tuple(self.value.type.get_shape())

    def size(self, axis: int) -> Size:
        """The size along an axis."""
        known = self.static_shape[axis]
        return known if known != DYNAMIC else Number(tensor.DimOp(self.value, index_constant(axis)).result)

    def sizes(self) -> list[Size]:
        """The sizes along all axes; values are computed here, outside of regions."""
        return [self.size(axis) for axis in range(len(self.static_shape))]

    def at(self, *places: Size) -> Number:
        """The element at some indices, which are in range."""
        indices = [as_index(place).value for place in places]
        return Number(tensor.ExtractOp(self.value, indices, self.element).result, self.unsigned)


def table_of(old: SSAValue, new: SSAValue) -> Table:
    """The tensor that stands for a value of the original program."""
    assert is_tensor(old.type), "ops are on tensors"
    return Table(new, is_unsigned(old.type))


def empty(shape: Sequence[Size], element: Attribute) -> SSAValue:
    """A tensor of unknown elements."""
    dynamic = [size.value for size in shape if isinstance(size, Number)]
    static = [size if isinstance(size, int) else DYNAMIC_INDEX for size in shape]
    return tensor.EmptyOp(dynamic, TensorType(element, static)).tensor


def generated(shape: Sequence[Size], element: Attribute, body: Callable[[Sequence[Number]], Number]) -> Table:
    """The tensor of the body's values at all indices.

    Args:
        shape: Sizes of the tensor.
        element: Type of its elements.
        body: Gives the element at some indices; what it computes runs for each element.
    """
    rank, output = len(shape), empty(shape, element)
    block = Block(arg_types=[element])
    with building(block):
        element_here = body([Number(IndexOp(axis).result) for axis in range(rank)])
        YieldOp(element_here.value)
    maps = [AffineMapAttr(AffineMap.identity(rank))]
    generic = GenericOp([], [output], Region(block), maps, [IteratorTypeAttr.parallel()] * rank, [output.type])
    return Table(generic.res[0], element_here.unsigned)


def combined(
    shape: Sequence[Size],
    reduced: Sequence[Size],
    element: Attribute,
    combiner: Combiner,
    body: Callable[[Sequence[Number], Sequence[Number]], Number],
    *,
    unsigned: bool = False,
) -> Table:
    """The tensor of the body's values, combined along further loops.

    Args:
        shape: Sizes of the tensor.
        reduced: Sizes of the other loops, one or more.
        element: Type of the values; booleans are combined by `AND` and `OR` alone.
        combiner: How they are combined, in any order.
        body: Gives the value at indices in the tensor and in the other loops.
        unsigned: Whether the values are unsigned.
    """
    rank, loops = len(shape), len(shape) + len(reduced)
    start = neutral(combiner, element, unsigned=unsigned)
    total = NAMED_OPS["fill"]([start.value], [empty(shape, element)]).res[0]
    window = empty(reduced, element)  # MLIR takes the size of each loop from an operand
    block = Block(arg_types=[element, element])
    with building(block):
        places = [Number(IndexOp(axis).result) for axis in range(loops)]
        value = body(places[:rank], places[rank:])
        kind = Literal(0, f"u{element}" if unsigned else str(element))
        YieldOp(combine(Reduction(combiner, kind), block.args[1], value.value))
    axes = [AffineExpr.dimension(axis) for axis in range(loops)]
    maps = [AffineMapAttr(AffineMap(loops, 0, tuple(own))) for own in (axes[rank:], axes[:rank])]
    iterators = [IteratorTypeAttr.parallel()] * rank + [IteratorTypeAttr.reduction()] * len(reduced)
    return Table(GenericOp([window], [total], Region(block), maps, iterators, [total.type]).res[0], unsigned)


def neutral(combiner: Combiner, element: Attribute, *, unsigned: bool = False) -> Number:
    """What changes nothing when it is combined."""
    match combiner:
        case Combiner.ADD | Combiner.OR:
            return constant(0, element)
        case Combiner.MULTIPLY | Combiner.AND:
            return constant(1, element)
        case _:
            least, greatest = limits(element, unsigned=unsigned)
            return constant(least if combiner is Combiner.MAXIMUM else greatest, element)


def wide_type(element: Attribute) -> Attribute:
    """The type in which formulas on an element type are computed: f32 for f16 and bf16."""
    return f32 if isinstance(element, AnyFloat) and element.bitwidth == 16 else signless_type(element)


def narrowed(number: Number, element: Attribute) -> Number:
    """A float in the type of a tensor, which is not wider; other numbers as they are."""
    if number.type == element:
        return number
    return Number(arith.TruncFOp(number.value, element).result)


def in_type(total: Table, x: Table) -> Table:
    """Sums in the type of the elements that were added."""
    if total.element == x.element:
        return total
    return generated(total.sizes(), x.element, lambda at: narrowed(total.at(*at), x.element))


def row_major(places: Sequence[Number], sizes: Sequence[Size]) -> Number:
    """The number of an element, counted in row-major order."""
    total = as_index(0)
    for place, size in zip(places, sizes, strict=True):
        total = total * as_index(size) + place
    return total


def unfolded(number: Number, sizes: Sequence[Size]) -> list[Number]:
    """The indices of the element that has a number in row-major order."""
    places: list[Number] = []
    for size in reversed(sizes):
        places.insert(0, number % as_index(size))
        number = number / as_index(size)
    return places


def element_count(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    known, total = 1, None
    for size in sizes:
        if isinstance(size, int):
            known *= size
        else:
            total = size if total is None else total * size
    if total is None:
        return known
    return total * known if known != 1 else total
