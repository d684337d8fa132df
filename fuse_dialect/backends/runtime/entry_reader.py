"""Reading the entry function of a module: what `EntryGraph` holds, made of IR.

1. Tuples vanish: a tuple value is a Python tuple of tensors here, and calls take and give tensors only.
2. Calls of functions that are no primitives are expanded.
3. An operator outside a primitive becomes a primitive of its own.
4. A loop or a branch is a call of a primitive that holds it alone, which NumPy can run. Its regions are read as
   functions are, so that kernels can run them, too. Values that it sees are arguments.
5. Two calls of one function share a kernel if the same arguments of theirs are constants.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, TupleType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, Loop, Primitive
from fuse_dialect.backends.types import TensorType
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.dialect.size_names import size_names
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.ssa import read_values
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE, only_reshapes
from fuse_dialect.interpreters.constants import evaluate_constant
from fuse_dialect.interpreters.entry import (
    argument_names,
    check_has_body,
    function_named,
    functions_of,
    model_names,
    result_names,
)
from fuse_dialect.interpreters.foreign.table import meaning_of
from fuse_dialect.interpreters.loop_costs import marked_iteration
from fuse_dialect.interpreters.numpy import MAX_CALL_DEPTH
from fuse_dialect.interpreters.values import EvaluationError, Nested, flatten, layout_of

_Value: TypeAlias = Nested[int]
"""Number of a tensor, or a tuple."""
MAX_REGION_DEPTH = 16
"""Regions within regions that are read; Python's stack grows with them."""


def read_entry(module: ModuleOp, entry: str = "main") -> EntryGraph:
    """The steps of a function.

    Args:
        module: A verified module, fused.
        entry: Name of the function.

    Raises:
        InterpretationError: There is no such function, or it holds something that has no meaning; then the error is an
            `EvaluationError`, which knows the op.
    """
    function = function_named(module, entry)
    return _Reader(functions_of(module)).read(function)


class NoMeaningError(EvaluationError):
    """An op that neither kernels nor NumPy can run."""

    def __init__(self, op: Operation):
        super().__init__(op, "has no meaning that a backend could run")


@dataclass(slots=True)
class _Activation:
    """A function that is being expanded."""

    ops: Iterator[Operation]
    values: dict[SSAValue, _Value]
    call: func.CallOp | None = None


