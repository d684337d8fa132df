"""Sorting, and the total order of floats: -nan, -inf, ..., -0, 0, ..., inf, nan.

Numbers of one sign are ordered as their bits are, so the order is one of integers.

Source: totalOrder of IEEE 754-2019, section 5.10; `TOTALORDER` of `compare` in docs/spec.md of openxla/stablehlo.
"""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops.indexing import GatherOp
from fuse_dialect.dialect.ops.opaque import ArgsortOp, SortOp, TopkOp
from fuse_dialect.transforms.stablehlo.bits import bitcast, signed_of
from fuse_dialect.transforms.stablehlo.building import (
    NoFuseFormError,
    Rule,
    cast_to,
    dtype,
    is_float,
    number,
    result,
    scalar,
    shape,
    tensor,
)
from fuse_dialect.transforms.stablehlo.fingerprint import fingerprint

_BYTE = IntegerType(8, Signedness.UNSIGNED)


def order_key(x: SSAValue) -> SSAValue:
    """A number that is less where an element comes before another: of a float, its place in the total order.

    Of negative floats the bits below the sign grow with the distance from zero: they are turned round. Doing that again
    gives the float, see `_of_key`.
    """
    if tensor(x).element_type == i1:
        return cast_to(x, _BYTE)
    return _turned(bitcast(x, signed_of(x))) if is_float(x) else x


def _of_key(key: SSAValue, like: SSAValue) -> SSAValue:
    """The elements of a type that have these keys."""
    return bitcast(_turned(key), TensorType(tensor(like).element_type, shape(key)))


def _turned(bits: SSAValue) -> SSAValue:
    """Negative integers in the opposite order, the others as they are."""
    width = 8 * dtype(bits).itemsize
    sign = result(c.RightShiftOp(bits, scalar(bits, width - 1)))
    below = result(c.BitwiseAndOp(sign, scalar(bits, (1 << width - 1) - 1)))
    return result(c.BitwiseXorOp(bits, below))


_SORTED_FLOATS = "compare EQ a{0} =0.0;select {n0} =0.0 a{0};compare NE a{0} a{0};select {n2} =nan {n1}"
"""JAX's keys: the zeros are one number, and nan is one, behind all others."""


def _comparison(op: Operation) -> tuple[int, bool, bool] | None:
    """The operand that the comparator orders by, whether upwards, and by the total order; `None` if it is another.

    Upwards means that the smallest element comes first. That of JAX's keys is the order of `fuse.sort`.
    """
    found = fingerprint(op.regions[0].blocks[0]).split(";")
    keys = [_SORTED_FLOATS.format(side, **{f"n{i}": 4 * side + i for i in range(4)}) for side in (0, 1)]
    canonical = [*keys[0].split(";"), *keys[1].split(";")]
    for direction, ascends in (("LT", True), ("GT", False)):
        for kind in ("", " TOTALORDER"):
            for place in range(len(op.operands)):
                if found == [f"compare {direction}{kind} a{2 * place} a{2 * place + 1}", "return 0"]:
                    return place, ascends, bool(kind)
            if found == [*canonical, f"compare {direction}{kind} 3 7", "return 8"]:
                return 0, ascends, False
    return None


def _sort(op: Operation) -> Sequence[SSAValue]:
    order = _comparison(op)
    if order is None:
        raise NoFuseFormError("an order of its own")
    place, ascends, is_total = order
    first = op.operands[place]
    axis = number(op, "dimension", -1) % max(len(shape(first)), 1)
    key = order_key(first) if is_total or not is_float(first) else first
    if len(op.operands) > 1:
        places = result(ArgsortOp(key, axis=axis, is_ascend=ascends))
        return [result(GatherOp(each, places, axis=axis)) for each in op.operands]
    values = result(SortOp(key, axis=axis, is_ascend=ascends))
    return [
        _of_key(values, first) if key is not first and is_float(first) else cast_to(values, tensor(first).element_type)
    ]


def top_k(x: SSAValue, k: int, indices: Attribute) -> Sequence[SSAValue]:
    """The greatest elements of each line by the total order, and where they are.

    Args:
        x: Lines along the last axis.
        k: How many of each.
        indices: The element type of the places.

    Source: ChloLegalizeToStablehlo.cpp of openxla/stablehlo, which compares floats by `TOTALORDER`.
    """
    key = order_key(x)
    values, places = TopkOp(key, k=k).results
    found = _of_key(values, x) if is_float(x) else cast_to(values, tensor(x).element_type)
    return [found, cast_to(places, indices)]


def _top_k(op: Operation) -> Sequence[SSAValue]:
    return top_k(op.operands[0], number(op, "k"), tensor(op.results[1]).element_type)


ORDERS: Mapping[str, Rule] = {
    "stablehlo.sort": _sort,
    "chlo.top_k": _top_k,
}
"""Rules by the name of the op."""
