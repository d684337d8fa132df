"""What the sizes of the inputs settle, so that it is done when a plan is made and not in a call.

1. A value is *settled* if it follows from sizes alone: it is a small constant, or made of settled values, or of the
   sizes of others by `shape_of`. A call all of whose results are settled is run by NumPy, once a plan.
2. Only values of rank 0 and 1, and small ones, are settled, for a plan keeps them: what is made of two positions has as
   many elements as pairs.
3. A `dyn_reshape` to a settled shape is a view.
4. An op that only moves elements, by settled numbers if it has some, is a move; see `moves`. One that counts elements
   runs natively if it stands outside of loops and branches; see `counting`.
5. Other ops whose numbers are settled have results of known sizes, so that the plan can go on behind them. Where they
   have loops, these are a kernel that is told the sizes.

6. In a loop that runs as often as sizes or an input say, the number of an iteration is settled, too: once for each of
   them. So are the sizes of states. What follows from these is computed by calls of its own, whose results only say
   sizes: kernels that read such numbers as elements keep the calls that compute them, if these have kernels, and read
   what is settled else. What is settled and needs nothing of the loop goes in front of it.
7. Other calls inside loops and branches stay as they are. So does a loop in which something is left to NumPy.
8. A loop that a condition ends has room for as many iterations as there may be. It counts them, and sizes of its
   results follow from the count, as behind an op that counts. That is so outside of other loops, where there is one.
9. Open lists that follow from sizes, positions for example, are computed by kernels or moves where these exist: their
   sizes are formulas then. They are settled, too, where something needs their elements as numbers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation

from fuse_dialect.backends.runtime.counting import SCRATCH, count_kernel
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, How, Loop, counts
from fuse_dialect.backends.runtime.moves import Movement, move_kernel, movement, moves_elements
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.size_arithmetic import sizes_of_results, static_shapes
from fuse_dialect.backends.runtime.strided import Strided
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynReshapeOp, ShapeOfOp

MOST_LATE = 16
"""Elements of a settled value that follows from a count, words of a frame; and of one of more axes (2)."""
MOST_ELEMENTS = 4096
"""Of a constant that counts as settled."""


def has_sizes_to_settle(graph: EntryGraph, compiled: Sequence[Compiled]) -> bool:
    """Whether types leave sizes open that `settle` may find."""
    if any(not graph.tensors[tensor].is_static for tensor in graph.inputs):
        return True
    if any(each.control is How.MIXED or each.counting_op is not None for each in compiled):
        return True
    loops = [call.control for call in graph.calls if isinstance(call.control, Loop)]
    return any(loop.ends_by_condition and loop.stacked for loop in loops)


def settle(graph: EntryGraph, compiled: Sequence[Compiled]) -> tuple[EntryGraph, list[Compiled]]:
    """The function with calls marked that a plan settles, and what runs its primitives.

    Args:
        graph: The function; `has_sizes_to_settle` says that some are open.
        compiled: What runs its primitives.

    Complexity: linear in the number of calls and arguments.
    """
    settling = _Settling(graph, list(compiled), list(graph.tensors))
    calls = settling.without_unread([each for call in graph.calls for each in settling.calls(call)])
    primitives = [*graph.primitives, *(each.primitive for each in settling.compiled[len(compiled) :])]
    return replace(graph, calls=calls, primitives=primitives, tensors=settling.tensors), settling.compiled


@dataclass(eq=False, slots=True)
class _Settling:
    graph: EntryGraph
    compiled: list[Compiled]
    tensors: list[TensorType]
    settled: set[int] = field(init=False)
    marked: dict[tuple[int, How], int] = field(default_factory=dict[tuple[int, How], int])
    """Numbers of primitives that are run another way in some calls."""
    inside: set[int] = field(default_factory=set[int])
    """Tensors of the loops around what is looked at."""
    late: set[int] = field(default_factory=set[int])
    """Tensors whose sizes or elements follow from what a call counts."""
    in_front: list[Call] = field(default_factory=list[Call])
    """What goes in front of them."""
    twins: dict[int, int] = field(default_factory=dict[int, int])
    """Settled tensors of the elements of others, which kernels compute (9)."""

    def __post_init__(self) -> None:
        constants = self.graph.constants.items()
        self.settled = {
            tensor for tensor, array in constants if array.ndim < 2 and array.size <= MOST_ELEMENTS
        }  # condition 1

    def calls(self, call: Call) -> list[Call]:
        """A call of the function, and what goes in front of it."""
        twin = self._twin(call)
        if twin is not None:
            return twin
        call = self.call(call)
        if counts(call, self.compiled[call.kernel].how) or not self.late.isdisjoint(call.arguments):
            self.late.update(call.results)
        front, self.in_front, self.inside = self.in_front, [], set()
        return [*front, call]

    def call(self, call: Call) -> Call:
        """The call, of another primitive where it is run another way."""
        if isinstance(call.control, Loop):
            return self._loop(call, call.control)
        if self.compiled[call.kernel].how is How.NUMPY and self.compiled[call.kernel].counting_op is not None:
            return self._marked(call, How.COUNT)
        asked = self._asked(call, self.twins)
        how = self._how(asked)
        if how is None:
            return call
        if how is How.SETTLED:
            self.settled.update(call.results)
            return self._marked(asked, how)
        return self._numbered(self._marked(asked, how), call)

    def _twin(self, call: Call) -> list[Call] | None:
        """The calls that settle open lists and compute them, too (9); `None` of another call."""
        if call.control is not None or all(self.tensors[tensor].is_static for tensor in call.results):
            return None
        asked = self._asked(call, self.twins)
        if self._how(asked) is not How.SETTLED:
            return None
        computed = self._moved(call, asked)
        if self.compiled[computed.kernel].how not in (How.NATIVE, How.MOVE):
            return None
        results = tuple([self._new(tensor) for tensor in call.results])
        self.inside = set()
        self.twins.update(zip(call.results, results, strict=True))
        return [self._marked(replace(asked, results=results), How.SETTLED), computed]

    def _asked(self, call: Call, sizes: Mapping[int, int]) -> Call:
        """The call with settled tensors in place of those that they have the elements of."""
        return replace(call, arguments=tuple([sizes.get(tensor, tensor) for tensor in call.arguments]))

    def without_unread(self, calls: Sequence[Call]) -> list[Call]:
        """The calls without those that settle what only kernels read (9); what gives nothing is a check of sizes."""
        read = {*self.graph.outputs}
        twins = {*self.twins.values()}
        kept: list[Call] = []
        for call in reversed(calls):
            if not call.results or not twins >= {*call.results} or not read.isdisjoint(call.results):
                kept.append(call)
                read.update(call.arguments)
        return kept[::-1]

    def _marked(self, call: Call, how: How) -> Call:
        """The call of the same primitive, run another way."""
        key = call.kernel, how
        if how is How.NATIVE and key not in self.marked:
            own = self.compiled[call.kernel].told
            assert own is not None, "the op has a kernel"
            self.marked[key] = len(self.compiled)
            self.compiled.append(own)
        if key not in self.marked:
            self.marked[key] = len(self.compiled)
            own = self.compiled[call.kernel]
            kernel, scratch = move_kernel() if how is How.MOVE else None, list[TensorType]()
            if how is How.COUNT:
                assert own.counting_op is not None, "the op counts"
                kernel, scratch = count_kernel(own.counting_op.op), [SCRATCH] * own.counting_op.has_scratch
            sized_by = self._sized_by(call, how)
            self.compiled.append(
                Compiled(
                    own.primitive,
                    None,
                    kernel,
                    own.reason,
                    own.limits,
                    settled=how,
                    sized_by=sized_by,
                    scratch=scratch,
                )
            )
        return self._with_scratch(replace(call, kernel=self.marked[key]))

    def _with_scratch(self, call: Call) -> Call:
        """The call with tensors for what only its own loops read."""
        scratch = self.compiled[call.kernel].scratch
        self.tensors += scratch
        first = len(self.tensors) - len(scratch)
        return replace(call, results=(*call.results, *range(first, len(self.tensors))))

    def _loop(self, call: Call, loop: Loop) -> Call:
        """The call of a loop whose sizes follow from the number of the iteration (6), or as it was."""
        own = self.compiled[call.kernel]
        has_reason = own.how in (How.MIXED, How.NUMPY) or any(map(self._is_moved, loop.calls))
        is_counted = loop.ends_by_condition
        if not has_reason and not (is_counted and loop.stacked):
            return call
        if is_counted and self.inside:
            return call  # (8) a count of each iteration around it
        before = len(self.compiled), len(self.tensors), len(self.in_front)
        self.inside.update(loop.tensors, (loop.counter,))
        number = self._new(loop.counter)
        calls, told = self._body(loop, number)
        if any(self.compiled[inner.kernel].how in (How.NUMPY, How.MIXED) for inner in calls):
            # (7) What was added for it goes again.
            del self.compiled[before[0] :], self.tensors[before[1] :], self.in_front[before[2] :]
            self.marked = {key: place for key, place in self.marked.items() if place < before[0]}
            self.settled = {tensor for tensor in self.settled if tensor < before[1]}
            return call
        self.compiled.append(Compiled(own.primitive, None, None, limits=own.limits, control=How.CONTROL))
        is_read = any(number in inner.arguments for inner in calls)
        front = [tensor for each in self.in_front[before[2] :] for tensor in each.results]
        front += [tensor for tensor in self.twins.values() if any(tensor in inner.arguments for inner in calls)]
        return replace(
            call,
            kernel=len(self.compiled) - 1,
            arguments=(*call.arguments, *front),
            control=replace(
                loop, calls=tuple(calls), number=number if is_read else None, told=told, is_counted=is_counted
            ),
        )

    def _body(self, loop: Loop, number: int) -> tuple[list[Call], tuple[int, ...]]:
        """The calls of a body, with those that compute sizes (6), and the sizes that kernels read."""
        sizes = {**self.twins, loop.counter: number}
        calls: list[Call] = []
        for inner in loop.calls:
            asked = self._asked(inner, sizes)
            how = None if inner.control is not None else self._how(asked)
            if how is How.SETTLED and self.inside.isdisjoint(asked.arguments):
                self.in_front.append(self._marked(asked, how))
                self.inside.difference_update(inner.results)
                self.settled.update(inner.results)
            elif how is How.SETTLED:
                results = tuple([self._new(tensor) for tensor in inner.results])
                sizes.update(zip(inner.results, results, strict=True))
                calls += [self._marked(replace(asked, results=results), how), self._moved(inner, asked)]
            elif how is None:
                calls.append(self.call(inner) if inner.control is not None else inner)
            else:
                calls.append(self._numbered(self._marked(asked, how), inner))
        # Of some only sizes are read, which other calls compute (6); others compute sizes that nobody reads.
        calls, told = self._told(_without_unread(calls, loop, sizes), loop, sizes)
        return _without_unread(calls, loop, sizes.values()), told

    def _moved(self, inner: Call, asked: Call) -> Call:
        """A call of a body whose results kernels may read, as a move if it is one and NumPy would run it."""
        own = self.compiled[inner.kernel]
        op = own.only_op
        if op is None or own.how is not How.NUMPY or not moves_elements(op) or not self._has_numbers(asked, op):
            return inner
        return self._numbered(self._marked(replace(asked, results=inner.results), How.MOVE), inner)

    def _numbered(self, marked: Call, inner: Call) -> Call:
        """The call of a body with its numbers as `marked` has them, and its other arguments as they were."""
        numbers = self.compiled[marked.kernel].sized_by
        arguments = [
            size if place in numbers else tensor
            for place, (size, tensor) in enumerate(zip(marked.arguments, inner.arguments, strict=True))
        ]
        return replace(marked, arguments=tuple(arguments))

    def _told(self, calls: Sequence[Call], loop: Loop, sizes: Mapping[int, int]) -> tuple[list[Call], tuple[int, ...]]:
        """The calls of a body that read a few settled integers where they would read what has no kernel (6)."""
        ends = {*loop.following, *loop.stacked, loop.goes_on}
        kept: list[Call] = []
        told: dict[int, int] = {}
        for call in calls:
            results = [tensor for tensor in call.results if tensor in sizes]
            has_kernel = self.compiled[call.kernel].how is not How.NUMPY
            if results and not has_kernel and ends.isdisjoint(results) and all(map(self._is_of_words, results)):
                told.update((tensor, sizes[tensor]) for tensor in results)
            else:
                kept.append(replace(call, arguments=tuple([told.get(tensor, tensor) for tensor in call.arguments])))
        return kept, tuple(told.values())

    def _new(self, tensor: int) -> int:
        """A settled tensor like another one."""
        self.tensors.append(self.tensors[tensor])
        self.settled.add(len(self.tensors) - 1)
        self.inside.add(len(self.tensors) - 1)
        return len(self.tensors) - 1

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
        if op is None or not (own.how is How.NUMPY or self._is_moved(call)) or not self._has_numbers(call, op):
            return None
        if isinstance(op, DynReshapeOp) and op.input is block.args[0]:
            return How.VIEW
        if own.told is not None:
            return How.NATIVE
        return How.MOVE if moves_elements(op) else How.NUMPY

    def _is_moved(self, call: Call) -> bool:
        """Whether a kernel only moves elements, and its sizes are no formulas: those of a slice; of a move they are."""
        own = self.compiled[call.kernel]
        return own.how is How.NATIVE and own.needs_results and own.only_op is not None and moves_elements(own.only_op)

    def _sized_by(self, call: Call, how: How) -> tuple[int, ...]:
        """Which arguments have elements that say sizes."""
        own = self.compiled[call.kernel]
        if how is How.SETTLED:
            arguments = own.primitive.function.body.block.args
            return tuple(place for place, argument in enumerate(arguments) if not _is_sized_alone(argument))
        if how is How.COUNT:
            return ()
        op = own.only_op
        return tuple(number_places(op)) if isinstance(op, DynamicOp) else ()

    def _is_settled(self, call: Call, block: Block) -> bool:
        """Condition 1 and 2."""
        if not all(map(self._is_kept, call.results)):
            return False
        if not self.late.isdisjoint(call.arguments) and not all(map(self._is_of_words, call.results)):
            return False  # a frame has words for integers of a known number
        return all(
            tensor in self.settled or _is_sized_alone(argument)
            for tensor, argument in zip(call.arguments, block.args, strict=True)
        )

    def _is_kept(self, tensor: int) -> bool:
        """Whether a plan may keep a value (2)."""
        type = self.tensors[tensor]
        return len(type.shape) <= 1 or (type.is_static and prod(type.shape) <= MOST_LATE)

    def _is_of_words(self, tensor: int) -> bool:
        type = self.tensors[tensor]
        return type.is_static and prod(type.shape) <= MOST_LATE and type.dtype == np.int64

    def _has_numbers(self, call: Call, op: FuseOp) -> bool:
        if not isinstance(op, DynamicOp):
            return True
        return all(call.arguments[place] in self.settled for place in number_places(op))


def _without_unread(calls: Sequence[Call], loop: Loop, some: Collection[int]) -> list[Call]:
    """The calls of a body without those that give nothing but some tensors, which nobody reads; checks stay."""
    read = {*loop.following, *loop.stacked, loop.goes_on}
    kept: list[Call] = []
    for call in reversed(calls):
        if not call.results or any(tensor not in some or tensor in read for tensor in call.results):
            kept.append(call)
            read.update(call.arguments)
    return kept[::-1]


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


def bound_sizes(
    compiled: Compiled, arguments: Sequence[Shape], values: Sequence[Array | None]
) -> Mapping[str, int] | None:
    """The sizes that the loops of a kernel have by name; `None` if it is not for arrays of these shapes.

    Args:
        compiled: What runs a call.
        arguments: Sizes of its arguments.
        values: Their elements, where they are settled: traced or not.

    Raises:
        VerifyException: Its op rejects the numbers.
    """
    op = compiled.only_op
    if not compiled.sized_by or not isinstance(op, DynamicOp):
        return compiled.bind(arguments)
    numbers = [value for place in compiled.sized_by if (value := values[place]) is not None]
    if len(numbers) < len(compiled.sized_by):
        return None
    data = [_place(op, operand) for operand in range(len(op.operands)) if operand not in op.NUMBERS]
    results = op.native_shapes([arguments[place] for place in data], numbers)
    return compiled.sizes.bind(arguments, [tuple(shape) for shape in results])


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
