"""Sizes of all tensors from those of the inputs, before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.settled import (
    inferred_shapes,
    number_places,
    only_op,
    settled_movement,
    stand_in,
)
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.loops.program import LoopProgram, Role


@dataclass(eq=False, slots=True)
class Resolved:
    """What is known before anything runs."""

    shapes: list[Shape]
    """Sizes of each tensor."""
    values: dict[int, Array] = field(default_factory=dict[int, Array])
    """Settled values, dense and read-only, by tensor."""
    moves: dict[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """The record of each move, by its first result."""


def resolve_shapes(
    graph: EntryGraph,
    primitives: Sequence[Compiled],
    input_shapes: Sequence[Shape],
) -> Resolved | None:
    """The sizes of each tensor and what they settle, or `None` when some are known only while the function runs.

    Args:
        graph: The function.
        primitives: What runs each primitive.
        input_shapes: Sizes of the inputs; they fit the function's types.

    Raises:
        FuseError: A tensor takes more bytes than a value may, or a view has another number of elements than what it
            shows; nothing that the function makes has been made by then.
    """
    shapes = [type.shape for type in graph.tensors]
    for tensor, shape in zip(graph.inputs, input_shapes, strict=True):
        shapes[tensor] = shape
    found = Resolved(shapes)
    return found if _Resolving(graph, primitives, found).calls(graph.calls) else None


@dataclass(frozen=True, slots=True)
class _Resolving:
    graph: EntryGraph
    primitives: Sequence[Compiled]
    found: Resolved

    @property
    def shapes(self) -> list[Shape]:
        """Sizes of each tensor."""
        return self.found.shapes

    def calls(self, calls: Sequence[Call]) -> bool:
        """Find the sizes of all results; whether they are known."""
        return all(self._call(call) for call in calls)

    def _call(self, call: Call) -> bool:
        compiled = self.primitives[call.kernel]
        types = [self.graph.tensors[tensor] for tensor in call.results]
        if compiled.how is How.CONTROL:
            assert call.control is not None, "only loops and branches are control"
            found = self._loop(call.control) if isinstance(call.control, Loop) else self._branch(call.control)
        else:
            found = self._result_shapes(call, compiled, types)
        if found is None:
            return False
        compiled.check_sizes(found, [type.dtype for type in types])
        compiled.check_workspace()
        if compiled.how is How.NATIVE and compiled.program is not None:
            arguments = self._of(call.arguments)
            compiled.check_steps(arguments, bind_sizes(compiled.program, arguments) or {})
        for tensor, shape in zip(call.results, found, strict=True):
            self.shapes[tensor] = shape
        return True

    def _of(self, tensors: Sequence[int]) -> list[Shape]:
        return [self.shapes[tensor] for tensor in tensors]

    def _result_shapes(self, call: Call, compiled: Compiled, types: Sequence[TensorType]) -> Sequence[Shape] | None:
        arguments = self._of(call.arguments)
        match compiled.how:
            case How.NATIVE:
                assert compiled.program is not None, "a native primitive has loops"
                sizes = bind_sizes(compiled.program, arguments)
                return None if sizes is None else result_shapes(compiled.program, sizes)
            case How.VIEW if len(arguments) == 1:
                return [compiled.view_shape(arguments[0])]
            case How.VIEW:
                return [result.shape for result in compiled.evaluate(self._arrays(call))]
            case How.SETTLED:
                return self._settle(call, compiled)
            case How.NUMPY | How.MIXED | How.CONTROL if all(type.is_static for type in types):
                return [type.shape for type in types]
            case How.NUMPY | How.MOVE:
                return self._inferred(call, compiled)
            case How.MIXED | How.CONTROL:
                return None

    def _settle(self, call: Call, compiled: Compiled) -> list[Shape]:
        results = [np.array(result, order="C") for result in compiled.evaluate(self._arrays(call))]
        for tensor, result in zip(call.results, results, strict=True):
            result.flags.writeable = False
            self.found.values[tensor] = result
        return [result.shape for result in results]

    def _inferred(self, call: Call, compiled: Compiled) -> Sequence[Shape] | None:
        """The sizes of what one op gives, and the record of a move; `None` if only the op knows, or it has rejected."""
        op = only_op(compiled.primitive.function)
        if op is None or not self._has_numbers(op, call):
            return None
        arrays = self._arrays(call)
        try:
            if compiled.how is How.NUMPY:
                return inferred_shapes(op, arrays)
            moved = settled_movement(op, arrays)
        except VerifyException:
            return None
        if moved is None:
            return None
        self.found.moves[call.results[0]] = moved.words
        return moved.results

    def _has_numbers(self, op: FuseOp, call: Call) -> bool:
        """Whether the elements are known that say sizes."""
        if not isinstance(op, DynamicOp):
            return not op.SIZED_BY_ELEMENTS
        return all(self._value(call.arguments[place]) is not None for place in number_places(op))

    def _value(self, tensor: int) -> Array | None:
        found = self.found.values.get(tensor)
        return self.graph.constants.get(tensor) if found is None else found

    def _arrays(self, call: Call) -> list[Array]:
        """The arguments of a call, whose elements count where they are settled."""
        arrays: list[Array] = []
        for tensor in call.arguments:
            value = self._value(tensor)
            arrays.append(stand_in(self.graph.tensors[tensor], self.shapes[tensor]) if value is None else value)
        return arrays

    def _loop(self, loop: Loop) -> list[Shape] | None:
        """The sizes of a loop's results; `None` if they depend on how often it runs, or change on the way."""
        initial, rows = self._of(loop.initial), self._of(loop.rows)
        for tensor, shape in zip(loop.states, initial, strict=True):
            self.shapes[tensor] = shape
        for tensor, shape in zip(loop.elements, rows, strict=True):
            self.shapes[tensor] = shape[1:]
        if not self.calls(loop.calls) or self._of(loop.following) != initial:
            return None
        count = iterations(self.graph, loop, self.shapes, self.found.values)
        if len({shape[0] for shape in rows}) > 1 or (count is None and loop.stacked):
            return None
        return [*initial, *((count or 0, *shape) for shape in self._of(loop.stacked))]

    def _branch(self, branch: Branch) -> list[Shape] | None:
        if not all(self.calls(calls) for calls in branch.calls):
            return None
        then, otherwise = (self._of(yielded) for yielded in branch.yielded)
        return then if then == otherwise else None


