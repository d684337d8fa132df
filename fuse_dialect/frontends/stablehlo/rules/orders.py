"""Sorting, and the total order of floats: -nan, -inf, ..., -0, 0, ..., inf, nan.

Numbers of one sign are ordered as their bits are, so the order is one of integers.

Source: totalOrder of IEEE 754-2019, section 5.10; `TOTALORDER` of `compare` in docs/spec.md of openxla/stablehlo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops.indexing import GatherOp
from fuse_dialect.dialect.ops.opaque import ArgsortOp, SortOp, TopkOp
from fuse_dialect.frontends.fuse_values import NoFuseFormError, cast_to, dtype, is_float, result, scalar, shape, tensor
from fuse_dialect.frontends.stablehlo.rules.bits import bitcast, signed_of
from fuse_dialect.frontends.stablehlo.rules.building import Rule, number
from fuse_dialect.frontends.stablehlo.rules.fingerprint import fingerprint

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


@dataclass(frozen=True, slots=True)
class _Key:
    """What a comparator orders by."""

    operand: int
    """The number of the operand that is sorted by."""
    ascends: bool
    """Whether the smallest element comes first."""
    is_total: bool
    """Whether floats are in the total order; else in that of `fuse.sort`."""


def _keys(op: Operation) -> list[_Key] | None:
    """What the comparator orders by, and where elements are equal, by what next; `None` if it does anything else.

    `a < b` is one key; JAX writes several as `a0 < b0 or (a0 == b0 and ...)`.
    """
    lines = [line.split() for line in fingerprint(op.regions[0].blocks[0]).split(";")]
    steps = {str(number): line for number, line in enumerate(lines[:-1])}
    keys: list[_Key] = []
    at = lines[-1][1]
    while True:
        match steps.get(at):
            case ["compare", *_]:
                first, following = at, ""
            case ["or", first, both] if steps.get(both, [""])[0] == "and":
                equal, following = steps[both][1:]
                # By the same kind of order: to `FLOAT` nan equals nothing, and the zeros are equal.
                if steps.get(equal) != ["compare", "EQ", *steps.get(first, [])[2:]]:
                    return None
            case _:
                return None
        key = _key(steps, steps.get(first, []))
        if key is None:
            return None
        keys.append(key)
        if not following:
            return keys
        at = following


def _key(steps: Mapping[str, Sequence[str]], line: Sequence[str]) -> _Key | None:
    """The key of one comparison: of arguments as they are, or of JAX's keys of floats."""
    match line:
        case ["compare", "LT" | "GT" as direction, *kind, left, right] if kind in ([], ["TOTALORDER"]):
            sources = [_source(steps, each) for each in (left, right)]
        case _:
            return None
    operand = int(sources[0].removeprefix("a")) // 2 if sources[0] else 0
    if sources != [f"a{2 * operand}", f"a{2 * operand + 1}"]:
        return None
    # JAX's keys have one zero and one nan, behind all others: that is the order of `fuse.sort`.
    return _Key(operand, direction == "LT", is_total=bool(kind) and left == sources[0])


def _source(steps: Mapping[str, Sequence[str]], name: str) -> str:
    """The argument that a value is, or whose key it is: one zero for both, and one nan for all; empty if neither."""
    if name not in steps:
        return name if name.startswith("a") else ""
    match steps[name]:
        case ["select", is_nan, "=nan", other]:
            zero = steps.get(other, [])
            x = zero[-1] if zero else ""
        case _:
            return ""
    is_key = (
        steps.get(is_nan) == ["compare", "NE", x, x]
        and zero[0] == "select"
        and steps.get(zero[1]) == ["compare", "EQ", x, "=0.0"]
        and zero[2:] == ["=0.0", x]
    )
    return x if is_key and x.startswith("a") else ""


def _sort(op: Operation) -> Sequence[SSAValue]:
    keys = _keys(op)
    if keys is None:
        raise NoFuseFormError("an order of its own")
    axis = number(op, "dimension", -1) % max(len(shape(op.operands[0])), 1)
    values = [_sorted_by(op.operands[key.operand], key) for key in keys]
    if len(op.operands) == len(keys) == 1:
        (x,), (key,) = op.operands, keys
        ordered = result(SortOp(values[0], axis=axis, is_ascend=key.ascends))
        return [_of_key(ordered, x) if key.is_total else cast_to(ordered, tensor(x).element_type)]
    # The last key first: a stable sort by one before it keeps the order of what is equal there.
    places = result(ArgsortOp(values[-1], axis=axis, is_ascend=keys[-1].ascends))
    for value, key in zip(values[-2::-1], keys[-2::-1], strict=True):
        moved = result(GatherOp(value, places, axis=axis))
        places = result(GatherOp(places, result(ArgsortOp(moved, axis=axis, is_ascend=key.ascends)), axis=axis))
    return [result(GatherOp(each, places, axis=axis)) for each in op.operands]


def _sorted_by(x: SSAValue, key: _Key) -> SSAValue:
    """What is sorted in place of an operand."""
    return order_key(x) if key.is_total or not is_float(x) else x


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
