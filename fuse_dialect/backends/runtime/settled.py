"""What the sizes of the inputs settle, so that it is done when a plan is made and not in a call.

1. A value is *settled* if it follows from sizes alone: it is a small constant, or made of settled values, or of the
   sizes of others by `shape_of`. A call all of whose results are settled is run by NumPy, once a plan.
2. Only values of rank 0 and 1 are settled, for a plan keeps them: what is made of two positions has as many elements as
   pairs.
3. A `dyn_reshape` to a settled shape is a view.
4. An op that only moves elements, by settled numbers if it has some, is a move; see `moves`.
5. Other ops whose numbers are settled have results of known sizes, so that the plan can go on behind them.

Calls inside loops and branches stay as they are: their numbers may change from one iteration to the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation

from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, How
from fuse_dialect.backends.runtime.moves import Movement, move_kernel, movement, moves_elements
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.size_arithmetic import sizes_of_results, static_shapes
from fuse_dialect.backends.runtime.strided import Strided
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynReshapeOp, ShapeOfOp

MOST_ELEMENTS = 4096
"""Of a constant that counts as settled."""


def settle(graph: EntryGraph, compiled: Sequence[Compiled]) -> tuple[EntryGraph, list[Compiled]]:
    """The function with calls marked that a plan settles, and what runs its primitives.

    Args:
        graph: The function; some size of its arguments is open.
        compiled: What runs its primitives.

    Complexity: linear in the number of calls and arguments.
    """
    settling = _Settling(graph, list(compiled))
    calls = [settling.call(call) for call in graph.calls]
    primitives = [*graph.primitives, *(each.primitive for each in settling.compiled[len(compiled) :])]
    return replace(graph, calls=calls, primitives=primitives), settling.compiled


@dataclass(eq=False, slots=True)
class _Settling:
    graph: EntryGraph
    compiled: list[Compiled]
    settled: set[int] = field(init=False)
    marked: dict[tuple[int, How], int] = field(default_factory=dict[tuple[int, How], int])
    """Numbers of primitives that are run another way in some calls."""

    def __post_init__(self) -> None:
        constants = self.graph.constants.items()
        self.settled = {
            tensor for tensor, array in constants if array.ndim < 2 and array.size <= MOST_ELEMENTS
        }  # condition 1

    def call(self, call: Call) -> Call:
        """The call, of another primitive where it is run another way."""
        how = self._how(call)
        if how is None:
            return call
        if how is How.SETTLED:
            self.settled.update(call.results)
        key = call.kernel, how
        if key not in self.marked:
            self.marked[key] = len(self.compiled)
            own = self.compiled[call.kernel]
            kernel = move_kernel() if how is How.MOVE else None
            sized_by = self._sized_by(call, how)
            self.compiled.append(
                Compiled(own.primitive, None, kernel, own.reason, own.limits, settled=how, sized_by=sized_by)
            )
        return replace(call, kernel=self.marked[key])

    def _how(self, call: Call) -> How | None:
        own = self.compiled[call.kernel]
        if call.control is not None:
            return None
        block = own.primitive.function.body.block
        if len(block.args) != len(call.arguments):
            return None  # tuples
        if self._is_settled(call, block):
            return How.SETTLED
        op = own.only_op
        if op is None or own.how is not How.NUMPY or not self._has_numbers(call, op):
            return None
        if isinstance(op, DynReshapeOp) and op.input is block.args[0]:
            return How.VIEW
        return How.MOVE if moves_elements(op) else How.NUMPY

    def _sized_by(self, call: Call, how: How) -> tuple[int, ...]:
        """Which arguments have elements that say sizes."""
        own = self.compiled[call.kernel]
        if how is How.SETTLED:
            arguments = own.primitive.function.body.block.args
            return tuple(place for place, argument in enumerate(arguments) if not _is_sized_alone(argument))
        op = own.only_op
        return tuple(number_places(op)) if isinstance(op, DynamicOp) else ()

    def _is_settled(self, call: Call, block: Block) -> bool:
        """Condition 1 and 2."""
        if any(len(self.graph.tensors[tensor].shape) > 1 for tensor in call.results):
            return False
        return all(
            tensor in self.settled or _is_sized_alone(argument)
            for tensor, argument in zip(call.arguments, block.args, strict=True)
        )

    def _has_numbers(self, call: Call, op: FuseOp) -> bool:
        if not isinstance(op, DynamicOp):
            return True
        return all(call.arguments[place] in self.settled for place in number_places(op))


def _is_sized_alone(argument: BlockArgument) -> bool:
    return all(isinstance(use.operation, ShapeOfOp) for use in argument.uses)


def number_places(op: DynamicOp) -> list[int]:
    """Which arguments of a primitive of one op hold its numbers."""
    return [_place(op, number) for number in op.NUMBERS]


def _place(op: Operation, operand: int) -> int:
    """Which argument of the primitive an operand is."""
    argument = op.operands[operand]
    assert isinstance(argument, BlockArgument), "the op stands alone"
    return argument.index


def stand_in(type: TensorType, shape: Shape) -> Array:
    """An array of these sizes that takes no memory, of whose elements none counts."""
    return np.broadcast_to(np.zeros((), type.dtype), shape)


def settled_movement(
    op: FuseOp, types: Sequence[TensorType], shapes: Sequence[Sequence[int]], values: Sequence[Array | None]
) -> Movement | None:
    """What a move does.

    Args:
        op: The only op of a primitive, that of a move.
        types: Those of the arguments of the call.
        shapes: Their sizes.
        values: The elements of arguments that hold numbers, which are traced or not.

    Raises:
        VerifyException, ValueError, UntraceableError: As `movement` does.
    """
    places = [_place(op, number) for number in range(len(op.operands))]
    operands = [Strided.dense(shapes[place], types[place].dtype.itemsize) for place in places]
    numbers: dict[int, Sequence[int]] = {}
    for number in op.NUMBERS if isinstance(op, DynamicOp) else ():
        value = values[places[number]]
        assert value is not None, "a move has settled numbers"
        numbers[number] = value.reshape(-1).tolist()
    return movement(op, operands, numbers, places, len(types))


def inferred_shapes(op: FuseOp, arguments: Sequence[Array]) -> list[Shape] | None:
    """The sizes of the results (5); `None` if elements say them that are not known.

    Args:
        op: The only op of a primitive.
        arguments: Those of the call; the elements of numbers are right.

    Raises:
        VerifyException: The op rejects shapes or numbers.
    """
    operands = [arguments[_place(op, number)] for number in range(len(op.operands))]
    if not isinstance(op, DynamicOp):
        return sizes_of_results(op, [operand.shape for operand in operands])
    form, _ = op.form_for(operands)
    return static_shapes(form.result_types)
