"""From a function to a loop program: every op says by its facets how it becomes loops, nothing here knows an op.

1. A result of an op is one stage; an op that cuts its result in pieces has one for each.
2. An op that is made of others is replaced by these.
3. A tuple is nothing but a list of values. A constant that holds one number is that number wherever it is read.
4. Sizes are numbers or names. Each `?` of an argument is a name; names turn out to be equal where ops say so. A size of
   a result that is equal to no number and to no size of an argument cannot be known before the op is run.

What has no loop form is refused with the reason. The function is not changed.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.dialects import arith, func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.counts import Size
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant_array, without_repeats
from fuse_dialect.dialect.loops import RESULT, LoopFormError, LoopOperand, Nest
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, is_narrow, is_tensor
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.loops.program import Buffer, LoopProgram, Refusal, Role, Stage
from fuse_dialect.loops.rewriting import renamed, with_sizes
from fuse_dialect.loops.sizes import Sizes
from fuse_dialect.lowering.op_loops import PLACES, Made, fault_loops, result_loops

_NOT_FROM_ONE = "has a result whose size does not follow from one size of an argument"


@dataclass(frozen=True, slots=True)
class _Array:
    """What stands for a tensor value."""

    type: Tensor
    shape: tuple[Size, ...]
    buffer: str = ""
    constant: float | int | bool | None = None
    """The value of all elements, in place of a buffer."""


_Lowered: TypeAlias = "_Array | tuple[_Lowered, ...]"


def lower(function: func.FuncOp, *, for_kernels: bool = True, knows_results: bool = False) -> LoopProgram | Refusal:
    """The loops that compute a function of one block: one stage for each result of each op, not simplified.

    Args:
        function: The function.
        for_kernels: Whether code computes with sizes only where they are numbers, and finds faults. Else sizes of
            results may have names that begin with `?`, which who runs the program must know.
        knows_results: Whether who runs kernels knows the sizes of results that follow from several sizes, as those of
            windows do. They have names that no argument has.

    Complexity: linear in the number of ops, and in the size of their loops.
    """
    try:
        return _Lowering(Sizes(are_computed_with=not for_kernels), knows_results).program(function)
    except LoopFormError as refusal:
        return Refusal(str(refusal))


def lower_op(op: FuseOp) -> LoopProgram | Refusal:
    """The loops of an op as `lower` gives them for a function that holds the op alone: an argument for each operand.

    Of operands that are one value, the last argument stands for all.
    """
    return lower_ops([op], op.operands, op.results)


def lower_ops(
    ops: Sequence[Operation], arguments: Sequence[SSAValue], results: Sequence[SSAValue]
) -> LoopProgram | Refusal:
    """The loops of some ops of a block as `lower` gives them for a function that holds these.

    Args:
        ops: In order.
        arguments: What they read of others.
        results: The values that they are for.
    """
    lowering = _Lowering()
    try:
        for number, argument in enumerate(arguments):
            lowering.argument(argument, f"arg{number}")
        return lowering.finished("op", ops, results)
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
    knows_results: bool = False
    """Whether sizes of results may have names of their own."""
    values: dict[SSAValue, _Lowered] = field(default_factory=dict[SSAValue, _Lowered])
    buffers: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    stages: list[Stage] = field(default_factory=list[Stage])
    named: dict[str, str] = field(default_factory=dict[str, str])
    """Names of sizes that no argument has, and the ops that they are of."""
    parts: list[Block] = field(default_factory=list[Block])
    """Blocks of ops that others were made of; they must live as long as their values are looked up."""

    def program(self, function: func.FuncOp) -> LoopProgram:
        """The program of a function.

        Raises:
            LoopFormError: The function cannot be written as loops; the message is a whole sentence.
        """
        if not function.body.blocks or len(function.body.blocks) > 1:
            raise LoopFormError(f"'@{function.sym_name.data}' is not one block of ops")
        block = function.body.block
        for number, argument in enumerate(block.args):
            self.argument(argument, argument.name_hint or f"arg{number}")
        *ops, last = block.ops
        assert isinstance(last, func.ReturnOp), "the verifier has checked how a function ends"
        return self.finished(function.sym_name.data, ops, last.operands)

    def argument(self, argument: SSAValue, name: str) -> None:
        """Note what a value is that the ops read."""
        if not is_tensor(argument.type):
            raise LoopFormError(f"argument '{name}' is of type {argument.type}")
        shape = tuple(self.sizes.given() if dim == DYNAMIC else dim for dim in argument.type.get_shape())
        self.values[argument] = self._array(argument.type, shape, name, Role.ARGUMENT)

    def finished(self, name: str, ops: Iterable[Operation], returned: Iterable[SSAValue]) -> LoopProgram:
        """The program of ops whose arguments are known.

        Args:
            name: Of the program.
            ops: The ops, in order.
            returned: The values that they are for.
        """
        pending: deque[tuple[Operation | _Named, str]] = deque((op, "") for op in ops)
        while pending:
            item, origin = pending.popleft()
            match item:
                case _Named(old, new):
                    self.values[old] = self.values[new]
                case _:
                    pending.extendleft(reversed(self._lower(item, origin)))
        return self._finished(name, _flat([self.values[value] for value in returned]))

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
        if type(op).decompose is not FuseOp.decompose:
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
        if self.sizes.are_computed_with:
            return
        operands = self._operands(op)
        stage = fault_loops(op, _known(operands), self.sizes, origin)
        if stage is None:
            return
        name = f"fault{len(self.buffers)}"
        self.buffers[name] = Buffer(name, "i1", (), Role.FAULT)
        self.stages.append(renamed(stage, _names(name, operands)))

    def _result(self, op: FuseOp, number: int, origin: str) -> None:
        """Add the stages of one result."""
        result = op.results[number]
        operands = self._operands(op)
        assert is_tensor(result.type), "ops on tuples are not operators"
        shape = tuple(self.sizes.fresh() if dim == DYNAMIC else dim for dim in result.type.get_shape())
        made = result_loops(op, number, _known(operands), shape, self.sizes, origin)
        stages = [stage for each in made for stage in self._named(each)]
        unknown = [size for size in shape if not self.sizes.is_known(size)]
        if unknown and not self.sizes.are_computed_with:
            if not self.knows_results:
                raise LoopFormError(_NOT_FROM_ONE)
            for size in unknown:
                named = self.sizes.given()
                self.sizes.unify(size, named)
                self.named[named] = op.name
        array = self._array(result.type, shape, result.name_hint or f"{origin}{len(self.buffers)}", Role.LOCAL)
        self.values[result] = array
        names = _names(array.buffer, operands)
        self.stages += [renamed(stage, {**names, **own}) for stage, own in stages]

    def _named(self, made: Made) -> Iterator[tuple[Stage, dict[str, str]]]:
        """The stages of what an op keeps, then the one that reads it, and the names of the buffers between them."""
        names: dict[str, str] = {}
        for buffer, _ in made.before:
            mark = "" if buffer.name == PLACES else "_"
            names[buffer.name] = unique = f"{buffer.name}{mark}{len(self.buffers)}"
            self.buffers[unique] = replace(buffer, name=unique)
        for stage in (*(each for _, each in made.before), made.stage):
            yield stage, names

    def _finished(self, name: str, returned: Sequence[_Array]) -> LoopProgram:
        """The program; what is returned twice, or is an argument or a constant, is copied."""
        results: list[str] = []
        for array in returned:
            if array.constant is not None or array.buffer in results or self._role(array) is not Role.LOCAL:
                array = self._copied(array)
            results.append(array.buffer)
        buffers = [buffer for buffer in self.buffers.values() if buffer.role is Role.ARGUMENT]
        buffers += [replace(self.buffers[result], role=Role.RESULT) for result in results]
        shown = {self.sizes.resolve(size) for result in results for size in self.buffers[result].shape}
        for size, op in self.named.items():
            if self.sizes.resolve(size) not in shown and not self._is_given(size):
                raise LoopFormError(f"'{op}' op {_NOT_FROM_ONE}")
        taken = {buffer.name for buffer in buffers}
        buffers += [buffer for buffer in self.buffers.values() if buffer.name not in taken]
        program = LoopProgram(name, tuple(buffers), tuple(self.stages))
        return with_sizes(program, self.sizes) if self.sizes.has_names else program

    def _is_given(self, size: Size) -> bool:
        """Whether a size is a number, or that of an argument."""
        size = self.sizes.resolve(size)
        arguments = [buffer for buffer in self.buffers.values() if buffer.role is Role.ARGUMENT]
        known = {self.sizes.resolve(own) for buffer in arguments for own in buffer.shape}
        return isinstance(size, int) or size in known

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
        function = op.parent_op()
        is_trip = function is not None and HARDWARE_ATTRIBUTE in function.attributes
        why = "held by trips unless constants-inside=false" if is_trip else "arguments unless link-params=true"
        raise LoopFormError(f"'arith.constant' op holds {array.size} numbers: constants are {why}")
    value = elements.reshape(-1)[:1].item()
    return _Array(type, tuple(type.get_shape()), "", value)
