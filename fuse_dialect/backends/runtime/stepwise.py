"""Running a function step by step, each result in memory of its own: for sizes that are known only while it runs.

Loops and branches whose steps are not all native are run by Python, too, with the kernels that they have inside.
"""

from collections.abc import Mapping, Sequence
from ctypes import addressof, c_int64
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes, own_arrays
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.driver import CONTROL, ROW, native_driver
from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop
from fuse_dialect.backends.runtime.primitives import Compiled, as_fuse_error
from fuse_dialect.backends.types import Shape
from fuse_dialect.budget import Budget
from fuse_dialect.checked import checks_accesses
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp
from fuse_dialect.interpreters.numpy import TOO_LONG, TOO_LONG_HINT
from fuse_dialect.interpreters.regions import Yielded, is_first, is_true, run_loop
from fuse_dialect.interpreters.values import EvaluationError, Value, flatten


@dataclass(eq=False, slots=True)
class StepTimes:
    """What is noted of one run."""

    seconds: dict[int, float] = field(default_factory=dict[int, float])
    """Of all calls of each primitive, without those inside them."""
    calls: dict[int, int] = field(default_factory=dict[int, int])
    """How often each primitive was called."""
    shapes: dict[int, Shape] = field(default_factory=dict[int, Shape])
    """Sizes of each tensor."""
    events: list[tuple[int, float, float]] = field(default_factory=list[tuple[int, float, float]])
    """Of each call its primitive, when it began, and its seconds with all inside it, in the order in which they end."""


def run_stepwise(
    graph: EntryGraph,
    primitives: Sequence[Compiled],
    constants: Constants,
    inputs: Sequence[Array],
    times: StepTimes | None = None,
) -> list[Array]:
    """The outputs: arrays of their own, on one thread.

    A kernel that is not for the sizes that its arguments turn out to have is replaced by its NumPy meaning.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        constants: Their elements.
        inputs: As the types say.
        times: Gets the time of each call and the sizes of all tensors.

    Raises:
        FuseError: NumPy rejects the values, or a loop runs too often.
    """
    values = dict(zip(graph.inputs, inputs, strict=True))
    steps = _Steps(graph, primitives, constants, times)
    # Later steps overwrite earlier ones, so that the last reader stays.
    last = {tensor: step for step, call in enumerate(graph.calls) for tensor in call.arguments}
    kept = {*graph.outputs}
    for step, call in enumerate(graph.calls):
        steps.run([call], values)
        # A call may read a tensor twice, which can go only once.
        for tensor in dict.fromkeys(call.arguments):
            if last[tensor] == step and tensor not in kept:
                values.pop(tensor, None)
    outputs = [steps.value(values, tensor) for tensor in graph.outputs]
    given = [*inputs, *(constants.dense(tensor) for tensor in graph.outputs if tensor in graph.constants)]
    return own_arrays(outputs, given)


def run_calls(
    graph: EntryGraph,
    primitives: Sequence[Compiled],
    constants: Constants,
    calls: Sequence[Call],
    values: dict[int, Array],
) -> None:
    """Run some calls of a function, and add their results to the values.

    Args:
        graph: The function.
        primitives: What runs its primitives.
        constants: Their elements.
        calls: Calls of it, in order.
        values: What they read, by tensor.

    Raises:
        FuseError: As for `run_stepwise`.
    """
    _Steps(graph, primitives, constants).run(calls, values)


def run_control(
    graph: EntryGraph, call: Call, primitives: Sequence[Compiled], constants: Constants, arguments: Sequence[Array]
) -> list[Array]:
    """The results of a loop or a branch, whose kernels are used and whose other steps NumPy runs.

    Args:
        graph: The function.
        call: A call with `control`.
        primitives: What runs the function's primitives.
        constants: Their elements.
        arguments: Those of the call; they are dense.

    Raises:
        FuseError: As for `run_stepwise`.
    """
    values = dict(zip(call.arguments, arguments, strict=True))
    return _Steps(graph, primitives, constants).control(call, values)


