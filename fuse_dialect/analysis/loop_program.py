"""From a function to a loop program: every op says by its facets how it becomes loops, nothing here knows an op.

1. A result of an op is one stage; an op that cuts its result in pieces has one for each.
2. An op that is made of others is replaced by these.
3. A tuple is nothing but a list of values. A constant that holds one number is that number wherever it is read.
4. Sizes are numbers or names. Each `?` of an argument is a name; names turn out to be equal where ops say so. A size of
   a result that is equal to no number and to no size of an argument cannot be known before the op is run.

What has no loop form is refused with the reason. The function is not changed.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.dialects import arith, func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.counts import Size
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant_array, without_repeats
from fuse_dialect.dialect.loops import RESULT, LoopFormError, LoopOperand, Nest, Piece, Updates, combination_of
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, is_narrow, is_tensor
from fuse_dialect.kernels.indices import Index, loop
from fuse_dialect.kernels.program import Buffer, LoopProgram, Refusal, Role, Scatter, Stage
from fuse_dialect.kernels.rewriting import renamed, with_sizes
from fuse_dialect.kernels.sizes import Sizes
from fuse_dialect.kinds.kind_of import op_name


@dataclass(frozen=True, slots=True)
class _Array:
    """What stands for a tensor value."""

    type: Tensor
    shape: tuple[Size, ...]
    buffer: str = ""
    constant: float | int | bool | None = None
    """The value of all elements, in place of a buffer."""


_Lowered: TypeAlias = "_Array | tuple[_Lowered, ...]"


def lower(function: func.FuncOp) -> LoopProgram | Refusal:
    """The loops that compute a function of one block: one stage for each result of each op, not simplified.

    Complexity: linear in the number of ops, and in the size of their loops.
    """
    try:
        return _Lowering().program(function)
    except LoopFormError as refusal:
        return Refusal(str(refusal))


@dataclass(frozen=True, slots=True)
class _Named:
    """A value that stands for another one from here on: the result of an op that was made of others."""

    old: SSAValue
    new: SSAValue


@dataclass(eq=False, slots=True)
class _Lowering:
    """The stages so far."""

    sizes: Sizes = field(default_factory=Sizes)
    values: dict[SSAValue, _Lowered] = field(default_factory=dict[SSAValue, _Lowered])
    buffers: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    stages: list[Stage] = field(default_factory=list[Stage])
    parts: list[Block] = field(default_factory=list[Block])
    """Blocks of ops that others were made of; they must live as long as their values are looked up."""

    def program(self, function: func.FuncOp) -> LoopProgram:
        """The program of a function.

        Raises:
            LoopFormError: The function cannot be written as loops; the message is a whole sentence.
        """
        if not function.body.blocks or len(function.body.blocks) > 1:
            raise LoopFormError(f"'@{function.sym_name.data}' is not one block of ops")
        for number, argument in enumerate(function.body.block.args):
            self._argument(argument, argument.name_hint or f"arg{number}")
        returned: list[_Array] = []
        pending: deque[tuple[Operation | _Named, str]] = deque((op, "") for op in function.body.block.ops)
        while pending:
            item, origin = pending.popleft()
            match item:
                case _Named(old, new):
                    self.values[old] = self.values[new]
                case func.ReturnOp():
                    returned = _flat([self.values[operand] for operand in item.operands])
                case _:
                    pending.extendleft(reversed(self._lower(item, origin)))
        return self._finished(function.sym_name.data, returned)

    def _argument(self, argument: SSAValue, name: str) -> None:
        if not is_tensor(argument.type):
            raise LoopFormError(f"argument '{name}' is of type {argument.type}")
        shape = tuple(self.sizes.given() if dim == DYNAMIC else dim for dim in argument.type.get_shape())
        self.values[argument] = self._array(argument.type, shape, name, Role.ARGUMENT)

    def _array(self, type: Tensor, shape: tuple[Size, ...], name: str, role: Role) -> _Array:
        """A new buffer."""
        if is_narrow(type.element_type):
            raise LoopFormError(f"'{name}' has elements of type {type.element_type}, which no loops compute with")
        unique = name
        while unique in self.buffers:
            unique = f"{name}_{len(self.buffers)}"
        self.buffers[unique] = Buffer(unique, str(type.element_type), shape, role)
        return _Array(type, shape, unique)

    def _lower(self, op: Operation, origin: str) -> list[tuple[Operation | _Named, str]]:
        """Lower one op, or give the ops that it is made of."""
        match op:
            case arith.ConstantOp():
                self.values[op.result] = _constant(op)
            case TupleOp():
                self.values[op.result] = tuple(self.values[operand] for operand in op.operands)
            case GetTupleElementOp():
                fields = self.values[op.tuple]
                assert isinstance(fields, tuple), "the verifier has checked the type"
                self.values[op.result] = fields[op.index.value.data]
            case FuseOp():
                try:
                    return self._operator(op, origin)
                except LoopFormError as refusal:
                    raise LoopFormError(f"'{op.name}' op {refusal}") from None
            case LoopOp() | IfOp():
                raise LoopFormError(f"'{op.name}' op runs regions, which loops over elements cannot")
            case _:
                raise LoopFormError(f"'{op_name(op)}' op is no op of the dialect")
        return []

    def _operator(self, op: FuseOp, origin: str) -> list[tuple[Operation | _Named, str]]:
        name = op.name.removeprefix("fuse.")
        origin = f"{origin}_{name}" if origin else name
        block = Block(arg_types=list(op.operand_types))
        with building(block):
            value = op.decompose(*block.args)
        if value is not None:
            value.name_hint = op.results[0].name_hint
            self.parts.append(block)
            self.values.update((arg, self.values[own]) for arg, own in zip(block.args, op.operands, strict=True))
            return [*((part, origin) for part in block.ops), (_Named(op.results[0], value), "")]
        for number in range(len(op.results)):
            self._result(op, number, origin)
        self._fault(op, origin)
        return []

    def _operands(self, op: FuseOp) -> list[_Array]:
        return _flat([self.values[operand] for operand in op.operands])

    def _fault(self, op: FuseOp, origin: str) -> None:
        """Add the stage that says whether the op rejects its operands."""
        operands = self._operands(op)
        nest = Nest(_known(operands), (), self.sizes, origin=f"{origin}_fault")
        with nest.code.recording():
            found = op.fault(nest)
        if found is None:
            return
        name = f"fault{len(self.buffers)}"
        self.buffers[name] = Buffer(name, "i1", (), Role.FAULT)
        self.stages.append(renamed(nest.stage(found), _names(name, operands)))

    def _result(self, op: FuseOp, number: int, origin: str) -> None:
        """Add the stages of one result."""
        result = op.results[number]
        operands = self._operands(op)
        known = _known(operands)
        assert is_tensor(result.type), "ops on tuples are not operators"
        shape = tuple(self.sizes.fresh() if dim == DYNAMIC else dim for dim in result.type.get_shape())
        stages: list[Stage] = []
        for piece, part in enumerate(op.result_pieces() or [None]):
            if isinstance(part, Updates):
                stages += self._updates(op, part, known, len(shape), origin)
                continue
            nest = Nest(known, _cut(shape, part), self.sizes, result=number, piece=piece, origin=origin)
            with nest.code.recording():
                element = op.loops(nest)
            stages += self._with_intermediates(nest, nest.stage(element, _store(len(shape), part)))
        if not all(self.sizes.is_known(size) for size in shape):
            raise LoopFormError("has a result whose size does not follow from one size of an argument")
        array = self._array(result.type, shape, result.name_hint or f"{origin}{len(self.buffers)}", Role.LOCAL)
        self.values[result] = array
        self.stages += [renamed(stage, _names(array.buffer, operands)) for stage in stages]

    def _with_intermediates(self, nest: Nest, stage: Stage) -> list[Stage]:
        """The stages of what a nest keeps, then the one that reads it."""
        names: dict[str, str] = {}
        for buffer, _ in nest.intermediates:
            names[buffer.name] = f"{buffer.name}_{len(self.buffers)}"
            self.buffers[names[buffer.name]] = replace(buffer, name=names[buffer.name])
        return [renamed(each, names) for each in (*(made for _, made in nest.intermediates), stage)]

    def _updates(
        self, op: FuseOp, part: Updates, known: Sequence[LoopOperand], rank: int, origin: str
    ) -> Iterator[Stage]:
        """The stages that find places, and write to them."""
        shape, result = known[part.operand].shape, op.results[0].type
        assert is_tensor(result), "ops on tuples are not operators"
        finder = Nest(known, shape[: part.rank], self.sizes, origin=f"{origin}_places")
        with finder.code.recording():
            place = op.place_of_update(finder)
        name = f"places{len(self.buffers)}"
        self.buffers[name] = Buffer(name, "i64", shape[: part.rank], Role.LOCAL)
        yield replace(finder.stage(place), buffer=name)
        nest = Nest(known, shape, self.sizes, piece=1, origin=origin)
        with nest.code.recording():
            element = nest.read(part.operand, nest.at)
        scatter = Scatter(name, nest.at[: part.rank], part.depth, combination_of(part, result))
        stage = nest.stage(element, (*[Index()] * part.depth, *nest.at[part.rank :]))
        assert len(stage.store) == rank, "a place and a slice make an element"
        yield replace(stage, scatter=scatter)

    def _finished(self, name: str, returned: Sequence[_Array]) -> LoopProgram:
        """The program; what is returned twice, or is an argument or a constant, is copied."""
        results: list[str] = []
        for array in returned:
            if array.constant is not None or array.buffer in results or self._role(array) is not Role.LOCAL:
                array = self._copied(array)
            results.append(array.buffer)
        buffers = [buffer for buffer in self.buffers.values() if buffer.role is Role.ARGUMENT]
        buffers += [replace(self.buffers[result], role=Role.RESULT) for result in results]
        taken = {buffer.name for buffer in buffers}
        buffers += [buffer for buffer in self.buffers.values() if buffer.name not in taken]
        return with_sizes(LoopProgram(name, tuple(buffers), tuple(self.stages)), self.sizes)

    def _role(self, array: _Array) -> Role:
        return self.buffers[array.buffer].role

    def _copied(self, array: _Array) -> _Array:
        operand = LoopOperand(array.type, array.shape, array.constant)
        nest = Nest([operand], array.shape, self.sizes, origin="copy")
        with nest.code.recording():
            element = nest.read(0, nest.at)
        copy = self._array(array.type, array.shape, "result", Role.LOCAL)
        self.stages.append(renamed(nest.stage(element), {RESULT: copy.buffer, "0": array.buffer}))
        return copy


def _known(operands: Sequence[_Array]) -> list[LoopOperand]:
    return [LoopOperand(operand.type, operand.shape, operand.constant) for operand in operands]


def _names(result: str, operands: Sequence[_Array]) -> dict[str, str]:
    """Buffers by the names that a nest has for them."""
    return {RESULT: result, **{str(index): operand.buffer for index, operand in enumerate(operands)}}


def _cut(shape: tuple[Size, ...], piece: Piece | None) -> tuple[Size, ...]:
    """The shape of a piece."""
    return shape if piece is None else (*shape[: piece.axis], piece.size, *shape[piece.axis + 1 :])


def _store(rank: int, piece: Piece | None) -> tuple[Index, ...]:
    """Where the elements of a piece stand in the whole."""
    if piece is None:
        return ()
    return tuple(loop(axis) + (piece.start if axis == piece.axis else 0) for axis in range(rank))


def _flat(values: Sequence[_Lowered]) -> list[_Array]:
    """Arrays, and those in tuples, in order."""
    arrays: list[_Array] = []
    pending = list(reversed(values))
    while pending:
        value = pending.pop()
        if isinstance(value, _Array):
            arrays.append(value)
        else:
            pending.extend(reversed(value))
    return arrays


def _constant(op: arith.ConstantOp) -> _Array:
    """A constant of one number."""
    type = op.result.type
    try:
        array = constant_array(op.value)
    except VerifyException as error:
        raise LoopFormError(f"'arith.constant' op {error}") from error
    if not is_tensor(type):
        raise LoopFormError(f"'arith.constant' op gives a value of type {type}")
    if is_narrow(type.element_type):
        raise LoopFormError(f"'arith.constant' op has elements of type {type.element_type}")
    elements = without_repeats(array)
    data = elements.tobytes()
    if not elements.size or data != data[: array.itemsize] * elements.size:
        held = f"holds {array.size} numbers"
        raise LoopFormError(f"'arith.constant' op {held}: constants are arguments unless link-params=true")
    value = elements.reshape(-1)[:1].item()
    return _Array(type, tuple(type.get_shape()), "", value)
