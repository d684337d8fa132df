"""Finding the formulas of a function: its calls, one after the other, on traced sizes.

The conditions are those of `size_formulas`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.runtime.entry_graph import Branch, Call, How, Loop
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.settled import bound_sizes, settled_movement
from fuse_dialect.backends.runtime.shapes import Bound, Given, SizeResolver, bytes_of, counting_of, known_bytes
from fuse_dialect.backends.runtime.size_formulas import (
    Asked,
    Counted,
    FoundSizes,
    LateAtoms,
    LoopFormulas,
    SizeFormulas,
)
from fuse_dialect.backends.runtime.traced_sizes import (
    SizeTrace,
    TracedSize,
    UntraceableError,
    terms_of,
)
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynReshapeOp
from fuse_dialect.dialect.ops.layout import BatchFlattenOp, ReshapeOp, SqueezeOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import DYNAMIC

MOST_NUMBERS = 16
"""Elements of a list of integers that become atoms, at most."""


@dataclass(eq=False, slots=True)
class Tracing:
    """What has been traced of a function so far; how loops and branches are traced is left open."""

    resolver: SizeResolver
    trace: SizeTrace = field(default_factory=SizeTrace)
    shapes: list[Shape] = field(init=False)
    bytes: list[int] = field(init=False)
    values: dict[int, Array | None] = field(default_factory=dict[int, "Array | None"])
    words: dict[int, Sequence[int]] = field(default_factory=dict[int, "Sequence[int]"])
    asked: dict[int, Array] = field(default_factory=dict[int, Array])
    """Values that asked calls have given for the sizes that are traced."""
    counts: dict[int, int] = field(default_factory=dict[int, int])
    """The numbers in inputs that say how often loops run."""
    loops: list[LoopFormulas] = field(default_factory=list[LoopFormulas])
    counted: list[int] = field(default_factory=list[int])
    """Atoms that are counts: the function says them while it runs."""
    bounds: dict[int, Bound] = field(default_factory=dict[int, Bound])
    """Of loops that count their iterations, by their counter."""
    likely: Sequence[int] = ()
    """What calls count, in order, where that is known for the sizes that are traced."""
    is_iterating: bool = False
    """Whether a loop whose sizes change is around what is traced."""

    def __post_init__(self) -> None:
        types = self.resolver.graph.tensors
        self.shapes = [type.shape for type in types]
        self.bytes = [known_bytes(type) for type in types]

    def set_shape(self, tensor: int, shape: Shape) -> None:
        """Note the sizes of a tensor."""
        self.shapes[tensor] = shape
        self.bytes[tensor] = bytes_of(self.resolver.graph.tensors[tensor], shape)

    def calls(self, calls: Sequence[Call]) -> bool:
        """Note what calls give; whether it is known."""
        return all(map(self.call, calls))

    def control(self, call: Call, control: Loop | Branch) -> Sequence[Shape] | None:
        """The sizes that a loop or a branch gives; `None` if they are not known."""
        raise NotImplementedError

    def call(self, call: Call) -> bool:
        """Note what a call gives; whether it is known."""
        compiled = self.resolver.primitives[call.kernel]
        if call.control is not None:
            return self._control(call, compiled, call.control)
        try:
            given = self._traced(call, compiled)
        except (UntraceableError, VerifyException, TypeError, ValueError, IndexError, AttributeError):
            return self._ask(call)
        for tensor, shape in zip(call.results, given.shapes, strict=True):
            self.set_shape(tensor, tuple(shape))
        for tensor, value in zip(call.results, given.values, strict=False):
            self.values[tensor] = value
        if given.words:
            self.words[call.results[0]] = given.words
        return True

    def _control(self, call: Call, compiled: Compiled, control: Loop | Branch) -> bool:
        types = [self.resolver.graph.tensors[tensor] for tensor in call.results]
        shapes: Sequence[Shape] | None = None
        try:
            if compiled.how is How.CONTROL:
                shapes = self.control(call, control)
            elif all(type.is_static for type in types):
                shapes = [type.shape for type in types]
            if shapes is None:
                return False
            compiled.check_sizes(shapes, [type.dtype for type in types])
        except UntraceableError:
            return False
        for tensor, shape in zip(call.results, shapes, strict=True):
            self.set_shape(tensor, shape)
        return True

    def number_of(self, tensor: int) -> int | None:
        """The number that a tensor holds: a formula; `None` if sizes do not say it."""
        if tensor in self.counts:
            return self.counts[tensor]
        value = self.values.get(tensor) if tensor in self.values else self.resolver.graph.constants.get(tensor)
        return None if value is None else value.reshape(-1).tolist()[0]

    def _traced(self, call: Call, compiled: Compiled) -> Given:
        """What a call gives.

        Raises:
            UntraceableError: Polynomials do not say it.
        """
        arguments = [self.shapes[tensor] for tensor in call.arguments]
        types = [self.resolver.graph.tensors[tensor] for tensor in call.results]
        match compiled.how:
            case How.NATIVE:
                values = [self._value(tensor) for tensor in call.arguments] if compiled.sized_by else []
                sizes = bound_sizes(compiled, arguments, values)
                if sizes is None:
                    raise UntraceableError("the kernel is not for such arrays")
                words = [sizes[symbol] for symbol in compiled.sizes.symbols]
                given = Given(compiled.sizes.result_shapes(sizes), words=words)
                compiled.check_steps(arguments, sizes)
            case How.VIEW:
                given = Given([self._view(call, compiled)])
            case How.SETTLED:
                values = self._settled(call, compiled)
                given = Given([value.shape for value in values], values)
            case How.MOVE:
                assert compiled.only_op is not None, "a move is one op"
                values = [self._value(tensor) for tensor in call.arguments]
                given_types = [self.resolver.graph.tensors[tensor] for tensor in call.arguments]
                moved = settled_movement(compiled.only_op, given_types, arguments, values)
                if moved is None:
                    raise UntraceableError("not by strides")
                given = Given(moved.results, words=moved.words)
            case How.COUNT:
                given = self._counted(call, compiled, arguments)
            case How.NUMPY if all(type.is_static for type in types):
                given = Given([type.shape for type in types])
            case _:
                raise UntraceableError("only the op says its sizes")
        compiled.check_sizes(given.shapes, [type.dtype for type in types])
        return given

    def _counted(self, call: Call, compiled: Compiled, arguments: Sequence[Shape]) -> Given:
        """What a call gives that counts: the count is an atom."""
        counting = counting_of(self.resolver.graph, call, compiled, arguments)
        return Given(counting.shapes(self.count(counting.bound)), words=counting.words)

    def count(self, most: int) -> int:
        """A new atom that the function counts, of which the most that it can be is known."""
        bound = most.value if isinstance(most, TracedSize) else most
        # Some number that no other size is likely to be, so that few conditions hold by chance.
        place = len(self.counted)
        known = self.likely[place] if place < len(self.likely) else bound // 2 + 1 + place
        count = self.trace.atom(min(bound, known))
        self.trace.derived.append(Counted(most))
        self.counted.append(len(self.trace.values) - 1)
        return count

    def _value(self, tensor: int) -> Array | None:
        """Elements of a settled value or a constant.

        Raises:
            UntraceableError: They are no formulas.
        """
        if tensor not in self.values:
            return self.resolver.graph.constants.get(tensor)
        value = self.values[tensor]
        if value is None:
            raise UntraceableError("the value of a call that is asked")
        return value

    def _settled(self, call: Call, compiled: Compiled) -> list[Array]:
        arithmetic = compiled.size_arithmetic
        if arithmetic is None or not arithmetic.is_traceable:
            raise UntraceableError("no arithmetic on integers")
        arguments: list[Any] = []
        for place, tensor in enumerate(call.arguments):
            value = self._value(tensor) if place in compiled.sized_by else None
            arguments.append(Sized(self.shapes[tensor]) if value is None else value.astype(object))
        results = arithmetic.traced(arguments)
        # What is the same for all sizes is made once.
        return [
            value
            if any(isinstance(number, TracedSize) for number in value.reshape(-1).tolist())
            else _constant(value.astype(self.resolver.graph.tensors[tensor].dtype, order="C"))
            for value, tensor in zip(results, call.results, strict=True)
        ]

    def _view(self, call: Call, compiled: Compiled) -> Shape:
        """The shape of a view: its ops only reshape."""
        block = compiled.primitive.function.body.block
        shapes: dict[SSAValue, Shape] = {
            argument: self.shapes[tensor] for argument, tensor in zip(block.args, call.arguments, strict=True)
        }
        numbers: dict[SSAValue, Array | None] = {
            argument: self._value(tensor) for argument, tensor in zip(block.args, call.arguments, strict=True)
        }
        for op in block.ops:
            if not isinstance(op, FuseOp):
                return shapes[op.operands[0]]
            source = shapes[op.operands[0]]
            shape = _reshaped(op, source, numbers)
            if prod(shape) != prod(source):
                raise UntraceableError("another number of elements")
            shapes[op.results[0]] = shape
        raise UntraceableError("nothing is returned")

    def _ask(self, call: Call) -> bool:
        """Note the atoms of a call that is asked for each set of sizes; whether it answers."""
        if self.is_iterating or self._reads_late(call):
            return False
        found = FoundSizes(self._so_far(), self.trace.values, self.asked)
        graph = self.resolver.graph
        shapes = [found.shape(tensor) for tensor in call.arguments]
        given = self.resolver.ask(call, shapes, [found.value(self.resolver, tensor) for tensor in call.arguments])
        if given is None or self.resolver.primitives[call.kernel].how is How.MOVE:
            return False
        for tensor, shape in zip(call.results, given.shapes, strict=True):
            known = graph.tensors[tensor].shape
            sizes = [self.trace.atom(size) if dim == DYNAMIC else dim for size, dim in zip(shape, known, strict=True)]
            self.set_shape(tensor, tuple(sizes))
        numbers: list[bool] = []
        for tensor, value in zip(call.results, given.values, strict=False):
            type = graph.tensors[tensor]
            numbers.append(type.is_static and type.dtype.kind in "iu" and value.size <= MOST_NUMBERS)
            atoms = [self.trace.atom(int(number)) for number in value.reshape(-1)] if numbers[-1] else None
            self.values[tensor] = None if atoms is None else objects(atoms).reshape(value.shape)
            self.asked[tensor] = value
        if given.words:
            self.words[call.results[0]] = [self.trace.atom(word) for word in given.words]
        self.trace.derived.append(Asked(call, len(given.words), tuple(numbers)))
        return True

    def _reads_late(self, call: Call) -> bool:
        """Whether what a call gets follows from a count: it cannot be asked before the function runs."""
        if not self.counted:
            return False
        late = LateAtoms.of(self.trace, self.counted)
        sizes = [size for tensor in call.arguments for size in self.shapes[tensor]]
        values = [self.values.get(tensor) for tensor in call.arguments]
        sizes += [number for value in values if value is not None and value.dtype == object for number in value.flat]
        return any(late.place(terms_of(size)) >= 0 for size in sizes)

    def _so_far(self) -> SizeFormulas:
        return SizeFormulas([], [], [], self.shapes, self.bytes, self.values, self.words)


@dataclass(frozen=True, slots=True)
class Sized:
    """An array of which only the sizes count."""

    shape: Shape


def objects(numbers: Sequence[int]) -> Array:
    """An array of sizes that may be traced."""
    array = np.empty(len(numbers), object)
    array[:] = numbers
    return cast("Array", array)


def _constant(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _reshaped(op: FuseOp, source: Shape, numbers: Mapping[SSAValue, Array | None]) -> Shape:
    """The shape that an op gives which only reshapes."""
    match op:
        case ReshapeOp():
            return tuple(op.filled(source))
        case ExpandDimsOp():
            return op.expanded(source)
        case SqueezeOp():
            if any(source[axis] != 1 for axis in op.squeezed):
                raise UntraceableError("a squeezed size is not 1")
            return tuple(size for axis, size in enumerate(source) if axis not in op.squeezed)
        case BatchFlattenOp():
            return source[0], prod(source[1:])
        case DynReshapeOp():
            sizes = numbers[op.shape]
            if sizes is None:
                raise UntraceableError("sizes that are not settled")
            return tuple(op.sizes_for(source, sizes.reshape(-1).tolist()))
        case _:
            raise UntraceableError("another op")
