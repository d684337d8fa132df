"""The NumPy meaning of modules for xDSL's own `Interpreter`: implementations of `fuse` ops, constants and calls."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImpl,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.interpreters.func import FuncFunctions

from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp
from fuse_dialect.interpreters.constants import evaluate_constant
from fuse_dialect.interpreters.entry import functions_of
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.regions import Yielded, is_true, run_loop
from fuse_dialect.interpreters.values import EvaluationError, Value


def _run_fuse_op(
    functions: InterpreterFunctions, interpreter: Interpreter, op: FuseOp, args: PythonValues
) -> PythonValues:
    return evaluate(op, args)


def _implementations(ops: Iterable[type[FuseOp]]) -> dict[str, OpImpl[InterpreterFunctions, Any]]:
    """One method per op class, as xDSL finds implementations; all of them ask the op."""
    annotate = cast("Callable[[type[FuseOp]], Callable[..., OpImpl[InterpreterFunctions, Any]]]", impl)
    return {op.__name__: annotate(op)(_run_fuse_op) for op in ops}


FuseFunctions: type[InterpreterFunctions] = register_impls(
    type("FuseFunctions", (InterpreterFunctions,), _implementations(ALL_OPS))
)
"""Implementations of all `fuse` ops for xDSL's `Interpreter`."""


@register_impls
class ConstantFunctions(InterpreterFunctions):
    """Constants: tensors become arrays, other values what xDSL's own implementation of their type makes of them."""

    @impl(arith.ConstantOp)
    def run_constant(self, interpreter: Interpreter, op: arith.ConstantOp, args: PythonValues) -> PythonValues:
        """The value of the attribute."""
        if isinstance(op.result.type, TensorType):
            return (evaluate_constant(op),)
        return (interpreter.value_for_attribute(op.value, op.result.type),)


@register_impls
class CallFunctions(FuncFunctions):
    """xDSL's implementation of functions, with calls found by name in constant time instead of a search."""

    @impl(func.CallOp)
    def run_call(self, interpreter: Interpreter, op: func.CallOp, args: PythonValues) -> PythonValues:
        """The results of the callee."""
        functions: dict[str, func.FuncOp] = interpreter.get_data(
            CallFunctions, "functions", lambda: functions_of(interpreter.module)
        )
        callee = functions.get(op.callee.string_value())
        if callee is None:
            raise EvaluationError(op, f"calls '@{op.callee.string_value()}', which is not in the module")
        return interpreter.call_op(callee, args)


@register_impls
class RegionFunctions(InterpreterFunctions):
    """Loops and branches; unlike `run_module`, xDSL's interpreter knows no limit."""

    @impl(LoopOp)
    def run_loop(self, interpreter: Interpreter, op: LoopOp, args: PythonValues) -> PythonValues:
        """The results of the loop."""
        condition = cast(YieldOp, op.body.block.last_op).condition

        def run_body(arguments: Sequence[Value]) -> Yielded:
            values = interpreter.run_ssacfg_region(op.body, tuple(arguments), "loop")
            return (None, values) if condition is None else (values[0], values[1:])

        return run_loop(op, args, run_body)

    @impl(IfOp)
    def run_if(self, interpreter: Interpreter, op: IfOp, args: PythonValues) -> PythonValues:
        """What the chosen region yields."""
        return interpreter.run_ssacfg_region(op.then if is_true(op, args[0]) else op.otherwise, (), "if")

    @impl_terminator(YieldOp)
    def run_yield(self, interpreter: Interpreter, op: YieldOp, args: PythonValues):
        """The operands."""
        return ReturnedValues(args), ()


def register_numpy(interpreter: Interpreter) -> None:
    """Teach xDSL's interpreter the `fuse` ops, tensor constants, and faster calls than its own."""
    for functions in (FuseFunctions(), ConstantFunctions(), CallFunctions(), RegionFunctions()):
        interpreter.register_implementations(functions, override=True)