class _Steps:
    """One run."""

    def __init__(
        self,
        graph: EntryGraph,
        primitives: Sequence[Compiled],
        constants: Constants,
        times: StepTimes | None = None,
    ):
        self.graph, self.primitives, self.constants, self.times = graph, primitives, constants, times
        self.budget = Budget(primitives[0].limits.ops if primitives else 0, 0)
        self.inside = 0.0
        """Seconds of calls inside the one that runs."""

    def value(self, values: Mapping[int, Array], tensor: int) -> Array:
        """A dense array."""
        return values[tensor] if tensor in values else self.constants.dense(tensor)

    def run(self, calls: Sequence[Call], values: dict[int, Array]) -> None:
        """Run calls in order, and add their results to the values."""
        for call in calls:
            start, before = perf_counter(), self.inside
            self.inside = 0.0
            # Calls inside this one note their own time, which is not counted twice.
            results = self._results(call, values)
            taken = perf_counter() - start
            if self.times is not None:
                self._note(self.times, call, taken - self.inside, values, results)
                self.times.events.append((call.kernel, start, taken))
            self.inside = before + taken
            values.update(zip(call.results, results, strict=False))  # by its meaning, a call has no scratch

    def _note(
        self, times: StepTimes, call: Call, seconds: float, values: Mapping[int, Array], results: Sequence[Array]
    ) -> None:
        times.seconds[call.kernel] = times.seconds.get(call.kernel, 0.0) + seconds
        times.calls[call.kernel] = times.calls.get(call.kernel, 0) + 1
        times.shapes.update((tensor, self.value(values, tensor).shape) for tensor in call.arguments)
        times.shapes.update((tensor, result.shape) for tensor, result in zip(call.results, results, strict=False))

    def _results(self, call: Call, values: Mapping[int, Array]) -> list[Array]:
        """The results of a call as dense arrays; that of a view shows its operand's memory."""
        compiled = self.primitives[call.kernel]
        if compiled.how in (How.CONTROL, How.MIXED):
            return self.control(call, values)
        arguments = [self.value(values, tensor) for tensor in call.arguments]
        if compiled.how is How.NATIVE:
            results = self._run_native(call, compiled, arguments)
            if results is not None:
                return results
        results = compiled.evaluate(arguments)
        # NumPy may return a view of an argument, whose memory a kernel or a caller may write; only a view may stay one.
        return results if compiled.how is How.VIEW else own_arrays(results, arguments)

    def control(self, call: Call, values: Mapping[int, Array]) -> list[Array]:
        """The results of a loop or a branch; what its regions see is among the arguments of its call."""
        compiled = self.primitives[call.kernel]
        outer = {tensor: values[tensor] for tensor in call.arguments if tensor in values}
        try:
            match call.control, compiled.op:
                case Loop() as loop, LoopOp() as op:
                    results = self._loop(loop, op, outer, compiled.limits.value_bytes)
                case Branch() as branch, IfOp() as op:
                    results = self._branch(branch, op, outer)
                case _:
                    raise AssertionError("only loops and branches are control")
        except InterpretationError as error:
            raise as_fuse_error(error) from error
        return own_arrays(flatten(results), list(outer.values()))

    def _loop(self, loop: Loop, op: LoopOp, outer: dict[int, Array], most_bytes: int) -> Sequence[Value]:
        given = [tensor for tensor in (loop.limit, loop.condition) if tensor is not None]
        operands = [self.value(outer, tensor) for tensor in (*given, *loop.initial, *loop.rows)]
        arguments = (loop.counter, *loop.states, *loop.elements)

        def run_body(block_arguments: Sequence[Value]) -> Yielded:
            if not is_first(block_arguments) and not self.budget.take(ops=loop.ops):
                raise EvaluationError(op, TOO_LONG, TOO_LONG_HINT)
            # Each turn has values of its own: what a body computes is not seen by the next one.
            inner = {**outer, **dict(zip(arguments, flatten(block_arguments), strict=True))}
            if loop.number is not None:
                inner[loop.number] = inner[loop.counter]
            self.run(loop.calls, inner)
            values = [self.value(inner, tensor) for tensor in (*loop.following, *loop.stacked)]
            return (None if loop.goes_on is None else self.value(inner, loop.goes_on)), values

        return run_loop(op, operands, run_body, most_bytes)

    def _branch(self, branch: Branch, op: IfOp, outer: dict[int, Array]) -> Sequence[Value]:
        place = 0 if is_true(op, self.value(outer, branch.condition)) else 1
        # What the other region would have computed does not exist: only what is yielded leaves a region.
        inner = dict(outer)
        self.run(branch.calls[place], inner)
        return [self.value(inner, tensor) for tensor in branch.yielded[place]]

    def _run_native(self, call: Call, compiled: Compiled, arguments: Sequence[Array]) -> list[Array] | None:
        """What the kernel gives, or `None` if it is not for arguments of these sizes or finds a fault."""
        kernel = compiled.kernel
        assert kernel is not None, "a native primitive has a kernel"
        dtypes = [self.graph.tensors[tensor].dtype for tensor in call.results]
        found = compiled.call_of([array.shape for array in arguments], dtypes)
        if found is None:
            return None
        read = list(arguments)
        for position, packing in kernel.packings.items():
            read[position] = self.constants.packed(call.arguments[position], packing)
        results = [np.empty(shape, dtype) for shape, dtype in zip(found.results, dtypes, strict=True)]
        workspace = aligned_bytes(kernel.workspace_bytes)
        addresses = [address_of(array) for array in (*read, *results, workspace)]
        # One row of one part, with the words in the order in which an `Executable` lays them out.
        slots = (c_int64 * (len(addresses) + len(found.named)))(*addresses, *found.named)
        row = (c_int64 * ROW)(kernel.checked or kernel.address, addressof(slots), CONTROL if kernel.checked else 0)
        reached = native_driver().drive(addressof(row), 0, 1)
        if checks_accesses():
            from fuse_dialect.backends.checking.violations import raise_violations

            raise_violations()
        # A fault is what the meaning of the ops has words for.
        return results if reached == 1 else None
