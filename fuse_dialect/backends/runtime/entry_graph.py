"""The entry function of a module as data: numbered tensors, and calls of primitives in order.

A loop or a branch is a call, too, whose `control` says what it does inside: its calls name tensors by the same numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import func
from xdsl.ir import OpResult

from fuse_dialect.backends.types import TensorType
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.size_names import SizeNames
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE


class How(Enum):
    """How a primitive is run."""

    NATIVE = "native"
    NUMPY = "numpy"
    VIEW = "view"
    SETTLED = "settled"
    """By NumPy, when a plan is made: the sizes of the inputs say what it gives."""
    MOVE = "move"
    """By the code of moves; the plan says what it moves where."""
    COUNT = "count"
    """By native code that counts: how many rows its results have is known once it has run."""
    CONTROL = "control"
    """A loop or a branch all of whose steps are native: it jumps between them."""
    MIXED = "mixed"
    """A loop or a branch that Python runs, with native kernels inside."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """A function to run, and what is known of its arguments."""

    function: func.FuncOp
    constants: frozenset[int] = frozenset()
    """Positions of arguments that are constants in every call."""
    callees: Mapping[str, func.FuncOp] = field(default_factory=dict[str, func.FuncOp], compare=False)
    """Functions that are called in it, by name: what a loop or a branch runs."""
    unread: str = field(default="", compare=False)
    """Why no kernels can run what is inside a loop or a branch; empty if they may."""

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
class Loop:
    """What a call of `fuse.loop` does. All numbers are of tensors."""

    limit: int | None
    """Greatest number of iterations."""
    condition: int | None
    """Whether to begin."""
    initial: tuple[int, ...]
    """The states that the first iteration begins with."""
    rows: tuple[int, ...]
    """Tensors of which each iteration takes one row."""
    counter: int
    """In the body: the number of the iteration."""
    states: tuple[int, ...]
    """In the body: one for each of `initial`."""
    elements: tuple[int, ...]
    """In the body: one for each of `rows`."""
    calls: "tuple[Call, ...]"
    """What one iteration does."""
    goes_on: int | None
    """In the body: whether there is another iteration."""
    following: tuple[int, ...]
    """In the body: the next states."""
    stacked: tuple[int, ...]
    """In the body: what is stacked; the results of the call are the last states, then the stacks."""
    ops: int
    """Ops of one iteration, as the limit of a run counts them: `loop_costs`."""
    number: int | None = None
    """In the body: the number of the iteration again, as something that sizes follow from; `None` if none do."""
    told: tuple[int, ...] = ()
    """In the body: settled integers that kernels read; where sizes change, each iteration has its own."""
    is_counted: bool = False
    """Whether native code counts the iterations until a condition ends the loop; sizes of results follow from that."""

    @property
    def ends_by_condition(self) -> bool:
        """Whether a condition may end it before its limit, or keep it from beginning."""
        return self.goes_on is not None or self.condition is not None

    @property
    def tensors(self) -> "list[int]":
        """States and rows in the body, and what is made in it."""
        found = [*self.states, *self.elements]
        pending = list(self.calls)
        while pending:
            call = pending.pop()
            found += call.results
            if isinstance(call.control, Loop):
                found += [*call.control.states, *call.control.elements]
            pending += [inner for part in call.parts for inner in part]
        return found


@dataclass(frozen=True, slots=True)
class Branch:
    """What a call of `fuse.if` does."""

    condition: int
    calls: "tuple[tuple[Call, ...], tuple[Call, ...]]"
    """If it holds, and otherwise."""
    yielded: tuple[tuple[int, ...], tuple[int, ...]]
    """What either gives, for each result of the call."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a primitive."""

    kernel: int
    """Number of the primitive."""
    arguments: tuple[int, ...]
    """Numbers of tensors, those of tuples in order."""
    results: tuple[int, ...]
    control: Loop | Branch | None = None
    """What a loop or a branch does inside, where it could be read."""
    source: str = field(default="", compare=False)
    """Where the op or the kernel comes from in the program of the user, if that is known."""

    @property
    def parts(self) -> "tuple[tuple[Call, ...], ...]":
        """The calls inside: one list for a loop, two for a branch."""
        match self.control:
            case None:
                return ()
            case Loop():
                return (self.control.calls,)
            case Branch():
                return self.control.calls


def counts(call: Call, how: How) -> bool:
    """Whether sizes follow from what a call counts while it runs."""
    return how is How.COUNT or (isinstance(call.control, Loop) and call.control.is_counted)


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

    @property
    def all_calls(self) -> Sequence[Call]:
        """The calls, each before those inside it."""
        found: list[Call] = []
        pending = list(self.calls)[::-1]
        while pending:
            call = pending.pop()
            found.append(call)
            pending += [each for part in call.parts[::-1] for each in part[::-1]]
        return found
