"""`fuse.if` as `scf.if`, `fuse.loop` as `scf.for` or `scf.while`, on tensors.

1. Where the number of iterations is known before, the loop is a `scf.for` that carries its states and what is stacked,
   which has that many rows from the beginning.
2. With conditions it is a `scf.while`. It also carries the number of the iteration and whether it goes on; stacks grow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, is_tensor, tensor_type
from fuse_dialect.targets.linalg.arrays import index_constant, signless_type

WriteRegion: TypeAlias = Callable[[Region, Sequence[SSAValue]], tuple[SSAValue | None, Sequence[SSAValue]]]
"""Writes what a region computes at the open builder, from values for the arguments of its block: what it yields."""


def cast_to(value: SSAValue, type: Tensor) -> SSAValue:
    """The tensor with a type that says more or less of its sizes."""
    return value if value.type == type else tensor.CastOp(value, type).dest


def write_if(op: IfOp, condition: SSAValue, write: WriteRegion) -> Sequence[SSAValue]:
    """The results of the branch that is taken."""
    types = [_signless(type) for type in op.result_types]

    def branch(region: Region) -> Region:
        block = Block()
        with building(block):
            _, values = write(region, [])
            scf.YieldOp(*(cast_to(value, type) for value, type in zip(values, types, strict=True)))
        return Region(block)

    return scf.IfOp(_only(condition), types, branch(op.then), branch(op.otherwise)).results


def _signless(type: Attribute) -> Tensor:
    """A tensor type without signs."""
    signless = signless_type(type)
    assert is_tensor(signless), "a tensor stays one"
    return signless


def write_loop(op: LoopOp, need: Callable[[SSAValue], SSAValue], write: WriteRegion) -> Sequence[SSAValue]:
    """The last states, and the stacks.

    Raises:
        LoopFormError: Sizes of what is stacked are not known.
    """
    rows = [need(value) for value in op.rows]
    bound = _bound(op, need, rows)
    end = op.body.block.last_op
    assert isinstance(end, YieldOp), "the verifier has seen the end of the body"
    states = [_general(types) for types in _types_of_states(op, end)]
    stacked = [_row(value) for value in end.values[len(states) :]]
    first = [cast_to(need(value), type) for value, type in zip(op.states, states, strict=True)]
    loop = _Loop(op, rows, states, stacked, write)
    if bound is not None and op.condition is None and end.condition is None:
        return _counted(loop, bound, [*first, *(_empty(bound, type) for type in stacked)])
    goes_on = scalars.constant(1, i1) if op.condition is None else _only(need(op.condition))
    return _conditional(loop, bound, goes_on, [*first, *(_empty(index_constant(0), type) for type in stacked)])


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that is written."""

    op: LoopOp
    rows: Sequence[SSAValue]
    states: Sequence[Tensor]
    """Types that are carried."""
    stacked: Sequence[Tensor]
    """Types of rows."""
    write: WriteRegion

    def step(
        self, number: SSAValue, carried: Sequence[SSAValue], *, grows: bool
    ) -> tuple[SSAValue | None, list[SSAValue]]:
        """Write one iteration: the condition of the next one, and what is carried to it."""
        old, held = carried[: len(self.states)], carried[len(self.states) :]
        counted = tensor.FromElementsOp(arith.IndexCastOp(number, i64).result, result_type=TensorType(i64, [])).result
        arguments = [counted, *old, *(_row_of(value, number) for value in self.rows)]
        types = [_signless(argument.type) for argument in self.op.body.block.args]
        given = [cast_to(value, type) for value, type in zip(arguments, types, strict=True)]
        condition, values = self.write(self.op.body, given)
        states = [cast_to(value, type) for value, type in zip(values, self.states, strict=False)]
        stacks = [
            _with_row(stack, cast_to(value, type), number, grows=grows)
            for stack, value, type in zip(held, values[len(states) :], self.stacked, strict=True)
        ]
        return condition, [*states, *stacks]