@dataclass(slots=True)
class _Reader:
    functions: Mapping[str, func.FuncOp]
    tensors: list[TensorType] = field(default_factory=list[TensorType])
    constants: dict[int, Array] = field(default_factory=dict[int, Array])
    primitives: dict[tuple[func.FuncOp, frozenset[int]], int] = field(
        default_factory=dict[tuple[func.FuncOp, frozenset[int]], int]
    )
    calls: list[Call] = field(default_factory=list[Call])
    regions: set[func.FuncOp] = field(default_factory=set[func.FuncOp])
    """Functions that were made of ops with regions: what these call goes along."""
    depth: int = 0
    """How many regions the ops that are read stand in."""
    loops: int = 0
    """How many of these are bodies of loops."""
    reason: str = ""
    """Why the last loop or branch that could not be read was not."""
    alone: dict[Hashable, func.FuncOp] = field(default_factory=dict[Hashable, func.FuncOp])
    """Functions that hold an op alone, by all that says what it does."""
    unread: dict[func.FuncOp, str] = field(default_factory=dict[func.FuncOp, str])
    """Why what is in loops and branches was not read, by the functions that were made of them."""

    def read(self, function: func.FuncOp) -> EntryGraph:
        arguments = [self._new(type, function) for type in function.function_type.inputs]
        for name, argument in zip(argument_names(function), arguments, strict=True):
            if isinstance(argument, tuple):
                raise EvaluationError(function, f"input '{name}' is a tuple, which cannot be passed to a program")
        outputs = self._expand(function, arguments)
        return EntryGraph(
            name=function.sym_name.data,
            tensors=self.tensors,
            inputs=_flat(arguments),
            input_names=argument_names(function),
            model_input_names=model_names(function.arg_attrs, len(arguments)),
            output_names=result_names(function),
            size_names=size_names(function),
            constants=self.constants,
            primitives=[
                Primitive(
                    function,
                    constants,
                    _callees(function, self.functions) if function in self.regions else {},
                    self.unread.get(function, ""),
                )
                for function, constants in self.primitives
            ],
            calls=self.calls,
            outputs=_flat(outputs),
        )

    def _expand(self, function: func.FuncOp, arguments: Sequence[_Value]) -> list[_Value]:
        """The results of a function; functions within functions wait on a list, not on Python's stack."""
        _, results = self._walk(function, self._activate(function, arguments, None))
        return results

    def _walk(self, owner: Operation, activation: _Activation) -> tuple[Operation, list[_Value]]:
        """Read ops to the end of a function or a region; gives the op that ends it, and its operands."""
        stack = [activation]
        while True:
            top = stack[-1]
            op = next(top.ops, None)
            if op is None:
                raise EvaluationError(owner, "ends without 'func.return'")
            operands = [top.values[operand] for operand in read_values(op)]
            if isinstance(op, YieldOp):
                return op, operands
            if isinstance(op, func.ReturnOp):
                stack.pop()
                if top.call is None:
                    return op, operands
                stack[-1].values.update(zip(top.call.results, operands, strict=True))
                continue
            callee = self._callee(op)
            if callee is None or PRIMITIVE_ATTRIBUTE in callee.attributes:
                top.values.update(zip(op.results, self._results(op, callee, operands, top.values), strict=True))
                continue
            if len(stack) > MAX_CALL_DEPTH:
                raise EvaluationError(op, f"exceeds {MAX_CALL_DEPTH} calls within calls")
            assert isinstance(op, func.CallOp), "only calls have a callee"
            stack.append(self._activate(callee, operands, op))

    def _activate(self, function: func.FuncOp, arguments: Sequence[_Value], call: func.CallOp | None) -> _Activation:
        check_has_body(function)
        block = function.body.block
        return _Activation(iter(list(block.ops)), dict(zip(block.args, arguments, strict=True)), call)

    def _callee(self, op: Operation) -> func.FuncOp | None:
        if not isinstance(op, func.CallOp):
            return None
        name = op.callee.string_value()
        if name not in self.functions:
            raise EvaluationError(op, f"calls '@{name}', which is not in the module")
        check_has_body(self.functions[name])
        return self.functions[name]

    def _results(
        self, op: Operation, callee: func.FuncOp | None, operands: list[_Value], values: dict[SSAValue, _Value]
    ) -> list[_Value]:
        match op:
            case TupleOp():
                return [tuple(operands)]
            case GetTupleElementOp():
                return [cast("tuple[_Value, ...]", operands[0])[op.index.value.data]]
            case arith.ConstantOp():
                return [self._constant(op)]
            case func.CallOp():
                assert callee is not None, "a call has a callee"
                return self._call(op, callee, operands)
            case FuseOp():
                return self._call(op, self._function_of(op), operands)
            case LoopOp() | IfOp():
                function = _function_of(op)
                self.regions.add(function)
                control = self._control(op, operands, values)
                if control is None:
                    self.unread[function] = self.reason
                return self._call(op, function, operands, control)
            case _ if is_shape_assertion(op) and self._holds(operands[0]):
                return []
            case _ if is_shape_assertion(op) or meaning_of(op) is not None:
                function = _function_of(op)
                if op.regions:
                    self.regions.add(function)
                return self._call(op, function, operands)
            case _:
                raise NoMeaningError(op)

    def _holds(self, condition: _Value) -> bool:
        """Whether a check of sizes holds for all inputs: these are known, and so is what it asks."""
        return isinstance(condition, int) and condition in self.constants and bool(self.constants[condition].all())

    def _function_of(self, op: FuseOp) -> func.FuncOp:
        """A primitive that holds the op alone; ops that are alike share one."""
        places = {value: place for place, value in enumerate(read_values(op))}
        alike = (
            type(op),
            tuple((places[operand], operand.type) for operand in op.operands),
            tuple(op.result_types),
            tuple(sorted(op.properties.items(), key=itemgetter(0))),
            tuple(sorted(op.attributes.items(), key=itemgetter(0))),
        )
        if op.regions or alike not in self.alone:
            self.alone[alike] = _function_of(op)
        return self.alone[alike]

    def _control(
        self, op: LoopOp | IfOp, operands: Sequence[_Value], values: dict[SSAValue, _Value]
    ) -> Loop | Branch | None:
        """What the op does inside; `None` if a region holds what no kernel can be.

        Raises:
            NoMeaningError: A loop holds an op that nobody can run. A branch may, for it may never be reached.
        """
        if self.depth == MAX_REGION_DEPTH:
            self.reason = f"'{op.name}' op stands in more than {MAX_REGION_DEPTH} regions within each other"
            return None
        known = len(self.tensors), len(self.primitives), len(self.constants)
        calls = self.calls
        self.depth += 1
        self.loops += isinstance(op, LoopOp)
        try:
            given = _Given(_flat(operands[: len(op.operands)]))
            return self._loop(op, given, values) if isinstance(op, LoopOp) else self._branch(op, given, values)
        except EvaluationError as error:
            if isinstance(error, NoMeaningError) and self.loops:
                raise
            self._forget(*known)
            self.reason = str(error)
            return None
        finally:
            self.depth -= 1
            self.loops -= isinstance(op, LoopOp)
            self.calls = calls

    def _loop(self, op: LoopOp, given: "_Given", values: dict[SSAValue, _Value]) -> Loop:
        block = op.body.block
        limit = given.one(op.limit)
        condition = given.one(op.condition)
        initial, rows = given.many(len(op.states)), given.many(len(op.rows))
        arguments = [self._new(argument.type, op) for argument in block.args]
        counter, *others = _flat(arguments)
        values.update(zip(block.args, arguments, strict=True))  # names are unique, so the body may share the table
        goes_on, yielded = self._region(op, block, values)
        split = len(initial)
        return Loop(
            limit=limit,
            condition=condition,
            initial=initial,
            rows=rows,
            counter=counter,
            states=tuple(others[:split]),
            elements=tuple(others[split:]),
            calls=tuple(self.calls),
            goes_on=goes_on,
            following=yielded[:split],
            stacked=yielded[split:],
            ops=marked_iteration(op),
        )

    def _branch(self, op: IfOp, given: "_Given", values: dict[SSAValue, _Value]) -> Branch:
        condition = given.one(op.condition)
        assert condition is not None, "a branch has a condition"
        parts: list[tuple[tuple[Call, ...], tuple[int, ...]]] = []
        for region in (op.then, op.otherwise):
            _, yielded = self._region(op, region.block, values)
            parts.append((tuple(self.calls), yielded))
        (then, some), (otherwise, others) = parts
        return Branch(condition, (then, otherwise), (some, others))

    def _region(
        self, op: Operation, block: Block, values: dict[SSAValue, _Value]
    ) -> tuple[int | None, tuple[int, ...]]:
        """Read a region into `calls`; the condition that it yields, and its values."""
        self.calls = []
        end, operands = self._walk(op, _Activation(iter(list(block.ops)), values))
        numbers = _flat(operands)
        assert isinstance(end, YieldOp), "a region that has been verified ends with a yield"
        return (None, numbers) if end.condition is None else (numbers[0], numbers[1:])

    def _forget(self, tensors: int, primitives: int, constants: int) -> None:
        """Drop what was read since there were so many."""
        del self.tensors[tensors:]
        for key in list(self.primitives)[primitives:]:
            del self.primitives[key]
        for number in list(self.constants)[constants:]:
            del self.constants[number]

    def _constant(self, op: arith.ConstantOp) -> _Value:
        array = evaluate_constant(op)
        number = self._new(op.result.type, op)
        assert isinstance(number, int), "no constant is a tuple"
        self.constants[number] = array
        return number

    def _call(
        self,
        op: Operation,
        function: func.FuncOp,
        operands: list[_Value],
        control: Loop | Branch | None = None,
    ) -> list[_Value]:
        arguments = _flat(operands)
        constants = frozenset(place for place, number in enumerate(arguments) if number in self.constants)
        if (function, constants) not in self.primitives:
            _check_meanings(function)
        kernel = self.primitives.setdefault((function, constants), len(self.primitives))
        results = [self._new(result.type, op) for result in op.results]
        self.calls.append(Call(kernel, arguments, _flat(results), control, source_of(op)))
        return results

    def _new(self, type: Attribute, op: Operation) -> _Value:
        """A new tensor, or a tuple of new ones."""
        if isinstance(type, TupleType):
            return tuple(self._new(field, op) for field in type.types)
        try:
            layout = layout_of(type)
        except VerifyException as error:
            raise EvaluationError(op, str(error)) from error
        if layout is None:
            raise EvaluationError(op, f"has a value of type {type}, which a backend does not know")
        self.tensors.append(TensorType(*layout))
        return len(self.tensors) - 1


