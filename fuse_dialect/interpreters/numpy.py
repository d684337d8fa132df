"""Runs a module on NumPy arrays by asking each op for its meaning: the reference that every other way of running obeys.

1. A value is an array of exactly the element type that the IR says, of a shape that fits the type; a tuple value is a
   Python tuple. Both are checked after every op, so a wrong shape rule shows at the op that has it.
2. `run_module` walks the ops of a function and drops a value after its last use. Regions see the values around them.
3. `numpy_functions` is the same meaning for xDSL's own `Interpreter`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import MOST_VALUE_BYTES, SIZE_HINT, Budget, Limits
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.dialect.shape_assertion import is_shape_assertion, violation
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.interpreters.constants import evaluate_constant
from fuse_dialect.interpreters.entry import bind_inputs, check_has_body, function_named, functions_of
from fuse_dialect.interpreters.foreign.meaning import Surroundings
from fuse_dialect.interpreters.foreign.table import foreign_results
from fuse_dialect.interpreters.loop_costs import LoopCosts
from fuse_dialect.interpreters.regions import Yielded, is_first, is_true, run_loop, yielded
from fuse_dialect.interpreters.sizes import FittingShapes, TooLargeError, check_value, evaluate_within
from fuse_dialect.interpreters.values import EvaluationError, Value, flatten, mismatch, separate

MAX_CALL_DEPTH = 128
"""Calls within calls; a program that needs more calls itself without end."""
TOO_LONG = "runs too long: no more ops may be run"
TOO_LONG_HINT = "max_ops= raises the limit; a loop whose condition stays true has no end"


_LIMITS = Limits()
Instead = Callable[[Sequence[Array]], Sequence[Array]]
"""What runs in the place of a function: from its arguments to its results."""


def run_module(
    module: ModuleOp,
    inputs: Sequence[Array] | Mapping[str, Array],
    entry: str = "main",
    *,
    limits: Limits = _LIMITS,
    instead: Mapping[str, Instead] | None = None,
) -> list[Array]:
    """Run one function of a module.

    Args:
        module: A verified module.
        inputs: Arguments in order, or by name: that in the model, that in the IR, `arg<position>`, or `arr_<position>`
            as `numpy.savez` calls arrays without a name.
        entry: Name of the function.
        limits: How many ops calls and loops may run, over and above the first run of each function, and how large a
            value may be whose size is known only then.
        instead: What runs in the place of functions of these names.

    Returns:
        The function's results in order; a result that is a tuple gives its fields, in order. Each is a writable array
        whose memory no input, constant or other result shows.

    Raises:
        InterpretationError: The entry or an input is missing or of another type, or an op cannot be run; then it is an
            `EvaluationError`, which knows the op.
    """
    function = function_named(module, entry)
    arrays = bind_inputs(function, inputs)
    return separate(flatten(Runner(module, limits, instead=instead).call(function, arrays)), arrays, limits.value_bytes)


def evaluate(
    op: FuseOp,
    operands: Sequence[Value],
    most_bytes: int = MOST_VALUE_BYTES,
    fitting: FittingShapes | None = None,
) -> tuple[Value, ...]:
    """The results of one op: its meaning, cast to the element types of the IR.

    Args:
        op: Any op without regions.
        operands: Its operands.
        most_bytes: Of a result whose type leaves a size open.
        fitting: Shapes of operands that are known to give no more; see `evaluate_within`.

    Raises:
        EvaluationError: The op rejects the operands, or its result does not fit the declared type.
    """
    try:
        with np.errstate(all="ignore"):
            values = evaluate_within(op, operands, most_bytes, fitting)
            results = tuple(_cast(value, result.type) for value, result in zip(values, op.results, strict=True))
    except TooLargeError as error:
        raise EvaluationError(op, f"cannot be run: {error}", SIZE_HINT) from error
    except (ValueError, TypeError, IndexError, ArithmeticError, VerifyException) as error:
        raise EvaluationError(op, f"cannot be run: {error}") from error
    except MemoryError as error:
        raise EvaluationError(op, "cannot be run: not enough memory for the result") from error
    _check_results(op, results)
    return results


def _cast(value: Any, type: Attribute) -> Value:
    if is_tensor(type):
        return np.asarray(value).astype(element_dtype(type.element_type), copy=False)
    return value


def _check_results(op: Operation, results: Sequence[Value]) -> None:
    for index, (value, result) in enumerate(zip(results, op.results, strict=True)):
        problem = mismatch(value, result.type)
        if problem is not None:
            raise EvaluationError(op, f"result {index} {problem}")


@dataclass(frozen=True, slots=True)
class _Step:
    """An op of a block, and the values of the block that nobody needs after it."""

    op: Operation
    dead: tuple[SSAValue, ...]


def _steps(block: Block) -> list[_Step]:
    """The block's ops in order, with the last uses; linear in the number of operands, those in regions included."""
    own = {*block.args, *(result for op in block.ops for result in op.results)}
    needed: set[SSAValue] = set()
    steps: list[_Step] = []
    for op in list(block.ops)[::-1]:
        reads = [*op.operands, *(value for inner in ops_inside(op) for value in inner.operands)]
        values = dict.fromkeys(value for value in (*reads, *op.results) if value in own)
        steps.append(_Step(op, tuple(value for value in values if value not in needed)))
        needed.update(reads)
    return steps[::-1]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What is known while a function runs: the values so far, and how deep it stands in calls and regions."""

    values: dict[SSAValue, Value]
    depth: int
    calls: Budget
    """What calls may still run."""
    loops: Budget
    """What loops may still run."""
    is_counted: bool = False
    """Whether an iteration that is counted runs: what it calls is among its ops."""
    indices: Sequence[Array] = ()
    """What `linalg.index` gives, by loop."""


def _is_end(op: Operation) -> bool:
    """Whether an op ends its block, and gives its operands to whoever ran it."""
    return isinstance(op, func.ReturnOp | YieldOp) or op.get_trait(IsTerminator) is not None


class Runner:
    """The functions of a module, planned when first called; several threads may call them."""

    def __init__(
        self,
        module: ModuleOp | Mapping[str, func.FuncOp],
        limits: Limits = _LIMITS,
        iteration_ops: Callable[[LoopOp], int] | None = None,
        instead: Mapping[str, Instead] | None = None,
    ):
        """Take over functions.

        Args:
            module: A verified module, or functions by name.
            limits: See `run_module`.
            iteration_ops: What an iteration of a loop counts; by default its ops as they are.
            instead: What runs in the place of functions of these names.
        """
        self._functions = functions_of(module) if isinstance(module, ModuleOp) else module
        self._limits = limits
        self._instead = instead or {}
        self._iteration_ops = LoopCosts(self._functions).iteration if iteration_ops is None else iteration_ops
        self._plans: dict[Block, list[_Step]] = {}
        self._fitting = FittingShapes()

    def call(self, function: func.FuncOp, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """Run a function; Python's stack grows with the depth of calls, never with the number of ops."""
        # One run of everything is in proportion to the module; for loops see `loop_costs`.
        calls, loops = Budget(self._limits.ops + self._op_count, 0), Budget(self._limits.ops, 0)
        return self._run(function, arguments, _Frame({}, 0, calls, loops))

    @cached_property
    def _op_count(self) -> int:
        return sum(1 for function in self._functions.values() for _ in ops_inside(function))

    def _run(self, function: func.FuncOp, arguments: Sequence[Value], frame: _Frame) -> tuple[Value, ...]:
        check_has_body(function)
        name = function.sym_name.data
        if frame.depth and not frame.is_counted and not frame.calls.take(ops=len(self._plan(function.body.block))):
            hint = "max_ops= raises the limit; functions that call functions twice may double at every level"
            raise EvaluationError(function, f"'@{name}' is called too often: no more ops may be run", hint)
        if name in self._instead:
            return self._replaced(function, self._instead[name], arguments)
        end, results = self._run_block(function.body.block, arguments, frame)
        if not isinstance(end, func.ReturnOp):
            raise EvaluationError(function, f"'@{name}' ends without 'func.return'")
        return tuple(results)

    def _replaced(self, function: func.FuncOp, instead: Instead, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """What somebody else says that a function gives; it has the types of the function's results."""
        types = function.function_type.outputs.data
        results = tuple(np.asarray(each) for each in instead(flatten(arguments)))
        if len(results) != len(types):
            what = f"expects {len(types)} results of what was run for '@{function.sym_name.data}', got {len(results)}"
            raise EvaluationError(function, what)
        for index, (value, type) in enumerate(zip(results, types, strict=True)):
            problem = mismatch(value, type)
            if problem is not None:
                what = f"result {index} of what was run for '@{function.sym_name.data}' {problem}"
                raise EvaluationError(function, what)
        return results

    def _plan(self, block: Block) -> list[_Step]:
        plan = self._plans.get(block)
        if plan is None:
            for op in block.ops:
                for result in () if isinstance(op, arith.ConstantOp) else op.results:
                    check_value(result, self._limits.value_bytes)
            plan = self._plans[block] = _steps(block)
        return plan

    def _run_block(
        self, block: Block, arguments: Sequence[Value], frame: _Frame
    ) -> tuple[Operation | None, list[Value]]:
        """Run a block; gives the op that ends it, and that op's operands."""
        values = frame.values
        values.update(zip(block.args, arguments, strict=True))
        for step in self._plan(block):
            op = step.op
            operands = [values[operand] for operand in op.operands]
            if op.next_op is None and _is_end(op):
                return op, operands
            for result, value in zip(op.results, self._results(op, operands, frame), strict=True):
                values[result] = value
            for value in step.dead:
                values.pop(value, None)
        return None, []

    def _results(self, op: Operation, operands: list[Value], frame: _Frame) -> tuple[Value, ...]:
        match op:
            case FuseOp():
                return evaluate(op, operands, self._limits.value_bytes, self._fitting)
            case arith.ConstantOp():
                return (evaluate_constant(op),)
            case func.CallOp():
                return self._call(op, operands, replace(frame, values={}, depth=frame.depth + 1))
            case LoopOp():
                run_body = partial(self._iteration, op, frame=frame)
                return run_loop(op, operands, run_body, self._limits.value_bytes)
            case IfOp():
                branch = op.then if is_true(op, operands[0]) else op.otherwise
                return tuple(self._region(op, branch, (), frame)[1])
            case _ if is_shape_assertion(op):
                if (problem := violation(op, operands)) is not None:
                    raise EvaluationError(op, f"fails: {problem}")
                return ()
            case _:
                run = partial(self._foreign_region, op, frame)
                around = Surroundings(frame.values, frame.indices, run, self._limits.value_bytes)
                return foreign_results(op, operands, around)

    def _iteration(self, op: LoopOp, arguments: Sequence[Value], frame: _Frame) -> Yielded:
        """What the body of a loop yields."""
        if is_first(arguments):
            return self._region(op, op.body, arguments, frame)
        if not frame.loops.take(ops=self._iteration_ops(op)):
            raise EvaluationError(op, TOO_LONG, TOO_LONG_HINT)
        return self._region(op, op.body, arguments, replace(frame, is_counted=True))

    def _region(self, op: Operation, region: Region, arguments: Sequence[Value], frame: _Frame) -> Yielded:
        """What a region of an op yields; Python's stack grows with the depth of regions."""
        if frame.depth > MAX_CALL_DEPTH:
            raise EvaluationError(op, f"exceeds {MAX_CALL_DEPTH} calls and regions within each other")
        end, values = self._run_block(region.block, arguments, replace(frame, depth=frame.depth + 1))
        if not isinstance(end, YieldOp):
            raise EvaluationError(op, "has a region that ends without 'fuse.yield'")
        return yielded(end, values)

    def _foreign_region(
        self,
        op: Operation,
        frame: _Frame,
        region: Region,
        arguments: Sequence[Value] = (),
        *,
        indices: Sequence[Array] | None = None,
        is_repeated: bool = False,
    ) -> Sequence[Value]:
        """What the end of a region of another dialect's op is given."""
        if frame.depth > MAX_CALL_DEPTH:
            raise EvaluationError(op, f"exceeds {MAX_CALL_DEPTH} calls and regions within each other")
        if is_repeated and not frame.loops.take(ops=len(self._plan(region.block))):
            raise EvaluationError(op, TOO_LONG, TOO_LONG_HINT)
        own = replace(frame, depth=frame.depth + 1, indices=frame.indices if indices is None else indices)
        return self._run_block(region.block, arguments, own)[1]

    def _call(self, op: func.CallOp, operands: list[Value], frame: _Frame) -> tuple[Value, ...]:
        if frame.depth > MAX_CALL_DEPTH:
            raise EvaluationError(op, f"exceeds {MAX_CALL_DEPTH} calls within calls")
        callee = self._functions.get(op.callee.string_value())
        if callee is None:
            raise EvaluationError(op, f"calls '@{op.callee.string_value()}', which is not in the module")
        return self._run(callee, operands, frame)
