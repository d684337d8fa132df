"""Sizes of all tensors from those of the inputs, before anything runs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType

import numpy as np
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.runtime.control import ENDLESS
from fuse_dialect.backends.runtime.counting import Counting
from fuse_dialect.backends.runtime.entry_graph import Branch, Call, EntryGraph, How, Loop, counts
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.settled import bound_sizes, inferred_shapes, settled_movement, stand_in
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.dialect.op import Array

MOST_SEEN = 4096
"""Calls that are remembered."""
MOST_ITERATIONS = 4096
"""Of a loop whose sizes change; each of them is kept."""
MOST_COUNTED = 512
"""Iterations that a loop has room for which a condition ends, where nothing else says how many there are at most."""


@dataclass(frozen=True, slots=True)
class IterationSizes:
    """What the calls inside a loop have in each of its iterations, where that changes."""

    shapes: Sequence[Mapping[int, Shape]]
    """Sizes of each tensor of the body."""
    words: Sequence[Mapping[int, Sequence[int]]]
    """What each native call is told of sizes, by its first result."""
    told: Sequence[Mapping[int, Sequence[int]]]
    """Settled integers that kernels read, by tensor."""


@dataclass(eq=False, slots=True)
class Resolved:
    """What is known before anything runs."""

    shapes: list[Shape]
    """Sizes of each tensor."""
    bytes: list[int]
    """Of each tensor."""
    values: dict[int, Array] = field(default_factory=dict[int, Array])
    """Settled values, dense and read-only, by tensor."""
    words: dict[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """What each native call is told of sizes, by its first result: those by name, or the record of a move."""
    iterations: dict[int, IterationSizes] = field(default_factory=dict[int, IterationSizes])
    """Of loops whose sizes change, by their counter; the rest here is then what is largest, or comes last."""
    bounds: dict[int, "Bound"] = field(default_factory=dict[int, "Bound"])
    """Of loops that count their iterations, by their counter."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How often a loop may run that a condition ends."""

    iterations: int
    """There is room for so many."""
    ends_run: bool
    """Whether the loop might have gone on: a run that comes so far ends, and the function runs step by step."""

    @staticmethod
    def of(rows: int | None, limit: int | None) -> "Bound":
        """That of a loop.

        Args:
            rows: How many rows it takes; `None` if it takes none.
            limit: Its greatest number of iterations; `None` if there is none, or it is not known.
        """
        if rows is not None:
            return Bound(rows if limit is None or rows <= limit else _positive(limit), ends_run=False)
        if limit is not None and limit <= MOST_ITERATIONS:
            return Bound(_positive(limit), ends_run=False)
        return Bound(MOST_COUNTED, ends_run=True)


def _positive(number: int) -> int:
    return number if number > 0 else 0  # by a comparison, which a trace notes


