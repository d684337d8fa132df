"""`fuse.if` as `scf.if`, `fuse.loop` as `scf.for` or `scf.while`, on tensors.

1. Where the number of iterations is known before, the loop is a `scf.for` that carries its states and what is stacked,
   which has that many rows from the beginning.
2. With conditions it is a `scf.while`. It also carries the number of the iteration and whether it goes on; stacks grow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, is_tensor, tensor_type
from fuse_dialect.targets.linalg.arrays import signless_type
from fuse_dialect.targets.linalg.elements import Number, Table, as_index, constant

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

    return scf.IfOp(Table(condition).at().value, types, branch(op.then), branch(op.otherwise)).results


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
    goes_on = constant(1, i1) if op.condition is None else Table(need(op.condition)).at()
    return _conditional(loop, bound, goes_on, [*first, *(_empty(as_index(0), type) for type in stacked)])


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
        self, number: Number, carried: Sequence[SSAValue], *, grows: bool
    ) -> tuple[SSAValue | None, list[SSAValue]]:
        """Write one iteration: the condition of the next one, and what is carried to it."""
        old, held = carried[: len(self.states)], carried[len(self.states) :]
        counted = tensor.FromElementsOp(number.to(i64).value, result_type=TensorType(i64, [])).result
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


def _counted(loop: _Loop, count: Number, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
    block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    start, step = as_index(0), as_index(1)
    with building(block):
        _, after = loop.step(Number(block.args[0]), block.args[1:], grows=False)
        scf.YieldOp(*after)
    return scf.ForOp(start.value, count.value, step.value, list(carried), Region(block)).results


def _conditional(loop: _Loop, bound: Number | None, goes_on: Number, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
    given = [as_index(0).value, goes_on.value, *carried]
    types = [value.type for value in given]
    before, after = Block(arg_types=types), Block(arg_types=types)
    with building(before):
        check = Number(before.args[1])
        if bound is not None:
            check = check & (Number(before.args[0]) < bound)
        scf.ConditionOp(check.value, *before.args)
    with building(after):
        number = Number(after.args[0])
        condition, values = loop.step(number, after.args[2:], grows=True)
        again = constant(1, i1) if condition is None else Table(condition).at()
        scf.YieldOp((number + 1).value, again.value, *values)
    return scf.WhileOp(given, types, Region(before), Region(after)).results[2:]


def _bound(op: LoopOp, need: Callable[[SSAValue], SSAValue], rows: Sequence[SSAValue]) -> Number | None:
    """The greatest number of iterations, if something says it."""
    bounds = [as_index(Table(row).size(0)) for row in rows[:1]]
    if op.limit is not None:
        bounds.append(Table(need(op.limit)).at().index().greatest(0))
    return None if not bounds else bounds[0] if len(bounds) == 1 else bounds[0].least(bounds[1])


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


def _empty(count: Number, row: Tensor) -> SSAValue:
    return tensor.EmptyOp([count.value], TensorType(row.element_type, [DYNAMIC_INDEX, *row.get_shape()])).tensor


def _row_of(value: SSAValue, number: Number) -> SSAValue:
    """A row of a tensor."""
    table = Table(value)
    sizes = [size if isinstance(size, int) else size.value for size in table.sizes()[1:]]
    rank = len(sizes)
    type = TensorType(table.element, table.static_shape[1:])
    return tensor.ExtractSliceOp(value, [number.value, *[0] * rank], [1, *sizes], [1] * (rank + 1), type).result


def _with_row(stack: SSAValue, value: SSAValue, number: Number, *, grows: bool) -> SSAValue:
    """The rows with one more, or with that one replaced."""
    type = tensor_type(value)
    shape, rank = list(type.get_shape()), type.get_num_dims()
    if grows:
        longer = _empty(number + 1, type)
        stack = tensor.InsertSliceOp.get(
            source=stack,
            dest=longer,
            static_offsets=[0] * (rank + 1),
            static_sizes=[DYNAMIC_INDEX, *shape],
            static_strides=[1] * (rank + 1),
            sizes=[number.value],
            result_type=longer.type,
        ).result
    return tensor.InsertSliceOp.get(
        source=value,
        dest=stack,
        static_offsets=[DYNAMIC_INDEX, *[0] * rank],
        static_sizes=[1, *shape],
        static_strides=[1] * (rank + 1),
        offsets=[number.value],
        result_type=stack.type,
    ).result
