"""Running a function step by step, each result in memory of its own: for sizes that are known only while it runs."""

from collections.abc import Mapping, Sequence
from ctypes import addressof, c_int64
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from fuse_dialect.backends.backend import symbols_of
from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.driver import ROW, native_driver
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, Shape
from fuse_dialect.backends.runtime.executable import own_arrays
from fuse_dialect.backends.runtime.plan import How
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.shapes import bind_sizes, result_shapes
from fuse_dialect.dialect.op import Array


@dataclass(eq=False, slots=True)
class StepTimes:
    """What is noted of one run."""

    seconds: dict[int, float] = field(default_factory=dict[int, float])
    """Of all calls of each primitive."""
    shapes: dict[int, Shape] = field(default_factory=dict[int, Shape])
    """Sizes of each tensor."""


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
        FuseError: NumPy rejects the values.
    """
    values = dict(zip(graph.inputs, inputs, strict=True))
    values.update((tensor, constants.dense(tensor)) for tensor in graph.constants)
    last = {tensor: step for step, call in enumerate(graph.calls) for tensor in call.arguments}
    kept = {*graph.outputs}
    for step, call in enumerate(graph.calls):
        start = perf_counter()
        results = _results(graph, call, primitives[call.kernel], constants, values)
        if times is not None:
            times.seconds[call.kernel] = times.seconds.get(call.kernel, 0.0) + perf_counter() - start
            times.shapes.update((tensor, values[tensor].shape) for tensor in call.arguments)
            times.shapes.update((tensor, result.shape) for tensor, result in zip(call.results, results, strict=True))
        values.update(zip(call.results, results, strict=True))
        for tensor in dict.fromkeys(call.arguments):
            if last[tensor] == step and tensor not in kept:
                values.pop(tensor, None)
    given = [*inputs, *(values[tensor] for tensor in graph.constants if tensor in values)]
    return own_arrays([values[tensor] for tensor in graph.outputs], given)


def _results(
    graph: EntryGraph, call: Call, compiled: Compiled, constants: Constants, values: Mapping[int, Array]
) -> list[Array]:
    """The results of a call as dense arrays; that of a view shows its operand's memory."""
    arguments = [values[tensor] for tensor in call.arguments]
    if compiled.how is How.NATIVE:
        results = _run_native(graph, call, compiled, constants, arguments)
        if results is not None:
            return results
    results = compiled.evaluate(arguments)
    return results if compiled.how is How.VIEW else own_arrays(results, arguments)


def _run_native(
    graph: EntryGraph, call: Call, compiled: Compiled, constants: Constants, arguments: Sequence[Array]
) -> list[Array] | None:
    """What the kernel gives, or `None` if it is not for arguments of these sizes."""
    kernel, program = compiled.kernel, compiled.program
    assert kernel is not None, "a native primitive has a kernel"
    assert program is not None, "a native primitive has loops"
    sizes = bind_sizes(program, [array.shape for array in arguments])
    if sizes is None:
        return None
    read = list(arguments)
    for position, packing in kernel.packings.items():
        read[position] = constants.packed(call.arguments[position], packing)
    dtypes = [graph.tensors[tensor].dtype for tensor in call.results]
    shapes = result_shapes(program, sizes)
    compiled.check_sizes(shapes, dtypes)
    compiled.check_workspace()
    results = [np.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    workspace = aligned_bytes(kernel.workspace_bytes)
    addresses = [address_of(array) for array in (*read, *results, workspace)]
    slots = (c_int64 * (len(addresses) + len(sizes)))(*addresses, *(sizes[symbol] for symbol in symbols_of(program)))
    row = (c_int64 * ROW)(kernel.address, addressof(slots), 0)
    native_driver().drive(addressof(row), 1)
    return results