@dataclass(slots=True)
class _Given:
    """The operands of a loop or a branch, taken one after the other."""

    numbers: tuple[int, ...]
    taken: int = 0

    def one(self, operand: SSAValue | None) -> int | None:
        """The next one, if the op has this operand."""
        return None if operand is None else self.many(1)[0]

    def many(self, count: int) -> tuple[int, ...]:
        """The next ones."""
        self.taken += count
        return self.numbers[self.taken - count : self.taken]


def _check_meanings(function: func.FuncOp) -> None:
    """Check that an op of the source that has no equal here is not left for the first call.

    Raises:
        NoMeaningError: A primitive holds one.
    """
    for op in function.body.block.ops:
        if op.name.startswith(("stablehlo.", "chlo.")) and not is_shape_assertion(op):
            raise NoMeaningError(op)


def _flat(values: Sequence[_Value]) -> tuple[int, ...]:
    """The tensors in the values, in order."""
    return tuple(flatten(values))


def _callees(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> dict[str, func.FuncOp]:
    """The functions that a function calls, and those that these call."""
    found: dict[str, func.FuncOp] = {}
    pending = [function]
    while pending:
        for op in ops_inside(pending.pop()):
            name = op.callee.string_value() if isinstance(op, func.CallOp) else ""
            if name in functions and name not in found:
                found[name] = functions[name]
                pending.append(functions[name])
    return found


def _function_of(op: Operation) -> func.FuncOp:
    """A primitive that holds a copy of the op alone; what its regions read is given as further arguments."""
    values = read_values(op)
    types = [value.type for value in values]
    body = Block(arg_types=types)
    copy = op.clone(dict(zip(values, body.args, strict=False)))
    for place, argument in enumerate(body.args[: len(op.operands)]):
        copy.operands[place] = argument
    body.add_ops((copy, func.ReturnOp(*copy.results)))
    name = op.name.partition(".")[2]
    function = func.FuncOp(name, (types, list(op.result_types)), Region(body), "private")
    function.attributes[PRIMITIVE_ATTRIBUTE] = UnitAttr()
    if isinstance(op, FuseOp) and only_reshapes(op):
        function.attributes[RESHAPE_ONLY_ATTRIBUTE] = UnitAttr()
    return function