def _counted(loop: _Loop, count: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
    block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    start, step = index_constant(0), index_constant(1)
    with building(block):
        _, after = loop.step(block.args[0], block.args[1:], grows=False)
        scf.YieldOp(*after)
    return scf.ForOp(start, count, step, list(carried), Region(block)).results


def _conditional(
    loop: _Loop, bound: SSAValue | None, goes_on: SSAValue, carried: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    given = [index_constant(0), goes_on, *carried]
    types = [value.type for value in given]
    before, after = Block(arg_types=types), Block(arg_types=types)
    with building(before):
        check: SSAValue = before.args[1]
        if bound is not None:
            check = arith.AndIOp(check, arith.CmpiOp(before.args[0], bound, "slt").result).result
        scf.ConditionOp(check, *before.args)
    with building(after):
        condition, values = loop.step(after.args[0], after.args[2:], grows=True)
        again = scalars.constant(1, i1) if condition is None else _only(condition)
        scf.YieldOp(_next(after.args[0]), again, *values)
    return scf.WhileOp(given, types, Region(before), Region(after)).results[2:]


def _bound(op: LoopOp, need: Callable[[SSAValue], SSAValue], rows: Sequence[SSAValue]) -> SSAValue | None:
    """The greatest number of iterations, if something says it."""
    bounds = [_size(row, 0) for row in rows[:1]]
    if op.limit is not None:
        limit = arith.IndexCastOp(_only(need(op.limit)), IndexType()).result
        bounds.append(arith.MaxSIOp(limit, index_constant(0)).result)
    return None if not bounds else reduce(_least, bounds)


def _least(one: SSAValue, other: SSAValue) -> SSAValue:
    return arith.MinSIOp(one, other).result


def _only(value: SSAValue) -> SSAValue:
    """The element of a tensor of rank 0."""
    return tensor.ExtractOp(value, [], tensor_type(value).element_type).result


def _size(value: SSAValue, axis: int) -> SSAValue:
    """The size of a tensor along an axis."""
    known = tensor_type(value).get_shape()[axis]
    return index_constant(known) if known != DYNAMIC else tensor.DimOp(value, index_constant(axis)).result


def _next(number: SSAValue) -> SSAValue:
    return arith.AddiOp(number, index_constant(1)).result


def _types_of_states(op: LoopOp, end: YieldOp) -> list[Sequence[Attribute]]:
    """For each state the types that it has on its way."""
    count = len(op.states)
    values = (op.states, op.body.block.args[1 : 1 + count], end.values[:count], op.outputs[:count])
    return [[value.type for value in own] for own in zip(*values, strict=True)]


def _general(types: Sequence[Attribute]) -> Tensor:
    """The type of tensors of all these types: `?` where they differ."""
    shapes = [type.get_shape() for type in types if is_tensor(type)]
    (first, *_) = types
    assert is_tensor(first), "states are tensors"
    shape = [sizes[0] if len(set(sizes)) == 1 else DYNAMIC for sizes in zip(*shapes, strict=True)]
    return _signless(TensorType(first.element_type, shape))


def _row(value: SSAValue) -> Tensor:
    """The type of what is stacked."""
    type = _signless(value.type)
    if DYNAMIC in type.get_shape():
        raise LoopFormError("stacks values of sizes that are not known")
    return type


def _empty(count: SSAValue, row: Tensor) -> SSAValue:
    return tensor.EmptyOp([count], TensorType(row.element_type, [DYNAMIC_INDEX, *row.get_shape()])).tensor


def _row_of(value: SSAValue, number: SSAValue) -> SSAValue:
    """A row of a tensor."""
    shape = tensor_type(value).get_shape()[1:]
    sizes = [size if size != DYNAMIC else _size(value, axis + 1) for axis, size in enumerate(shape)]
    rank, type = len(sizes), TensorType(tensor_type(value).element_type, shape)
    return tensor.ExtractSliceOp(value, [number, *[0] * rank], [1, *sizes], [1] * (rank + 1), type).result


def _with_row(stack: SSAValue, value: SSAValue, number: SSAValue, *, grows: bool) -> SSAValue:
    """The rows with one more, or with that one replaced."""
    type = tensor_type(value)
    shape, rank = list(type.get_shape()), type.get_num_dims()
    if grows:
        longer = _empty(_next(number), type)
        stack = tensor.InsertSliceOp.get(
            source=stack,
            dest=longer,
            static_offsets=[0] * (rank + 1),
            static_sizes=[DYNAMIC_INDEX, *shape],
            static_strides=[1] * (rank + 1),
            sizes=[number],
            result_type=longer.type,
        ).result
    return tensor.InsertSliceOp.get(
        source=value,
        dest=stack,
        static_offsets=[DYNAMIC_INDEX, *[0] * rank],
        static_sizes=[1, *shape],
        static_strides=[1] * (rank + 1),
        offsets=[number],
        result_type=stack.type,
    ).result
