"""Lines of elements: the first ones in order, of a computed number, and Fourier transforms, in n * n steps each."""

import math
from collections.abc import Sequence

from xdsl.dialects import math as functions
from xdsl.dialects.builtin import AnyFloat, f64
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.ops.dynamic import DynTopkOp
from fuse_dialect.dialect.ops.sequences import DftOp
from fuse_dialect.dialect.picked_places import index_at, place_in_order
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.program import Combiner
from fuse_dialect.targets.linalg.forms.shapes import remainder, whole
from fuse_dialect.targets.linalg.steps import Steps, Table


def write_topk(op: DynTopkOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The first elements and their indices."""
    x, ascends = operands[0], bool(op.is_ascend.value.data)
    axis = normalize_axis(op.axis.value.data, len(x.shape))

    def size(nest: Nest, along: int) -> SSAValue | Size:
        return index_at(nest, (), 1) if along == axis else x.shape[along]

    def element(nest: Nest) -> SSAValue:
        return nest.read(0, [*nest.at[:axis], nest.read(1, nest.at), *nest.at[axis + 1 :]])

    shape = steps.shape(op.indices.type, operands, size)
    places = steps.stored(shape, [x], lambda nest: place_in_order(nest, axis, is_ascend=ascends))
    return [steps.stored(shape, [x, places], element).value, places.value]


def write_dft(op: DftOp, steps: Steps, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """The sum of each line times the roots of unity, by the definition of the transform."""
    (x,) = operands
    axis, parts = normalize_axis(op.axis.value.data, len(x.shape)), x.type.get_shape()[-1]
    is_inverse, is_onesided = bool(op.inverse.value.data), bool(op.onesided.value.data)
    is_half = is_onesided and is_inverse

    def length(nest: Nest) -> SSAValue:
        if op.length is not None:
            return whole(op.length.value.data)
        size = x.shape[axis]
        return scalars.multiply(nest.count(size, plus=-1), whole(2)) if is_half else nest.count(size)

    def half(nest: Nest) -> SSAValue:
        return scalars.add(scalars.divide(length(nest), whole(2)), whole(1))

    def size(nest: Nest, along: int) -> SSAValue | Size:
        own = half if is_onesided and not is_inverse else length
        return own(nest) if along == axis else x.shape[along]

    def used(nest: Nest) -> SSAValue:
        return scalars.minimum(half(nest) if is_half else length(nest), nest.count(x.shape[axis]))

    count = steps.size(operands, used)

    def element(nest: Nest) -> SSAValue:
        place, at = nest.reduced(count), nest.at
        line: list[Index] = [*at[:axis], place, *at[axis + 1 : -1]]
        real = scalars.widened(nest.read(0, [*line, Index()]))
        imaginary = scalars.constant(0, real.type)
        if parts == 2:
            imaginary = scalars.widened(nest.read(0, [*line, Index((), 1)]))
        turned = remainder(scalars.multiply(nest.position(at[axis]), nest.position(place)), length(nest))
        factor = scalars.constant((2 if is_inverse else -2) * math.pi, real.type)
        turn = scalars.multiply(_share(turned, length(nest), real.type), factor)
        cosine, sine = scalars.apply(functions.CosOp, turn), scalars.apply(functions.SinOp, turn)
        first = scalars.subtract(scalars.multiply(real, cosine), scalars.multiply(imaginary, sine))
        second = scalars.add(scalars.multiply(real, sine), scalars.multiply(imaginary, cosine))
        value = scalars.select(scalars.compare("equal", nest.position(at[-1]), whole(0)), first, second)
        if is_half:
            # All but the first, and the one in the middle, stand for two.
            is_first = scalars.compare("equal", nest.position(place), whole(0))
            is_middle = scalars.compare("equal", scalars.multiply(nest.position(place), whole(2)), length(nest))
            twice = scalars.multiply(value, scalars.constant(2, value.type))
            value = scalars.select(is_first, value, scalars.select(is_middle, value, twice))
        total = nest.total(Combiner.ADD, value)
        if is_inverse:
            scale = scalars.convert(length(nest), total.type, unsigned_source=False, unsigned_target=False)
            total = scalars.divide(total, scale)
        return scalars.rounded(total, scalars.constant(0, x.type.element_type))

    return [steps.stored(steps.shape(op.result.type, operands, size), operands, element).value]


def _share(place: SSAValue, length: SSAValue, element: Attribute) -> SSAValue:
    """A place by the length, as a float: of each rounded once."""
    wide = element if isinstance(element, AnyFloat) else f64
    one, other = (scalars.convert(each, wide, unsigned_source=False, unsigned_target=False) for each in (place, length))
    return scalars.divide(one, other)