class SizeResolver:
    """The sizes of a function's tensors for one set of input shapes after another.

    What a call gives follows from what it gets: the shapes of its arguments, and the elements of those that say sizes.
    Calls that are alike, in the layers of a model and from one set of sizes to the next, are asked for it once.
    """

    def __init__(self, graph: EntryGraph, primitives: Sequence[Compiled]):
        """Take over a function, and what runs its primitives."""
        self.graph, self.primitives = graph, primitives
        self._seen: dict[Hashable, Given | None] = {}
        self._last: Resolved | None = None
        """What was found last: of other sizes only those calls are asked that get something else."""
        types = graph.tensors
        self._asked = Resolved([type.shape for type in types], [0] * len(types))
        """Of the arguments of a call that is asked by itself."""
        self.has_control = any(call.control is not None for call in graph.calls)
        self.changing: set[int] = set()
        """Loops whose sizes have changed with some iteration for some sizes, by their counter: they have a table."""
        self.needs_data = any(
            primitives[call.kernel].counts_elements
            and primitives[call.kernel].how is not How.COUNT
            and not all(types[tensor].is_static for tensor in call.results)
            for call in graph.calls
        )
        """Whether sizes are known only while the function runs, whatever those of the inputs are."""
        self.counts_rows = any(counts(call, primitives[call.kernel].how) for call in graph.calls)
        """Whether native code counts rows: what is found here then is for as many as there can be."""
        if self.counts_rows and any(primitives[call.kernel].how in (How.NUMPY, How.MIXED) for call in graph.calls):
            # Python runs it on arrays, which are as large as they are.
            self.needs_data = True

    @cached_property
    def counting_inputs(self) -> Mapping[int, Sequence[int]]:
        """Inputs that say how often loops run which stack rows: by position, the tensors that show them."""
        shown = {tensor: position for position, tensor in enumerate(self.graph.inputs)}
        found: dict[int, list[int]] = {}
        pending = list(reversed(self.graph.calls))
        while pending:
            call = pending.pop()
            if self.primitives[call.kernel].how is How.VIEW and call.arguments[0] in shown:
                shown[call.results[0]] = shown[call.arguments[0]]
            loop = call.control
            if isinstance(loop, Loop) and (loop.stacked or self._grows(call)) and loop.limit in shown:
                found.setdefault(shown[loop.limit], []).append(loop.limit)
            pending += [inner for part in reversed(call.parts) for inner in reversed(part)]
        return found

    def _grows(self, call: Call) -> bool:
        """Whether a result of a loop may be as large as the loop is long."""
        return any(not self.graph.tensors[tensor].is_static for tensor in call.results)

    def resolve(
        self, input_shapes: Sequence[Shape], counts: Mapping[int, int] = MappingProxyType({})
    ) -> Resolved | None:
        """The sizes of each tensor and what they settle, or `None` when some are known only while the function runs.

        Args:
            input_shapes: Sizes of the inputs; they fit the function's types.
            counts: The numbers in `counting_inputs`, by position.

        Raises:
            FuseError: A tensor takes more bytes than a value may, or a view has another number of elements than what
                it shows; nothing that the function makes has been made by then.
        """
        if len(self._seen) > MOST_SEEN:
            self._seen.clear()
        last, self._last = self._last, None
        if last is None:
            types = self.graph.tensors
            found, changed = (
                Resolved([type.shape for type in types], [known_bytes(type) for type in types]),
                None,
            )
        else:
            found = Resolved([*last.shapes], [*last.bytes], {**last.values}, {**last.words})
            changed = set[int]()
        limits = {
            tensor: np.array(counts[position], np.int64)
            for position, tensors in (self.counting_inputs.items() if counts else ())
            for tensor in tensors
        }
        resolving = _Resolving(self.graph, self.primitives, found, self._seen, changed, limits, self.changing)
        for tensor, shape in zip(self.graph.inputs, input_shapes, strict=True):
            resolving.set_shape(tensor, shape)
        if not resolving.calls(self.graph.calls):
            return None
        if not self.has_control:
            self._last = found
        return found

    def ask(self, call: Call, shapes: Sequence[Shape], values: Sequence[Array | None]) -> "Given | None":
        """What one call gives that is no loop and no branch.

        Args:
            call: The call.
            shapes: Sizes of its arguments.
            values: Their elements, where they are settled.

        Raises:
            FuseError: As for `resolve`.
        """
        self._asked.values.clear()
        for tensor, shape, value in zip(call.arguments, shapes, values, strict=True):
            self._asked.shapes[tensor] = shape
            if value is not None:
                self._asked.values[tensor] = value
        return _Resolving(self.graph, self.primitives, self._asked, self._seen, None).given(call)


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gives."""

    shapes: Sequence[Shape]
    values: Sequence[Array] = ()
    """Settled values of the results."""
    words: Sequence[int] = ()
    """What native code is told of sizes."""


@dataclass(frozen=True, slots=True)
class _Resolving:
    graph: EntryGraph
    primitives: Sequence[Compiled]
    found: Resolved
    seen: dict[Hashable, Given | None]
    changed: set[int] | None
    """Tensors of other sizes or values than `found` has from before; `None` if it has nothing yet."""
    limits: Mapping[int, Array] = field(default_factory=dict[int, Array])
    """How often loops run that an input says."""
    changing: set[int] = field(default_factory=set[int])
    """Loops whose sizes change, by their counter."""
    iterating: list[Loop] = field(default_factory=list[Loop])
    """Those around what is looked at."""

    @property
    def shapes(self) -> list[Shape]:
        """Sizes of each tensor."""
        return self.found.shapes

    def calls(self, calls: Sequence[Call]) -> bool:
        """Find the sizes of all results; whether they are known."""
        changed = self.changed
        for call in calls:
            if changed is not None and changed.isdisjoint(call.arguments):
                continue  # it gives what it gave before
            if not self._call(call):
                return False
        return True

    def set_shape(self, tensor: int, shape: Shape) -> None:
        """Note the sizes of a tensor."""
        if self.shapes[tensor] == shape:
            return
        self.shapes[tensor] = shape
        self.found.bytes[tensor] = bytes_of(self.graph.tensors[tensor], shape)
        if self.changed is not None:
            self.changed.add(tensor)

    def _call(self, call: Call) -> bool:
        given = self.given(call) if call.control is None else self._control(call, call.control)
        if given is None:
            return False
        for tensor, shape in zip(call.results, given.shapes, strict=True):
            self.set_shape(tensor, shape)
        for tensor, value in zip(call.results, given.values, strict=False):
            if self.changed is not None:
                self.changed.add(tensor)
            self.found.values[tensor] = value.view()  # what is remembered may be the value of several tensors
        if given.words:
            self.found.words[call.results[0]] = given.words
        return True

    def given(self, call: Call) -> Given | None:
        """What a call gives, as it is remembered if there was one like it."""
        key = self._key(call)
        if key not in self.seen:
            self.seen[key] = self._given(call)
        return self.seen[key]

    def _key(self, call: Call) -> Hashable:
        """All that decides what a call gives."""
        shapes = self.shapes
        key: list[Hashable] = [call.kernel, *[shapes[tensor] for tensor in call.arguments]]
        for place in self.primitives[call.kernel].sized_by:
            value = self._value(call.arguments[place])
            key.append(None if value is None else value.tobytes())
        return tuple(key)

    def _control(self, call: Call, control: Loop | Branch) -> Given | None:
        compiled = self.primitives[call.kernel]
        types = [self.graph.tensors[tensor] for tensor in call.results]
        found: Sequence[Shape] | None = None
        if compiled.how is How.CONTROL:
            found = self._loop(control) if isinstance(control, Loop) else self._branch(control)
        elif all(type.is_static for type in types):
            found = [type.shape for type in types]
        return None if found is None else self._checked(call, Given(found))

    def _given(self, call: Call) -> Given | None:
        compiled = self.primitives[call.kernel]
        types = [self.graph.tensors[tensor] for tensor in call.results]
        arguments = self._of(call.arguments)
        match compiled.how:
            case How.NATIVE:
                try:
                    sizes = bound_sizes(compiled, arguments, [self._value(tensor) for tensor in call.arguments])
                except VerifyException:
                    return None  # whoever runs it says what is wrong
                if sizes is None:
                    return None
                words = [sizes[symbol] for symbol in compiled.sizes.symbols]
                given = self._checked(call, Given(compiled.sizes.result_shapes(sizes), words=words))
                compiled.check_steps(arguments, sizes)
                return given
            case How.VIEW if compiled.primitive.is_static:
                given = Given([compiled.view_shape(arguments[0])])
            case How.VIEW:
                given = Given([result.shape for result in self._results(call, compiled)])
            case How.SETTLED:
                values = [np.array(result, order="C") for result in self._results(call, compiled)]
                for value in values:
                    value.flags.writeable = False
                given = Given([value.shape for value in values], values)
            case How.COUNT:
                counted = counting_of(self.graph, call, compiled, arguments)
                given = Given(counted.shapes(counted.bound), words=counted.words)
            case How.NUMPY | How.MIXED | How.CONTROL if all(type.is_static for type in types):
                given = Given([type.shape for type in types])
            case How.NUMPY | How.MOVE:
                given = self._inferred(call, compiled)
            case How.MIXED | How.CONTROL:
                given = None
        return None if given is None else self._checked(call, given)

    def _results(self, call: Call, compiled: Compiled) -> Sequence[Array]:
        """The results of a call by NumPy, whose elements count if it is settled."""
        arrays = self._arrays(call)
        quick = compiled.size_arithmetic
        results = None if quick is None else quick(arrays)
        return compiled.evaluate(arrays) if results is None else results

    def _checked(self, call: Call, given: Given) -> Given:
        """What is given, if it is not too large."""
        compiled = self.primitives[call.kernel]
        compiled.check_sizes(given.shapes, [self.graph.tensors[tensor].dtype for tensor in call.results])
        compiled.check_workspace()
        return given

    def _of(self, tensors: Sequence[int]) -> list[Shape]:
        return [self.shapes[tensor] for tensor in tensors]

    def _inferred(self, call: Call, compiled: Compiled) -> Given | None:
        """What one op gives; `None` if only the op knows, or it has rejected."""
        op = compiled.only_op
        if op is None or (op.SIZED_BY_ELEMENTS and not compiled.sized_by):
            return None
        if any(self._value(call.arguments[place]) is None for place in compiled.sized_by):
            return None
        try:
            if compiled.how is How.NUMPY:
                shapes = inferred_shapes(op, self._arrays(call))
                return None if shapes is None else Given(shapes)
            types = [self.graph.tensors[tensor] for tensor in call.arguments]
            values = [self._value(tensor) for tensor in call.arguments]
            moved = settled_movement(op, types, self._of(call.arguments), values)
        except (VerifyException, ValueError, TypeError, IndexError):
            return None  # whoever runs it says what is wrong
        return None if moved is None else Given(moved.results, words=moved.words)

    def _value(self, tensor: int) -> Array | None:
        found = self.found.values.get(tensor)
        return self.graph.constants.get(tensor) if found is None else found

    def _arrays(self, call: Call) -> list[Array]:
        """The arguments of a call, whose elements count where they say sizes."""
        sized_by = self.primitives[call.kernel].sized_by
        arrays: list[Array] = []
        for place, tensor in enumerate(call.arguments):
            value = self._value(tensor) if place in sized_by else None
            arrays.append(stand_in(self.graph.tensors[tensor], self.shapes[tensor]) if value is None else value)
        return arrays

    def _loop(self, loop: Loop) -> list[Shape] | None:
        """The sizes of a loop's results; `None` if only running it tells them."""
        initial, rows = self._of(loop.initial), self._of(loop.rows)
        for tensor, shape in zip(loop.elements, rows, strict=True):
            self.set_shape(tensor, shape[1:])
        values = {**self.found.values, **self.limits} if self.limits else self.found.values
        count = iterations(self.graph, loop, self.shapes, values)
        if loop.is_counted:
            bound = self.found.bounds[loop.counter] = self._bound(loop, values)
            count = bound.iterations
        if len({shape[0] for shape in rows}) > 1 or (count is None and loop.stacked):
            return None
        if loop.number is None and loop.counter not in self.changing:
            for tensor, shape in zip(loop.states, initial, strict=True):
                self.set_shape(tensor, shape)
            if not self.calls(loop.calls):
                return None
            if self._of(loop.following) == initial:
                return [*initial, *((count or 0, *shape) for shape in self._of(loop.stacked))]
        # Without an iteration nothing says how large a row of a stack would be.
        return self._iterate(loop, initial, count) if count else None

    def _bound(self, loop: Loop, values: Mapping[int, Array]) -> Bound:
        """How often a loop may run that counts its iterations."""
        limit = None if loop.limit is None else values.get(loop.limit, self.graph.constants.get(loop.limit))
        rows = [self.shapes[tensor][0] for tensor in loop.rows]
        return Bound.of(min(rows, default=None), None if limit is None else int(limit.reshape(())))

    def _iterate(self, loop: Loop, initial: Sequence[Shape], count: int) -> list[Shape] | None:
        """The sizes of the results of a loop whose sizes change; they are found for one iteration after the other."""
        if count > MOST_ITERATIONS or self.iterating:
            return None
        self.iterating.append(loop)
        try:
            return self._iterations(loop, initial, count)
        finally:
            self.iterating.pop()

    def _iterations(self, loop: Loop, initial: Sequence[Shape], count: int) -> list[Shape] | None:
        found, inner = self.found, loop.tensors
        named = [tensor for tensor in inner if tensor not in loop.states]
        states, stacked = initial, None
        largest: dict[int, int] = {}
        shapes: list[Mapping[int, Shape]] = []
        words: list[Mapping[int, Sequence[int]]] = []
        told: list[Mapping[int, Sequence[int]]] = []
        for number in range(count):
            if loop.number is not None:
                found.values[loop.number] = np.array(number, np.int64)
            for tensor, shape in zip(loop.states, states, strict=True):
                self.set_shape(tensor, shape)
            if not self.calls(loop.calls):
                return None
            states, rows = self._of(loop.following), self._of(loop.stacked)
            if stacked not in (None, rows):
                return None
            stacked = rows
            shapes.append({tensor: self.shapes[tensor] for tensor in inner})
            words.append({tensor: found.words[tensor] for tensor in named if tensor in found.words})
            told.append({tensor: found.values[tensor].reshape(-1).tolist() for tensor in loop.told})
            for tensor in inner:
                largest[tensor] = max(largest.get(tensor, 0), found.bytes[tensor])
        # The last states are copied from where the states are.
        for tensor, shape in zip(loop.states, states, strict=True):
            largest[tensor] = max(largest[tensor], bytes_of(self.graph.tensors[tensor], shape))
        for tensor, bytes in largest.items():
            found.bytes[tensor] = bytes
        self.changing.add(loop.counter)
        found.iterations[loop.counter] = IterationSizes(shapes, words, told)
        return [*states, *((count, *shape) for shape in stacked or ())]

    def _branch(self, branch: Branch) -> list[Shape] | None:
        if not all(self.calls(calls) for calls in branch.calls):
            return None
        then, otherwise = (self._of(yielded) for yielded in branch.yielded)
        return then if then == otherwise else None


