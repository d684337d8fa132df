"""What the rules are made of: reading an op's properties, and building `fuse` ops from values.

Ops that are made insert themselves where the pass has its builder. A rule that finds no way raises
`NoFuseFormError`, and what it has made so far is dropped.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from fuse_dialect.dialect.constants import constant, constant_array, constant_of, without_repeats
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import MaximumOp, MinimumOp
from fuse_dialect.dialect.ops.conversion import CastOp, FullOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.opaque import ArangeOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor
from fuse_dialect.frontends.stablehlo.attributes import Word
from fuse_dialect.frontends.stablehlo.clauses import ints_of


class NoFuseFormError(Exception):
    """An op has no equal among the `fuse` ops; the text says what of it."""


Rule: TypeAlias = Callable[[Operation], Sequence[SSAValue]]
"""The values of an op's results.

Raises:
    NoFuseFormError: There is none.
"""


def ints(op: Operation, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
    """A property that is a list of integers."""
    value = op.properties.get(name)
    return tuple(default) if value is None else ints_of(value)


def number(op: Operation, name: str, default: int = 0) -> int:
    """A property that is an integer, or a flag."""
    value = op.properties.get(name)
    return default if value is None else cast("IntegerAttr", value).value.data


def word(op: Operation, name: str) -> str:
    """A property that is a word."""
    value = op.properties.get(name)
    return value.data if isinstance(value, Word | StringAttr) else ""


def padding(op: Operation, rank: int) -> list[tuple[int, int]]:
    """The property `padding`: what is added before and behind each axis."""
    value = op.properties.get("padding")
    if value is None:
        return [(0, 0)] * rank
    numbers = [int(cast(int, each)) for each in cast(DenseIntOrFPElementsAttr, value).get_values()]
    numbers *= 1 if len(numbers) != 1 else 2 * rank
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def tensor(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tensor."""
    if not is_tensor(value.type):
        raise NoFuseFormError(f"a value of type {value.type}")
    return value.type


def shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor; `DYNAMIC` for one that is not known."""
    return tuple(tensor(value).get_shape())


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor, all known."""
    sizes = shape(value)
    if DYNAMIC in sizes:
        raise NoFuseFormError(f"open sizes in {value.type}")
    return sizes


def dtype(value: SSAValue) -> "np.dtype[np.generic]":
    """The element type of a tensor as NumPy's."""
    return element_dtype(tensor(value).element_type)


def is_float(value: SSAValue) -> bool:
    """Whether the elements are floating point; bf16 is no `np.floating`."""
    return dtype(value).kind not in "biuc"


def of(value: SSAValue, sizes: Sequence[int]) -> TensorType[Attribute]:
    """The type of a tensor of the same elements with these sizes."""
    return TensorType(tensor(value).element_type, sizes)


def of_passing(op: Operation, rule: Rule) -> Sequence[SSAValue]:
    """What a rule makes of an op that is made for it alone, and is in no program afterwards."""
    values = rule(op)
    op.detach()
    op.erase()
    return values


def result(op: FuseOp) -> SSAValue:
    """The only result of an op."""
    return op.results[0]


def scalar(like: SSAValue, value: float) -> SSAValue:
    """A constant of rank 0 with the elements' type of a tensor."""
    return constant(np.array(value).astype(dtype(like))).result


def integers(values: Sequence[int] | Array, like: SSAValue | None = None) -> SSAValue:
    """A constant of integers; i64, or as the elements of a tensor."""
    return constant(np.array(values, np.int64 if like is None else dtype(like))).result


def reshape(value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The same elements with these sizes."""
    if tuple(sizes) == shape(value):
        return value
    return result(ReshapeOp(value, result_types=[of(value, sizes)]))


def transpose(value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The axes in another order."""
    if list(axes) == sorted(axes):
        return value
    return result(TransposeOp(value, permutation=list(axes)))


def broadcast(value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """The tensor, with new axes in front and axes of size 1 repeated."""
    if tuple(sizes) == shape(value):
        return value
    if not shape(value) and DYNAMIC not in sizes:
        return result(FullOp(value, result_types=[of(value, sizes)]))
    return result(BroadcastToOp(value, result_types=[of(value, sizes)]))


def cast_to(value: SSAValue, element_type: Attribute) -> SSAValue:
    """The elements in another type."""
    if tensor(value).element_type == element_type:
        return value
    return result(CastOp(value, result_types=[TensorType(element_type, shape(value))]))


def counting(size: int, element_type: Attribute) -> SSAValue:
    """The numbers from 0 to `size - 1`."""
    return result(ArangeOp(stop=float(size), result_types=[TensorType(element_type, [size])]))


def clamp(value: SSAValue, low: int, high: int | SSAValue) -> SSAValue:
    """Each integer moved into the range; a bound that is a value is one for all."""
    most = scalar(value, high) if isinstance(high, int) else high
    if dtype(value).kind == "u":
        return result(MinimumOp(value, most))
    return result(MinimumOp(result(MaximumOp(value, scalar(value, low))), most))


_CARRIES_ON = frozenset(
    (
        "fuse.full",
        "fuse.broadcast_to",
        "fuse.reshape",
        "stablehlo.broadcast_in_dim",
        "stablehlo.reshape",
        "stablehlo.broadcast",
    )
)


def known_number(value: SSAValue) -> "np.generic | None":
    """The number that all elements of a tensor are, if a constant says so."""
    while isinstance(value, OpResult) and value.op.name in _CARRIES_ON:
        value = value.op.operands[0]
    array = constant_of(value)
    if array is None and isinstance(value, OpResult) and value.op.name == "stablehlo.constant":
        array = constant_array(value.op.properties["value"])
    if array is None or not array.size:
        return None
    elements = without_repeats(array).reshape(-1)
    return elements[0] if elements.size == 1 or bool((elements == elements[0]).all()) else None


def only_op(block: Block) -> Operation | None:
    """The op of a region that does one thing with its two arguments and returns the result."""
    first = block.first_op
    if first is None or first.next_op is None or first.next_op is not block.last_op or len(block.args) != 2:
        return None
    forwards = tuple(first.operands) in (tuple(block.args), tuple(block.args)[::-1])
    return first if forwards and tuple(first.next_op.operands) == tuple(first.results) else None


def combined_by(op: Operation, region: int = 0) -> str:
    """Name of the op that a region combines two elements by; empty if it does anything else."""
    block = op.regions[region].first_block
    inner = None if block is None else only_op(block)
    return "" if inner is None else inner.name.removeprefix("stablehlo.")