def iterations(
    graph: EntryGraph, loop: Loop, shapes: Sequence[Shape], values: Mapping[int, Array] | None = None
) -> int | None:
    """How often a loop runs, if that is known before it does.

    Args:
        graph: The function.
        loop: One of its loops.
        shapes: Sizes of its tensors.
        values: What is settled.
    """
    if loop.goes_on is not None or loop.condition is not None:
        return None
    counts = [shapes[tensor][0] for tensor in loop.rows]
    if loop.limit is not None:
        limit = (values or {}).get(loop.limit, graph.constants.get(loop.limit))
        if limit is None:
            return None
        counts.append(max(0, int(limit.reshape(()))))
    return min(counts)


def bind_sizes(program: LoopProgram, arguments: Sequence[Shape]) -> Mapping[str, int] | None:
    """The values of a program's symbolic sizes, or `None` when the arrays are not for this program.

    They are not where a name stands for two sizes, or a size differs from the known one: one operand is broadcast
    along an axis whose size the type does not say, for example.
    """
    sizes: dict[str, int] = {}
    buffers = [buffer for buffer in program.buffers if buffer.role is Role.ARGUMENT]
    for buffer, shape in zip(buffers, arguments, strict=True):
        for size, actual in zip(buffer.shape, shape, strict=True):
            if (sizes.setdefault(size, actual) if isinstance(size, str) else size) != actual:
                return None
    return sizes if all(_is_bound(sizes, buffer.shape) for buffer in program.buffers) else None


def _is_bound(sizes: Mapping[str, int], shape: Sequence[int | str]) -> bool:
    return all(isinstance(size, int) or size in sizes for size in shape)


def result_shapes(program: LoopProgram, sizes: Mapping[str, int]) -> list[Shape]:
    """The sizes of the program's results."""
    return [
        tuple(sizes[size] if isinstance(size, str) else size for size in buffer.shape)
        for buffer in program.buffers
        if buffer.role is Role.RESULT
    ]
