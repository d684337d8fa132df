"""The entry function of a module as data: numbered tensors, and calls of primitives in order.

1. Tuples vanish: a tuple value is a Python tuple of tensors here, and calls take and give tensors only.
2. Calls of functions that are no primitives are expanded.
3. An operator outside a primitive becomes a primitive of its own.
4. A loop, a branch or a check of sizes is a primitive, too, which NumPy runs; values that it sees are arguments.
5. Two calls of one function share a kernel if the same arguments of theirs are constants.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, Union, cast

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, TupleType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.analysis.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.analysis.ssa import read_values
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.dialect.size_names import SizeNames, size_names
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, is_tensor
from fuse_dialect.interpreters.entry import (
    argument_names,
    check_has_body,
    function_named,
    functions_of,
    model_names,
    result_names,
)
from fuse_dialect.interpreters.numpy import MAX_CALL_DEPTH
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE, only_reshapes

Shape: TypeAlias = tuple[int, ...]
_Value: TypeAlias = Union[int, "tuple[_Value, ...]"]
"""Number of a tensor, or a tuple."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """What is known of a tensor before the first call."""

    shape: Shape
    """Sizes; `DYNAMIC` for one that is known when the tensor is."""
    dtype: "np.dtype[np.generic]"

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known."""
        return DYNAMIC not in self.shape


@dataclass(frozen=True, slots=True)
class Primitive:
    """A function to run, and what is known of its arguments."""

    function: func.FuncOp
    constants: frozenset[int] = frozenset()
    """Positions of arguments that are constants in every call."""
    callees: Mapping[str, func.FuncOp] = field(default_factory=dict[str, func.FuncOp], compare=False)
    """Functions that are called in it, by name: what a loop or a branch runs."""

    @property
    def is_view(self) -> bool:
        """Whether the result holds the elements of the only argument in the same order.

        The mark of the function is a hint: it may stand in the input, on any body, so the ops must say the same.
        """
        if RESHAPE_ONLY_ATTRIBUTE not in self.function.attributes or len(self.function.function_type.inputs) != 1:
            return False
        block = self.function.body.block
        end = block.last_op
        value = end.operands[0] if end is not None and len(end.operands) == 1 else None
        while isinstance(value, OpResult) and isinstance(value.op, FuseOp) and value.op.RESHAPE_ONLY:
            value = value.op.operands[0]
        return value is not None and value is block.args[0] and is_tensor(value.type)

    @property
    def is_static(self) -> bool:
        """Whether types say the sizes of all tensors in it."""
        values = [*self.function.body.block.args]
        values += [result for op in ops_inside(self.function) for result in op.results]
        return not any(is_tensor(value.type) and DYNAMIC in value.type.get_shape() for value in values)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a primitive."""

    kernel: int
    """Number of the primitive."""
    arguments: tuple[int, ...]
    """Numbers of tensors, those of tuples in order."""
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EntryGraph:
    """What a function does."""

    name: str
    tensors: Sequence[TensorType]
    inputs: Sequence[int]
    """Numbers of the arguments."""
    input_names: Sequence[str]
    model_input_names: Sequence[str | None]
    """Names in the model that the module comes from, where there is one."""
    output_names: Sequence[str]
    constants: dict[int, Array]
    """Elements by number of the tensor; read-only, maybe broadcast. A program takes out what it has in other forms."""
    size_names: Sequence[SizeNames]
    """Names of the sizes of each argument."""
    primitives: Sequence[Primitive]
    calls: Sequence[Call]
    outputs: Sequence[int]
    """Numbers of the results, those of tuples in order."""


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
    """Functions that were made of loops and branches."""

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
                Primitive(function, constants, _callees(function, self.functions) if function in self.regions else {})
                for function, constants in self.primitives
            ],
            calls=self.calls,
            outputs=_flat(outputs),
        )

    def _expand(self, function: func.FuncOp, arguments: Sequence[_Value]) -> list[_Value]:
        """The results of a function; functions within functions wait on a list, not on Python's stack."""
        stack = [self._activate(function, arguments, None)]
        while True:
            top = stack[-1]
            op = next(top.ops, None)
            if op is None:
                raise EvaluationError(function, "ends without 'func.return'")
            operands = [top.values[operand] for operand in read_values(op)]
            if isinstance(op, func.ReturnOp):
                stack.pop()
                if top.call is None:
                    return operands
                stack[-1].values.update(zip(top.call.results, operands, strict=True))
                continue
            callee = self._callee(op)
            if callee is None or PRIMITIVE_ATTRIBUTE in callee.attributes:
                top.values.update(zip(op.results, self._results(op, callee, operands), strict=True))
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

    def _results(self, op: Operation, callee: func.FuncOp | None, operands: list[_Value]) -> list[_Value]:
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
                return self._call(op, _function_of(op), operands)
            case LoopOp() | IfOp():
                function = _function_of(op)
                self.regions.add(function)
                return self._call(op, function, operands)
            case _ if is_shape_assertion(op):
                return self._call(op, _function_of(op), operands)
            case _:
                raise EvaluationError(op, "has no meaning that a backend could run")

    def _constant(self, op: arith.ConstantOp) -> _Value:
        try:
            array = constant_array(op.value)
        except VerifyException as error:
            raise EvaluationError(op, str(error)) from error
        number = self._new(op.result.type, op)
        assert isinstance(number, int), "no constant is a tuple"
        self.constants[number] = array
        return number

    def _call(self, op: Operation, function: func.FuncOp, operands: list[_Value]) -> list[_Value]:
        arguments = _flat(operands)
        constants = frozenset(place for place, number in enumerate(arguments) if number in self.constants)
        if (function, constants) not in self.primitives:
            _check_meanings(function)
        kernel = self.primitives.setdefault((function, constants), len(self.primitives))
        results = [self._new(result.type, op) for result in op.results]
        self.calls.append(Call(kernel, arguments, _flat(results)))
        return results

    def _new(self, type: Attribute, op: Operation) -> _Value:
        """A new tensor, or a tuple of new ones."""
        if isinstance(type, TupleType):
            return tuple(self._new(field, op) for field in type.types)
        if not is_tensor(type):
            raise EvaluationError(op, f"has a value of type {type}, which a backend does not know")
        try:
            self.tensors.append(TensorType(tuple(type.get_shape()), element_dtype(type.element_type)))
        except VerifyException as error:
            raise EvaluationError(op, str(error)) from error
        return len(self.tensors) - 1


def _check_meanings(function: func.FuncOp) -> None:
    """Check that an op of the source that has no equal here is not left for the first call.

    Raises:
        EvaluationError: A primitive holds one.
    """
    for op in function.body.block.ops:
        if op.name.startswith(("stablehlo.", "chlo.")) and not is_shape_assertion(op):
            raise EvaluationError(op, "has no meaning that a backend could run")


def _flat(values: Sequence[_Value]) -> tuple[int, ...]:
    """The tensors in the values, in order."""
    numbers: list[int] = []
    stack = list(values)[::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(reversed(value))
        else:
            numbers.append(value)
    return tuple(numbers)


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
