"""Ops whose number of results depends on values: it is counted first, then each result finds what it stands for."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.loops import LoopFormError, Nest, Place
from fuse_dialect.dialect.ops.opaque import ArgwhereOp
from fuse_dialect.dialect.ops.selection import UniqueOp
from fuse_dialect.dialect.picked_places import unfolded
from fuse_dialect.dialect.types import is_unsigned
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.forms.shapes import row_major, whole
from fuse_dialect.targets.linalg.steps import Steps, Table


def both(one: SSAValue, other: SSAValue) -> SSAValue:
    """Whether both hold."""
    return scalars.apply(arith.AndIOp, one, other)


def counted(nest: Nest, condition: SSAValue) -> SSAValue:
    """At how many points of the reduced axes a condition holds."""
    return nest.total(Combiner.ADD, scalars.select(condition, whole(1), whole(0)))


def found(nest: Nest, condition: SSAValue, place: SSAValue) -> SSAValue:
    """The place at the only point of the reduced axes where a condition holds."""
    return nest.total(Combiner.ADD, scalars.select(condition, place, whole(0)))


def first_number(nest: Nest) -> SSAValue:
    """The only element of the first table, of rank 0."""
    return nest.read(0, ())


def write_argwhere(op: ArgwhereOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The indices of each element that is not zero."""
    return [places_of(steps, operands[0]).value]


def places_of(steps: Steps, x: Table) -> Table:
    """The indices of the elements that are not zero: row k is of the one that k others precede."""
    rank, loops = len(x.shape), x.shape or (1,)

    def counts(nest: Nest, at: Sequence[Index]) -> SSAValue:
        element = nest.read(0, at[:rank])
        return scalars.compare("not_equal", element, scalars.constant(0, element.type))

    def inner(nest: Nest) -> list[Index]:
        return [nest.reduced(size) for size in loops]

    def precedes(nest: Nest) -> SSAValue:
        other = inner(nest)
        is_earlier = scalars.compare("less", row_major(nest, other, loops), row_major(nest, nest.at, loops))
        return counted(nest, both(counts(nest, other), is_earlier))

    def index(nest: Nest) -> SSAValue:
        other, (row, column) = inner(nest), nest.at
        is_row = scalars.compare("equal", nest.read(1, other), nest.position(row))
        place = whole(0)
        for axis in range(rank):
            is_own = scalars.compare("equal", nest.position(column), whole(axis))
            place = scalars.select(is_own, nest.position(other[axis]), place)
        return found(nest, both(counts(nest, other), is_row), place)

    total = steps.stored((), [x], lambda nest: counted(nest, counts(nest, inner(nest))))
    before = steps.stored(loops, [x], precedes)
    return steps.stored([steps.size([total], first_number), rank], [x, before], index)


def write_unique(op: UniqueOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The first places of elements, in the order of these elements or of these places.

    Raises:
        LoopFormError: Slices are compared, rather than elements.
    """
    (x,) = operands
    if op.axis is not None and len(x.shape) > 1:
        raise LoopFormError("has no loop form for these properties")
    count = steps.size(operands, lambda nest: nest.count(*x.shape))

    def element(nest: Nest, place: Index) -> SSAValue:
        places: Sequence[Place] = [place] if len(x.shape) == 1 else unfolded(nest, nest.position(place), x.shape)
        return nest.read(0, places)

    def key(nest: Nest, place: Index) -> SSAValue:
        value = element(nest, place)
        if value.type == i1:  # true is 1 here, and -1 where bits have a sign
            value = scalars.convert(value, i64, unsigned_source=True, unsigned_target=False)
        return scalars.order_key(value, unsigned=is_unsigned(x.type), is_ascend=True)

    def own_place(nest: Nest) -> SSAValue:
        other = nest.reduced(count)
        is_equal = scalars.compare("equal", key(nest, nest.at[0]), key(nest, other))
        return nest.total(Combiner.MINIMUM, scalars.select(is_equal, nest.position(other), nest.count(count)))

    first = steps.stored([count], [x], own_place)

    def is_first(nest: Nest, place: Index) -> SSAValue:
        return scalars.compare("equal", nest.read(1, [place]), nest.position(place))

    def precedes(nest: Nest) -> SSAValue:
        (own,), other = nest.at, nest.reduced(count)
        keys = [key(nest, each) if op.sorted.value.data else nest.read(1, [each]) for each in (other, own)]
        return counted(nest, both(is_first(nest, other), scalars.compare("less", *keys)))

    inverse = steps.stored([count], [x, first], precedes)

    def here(nest: Nest, place: Index) -> SSAValue:
        return scalars.compare("equal", nest.read(2, [place]), nest.position(nest.at[0]))

    def place(nest: Nest) -> SSAValue:
        other = nest.reduced(count)
        return found(nest, both(is_first(nest, other), here(nest, other)), nest.position(other))

    def total(nest: Nest) -> SSAValue:
        return counted(nest, is_first(nest, nest.reduced(count)))

    tables = [x, first, inverse]
    distinct = steps.size([steps.stored((), tables, total)], first_number)
    indices = steps.stored([distinct], tables, place)
    counts = steps.stored([distinct], tables, lambda nest: counted(nest, here(nest, nest.reduced(count))))

    def value(nest: Nest) -> SSAValue:
        own = nest.read(1, nest.at)
        return nest.read(0, [own] if len(x.shape) == 1 else unfolded(nest, own, x.shape))

    values = steps.stored([distinct], [x, indices], value)
    return [values.value, indices.value, inverse.value, counts.value]