def late_tensors(graph: EntryGraph, primitives: Sequence[Compiled]) -> set[int]:
    """Tensors whose sizes or elements follow from what calls count."""
    late: set[int] = set()
    for call in graph.calls:
        if counts(call, primitives[call.kernel].how) or not late.isdisjoint(call.arguments):
            late.update(call.results)
    return late


def counting_of(graph: EntryGraph, call: Call, compiled: Compiled, shapes: Sequence[Shape]) -> Counting:
    """What a call gives that counts, for arguments of these sizes."""
    assert compiled.counting_op is not None, "the op counts"
    types = [graph.tensors[tensor] for tensor in call.arguments]
    return compiled.counting_op.counting(types, shapes, [graph.constants.get(tensor) for tensor in call.arguments])


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
    if loop.ends_by_condition:
        return None
    counts = [shapes[tensor][0] for tensor in loop.rows]
    if loop.limit is not None:
        limit = (values or {}).get(loop.limit, graph.constants.get(loop.limit))
        if limit is None:
            return None
        counts.append(max(0, int(limit.reshape(()))))
    return min(counts)


def least_rows(shapes: Sequence[Shape]) -> int:
    """How often a loop may run that takes a row of each: no iteration may look for one that a tensor lacks."""
    return min([shape[0] for shape in shapes], default=ENDLESS)


def known_bytes(type: TensorType) -> int:
    """Bytes of a tensor as its type says; 0 where a size is open, that of a tensor in another stretch for example."""
    return bytes_of(type, type.shape) if type.is_static else 0


def bytes_of(type: TensorType, shape: Shape) -> int:
    """Bytes of a tensor of these sizes."""
    return prod(shape) * type.dtype.itemsize
