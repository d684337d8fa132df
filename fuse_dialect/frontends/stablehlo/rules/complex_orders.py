"""Orders and products of complex numbers: what takes several of them at a time, and is not done to each part alone.

1. A sort whose comparator looks at the parts of its arguments is one of twice as many operands.
2. A product along axes halves each axis, filled up with ones, until one number is left.
"""

from collections.abc import Mapping, Sequence

from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from fuse_dialect.frontends.fuse_values import NoFuseFormError, broadcast, scalar, shape, static_shape
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.frontends.stablehlo.rules.building import Rule, combined_by, ints, known_number, of_passing
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import PAIRS, Parts, pair, parts, product
from fuse_dialect.frontends.stablehlo.rules.orders import ORDERS
from fuse_dialect.frontends.stablehlo.rules.shapes import pad, slice_of
from fuse_dialect.frontends.stablehlo.rules.sizes import drop_axis
from fuse_dialect.frontends.stablehlo.split_complex import is_complex_type, part_type

_PARTS = {"stablehlo.real": 0, "stablehlo.imag": 1}


def _sort(op: Operation) -> Sequence[SSAValue]:
    operands = [list(parts(each)) if is_complex_type(each.type) else [each] for each in op.operands]
    made = BY_NAME["stablehlo.sort"].create(
        operands=[part for each in operands for part in each],
        result_types=[part.type for each in operands for part in each],
        properties=op.properties,
        attributes=op.attributes,
        regions=[Region(_by_parts(op.regions[0].blocks[0]))],
    )
    found = iter(of_passing(made, ORDERS["stablehlo.sort"]))
    return [pair(next(found), next(found)) if len(each) == 2 else next(found) for each in operands]


def _by_parts(block: Block) -> Block:
    """A comparator whose arguments are the parts of complex ones.

    Raises:
        NoFuseFormError: It looks at more than the parts.
    """
    types: list[Attribute] = []
    for one, _ in zip(block.args[::2], block.args[1::2], strict=True):
        if is_complex_type(one.type):
            types += [TensorType(part_type(one.type).element_type, [])] * 4
        else:
            types += [one.type] * 2
    made = Block(arg_types=types)
    new = iter(made.args)
    of_parts: dict[SSAValue, Sequence[SSAValue]] = {}
    values: dict[SSAValue, SSAValue] = {}
    for one, other in zip(block.args[::2], block.args[1::2], strict=True):
        if is_complex_type(one.type):
            real, imaginary = (next(new), next(new)), (next(new), next(new))
            of_parts |= {one: (real[0], imaginary[0]), other: (real[1], imaginary[1])}
        else:
            values |= {one: next(new), other: next(new)}
    for inner in block.ops:
        if inner.name in _PARTS and inner.operands[0] in of_parts:
            values[inner.results[0]] = of_parts[inner.operands[0]][_PARTS[inner.name]]
        elif any(operand in of_parts for operand in inner.operands):
            raise NoFuseFormError("an order of complex numbers")
        else:
            with ImplicitBuilder(made):
                inner.clone(values)
    return made


def _reduce(op: Operation) -> Sequence[SSAValue]:
    if len(op.operands) != 2 or combined_by(op) != "multiply":
        return PAIRS["stablehlo.reduce"](op)
    z, start = (parts(each) for each in op.operands)
    static_shape(z[0])
    for axis in sorted(ints(op, "dimensions"), reverse=True):
        z = _product_along(z, axis)
    if known_number(start[0]) != 1 or known_number(start[1]) != 0:
        z = product(z, (broadcast(start[0], shape(z[0])), broadcast(start[1], shape(z[1]))))
    return [pair(*z)]


def _product_along(z: Parts, axis: int) -> Parts:
    """The products along an axis, which vanishes."""
    rank, size = len(shape(z[0])), shape(z[0])[axis]
    whole = 1 << max(size - 1, 0).bit_length()
    zeros, behind = [0] * rank, [whole - size if each == axis else 0 for each in range(rank)]
    x, y = (pad(part, scalar(part, one), zeros, behind, zeros) for part, one in zip(z, (1, 0), strict=True))
    while whole > 1:
        whole //= 2
        x, y = product(*((_cut(x, axis, begin, whole), _cut(y, axis, begin, whole)) for begin in (0, whole)))
    return drop_axis(x, axis), drop_axis(y, axis)


def _cut(x: SSAValue, axis: int, begin: int, count: int) -> SSAValue:
    sizes = shape(x)
    starts = [begin if each == axis else 0 for each in range(len(sizes))]
    ends = [begin + count if each == axis else size for each, size in enumerate(sizes)]
    return slice_of(x, starts, ends, [1] * len(sizes))


COMPLEX_ORDERS: Mapping[str, Rule] = {"stablehlo.reduce": _reduce, "stablehlo.sort": _sort}
"""Rules by the name of the op."""
